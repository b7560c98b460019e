"""What affine maps see of the logits, and where their fits begin."""

from __future__ import annotations

import numpy as np

from calib_utils._arrays import log_softmax, row_blocks
from calib_utils._masks import find_masks
from calib_utils.recalibration._optimum import optimal_temperature

__all__ = ["centred", "log_probs", "start_of"]


def start_of(
    logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
) -> tuple[float, list[str]]:
    """The temperature at which an affine fit begins, and what is wrong with it."""
    best = optimal_temperature(logits, labels, weights)
    if not best.problem:
        return float(best.temperature), []
    return float(best.scale), [f"temperature: {best.problem}; the fit starts at {best.scale:.3g}"]


def centred(logits: np.ndarray, divisor: float = 1.0) -> np.ndarray:
    """The logits less the mean of their row, in float64; 0 for a masked class."""
    masked = find_masks(logits)
    # Two steps, as the mean of large logits is rounded.
    first = logits[:, :1] if masked is None else logits.max(axis=1, keepdims=True)
    result = np.subtract(logits, first, dtype=np.float64)
    result -= _row_means(result, masked)
    if masked is not None:
        result[masked] = 0
    result /= divisor
    return result


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
