"""Selective prediction: how often is a model wrong if it abstains when it is unsure?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from calib_utils.metrics.bins import confidence_and_correct
from calib_utils.predictions import Predictions
from calib_utils.predictions.checks import check_rows, check_share
from calib_utils.predictions.gate import probs_of, taken, unweighted
from calib_utils.predictions.labels import check_correct
from calib_utils.predictions.scores import check_confidences


class RiskCoverage(NamedTuple):
    """The error rate of a model against the share of samples on which it predicts.

    Attributes:
        thresholds: (G,), the G different confidences, falling; samples at or above are accepted.
        coverage: (G,), the share of all samples that are accepted, rising to 1.
        risk: (G,), the share of errors among those, 0 to 1.
        area: the mean risk over all numbers of accepted samples, from 1 to N; 0 to 1.
        parts: (N,), the contribution of each sample to the area, which is their mean. To test
            whether the areas of two models differ on the same samples, give the parts of both to
            `calib_utils.comparing.paired_difference`.

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

    Samples of equal confidence are accepted together. The area counts them as if they came in
    random order, so it does not depend on the order of the samples.

    The area depends only on the ranking of the samples and on the accuracy, and a more accurate
    model has a smaller area. Therefore compare areas of models with the same predictions, or look
    at the curves.

    Args:
        confidences: (N,), 0 to 1, such as `calib_utils.metrics.top_label` gives them; or
            ``Predictions``, where the predicted class is the most probable one.
        correct: (N,), whether each prediction is correct; omitted if ``confidences`` are
            ``Predictions``.

    Raises:
        ValueError: for bad input.

    Source: El-Yaniv and Wiener 2010, "On the foundations of noise-free selective
    classification", for the curve; Geifman, Uziel, El-Yaniv 2019, "Bias-reduced uncertainty
    estimation for deep neural classifiers", for the area (AURC). The parts are the area's influence
    function, so their spread gives its standard error if N is large.

    Example:
        >>> sorted_well = risk_coverage([0.9, 0.8, 0.7, 0.6], [1, 1, 1, 0])
        >>> at_random = risk_coverage([0.5, 0.5, 0.5, 0.5], [1, 1, 1, 0])
        >>> round(sorted_well.area, 4), round(at_random.area, 4)
        (0.0625, 0.25)
    """
    values, hits = _checked(confidences, correct)
    n = len(values)
    order, ends = _falling_runs(values)
    wrong = ~hits[order]
    counts = np.diff(ends, prepend=0)
    rates = np.diff(_up_to(wrong, ends), prepend=0.0)
    rates /= counts
    # A sample of rank j is among the first k for all k >= j: it counts 1/j + ... + 1/n.
    later = np.append(1 / np.arange(1, n + 1), 0.0)
    np.cumsum(later[::-1], out=later[::-1])
    weights, after = later[ends - counts], later[ends]
    del later
    # The mean of it in a run from rank s + 1 to e: 1 + later[s] - e (later[s] - later[e]) / m.
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
    return RiskCoverage(values[order[ends - 1]], ends / n, risk, area, parts)


def selection_threshold(
    confidences: Any, correct: Any = None, *, risk: float, level: float = 0.95
) -> float:
    """The confidence from which to accept a prediction, so that at most ``risk`` of them are wrong.

    The guarantee is about new samples, not about these: with probability ``level`` or more over the
    choice of these samples, the true risk at the threshold is at most ``risk``. About log2 N
    thresholds are tried, halving the range each time. Each trial uses an exact binomial upper bound
    of the risk, at a level that is corrected for the number of trials. Samples are taken for
    independent, so of several that belong together, such as the visits of a patient, give one.

    Args:
        confidences: (N,), 0 to 1, of samples that the model was not trained on; or ``Predictions``.
        correct: (N,), whether each prediction is correct; omitted if ``confidences`` are
            ``Predictions``.
        risk: the largest acceptable share of wrong predictions, above 0 and below 1.
        level: how often the guarantee is to hold, above 0 and below 1.

    Returns:
        The lowest threshold found, at or above which predictions are accepted; infinite if the
        guarantee holds for none of those tried.

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
    values, hits = _checked(confidences, correct)
    check_share(risk, "risk", 0.1)
    check_share(level, "level", 0.95)
    order, ends = _falling_runs(values)
    errors = _up_to(~hits[order], ends)
    trials = max(1, int(np.ceil(np.log2(len(ends) + 1))))
    slip = (1 - level) / trials
    # All places below `low` are accepted, and none from `high` on.
    found, low, high = np.inf, 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        k, m = errors[middle], ends[middle]
        bound = 1.0 if k == m else float(beta.ppf(1 - slip, k + 1, m - k))
        if bound <= risk:
            found, low = float(values[order[m - 1]]), middle + 1
        else:
            high = middle
    return found


def _falling_runs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of falling confidence; and where in it each run of equal ones ends."""
    order = np.argsort(values)[::-1]
    falling = values[order]
    ends = np.append(np.flatnonzero(falling[1:] != falling[:-1]) + 1, len(values))
    return order, ends


def _up_to(wrong: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """How many of the first are wrong, up to each of the ends."""
    return np.cumsum(wrong, dtype=np.float64)[ends - 1]


def _checked(confidences: Any, correct: Any) -> tuple[np.ndarray, np.ndarray]:
    """The confidence of each prediction, and whether it is correct."""
    if not isinstance(confidences, Predictions):
        values = check_confidences(confidences)
        check_rows(confidences, correct, "correct", "confidences")
        return values, check_correct(correct, len(values))
    predictions = unweighted(taken(confidences, correct, name="confidences"))
    if predictions.kind != "binary":
        return confidence_and_correct(predictions)
    probs = probs_of(predictions)
    return np.maximum(probs, 1 - probs), (probs > 0.5) == (predictions.labels == 1)
