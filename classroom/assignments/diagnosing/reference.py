"""The answers to "Three unknown networks" for any sheet."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from classroom.assignments.measures import Array, Variant, top_label_error


def probabilities(scores: Array, *, variant: Variant) -> Array:
    form = variant["form"]
    if form in ("odds", "favour", "rarity"):
        with np.errstate(divide="ignore"):  # odds of 0, and infinite ones
            against = {"odds": scores, "favour": 1 / scores, "rarity": scores - 1}[form]
        return np.asarray(1 / (1 + against))
    if form == "decibels":
        return np.asarray(expit(scores * np.log(10) / 10))
    if form in ("bits", "nats"):
        return np.exp2(-scores) if form == "bits" else np.exp(-scores)
    if form in ("weights", "amplitudes"):
        weights = scores if form == "weights" else scores**2
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
    factor = {"logits": 1, "distances": -1, "doublings": np.log(2)}[form]
    return np.asarray(softmax(factor * scores, axis=1))


def summary(scores: Array, labels: Array, *, variant: Variant) -> dict[str, float]:
    probs = probabilities(scores, variant=variant)
    return {
        "accuracy": float((probs.argmax(axis=1) == labels).mean()),
        "confidence": float(probs.max(axis=1).mean()),
        "error": top_label_error(probs, labels, variant["error"], variant["n_bins"]),
    }


def class_gaps(scores: Array, labels: Array, *, variant: Variant) -> Array:
    p = probabilities(scores, variant=variant)
    expected, observed = p.sum(axis=0), np.bincount(labels, minlength=p.shape[1])
    if variant["gap"] == "pearson":
        return np.asarray((observed - expected) / np.sqrt(expected))
    if variant["gap"] == "roots":
        return np.asarray(2 * (np.sqrt(observed) - np.sqrt(expected)))
    found = (expected - observed) / np.sqrt((p * (1 - p)).sum(axis=0))
    return np.asarray(found if variant["gap"] == "excess" else -found)
