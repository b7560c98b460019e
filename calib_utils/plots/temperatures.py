"""The ECE against temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from calib_utils.metrics import expected_calibration_error
from calib_utils.plots._axes import axes_or_new
from calib_utils.plots.diagrams import BLUE, ORANGE
from calib_utils.predictions.arrays import to_numpy
from calib_utils.predictions.gate import taken
from calib_utils.predictions.scores import check_logits
from calib_utils.recalibration import TemperatureScaling


class TemperatureCurve(NamedTuple):
    """What `temperature_curve` drew.

    Attributes:
        ax: the axes, on which the ECE is in percent.
        temperatures: (M,), where the ECE was computed.
        eces: (M,), the ECE at each of them, 0 to 1.

    Example:
        >>> logits, labels = [[2.0, 0.0]] * 10, [0] * 6 + [1] * 4
        >>> curve = temperature_curve(logits, labels, temperatures=[1.0, 5.0, 50.0])
        >>> curve.eces.round(2).tolist()
        [0.28, 0.0, 0.09]
        >>> curve.lowest
        5.0
    """

    ax: Axes
    temperatures: np.ndarray
    eces: np.ndarray

    @property
    def lowest(self) -> float:
        """The temperature at which the curve is lowest, the first of equals."""
        return float(self.temperatures[self.eces.argmin()])


def temperature_curve(
    logits: Any,
    labels: Any = None,
    temperatures: Sequence[float] | np.ndarray = (),
    *,
    n_bins: int = 15,
    marks: Sequence[float] = (),
    ax: Axes | None = None,
    **line: Any,
) -> TemperatureCurve:
    """How the ECE changes when the logits are divided by a temperature.

    It is for looking at, on several sets of samples, and not for choosing a temperature, which
    `calib_utils.recalibration.TemperatureScaling` does on a validation set.

    Args:
        logits: (N, K); or (N,), the log-odds of the positive class; or ``Predictions`` of logits.
        labels: (N,), integers from 0 to K - 1; omitted if ``logits`` are ``Predictions``.
        temperatures: (M,), above 0: the points of the curve, from left to right.
        n_bins: the number of bins of equal width.
        marks: temperatures at which the curve has a diamond.
        ax: where to draw; new axes by default.
        line: properties of the curve, such as ``label``, ``color`` and ``linestyle``.

    Raises:
        ValueError: if there is no temperature, one or a mark is not a finite number above 0, or
            ``logits``, ``labels`` or ``n_bins`` are not valid.

    Source: Guo et al. 2017, section 4.2, for the temperature.

    Example:
        >>> logits, labels = [[2.0, 0.0]] * 10, [0] * 6 + [1] * 4
        >>> curve = temperature_curve(logits, labels, range(1, 11), marks=[1], label="test")
        >>> legend = curve.ax.legend()
        >>> curve.lowest
        5.0
    """
    places, marked = _above_zero(temperatures, "temperatures"), _above_zero(marks, "marks")
    if not len(places):
        raise ValueError("temperatures: expected at least one number, found none")
    # In float64, because otherwise the bin of a confidence on an edge depends on the processor.
    given = taken(logits, labels, inputs="logits", name="logits")
    scores, labels = check_logits(given.array).astype(np.float64), given.labels

    def eces(values: np.ndarray) -> np.ndarray:
        fixed = (TemperatureScaling(float(T)).fit(scores, labels) for T in values)
        scaled = (one.predict_proba(scores) for one in fixed)
        weighted = (taken(probs, labels, given.sample_weight) for probs in scaled)
        return np.array([expected_calibration_error(each, n_bins=n_bins) for each in weighted])

    curve, of_marks = eces(places), eces(marked)
    ax = axes_or_new(ax, (4.6, 3.6))
    ax.plot(places, 100 * curve, **({"color": BLUE} | line))
    ax.plot(marked, 100 * of_marks, "D", color=ORANGE)
    ax.set(xlabel="Temperature T", ylabel="ECE (%)")
    ax.set_ylim(bottom=0)
    return TemperatureCurve(ax, places, curve)


def _above_zero(values: Any, name: str) -> np.ndarray:
    """Numbers above 0 as float64 of shape (M,)."""
    array = to_numpy(values, name).astype(np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected shape (M,), found {array.shape}")
    bad = ~(np.isfinite(array) & (array > 0))
    if bad.any():
        found = array[bad][0]
        raise ValueError(f"{name}: expected finite numbers above 0, found {found}")
    return array
