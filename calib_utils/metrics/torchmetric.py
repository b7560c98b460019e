"""The streaming metric as one of torchmetrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torchmetrics import Metric

from calib_utils._numbers import check_n_bins
from calib_utils.metrics import streaming

__all__ = ["CalibrationError"]


class CalibrationError(streaming.CalibrationError, Metric):
    """`calib_utils.metrics.CalibrationError` where torchmetrics is installed."""

    __doc__ = streaming.CalibrationError.__doc__

    is_differentiable = False
    higher_is_better = False
    full_state_update = True  # a batch is checked against those before

    def __init__(self, n_bins: int = 15, *, ignore_index: int | None = None, **settings: Any):
        Metric.__init__(self, **settings)
        self.ignore_index = ignore_index
        sums = torch.zeros((3, check_n_bins(n_bins)), dtype=torch.float64)
        self.add_state("sums", default=sums, dist_reduce_fx="sum")
        self.add_state("columns", default=torch.tensor(0), dist_reduce_fx="max")

    def reset(self) -> None:
        """Forget all batches."""
        Metric.reset(self)

    def compute(self) -> torch.Tensor:
        """The expected calibration error so far, 0 to 1, float64; NaN without predictions."""
        seen = bool(self.sums[0].any())
        error = streaming.CalibrationError.compute(self) if seen else np.nan
        return torch.tensor(error, dtype=torch.float64, device=self.sums.device)
