"""Two isotonic regressions: a probability, and an interval that says how uncertain it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils.recalibration.base import check_array, in_kind
from calib_utils.recalibration.binary import BinaryRecalibrator


class VennAbers(BinaryRecalibrator):
    """The inductive Venn-Abers predictor: isotonic regression with each possible label of a sample.

    A new sample joins the validation set, once as a negative and once as a positive one. The two
    isotonic regressions give it the probabilities p0 and p1. If all samples are exchangeable, one
    of the two is perfectly calibrated: that of the label that turns out to be true. Few samples
    near a score make p0 and p1 differ much, so their distance says how uncertain the probability
    is. `predict_proba` gives p1 / (1 - p0 + p1), which is never exactly 0 or 1, so that no sample
    has an infinite NLL. The order of samples is kept, but many become equal.

    Args:
        inputs: "logits", any real decision values that increase with the probability; or
            "probs".

    Attributes:
        scores_: float64, shape (U,), the different scores of the validation set, rising.
        p0_, p1_: float64, shape (2U + 1,), p0 and p1 of a score below all of these, on the first,
            between the first and the second, and so on.

    Source: Vovk, Petej, Fedorova 2015, "Large-scale probabilistic predictors with and without
    guarantees of validity", sections 2 and 4.

    Example:
        >>> venn_abers = VennAbers(inputs="probs")
        >>> fitted = venn_abers.fit([0.1, 0.2, 0.3, 0.9], labels=[0, 1, 0, 1])
        >>> fitted.predict_interval([0.2]).round(3).tolist()
        [[0.333, 0.667]]
        >>> fitted.predict_proba([0.2]).round(3).tolist()
        [0.5]
    """

    scores_: np.ndarray
    p0_: np.ndarray
    p1_: np.ndarray

    def predict_interval(self, logits: Any) -> Any:
        """The two probabilities of the positive class.

        Args:
            logits: (N,), as in `fit`.

        Returns:
            (N, 2), p0 and p1, which is larger; of the kind and type of ``logits``.

        Raises:
            ValueError: as `predict_proba` does.
            RuntimeError: as `predict_proba` does.
        """
        array, given = self._checked_to_predict(logits)
        places = self._places(array)
        return in_kind(np.stack([self.p0_[places], self.p1_[places]], axis=1), array, given)

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        scores, inverse = np.unique(logits, return_inverse=True)
        self.scores_ = scores.astype(np.float64)
        masses = np.bincount(inverse, weights, len(scores)).astype(np.float64)
        positives = np.bincount(
            inverse, labels == 1 if weights is None else weights * (labels == 1), len(scores)
        )
        self.p0_, self.p1_ = _joined(masses, positives)
        return []

    def _zeros_matter(self) -> bool:
        return False

    def _places(self, values: np.ndarray) -> np.ndarray:
        below = np.searchsorted(self.scores_, values, side="left")
        return np.asarray(below + np.searchsorted(self.scores_, values, side="right"))

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        places = self._places(logits)
        low, high = self.p0_[places], self.p1_[places]
        return np.asarray(high / (1 - low + high))

    def _check_learned(self) -> None:
        check_array(self.scores_, "scores_", (None,))
        for name in ("p0_", "p1_"):
            check_array(getattr(self, name), name, (2 * len(self.scores_) + 1,))

    def _n_parameters(self) -> int:
        return len(np.unique(np.stack([self.p0_, self.p1_]), axis=1).T)


def _joined(masses: np.ndarray, positives: np.ndarray) -> np.ndarray:
    """The isotonic regression at a sample of weight 1 that joins others, by label and place.

    The new sample is the first block. It takes up the neighbouring blocks of the regression of all
    samples below it, and of all above, for as long as these violate the order.

    Args:
        masses: (U,), the weight of the samples at each score.
        positives: (U,), the part of it that is positive.

    Returns:
        (2, 2U + 1).
    """
    n = len(masses)
    before, mass_before, hits_before = _last_blocks(masses, positives)
    # From the other end, where what rises falls.
    mirrored = _last_blocks(masses[::-1], -positives[::-1])
    after, mass_after, hits_after = n - mirrored[0][::-1], mirrored[1][::-1], -mirrored[2][::-1]
    result = np.empty((2, 2 * n + 1))
    for label in (0, 1):
        places = np.arange(2 * n + 1)
        first, last = places // 2, (places + 1) // 2  # it is between these scores, or on one
        mass, hits = np.ones(2 * n + 1), np.full(2 * n + 1, float(label))
        mass[1::2] += masses
        hits[1::2] += positives
        while True:
            mean = hits / mass
            down = hits_before[first] / mass_before[first] >= mean  # NaN where there is none
            up = hits_after[last] / mass_after[last] <= mean
            if not (down.any() or up.any()):
                break
            mass += np.where(down, mass_before[first], 0) + np.where(up, mass_after[last], 0)
            hits += np.where(down, hits_before[first], 0) + np.where(up, hits_after[last], 0)
            first, last = np.where(down, before[first], first), np.where(up, after[last], last)
        result[label] = mean
    return np.clip(result, 0, 1)


def _last_blocks(
    masses: np.ndarray, positives: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the isotonic regression of the first k scores, the last block: for k from 0 to U its
    start, its mass and its positives, NaN for none.
    """
    starts = np.zeros(len(masses) + 1, np.intp)
    sums = np.full((2, len(masses) + 1), np.nan)
    blocks: list[tuple[int, float, float]] = []
    for k, (mass, hits) in enumerate(zip(masses.tolist(), positives.tolist(), strict=True)):
        start = k
        while blocks and blocks[-1][2] * mass >= hits * blocks[-1][1]:
            start, more_mass, more_hits = blocks.pop()
            mass, hits = mass + more_mass, hits + more_hits
        blocks.append((start, mass, hits))
        starts[k + 1], sums[:, k + 1] = start, (mass, hits)
    return starts, sums[0], sums[1]
