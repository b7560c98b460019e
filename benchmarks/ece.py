"""The expected calibration error beside what a user would take instead, in one run.

It needs one package more than the course: ``pip install torchmetrics==1.9.0``. Then

    python -m benchmarks.ece

writes what it finds to ``benchmarks/results/ece.json``. All runs on one thread; times are medians
of CPU time, in rounds in which each contender has its turn.
"""

from __future__ import annotations

import ctypes
import gc
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.calibration import calibration_curve
from torchmetrics.classification import MulticlassCalibrationError
from torchmetrics.functional.classification import multiclass_calibration_error

from benchmarks.measured import on_one_thread, store, timed
from calib_utils.metrics import CalibrationError, expected_calibration_error

CLASSES, BINS, MOST, BATCH, PASSES = 100, 15, 1_000_000, 1024, 10
ONE_PASS = "one pass over the array (sum)"


def predictions(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Calibrated float32 probabilities: labels are drawn from them, so the true ECE is near 0."""
    generator = torch.Generator().manual_seed(0)
    probs = torch.empty(n, CLASSES).normal_(std=3, generator=generator)
    torch.softmax(probs, 1, out=probs)
    return probs, torch.multinomial(probs, 1, generator=generator)[:, 0]


def in_float64(confidences: np.ndarray, correct: np.ndarray) -> float:
    """The ECE as the paper writes it, each bin summed exactly."""
    edges = (np.arange(BINS + 1) / BINS).astype(np.float32)
    gaps = []
    for low, high in pairwise(edges):
        inside = (low < confidences) & (confidences <= high)
        gaps.append(abs(math.fsum(confidences[inside].tolist()) - int(correct[inside].sum())))
    return math.fsum(gaps) / len(confidences)


def with_scikit_learn(probs: np.ndarray, labels: np.ndarray) -> float:
    """The usual recipe around `calibration_curve`, which has no ECE of its own."""
    confidences, correct = probs.max(axis=1), probs.argmax(axis=1) == labels
    accuracy, confidence = calibration_curve(correct, confidences, n_bins=BINS)
    counts = np.histogram(confidences, bins=BINS, range=(0, 1))[0]
    return float(np.abs(accuracy - confidence) @ counts[counts > 0] / len(labels))


def contenders(probs: torch.Tensor, labels: torch.Tensor) -> dict[str, Callable[[], float]]:
    """Each way to the ECE of these predictions; first one pass over them, to compare with."""
    p, y = probs.numpy(), labels.numpy()
    return {
        ONE_PASS: lambda: float(probs.sum()),
        "calib_utils, torch tensors": lambda: expected_calibration_error(probs, labels, BINS),
        "calib_utils, NumPy arrays": lambda: expected_calibration_error(p, y, BINS),
        "torchmetrics": lambda: float(multiclass_calibration_error(probs, labels, CLASSES, BINS)),
        "NumPy and scikit-learn's curve": lambda: with_scikit_learn(p, y),
    }


def streamed(metric: Any, probs: torch.Tensor, labels: torch.Tensor) -> float:
    """Feed all rows to ``metric`` in batches, several times over."""
    for _ in range(PASSES):
        for rows, of_rows in zip(probs.split(BATCH), labels.split(BATCH), strict=True):
            metric.update(rows, of_rows)
    return float(metric.compute())


def extra_memory(run: Callable[[], float]) -> float | None:
    """MB that ``run`` takes at its peak, beyond what is held before; None where unknown."""

    def status(key: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(key))

    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # else freed memory is used again, unseen
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        before = status("VmRSS:")
        run()
        return (status("VmHWM:") - before) * 1024 / 1e6
    except OSError:
        return None


def measure(
    contenders: dict[str, Callable[[], float]], truth: float, rounds: int
) -> list[dict[str, Any]]:
    """Time, memory and error of each contender; the first is what times are compared with."""
    rows = timed(contenders, rounds)
    for row in rows:
        (value,) = row.pop("result")
        row["extra_mb"] = extra_memory(contenders[row["name"]])
        row["error"] = None if row["name"] == ONE_PASS else abs(value - truth)
    return rows


def main() -> None:
    about = {"bins": BINS, "classes": CLASSES}
    about |= on_one_thread("torch", "torchmetrics", "scikit-learn")
    torch.set_num_threads(1)
    all_probs, all_labels = predictions(MOST)
    confidences = all_probs.amax(1).numpy()
    correct = (all_probs.argmax(1) == all_labels).numpy()
    tables = {}
    for n, rounds in ((MOST // 100, 51), (MOST // 10, 21), (MOST, 11)):
        truth = in_float64(confidences[:n], correct[:n])
        rows = measure(contenders(all_probs[:n], all_labels[:n]), truth, rounds)
        tables[f"{n} x {CLASSES}"] = rows
    streams = {
        "calib_utils": lambda: streamed(CalibrationError(BINS), all_probs, all_labels),
        "torchmetrics": lambda: streamed(
            MulticlassCalibrationError(CLASSES, BINS), all_probs, all_labels
        ),
    }
    title = f"{PASSES * MOST} x {CLASSES} in batches of {BATCH}"
    tables[title] = measure(streams, truth, rounds=1)
    store("ece", {"facts": about, "tables": tables})


if __name__ == "__main__":
    main()
