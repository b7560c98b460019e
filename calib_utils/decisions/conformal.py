"""Conformal prediction: sets of classes with a guaranteed coverage."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest

from calib_utils.predictions import Predictions
from calib_utils.predictions.arrays import like, to_numpy
from calib_utils.predictions.checks import check_flag, check_rows, check_seed, check_share
from calib_utils.predictions.gate import probs_of, taken, unweighted
from calib_utils.predictions.labels import check_labels


class ConformalSets:
    """For each sample a set of classes that contains the true class with a chosen probability.

    Split conformal prediction: each sample of a labelled calibration set gets the score of its true
    class, which is low if the model expected that class. The set of a new sample contains every
    class whose score is not above the quantile of those scores. If the samples of the calibration
    set and the new ones are exchangeable, the probability that a set contains the true class is at
    least ``coverage``, whether the model is calibrated or not, and at most 1 / (N + 1) more if no
    two scores are equal. This is an average over all samples, and not a guarantee for a single
    class or for the hard samples. Of several samples that belong together, such as the frames of a
    video, give one.

    The plain score is 1 minus the probability of the class, which gives the smallest sets on
    average if the probabilities are correct. The adaptive score is the sum of all larger
    probabilities and a random share of the class's own, so that sets grow when the model is unsure,
    and coverage is more even. A set may be empty. The share is a function of the seed and the
    numbers of the row, so a row has the same set alone as in any batch, equal rows have equal sets,
    and rounding errors hardly matter.

    Args:
        coverage: how often the sets are to contain the true class, above 0 and below 1.
        adaptive: whether to use the adaptive score.
        seed: of the random shares of the adaptive score.

    Attributes:
        threshold_: the highest score of a class in a set, after `fit`; infinite if there are too
            few samples for this coverage, and every set then contains all classes.
        n_classes_: the number of classes in the calibration set.
        fitted_as_: the arguments of the fit, as text.

    Source: Sadinle, Lei, Wasserman 2019, "Least ambiguous set-valued classifiers with bounded
    error levels", for the plain score; Romano, Sesia, Candès 2020, "Classification with valid and
    adaptive coverage", section 2, for the adaptive one; Angelopoulos and Bates 2023, "Conformal
    prediction: a gentle introduction", section 1, for the quantile.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> probs = rng.dirichlet(np.ones(4), 2_000)
        >>> labels = (rng.random((2_000, 1)) > probs.cumsum(axis=1)).sum(axis=1)
        >>> sets = ConformalSets(coverage=0.8).fit(probs[:1_000], labels[:1_000])
        >>> predicted = sets.predict(probs[1_000:])
        >>> predicted.shape, round(set_coverage(predicted, labels[1_000:]).share, 2)
        ((1000, 4), 0.78)
    """

    threshold_: float
    n_classes_: int
    fitted_as_: str

    def __init__(self, coverage: float = 0.9, *, adaptive: bool = False, seed: int = 0) -> None:
        self.coverage, self.adaptive, self.seed = coverage, adaptive, seed

    def __repr__(self) -> str:
        return f"ConformalSets({self.coverage!r}, adaptive={self.adaptive!r}, seed={self.seed!r})"

    def fit(self, probs: Any, labels: Any = None) -> ConformalSets:
        """Find the threshold of the scores.

        Args:
            probs: (N, K), of samples that the model was not trained on.
            labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.

        Raises:
            ValueError: for bad input, including a coverage that is not between 0 and 1.

        Example:
            >>> probs = [[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]]
            >>> round(ConformalSets(coverage=0.7).fit(probs, [0, 0, 1]).threshold_, 2)
            0.4
        """
        check_share(self.coverage, "coverage", 0.9)
        check_flag(self.adaptive, "adaptive")
        predictions = unweighted(taken(probs, labels, columns=True))
        scores = self._scores(predictions)
        own = np.sort(scores[np.arange(len(scores)), predictions.labels])
        # The new sample is equally likely to have any of the N + 1 ranks among the scores. A
        # product such as 10 * 0.7 is a whole number up to rounding.
        place = int(np.ceil((len(own) + 1) * self.coverage - 1e-9))
        self.threshold_ = float(own[place - 1]) if place <= len(own) else np.inf
        self.n_classes_, self.fitted_as_ = scores.shape[1], repr(self)
        return self

    def predict(self, probs: Any) -> Any:
        """Which classes are in the set of each sample.

        Args:
            probs: (N, K), of other samples, with as many classes as in `fit`.

        Returns:
            Booleans, (N, K), of the kind of array that ``probs`` is.

        Raises:
            ValueError: for bad input, or before `fit`.
            RuntimeError: if an argument was changed since `fit`.

        Example:
            >>> sets = ConformalSets(coverage=0.7)
            >>> sets = sets.fit([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]], [0, 0, 1])
            >>> sets.predict([[0.95, 0.05], [0.5, 0.5]]).tolist()
            [[True, False], [False, False]]
        """
        if not hasattr(self, "threshold_"):
            raise ValueError("fit: expected to be called before predict; give it a calibration set")
        if self.fitted_as_ != repr(self):
            raise RuntimeError(
                f"{self!r} was fitted as {self.fitted_as_}, and changed since; call fit again"
            )
        predictions = taken(probs, labelled=False, columns=True)
        if predictions.array.shape[1] != self.n_classes_:
            raise ValueError(
                f"probs: expected {self.n_classes_} classes, as in fit, found "
                f"{predictions.array.shape[1]}; use probabilities of the same network"
            )
        return like(self._scores(predictions) <= self.threshold_, predictions.scores)

    def _scores(self, predictions: Predictions) -> np.ndarray:
        """The score of each class, (N, K): low for a class that the model expects."""
        array = probs_of(predictions).astype(np.float64)
        if not self.adaptive:
            return 1 - array
        order = np.argsort(-array, axis=1, kind="stable")
        ordered = np.take_along_axis(array, order, 1)
        share = _shares(array, check_seed(self.seed))[:, None]
        scores = np.empty_like(array)
        np.put_along_axis(scores, order, ordered.cumsum(axis=1) - share * ordered, 1)
        return scores


def _shares(rows: np.ndarray, seed: int) -> np.ndarray:
    """Pseudo-random numbers from 0 to 1, (N,), each determined by its row and the seed.

    A score then depends on nothing but the row and its class, as the coverage guarantee requires.
    The numbers rise and fall with the logarithms of the probabilities: so fast that rows which
    differ by a few per mille have unrelated numbers, but without jumps, so that a rounding error
    changes them by about a thousand times its own size at most.
    """
    weights = np.random.default_rng(seed).uniform(500, 1500, size=(rows.shape[1],))
    weights[1::2] *= -1  # so that an error in the sum of the probabilities cancels
    # float32 makes smaller probabilities 0; and the order of a sum depends on the memory's.
    logs = np.log(np.ascontiguousarray(rows).clip(min=np.finfo(np.float32).tiny))
    return np.abs(2 * ((logs * weights).sum(axis=1) % 1) - 1)


class SetCoverage(NamedTuple):
    """How often sets contain the true class, and how large they are.

    Attributes:
        share: of the sets that contain it, 0 to 1.
        low: the lower end of an interval for this share in the population.
        high: its upper end.
        size: the mean number of classes in a set.

    Example:
        >>> SetCoverage(share=0.9, low=0.88, high=0.92, size=3.5).low
        0.88
    """

    share: float
    low: float
    high: float
    size: float


def set_coverage(sets: Any, labels: Any, *, level: float = 0.95) -> SetCoverage:
    """How often sets of classes contain the true one.

    The interval is Clopper and Pearson's, whose coverage is at least ``level``. It applies to the
    threshold of these sets. A different calibration set would have given a different threshold;
    with N samples in the calibration set, its true coverage has a standard deviation of about
    the root of coverage (1 - coverage) / N.

    Args:
        sets: (N, K), whether each class is in the set of each sample.
        labels: (N,), integers from 0 to K - 1.
        level: how often the interval is to contain the true share, above 0 and below 1.

    Raises:
        ValueError: for bad input, or if the index of ``labels`` has the rows of ``sets`` in a
            different order.

    Source: Clopper and Pearson 1934, "The use of confidence or fiducial limits illustrated in the
    case of the binomial".

    Example:
        >>> found = set_coverage([[True, False], [True, True]], labels=[0, 1])
        >>> found.share, round(found.low, 2), found.size
        (1.0, 0.16, 1.5)
    """
    array = to_numpy(sets, "sets")
    if array.ndim != 2 or array.shape[1] < 2 or len(array) == 0 or array.dtype.kind != "b":
        raise ValueError(
            f"sets: expected booleans of shape (N, K), found {array.dtype} of {array.shape}; give "
            "what ConformalSets.predict returns"
        )
    check_share(level, "level", 0.95)
    check_rows(sets, labels, "labels", "sets")
    labels = check_labels(labels, *array.shape)
    covered = int(array[np.arange(len(labels)), labels].sum())
    ends = binomtest(covered, len(labels)).proportion_ci(level)
    sizes = array.sum(axis=1)
    return SetCoverage(
        covered / len(labels), float(ends.low), float(ends.high), float(sizes.mean())
    )
