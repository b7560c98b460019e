"""The features that affine maps make of the logits, and the start of their fits."""

from __future__ import annotations

import numpy as np

from calib_utils._numerics import find_masks, log_softmax, row_blocks
from calib_utils.recalibration._optimum import optimal_temperature

__all__ = [
    "HELD",
    "CentredRows",
    "MaskedRows",
    "centred",
    "log_probs",
    "start_of",
    "temperature_of",
]

HELD = 50_000_000  # numbers that a fit keeps in memory, which is faster: 400 MB


def start_of(
    logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
) -> tuple[float, list[str]]:
    """The temperature at which an affine fit starts, and warnings about it."""
    best = optimal_temperature(logits, labels, weights)
    if not best.problem:
        return float(best.temperature), []
    return float(best.scale), [f"temperature: {best.problem}; the fit starts at {best.scale:.3g}"]


def temperature_of(
    logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
) -> tuple[float, list[str]]:
    """The temperature of a map that keeps it, and warnings about it.

    A fit can move away from its start, but not from this. So without an optimum, a T that would go
    to 0 stays at 1 and changes nothing, and one that would grow is of the size of the logits.
    """
    best = optimal_temperature(logits, labels, weights)
    if not best.problem:
        return float(best.temperature), []
    kept = best.scale if best.temperature > best.scale else 1.0
    return float(kept), [f"temperature: {best.problem}; T is {kept:.3g}"]


def centred(logits: np.ndarray, divisor: float = 1.0) -> np.ndarray:
    """The logits minus the mean of their row, in float64; 0 for a masked class."""
    masked = find_masks(logits)
    # Two steps, because the mean of large logits is rounded.
    first = logits[:, :1] if masked is None else logits.max(axis=1, keepdims=True)
    result = np.subtract(logits, first, dtype=np.float64)
    result -= _row_means(result, masked)
    if masked is not None:
        result[masked] = 0
    result /= divisor
    return result


class CentredRows:
    """`centred` logits of some rows at a time, so that a fit need not keep all of them in memory.

    ``rows[a:b]`` returns them in float64; they are computed each time, unless there are few.

    Args:
        logits: (N, K), as for `centred`, of any type of floats, possibly from a memory map.
        divisor: of the result.
    """

    def __init__(self, logits: np.ndarray, divisor: float):
        self.shape = logits.shape
        self._logits, self._divisor = logits, divisor
        self._held = self._computed(slice(None)) if logits.size <= HELD else None

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._computed(rows) if self._held is None else self._held[rows]

    def _computed(self, rows: slice) -> np.ndarray:
        return centred(self._logits[rows], self._divisor)


class MaskedRows:
    """The masked classes of some rows: ``rows[a:b]`` is a boolean array."""

    def __init__(self, logits: np.ndarray):
        self._logits = logits

    def __getitem__(self, rows: slice) -> np.ndarray:
        return np.isneginf(self._logits[rows])

    @classmethod
    def of(cls, logits: np.ndarray) -> MaskedRows | None:
        """None if none is masked."""
        found = any(find_masks(block) is not None for _, block in row_blocks(logits))
        return cls(logits) if found else None


def log_probs(logits: np.ndarray, temperature: float) -> np.ndarray:
    """The logarithm of softmax(logits / T), in float64; a masked class has its row's mean."""
    result = np.empty(logits.shape)
    for rows, block in row_blocks(logits):
        x = np.subtract(block, block.max(axis=1, keepdims=True), dtype=np.float64)
        x = log_softmax(x / temperature)
        masked = find_masks(block)
        if masked is not None:
            x = np.where(masked, _row_means(x, masked), x)
        result[rows] = x
    return result


def _row_means(x: np.ndarray, masked: np.ndarray | None) -> np.ndarray:
    return x.mean(axis=1, keepdims=True, where=True if masked is None else ~masked)
