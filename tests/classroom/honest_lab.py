"""Honest trainings for the lab, each done in its own way; and repetitions that differ a little.

A student may standardise the images, use another batch, rate, precision or order of a product, and
predict the parts in two calls. The record and the grader's repetition then need not agree number by
number: `numerics` are drawn anew in each call, as if another library had computed it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from assignments.lab.reference import report, split

Array = np.ndarray
Variant = dict[str, Any]


@dataclass(frozen=True)
class Way:
    """How somebody trains.

    Attributes:
        standardised: the function subtracts the mean of each pixel and divides by its spread.
        single: the precision may be single, in some calls and not in others.
        transposed: products may be computed the other way round, in some calls.
        batch: images in a batch.
        rate: of the gradient descent.
        epochs: of the training.
        in_order: the record is of training images in ascending order.
        twice: the two parts are predicted by two calls.
        rounded: decimals of the stored logits.
    """

    standardised: bool
    single: bool
    transposed: bool
    batch: int
    rate: float
    epochs: int
    in_order: bool
    twice: bool
    rounded: int

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Way:
        standardised = bool(rng.random() < 0.5)
        batch = int(rng.choice([20, 25, 32, 45, 50]))
        return cls(
            standardised,
            bool(rng.random() < 0.5),
            bool(rng.random() < 0.5),
            batch,
            batch / 45 * float(rng.choice([0.1, 0.2, 0.4] if standardised else [0.2, 0.3])),
            int(rng.choice([30, 40])),
            bool(rng.random() < 0.3),
            bool(rng.random() < 0.5),
            int(rng.choice([3, 6, 15])),
        )


def shares_of(annotations: Array, way: str) -> Array:
    """The share of each class, row by row."""
    if way in ("label", "pair"):
        people = annotations.reshape(len(annotations), -1)
        return np.eye(int(people.max()) + 1)[people].mean(axis=1)
    if way == "sure":
        n_classes = int(annotations[:, 0].max()) + 1
        found = np.repeat((100 - annotations[:, 1:]) / (n_classes - 1), n_classes, axis=1)
        found[np.arange(len(found)), annotations[:, 0]] = annotations[:, 1]
        return found / 100
    counts = annotations if way == "votes" else annotations == 0
    return counts / counts.sum(axis=1, keepdims=True)


def output_of(logits: Array, way: str) -> Array:
    return {
        "logits": lambda: logits,
        "normalised": lambda: log_softmax(logits, axis=1),
        "reference": lambda: logits - logits[:, :1],
        "top": lambda: logits - logits.max(axis=1, keepdims=True),
    }[way]()


def answers(
    way: Way, variant: Variant, stored: dict[str, Array], numerics: int, method: Any = None
) -> dict[str, Any]:
    """The functions of a student who trains in this way.

    Args:
        way: Of the training.
        variant: Of the sheet.
        stored: What lies beside the notebook, and the annotations.
        numerics: A seed for what no student decides.
        method: To predict by instead of this training.
    """
    drawn = np.random.default_rng(numerics)

    def train_and_predict(images: Any, annotations: Any, new_images: Any, seed: int) -> Array:
        dtype = np.float32 if way.single and drawn.random() < 0.5 else np.float64
        turned = way.transposed and drawn.random() < 0.5
        x, new = np.asarray(images, dtype), np.asarray(new_images, dtype)
        if way.standardised:
            mean, spread = x.mean(axis=0), x.std(axis=0) + dtype(1e-6)
            x, new = (x - mean) / spread, (new - mean) / spread
        shares = shares_of(np.asarray(annotations), variant["annotation"]).astype(dtype)
        dice = np.random.default_rng(seed)
        w1 = dice.normal(0, np.sqrt(2 / 64), (64, 64)).astype(dtype)
        w2 = dice.normal(0, np.sqrt(1 / 64), (64, shares.shape[1])).astype(dtype)
        b1, b2 = np.zeros(64, dtype), np.zeros(shares.shape[1], dtype)
        parts = max(1, round(len(x) / way.batch))
        for _ in range(way.epochs):
            for rows in np.array_split(dice.permutation(len(x)), parts):
                hidden = np.maximum(0, x[rows] @ w1 + b1)
                delta = (softmax(hidden @ w2 + b2, axis=1) - shares[rows]) / dtype(len(rows))
                back = (delta @ w2.T) * (hidden > 0)
                w2 -= dtype(way.rate) * ((delta.T @ hidden).T if turned else hidden.T @ delta)
                w1 -= dtype(way.rate) * ((back.T @ x[rows]).T if turned else x[rows].T @ back)
                b2 -= dtype(way.rate) * delta.sum(axis=0)
                b1 -= dtype(way.rate) * back.sum(axis=0)
        return output_of(np.maximum(0, new @ w1 + b1) @ w2 + b2, variant["output"])

    predict = method or train_and_predict

    def record() -> dict[str, Any]:
        images = stored["images"]
        mine = split(stored["labels"], stored["writers"], 7, variant=variant)
        rows = np.sort(mine[0]) if way.in_order else mine[0]
        seen, parts = (images[rows], stored["annotations"][rows]), [images[p] for p in mine[1:]]
        if way.twice:
            logits = [predict(*seen, part, 7) for part in parts]
        else:
            both = predict(*seen, np.concatenate(parts), 7)
            logits = np.split(both, [len(mine[1])])
        return {
            "seed": 7,
            "split": mine,
            "validation_logits": logits[0].round(way.rounded),
            "test_logits": logits[1].round(way.rounded),
        }

    return {
        "split": lambda *given: split(*given, variant=variant),
        "train_and_predict": predict,
        "record": record,
        "report": lambda *given: report(*given, variant=variant),
    }
