"""One image, and the probabilities that a network predicts for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from calib_utils._arrays import to_numpy
from calib_utils._checks import check_probs
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE

__all__ = ["ProbabilityBars", "probability_bars"]


class ProbabilityBars(NamedTuple):
    """What `probability_bars` drew.

    Attributes:
        image_ax: the axes of the image.
        axes: those of the bars, by title.
        predicted: the class with the highest bar, by title; the first of tied ones.

    Example:
        >>> drawn = probability_bars([[0, 1], [1, 0]], {"before": [0.2, 0.7, 0.1]}, 0)
        >>> drawn.predicted
        {'before': 1}
    """

    image_ax: Axes
    axes: dict[str, Axes]
    predicted: dict[str, int]


def probability_bars(
    image: Any,
    probs: Mapping[str, Any],
    label: int,
    *,
    names: Sequence[str] | None = None,
) -> ProbabilityBars:
    """An image next to the probabilities that a network gives to its classes.

    A bar is the probability of a class, and that of the true class is blue. If a different bar is
    the highest, the prediction is wrong, and this bar is orange and hatched. Both are labelled with
    their numbers.

    Args:
        image: pixels, (H, W), dark where they are high; or (H, W, 3), red, green and blue.
        probs: for each title, such as "before" and "after", probabilities, shape (K,).
        label: the true class, 0 to K - 1.
        names: of the K classes; their numbers by default.

    Returns:
        The axes and the predicted classes.

    Raises:
        ValueError: if there are no probabilities, or an argument is not valid.

    Example:
        >>> probs = {"before": [0.04, 0.95, 0.01], "after": [0.25, 0.65, 0.1]}
        >>> drawn = probability_bars([[0, 1], [1, 0]], probs, 0, names=["cat", "dog", "owl"])
        >>> [float(bar.get_height()) for bar in drawn.axes["after"].patches]
        [0.25, 0.65, 0.1]
    """
    check_titled(probs)
    rows = {title: check_probs([p])[0] for title, p in probs.items()}
    sizes = {title: len(p) for title, p in rows.items()}
    n_classes = min(sizes.values())
    if max(sizes.values()) > n_classes:
        raise ValueError(f"probs: expected as many classes for each title, found {sizes}")
    if not isinstance(label, (int, np.integer)) or not 0 <= label < n_classes:
        raise ValueError(f"label: expected 0 to {n_classes - 1}, found {label!r}")
    if names is not None and (not isinstance(names, Sequence) or len(names) != n_classes):
        raise ValueError(f"names: expected {n_classes} names, found {names!r}")
    pixels = to_numpy(image, "image")
    if not pixels.size or (pixels.ndim != 2 and (pixels.ndim, pixels.shape[-1]) != (3, 3)):
        raise ValueError(f"image: expected shape (H, W) or (H, W, 3), found {pixels.shape}")

    n = len(rows)
    _, (image_ax, *others) = plt.subplots(
        1,
        1 + n,
        figsize=(1 + 1.9 * n, 1.9),
        width_ratios=[1] + [1.6] * n,
        layout="constrained",
    )
    image_ax.imshow(pixels, cmap="gray_r")
    image_ax.set(xticks=[], yticks=[], xlabel=f"True: {(names or range(n_classes))[label]}")
    predicted = {title: int(p.argmax()) for title, p in rows.items()}
    left, right = -1.2, n_classes + 0.2
    room = 0.2 * (right - left)  # half the width of a number, which must not cross the frame
    for ax, (title, p) in zip(others, rows.items(), strict=True):
        bars = ax.bar(range(n_classes), p, color=GREY, edgecolor="white")
        bars[predicted[title]].set(facecolor=ORANGE, hatch="///")
        bars[label].set(facecolor=BLUE, hatch="")
        for k in {predicted[title], label}:
            text = f"{100 * p[k]:.1f} %"
            x = min(max(k, left + room), right - room)
            ax.text(x, p[k], text, ha="center", va="bottom", fontsize="small")
        ax.set(title=title, xlim=(left, right), ylim=(0, 1.25))
        ax.set(xticks=range(n_classes), yticks=[0, 0.5, 1])
        ax.set_xticklabels(names or range(n_classes))
        if ax is not others[0]:
            ax.tick_params(labelleft=False)
    others[0].set_ylabel("Probability")
    return ProbabilityBars(image_ax, dict(zip(rows, others, strict=True)), predicted)


def check_titled(probs: Any) -> None:
    """Raise a ValueError unless ``probs`` is a mapping with at least one title."""
    if not isinstance(probs, Mapping) or not probs:
        raise ValueError(
            "probs: expected at least one set of probabilities, by title, found "
            f"{'none' if isinstance(probs, Mapping) else type(probs).__name__}"
        )
