"""A calibration error without bins: residuals smoothed by a kernel that sets its own width."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils.metrics.confidences import float_pairs
from calib_utils.predictions import taken

__all__ = ["smooth_calibration_error"]

_FINEST = 2**18  # intervals of the grid to which the residuals are moved
_PER_WIDTH = 256  # how many points one width of the kernel gets, if the finest grid has them
_NARROWEST = 3e-4  # width of a kernel; 79 intervals of the finest grid
_FEWEST = 1024  # intervals of the curve


def smooth_calibration_error(
    probs: Any,
    labels: Any = None,
) -> float:
    r"""SmoothECE: the mean residual, smoothed over neighbouring confidences.

    The residuals, correctness minus confidence, are spread by a Gaussian of width :math:`\sigma`
    that is reflected at 0 and 1, so that none is lost. The error at this width is the area between
    the smoothed residuals and zero:

    .. math::

        \text{smECE}(\sigma)
        = \frac{1}{n} \int_0^1 \Big| \sum_i K_\sigma(t, c_i) (y_i - c_i) \Big| \, dt

    It never increases with :math:`\sigma`. SmoothECE is the one width that equals its own error, so
    gaps of opposite sign cancel if they are closer together than about the error itself. There are
    no bins to choose, and a small change of the confidences makes a small change of the error.

    The residuals are moved to a grid, and smoothed by a fast Fourier transform. This changes
    a result r by at most :math:`4 \cdot 10^{-6} + 6 \cdot 10^{-12} / r^2`, which is 1e-5 for r =
    0.001. A result below 0.0003 only means that SmoothECE is below 0.0004.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.

    Returns:
        0 to 1. As with the ECE, even calibrated predictions get more than 0 from a finite
        sample.

    Raises:
        ValueError: for bad input.

    Example:
        All forecasts are 0.2 too high, and cancel at no width.

        >>> error = smooth_calibration_error([0.8] * 10, [1] * 6 + [0] * 4)
        >>> round(error, 4)
        0.2

    Source: Błasiok, Nakkiran 2023, "Smooth ECE: Principled reliability diagrams via kernel
    smoothing". Their program relplot 1.0 gives confidences of 0 and 1 half their weight.
    """
    values, correct, weights = float_pairs(taken(probs, labels))
    return _fixed_point(_cosine_sums(values, weights / weights.sum() * (correct - values)))


def _fixed_point(waves: np.ndarray) -> float:
    """The width that equals its error."""
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

    Each weight is shared between the two points next to its value, so that its mean position does
    not change.
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

    The result is wrong by at most (0.121 h^2 + 0.242 d^2) / sigma^2, where the residuals were
    moved to points at a distance h = 1 / _FINEST, and the curve is evaluated at points at a
    distance d. Here 0.121 is 1/8 of 4 phi(1) (phi: the standard normal density), and
    4 phi(1) / sigma^2 bounds the integrals of |K''| and of the curve's |r''|, because the mean
    |residual| is at most 1. In |r| each crossing of zero adds a corner of 2 |r'|, and all
    corners together at most the integral of |r''| once more, because r' is 0 at both ends.
    """
    curve = np.abs(_smoothed(waves, sigma))
    return float((curve[0] / 2 + curve[1:-1].sum() + curve[-1] / 2) / (len(curve) - 1))


def _smoothed(waves: np.ndarray, sigma: float) -> np.ndarray:
    """The curve from 0 to 1, in even steps, after smoothing with the width sigma.

    A Gaussian that is reflected at 0 and 1 maps each cosine to a damped cosine. Only frequencies
    that the points can represent are kept; the others are damped to nothing.
    """
    size = min(_FINEST, max(_FEWEST, 2 ** int(np.ceil(np.log2(_PER_WIDTH / sigma)))))
    damping = np.exp(-0.5 * (np.pi * sigma * np.arange(size + 1)) ** 2)
    # Over 0 to 2, of which 1 to 2 is a mirror image.
    return 2 * size * np.fft.irfft(waves[: size + 1] * damping, 2 * size)[: size + 1]
