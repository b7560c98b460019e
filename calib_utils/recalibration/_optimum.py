"""The temperature of lowest NLL, found exactly.

Let d be a sample's logits minus the largest of them, and b = 1/T. The NLL is convex in b,
with derivative A - M(b): A is the mean of -d at the label, and M(b) the mean over samples
of the expectation of -d under softmax(b d). M falls from M(0) to 0, so there is one root
if 0 < A < M(0), and otherwise none. log M is nearly linear in log b, which makes a Halley step on
these axes long and safe, at any scale of the logits. Steps that are known to be coarse are
computed from some of the rows, or in the type of the logits; the last one always uses all rows in
float64.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from calib_utils._numerics import FAR, row_blocks, widen

__all__ = ["Optimum", "optimal_temperature"]

_TOLERANCE = 1e-9  # of the derivative, relative to A
_MAX_STEPS = 200  # far more than are ever needed
_START_ROWS = 1_000  # enough to bring the first guess within a few per cent
_ROUGH = 1e-4  # a bound of the rounding errors of a derivative in float32
_SCALES = (1e-30, 1e30)  # of 1/T in float32
_SIZES = (1e-290, 1e290)  # of the logits' differences, so that all bounds of T are finite
_NOTHING = -800.0  # its exponential is 0


class Optimum(NamedTuple):
    """The best temperature, and how it was found.

    Attributes:
        temperature: that of the lowest NLL, or its bound if there is none.
        scale: a temperature of the size of the logits' differences.
        passes: how often all logits were read; a pass over some of them counts as a fraction.
        problem: why there is no optimum; empty if there is one.
    """

    temperature: float
    scale: float
    passes: int
    problem: str


class _Summary(NamedTuple):
    """The results of one pass over the logits."""

    largest: np.ndarray  # of each row
    label_gap: float  # A
    mean_gap: float  # M(0)
    smallest: float  # of the rows' mean gaps, far ones and those of constant rows left out
    widest: float  # of the rows' mean gaps


def optimal_temperature(
    logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
) -> Optimum:
    """Minimise the NLL of softmax(logits / T).

    Args:
        logits: (N, K), checked; -inf where a class is masked, which no label is.
        labels: (N,), checked.
        weights: (N,), above 0: how often each sample counts. None for once.

    Raises:
        ValueError: if differences of the logits are too large or too small for float64.
    """
    weights = np.ones(len(labels)) if weights is None else weights
    summary = _summarise(logits, labels, weights)
    low, high = _SIZES
    if summary.widest > 0 and not low < summary.smallest <= summary.widest < high:
        raise ValueError(
            f"logits: expected differences between classes of {low:g} to {high:g}, found "
            f"{summary.smallest:.3g} to {summary.widest:.3g}; multiply the logits by a constant"
        )
    if summary.widest == 0:
        return Optimum(
            1.0, 1.0, 1, "all logits of a sample are equal, so no temperature changes anything"
        )
    low, high = 1e-9 * summary.smallest, 1e6 * summary.widest  # the bounds of T
    if summary.label_gap == 0:
        problem = "every label has the largest logit, so the NLL keeps falling as T goes to 0"
        return Optimum(low, summary.mean_gap, 1, problem)
    # The derivative at T = high is this one at T = infinity, up to 1e-6 of the logits' size.
    if summary.label_gap >= summary.mean_gap:
        problem = "labels have no larger logits than others, so the NLL keeps falling as T grows"
        return Optimum(high, summary.mean_gap, 1, problem)
    step = len(logits) // _START_ROWS
    guess, extra = math.log(2 / summary.mean_gap), 0.0
    if step > 1:
        sample = _summarise(logits[::step], labels[::step], weights[::step])
        if 0 < sample.label_gap < sample.mean_gap:
            some = logits[::step], weights[::step], sample
            guess, steps, _ = _root(*some, guess, low, high, tolerance=10 * _ROUGH)
            extra = (steps + 1) / step
    log_b, steps, beyond = _root(logits, weights, summary, guess, low, high)
    passes = math.ceil(1 + extra + steps)
    if beyond:
        temperature = low if beyond > 0 else high
        problem = f"the NLL is lowest beyond {temperature:.3g}, the bound of T for these logits"
        return Optimum(temperature, summary.mean_gap, passes, problem)
    return Optimum(math.exp(-log_b), summary.mean_gap, passes, "")


def _summarise(logits: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> _Summary:
    largest = np.empty(len(logits))
    ones = np.ones(logits.shape[1], widen(logits[:0]).dtype)
    label_gap, mean_gap, smallest, widest = 0.0, 0.0, math.inf, 0.0
    for rows, block in row_blocks(logits):
        highest = block.max(axis=1)
        top = highest.astype(np.float64)
        of_labels = np.take_along_axis(block, labels[rows, None], axis=1)[:, 0]
        with np.errstate(over="ignore"):
            if top.max() - float(block.min()) < FAR:
                gaps = highest[:, None] - block
                means = near = (gaps @ ones).astype(np.float64) / len(ones)
            else:
                gaps = np.subtract(top[:, None], block, dtype=np.float64)
                means = gaps.mean(axis=1, where=block > -np.inf)
                near = gaps.mean(axis=1, where=gaps < FAR)
                near = np.where(near > 0, near, means)
            label_gap += (top - of_labels) @ weights[rows]
            mean_gap += means @ weights[rows]
        largest[rows] = top
        widest = max(widest, means.max())
        smallest = min(smallest, near.min(where=near > 0, initial=math.inf))
    n = weights.sum()
    return _Summary(largest, float(label_gap / n), float(mean_gap / n), smallest, widest)


def _root(
    logits: np.ndarray,
    weights: np.ndarray,
    summary: _Summary,
    log_b: float,
    low: float,
    high: float,
    tolerance: float = _TOLERANCE,
) -> tuple[float, int, int]:
    """Solve M(b) = A for a temperature between ``low`` and ``high``.

    Returns:
        log b; how often the logits were read; and 0, or on which side of the range the root lies:
        1 if b is too large for it, -1 if too small.
    """
    left, right = -math.log(high), -math.log(low)
    before = math.nan  # the step before, if it was Halley's
    for steps in range(1, _MAX_STEPS + 1):
        b = math.exp(log_b)
        rough = (steps == 1 or tolerance > _ROUGH) and _SCALES[0] < b < _SCALES[1]
        expectation, variance, third = _moments(logits, weights, summary.largest, b, rough)
        value = math.log(expectation / summary.label_gap) - log_b if expectation > 0 else -math.inf
        enough = tolerance > _ROUGH or not rough
        if enough and abs(value) <= tolerance:
            return log_b, steps, 0
        if not (rough and abs(value) < _ROUGH):  # otherwise its sign may be wrong
            left, right = (log_b, right) if value > 0 else (left, log_b)
        if right - left < _TOLERANCE:
            break
        step = _halley(value, expectation, variance, third)
        inside = left < log_b + step < right
        # Halley's error is cubed in each step, up to a factor estimated from the last two.
        factor = max(1.0, abs(step) / max(abs(before), _ROUGH) ** 3)
        if inside and enough and 10 * factor * abs(step) ** 3 < tolerance:
            return log_b + step, steps, 0
        log_b = log_b + step if inside else (left + right) / 2
        before = step if inside else math.nan
    return log_b, steps, 1 if value > 0 else -1


def _halley(value: float, expectation: float, variance: float, third: float) -> float:
    """The step in log b that lowers log M(b) by ``value``, from the result of `_moments`.

    The slope of log M is -variance / expectation, and the third moment gives its curvature.
    """
    if not variance > 0:
        return math.inf
    newton = value * expectation / variance
    bend = (1 + third / variance + variance / expectation) / 2
    return newton / (1 + max(newton * bend, -0.5))


def _moments(
    logits: np.ndarray, weights: np.ndarray, largest: np.ndarray, b: float, rough: bool = False
) -> tuple[float, float, float]:
    """Means over the rows of the moments of x = b d under softmax(b d).

    In float64 or, if they may be rough, in the type of the logits.

    Returns:
        The expectation of -x, which is b M(b); the variance, -b^2 M'(b); and the third central
        moment, -b^3 M''(b).
    """
    dtype = widen(logits[:0]).dtype if rough else np.dtype(np.float64)
    ones = np.ones(logits.shape[1], dtype)
    moments = np.zeros(3)
    for rows, block in row_blocks(logits):
        x = block.astype(dtype)
        x -= largest[rows, None].astype(dtype)
        with np.errstate(over="ignore"):
            x *= b
        if not x.min() > _NOTHING:  # or a masked class would give 0 times infinity
            np.maximum(x, _NOTHING, out=x)
        powers = np.exp(x)
        sums = np.empty((4, len(block)))  # over the classes, of exp(x) times 1, x, x^2, x^3
        sums[0] = powers @ ones  # faster than sum(axis=1)
        for power in (1, 2, 3):
            powers *= x
            sums[power] = powers @ ones
        first, second, third = sums[1:] / sums[0]
        variance = second - first * first
        third -= first * (3 * variance + first * first)
        here = weights[rows]
        moments += -first @ here, variance @ here, third @ here
    expectation, variance, third = moments / weights.sum()
    return float(expectation), float(variance), float(third)
