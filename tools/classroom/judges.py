"""Ways to judge an answer, for `checks.py`. An answer is plain data: it cannot overload `==`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Judge = Callable[[Any], "bool | float"]


def numbers(answer: Any) -> np.ndarray | None:
    """An answer as an array of float64, or None if it is not one of numbers."""
    try:
        found = np.asarray(answer)
    except ValueError:  # rows of several lengths
        return None
    return found.astype(np.float64) if found.dtype.kind in "iuf" else None


def near(expected: Any, within: float = 1e-6) -> Judge:
    """A number or array of the same shape, each within ``within`` of what is expected.

    NaN is expected where ``expected`` has it.
    """
    wanted = np.asarray(expected, dtype=np.float64)

    def judge(answer: Any) -> bool:
        found = numbers(answer)
        if found is None or found.shape != wanted.shape:
            return False
        return bool(np.allclose(found, wanted, rtol=within, atol=within, equal_nan=True))

    return judge


def same(expected: Any) -> Judge:
    """Exactly this string, boolean or None; never a number for a boolean."""
    return lambda answer: type(answer) is type(expected) and answer == expected


def entry(key: str, judge: Judge) -> Judge:
    """What stands under a key of a dictionary."""
    return lambda answer: isinstance(answer, dict) and key in answer and judge(answer[key])


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def drawn_labels(rng: np.random.Generator, probs: np.ndarray) -> np.ndarray:
    """A label for each row, with just these probabilities: so the rows are calibrated."""
    draws = rng.random((len(probs), 1))
    return np.asarray((probs.cumsum(axis=1) < draws).sum(axis=1).clip(max=probs.shape[1] - 1))
