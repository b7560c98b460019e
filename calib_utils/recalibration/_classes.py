"""The classes of logits: how many, which have no labels, and which stays the predicted one."""

from __future__ import annotations

import numpy as np

__all__ = ["absent_classes", "keep_class", "n_classes_of", "shape_name"]


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
