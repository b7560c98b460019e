"""A recalibrator behind a network."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from calib_utils.recalibration.base import Recalibrator

__all__ = ["CalibratedModule"]


class CalibratedModule(nn.Module):
    """A network whose outputs are calibrated.

    It gives the logarithms of the calibrated probabilities. These are logits: their softmax
    is the calibrated probabilities, so the module takes the place of the network wherever
    logits are expected. For a binary recalibrator it gives log-odds, for a sigmoid.

    It is for prediction. The recalibrator computes on the CPU and lets no gradient through;
    `Recalibrator.save`, not ``state_dict``, stores it.

    Args:
        network: gives logits of shape (N, K); or (N,) or (N, 1) for a binary recalibrator.
        recalibrator: fitted, or of fixed temperature.

    Example:
        >>> import torch
        >>> from calib_utils.recalibration import TemperatureScaling
        >>> model = CalibratedModule(torch.nn.Identity(), TemperatureScaling(2.0))
        >>> probs = model.predict_proba(torch.tensor([[4.0, 0.0]]))
        >>> [round(prob, 2) for prob in probs[0].tolist()]
        [0.88, 0.12]
    """

    def __init__(self, network: nn.Module, recalibrator: Recalibrator):
        super().__init__()
        self.network = network
        self.recalibrator = recalibrator

    @torch.no_grad()
    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Calibrated log-probabilities (N, K), or log-odds of the network's shape.

        Args:
            args: go to the network, as do ``kwargs``.
            kwargs: see above.

        Returns:
            A tensor of the type and on the device of the network's logits; -inf where a
            probability is 0.
        """
        logits: torch.Tensor = self.network(*args, **kwargs)
        column = logits.ndim == 2 and logits.shape[1] == 1
        probs = self.recalibrator.predict_proba(
            logits.double().cpu()[:, 0] if column else logits.double().cpu()
        )
        result = torch.logit(probs) if probs.ndim == 1 else probs.log()
        return result.reshape(logits.shape).to(logits)

    def predict_proba(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Calibrated probabilities, in the type of the network's logits."""
        result = self(*args, **kwargs)
        binary = result.ndim == 1 or result.shape[1] == 1
        return result.sigmoid() if binary else result.softmax(dim=1)
