"""What all recalibrators share: checks of the input, and files."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from calib_utils._arrays import like, row_blocks
from calib_utils._checks import check_labels
from calib_utils._masks import check_label_masks, check_maskable_logits
from calib_utils.records.npz import explain_damage, read_npz, write_npz

__all__ = ["Recalibrator", "load"]

_CLASSES: dict[str, type[Recalibrator]] = {}  # by name, for `load`


class Recalibrator(ABC):
    """A map from logits to calibrated probabilities, fitted on a validation set.

    Arguments of the constructor are attributes of the same name; what `fit` learns ends in
    an underscore.

    Attributes:
        n_classes_: how many classes the validation set had.

    Example:
        >>> from calib_utils.recalibration import TemperatureScaling, VectorScaling
        >>> logits = [[2.0, 0.0]] * 4 + [[0.0, 2.0]] * 4
        >>> labels = [0, 0, 0, 1, 0, 0, 1, 1]
        >>> for method in (TemperatureScaling(), VectorScaling()):
        ...     print(method.fit(logits, labels).predict_proba([[2.0, 0.0]]).round(3))
        [[0.625 0.375]]
        [[0.75 0.25]]
    """

    n_classes_: int

    # Which shapes the method takes: (N,) for two classes, (N, K) for K, or both.
    _shapes: ClassVar[tuple[str, ...]] = ("(N, K)",)
    # Whether the predicted class is the one of the logits, whatever was learned.
    _keeps_class: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _CLASSES[cls.__name__] = cls

    def fit(self, logits: Any, labels: Any) -> Self:
        """Learn from a validation set, which the network was not trained on.

        Args:
            logits: torch tensor or NumPy array of shape (N, K); or (N,), the log-odds of the
                positive class, where the method takes that.
            labels: (N,), integers from 0 to K - 1.

        Returns:
            Itself.

        Raises:
            ValueError: for bad input.

        Warns:
            UserWarning: if a class has no sample, or there is no optimum; the class's docstring
                says what is done.
        """
        array = self._checked(logits)
        n_classes = 2 if array.ndim == 1 else array.shape[1]
        labels = check_labels(labels, len(array), n_classes)
        check_label_masks(array, labels)
        problems = _absent_classes(labels, n_classes) + self._fit(array, labels)
        self.n_classes_ = n_classes
        for problem in problems:
            warnings.warn(problem, stacklevel=2)
        return self

    def predict_proba(self, logits: Any) -> Any:
        """Calibrated probabilities.

        Args:
            logits: (N, K), or (N,) as in `fit`.

        Returns:
            (N, K), rows that sum to one; or (N,), the probability of the positive class. A
            torch tensor on the same device if ``logits`` is one, else a NumPy array; float64
            for float64, else float32.

        Raises:
            ValueError: for bad input, or another number of classes than `fit` saw.
            RuntimeError: if it is not fitted.
        """
        self._require_fitted()
        array = self._checked(logits)
        self._check_classes(array)
        result = np.empty(array.shape, array.dtype)
        for rows, block in row_blocks(array):
            result[rows] = self._predict(block)
            if self._keeps_class:
                _keep_class(block, result[rows])
        return like(result, logits)

    @property
    def n_parameters_(self) -> int:
        """How many numbers `fit` has learned; of a map of steps, how many steps it has.

        Raises:
            RuntimeError: if it is not fitted.
        """
        self._require_fitted()
        return self._n_parameters()

    def save(self, path: Path | str) -> None:
        """Write what was learned, all or nothing, to a file that `load` reads.

        Args:
            path: of an ``.npz`` file without pickles; an older file there is replaced.

        Raises:
            RuntimeError: if it is not fitted.
        """
        self._require_fitted()
        arrays: dict[str, np.ndarray] = {}
        facts = _encode(self, arrays)
        write_npz(Path(path), arrays, facts)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._arguments().items())
        return f"{type(self).__name__}({arguments})"

    @abstractmethod
    def _fit(self, logits: np.ndarray, labels: np.ndarray) -> list[str]:
        """Set all that is learned. The input is checked, and float32 or float64.

        Returns:
            What the user should be warned of.
        """

    @abstractmethod
    def _predict(self, logits: np.ndarray) -> np.ndarray:
        """Probabilities in float64 for a block of rows that is checked."""

    @abstractmethod
    def _n_parameters(self) -> int:
        """`n_parameters_` of a fitted method."""

    def _check_values(self, logits: Any) -> np.ndarray:
        return check_maskable_logits(logits)

    def _checked(self, logits: Any) -> np.ndarray:
        array = self._check_values(logits)
        shape = "(N,)" if array.ndim == 1 else "(N, K)"
        if shape not in self._shapes:
            advice = (
                "give the log-odds of the positive class, logits[:, 1] - logits[:, 0] for two "
                "classes, or wrap the method in OneVersusRest"
                if array.ndim == 2
                else "give one logit for each class"
            )
            raise ValueError(
                f"logits: {type(self).__name__} takes shape {self._shapes[0]}, "
                f"found {array.shape}; {advice}"
            )
        return array

    def _check_classes(self, array: np.ndarray) -> None:
        n_classes = 2 if array.ndim == 1 else array.shape[1]
        if n_classes != self.n_classes_:
            raise ValueError(
                f"logits: expected {self.n_classes_} classes, as in fit, found {n_classes}; "
                "use logits of the same network"
            )

    def _require_fitted(self) -> None:
        if "n_classes_" not in vars(self):
            raise RuntimeError(
                f"{type(self).__name__} is not fitted; call fit(logits, labels) first"
            )

    def _arguments(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def _learned(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name.endswith("_")}


def load(path: Path | str) -> Recalibrator:
    """Read a recalibrator that `Recalibrator.save` wrote.

    Args:
        path: of the file.

    Returns:
        An object of the class that was saved, which predicts the same bits.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, or was not written by `Recalibrator.save`.

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
    with explain_damage(f"path: {path} holds no recalibrator, or", "fit and save it again"):
        arrays, facts = read_npz(path)
        result = _decode(facts, arrays)
        if not isinstance(result, Recalibrator):
            raise TypeError("its facts name no recalibrator")
        result._require_fitted()
    return result


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """``value`` as JSON; arrays go to ``arrays``, and JSON keeps their name."""
    if isinstance(value, Recalibrator):
        return {
            "class": type(value).__name__,
            "arguments": {k: _encode(v, arrays) for k, v in value._arguments().items()},
            "learned": {k: _encode(v, arrays) for k, v in value._learned().items()},
        }
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    return value  # None, a text, or a number, whose bits Python's JSON keeps


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `_encode`."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    arguments = {name: _decode(item, arrays) for name, item in value["arguments"].items()}
    result = _CLASSES[value["class"]](**arguments)
    for name, item in value["learned"].items():
        setattr(result, name, _decode(item, arrays))
    return result


def _absent_classes(labels: np.ndarray, n_classes: int) -> list[str]:
    absent = np.flatnonzero(np.bincount(labels, minlength=n_classes) == 0).tolist()
    if not absent:
        return []
    names = ", ".join(map(str, absent[:10])) + (", ..." if len(absent) > 10 else "")
    return [
        f"labels: {len(absent)} of {n_classes} classes have no sample ({names}); what is "
        "learned about them is the method's default"
    ]


def _keep_class(logits: np.ndarray, probs: np.ndarray) -> None:
    """Where rounding made an earlier class as probable as the predicted one, put that right."""
    if logits.ndim == 1:
        lost = (logits > 0) & (probs <= 0.5)
        probs[lost] = np.nextafter(probs.dtype.type(0.5), probs.dtype.type(1))
        return
    wanted = logits.argmax(axis=1)
    found = probs.argmax(axis=1)
    rows = np.flatnonzero(wanted != found)
    probs[rows, wanted[rows]] = np.nextafter(probs[rows, found[rows]], probs.dtype.type(2))
