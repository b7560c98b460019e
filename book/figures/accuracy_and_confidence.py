"""The first picture of the first chapter: `python -m book.figures.accuracy_and_confidence TARGET`.

The predictions of the ResNet-34 on the test images, in ten groups by confidence: the accuracy of
each group and its mean confidence.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from scipy.special import softmax

from calib_utils.metrics import reliability_bins, top_label
from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.records import load_record
from tools.sources.plot_settings import DRAWING

FEW = 10


def main(target: Path) -> None:
    record = load_record("resnet34-cifar100", "test")
    confidences, correct = top_label(softmax(record.logits, axis=1), record.labels)
    bins = reliability_bins(confidences, correct, n_bins=10)
    shown = bins.counts >= FEW
    gaps = (bins.confidence - bins.accuracy)[shown]
    means = correct.mean().round(2), confidences.astype(float).mean().round(2)
    # What the chapter says about the picture.
    all_but_the_lowest = shown.tolist() == [False] + 9 * [True]
    if not (means == (0.52, 0.59) and all_but_the_lowest and 0 < min(gaps) < max(gaps) < 0.15):
        raise SystemExit(f"what-calibration-means.md is no longer true: {means=}, {gaps=}")

    plt.rcParams |= DRAWING
    fig, ax = plt.subplots(figsize=(4.8, 3.3), layout="constrained")
    low, high = (100 * bins.edges[k:][: len(shown)][shown] for k in (0, 1))
    rows, accuracy, confidence = range(len(gaps)), bins.accuracy[shown], bins.confidence[shown]
    ax.hlines(rows, 100 * accuracy, 100 * confidence, color=GREY)
    ax.plot(100 * accuracy, rows, "o", color=BLUE, label="Accuracy")
    ax.plot(100 * confidence, rows, "D", color=ORANGE, label="Mean confidence")
    names = [f"{a:.0f} to {b:.0f} %" for a, b in zip(low, high, strict=True)]
    ax.set_yticks(rows, names)
    ax.set(xlabel="Per cent", ylabel="Confidence", xlim=(0, 100))
    ax.legend(loc="upper left")
    target.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
