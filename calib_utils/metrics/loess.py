"""The integrated calibration index, from a local regression of outcomes on probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils.metrics.confidences import float_pairs
from calib_utils.predictions import taken

__all__ = ["integrated_calibration_index"]

_SPAN = 0.75  # of the predictions: what is near, as in Austin and Steyerberg
_MOST_PLACES = 100  # where the regression is solved; between them it is interpolated


def integrated_calibration_index(probs: Any, labels: Any = None) -> float:
    r"""ICI: the mean distance between probabilities and a smooth curve of what happened.

    .. math::

        \text{ICI} = \frac{1}{n} \sum_i \lvert \hat{y}(c_i) - c_i \rvert

    The curve is a local regression (loess): at each confidence a parabola, fitted by least squares
    to the nearest three quarters of the predictions, of which the nearer count more (tricube
    weights). So it may leave 0 to 1 a little, and gaps narrower than that are smoothed away: a
    network of which most confidences lie close to 1 is judged by few parabolas. Where more than 100
    values are unlike, it is solved at 100 of them, and interpolated by cubics between.

    Even calibrated predictions get more than 0 from a finite sample.

    Args:
        probs: (N, K), of which the confidence in the predicted class counts; or (N,), of the
            positive class, as in the source.
        labels: (N,), integers from 0 to K - 1; none where ``probs`` are ``Predictions``.

    Returns:
        0 or more.

    Raises:
        ValueError: for bad input.

    Source: Austin and Steyerberg 2019, "The Integrated Calibration Index (ICI) and related metrics
    for quantifying the calibration of logistic regression models", with the default of their
    ``loess`` in R; Cleveland 1979 for the regression.

    Example:
        >>> round(integrated_calibration_index([0.8] * 10, [1] * 6 + [0] * 4), 4)
        0.2
    """
    from scipy.interpolate import PchipInterpolator

    confidences, correct, weights = float_pairs(taken(probs, labels))
    # Equal confidences share a place, and what is known of them is how much and how often.
    places, where = np.unique(confidences, return_inverse=True)
    masses = np.bincount(where, weights)
    rates = np.bincount(where, weights * correct) / masses
    chosen = np.arange(len(places))
    if len(places) > _MOST_PLACES:
        chosen = np.unique(np.linspace(0, len(places) - 1, _MOST_PLACES).round().astype(int))
    curve = _loess(places, rates, masses, chosen)
    if len(chosen) < len(places):
        curve = PchipInterpolator(places[chosen], curve)(places)
    return float(masses @ np.abs(curve - places) / masses.sum())


def _loess(x: np.ndarray, y: np.ndarray, masses: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The local regression of y on the rising x, at the chosen ones."""
    summed = np.cumsum(masses)
    # A window that begins at i holds enough if it goes on to ends[i]; the last cannot begin later.
    enough = _SPAN * summed[-1] * (1 - 1e-12)
    ends = np.searchsorted(summed, summed - masses + enough)
    starts = np.flatnonzero(ends < len(x))
    left, right = x[starts], x[ends[starts]]
    found = np.empty(len(chosen))
    for place, at in enumerate(x[chosen]):
        width = np.maximum(at - left, right - at).min()
        if width <= 0:  # most are equal, and here
            found[place] = y[chosen[place]]
            continue
        near = slice(*np.searchsorted(x, [at - width, at + width]))  # at the ends a weight is 0
        u = (x[near] - at) / width
        root = np.sqrt(masses[near] * (1 - np.abs(u) ** 3).clip(0) ** 3)
        design = np.stack([root, root * u, root * u**2], axis=1)
        found[place] = np.linalg.lstsq(design, root * y[near], rcond=1e-10)[0][0]
    return found
