"""The picture of the README, a slider at work: `python -m book.readme TARGET`.

The temperature of the ResNet-34 goes from 1 to the fitted one and back, twice, on the test images.
The style sheet of the SVG shows one drawing after the other: it needs no script, follows the
reader's light or dark mode, and stays at temperature 1 for readers who prefer no movement.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from book.play.temperature import NAMES, measured, printed, turned
from book.resnet34 import resnet34
from calib_utils._files import write_text
from calib_utils.metrics import ReliabilityBins, reliability_bins, top_label
from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.plots.diagrams import draw_bins
from tools.finishing.interactive import FEW
from tools.sources.plot_settings import DRAWING, svg_of

FRAMES = 16
# In seconds: at each end, and from one frame to the next.
REST, STEP = 1.6, 0.15
PASSES = 4
# In inches, and in CSS pixels.
SIZE, WIDTH, HEIGHT = (7.5, 3.4), 720, 326
PLACES = [(0.52 + 0.24 * column, 0.84 - 0.18 * row) for row in range(3) for column in range(2)][:-1]
STYLE = """
.ground { fill: #fff; stroke: #b8b8b8 }
@media (prefers-color-scheme: dark) {
  .ground { fill: #14181e; stroke: #5c5c5c }
  :root > g { filter: invert(1) hue-rotate(180deg) }
}
:root > g { visibility: hidden }
#f0 { visibility: visible }
@media (prefers-reduced-motion: no-preference) {
"""


def frame(k: int, T: float, fitted: float, bins: ReliabilityBins, numbers: list[str]) -> str:
    """The drawing at temperature T."""
    fig = plt.figure(figsize=SIZE)
    ax = fig.add_axes((0.09, 0.15, 0.8 * SIZE[1] / SIZE[0], 0.8))
    draw_bins(ax, bins, bins.counts < FEW)
    ax.set(xticks=[0, 1], yticks=[0, 1], xlabel="Confidence", ylabel="Accuracy")
    ax.spines[["top", "right"]].set_visible(False)
    for name, number, (x, y) in zip(NAMES, numbers, PLACES, strict=True):
        fig.text(x, y + 0.08, name, color=GREY)
        fig.text(x, y, number, size=16, weight="bold")
    slider = fig.add_axes((0.52, 0.15, 0.44, 0.16), xlim=(1, fitted), ylim=(-1, 1))
    slider.set_axis_off()
    slider.plot([1, fitted], [0, 0], color="lightgrey", linewidth=4, clip_on=False)
    slider.plot([1, T], [0, 0], color=BLUE, linewidth=4, clip_on=False)
    slider.plot(T, 0, "o", color=ORANGE, markersize=14, markeredgecolor="white", clip_on=False)
    fig.text(0.52, 0.3, f"T = {T:.2f}", size=16, weight="bold")
    fig.text(0.52, 0.1, "as trained", color=GREY)
    fig.text(0.96, 0.1, f"fitted: {fitted:.2f}", color=GREY, ha="right")
    return f'<g id="f{k}">{svg_of(fig).strip()}</g>'


def movement() -> str:
    """When each frame is visible: from one end to the other, which `alternate` then reverses."""
    lasts = np.array([REST, *[STEP] * (FRAMES - 2), REST])
    ends = 100 * np.cumsum(lasts) / lasts.sum()
    rules = []
    for k, (start, end) in enumerate(zip([0.0, *ends[:-1]], ends, strict=True)):
        hidden = "0%{visibility:hidden}" if k else ""
        after = f"{end:.2f}%{{visibility:{'hidden' if k < FRAMES - 1 else 'visible'}}}"
        rules.append(f"@keyframes f{k}{{{hidden}{start:.2f}%{{visibility:visible}}{after}}}")
        rules.append(f"#f{k}{{animation:f{k} {lasts.sum():g}s step-end {PASSES} alternate}}")
    return "\n".join(rules)


def main(target: Path) -> None:
    _, test, scaling = resnet34()
    fitted = scaling.temperature_
    temperatures = np.linspace(1, fitted, FRAMES)
    probs = [turned(test, T) for T in temperatures]
    bins = [reliability_bins(*top_label(p, test.labels)) for p in probs]
    numbers = [printed(measured(p, test, T)) for p, T in zip(probs, temperatures, strict=True)]
    # The README's sentences about it.
    first, last = bins[0], bins[-1]
    full = first.counts >= FEW
    worst = np.abs(last.confidence - last.accuracy)[last.counts >= FEW].max()
    below = (first.accuracy[full] < first.confidence[full]).all()
    if not (below and worst < np.abs(first.confidence - first.accuracy)[full].max() / 2):
        raise SystemExit("README.md is no longer true of its picture")
    plt.rcParams |= DRAWING
    frames = [
        frame(k, T, fitted, one, words)
        for k, (T, one, words) in enumerate(zip(temperatures, bins, numbers, strict=True))
    ]
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    sides = f'x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}"'
    ground = f'<rect class="ground" {sides} rx="10"/>'
    lines = [f"{begin}<style>{STYLE}{movement()}\n}}</style>", ground, *frames, "</svg>\n"]
    write_text(target, "\n".join(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
