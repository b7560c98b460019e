"""Maps from one logit or score of a sample to the probability of the positive class.

``inputs="logits"`` means log-odds, or any other real decision value if the method allows it;
``inputs="probs"`` means scores: probabilities of the positive class, 0 to 1, or confidences in a
prediction. `predict_proba` takes the same as `fit`. For more than two classes see `OneVersusRest`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from calib_utils._numerics import log_parts, row_blocks
from calib_utils.metrics.bins import (
    bin_predictions,
    interpolated,
    isotonic_steps,
    right_closed_index,
    uniform_index,
)
from calib_utils.metrics.logistic_fit import (
    SURE,
    checked_middle,
    logistic_regression,
    require_optimum,
    targets,
)
from calib_utils.predictions import Predictions
from calib_utils.predictions.checks import check_flag, check_n_bins
from calib_utils.predictions.gate import probs_of
from calib_utils.predictions.scores import check_logits
from calib_utils.recalibration.base import Recalibrator, check_array


class BinaryRecalibrator(Recalibrator):
    """A recalibrator of one logit or score for each sample, of shape (N,)."""

    _shapes: ClassVar[tuple[str, ...]] = ("(N,)",)
    _of_groups: ClassVar[bool] = False  # whether predictions need the groups of their samples

    def _check_values(self, predictions: Predictions) -> np.ndarray:
        if self.inputs == "logits":
            return check_logits(predictions.array)
        return np.minimum(probs_of(predictions, self._name), 1)

    def _as_scores(self, values: np.ndarray) -> np.ndarray:
        if self.inputs == "probs":
            return values
        from scipy.special import expit

        return np.asarray(expit(values.astype(np.float64)))

    def _log_parts(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The logarithms log s and log(1 - s) of the scores s.

        Both are finite: `calib_utils._numerics` defines the value for a score of exactly 0 or 1.
        """
        if self.inputs == "logits":
            values = values.astype(np.float64)
            return -np.logaddexp(0, -values), -np.logaddexp(0, values)
        return log_parts(values, self.zero_)

    def _as_logits(self, values: np.ndarray) -> np.ndarray:
        if self.inputs == "logits":
            return values.astype(np.float64)
        positive, negative = self._log_parts(values)
        return positive - negative


class HistogramBinning(BinaryRecalibrator):
    """Replace a score by the share of positive samples in its bin of the validation set.

    Bins are those of `calib_utils.metrics.reliability_bins`: right-closed, so that a score on
    an edge belongs to the bin below it; for types of 16 bits the edges are those of float32. Scores
    outside the edges belong to the nearest bin. A bin without samples gives the midpoint of its
    edges. All scores in a bin become equal, and of several tied classes the first is the predicted
    one, as everywhere.

    If a class has no sample, every bin that has samples gives 0 or 1.

    Args:
        n_bins: the number of bins, M.
        strategy: "uniform" (equal width) or "quantile" (equal mass).
        inputs: "logits", whose sigmoid is the score, or "probs".

    Attributes:
        edges_: float64, shape (M + 1,), of the scores.
        counts_: int64, shape (M,), the number of validation samples in each bin.
        probabilities_: float64, shape (M,), the recalibrated probability of each bin.

    Raises:
        ValueError: for an invalid argument.

    Source: Zadrozny, Elkan 2001, "Obtaining calibrated probability estimates from decision
    trees and naive Bayesian classifiers".

    Example:
        >>> binning = HistogramBinning(n_bins=2, inputs="probs")
        >>> fitted = binning.fit([0.1, 0.3, 0.7, 0.9], labels=[0, 1, 1, 1])
        >>> fitted.predict_proba([0.2, 0.8]).tolist()
        [0.5, 1.0]
    """

    edges_: np.ndarray
    counts_: np.ndarray
    probabilities_: np.ndarray

    def __init__(self, n_bins: int = 15, strategy: str = "uniform", inputs: str = "logits"):
        self.n_bins = n_bins
        self.strategy = strategy
        super().__init__(inputs)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_n_bins(self.n_bins)
        if self.strategy not in ("uniform", "quantile"):
            raise ValueError(f"strategy: expected 'uniform' or 'quantile', found {self.strategy!r}")

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        scores = self._as_scores(logits)
        n_bins = int(self.n_bins)
        dtype = scores.dtype.name
        bins = bin_predictions(scores, labels == 1, n_bins, self.strategy, dtype, weights)
        middles = (bins.edges[:-1] + bins.edges[1:]) / 2
        self.edges_ = bins.edges
        self.counts_ = np.bincount(self._index(scores), minlength=n_bins)
        self.probabilities_ = np.where(self.counts_ > 0, bins.accuracy, middles)
        return []

    def _zeros_matter(self) -> bool:
        return False

    def _index(self, scores: np.ndarray) -> np.ndarray:
        """The bin of each score."""
        if self.strategy == "uniform":
            return uniform_index(scores, int(self.n_bins), scores.dtype.name)
        return right_closed_index(scores, self.edges_)

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return self.probabilities_[self._index(self._as_scores(logits))]

    def _check_learned(self) -> None:
        check_array(self.counts_, "counts_", (int(self.n_bins),))
        check_array(self.probabilities_, "probabilities_", self.counts_.shape)
        check_array(self.edges_, "edges_", (len(self.counts_) + 1,))

    def _n_parameters(self) -> int:
        return int(self.n_bins)


