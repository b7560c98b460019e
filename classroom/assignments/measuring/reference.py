"""The answers to "Measure by group" for any sheet."""

from __future__ import annotations

from typing import Any

import numpy as np

from classroom.assignments.measures import Array, Variant, binned_error


def signed_gap(confidences: Array, correct: Array, weights: Array, *, variant: Variant) -> float:
    if weights.sum() == 0:
        return float("nan")
    confidence = np.average(confidences, weights=weights)
    accuracy = np.average(correct, weights=weights)
    if variant["gap"] == "ratio":
        return float(accuracy / confidence)
    if variant["gap"] == "relative":
        return float(accuracy / confidence - 1)
    if variant["gap"] == "excess":
        return float(confidence - accuracy)
    if variant["gap"] == "shortfall":
        return float(accuracy - confidence)
    deviation = np.sqrt((weights**2 * confidences * (1 - confidences)).sum()) / weights.sum()
    return float((accuracy - confidence) / deviation)


def entry(own: float, others: float, everyone: float, *, variant: Variant) -> float:
    """The entry of a camera, of its own gap, that of all other cameras and that of all."""
    ways = {"alone": own, "without": others, "against": own - others, "beyond": own - everyone}
    return ways[variant["camera"]]


def signed_gaps(
    confidences: Array,
    correct: Array,
    weights: Array,
    groups: Array,
    n_groups: int,
    *,
    variant: Variant,
) -> Array:
    columns, entries = (confidences, correct, weights), []
    everyone = signed_gap(*columns, variant=variant)
    for g in range(n_groups):
        own, others = (
            signed_gap(*(column[rows] for column in columns), variant=variant)
            for rows in (groups == g, groups != g)
        )
        entries.append(entry(own, others, everyone, variant=variant))
    return np.array(entries)


def classwise_error(probs: Array, labels: Array, weights: Array, *, variant: Variant) -> float:
    how = {key: variant[key] for key in ("bins", "norm", "n_bins")}
    errors = [binned_error(p, labels == k, weights, **how) for k, p in enumerate(probs.T)]
    if variant["classes"] == "largest":
        return max(errors)
    if variant["classes"] == "two":
        return float(np.mean(sorted(errors)[-2:]))
    shares = [weights[labels == k].sum() for k in range(len(errors))]
    return float(np.average(errors, weights=shares if variant["classes"] == "labels" else None))


def compared(errors: list[float], cameras: list[int], *, variant: Variant) -> Any:
    """The answer, of the errors of the cameras that take part, in ascending order."""
    down = [cameras[place] for place in np.argsort([-e for e in errors], kind="stable")]
    if variant["answer"] == "ranking":
        return down
    if not cameras:
        return None
    if variant["answer"] == "spread":
        return max(errors) - min(errors)
    smallest = cameras[int(np.argmin(errors))]
    return down[0] if variant["answer"] == "worst" else [smallest, down[0]]


def taking_part(groups: Array, *, variant: Variant) -> list[int]:
    """The cameras with enough rows, in ascending order."""
    found, sizes = np.unique(groups, return_counts=True)
    return [int(g) for g in found[sizes >= variant["min_size"]]]


def compare_groups(
    probs: Array,
    labels: Array,
    weights: Array,
    groups: Array,
    *,
    variant: Variant,
) -> Any:
    cameras = taking_part(groups, variant=variant)
    columns = (probs, labels, weights)
    errors = [
        classwise_error(*(column[groups == g] for column in columns), variant=variant)
        for g in cameras
    ]
    return compared(errors, cameras, variant=variant)
