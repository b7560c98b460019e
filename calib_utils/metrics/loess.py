"""The integrated calibration index, from a local regression of outcomes on probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils.metrics.confidences import float_pairs
from calib_utils.predictions import taken

__all__ = ["integrated_calibration_index"]

_SPAN = 0.75  # the share of samples in a window, as in Austin and Steyerberg
_MOST_PLACES = 100  # where the regression is solved; in between it is interpolated


def integrated_calibration_index(probs: Any, labels: Any = None) -> float:
    r"""ICI: the mean distance between predicted probabilities and a smooth calibration curve.

    .. math::

        \text{ICI} = \frac{1}{n} \sum_i \lvert \hat{y}(c_i) - c_i \rvert

    The curve is a local regression (loess) of the outcomes on the probabilities. At each of them a
    parabola is fitted by least squares to the nearest three quarters of the samples, with tricube
    weights that fall with the distance. The curve is therefore blind to gaps that are narrower than
    this window, and it can leave the range from 0 to 1 slightly. If there are more than 100
    distinct probabilities, the regression is solved at 100 of them, and interpolated by cubics in
    between.

    Like the ECE, the ICI of calibrated predictions is above 0 in a finite sample.

    Args:
        probs: (N, K), of which the confidence in the predicted class counts; or (N,), for the
            positive class, as in the source.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.

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
    # Equal confidences share a place, with their summed weight and their accuracy.
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
    # A window that starts at i has enough samples once it reaches ends[i].
    enough = _SPAN * summed[-1] * (1 - 1e-12)
    ends = np.searchsorted(summed, summed - masses + enough)
    starts = np.flatnonzero(ends < len(x))
    left, right = x[starts], x[ends[starts]]
    found = np.empty(len(chosen))
    for place, at in enumerate(x[chosen]):
        width = np.maximum(at - left, right - at).min()
        if width <= 0:  # three quarters of all samples have this value
            found[place] = y[chosen[place]]
            continue
        near = slice(*np.searchsorted(x, [at - width, at + width]))  # at the ends a weight is 0
        u = (x[near] - at) / width
        root = np.sqrt(masses[near] * (1 - np.abs(u) ** 3).clip(0) ** 3)
        design = np.stack([root, root * u, root * u**2], axis=1)
        found[place] = np.linalg.lstsq(design, root * y[near], rcond=1e-10)[0][0]
    return found
