"""The base of all recalibrators: checks of the input, fit and predict, files, and scikit-learn."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from calib_utils import __version__
from calib_utils._numerics import FAR, log_of_probs, row_blocks, widen, zero_of
from calib_utils.metrics.bins import rounded
from calib_utils.predictions import Predictions
from calib_utils.predictions.arrays import dtype_name, like
from calib_utils.predictions.checks import check_inputs, check_number
from calib_utils.predictions.gate import probs_of, taken
from calib_utils.predictions.scores import check_label_masks, check_logits, look_like_probs
from calib_utils.records.npz import explain_damage, read_npz, write_npz

CLASSES: dict[str, type[Recalibrator]] = {}  # by name, for `load`


class Recalibrator(ABC):
    """A map from logits to calibrated probabilities, fitted on a validation set.

    Arguments of the constructor are attributes of the same name; the parameters that `fit` learns
    end in an underscore.

    A class that a sample cannot have is *masked* there: its logit is -inf, or 5,000 or more
    below the sample's largest, such as -1e4 (for `TemperatureScaling`, only -inf). Its
    probability is 0, no label may be masked, and fits leave it out.

    It is an estimator in the style of scikit-learn, whose features are logits: it can be cloned,
    end a ``Pipeline`` or be searched by ``GridSearchCV``.

    Attributes:
        n_classes_: the number of classes in the validation set.
        shape_: "(N, K)" or "(N,)", the shape of its logits.
        n_samples_: the number of its samples.
        date_: of the fit, such as "2026-11-20".
        version_: of ``calib_utils``.
        fitted_as_: the arguments of the fit, as text.
        columns_: the names of the columns of the validation set, if it was a data frame.
        zero_: with ``inputs="probs"``, the value that replaces a probability of exactly 0. By
            convention it is the mean of probabilities that continue below half the smallest other
            one as densely, in their logarithms, as around it, and at most 0.001. It is 0, for the
            smallest number of the type, if the validation set has no zeros.

    Example:
        >>> from calib_utils.recalibration import TemperatureScaling, VectorScaling
        >>> logits = [[2.0, 0.0]] * 4 + [[0.0, 2.0]] * 4
        >>> labels = [0, 0, 0, 1, 0, 0, 1, 1]
        >>> for method in (TemperatureScaling(), VectorScaling()):
        ...     print(method.fit(logits, labels).predict_proba([[2.0, 0.0]]).round(3))
        [[0.625 0.375]]
        [[0.75 0.25]]
    """

    inputs: str
    n_classes_: int
    shape_: str
    n_samples_: int
    date_: str
    version_: str
    fitted_as_: str
    zero_: float = 0.0
    columns_: Sequence[str] = ()

    # Which shapes the method takes: (N,) for two classes, (N, K) for K, or both.
    _shapes: ClassVar[tuple[str, ...]] = ("(N, K)",)
    _estimator_type = "classifier"  # for scikit-learn before 1.6, which has no tags
    # Whether the predicted class is always that of the logits.
    _keeps_class: ClassVar[bool] = False
    # The names of the single numbers that it learns.
    _numbers: ClassVar[tuple[str, ...]] = ()
    # What to do with more classes if the method takes two.
    _for_more_classes: ClassVar[str] = "or wrap the method in OneVersusRest"

    def __init__(self, inputs: str = "logits"):
        self.inputs = inputs
        self._check_arguments()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        CLASSES[cls.__name__] = cls

    def fit(self, logits: Any, labels: Any = None, sample_weight: Any = None) -> Self:
        """Fit the parameters on a validation set, which the network was not trained on.

        Args:
            logits: torch tensor or NumPy array of shape (N, K); or (N,), the log-odds of the
                positive class, if the method takes that. -inf masks a class. With
                ``inputs="probs"`` probabilities in their place. Or ``Predictions`` of either, which
                replace all arguments, and whose weights are relative: they are divided by their
                mean. `predict` still returns the numbers of their columns.
            labels: (N,), integers from 0 to K - 1.
            sample_weight: (N,), finite numbers of 0 or more: how often each sample counts. 1
                for all by default.

        Returns:
            Itself.

        Raises:
            ValueError: for bad input.

        Warns:
            UserWarning: if a class has no sample, if the logits look like probabilities, if
                probabilities are exactly 0 or 1, or if there is no optimum; the class's docstring
                explains what happens then.
        """
        learn(self, logits, labels, sample_weight)
        return self

    def _learn(self, logits: Any, labels: Any, sample_weight: Any) -> list[str]:
        """`fit`, which warns of what this returns."""
        self._check_arguments()
        given = self._taken(logits, labels, sample_weight)
        self.columns_ = given.columns
        problems: list[str] = []
        if self._zeros_matter():
            probs = probs_of(given, self._name)
            self.zero_, problems = zero_of(probs, weights=given.sample_weight)
        array, labels, weights = self._checked(given), given.labels, given.sample_weight
        n_classes = n_classes_of(array.shape)
        if weights is not None:
            kept = weights > 0
            if not kept.all():
                array, labels, weights = array[kept], labels[kept], weights[kept]
            weights = None if (weights == 1).all() else weights
        check_label_masks(array, labels)
        problems += self._doubts(array) + absent_classes(labels, n_classes)
        problems += self._fit(array, labels, weights)
        self._say_fitted(array.shape)
        return problems

    def predict_proba(self, logits: Any) -> Any:
        """Calibrated probabilities.

        Args:
            logits: (N, K), or (N,) as in `fit`; the labels of ``Predictions`` are ignored.

        Returns:
            (N, K), rows that sum to one; or (N,), the probability of the positive class. A
            torch tensor on the same device if ``logits`` is one, else a NumPy array; in the type
            of ``logits``, to which it is rounded at the end.

        Raises:
            ValueError: for bad input, or a different number of classes or kind of shape than in
                `fit`.
            RuntimeError: if it is not fitted, or was changed since.

        Warns:
            UserWarning: if the logits look like probabilities.
        """
        array, logits = self._checked_to_predict(logits)
        for doubt in self._doubts(array):
            warnings.warn(doubt, stacklevel=2)
        return self._in_blocks(array, logits)

    def predict_log_proba(self, logits: Any) -> Any:
        """The logarithms of the probabilities of `predict_proba`, even if these round to 0.

        Args:
            logits: (N, K), or (N,) as in `fit`.

        Returns:
            As from `predict_proba`; -inf where a probability is 0. Rows of shape (N, K) are
            logits of the calibrated probabilities.

        Raises:
            ValueError: as `predict_proba` does.
            RuntimeError: as `predict_proba` does.
        """
        array, logits = self._checked_to_predict(logits)
        with np.errstate(divide="ignore", over="ignore"):
            return self._in_blocks(array, logits, log=True)

    def predict(self, logits: Any) -> Any:
        """The most probable class of each sample, after calibration.

        Args:
            logits: (N, K), or (N,) as in `fit`.

        Returns:
            int64, shape (N,); the first of tied maxima.

        Raises:
            ValueError: as `predict_proba` does.
            RuntimeError: as `predict_proba` does.
        """
        array, logits = self._checked_to_predict(logits)
        result = np.empty(len(array), np.int64)
        for rows, block in row_blocks(array):
            probs = self._predict(block)
            if self._keeps_class:
                keep_class(block, probs, "float64")
            result[rows] = probs > 0.5 if probs.ndim == 1 else probs.argmax(axis=1)
        return like(result, logits)

    def _in_blocks(self, array: np.ndarray, logits: Any, log: bool = False) -> Any:
        """Probabilities, or their logarithms, in the kind and type of ``logits``."""
        dtype = result_dtype(array, logits)
        result = np.empty(array.shape, "float32" if dtype == "bfloat16" else dtype)
        predict = self._predict_log if log else self._predict
        for rows, block in row_blocks(array):
            result[rows] = rounded(predict(block), dtype)
            if self._keeps_class and not (log and block.ndim == 1):
                keep_class(block, result[rows], dtype)
        return like(result, logits, cast=dtype == "bfloat16")

    @property
    def classes_(self) -> np.ndarray:
        """The classes, 0 to K - 1, int64.

        Raises:
            RuntimeError: if it is not fitted.
        """
        self._require_fitted()
        return np.arange(self.n_classes_)

    @property
    def n_parameters_(self) -> int:
        """The number of parameters that `fit` has learned; for a step function, of steps.

        Raises:
            RuntimeError: if it is not fitted.
        """
        self._require_fitted()
        return self._n_parameters()

    def save(self, path: Path | str) -> None:
        """Write the parameters, completely or not at all, to a file that `load` reads.

        Args:
            path: of an ``.npz`` file without pickles; an older file there is replaced.

        Raises:
            RuntimeError: if it is not fitted.
        """
        self._require_fitted()
        arrays: dict[str, np.ndarray] = {}
        facts = _encode(self, arrays)
        write_npz(Path(path), arrays, facts)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor, by name.

        Args:
            deep: whether those of an argument that is a recalibrator follow, as "base__n_bins".
        """
        result = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        for name, value in list(result.items()):
            if deep and hasattr(value, "get_params"):
                result |= {f"{name}__{inner}": x for inner, x in value.get_params().items()}
        return result

    def set_params(self, **params: Any) -> Self:
        """Set arguments of the constructor, by the names from `get_params`; returns itself.

        Raises:
            ValueError: for an unknown name, or an invalid value.
        """
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{name}: expected one of {sorted(known)}, for {self!r}")
            first, _, rest = name.partition("__")
            if rest:
                getattr(self, first).set_params(**{rest: value})
            else:
                setattr(self, name, value)
        self._check_arguments()
        return self

    def __repr__(self) -> str:
        texts = []
        for name, argument in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            value = value.item() if isinstance(value, np.generic) else value
            if value is not argument.default and value != argument.default:
                texts.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(texts)})"

    @abstractmethod
    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        """Set the parameters. The input is checked, and logits are float32 or float64.

        Returns:
            Warnings for the user.
        """

    @abstractmethod
    def _predict(self, logits: np.ndarray) -> np.ndarray:
        """Probabilities in float64 for a block of rows that is checked."""

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        """The logarithms of the same; a method that knows them more exactly overrides this."""
        return np.log(self._predict(logits))

    def _check_fit(self) -> None:
        """Raise a ValueError if what a file says of a fit has a wrong type or shape."""
        if "shape_" in vars(self) or "n_classes_" in vars(self):
            check_number(self.n_classes_, "n_classes_", 2)
            check_number(self.n_samples_, "n_samples_", 1)
            if self.shape_ not in self._shapes:
                raise ValueError(f"shape_: expected one of {self._shapes}, found {self.shape_!r}")
        check_number(self.zero_, "zero_", 0)
        self._check_learned()

    def _check_learned(self) -> None:
        """Raise a ValueError unless a file's parameters are finite and of the right shape."""
        for name in self._numbers:
            check_number(getattr(self, name), name)

    def _n_parameters(self) -> int:
        """`n_parameters_` of a fitted method."""
        return len(self._numbers)

    def _check_arguments(self) -> None:
        check_inputs(self.inputs)

    def _doubts(self, array: np.ndarray) -> list[str]:
        return look_like_probs(array) if self.inputs == "logits" else []

    def _zeros_matter(self) -> bool:
        """Whether the fit depends on the value that replaces a probability of exactly 0."""
        return self.inputs == "probs"

    def _taken(self, *given: Any, labelled: bool = True) -> Predictions:
        padding, inputs = not labelled, self.inputs
        found = taken(*given, labelled=labelled, padding=padding, inputs=inputs, name=self._name)
        weights = found.sample_weight
        if not labelled or weights is None or not isinstance(given[0], Predictions):
            return found
        # Those of Predictions are relative, and fits take them for numbers of samples.
        return dataclasses.replace(found, sample_weight=weights / weights[weights > 0].mean())

    @property
    def _name(self) -> str:
        return "logits" if self.inputs == "logits" else "logits (inputs='probs')"

    @abstractmethod
    def _check_values(self, predictions: Predictions) -> np.ndarray:
        """The scores in the form that `_fit` and `_predict` take."""

    def _checked(self, predictions: Predictions) -> np.ndarray:
        array = self._check_values(predictions)
        if shape_name(array.shape) not in self._shapes:
            positive = (
                "the log-odds of the positive class, logits[:, 1] - logits[:, 0]"
                if self.inputs == "logits"
                else "the probability of the positive class, probs[:, 1]"
            )
            advice = (
                f"give {positive} for two classes, {self._for_more_classes}"
                if array.ndim == 2
                else "give one for each class, because (N,) does not determine all of them"
            )
            raise ValueError(
                f"logits: {type(self).__name__} takes shape {self._shapes[0]}, "
                f"found {array.shape}; {advice}"
            )
        return array

    def _checked_to_predict(self, logits: Any) -> tuple[np.ndarray, Any]:
        """The checked scores; and the original ones, whose type and kind the result will have."""
        self._require_fitted()
        given = self._taken(logits, labelled=False)
        found, fitted = given.columns, list(self.columns_)
        if found != fitted and sorted(found) == sorted(fitted):
            raise ValueError(
                f"{self._name}: expected the columns in the order of fit, {fitted}, found {found}; "
                "give logits[recalibrator.columns_]"
            )
        array = self._checked(given)
        self._check_shape(array.shape)
        return array, given.scores

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        """Raise a ValueError unless logits of this shape are of the same kind as in `fit`."""
        if n_classes_of(shape) != self.n_classes_:
            raise ValueError(
                f"logits: expected {self.n_classes_} classes, as in fit, found "
                f"{n_classes_of(shape)}; use logits of the same network, and for one row logits[:1]"
            )
        if shape_name(shape) != self.shape_:
            raise ValueError(
                f"logits: expected shape {self.shape_}, as in fit, found {tuple(shape)}; "
                "for one row give logits[:1]"
            )

    def _require_fitted(self) -> None:
        if "n_classes_" not in vars(self):
            raise RuntimeError(
                f"{type(self).__name__} is not fitted; call fit(logits, labels) first"
            )
        fitted_as = vars(self).get("fitted_as_", repr(self))
        if fitted_as != repr(self):
            raise RuntimeError(
                f"{self!r} was fitted as {fitted_as}, and changed since; call fit again"
            )

    def _say_fitted(self, shape: tuple[int, ...]) -> None:
        """Record the data, the date and the arguments of the fit."""
        self.n_classes_ = n_classes_of(shape)
        self.shape_ = shape_name(shape)
        self.n_samples_ = shape[0]
        self.date_ = datetime.datetime.now(datetime.UTC).date().isoformat()
        self.version_ = __version__
        self.fitted_as_ = repr(self)

    def __sklearn_is_fitted__(self) -> bool:
        return "n_classes_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        columns = "(N, K)" in self._shapes
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=columns, one_d_array=not columns),
        )


