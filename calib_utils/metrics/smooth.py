"""A calibration error without bins: residuals smoothed by a kernel that sets its own width."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils.metrics.bins import confidence_and_correct

__all__ = ["smooth_calibration_error"]

_FINEST = 2**18  # intervals of the grid to which the residuals are moved
_PER_WIDTH = 256  # how many points one width of the kernel gets, if the finest grid has them
_NARROWEST = 3e-4  # width of a kernel; 79 intervals of the finest grid


def smooth_calibration_error(probs: Any, labels: Any) -> float:
    """SmoothECE: the mean residual, smoothed over neighbouring confidences.

    The residuals, correctness less confidence, are spread by a Gaussian of width sigma that
    is reflected at 0 and 1, so that none is lost. The error at this width is the area
    between the smoothed residuals and zero::

        smECE(sigma) = integral over t from 0 to 1 of |sum_i K_sigma(t, c_i) (y_i - c_i)| / n

    It never grows with sigma. SmoothECE is the one width that equals its own error: gaps of
    opposite sign cancel if they lie nearer to each other than about the error itself. There
    are no bins to choose, and a small change of the confidences makes a small change of the
    error.

    The residuals are moved to a grid, and smoothed by a fast Fourier transform. That changes
    a result r by at most 4e-6 + 6e-12 / r^2, which is 1e-5 for r = 0.001. A result below
    0.0003 says no more than that SmoothECE is below 0.0004.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1.

    Returns:
        0 to 1. As with the ECE, even calibrated predictions get more than 0 from a finite
        sample.

    Raises:
        ValueError: for bad input.

    Example:
        All forecasts are 0.2 too high; no width lets them cancel.

        >>> error = smooth_calibration_error([0.8] * 10, [1] * 6 + [0] * 4)
        >>> round(error, 4)
        0.2

    Source: Błasiok, Nakkiran 2023, "Smooth ECE: Principled reliability diagrams via kernel
    smoothing". Their program relplot 1.0 gives confidences of 0 and 1 half their weight.
    """
    confidences, correct = confidence_and_correct(probs, labels)
    values = np.minimum(confidences.astype(np.float64), 1)
    waves = _cosine_sums(values, (correct - values) / len(values))
    low, high = _NARROWEST, 1.0
    narrowest = _smoothed_area(waves, low)
    if narrowest <= low:
        return narrowest
    for _ in range(24):  # 1 / 2^24 is far below the error of the grid
        middle = (low + high) / 2
        if _smoothed_area(waves, middle) > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _cosine_sums(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum of weight * cos(pi k value) for k = 0, 1, ... to the finest grid's end.

    Each weight is shared between the two points next to its value, so that its place stays
    the same on average.
    """
    place = values * _FINEST
    below = np.minimum(place.astype(np.intp), _FINEST - 1)
    above_part = weights * (place - below)
    masses = np.zeros(_FINEST + 1)
    masses[:-1] += np.bincount(below, weights - above_part, _FINEST)
    masses[1:] += np.bincount(below, above_part, _FINEST)
    # The transform of a function that is even about 0 and about 1: cosines only.
    masses[1:-1] /= 2
    return np.fft.rfft(np.concatenate([masses, masses[-2:0:-1]])).real


def _smoothed_area(waves: np.ndarray, sigma: float) -> float:
    """The error at the width sigma: the trapezoidal rule on the smoothed residuals.

    A Gaussian that is reflected at 0 and 1 leaves each cosine a cosine, and damps it. Only
    waves that the points can hold are kept; the others are damped to nothing.

    The result is wrong by at most (0.121 h^2 + 0.242 d^2) / sigma^2, where the residuals were
    moved to points at a distance h = 1 / _FINEST, and the curve is looked at in points at a
    distance d. For 0.121 is 1/8 of 4 phi(1) (phi: the standard normal density), and
    4 phi(1) / sigma^2 bounds the integrals of |K''| and of the curve's |r''|, as the mean
    |residual| is at most 1. In |r| each crossing of zero adds a corner of 2 |r'|, and all
    corners together at most the integral of |r''| once more, since r' is 0 at both ends.
    """
    size = min(_FINEST, 2 ** int(np.ceil(np.log2(_PER_WIDTH / sigma))))
    damping = np.exp(-0.5 * (np.pi * sigma * np.arange(size + 1)) ** 2)
    # The curve over 0 to 2, of which 1 to 2 is a mirror image, in steps of 1 / size.
    curve = 2 * size * np.fft.irfft(waves[: size + 1] * damping, 2 * size)
    return float(np.abs(curve).mean())
