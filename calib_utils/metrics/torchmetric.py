"""The streaming metric as one of torchmetrics."""

from __future__ import annotations

from typing import Any, Self

import torch
from torchmetrics import Metric

from calib_utils.metrics import streaming

# The sums may have been merged or set since the last time, and it is fast.
_ANEW = {"compute_with_cache": False}


class CalibrationError(streaming.CalibrationError, Metric):
    """`calib_utils.metrics.CalibrationError` where torchmetrics is installed."""

    __doc__ = streaming.CalibrationError.__doc__

    is_differentiable = False
    higher_is_better = False
    full_state_update = True  # a batch is checked against the earlier ones
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        n_bins: int = 15,
        norm: str = "l1",
        *,
        inputs: str = "probs",
        ignore_index: int | None = None,
        **settings: Any,
    ):
        Metric.__init__(self, **settings | _ANEW)
        streaming.CalibrationError.__init__(
            self, n_bins, norm, inputs=inputs, ignore_index=ignore_index
        )

    def _begin(self, n_bins: int) -> None:
        self.add_state("sums", torch.zeros((3, n_bins), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("columns", torch.tensor(0), dist_reduce_fx="max")
        # A collection lets metrics of equal states share one, whatever their arguments are.
        counted = list(repr((self.inputs, self.ignore_index)).encode())
        self.add_state("counted", torch.tensor(counted), dist_reduce_fx="max")

    def merge(self, other: Self) -> None:
        """Add all that ``other`` has seen."""
        super().merge(other)
        self._update_count = max(1, self._update_count)  # else torchmetrics warns of no update

    def reset(self) -> None:
        """Forget all batches."""
        Metric.reset(self)

    def compute(self) -> torch.Tensor:
        """The error so far, 0 to 1, float64; NaN without predictions."""
        error = super().compute() if self.sums[0].any() else float("nan")
        return torch.tensor(error, dtype=torch.float64, device=self.sums.device)

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot one value or several, as other metrics of torchmetrics do.

        Args:
            val: the result of ``compute`` or of a call, or a list; ``compute()`` by default.
            ax: where to draw; new axes by default.

        Returns:
            The figure (None if ``ax`` is given) and the axes.
        """
        return self._plot(val, ax)