class MulticlassRecalibrator(Recalibrator):
    """A recalibrator of K logits or probabilities for each sample, of shape (N, K)."""

    _far: ClassVar[float] = FAR

    def _check_values(self, predictions: Predictions) -> np.ndarray:
        if self.inputs == "logits":
            return check_logits(predictions.array, far=self._far)
        return log_of_probs(probs_of(predictions, self._name), self.zero_)


def result_dtype(array: np.ndarray, logits: Any) -> str:
    """The type that the result for checked scores is rounded to, by that of the original ones."""
    dtype = dtype_name(logits)
    return dtype if dtype in ("float16", "bfloat16") else widen(array[:0]).dtype.name


def in_kind(result: np.ndarray, array: np.ndarray, logits: Any) -> Any:
    """The result for checked scores, in the kind and type of the original ones."""
    dtype = result_dtype(array, logits)
    return like(rounded(result, dtype), logits, cast=dtype == "bfloat16")


def load(path: Path | str) -> Recalibrator:
    """Read a recalibrator that `Recalibrator.save` wrote.

    Args:
        path: of the file.

    Returns:
        An object of the class that was saved, which predicts the same bits.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, was not written by `Recalibrator.save`, is of a version
            that this one cannot read, or contains parameters of a wrong type or shape, or that are
            not finite. Sizes are checked before anything is unpacked, because a few megabytes may
            contain gigabytes of zeros.

    Example:
        >>> import tempfile
        >>> from calib_utils.recalibration import TemperatureScaling
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     TemperatureScaling(1.5).save(f"{folder}/scaling.npz")
        ...     load(f"{folder}/scaling.npz")
        TemperatureScaling(temperature=1.5)
    """
    path = Path(path)
    path.stat()  # a missing file is not a damaged one
    advice = (
        "fit and save it again, or load it with the version of calib_utils that saved it, because "
        f"this is {__version__}"
    )
    what = f"path: {path} contains no recalibrator, or"
    with explain_damage(what, advice):
        arrays, facts = read_npz(path)
        result = _decode(facts, arrays)
        if not isinstance(result, Recalibrator):
            raise TypeError("its facts do not name a recalibrator")
        result._require_fitted()
        result._check_fit()
    return result


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """``value`` as JSON; arrays go to ``arrays``, and JSON keeps their name."""
    if isinstance(value, Recalibrator):
        arguments = value.get_params(deep=False)
        return {
            "class": type(value).__name__,
            "arguments": {k: _encode(v, arrays) for k, v in arguments.items()},
            "learned": {
                name: _encode(item, arrays)
                for name, item in vars(value).items()
                if name.endswith("_")
            },
        }
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    return value  # None, a text, or a number, which Python's JSON keeps exactly


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `_encode`."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    arguments = {name: _decode(item, arrays) for name, item in value["arguments"].items()}
    result = CLASSES[value["class"]](**arguments)
    for name, item in value["learned"].items():
        setattr(result, name, _decode(item, arrays))
    return result


