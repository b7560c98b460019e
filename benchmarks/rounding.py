"""The temperature from probabilities, rounded as files hold them, beside the one from logits.

    python -m benchmarks.rounding       # some seconds

fits both libraries on the validation records of three networks of the course, and writes what it
finds to ``benchmarks/results/rounding.json``. Rows that rounding left with another sum are divided
by it for both, because scikit-learn takes other rows for logits, without a word. Nothing is timed.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

from benchmarks.measured import facts, store
from calib_utils.predictions import Predictions, as_predictions
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import load_record

RECORDS = ("resnet34-cifar100", "lenet5-cifar100", "ensembles.core.fast_resnet.seed-0")
DIGITS = (4, 3)


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its predictions."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        self.classes_ = np.arange(X.shape[1])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return X.argmax(axis=1)


class GivenLogits(Given):
    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return X


class GivenProbs(Given):
    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return X


def of_scikit_learn(given: Predictions) -> float:
    """The temperature that ``CalibratedClassifierCV`` finds for a classifier that predicts this."""
    scores, labels = given.array, given.labels
    kind = GivenLogits if given.inputs == "logits" else GivenProbs
    classifier = FrozenEstimator(kind().fit(scores, labels))
    fitted = CalibratedClassifierCV(classifier, method="temperature").fit(scores, labels)
    return float(1 / fitted.calibrated_classifiers_[0].calibrators[0].beta_)


def forms(logits: np.ndarray, labels: np.ndarray) -> dict[str, Predictions]:
    """The same predictions, with ever fewer digits."""
    probs = softmax(logits.astype(np.float64), axis=1)
    rounded = {f"{digits} digits": probs.round(digits) for digits in DIGITS}
    return {
        "logits": as_predictions(logits=logits, labels=labels),
        "float64": as_predictions(probs, labels),
        "float32": as_predictions(probs.astype(np.float32), labels),
        **{name: as_predictions(rows, labels, rescale=True) for name, rows in rounded.items()},
    }


def measure(logits: np.ndarray, labels: np.ndarray) -> list[dict[str, Any]]:
    """A row for each form: how many probabilities are exactly 0, and both temperatures."""
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about what the table shows
        for form, given in forms(logits, labels).items():
            ours = TemperatureScaling(inputs=given.inputs).fit(given)
            zeros = float((given.array == 0).mean()) if given.inputs == "probs" else 0.0
            theirs = of_scikit_learn(given)
            rows.append(
                {"form": form, "zeros": zeros, "ours": ours.temperature_, "scikit-learn": theirs}
            )
    return rows


def main() -> None:
    networks = {}
    for name in RECORDS:
        record = load_record(name, "validation")
        networks[name] = measure(record.logits, record.labels)
    store("rounding", {**facts("numpy", "scipy", "scikit-learn"), "networks": networks})


if __name__ == "__main__":
    main()
