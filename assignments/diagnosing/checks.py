"""Hidden checks of "Three unknown networks", and the networks, from the teacher's secret.

Each network is one of the course, made unknown: 20 of its 100 classes under new numbers, labels
drawn anew from its own probabilities, so that it is calibrated, then one fault in its logits. So
the true diagnosis is known, and the answers cannot be looked up in the records of the course.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import softmax

from calib_utils.metrics import accuracy, expected_calibration_error
from calib_utils.records import load_record
from classroom.checks import Check, close, equal, partly
from classroom.secret import drawn_labels, generator

SOURCES = ("lenet5-cifar100", "resnet34-cifar100")
NETWORKS = ("A", "B", "C")
KINDS = ("overconfident", "underconfident", "calibrated", "class bias")
N_CLASSES, N_ANSWERS = 20, 2400


def variant(secret: bytes) -> dict[str, Any]:
    """The values that differ from class to class."""
    return {"n_bins": int(generator(secret, "diagnosing", "variant").choice([10, 12, 18, 20]))}


@cache
def diagnoses(secret: bytes) -> dict[str, str]:
    """What each network has."""
    drawn = generator(secret, "diagnosing", "kinds").permutation(KINDS)
    return dict(zip(NETWORKS, map(str, drawn), strict=False))


def distorted(rng: np.random.Generator, logits: np.ndarray, kind: str) -> np.ndarray:
    """Logits with one fault."""
    if kind == "overconfident":
        return logits * rng.uniform(1.5, 1.9)
    if kind == "underconfident":
        return logits * rng.uniform(0.5, 0.65)
    if kind == "class bias":
        pushed = rng.choice(N_CLASSES, 3, replace=False)
        push = rng.uniform(0.8, 1.0) * logits.std()
        return logits + push * np.isin(np.arange(N_CLASSES), pushed)
    return logits


def network(secret: bytes, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Logits, float32, shape (2400, 20), and labels of one network."""
    rng = generator(secret, "diagnosing", "network", name)
    source = str(rng.choice(SOURCES))
    records = [load_record(source, split) for split in ("validation", "test")]
    logits = np.concatenate([record.logits for record in records]).astype(np.float64)
    labels = np.concatenate([record.labels for record in records])
    classes = rng.permutation(logits.shape[1])[:N_CLASSES]
    rows = rng.permutation(np.flatnonzero(np.isin(labels, classes)))[:N_ANSWERS]
    chosen = logits[rows][:, classes]
    chosen -= chosen.mean(axis=1, keepdims=True)
    found = distorted(rng, chosen, diagnoses(secret)[name])
    return found.round(2).astype(np.float32), drawn_labels(rng, softmax(chosen, axis=1))


def data(secret: bytes) -> dict[str, dict[str, np.ndarray]]:
    """The files that lie beside the notebook, each with its arrays."""
    arrays = {}
    for name in NETWORKS:
        arrays[f"{name}_logits"], arrays[f"{name}_labels"] = network(secret, name)
    return {"networks.npz": arrays}


def checks(secret: bytes) -> list[Check]:
    n_bins = variant(secret)["n_bins"]
    rng = generator(secret, "diagnosing", "inputs")
    logits = rng.normal(0, 2, (300, 6))
    labels = drawn_labels(rng, softmax(logits / rng.uniform(1.2, 2), axis=1))
    stated = softmax(logits, axis=1)
    huge = logits * 1000
    summaries = {
        "accuracy": accuracy(stated, labels),
        "confidence": stated.max(axis=1).mean(),
        "ece": expected_calibration_error(stated, labels, n_bins=n_bins),
    }

    def under(key: str, expected: float) -> Any:
        judge = close(expected)
        return lambda answer: isinstance(answer, dict) and judge(answer.get(key, "missing"))

    def gaps(z: np.ndarray, y: np.ndarray) -> np.ndarray:
        p = softmax(z, axis=1)
        excess = (p - np.eye(p.shape[1])[y]).sum(axis=0)
        return np.asarray(excess / np.sqrt((p * (1 - p)).sum(axis=0)))

    def by_class(name: str, y: np.ndarray, weight: float) -> Check:
        judge = partly(close(gaps(logits, y)), close(-gaps(logits, y)))
        misread = "The sign is the other way round: expected minus observed."
        return Check("q2", name, "class_gaps", (logits, y), judge, weight, misread=misread)

    def told(name: str, kind: str) -> Any:
        return lambda answer: isinstance(answer, dict) and equal(kind)(answer.get(name))

    absent = np.minimum(labels, 4)  # class 5 is nobody's label
    return [
        *(
            Check("q1", key, "summary", (logits, labels), under(key, expected))
            for key, expected in summaries.items()
        ),
        Check(
            "q1",
            "large logits",
            "summary",
            (huge, labels),
            under("ece", expected_calibration_error(softmax(huge, axis=1), labels, n_bins=n_bins)),
            hint="Subtract the largest logit of each row before you take the exponential.",
        ),
        by_class("any labels", labels, 2.0),
        by_class("a class without labels", absent, 1.0),
        *(
            Check("q3", f"network {name}", "diagnosis", (), told(name, kind))
            for name, kind in diagnoses(secret).items()
        ),
    ]
