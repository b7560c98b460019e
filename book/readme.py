"""The picture of the README, a slider at work: `python -m book.readme TARGET`.

The temperature of the ResNet-34 goes from 1 to the fitted one and back, twice, on the test
photographs. An SVG whose style sheet shows one frame after the other: it needs no script, takes the
reader's light or dark, and stands still at temperature 1 for who wants no movement.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from book.play.temperature import NETWORK, measured, printed, turned
from calib_utils.metrics import ReliabilityBins, reliability_bins, top_label
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import load_record
from tools.finishing.interactive import FEW
from tools.sources.atomic import write_text

FRAMES = 16
# In seconds: at each end, and from a frame to the next.
REST, STEP = 1.6, 0.15
PASSES = 4
# Of the diagram and of the slider, in the units of the drawing.
LEFT, TOP, SIDE = 52, 24, 240
FROM, TO, TRACK = 372, 688, 246
NAMES = ("mean confidence", "accuracy", "ECE", "ECE if calibrated", "NLL")
PLACES = [(FROM + 172 * column, 58 + 58 * row) for row in range(3) for column in range(2)][:-1]
STYLE = """
svg { --ground: #fff; --text: #222832; --quiet: #595959; --line: #c9c9c9;
  --blue: #0072b2; --orange: #c24e00;
  fill: var(--text); font: 15px system-ui, -apple-system, "Segoe UI", sans-serif }
