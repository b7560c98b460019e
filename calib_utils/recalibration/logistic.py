"""Logistic regression on one logit: Platt scaling and beta calibration."""

from __future__ import annotations

import warnings

import numpy as np

from calib_utils.recalibration.binary import BinaryRecalibrator

__all__ = ["BetaCalibration", "PlattScaling"]


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
        slope_: a.
        intercept_: b.

    Raises:
        ValueError: for an argument that is not as above.

    Source: Platt 1999, "Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods".
    """

    slope_: float
    intercept_: float

    def __init__(self, smooth_targets: bool = False, inputs: str = "logits"):
        super().__init__(inputs)
        if not isinstance(smooth_targets, (bool, np.bool_)):
            raise ValueError(f"smooth_targets: expected True or False, found {smooth_targets!r}")
        self.smooth_targets = bool(smooth_targets)

    def _fit(self, logits: np.ndarray, labels: np.ndarray) -> list[str]:
        z = self._as_logits(logits)
        targets, problems = _targets(z, labels, self.smooth_targets)
        weights, self.intercept_, _ = _logistic_regression(z[:, None], labels, targets)
        self.slope_ = float(weights[0])
        return problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        return np.asarray(expit(self.slope_ * self._as_logits(logits) + self.intercept_))

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
        a_: a.
        b_: b.
        c_: c.

    Source: Kull, Silva Filho, Flach 2017, "Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers".
    """

    a_: float
    b_: float
    c_: float

    def _fit(self, logits: np.ndarray, labels: np.ndarray) -> list[str]:
        positive, negative = self._log_parts(logits)
        features = np.stack([positive, -negative], axis=1)
        targets, problems = _targets(positive - negative, labels, smooth=False)
        weights, self.c_, _ = _logistic_regression(features, labels, targets)
        if weights.min() < 0:
            # The NLL is convex, so where the best weights break a bound one of them is 0.
            fits = []
            for used in ([1.0, 0.0], [0.0, 1.0], [0.0, 0.0]):
                fits.append(_logistic_regression(features * used, labels, targets))
            weights, self.c_, _ = min((f for f in fits if f[0].min() >= 0), key=lambda f: f[2])
        self.a_, self.b_ = float(weights[0]), float(weights[1])
        return problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        positive, negative = self._log_parts(logits)
        return np.asarray(expit(self.a_ * positive - self.b_ * negative + self.c_))

    def _n_parameters(self) -> int:
        return 3


def _targets(
    z: np.ndarray, labels: np.ndarray, smooth: bool
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
    return (1 / (len(negative) + 2), (len(positive) + 1) / (len(positive) + 2)), problems


def _logistic_regression(
    features: np.ndarray, labels: np.ndarray, targets: tuple[float, float]
) -> tuple[np.ndarray, float, float]:
    """Weights, intercept and NLL of the best sigmoid(features @ weights + intercept).

    A constant feature gets weight 0.
    """
    from sklearn.linear_model import LogisticRegression

    target = np.asarray(targets)[labels]
    mean = target.mean()
    weights, intercept = np.zeros(features.shape[1]), float(np.log(mean / (1 - mean)))
    spread = np.ptp(features, axis=0)
    used = np.flatnonzero(spread > 0)
    if len(used):
        # On a scale of 0 to 1 the solver's tolerance fits any logits.
        low = features[:, used].min(axis=0)
        x = (features[:, used] - low) / spread[used]
        # A target between 0 and 1 is a positive and a negative sample, with weights.
        solver = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=200)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of weights without bound, which are not kept
            if targets == (0, 1):
                solver.fit(x, labels)
            else:
                weight = np.concatenate([target, 1 - target])
                solver.fit(np.concatenate([x, x]), np.repeat([1, 0], len(x)), weight)
        weights[used] = solver.coef_[0] / spread[used]
        intercept = float(solver.intercept_[0] - weights[used] @ low)
    z = features @ weights + intercept
    nll = np.mean(np.logaddexp(0, z) - target * z)
    return weights, intercept, float(nll)
