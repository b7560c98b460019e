"""The images of the lab, and what people said of them, from the teacher's secret."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.datasets import load_digits

from classroom.assignments.measures import Array
from classroom.secret import generator

N_DIGITS = 10
N_WRITERS = 60

Images = tuple[Array, Array, Array]  # images, labels, whether they are negatives


def half_negative(rng: np.random.Generator, images: Array, labels: Array) -> tuple[Array, Array]:
    """The images, half of each class as negatives; and which."""
    negative = np.zeros(len(labels), dtype=bool)
    for k in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == k))
        negative[rows[: len(rows) // 2]] = True
    return np.where(negative[:, None], 1 - images, images), negative


@cache
def digits(secret: bytes) -> dict[str, Array]:
    """scikit-learn's digits, (1797, 64) from 0 to 1, in a different order, half as negatives.

    So the mean image of each class is grey, and a rule that compares means fails.
    """
    rng = generator(secret, "lab", "digits")
    images, labels = load_digits(return_X_y=True)
    order = rng.permutation(len(labels))
    images, negative = half_negative(rng, images[order] / 16, labels[order])
    noisy = images + rng.normal(0, rng.uniform(0.14, 0.2), images.shape)
    return {
        "images": noisy.round(2),
        "labels": labels[order],
        "negative": negative,
        "writers": rng.integers(0, N_WRITERS, len(labels)),
    }


def annotated(secret: bytes, labels: Array, way: str) -> Array:
    """What people said of images with these labels.

    The label, five votes, a pair of labels, a label and how sure somebody is, or the classes that
    somebody rules out. One person in twenty is mistaken.
    """
    if way == "label":
        return labels
    rng, n_classes = generator(secret, "lab", "annotations"), int(labels.max()) + 1
    people = np.tile(labels[:, None], 5 if way == "votes" else 2)
    people = np.where(
        rng.random(people.shape) < 0.95, people, rng.integers(n_classes, size=people.shape)
    )
    if way == "pair":
        return people
    if way == "sure":
        sure = rng.choice([70, 80, 90, 100], len(labels))
        return np.stack([people[:, 0], sure], axis=1)
    if way == "excluded":  # all but what one person says, and one time in three a second class
        possible = np.eye(n_classes, dtype=np.int64)[people[:, 0]]
        doubts = np.flatnonzero(rng.random(len(labels)) < 1 / 3)
        possible[doubts, rng.integers(n_classes, size=len(doubts))] = 1
        return 1 - possible
    return np.eye(n_classes, dtype=np.int64)[people].sum(axis=1)


def renumbered(told: Array, order: Array, way: str) -> Array:
    """The same annotations with the classes renumbered: class k is now ``order[k]``."""
    if way in ("votes", "excluded"):
        return told[:, np.argsort(order)]
    return np.stack([order[told[:, 0]], told[:, 1]], axis=1) if way == "sure" else order[told]


def blobs(rng: np.random.Generator, n_classes: int) -> tuple[Images, Images]:
    """Noisy copies of a few patterns, half of them as negatives: to train on, and new ones."""
    centres = rng.random((n_classes, 64))
    parts = []
    for n in (600, 300):
        labels = rng.permutation(np.arange(n) % n_classes)
        images, negative = half_negative(rng, centres[labels], labels)
        parts.append((images + rng.normal(0, 0.4, images.shape), labels, negative))
    return parts[0], parts[1]


def part_of(stored: dict[str, Array], rows: Array) -> Images:
    return stored["images"][rows], stored["labels"][rows], stored["negative"][rows]
