"""Logistic regression on one logit: Platt scaling and beta calibration."""

from __future__ import annotations

import numpy as np

from calib_utils._numerics import row_blocks
from calib_utils.metrics.logistic_fit import (
    SURE,
    checked_middle,
    logistic_regression,
    require_optimum,
    targets,
)
from calib_utils.predictions import check_flag, check_number
from calib_utils.recalibration.binary import BinaryRecalibrator

__all__ = ["BetaCalibration", "PlattScaling"]


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

    def _check_learned(self) -> None:
        check_number(self.slope_, "slope_")
        check_number(self.intercept_, "intercept_")

    def _n_parameters(self) -> int:
        return 2


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

    def _check_learned(self) -> None:
        check_number(self.a_, "a_", 0)
        check_number(self.b_, "b_", 0)
        check_number(self.c_, "c_")

    def _n_parameters(self) -> int:
        return 3


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
