"""A recalibrator for a classifier in the style of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv, cross_val_predict
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from calib_utils._checks import check_probs, check_sample_weight
from calib_utils._masks import log_of_probs, zero_of
from calib_utils.recalibration.base import Recalibrator
from calib_utils.recalibration.binary import BinaryRecalibrator
from calib_utils.recalibration.estimator import learn
from calib_utils.recalibration.temperature import TemperatureScaling

__all__ = ["CalibratedClassifier"]


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose probabilities are calibrated by cross-fitting.

    `fit` predicts each sample by a copy of the classifier that did not see it, fits the
    recalibrator on these predictions, and then the classifier on all samples, as scikit-learn's
    ``CalibratedClassifierCV(ensemble=False)`` does. The recalibrator may be any of this package.
    One with ``inputs="probs"`` gets ``predict_proba``; the others get ``decision_function``, or
    log-probabilities if there is none.

    Args:
        estimator: an unfitted classifier.
        recalibrator: an unfitted recalibrator; `TemperatureScaling` by default. A binary one is
            for two classes.
        cv: how samples are split, as in scikit-learn: a number of folds, or a splitter.

    Attributes:
        estimator_: the classifier, fitted on all samples.
        recalibrator_: the recalibrator, fitted on the predictions of samples left out.
        zero_: the value that replaces a probability of exactly 0 when its logarithm is taken; 0 for
            the smallest number of its type.
        classes_: the classes, shape (K,), as ``y`` names them.

    Raises:
        ValueError: from `fit`, if ``recalibrator`` is not one of this package's, ``y`` has only one
            class, or the classifier has decision values of pairs of classes.

    Example:
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from calib_utils.metrics import brier_score
        >>> X, y = make_classification(2_000, n_redundant=10, random_state=0)
        >>> model = CalibratedClassifier(GaussianNB()).fit(X[:1_000], y[:1_000])
        >>> bayes = GaussianNB().fit(X[:1_000], y[:1_000])
        >>> scores = [brier_score(m.predict_proba(X[1_000:]), y[1_000:]) for m in (bayes, model)]
        >>> scores[1] < scores[0]
        True
    """

    def __init__(self, estimator: Any, recalibrator: Recalibrator | None = None, cv: Any = 5):
        self.estimator = estimator
        self.recalibrator = recalibrator
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Cross-fit both.

        Args:
            X: features, as the classifier takes them.
            y: (N,), the classes, as the classifier takes them: integers, texts or booleans.
            sample_weight: (N,), how often each sample counts, in both fits.
            groups: (N,), which samples belong together, such as those of one patient; for a ``cv``
                that keeps them together, such as ``GroupKFold()``.

        Returns:
            Itself.

        Warns:
            UserWarning: if probabilities are exactly 0, as those of forests can be, and the fit
                depends on the value that replaces them; or as the recalibrator does.
        """
        learn(self, X, y, sample_weight, groups)
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> list[str]:
        """`fit`, which warns of what this returns."""
        recalibrator = TemperatureScaling() if self.recalibrator is None else self.recalibrator
        if not isinstance(recalibrator, Recalibrator):
            raise ValueError(
                "recalibrator: expected one of calib_utils.recalibration, found "
                f"{recalibrator!r}; such as TemperatureScaling()"
            )
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            n = len(self.classes_)
            raise ValueError(
                f"y: expected at least two classes, found {n} class in {len(y)} samples"
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        method = _method(recalibrator, self.estimator)
        if method == "decision_function" and len(self.classes_) > 2:
            _refuse_pairs(self.estimator)
        outputs = cross_val_predict(
            _OfNames(self.estimator, self.classes_),
            X,
            labels,
            cv=check_cv(self.cv, labels, classifier=True),
            method=method,
            groups=groups,
            params=weights,
        )
        problems: list[str] = []
        self.zero_ = 0.0
        if method == "predict_proba" and recalibrator.inputs == "logits":
            of_rows = None
            if sample_weight is not None:
                of_rows = check_sample_weight(sample_weight, len(labels))
            probs = check_probs(outputs, "predict_proba")
            self.zero_, problems = zero_of(probs, weights=of_rows)
        self.recalibrator_ = clone(recalibrator)
        self.recalibrator_.fit(self._inputs(method, outputs), labels, **weights)
        self.estimator_ = clone(self.estimator).fit(X, y, **weights)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return problems

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities, shape (N, K), in the order of ``classes_``."""
        check_is_fitted(self)
        method = _method(self.recalibrator_, self.estimator_)
        outputs = self._inputs(method, getattr(self.estimator_, method)(X))
        probs = np.asarray(self.recalibrator_.predict_proba(outputs))
        return np.stack([1 - probs, probs], axis=1) if probs.ndim == 1 else probs

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each sample, shape (N,)."""
        probs = self.predict_proba(X)
        return self.classes_[probs.argmax(axis=1)]

    def _inputs(self, method: str, outputs: np.ndarray) -> np.ndarray:
        """The classifier's predictions, in the form that the recalibrator takes."""
        recalibrator = self.recalibrator_
        binary = isinstance(recalibrator, BinaryRecalibrator)
        if method == "predict_proba" and recalibrator.inputs == "logits":
            outputs = log_of_probs(check_probs(outputs, "predict_proba"), self.zero_)
            if binary and outputs.shape[1] == 2:
                return outputs[:, 1] - outputs[:, 0]
        if binary:
            return outputs[:, 1] if outputs.ndim == 2 and outputs.shape[1] == 2 else outputs
        return np.stack([np.zeros_like(outputs), outputs], axis=1) if outputs.ndim == 1 else outputs

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags  # since 1.6, which is the first to call this method

        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        return tags


class _OfNames(BaseEstimator):
    """A classifier of numbers that learns their names, to which its arguments may refer.

    `cross_val_predict` numbers the classes; a ``class_weight`` by name would then be another's.
    """

    def __init__(self, estimator: Any, names: np.ndarray):
        self.estimator = estimator
        self.names = names

    def fit(self, X: Any, y: np.ndarray, **arguments: Any) -> Self:
        self.fitted_ = clone(self.estimator).fit(X, self.names[y], **arguments)
        self.classes_ = np.searchsorted(self.names, self.fitted_.classes_)
        return self

    def predict(self, X: Any) -> np.ndarray:  # required of every classifier
        return np.asarray(self.fitted_.predict(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.fitted_.predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(self.fitted_.decision_function(X))

    def get_metadata_routing(self) -> Any:
        return self.estimator.get_metadata_routing()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags  # since 1.6, which is the first to call this method

        return get_tags(self.estimator)

    def _get_tags(self) -> Any:  # before 1.6
        return self.estimator._get_tags()


def _refuse_pairs(estimator: Any) -> None:
    """Raise a ValueError for decision values of pairs of classes; three classes have as many."""
    for name, value in estimator.get_params().items():
        if name.endswith("decision_function_shape") and value == "ovo":
            raise ValueError(
                f"estimator: expected a decision value for each class, found {name}='ovo', which "
                "has one for each pair of classes; set it to 'ovr'"
            )


def _method(recalibrator: Recalibrator, estimator: Any) -> str:
    """The classifier's method that predicts."""
    logits = recalibrator.inputs == "logits" and hasattr(estimator, "decision_function")
    return "decision_function" if logits else "predict_proba"