class IsotonicRegression(BinaryRecalibrator):
    """The increasing step function that fits the labels best, by least squares.

    It is scikit-learn's: constant where validation samples were pooled, linear in between
    (on the scale of the input, so logits and scores give different results there), and
    constant outside their range. The order of samples is kept, but many become equal. It often
    gives exactly 0 or 1 at the ends, so the NLL of a sample can be infinite.

    If a class has no sample it gives 0 or 1 everywhere.

    Args:
        inputs: "logits", any real decision values that increase with the probability; or
            "probs".

    Attributes:
        thresholds_: float64, the rising inputs that define the map.
        probabilities_: float64, its values there.

    Source: Zadrozny, Elkan 2002, "Transforming classifier scores into accurate multiclass
    probability estimates".

    Example:
        >>> isotonic = IsotonicRegression(inputs="probs")
        >>> fitted = isotonic.fit([0.1, 0.2, 0.3, 0.9], labels=[0, 1, 0, 1])
        >>> fitted.predict_proba([0.1, 0.25, 0.9]).tolist()
        [0.0, 0.5, 1.0]
    """

    thresholds_: np.ndarray
    probabilities_: np.ndarray

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        # Only the order of the inputs matters, so they may be of any size.
        steps = isotonic_steps(logits, labels == 1, weights)
        fitted = steps.positives / steps.masses  # 1 at most: a sum of fewer terms, in that order
        both = np.stack([steps.first < steps.last, np.ones(len(fitted), bool)], axis=1).ravel()
        ends = np.stack([steps.first, steps.last], axis=1).ravel()
        self.thresholds_ = ends[both].astype(np.float64)
        self.probabilities_ = np.repeat(fitted, 2)[both]
        return []

    def _zeros_matter(self) -> bool:
        return False

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return interpolated(logits, self.thresholds_, self.probabilities_)

    def _check_learned(self) -> None:
        check_array(self.probabilities_, "probabilities_", (None,))
        check_array(self.thresholds_, "thresholds_", self.probabilities_.shape)

    def _n_parameters(self) -> int:
        return len(np.unique(self.probabilities_))


class PlattScaling(BinaryRecalibrator):
    """Logistic regression on the logit: sigmoid(a z + b).

    The order of samples is kept if a > 0, which holds if the logits are better than chance but is
    not enforced.

    Platt's soft targets are not 0 and 1 but, for :math:`n_0` negative and :math:`n_1` positive
    samples, :math:`1 / (n_0 + 2)` and :math:`(n_1 + 1) / (n_1 + 2)`, which keeps the fit away from
    certainty. They are also used, with a warning, if the labels themselves have no finite optimum,
    because a class has no sample or a threshold separates the classes.

    Args:
        smooth_targets: whether to fit Platt's targets in place of the labels.
        inputs: "logits", any real decision values such as those of a support vector machine;
            or "probs", whose log-odds are used.

    Attributes:
        slope_: the slope a.
        intercept_: the intercept b.

    Raises:
        ValueError: for an invalid argument.

    Source: Platt 1999, "Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods".

    Example:
        >>> logits = [-2.0] * 4 + [2.0] * 4
        >>> labels = [0, 0, 0, 1, 0, 1, 1, 1]
        >>> platt = PlattScaling().fit(logits, labels)
        >>> platt.predict_proba([-2.0, 2.0]).round(2).tolist()
        [0.25, 0.75]
    """

    slope_: float
    intercept_: float

    _numbers: ClassVar[tuple[str, ...]] = ("slope_", "intercept_")

    def __init__(self, smooth_targets: bool = False, inputs: str = "logits"):
        self.smooth_targets = smooth_targets
        super().__init__(inputs)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_flag(self.smooth_targets, "smooth_targets")

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        z = np.empty(len(logits))
        for rows, block in row_blocks(logits):
            z[rows] = self._as_logits(block)
        middle = checked_middle(z)
        target, problems = targets(z, labels, bool(self.smooth_targets), weights)
        coefficients, left = logistic_regression(z[None], np.array([middle]), target, weights)
        require_optimum(left)
        self.slope_, self.intercept_ = coefficients.tolist()
        return problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        return np.asarray(expit(self.slope_ * self._as_logits(logits) + self.intercept_))

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, -(self.slope_ * self._as_logits(logits) + self.intercept_))


