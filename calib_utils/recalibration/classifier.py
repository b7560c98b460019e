"""A recalibrator for a classifier in the style of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.metaestimators import _safe_split  # also for lists, frames and kernels
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from calib_utils._numerics import log_of_probs, zero_of
from calib_utils.predictions.arrays import plain_array
from calib_utils.predictions.labels import check_sample_weight
from calib_utils.predictions.scores import check_probs
from calib_utils.recalibration.base import Recalibrator, learn
from calib_utils.recalibration.binary import BinaryRecalibrator
from calib_utils.recalibration.temperature import TemperatureScaling


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose probabilities are calibrated by cross-fitting.

    `fit` predicts each sample by a copy of the classifier that did not see it, fits the
    recalibrator on these predictions, and then the classifier on all samples, as scikit-learn's
    ``CalibratedClassifierCV(ensemble=False)`` does. The recalibrator may be any of this package.
    One with ``inputs="probs"`` gets ``predict_proba``; the others get ``decision_function``, or
    log-probabilities if there is none.

    Of the classifier it takes only ``fit``, ``classes_`` and these predictions, so that CatBoost's
    and XGBoost's will do. Columns are matched by the names in ``classes_``, in whatever order.

    Args:
        estimator: an unfitted classifier; or a fitted one as ``FrozenEstimator(classifier)``, with
            samples that it was not fitted on, in the place of ``cv="prefit"``.
        recalibrator: an unfitted recalibrator; `TemperatureScaling` by default. A binary one is
            for two classes.
        cv: how samples are split, as in scikit-learn: a number of folds, or a splitter.

    Attributes:
        estimator_: the classifier, fitted on all samples.
        recalibrator_: the recalibrator, fitted on the predictions of samples left out.
        zero_: the value that replaces a probability of exactly 0 when its logarithm is taken; 0 for
            the smallest number of its type.
        classes_: the classes of ``y``, sorted, shape (K,).

    Raises:
        ValueError: from `fit`, if ``recalibrator`` is not one of this package's, ``y`` has only one
            class, the classifier knows other classes, such as those of a fold, or its predictions
            are not those of each class: decision values of pairs, or rows that do not sum to one.

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
            sample_weight: (N,), how often each sample counts, in both fits. Those of a pipeline
                reach its last step.
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
        if getattr(recalibrator, "_of_groups", False):
            raise ValueError(
                f"recalibrator: expected one that needs no groups, found {recalibrator!r}; fit it "
                "on the classifier's predictions of samples left out, as of cross_val_predict"
            )
        y = column_or_1d(plain_array(y, "y"), warn=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            n = len(self.classes_)
            raise ValueError(
                f"y: expected at least two classes, found {n} class in {len(y)} samples"
            )
        of_rows = None
        if sample_weight is not None:
            of_rows = check_sample_weight(sample_weight, len(labels))
        method = _method(recalibrator, self.estimator)
        if method == "decision_function" and len(self.classes_) > 2:
            _refuse_pairs(self.estimator)
        groups = None if groups is None else plain_array(groups, "groups")
        X, y, groups = indexable(X, y, groups)
        outputs, places = [], []
        for train, test in check_cv(self.cv, labels, classifier=True).split(X, labels, groups):
            seen, held_out = (
                _safe_split(self.estimator, X, y, rows, train)[0] for rows in (train, test)
            )
            weights = None if of_rows is None else of_rows[train]
            fitted = _fitted(self.estimator, seen, y[train], weights)
            outputs.append(_predictions(fitted, method, held_out, self.classes_))
            places.append(test)
        order = np.argsort(np.concatenate(places))
        if not np.array_equal(np.concatenate(places)[order], np.arange(len(y))):
            raise ValueError(
                "cv: expected each sample in the test set of one fold, found some in none or in "
                "several; give such a splitter, as StratifiedKFold(5) is"
            )
        predicted = np.concatenate(outputs)[order]
        problems: list[str] = []
        self.zero_ = 0.0
        if method == "predict_proba" and recalibrator.inputs == "logits":
            self.zero_, problems = zero_of(predicted, weights=of_rows)
        self.recalibrator_ = clone(recalibrator)
        self.recalibrator_.fit(self._inputs(method, predicted), labels, of_rows)
        self.estimator_ = _fitted(self.estimator, X, y, of_rows)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return problems

    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities, shape (N, K), in the order of ``classes_``."""
        check_is_fitted(self)
        method = _method(self.recalibrator_, self.estimator_)
        found = _predictions(self.estimator_, method, X, self.classes_)
        outputs = self._inputs(method, found)
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
            outputs = log_of_probs(outputs, self.zero_)
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


def _fitted(estimator: Any, X: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
    """A fitted copy of the classifier; the weights of a pipeline are for its last step."""
    fitted, prefix, last = clone(estimator), "", estimator
    while isinstance(last, Pipeline) and not get_config().get("enable_metadata_routing"):
        step, last = last.steps[-1]
        prefix += f"{step}__"
    if weights is None:
        return fitted.fit(X, y)
    return fitted.fit(X, y, **{f"{prefix}sample_weight": weights})


def _predictions(classifier: Any, method: str, X: Any, classes: np.ndarray) -> np.ndarray:
    """What a fitted classifier predicts, checked and with its columns in the order of ``classes``.

    Returns:
        (N, K), or (N,) for the decision values of two classes.

    Raises:
        ValueError: unless its classes are these, and it predicts a number for each.
    """
    own = np.asarray(getattr(classifier, "classes_", ())).tolist()
    wanted = classes.tolist()
    if unknown := [name for name in wanted if name not in own]:
        raise ValueError(
            f"estimator: found one that does not know class {_listed(unknown)} of y, but "
            f"{_listed(own) or 'has no classes_'}; if the samples of a fold lack it, give "
            "cv=StratifiedKFold(shuffle=True), or fewer folds than the class has samples"
        )
    if absent := [name for name in own if name not in wanted]:
        raise ValueError(
            f"y: expected all classes of the classifier, found no sample of class "
            f"{_listed(absent)}; add some, or fit a recalibrator on its predictions, with labels "
            "that are the numbers of their columns"
        )
    outputs, n, k = np.asarray(getattr(classifier, method)(X)), _num_samples(X), len(own)
    one_column = method == "decision_function" and k == 2
    if outputs.shape != ((n,) if one_column else (n, k)):
        raise ValueError(
            f"estimator: expected {method} to give a column for each of {k} classes, "
            f"{(n,) if one_column else (n, k)}, found {outputs.shape}"
        )
    if method == "predict_proba":
        outputs = check_probs(outputs, "predict_proba")
    order = [own.index(name) for name in wanted]
    if one_column:
        return outputs if order == [0, 1] else -outputs
    return outputs if order == [*range(k)] else outputs[:, order]


def _listed(names: list[Any]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


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
