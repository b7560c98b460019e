"""The picture for links to the course on other sites: `python -m book.pictures.card TARGET`.

The title, and the reliability diagram of the ResNet-34, whose bars end below the diagonal.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from scipy.special import softmax

from calib_utils.metrics import reliability_bins, top_label
from calib_utils.plots.diagrams import draw_bins
from calib_utils.records import load_record

# The size is that of _config.yml. The figure is small and enlarged, so that its lines are as thick
# as text of this size requires.
SIZE, DPI = (1200, 630), 250
WORDS = "A network is 90 % confident.\nHow often is it correct?"


def main(target: Path) -> None:
    record = load_record("resnet34-cifar100", "test")
    bins = reliability_bins(*top_label(softmax(record.logits, axis=1), record.labels), n_bins=10)
    full = bins.counts >= 100
    # The statement of the alt text.
    if not (bins.accuracy[full] < bins.confidence[full]).all():
        raise SystemExit(
            "_config.yml: not all bars end below the diagonal any more: correct ogp_image_alt"
        )

    fig = plt.figure(figsize=(SIZE[0] / DPI, SIZE[1] / DPI), dpi=DPI, facecolor="white")
    fig.text(0.06, 0.66, "Calibration\nof neural\nnetworks", size=20, weight="bold", va="center")
    fig.text(0.06, 0.2, WORDS, size=9.2, va="center", color="#333333")
    ax = fig.add_axes((0.56, 0.13, 0.39, 0.76))
    draw_bins(ax, bins, ~full)
    ax.set(xticks=[0, 1], yticks=[0, 1])
    ax.set_xlabel("confidence", size=9, labelpad=0)
    ax.set_ylabel("accuracy", size=9, labelpad=0)
    ax.tick_params(labelsize=8, length=0, pad=2)
    ax.spines[["top", "right"]].set_visible(False)
    target.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(target, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
