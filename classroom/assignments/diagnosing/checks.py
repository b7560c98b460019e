"""Hidden checks of "Three unknown networks", and the networks, from the teacher's secret.

Each network is one of the course, made unknown: 20 of its 100 classes under new numbers, labels
drawn anew from its own probabilities, so that it is calibrated, then one fault in its logits. So
the true diagnosis is known, and the answers cannot be looked up in the records of the course.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from calib_utils.records import load_record
from classroom.assignments.diagnosing.reference import class_gaps, probabilities, summary
from classroom.assignments.measures import bins_matter
from classroom.checks import Check, Judge, close, equal, partly
from classroom.secret import drawn_labels, generator
from classroom.variants import Variant, reading

SOURCES = ("lenet5-cifar100", "resnet34-224-cifar100")
NETWORKS = ("A", "B", "C")
KINDS = ("overconfident", "underconfident", "calibrated", "class bias")
N_CLASSES, N_ANSWERS = 20, 2400
SINGLE = 1e-3  # in standard deviations: what gaps lose where probabilities have single precision


def values(secret: bytes) -> dict[str, Any]:
    """The values that differ from sheet to sheet."""
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
    """Logits, shape (2400, 20), and labels of one network."""
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
    return found, drawn_labels(rng, softmax(chosen, axis=1))


def scores_of(logits: np.ndarray, form: str) -> np.ndarray:
    """The scores of a sheet, in its form."""
    logs = log_softmax(logits, axis=1)
    others = [logsumexp(np.delete(logs, k, axis=1), axis=1) for k in range(logs.shape[1])]
    odds = logs - np.stack(others, axis=1)  # their logarithms, in favour
    with np.errstate(over="ignore"):  # then they are infinite
        return np.asarray(
            {
                "logits": lambda: logits,
                "bits": lambda: -logs / np.log(2),
                "nats": lambda: -logs,
                "odds": lambda: np.exp(-odds),
                "favour": lambda: np.exp(odds),
                "decibels": lambda: 10 / np.log(10) * odds,
                "rarity": lambda: np.exp(-logs),
                "weights": lambda: 1000 * np.exp(logs),
                "amplitudes": lambda: 30 * np.exp(logs / 2),
                "doublings": lambda: logits / np.log(2),
                "distances": lambda: logits.max(axis=1, keepdims=True) - logits,
            }[form]()
        )


def data(secret: bytes, variant: Variant) -> dict[str, dict[str, np.ndarray]]:
    """The files that lie beside the notebook, each with its arrays."""
    arrays = {}
    for name in NETWORKS:
        logits, labels = network(secret, name)
        scores = scores_of(logits, variant["form"])
        arrays[f"{name}_scores"] = scores.astype(np.float32)
        arrays[f"{name}_labels"] = labels
    return {"networks": arrays}


def examples(variant: Variant) -> dict[str, Any]:
    """What the examples of the notebook give, and scores for them."""
    form = variant["form"]
    found: dict[str, Any] = {}
    for name, stated in {
        "summary": [[0.51, 0.49], [0.93, 0.07], [0.23, 0.77]],
        "gaps": [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]],
    }.items():
        scores = scores_of(np.log(stated), form).round(6)
        labels = np.arange(len(stated)) % 2 * (name == "gaps")
        how = summary if name == "summary" else class_gaps
        expected = how(scores, labels, variant=variant)
        found |= {f"given_{name}": scores, f"expected_{name}": expected}
    return found


def drawn(rng: np.random.Generator, n_bins: int) -> tuple[np.ndarray, ...]:
    """Logits, labels, and the logits with a few rows that are very large.

    Too sure where the confidence is high, and not sure enough where it is low: so bins matter. Each
    number of bins divides that of the rows, so that `np.array_split` cuts the same ones.
    """
    while True:
        logits = rng.normal(0, 2, (360, 6))
        truth = rng.uniform(2.5, 3.5) * np.tanh(logits / 2)
        labels = drawn_labels(rng, softmax(truth, axis=1))
        # Fewer than a bin has, since all have the confidence 1.
        large = np.concatenate([1000 * logits[:10], logits[10:]])
        if all(bins_matter(z, labels, n_bins) for z in (logits, large)):
            return logits, labels, large


def checks(secret: bytes, variant: Variant) -> list[Check]:
    form = variant["form"]
    rng = generator(secret, "diagnosing", "inputs")
    logits, labels, large = drawn(rng, variant["n_bins"])
    scores, huge = scores_of(logits, form), scores_of(large, form)

    def under(key: str, judge: Judge) -> Judge:
        return lambda answer: isinstance(answer, dict) and judge(answer.get(key, "missing"))

    def number(key: str, z: np.ndarray, name: str = "") -> Check:
        def right(found: Variant) -> Judge:
            return under(key, close(summary(z, labels, variant=found)[key]))

        asked = ("form", "error") if key == "error" else ("form",)
        other = reading("diagnosing", variant, asked, right)
        return Check("q1", name or key, "summary", (z, labels), right(variant), read=other)

    def by_class(name: str, y: np.ndarray, weight: float) -> Check:
        def right(found: Variant) -> Judge:
            gaps = class_gaps(scores, y, variant=found)
            # "Probabilities" above 1 have no spread: a row of nan is the answer to no sheet.
            return close(gaps, SINGLE) if np.isfinite(gaps).any() else lambda _: False

        own = class_gaps(scores, y, variant=variant)
        return Check(
            "q2",
            name,
            "class_gaps",
            (scores, y),
            partly(close(own, SINGLE), close(-own, SINGLE)),
            weight,
            misread="The sign is the other way round: read again what is subtracted from what.",
            read=reading("diagnosing", variant, ("form", "gap"), right),
        )

    def turned(found: Variant) -> Judge:
        return close(probabilities(scores, variant=found))

    absent = np.minimum(labels, 4)  # class 5 is nobody's label
    return [
        Check(
            "q1",
            "probabilities",
            "probabilities",
            (scores,),
            turned(variant),
            read=reading("diagnosing", variant, ("form",), turned),
        ),
        *(number(key, scores) for key in ("accuracy", "confidence", "error")),
        number("error", huge, "large scores"),
        by_class("any labels", labels, 2.0),
        by_class("a class without labels", absent, 1.0),
        *(
            Check("q3", f"network {name}", "diagnosis", (), under(name, equal(kind)))
            for name, kind in diagnoses(secret).items()
        ),
    ]
