"""Maps from one logit or score of a sample to the probability of the positive class.

``inputs="logits"`` means log-odds, or any other real decision value if the method allows it;
``inputs="probs"`` means scores: probabilities of the positive class, 0 to 1, or confidences in a
prediction. `predict_proba` takes the same as `fit`. For more than two classes see `OneVersusRest`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from calib_utils._numerics import log_parts
from calib_utils.metrics.bins import (
    bin_predictions,
    interpolated,
    isotonic_steps,
    right_closed_index,
    uniform_index,
)
from calib_utils.predictions import Predictions, check_logits, check_n_bins, probs_of
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
    constant outside their range. The order of samples is kept, but many become equal. It gives
    exactly 0 or 1 at the ends, so the NLL of a sample can be infinite.

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
