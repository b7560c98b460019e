"""What is shown where others link to the course: `python -m book.pictures.card TARGET`.

The title, and the reliability diagram of the ResNet-34, whose bars end below the diagonal.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from scipy.special import softmax

from calib_utils.metrics import reliability_bins, top_label
from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.records import load_record
from tools.finishing.social import SIZE

DPI = 100
WORDS = "A network says how sure it is.\nHow often is it right?"


def main(target: Path) -> None:
    record = load_record("resnet34-cifar100", "test")
    bins = reliability_bins(*top_label(softmax(record.logits, axis=1), record.labels), n_bins=10)
    full = bins.counts >= 100
    # What the text for those who cannot see the picture says.
    if not (bins.accuracy[full] < bins.confidence[full]).all():
        raise SystemExit("social.py: not all bars end below the diagonal any more: mend ALT")

    fig = plt.figure(figsize=(SIZE[0] / DPI, SIZE[1] / DPI), dpi=DPI, facecolor="white")
    fig.text(
        0.06, 0.66, "Calibration\nof neural\nnetworks", fontsize=50, weight="bold", va="center"
    )
    fig.text(0.06, 0.2, WORDS, fontsize=23, va="center", color="#333333")
    ax = fig.add_axes((0.56, 0.13, 0.39, 0.76))
    width = 1 / len(bins.counts)
    starts = bins.edges[:-1][full]
    accuracy, gaps = bins.accuracy[full], (bins.confidence - bins.accuracy)[full]
    ax.bar(starts, accuracy, width, align="edge", color=BLUE, edgecolor="white", linewidth=2)
    ax.bar(
        starts,
        gaps,
        width,
        accuracy,
        align="edge",
        color="none",
        edgecolor=ORANGE,
        hatch="///",
        linewidth=2,
    )
    ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=3)
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
    ax.set_xlabel("confidence", fontsize=22)
    ax.set_ylabel("accuracy", fontsize=22)
    ax.tick_params(labelsize=20, length=0)
    ax.spines[["top", "right"]].set_visible(False)
    target.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(target, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
