"""The answers to "Day and night" for any sheet."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from classroom.assignments.measures import Array, Variant, mean_loss, temperature


def loss(logits: Array, labels: Array, *, variant: Variant) -> float:
    return mean_loss(logits, labels, variant["loss"])


def fit_temperatures(
    logits: Array, labels: Array, groups: Array, n_groups: int, *, variant: Variant
) -> Array:
    parts = [(logits[groups == g], labels[groups == g]) for g in range(n_groups)]
    found = np.array([temperature(*part, variant["loss"]) for part in parts])
    return expressed(found, variant=variant)


def expressed(found: Array, *, variant: Variant) -> Array:
    """Temperatures as the sheet wants them."""
    return {
        "temperature": found,
        "slope": 1 / found,
        "log": np.log(found),
        "halvings": np.log2(found),
        "change": 1 / found - 1,
    }[variant["parameter"]]


def recalibrate(
    fit_logits: Array,
    fit_labels: Array,
    fit_groups: Array,
    new_logits: Array,
    new_groups: Array,
    *,
    variant: Variant,
) -> Array:
    fit, n_groups = (fit_logits, fit_labels, fit_groups), int(new_groups.max()) + 1
    found = fit_temperatures(*fit, n_groups, variant={**variant, "parameter": "temperature"})
    return asked_of(softmax(new_logits / found[new_groups][:, None], axis=1), variant=variant)


def asked_of(probs: Array, *, variant: Variant) -> Array:
    """What the sheet wants of the probabilities of all classes."""
    second, best = np.sort(probs, axis=1)[:, -2:].T
    two = np.stack([1 - best, best], axis=1)
    three = np.stack([best, second, np.maximum(1 - best - second, 0)], axis=1)
    ways = {"all": probs, "confidence": best, "risk": 1 - best, "two": two, "three": three}
    return ways[variant["wanted"]]


def constants(
    fit_logits: Array,
    fit_labels: Array,
    fit_groups: Array,
    new_groups: Array,
    *,
    variant: Variant,
) -> Array:
    """The confidence of each new image."""
    correct = fit_logits.argmax(axis=1) == fit_labels
    if variant["constant"] == "group":
        means = {g: correct[fit_groups == g].mean() for g in np.unique(fit_groups)}
        return np.array([means[g] for g in new_groups])
    laplace = (correct.sum() + 1) / (len(correct) + 2)
    return np.full(len(new_groups), laplace if variant["constant"] == "laplace" else correct.mean())


def constant_confidence(
    fit_logits: Array,
    fit_labels: Array,
    fit_groups: Array,
    new_logits: Array,
    new_groups: Array,
    *,
    variant: Variant,
) -> Array:
    shares = constants(fit_logits, fit_labels, fit_groups, new_groups, variant=variant)
    (n, n_classes), top = new_logits.shape, new_logits.argmax(axis=1)
    rest = np.ones((n, n_classes))
    if variant["rest"] == "labels":
        rest = rest * np.bincount(fit_labels, minlength=n_classes)
    if variant["rest"] == "predictions":
        rest = rest * np.bincount(fit_logits.argmax(axis=1), minlength=n_classes)
    if variant["rest"] == "second":
        others = np.where(np.arange(n_classes) == top[:, None], -np.inf, new_logits)
        rest = np.eye(n_classes)[others.argmax(axis=1)]
    rest[np.arange(n), top] = 0
    found = rest / rest.sum(axis=1, keepdims=True) * (1 - shares)[:, None]
    found[np.arange(n), top] = shares
    return found
