"""Forecasts of trained networks: averages, temperatures, corrupted images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_utils.records.installed import folder_of
from calib_utils.records.npz import load_rows


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Probabilities for all test images, by one network or by the average of several.

    Attributes:
        networks: "ordinary", "smoothed" (trained with smoothed labels), or "mirrored" (ordinary;
            the average over an image and its mirror image).
        members: the seeds of the networks whose probabilities are averaged.
        scaled: "none", "before" (each member has its own temperature) or "after" (the average has
            one). Temperatures are fitted on clean validation images. For a single network the
            last two are the same, and called "after".
        corruption: of the test images, see `calib_utils.training.corrupt`; "" for clean ones.
        severity: 1 to 5; 0 for clean images.
        temperature: of the average; 1 unless it is scaled after.
        error: share of the images whose class was not predicted, 0 to 1.
        nll: negative log-likelihood, in nats.
        nll_error: its standard error over images.
        ece: expected calibration error with 15 bins, 0 to 1.
        baseline: the mean ECE of a calibrated network with the same confidences, see
            `calib_utils.metrics.baseline_calibration_error`.
        confidence: the mean of the largest probabilities.
        bins: float64, shape (3, 15): for each bin the number of images, the number of correct
            predictions, and their summed confidence.
        losses: float16, shape (N,): the negative log-likelihood of each test image, in nats,
            rounded to 1/128. Like the next two, it is kept only for forecasts that are compared.
        confidences: float16, shape (N,): the largest probabilities.
        correct: bool, shape (N,): whether that class is the image's.

    Example:
        >>> import numpy as np
        >>> clean = {"networks": "ordinary", "corruption": "", "severity": 0}
        >>> numbers = {"error": 0.4, "nll": 1.9, "nll_error": 0.02, "ece": 0.1}
        >>> one = Forecast(
        ...     members=(0,), scaled="none", temperature=1, baseline=0.01, confidence=0.7,
        ...     bins=np.zeros((3, 15)), **clean, **numbers
        ... )
        >>> one.members, one.nll
        ((0,), 1.9)
    """

    networks: str
    members: tuple[int, ...]
    scaled: str
    corruption: str
    severity: int
    temperature: float
    error: float
    nll: float
    nll_error: float
    ece: float
    baseline: float
    confidence: float
    bins: np.ndarray
    losses: np.ndarray | None = None
    confidences: np.ndarray | None = None
    correct: np.ndarray | None = None


def load_forecasts(grid: str, protocol: str) -> tuple[list[Forecast], dict[str, Any]]:
    """Read the forecasts of a grid's networks, and how they were made.

    Args:
        grid: such as "ensembles".
        protocol: such as "core".

    Raises:
        ValueError: if there is none, or if its file is damaged.

    Example:
        >>> load_forecasts("ensembles", "none")
        Traceback (most recent call last):
        ValueError: grid: there are no forecasts of 'ensembles' in the protocol 'none'
    """
    path = folder_of("forecasts") / f"{grid}.{protocol}.npz"
    if not path.exists():
        raise ValueError(f"grid: there are no forecasts of {grid!r} in the protocol {protocol!r}")
    what = f"grid: the file of forecasts of {grid!r} in {protocol!r}"
    return load_rows(path, Forecast, ("losses", "confidences", "correct"), "forecasts", what)
