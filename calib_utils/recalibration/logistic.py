"""Logistic regression on one logit: Platt scaling and beta calibration."""

from __future__ import annotations

import numpy as np

from calib_utils.recalibration._learned import check_number
from calib_utils.recalibration.binary import BinaryRecalibrator

__all__ = ["BetaCalibration", "PlattScaling"]

_SIZES = (1e-290, 1e290)  # of differences between logits, so that weights are numbers
_OUTLYING = 1e20  # times the usual distance: farther away, Newton's method loses its way
_MAX_STEPS = 500  # far more than are ever needed
_SURE = 1e-11  # gain in NLL by a Newton step below which it needs no check
_ENOUGH = 1e-22


class PlattScaling(BinaryRecalibrator):
    """Logistic regression on the logit: sigmoid(a z + b).

    The order of samples stays if a > 0, as it is wherever the logits are better than chance;
    nothing forces it.

    Platt's targets are not 0 and 1 but 1 / (N- + 2) and (N+ + 1) / (N+ + 2), for N- negative
    and N+ positive samples, which keeps the fit away from certainty. They are also taken,
    with a warning, where the labels themselves have no finite optimum: if a class has no
    sample, or if a threshold separates the classes.

    Args:
        smooth_targets: whether to fit Platt's targets in place of the labels.
        inputs: "logits", any real decision values such as those of a support vector machine;
            or "scores", whose log-odds are taken.

    Attributes:
        slope_: the slope a.
        intercept_: the intercept b.

    Raises:
        ValueError: for an argument that is not as above.

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
        if not isinstance(self.smooth_targets, (bool, np.bool_)):
            raise ValueError(
                f"smooth_targets: expected True or False, found {self.smooth_targets!r}"
            )

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        z = self._as_logits(logits)
        _check_spread(z)
        targets, problems = _targets(z, labels, bool(self.smooth_targets), weights)
        slopes, self.intercept_, _ = _logistic_regression(z[:, None], labels, targets, weights)
        self.slope_ = float(slopes[0])
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

    s is the score and a, b >= 0, so the order of samples stays. a = b = 1, c = 0 is the
    identity, which Platt scaling of scores does not contain. Platt's targets replace the
    labels where these have no finite optimum, with a warning, as in `PlattScaling`.

    Args:
        inputs: "logits", whose sigmoid is the score, or "scores".

    Attributes:
        a_: the weight a of log s.
        b_: the weight b of -log(1 - s).
        c_: the intercept c.

    Source: Kull, Silva Filho, Flach 2017, "Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers".

    Example:
        >>> scores = [0.1] * 4 + [0.5] * 4 + [0.9] * 4
        >>> labels = [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1]
        >>> beta = BetaCalibration(inputs="scores").fit(scores, labels)
        >>> beta.predict_proba([0.1, 0.5, 0.9]).round(2).tolist()
        [0.25, 0.5, 0.75]
    """

    a_: float
    b_: float
    c_: float

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        positive, negative = self._log_parts(logits)
        _check_spread(positive - negative)
        features = np.stack([positive, -negative], axis=1)
        targets, problems = _targets(positive - negative, labels, False, weights)
        slopes, self.c_, _ = _logistic_regression(features, labels, targets, weights)
        if slopes.min() < 0:
            # The NLL is convex, so where the best weights break a bound one of them is 0.
            fits = []
            for used in ([1.0, 0.0], [0.0, 1.0], [0.0, 0.0]):
                fits.append(_logistic_regression(features * used, labels, targets, weights))
            slopes, self.c_, _ = min((f for f in fits if f[0].min() >= 0), key=lambda f: f[2])
        self.a_, self.b_ = float(slopes[0]), float(slopes[1])
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


def _targets(
    z: np.ndarray, labels: np.ndarray, smooth: bool, weights: np.ndarray | None
) -> tuple[tuple[float, float], list[str]]:
    """What to fit in place of labels 0 and 1: themselves, or Platt's targets; and if so, why."""
    positive, negative, problems = z[labels == 1], z[labels == 0], []
    if not smooth:
        if len(positive) and len(negative):
            constant = z.min() == z.max()
            apart = positive.min() >= negative.max() or positive.max() <= negative.min()
            if constant or not apart:
                return (0.0, 1.0), []
            problem = "a threshold separates the classes"
        else:
            problem = "a class has no sample"
        problems.append(f"{problem}, so the fit takes Platt's smooth targets")
    n = np.bincount(labels, weights, minlength=2)
    return (float(1 / (n[0] + 2)), float((n[1] + 1) / (n[1] + 2))), problems


def _check_spread(z: np.ndarray) -> None:
    """Refuse log-odds whose fit is beyond float64."""
    with np.errstate(over="ignore"):
        distance = np.abs(z - np.median(z))
    largest = distance.max()
    if largest == 0:
        return
    if not _SIZES[0] < largest < _SIZES[1]:
        raise ValueError(
            f"logits: expected differences of {_SIZES[0]:g} to {_SIZES[1]:g} between samples, "
            f"found {largest:.3g}; multiply the logits by a constant"
        )
    usual = np.median(distance) or distance.min(where=distance > 0, initial=np.inf)
    if largest > _OUTLYING * usual:
        raise ValueError(
            f"logits: found some {largest:.3g} from the median, {_OUTLYING:g} times as far as "
            "others; leave them out, as their class is certain"
        )


def _logistic_regression(
    features: np.ndarray,
    labels: np.ndarray,
    targets: tuple[float, float],
    weights: np.ndarray | None,
) -> tuple[np.ndarray, float, float]:
    """Slopes, intercept and NLL of the best sigmoid(features @ slopes + intercept).

    A constant feature gets slope 0.
    """
    from scipy.special import expit

    target = np.asarray(targets)[labels]
    share = np.full(len(labels), 1 / len(labels)) if weights is None else weights / weights.sum()
    mean = share @ target
    slopes = np.zeros(features.shape[1])
    middle = np.median(features, axis=0)
    size = np.abs(features - middle).max(axis=0)
    used = np.flatnonzero(size > 0)
    x = np.ones((len(features), len(used) + 1))
    x[:, :-1] = (features[:, used] - middle[used]) / size[used]

    def nll(coefficients: np.ndarray) -> float:
        z = x @ coefficients
        return float(share @ (np.logaddexp(0, z) - target * z))

    # Newton's method takes any scale of each feature, and any outlier of it: one that is
    # 10^9 times as far away as the others costs forty steps.
    best = np.append(np.zeros(len(used)), np.log(mean / (1 - mean)))
    lowest = nll(best)
    for _ in range(_MAX_STEPS):
        probs = expit(x @ best)
        gradient = x.T @ (share * (probs - target))
        hessian = (x.T * (share * probs * (1 - probs))) @ x
        root = np.sqrt(hessian.diagonal()) + np.finfo(float).tiny
        scaled = hessian / np.outer(root, root) + 1e-14 * np.eye(len(best))
        step = np.linalg.solve(scaled, gradient / root) / root
        gain = float(gradient @ step)
        if gain > _SURE:  # else the step is right, and too short to be seen in the NLL
            while not (lower := nll(best - step)) < lowest - gain / 1e4 and gain > _SURE:
                step, gain = step / 2, gain / 2
            lowest = lower
        best = best - step
        if gain < _ENOUGH:
            break
    else:
        raise ValueError(
            f"logits: the fit found no optimum in {_MAX_STEPS} steps, and has {gain:.2g} of NLL to "
            "gain; leave out outliers among the logits"
        )
    slopes[used] = best[:-1] / size[used]
    return slopes, float(best[-1] - slopes @ middle), nll(best)
