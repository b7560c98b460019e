"""The increasing function that fits outcomes best, in little memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Steps", "isotonic_steps"]


class Steps(NamedTuple):
    """An increasing step function.

    Attributes:
        first, last: (S,), the lowest and the highest value on each step.
        masses: (S,), float64, the number of samples on it, or their summed weight.
        positives: (S,), float64, the part of that with the outcome.
    """

    first: np.ndarray
    last: np.ndarray
    masses: np.ndarray
    positives: np.ndarray


def isotonic_steps(values: np.ndarray, hits: np.ndarray, weights: np.ndarray | None) -> Steps:
    """The steps of the isotonic regression of the outcomes on the values, by least squares.

    Neighbours that do not rise share a step in any case, so they are pooled first, which leaves few
    for the regression.

    Args:
        values: (N,), of which only the order and the ties matter.
        hits: (N,), booleans.
        weights: (N,), above 0; None for 1.
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(values)
    values, hits = values[order], hits[order]
    weights = None if weights is None else weights[order]
    del order
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    masses, positives = _sums(hits, weights, starts)
    positives /= masses
    del masses
    starts = starts[np.append(True, positives[1:] > positives[:-1])]
    masses, positives = _sums(hits, weights, starts)
    fitted = isotonic_regression(positives / masses, weights=masses).x
    kept = np.flatnonzero(np.append(True, fitted[1:] > fitted[:-1]))
    starts = starts[kept]
    return Steps(
        values[starts],
        values[np.append(starts[1:], len(values)) - 1],
        np.add.reduceat(masses, kept),
        np.add.reduceat(positives, kept),
    )


def _sums(
    hits: np.ndarray, weights: np.ndarray | None, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the samples from each start to the next, and of those that have it."""
    if weights is None:
        masses = np.append(starts[1:], float(len(hits)))
        masses -= starts
        return masses, np.add.reduceat(hits, starts, dtype=np.float64)
    return np.add.reduceat(weights, starts), np.add.reduceat(weights * hits, starts)
