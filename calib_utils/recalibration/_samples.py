"""What logits and labels are: their kind, and what is odd about them."""

from __future__ import annotations

import numpy as np

__all__ = ["absent_classes", "keep_class", "look_like_probs", "n_classes_of", "shape_name"]

_LOOK = 1_000  # rows that are looked at first


def look_like_probs(logits: np.ndarray) -> list[str]:
    """A warning, if all rows are of 0 or more and sum to one."""
    for rows in (logits[:_LOOK], logits):
        if rows.ndim == 1 or rows.min() < 0 or np.abs(rows.sum(axis=1) - 1).max() > 1e-3:
            return []
    return [
        "logits: all rows are of 0 or more and sum to one, as probabilities are; give the logits, "
        "or say inputs='probs'"
    ]


def n_classes_of(shape: tuple[int, ...]) -> int:
    """How many classes logits of this shape have."""
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
        f"labels: {len(absent)} of {n_classes} classes have no sample ({names}); what is "
        "learned about them is the method's default"
    ]


def keep_class(logits: np.ndarray, probs: np.ndarray) -> None:
    """Where rounding made an earlier class as probable as the predicted one, put that right."""
    if logits.ndim == 1:
        lost = (logits > 0) & (probs <= 0.5)
        probs[lost] = np.nextafter(probs.dtype.type(0.5), probs.dtype.type(1))
        return
    wanted = logits.argmax(axis=1)
    found = probs.argmax(axis=1)
    rows = np.flatnonzero(wanted != found)
    probs[rows, wanted[rows]] = np.nextafter(probs[rows, found[rows]], probs.dtype.type(2))
