"""What the methods for K classes share: logits or probabilities go in."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from calib_utils._checks import check_probs
from calib_utils._masks import FAR, check_maskable_logits, log_of_probs
from calib_utils._reading import rescaled
from calib_utils.recalibration.base import Recalibrator

__all__ = ["MulticlassRecalibrator"]


class MulticlassRecalibrator(Recalibrator):
    """A recalibrator of K logits or probabilities for each sample, of shape (N, K)."""

    _far: ClassVar[float] = FAR

    def __init__(self, inputs: str = "logits", rescale: bool = False):
        self.inputs = inputs
        self.rescale = rescale
        self._check_arguments()

    def _check_arguments(self) -> None:
        if self.inputs not in ("logits", "probs"):
            raise ValueError(f"inputs: expected 'logits' or 'probs', found {self.inputs!r}")
        if not isinstance(self.rescale, (bool, np.bool_)):
            raise ValueError(f"rescale: expected True or False, found {self.rescale!r}")
        if self.rescale and self.inputs == "logits":
            raise ValueError(
                "rescale: expected False for logits, which have no sum; say inputs='probs' of "
                "probabilities"
            )

    def _check_values(self, logits: Any) -> np.ndarray:
        if self.inputs == "logits":
            return check_maskable_logits(logits, self._far)
        name = "logits (inputs='probs')"
        probs = rescaled(logits, stacklevel=5, name=name) if self.rescale else logits
        return log_of_probs(check_probs(probs, name))
