"""The names in tables and figures for the names that records use."""

from __future__ import annotations

from typing import Any

_DATASETS = {
    "cifar100": "CIFAR-100",
    "digits": "scikit-learn's digits",
    "shakespeare": "Shakespeare",
}
_FACTORS = {
    "batch_norm": "batch normalisation",
    "blocks": "blocks in a stage",
    "depth": "layers",
    "images": "training images",
    "rung": "network",
    "width": "channels",
}
# The numbers of a record that are compared between runs, by the names of its attributes.
METRICS = {
    "error": "test error",
    "ece": "ECE",
    "nll": "NLL",
    "ece_scaled": "ECE at T",
    "nll_scaled": "NLL at T",
}


def dataset_name(name: str) -> str:
    """Such as "CIFAR-100" for "cifar100"; an unknown data set keeps its name."""
    return _DATASETS.get(name, name)


def training_set_name(dataset: str, n: int) -> str:
    """Such as "8,000 training images of CIFAR-100"; a text comes in windows.

    Example:
        >>> training_set_name("shakespeare", 4_000)
        '4,000 training windows of Shakespeare'
    """
    kind = "windows" if dataset == "shakespeare" else "images"
    return f"{n:,} training {kind} of {dataset_name(dataset)}"


def factor_name(factor: str) -> str:
    """Such as "layers" for "depth", and "batch size" for "batch_size"."""
    return _FACTORS.get(factor, factor.replace("_", " "))


def metric_name(metric: str) -> str:
    """Such as "test error" for "error"; also for the part of the ECE that is left of a gap.

    Example:
        >>> metric_name("ece_beyond_gap")
        'ECE beyond the gap'
    """
    return "ECE beyond the gap" if metric == "ece_beyond_gap" else METRICS[metric]


def level_name(value: Any) -> str:
    """A value of a factor: "with" or "without" for a Boolean, a short number, or words.

    Example:
        >>> [level_name(value) for value in (True, 8, 5e-4, "early-stopping")]
        ['with', '8', '0.0005', 'early stopping']
    """
    if isinstance(value, bool):
        return "with" if value else "without"
    return f"{value:g}" if isinstance(value, int | float) else str(value).replace("-", " ")
