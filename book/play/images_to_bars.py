"""How predictions become a reliability diagram: `python -m book.play.images_to_bars TARGET`.

The first picture of the first chapter moves as its reader scrolls. All that it shows is computed
here, and `book/figures/images_to_bars.py` draws three moments of it for print, and for readers
without scripts or who prefer no movement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from book.resnet34 import resnet34
from calib_utils.metrics import ReliabilityBins, reliability_bins, top_label
from calib_utils.metrics.bins import expected_gap, uniform_index
from tools.finishing import interactive as ui
from tools.finishing.interactive import FEW, percent

N_BINS, N_DOTS, N_FRAMES = 10, 400, 21


class Frame(NamedTuple):
    """The test predictions at a temperature."""

    temperature: float
    bins: ReliabilityBins

    @property
    def gap(self) -> float:
        """The mean of the bins' gaps, weighted by their predictions."""
        return expected_gap(self.bins)


def frames() -> list[Frame]:
    """From the network as trained to its fitted temperature."""
    _, test, scaling = resnet34()
    found = []
    for T in np.linspace(1, scaling.temperature_, N_FRAMES):
        probs = softmax(test.logits / T, axis=1)
        found.append(Frame(float(T), reliability_bins(*top_label(probs, test.labels), N_BINS)))
    return found


def piles() -> list[tuple[np.ndarray, np.ndarray]]:
    """Of some predictions, drawn at random: for each bin the confidences, right and wrong ones."""
    _, test, _ = resnet34()
    confidences, correct = top_label(softmax(test.logits, axis=1), test.labels)
    drawn = np.random.default_rng(seed=0).choice(len(correct), N_DOTS, replace=False)
    confidences, correct = confidences[drawn].astype(float), correct[drawn]
    place = uniform_index(confidences, N_BINS, "float64")
    return [
        (confidences[(place == m) & correct], confidences[(place == m) & ~correct])
        for m in range(N_BINS)
    ]


def loudest(dots: list[tuple[np.ndarray, np.ndarray]]) -> str:
    """A sentence on the highest bar, if a single prediction makes it."""
    sizes = [len(right) + len(wrong) for right, wrong in dots]
    shares = [len(right) / n if n else 0 for (right, _), n in zip(dots, sizes, strict=True)]
    m = int(np.argmax(shares))
    if sizes[m] > 1:
        return ""
    where = f"between {m / N_BINS:g} and {(m + 1) / N_BINS:g}"
    return f" The tallest bar, {where}, is a single image, and tells you next to nothing."


def check(first: Frame, last: Frame) -> None:
    """Stop the build unless what the words say is true."""
    full = first.bins.counts >= FEW
    below = (first.bins.accuracy < first.bins.confidence)[full]
    if not (below.all() and last.temperature > 1 and last.gap < first.gap / 2):
        raise SystemExit(f"book/play/images_to_bars.py is no longer true: {first=}, {last=}")


def steps(first: Frame, last: Frame, dots: list[tuple[np.ndarray, np.ndarray]]) -> list[str]:
    """What each state of the picture shows."""
    n = int(first.bins.counts.sum())
    full = first.bins.counts >= FEW
    right = int((first.bins.counts * np.nan_to_num(first.bins.accuracy)).sum().round())
    right_on_top, wrong_on_top = map(len, dots[-1])
    return [
        f"Each dot is a test image that our ResNet-34 has classified, one of {N_DOTS} drawn at "
        f"random from {n:,}. The further right a dot lies, the more confident the network is. "
        "Rings are predictions that turned out wrong.",
        f"Let the dots fall into {N_BINS} bins by their confidence. The last bin catches "
        f"{right_on_top + wrong_on_top} of them, and {right_on_top} of these are correct.",
        "Now stretch every pile to the same height. The part that is correct becomes a bar, "
        f"whose height is the accuracy in that bin.{loudest(dots)}",
        f"All {n:,} predictions make the bars steadier. If the network's confidences could be "
        "taken at their word, every bar would end on the dashed diagonal.",
        f"All {full.sum()} bars with at least {FEW} predictions end below it. The hatched gap "
        f"between accuracy and confidence is {percent(first.gap)} on average: the "
        "network is overconfident.",
        f"Turn one knob, the temperature T, to {last.temperature:.2f}, a value found on other "
        f"images. The bars now end close to the diagonal, with a mean gap of "
        f"{percent(last.gap)}. No prediction has changed: {right:,} are correct, as "
        "before.",
    ]


def rows(bins: ReliabilityBins) -> list[list[float]]:
    """Count, accuracy and confidence of each bin; an empty one has 0 for both."""
    shares = (np.nan_to_num(one).round(4).tolist() for one in (bins.accuracy, bins.confidence))
    return [bins.counts.astype(int).tolist(), *shares]


def story() -> ui.Json:
    """The dots, the bars at each temperature, and the words of each state."""
    all_frames, dots = frames(), piles()
    first, last = all_frames[0], all_frames[-1]
    check(first, last)
    return {
        "figures": ["fig-images-to-bars"],
        "kind": "story",
        "title": "From images to bars",
        "alt": "The picture that the text beside it describes: dots fall into bins and become "
        "bars of accuracy, which end below the diagonal, and close to it once the temperature is "
        "fitted.",
        "steps": steps(first, last, dots),
        "few": FEW,
        "dots": [[one.round(3).tolist() for one in pile] for pile in dots],
        "frames": [
            {
                "T": f"T = {one.temperature:.2f}",
                "gap": f"mean gap {percent(one.gap)}",
                "bins": rows(one.bins),
            }
            for one in all_frames
        ],
    }


if __name__ == "__main__":
    ui.write(story())
