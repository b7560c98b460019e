"""The scores of each recalibration method on many networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_utils.records.installed import folder_of
from calib_utils.records.npz import load_rows


@dataclass(frozen=True, kw_only=True)
class Recalibrated:
    """The test predictions of one network, recalibrated by one method, and their scores.

    Attributes:
        network: such as "ResNet-20".
        family: such as "ResNet": networks that differ in their size only.
        size: within the family, the number of layers or the width, relative to the standard one;
            None where there is no such family.
        method: such as "temperature", or "none" for the original network.
        temperatures: of each fit; none for other methods.
        nll: negative log-likelihood, in nats; infinite if a true class got the probability 0.
        nll_error: standard error over images of the difference of the NLL from that of
            "temperature" on the same images; NaN if it is unknown.
        brier: Brier score over all classes, 0 to 2.
        baseline: the mean ECE of a calibrated network with the same confidences.
        warned: whether a fit warned that it stopped before it reached an optimum.
        bins: float64, shape (3, 15): for each bin the number of images, how many of them are
            predicted correctly, and their summed confidence.
        confidences: float16, shape (N,): the largest probability for each test image, kept for
            some methods, else None.
        correct: bool, shape (N,): whether its class is the image's; kept for the same methods.

    Example:
        >>> import numpy as np
        >>> bins = np.zeros((3, 15))
        >>> bins[:, 11] = 100, 70, 78
        >>> scores = {"nll": 1.1, "nll_error": 0.01, "brier": 0.4, "baseline": 0.03}
        >>> one = Recalibrated(
        ...     network="ResNet-20", family="ResNet", size=20, method="none", bins=bins, **scores
        ... )
        >>> one.accuracy, one.confidence, round(one.ece, 3)
        (0.7, 0.78, 0.08)
    """

    network: str
    family: str
    size: float | None
    method: str
    temperatures: tuple[float, ...] = ()
    nll: float
    nll_error: float
    brier: float
    baseline: float
    warned: bool = False
    bins: np.ndarray
    confidences: np.ndarray | None = None
    correct: np.ndarray | None = None

    @property
    def accuracy(self) -> float:
        """Share of the images whose class is predicted, 0 to 1."""
        return float(self.bins[1].sum() / self.bins[0].sum())

    @property
    def confidence(self) -> float:
        """The mean of the largest probabilities, 0 to 1."""
        return float(self.bins[2].sum() / self.bins[0].sum())

    @property
    def ece(self) -> float:
        """Expected calibration error with 15 bins, 0 to 1."""
        return float(np.abs(self.bins[2] - self.bins[1]).sum() / self.bins[0].sum())


def load_recalibrated(source: str, dataset: str) -> tuple[list[Recalibrated], dict[str, Any]]:
    """Read the results for the networks of one source on one data set, and how they were made.

    Args:
        source: "public", 19 networks that others trained at full size, or "course", our own.
        dataset: "cifar100", or "cifar10" for the public ones.

    Raises:
        ValueError: if there is none, or if its file is damaged.

    Example:
        >>> rows, made = load_recalibrated("public", "cifar100")
        >>> [row.network for row in rows if row.method == "none"][:2]
        ['ResNet-20', 'ResNet-32']
    """
    path = folder_of("recalibrated") / f"{source}.{dataset}.npz"
    if not path.exists():
        known = ", ".join(sorted(one.stem for one in path.parent.glob("*.npz"))) or "none"
        raise ValueError(
            f"source: there is nothing of {source!r} on {dataset!r}; there are: {known}"
        )
    what = f"source: the file of {source!r} on {dataset!r}"
    return load_rows(path, Recalibrated, ("confidences", "correct"), "rows", what)