.ground { fill: var(--ground); stroke: var(--line) }
.axis { fill: none; stroke: var(--quiet) }
.quiet { fill: var(--quiet) }
.ideal { fill: none; stroke: var(--text); stroke-dasharray: 5 4 }
.bars { fill: var(--blue); stroke: var(--ground); stroke-width: 1.5 }
.gaps { fill: url(#hatch); stroke: var(--orange); stroke-width: 1.5 }
.hatch { stroke: var(--orange); stroke-width: 3 }
.track { fill: var(--line) }
.done { fill: var(--blue) }
.knob { fill: var(--orange); stroke: var(--ground); stroke-width: 2 }
.number { font-size: 22px; font-weight: 600 }
.end { text-anchor: end }
.middle { text-anchor: middle }
@media (prefers-color-scheme: dark) {
  svg { --ground: #14181e; --text: #ced6dd; --quiet: #a3a3a3; --line: #48505a;
    --blue: #56b4e9; --orange: #ff9f5a }
}
g[id] { visibility: hidden }
#f0 { visibility: visible }
@media (prefers-reduced-motion: no-preference) {
"""


def where(x: float, y: float) -> str:
    """A point of the diagram, of confidence and accuracy."""
    return f"{LEFT + SIDE * x:.1f} {TOP + SIDE * (1 - y):.1f}"


def boxes(bins: ReliabilityBins, low: np.ndarray, high: np.ndarray) -> str:
    """A box from low to high over each bin that has answers enough."""
    return "".join(
        f"M{where(start, bottom)}H{LEFT + SIDE * end:.1f}V{TOP + SIDE * (1 - top):.1f}"
        f"H{LEFT + SIDE * start:.1f}z"
        for start, end, bottom, top, count in zip(
            bins.edges[:-1], bins.edges[1:], low, high, bins.counts, strict=True
        )
        if count >= FEW
    )


def frame(k: int, T: float, bins: ReliabilityBins, numbers: list[str], slide: float) -> str:
    """What is seen at temperature T, with the knob at ``slide``."""
    parts = [
        f'<path class="bars" d="{boxes(bins, np.zeros_like(bins.accuracy), bins.accuracy)}"/>',
        f'<path class="gaps" d="{boxes(bins, bins.accuracy, bins.confidence)}"/>',
        f'<text class="number" x="{FROM}" y="226">T = {T:.2f}</text>',
        f'<rect class="done" x="{FROM}" y="{TRACK}" width="{slide - FROM:.1f}" height="6" rx="3"/>',
        f'<circle class="knob" cx="{slide:.1f}" cy="{TRACK + 3}" r="11"/>',
    ]
    parts += [
        f'<text class="number" x="{x}" y="{y}">{number}</text>'
        for number, (x, y) in zip(numbers, PLACES, strict=True)
    ]
    return f'<g id="f{k}">{"".join(parts)}</g>'


def movement() -> str:
    """When each frame is seen: from one end to the other, which `alternate` then turns round."""
    lasts = np.array([REST, *[STEP] * (FRAMES - 2), REST])
    ends = 100 * np.cumsum(lasts) / lasts.sum()
    rules = []
    for k, (start, end) in enumerate(zip([0.0, *ends[:-1]], ends, strict=True)):
        hidden = "0%{visibility:hidden}" if k else ""
        after = f"{end:.2f}%{{visibility:{'hidden' if k < FRAMES - 1 else 'visible'}}}"
        rules.append(f"@keyframes f{k}{{{hidden}{start:.2f}%{{visibility:visible}}{after}}}")
        rules.append(f"#f{k}{{animation:f{k} {lasts.sum():g}s step-end {PASSES} alternate}}")
    return "\n".join(rules)


def picture(frames: list[str], fitted: float) -> str:
    """The whole file; ``fitted`` is where the slider's mark stands."""
    names = "".join(
        f'<text class="quiet" x="{x}" y="{y - 24}">{name}</text>'
        for name, (x, y) in zip(NAMES, PLACES, strict=True)
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="720" height="330"
 viewBox="0 0 720 330"><style>{STYLE}{movement()}
}}</style>
<defs><pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse"
 patternTransform="rotate(45)"><path class="hatch" d="M0 0V7"/></pattern></defs>
<rect class="ground" x=".5" y=".5" width="719" height="329" rx="10"/>
<path class="axis" d="M{where(0, 1)}V{TOP + SIDE}H{LEFT + SIDE}"/>
<text class="end quiet" x="{LEFT - 8}" y="{TOP + 6}">1</text>
<text class="end quiet" x="{LEFT - 8}" y="{TOP + SIDE + 5}">0</text>
<text class="quiet middle" x="{LEFT + SIDE}" y="{TOP + SIDE + 20}">1</text>
<text class="middle" x="{LEFT + SIDE / 2}" y="{TOP + SIDE + 30}">Confidence</text>
<text class="middle" transform="translate(24 {TOP + SIDE / 2}) rotate(-90)">Accuracy</text>
{names}
<rect class="track" x="{FROM}" y="{TRACK}" width="{TO - FROM}" height="6" rx="3"/>
<text class="quiet" x="{FROM}" y="{TRACK + 36}">as trained</text>
<text class="end quiet" x="{TO}" y="{TRACK + 36}">fitted: {fitted:.2f}</text>
{"".join(frames)}
<path class="ideal" d="M{where(0, 0)}L{where(1, 1)}"/>
</svg>
"""


def main(target: Path) -> None:
    held_out, test = load_record(NETWORK, "validation"), load_record(NETWORK, "test")
    fitted = TemperatureScaling().fit(held_out.logits, held_out.labels).temperature_
    temperatures = np.linspace(1, fitted, FRAMES)
    probs = [turned(test, T) for T in temperatures]
    bins = [reliability_bins(*top_label(p, test.labels)) for p in probs]
    numbers = [printed(measured(p, test, T)) for p, T in zip(probs, temperatures, strict=True)]
    # What the README says of it.
    first, last = bins[0], bins[-1]
    full = first.counts >= FEW
    worst = np.abs(last.confidence - last.accuracy)[last.counts >= FEW].max()
    below = (first.accuracy[full] < first.confidence[full]).all()
    if not (below and worst < np.abs(first.confidence - first.accuracy)[full].max() / 2):
        raise SystemExit("README.md is no longer true of its picture")
    frames = [
        frame(k, *one, FROM + (TO - FROM) * k / (FRAMES - 1))
        for k, one in enumerate(zip(temperatures, bins, numbers, strict=True))
    ]
    write_text(target, picture(frames, fitted))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