def check_array(value: Any, name: str, shape: tuple[int | None, ...]) -> None:
    """Raise a ValueError unless ``value`` is an array of finite numbers of this shape.

    Args:
        value: the array to check.
        name: its name in the error.
        shape: None stands for any length of 1 or more.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        raise ValueError(f"{name}: expected an array of numbers, found {type(value).__name__}")
    fits = value.ndim == len(shape) and all(
        have == want or (want is None and have > 0)
        for have, want in zip(value.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name}: expected shape {shape}, found {value.shape}")
    if not np.isfinite(value).all():
        raise ValueError(f"{name}: expected finite numbers, found others")


def learn(method: Any, *data: Any) -> None:
    """Let ``method`` learn from ``data`` by its ``_learn``, and warn of what that returns.

    It learns on a copy, so that an error leaves it as it is.
    """
    fitted = copy.copy(method)
    problems = fitted._learn(*data)
    vars(method).update(vars(fitted))
    for problem in problems:
        warnings.warn(problem, stacklevel=3)


def n_classes_of(shape: tuple[int, ...]) -> int:
    """The number of classes of logits of this shape."""
    return 2 if len(shape) == 1 else shape[1]


def shape_name(shape: tuple[int, ...]) -> str:
    """The name of the kind of this shape."""
    return "(N,)" if len(shape) == 1 else "(N, K)"


def absent_classes(labels: np.ndarray, n_classes: int) -> list[str]:
    """A warning that names the classes without samples, if there are any."""
    absent = np.flatnonzero(np.bincount(labels, minlength=n_classes) == 0).tolist()
    if not absent:
        return []
    names = ", ".join(map(str, absent[:10])) + (", ..." if len(absent) > 10 else "")
    return [
        f"labels: {len(absent)} of {n_classes} classes have no sample ({names}); the method uses "
        "its default for them"
    ]


def keep_class(logits: np.ndarray, probs: np.ndarray, dtype: str) -> None:
    """Undo ties in which rounding made an earlier class as probable as the predicted one.

    Args:
        logits: (N, K), or (N,).
        probs: of the same shape, or their logarithms (N, K); they are changed in place.
        dtype: the type that they were rounded to.
    """
    if logits.ndim == 1:
        lost = (logits > 0) & (probs <= 0.5)
        probs[lost] = _next_above(np.full(lost.sum(), 0.5, probs.dtype), dtype)
        return
    wanted = logits.argmax(axis=1)
    found = probs.argmax(axis=1)
    rows = np.flatnonzero(wanted != found)
    probs[rows, wanted[rows]] = _next_above(probs[rows, found[rows]], dtype)


def _next_above(probs: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bfloat16":  # the upper half of float32
        step = np.where(probs > 0, 0x10000, -0x10000)  # logarithms are negative
        return (probs.view(np.int32) + step.astype(np.int32)).view(np.float32)
    return np.nextafter(probs, probs.dtype.type(2))
