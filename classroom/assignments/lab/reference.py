"""The answers to "Your own network, and its report" for any sheet."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax, softmax

from classroom.assignments.measures import Array, Variant, mean_loss, temperature, top_label_error

Numbers = dict[str, float]


def cut(n: int, *, variant: Variant) -> Array:
    """The sizes of the three parts of n."""
    first = n * variant["first"] // 100
    return np.array([first, (n - first) // 2, n - first - (n - first) // 2])


def kinds_and_units(labels: Array, writers: Array, *, variant: Variant) -> tuple[Array, Array]:
    """What is split by itself, and what stays together."""
    everything, rows = np.zeros(len(labels), dtype=np.int64), np.arange(len(labels))
    return {
        "random": (everything, rows),
        "class": (labels, rows),
        "writer": (everything, writers),
        "within": (writers, rows),
    }[variant["split"]]


def split(labels: Array, writers: Array, seed: int, *, variant: Variant) -> list[Array]:
    dice = np.random.default_rng(seed)
    kinds, units = kinds_and_units(labels, writers, variant=variant)
    parts: list[list[int]] = [[], [], []]
    for k in np.unique(kinds):
        mixed = dice.permutation(np.unique(units[kinds == k]))
        ends = np.cumsum(cut(len(mixed), variant=variant))[:2]
        for part, chosen in zip(parts, np.split(mixed, ends), strict=True):
            part += np.flatnonzero(np.isin(units, chosen)).tolist()
    return [np.array(part, dtype=np.int64) for part in parts]


def shares_of(annotations: Array, way: str) -> Array:
    """The share of each class in each annotation."""
    if way == "sure":
        classes, sure = annotations[:, 0], annotations[:, 1:] / 100
        chosen = np.eye(int(classes.max()) + 1)[classes]
        return np.asarray(np.where(chosen == 1, sure, (1 - sure) / (chosen.shape[1] - 1)))
    if way == "excluded":
        counts = 1 - annotations
    elif way == "votes":
        counts = annotations
    else:
        counts = np.eye(int(annotations.max()) + 1)[annotations.reshape(len(annotations), -1)].sum(
            1
        )
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def train_and_predict(
    images: Array,
    annotations: Array,
    new_images: Array,
    seed: int,
    *,
    variant: Variant,
) -> Array:
    dice = np.random.default_rng(seed)
    shares = shares_of(annotations, variant["annotation"])
    w1 = dice.normal(0, np.sqrt(2 / 64), (64, 64))
    w2 = dice.normal(0, np.sqrt(1 / 64), (64, shares.shape[1]))
    b1, b2 = np.zeros(64), np.zeros(shares.shape[1])
    for _ in range(40):
        for rows in np.array_split(dice.permutation(len(images)), 20):
            hidden = np.maximum(0, images[rows] @ w1 + b1)
            delta = (softmax(hidden @ w2 + b2, axis=1) - shares[rows]) / len(rows)
            back = (delta @ w2.T) * (hidden > 0)
            w2 -= 0.2 * hidden.T @ delta
            b2 -= 0.2 * delta.sum(axis=0)
            w1 -= 0.2 * images[rows].T @ back
            b1 -= 0.2 * back.sum(axis=0)
    logits = np.maximum(0, new_images @ w1 + b1) @ w2 + b2
    if variant["output"] == "reference":
        return logits - logits[:, :1]
    if variant["output"] == "top":
        return logits - logits.max(axis=1, keepdims=True)
    return log_softmax(logits, axis=1) if variant["output"] == "normalised" else logits


def report(
    validation_logits: Array,
    validation_labels: Array,
    test_logits: Array,
    test_labels: Array,
    *,
    variant: Variant,
) -> Numbers:
    found = temperature(validation_logits, validation_labels, variant["loss"])
    return reported(test_logits, test_labels, found, variant=variant)


def reported(logits: Array, labels: Array, divisor: float, *, variant: Variant) -> Numbers:
    """The numbers of a report on the test part, before and after a temperature."""
    found = {"temperature": divisor, "accuracy": float((logits.argmax(axis=1) == labels).mean())}
    for when, scaled in (("before", logits), ("after", logits / divisor)):
        probs = softmax(scaled, axis=1)
        found[f"loss_{when}"] = mean_loss(scaled, labels, variant["loss"])
        found[f"error_{when}"] = top_label_error(probs, labels, variant["error"], variant["n_bins"])
    return found
