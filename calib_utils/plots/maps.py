"""The map of a recalibrator for two classes: from a score to a probability."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from scipy.special import expit

from calib_utils.metrics import ReliabilityBins, reliability_bins
from calib_utils.plots._axes import axes_or_new
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE
from calib_utils.predictions.gate import probs_of, taken
from calib_utils.predictions.scores import check_logits, look_like_probs
from calib_utils.recalibration import Recalibrator

_STYLES = ((BLUE, "-"), (ORANGE, ":"), (GREY, "-."))
# From nearly 0 to nearly 1, densest near the scores, so that a step is drawn as a step.
_GRID = np.linspace(-12, 12, 4_001)


class CalibrationMap(NamedTuple):
    """What `calibration_map` drew.

    Attributes:
        ax: the axes.
        scores: (P,), rising from nearly 0 to nearly 1, at which the curves were computed.
        curves: the height of each curve there, (P,), by name; the name of a single one is empty.
        bins: the dots: mean score (``confidence``) and share of positives (``accuracy``).

    Example:
        >>> from calib_utils.recalibration import PlattScaling
        >>> logits, labels = [-2.0] * 4 + [2.0] * 4, [0, 0, 0, 1, 0, 1, 1, 1]
        >>> drawn = calibration_map(PlattScaling().fit(logits, labels), logits, labels, n_bins=2)
        >>> [round(share, 2) for share in drawn.bins.accuracy.tolist()]
        [0.25, 0.75]
    """

    ax: Axes
    scores: np.ndarray
    curves: dict[str, np.ndarray]
    bins: ReliabilityBins


def calibration_map(
    recalibrator: Recalibrator | Mapping[str, Recalibrator],
    logits: Any,
    labels: Any = None,
    *,
    n_bins: int = 10,
    ax: Axes | None = None,
) -> CalibrationMap:
    """The probability that a recalibrator gives to each score, and the observed frequencies.

    The dots are samples in bins of equal mass: their mean score, and the share of them that is
    positive. A good map passes near the dots of samples that it was not fitted on. The dashed
    diagonal is the map that changes nothing.

    Args:
        recalibrator: a fitted one for two classes; or up to three by name, one line each, which
            ``ax.legend()`` then names.
        logits: (N,), in the form that the recalibrators take: log-odds of the positive class, whose
            sigmoid is the score; or the scores themselves if they have ``inputs="probs"``; or
            ``Predictions`` of either.
        labels: (N,), 0 or 1; omitted if ``logits`` are ``Predictions``.
        n_bins: number of dots.
        ax: where to draw; new axes by default.

    Returns:
        The axes and the numbers in them.

    Raises:
        ValueError: for bad input, recalibrators of different inputs, or more than three.
        RuntimeError: if a recalibrator is not fitted.

    Warns:
        UserWarning: if the logits look like probabilities.

    Source: Niculescu-Mizil and Caruana 2005, "Predicting Good Probabilities With Supervised
    Learning", figures 1 and 2.

    Example:
        >>> from calib_utils.recalibration import BetaCalibration, PlattScaling
        >>> logits, labels = [-2.0, -1.0, 0.0, 1.0, 2.0], [0, 1, 0, 0, 1]
        >>> maps = {"Platt": PlattScaling(), "beta": BetaCalibration()}
        >>> fitted = {name: one.fit(logits, labels) for name, one in maps.items()}
        >>> sorted(calibration_map(fitted, logits, labels, n_bins=2).curves)
        ['Platt', 'beta']
    """
    maps = recalibrator if isinstance(recalibrator, Mapping) else {"": recalibrator}
    if not 1 <= len(maps) <= len(_STYLES):
        raise ValueError(f"recalibrator: expected one to three, found {len(maps)}")
    for one in maps.values():
        if not isinstance(one, Recalibrator):
            raise ValueError(f"recalibrator: expected a fitted recalibrator, found {one!r}")
    inputs, *others = {one.inputs for one in maps.values()}
    if others:
        raise ValueError(
            "recalibrator: expected all to take logits or all to take probabilities, found both; "
            "draw them in two calls"
        )
    name = "logits" if inputs == "logits" else "logits (inputs='probs')"
    given = taken(logits, labels, inputs=inputs, name=name)
    if given.array.ndim != 1:
        raise ValueError(f"logits: expected shape (N,), found {given.array.shape}")
    if inputs == "probs":
        scores = np.minimum(probs_of(given, name), 1)
    else:
        for doubt in look_like_probs(given.array):
            warnings.warn(doubt, stacklevel=2)
        scores = expit(check_logits(given.array))
    dots = taken(scores, given.labels, given.sample_weight)
    bins = reliability_bins(dots, n_bins=n_bins, strategy="quantile")
    grid = expit(_GRID)
    places = grid if inputs == "probs" else _GRID
    curves = {name: one.predict_proba(places) for name, one in maps.items()}

    ax = axes_or_new(ax, (4.2, 4.2))
    ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
    ax.plot(bins.confidence, bins.accuracy, "o", color=GREY, markersize=5)
    for (name, curve), (colour, style) in zip(curves.items(), _STYLES, strict=False):
        ax.plot(grid, curve, style, color=colour, linewidth=2, label=name or None)
    ax.set(xlabel="Score", ylabel="Recalibrated probability", aspect="equal")
    return CalibrationMap(ax, grid, curves, bins)
