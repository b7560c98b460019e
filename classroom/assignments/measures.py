"""What the assignments measure, in any way that a sheet may ask for; part of each reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # whose parts are imported where they are first used

Array = np.ndarray
Variant = dict[str, Any]  # the values of a sheet, and its way of each choice
EDGES = (0.1, 0.25, 0.5, 0.75, 0.9)  # as the text of the ways "edges" has them
LOWEST, HIGHEST = np.log(0.05), np.log(20)  # between which a temperature is looked for


def places(values: Array, bins: str, n_bins: int) -> Array:
    """The bin of each value, counted from 0."""
    if bins == "width":
        return np.searchsorted(np.arange(1, n_bins) / n_bins, values, side="left")
    if bins == "edges":
        return np.searchsorted(EDGES, values, side="right")
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks * n_bins // len(values)


def binned_error(
    values: Array,
    outcomes: Array,
    weights: Array,
    *,
    bins: str,
    norm: str,
    n_bins: int,
) -> float:
    """The calibration error of probabilities of an event.

    Args:
        values: the probabilities, shape (n,).
        outcomes: whether it happened, shape (n,).
        weights: of the rows, shape (n,); their sum is above 0.
        bins: "width", "mass" or "edges".
        norm: "mean", "squares", "cubes" or "largest".
        n_bins: how many, but for "edges".
    """
    place = places(values, bins, n_bins)
    sizes = np.bincount(place, weights)
    used = sizes > 0
    gaps = np.bincount(place, weights * (values - outcomes))[used] / sizes[used]
    if norm == "largest":
        return float(np.abs(gaps).max())
    if norm in ("squares", "cubes"):
        power = 2 if norm == "squares" else 3
        return float(np.average(np.abs(gaps) ** power, weights=sizes[used]) ** (1 / power))
    return float(np.average(np.abs(gaps), weights=sizes[used]))


# The ways of the choice "error": bins and norm.
ERRORS = {
    "ece": ("width", "mean"),
    "mass": ("mass", "mean"),
    "largest": ("width", "largest"),
    "squares": ("width", "squares"),
}


def top_label_error(probs: Array, labels: Array, way: str, n_bins: int) -> float:
    """The calibration error of the confidences of the predicted classes."""
    bins, norm = ERRORS[way]
    correct = probs.argmax(axis=1) == labels
    ones = np.ones(len(labels))
    return binned_error(probs.max(axis=1), correct, ones, bins=bins, norm=norm, n_bins=n_bins)


def bins_matter(logits: Array, labels: Array, n_bins: int) -> bool:
    """Whether a calibration error without bins is clearly smaller."""
    probs = scipy.special.softmax(logits, axis=1)
    binned, whole = (top_label_error(probs, labels, "mass", n) for n in (n_bins, 1))
    return binned - whole > 0.01


def mean_loss(logits: Array, labels: Array, way: str) -> float:
    """A mean loss of logits, shape (n, K), of any size.

    "nll", "brier", "binary", "yesno" (the Brier score of the confidence), or "spherical": 1 minus
    the score of Gneiting and Raftery (2007), section 3.
    """
    logsumexp = scipy.special.logsumexp
    logs, rows = scipy.special.log_softmax(logits, axis=1), np.arange(len(labels))
    if way == "spherical":
        return float(1 - np.exp(logs[rows, labels] - logsumexp(2 * logs, axis=1) / 2).mean())
    if way == "brier":
        return float(((np.exp(logs) - np.eye(logits.shape[1])[labels]) ** 2).sum(axis=1).mean())
    if way == "yesno":
        correct = logits.argmax(axis=1) == labels
        return float(((np.exp(logs.max(axis=1)) - correct) ** 2).mean())
    if way == "binary":
        top, others = logits.argmax(axis=1), logs.copy()
        others[rows, top] = -np.inf
        return float(-np.where(top == labels, logs[rows, top], logsumexp(others, axis=1)).mean())
    return float(-logs[rows, labels].mean())


def temperature(logits: Array, labels: Array, way: str) -> float:
    """The temperature from 0.05 to 20 with the lowest loss; nan without rows."""
    if len(labels) == 0:
        return float("nan")

    def at(power: float) -> float:
        return mean_loss(logits * np.exp(-power), labels, way)

    tried = np.linspace(LOWEST, HIGHEST, 61)  # a score may have more than one valley
    best = int(np.argmin([at(power) for power in tried]))
    bounds = (tried[max(best - 1, 0)], tried[min(best + 1, 60)])
    found = scipy.optimize.minimize_scalar(
        at, bounds=bounds, method="bounded", options={"xatol": 1e-7}
    )
    return float(np.exp(found.x))
