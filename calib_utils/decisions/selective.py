"""Answer only where the model is sure: how often is it wrong then, and how much is left?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from calib_utils._checks import check_confidences, check_correct
from calib_utils._numbers import check_share
from calib_utils.metrics.confidences import confidence_and_correct
from calib_utils.predictions import Predictions, probs_of, taken, unweighted

__all__ = ["RiskCoverage", "risk_coverage", "selection_threshold"]


class RiskCoverage(NamedTuple):
    """How often a model is wrong, by the share of the samples that it answers.

    Attributes:
        thresholds: (G,), the G different confidences, falling: samples at or above are answered.
        coverage: (G,), which share of all samples that is, rising to 1.
        risk: (G,), which share of those is wrong, 0 to 1.
        area: the mean risk over all numbers of answered samples, from 1 to N; 0 to 1.
        parts: (N,), what each sample has to do with the area: their mean is the area, and the
            difference of the parts of two models on the same samples, put into
            `calib_utils.report.paired_difference`, says whether their areas differ.

    Example:
        >>> curve = risk_coverage([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])
        >>> curve.coverage.tolist(), [round(float(r), 2) for r in curve.risk]
        ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.33, 0.25])
    """

    thresholds: np.ndarray
    coverage: np.ndarray
    risk: np.ndarray
    area: float
    parts: np.ndarray


def risk_coverage(confidences: Any, correct: Any = None) -> RiskCoverage:
    """The curve of risk against coverage, and the area under it.

    Samples of equal confidence are answered together. The area counts them as if chance chose
    among them; so it does not depend on the order in which the samples come.

    The area looks at the order of the samples alone. Whoever is right more often has a smaller one,
    too: so compare areas of models with the same answers, or look at the curves.

    Args:
        confidences: (N,), 0 to 1, such as `calib_utils.metrics.top_label` gives them; or
            ``Predictions``, whose answers are their most probable classes.
        correct: (N,), whether each answer is right; none where ``confidences`` are ``Predictions``.

    Raises:
        ValueError: for bad input.

    Source: El-Yaniv and Wiener 2010, "On the foundations of noise-free selective
    classification", for the curve; Geifman, Uziel, El-Yaniv 2019, "Bias-reduced uncertainty
    estimation for deep neural classifiers", for the area (AURC). The parts are the area's influence
    function, so their spread gives its standard error where N is large.

    Example:
        >>> sorted_well = risk_coverage([0.9, 0.8, 0.7, 0.6], [1, 1, 1, 0])
        >>> at_random = risk_coverage([0.5, 0.5, 0.5, 0.5], [1, 1, 1, 0])
        >>> round(sorted_well.area, 4), round(at_random.area, 4)
        (0.0625, 0.25)
    """
    sure, right = _answers(confidences, correct)
    n = len(sure)
    order, ends = _falling_runs(sure)
    wrong = ~right[order]
    counts = np.diff(ends, prepend=0)
    rates = np.diff(_up_to(wrong, ends), prepend=0.0)
    rates /= counts
    # A sample at place j is among the first k for all k >= j: it counts 1/j + ... + 1/n.
    later = np.append(1 / np.arange(1, n + 1), 0.0)
    np.cumsum(later[::-1], out=later[::-1])
    weights, after = later[ends - counts], later[ends]
    del later
    # The mean of it in a run from place s + 1 to e: 1 + later[s] - e (later[s] - later[e]) / m.
    lost = weights - after
    weights += 1
    weights -= ends / counts * lost
    # A sample counts by its own weight, and takes weight from the errors of those below it.
    after -= weights
    after *= rates
    lost *= rates
    rates *= counts
    area = float(rates @ weights / n)
    del rates
    after[:-1] -= np.cumsum(lost[:0:-1], out=lost[:0:-1])[::-1]
    del lost
    parts = np.empty(n)
    parts[order] = np.repeat(after, counts)
    del after
    parts[order[wrong]] += np.repeat(weights, counts)[wrong]
    del weights, counts
    parts += area - parts.mean()
    risk = _up_to(wrong, ends)
    risk /= ends
    return RiskCoverage(sure[order[ends - 1]], ends / n, risk, area, parts)


def selection_threshold(
    confidences: Any, correct: Any = None, *, risk: float, level: float = 0.95
) -> float:
    """From which confidence on to answer, so that at most ``risk`` of the answers are wrong.

    It is a promise about the samples to come, not about these: with chance ``level`` or more over
    the choice of these samples, the true risk at the threshold is at most ``risk``. About log2 N
    thresholds are tried, halving the range each time, and each time the highest risk that these
    samples still allow is an exact binomial bound, at a level that leaves room for all trials.

    Args:
        confidences: (N,), 0 to 1, of samples that the model was not trained on; or ``Predictions``.
        correct: (N,), whether each answer is right; none where ``confidences`` are ``Predictions``.
        risk: the highest share of wrong answers, above 0 and below 1.
        level: how often the promise is to hold, above 0 and below 1.

    Returns:
        The lowest threshold found, to answer at or above; infinite if none of those tried can be
        promised.

    Raises:
        ValueError: for bad input.

    Source: Geifman and El-Yaniv 2017, "Selective classification for deep neural networks",
    Algorithm 1 and Lemma 3.1.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> p = rng.random(2_000)
        >>> correct = rng.random(2_000) < p
        >>> round(selection_threshold(p, correct, risk=0.2), 2)
        0.65
    """
    sure, right = _answers(confidences, correct)
    check_share(risk, "risk", 0.1)
    check_share(level, "level", 0.95)
    order, ends = _falling_runs(sure)
    errors = _up_to(~right[order], ends)
    trials = max(1, int(np.ceil(np.log2(len(ends) + 1))))
    slip = (1 - level) / trials
    # All below `low` are answered in any case; from `high` on none is.
    found, low, high = np.inf, 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        k, m = errors[middle], ends[middle]
        bound = 1.0 if k == m else float(beta.ppf(1 - slip, k + 1, m - k))
        if bound <= risk:
            found, low = float(sure[order[m - 1]]), middle + 1
        else:
            high = middle
    return found


def _falling_runs(sure: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of falling confidence; and where in it each run of equal ones ends."""
    order = np.argsort(sure)[::-1]
    falling = sure[order]
    ends = np.append(np.flatnonzero(falling[1:] != falling[:-1]) + 1, len(sure))
    return order, ends


def _up_to(wrong: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """How many of the first are wrong, up to each of the ends."""
    return np.cumsum(wrong, dtype=np.float64)[ends - 1]


def _answers(confidences: Any, correct: Any) -> tuple[np.ndarray, np.ndarray]:
    """How sure each answer is, and whether it is right."""
    if not isinstance(confidences, Predictions):
        sure = check_confidences(confidences)
        return sure, check_correct(correct, len(sure))
    predictions = unweighted(taken(confidences, correct, name="confidences"))
    if predictions.kind != "binary":
        return confidence_and_correct(predictions)
    probs = probs_of(predictions)
    return np.maximum(probs, 1 - probs), (probs > 0.5) == (predictions.labels == 1)
