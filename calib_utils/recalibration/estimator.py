"""The interface of scikit-learn's estimators, without importing it before it is needed."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import warnings
from typing import Any, ClassVar, Self

import numpy as np

__all__ = ["Estimator", "learn", "not_fitted"]


class Estimator:
    """Arguments of the constructor are attributes of the same name, and can be read and set."""

    # Which shapes the method takes: (N,) for two classes, (N, K) for K, or both.
    _shapes: ClassVar[tuple[str, ...]] = ("(N, K)",)
    _estimator_type = "classifier"  # for scikit-learn before 1.6, which has no tags

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

    def _check_arguments(self) -> None:
        """Raise a ValueError for an argument of the constructor that makes no sense."""

    def __repr__(self) -> str:
        texts = []
        for name, argument in inspect.signature(type(self)).parameters.items():
            value = getattr(self, name)
            value = value.item() if isinstance(value, np.generic) else value
            if value is not argument.default and value != argument.default:
                texts.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(texts)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        columns = "(N, K)" in self._shapes
        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=columns, one_d_array=not columns),
        )


def learn(method: Any, *data: Any) -> None:
    """Let ``method`` learn from ``data`` by its ``_learn``, and warn of what that returns.

    It learns on a copy, so that an error leaves it as it is.
    """
    fitted = copy.copy(method)
    problems = fitted._learn(*data)
    vars(method).update(vars(fitted))
    for problem in problems:
        warnings.warn(problem, stacklevel=3)


@functools.cache
def _not_fitted_error() -> type[Exception]:
    kinds: tuple[type[Exception], ...] = (RuntimeError,)
    with contextlib.suppress(ModuleNotFoundError):
        from sklearn.exceptions import NotFittedError

        kinds = (NotFittedError, RuntimeError)
    return type("NotFittedError", kinds, {"__module__": __name__})


def not_fitted(message: str) -> Exception:
    """A RuntimeError that is also scikit-learn's ``NotFittedError``, if that is installed."""
    return _not_fitted_error()(message)


def __getattr__(name: str) -> Any:
    if name == "NotFittedError":  # so that it can be sent between processes
        return _not_fitted_error()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