class BetaCalibration(BinaryRecalibrator):
    """Logistic regression on both log-probabilities: sigmoid(a log s - b log(1 - s) + c).

    s is the score, and neither a nor b is below 0, so the order of samples is kept. The map with
    a = b = 1 and c = 0 is the identity, which Platt scaling of scores does not contain. Platt's
    soft targets replace labels that have no finite optimum, with a warning, as in `PlattScaling`.

    Args:
        inputs: "logits", whose sigmoid is the score, or "probs".

    Attributes:
        a_: the weight a of log s.
        b_: the weight b of -log(1 - s).
        c_: the intercept c.

    Source: Kull, Silva Filho, Flach 2017, "Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers".

    Example:
        >>> scores = [0.1] * 4 + [0.5] * 4 + [0.9] * 4
        >>> labels = [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1]
        >>> beta = BetaCalibration(inputs="probs").fit(scores, labels)
        >>> beta.predict_proba([0.1, 0.5, 0.9]).round(2).tolist()
        [0.25, 0.5, 0.75]
    """

    a_: float
    b_: float
    c_: float

    _numbers: ClassVar[tuple[str, ...]] = ("a_", "b_", "c_")

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        features = np.empty((2, len(logits)))
        for rows, block in row_blocks(logits):
            positive, negative = self._log_parts(block)
            features[:, rows] = positive, -negative
        z = features[0] + features[1]
        middle = checked_middle(z)
        middles = -np.logaddexp(0, [-middle, middle]) * [1, -1]
        target, problems = targets(z, labels, False, weights)
        del z
        best, left = logistic_regression(features, middles, target, weights)
        if not (left < SURE and best[:2].min() >= 0):
            best = _best_on_bounds(best, features, middles, target, weights)
        self.a_, self.b_, self.c_ = best.tolist()
        return problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        return np.asarray(expit(self._log_odds(logits)))

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, -self._log_odds(logits))

    def _log_odds(self, logits: np.ndarray) -> np.ndarray:
        positive, negative = self._log_parts(logits)
        return self.a_ * positive - self.b_ * negative + self.c_


def _best_on_bounds(
    free: np.ndarray,
    features: np.ndarray,
    middles: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Two slopes and an intercept of lowest NLL, if one slope or both are 0.

    The NLL is convex. If the unconstrained optimum has a slope below 0, or is infinite, the best
    slopes of 0 or more therefore include a 0: one whose increase would not lower the NLL.

    Args:
        free: the unconstrained optimum; if its first slope is below 0, that one is set to 0 first.
    """
    first = [0.0, 1.0] if free[0] < 0 else [1.0, 0.0]
    share = np.full(len(target), 1 / len(target)) if weights is None else weights / weights.sum()
    # Features that are 1 at the largest.
    x = (features - middles[:, None]) / np.maximum(np.abs(features).max(axis=1), 1e-290)[:, None]
    best, least = np.zeros(3), np.inf
    for used in (first, first[::-1], [0.0, 0.0]):
        fit, left = logistic_regression(features * np.c_[used], middles * used, target, weights)
        if fit[:2].min() < 0:
            continue
        require_optimum(left)
        margins = fit[:2] @ features + fit[2]
        slopes = x @ (share * (np.exp(-np.logaddexp(0, -margins)) - target))
        to_gain = max(0.0, -slopes.min(where=fit[:2] == 0, initial=0.0))
        if to_gain < least:
            best, least = fit, to_gain
        if least == 0:
            break
    require_optimum(least**2)
    return best
