"""Pictures of the report as SVG, in the page's own colours, each with its description."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

import numpy as np
from scipy.stats import binom

from calib_utils.audit.bin_sums import COUNT, PROMISED, RIGHT, BinSums
from calib_utils.audit.costs import Costs
from calib_utils.audit.formatting import number, percent
from calib_utils.audit.times import LIMIT, Span

__all__ = ["Bar", "bars_of", "cost_picture", "is_rare", "reliability_picture", "times_picture"]

_RARE = 0.02  # a mean below which even axes show nothing
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 460, 76, 26, 14, 48
_PARTS = 12  # bins of a diagram with log axes, of about equally many that are expected


class Bar(tuple[float, float, int, float, float]):
    """One bin of the diagram: mean prediction, which part happened, rows, and the band's ends.

    The band is where the part that happens lies for a calibrated model, by chance, in 95 of 100.
    """

    __slots__ = ()


def is_rare(bins: BinSums) -> bool:
    """Whether what is predicted is so rare that it needs log axes."""
    return 0 < max(bins.predicted, bins.happened) < _RARE


def bars_of(bins: BinSums, cells: BinSums) -> list[Bar]:
    """The bins that are drawn: those of equal width, or cells that were joined for rare events."""
    array = bins.array if not is_rare(bins) else _joined(cells.array)
    found = []
    for column in array[:, array[COUNT] > 0].T:
        count = int(column[COUNT])
        mean = min(column[PROMISED] / count, 1.0)
        low, high = binom.ppf([0.025, 0.975], count, mean) / count
        found.append(Bar((mean, column[RIGHT] / count, count, low, high)))
    return found


def _joined(array: np.ndarray) -> np.ndarray:
    """Neighbouring cells, until enough is expected in each; the rest goes to the last."""
    enough = max(5.0, array[PROMISED].sum() / _PARTS)
    found, held = [], np.zeros(len(array))
    for column in array.T:
        held = held + column
        if held[PROMISED] >= enough:
            found.append(held)
            held = np.zeros(len(array))
    if found:
        found[-1] = found[-1] + held
    else:
        found = [held]
    return np.stack(found, axis=1)


def reliability_picture(bins: BinSums, cells: BinSums, what: str, happens: str) -> str:
    """The reliability diagram, with the band of a calibrated model."""
    bars, rare = bars_of(bins, cells), is_rare(bins)
    if rare:
        values = [value for bar in bars for value in (bar[0], bar[1], bar[3]) if value > 0]
        low = 10 ** math.floor(math.log10(min(values)))
        high = min(
            1.0, 10 ** math.ceil(math.log10(max(max(bar[0], bar[1], bar[4]) for bar in bars)))
        )
        axes = _Axes(360, (low, high), (low, high), log=True)
    else:
        low, high = 0.0, 1.0
        axes = _Axes(360, (0, 1), (0, 1))
    x, y = axes.x, axes.y
    parts = [axes.frame(what.capitalize(), happens.capitalize(), _share, _share)]
    parts.append(axes.line([(low, low), (high, high)], "ideal"))
    for mean, part, count, under, over in bars:
        left, top = x(mean) - 5, y(max(over, low))
        height = max(1.5, y(max(under, low)) - top)
        parts.append(
            f'<rect class="band" x="{left:.1f}" y="{top:.1f}" width="10" height="{height:.1f}"/>'
        )
        title = f"{percent(mean)} predicted, {percent(part)} happened, {count:,} rows"
        outside = "" if under <= part <= over else " outside"
        parts.append(
            f'<circle class="dot{outside}" cx="{x(mean):.1f}" cy="{y(max(part, low)):.1f}" '
            f'r="{4 if outside else 3.2}"><title>{title}</title></circle>'
        )
    beyond = sum(not bar[3] <= bar[1] <= bar[4] for bar in bars)
    described = (
        f"{len(bars)} bins. {beyond} of them lie outside the band in which a calibrated model's "
        f"would lie; "
        + "; ".join(f"{percent(bar[0])} predicted, {percent(bar[1])}" for bar in bars)
    )
    return axes.svg("reliability", "Reliability diagram", described, parts)


def times_picture(spans: Sequence[Span]) -> str:
    """The control chart of z."""
    known = [span.z for span in spans if np.isfinite(span.z)]
    reach = max(LIMIT + 1, *(abs(z) + 0.5 for z in known)) if known else LIMIT + 1
    axes = _Axes(240, (-0.5, max(len(spans) - 0.5, 0.5)), (-reach, reach))
    parts = [axes.frame("", "z", _plain, _plain)]
    first, last = axes.x_range
    for limit in (-LIMIT, 0, LIMIT):
        parts.append(axes.line([(first, limit), (last, limit)], "limit" if limit else "ideal"))
    for i in sorted({0, len(spans) - 1}):
        anchor = "start" if i == 0 else "end"
        parts.append(
            f'<text x="{axes.x(i):.1f}" y="{axes.bottom + 18}" text-anchor="{anchor}">'
            f"{escape(spans[i].name)}</text>"
        )
    for i, span in enumerate(spans):
        if not np.isfinite(span.z):
            continue
        at, height = axes.x(i), axes.y(span.z)
        title = f"<title>{escape(span.name)}: z {number(span.z, 1)}</title>"
        if span.alarm:  # another shape, not another colour only
            parts.append(
                f'<path class="alarm" d="M{at:.1f} {height - 6:.1f}l6 11h-12z">{title}</path>'
            )
        else:
            hollow = " small" if span.small else ""
            parts.append(
                f'<circle class="dot{hollow}" cx="{at:.1f}" cy="{height:.1f}" r="3">{title}'
                "</circle>"
            )
    alarms = [span.name for span in spans if span.alarm]
    described = f"{len(spans)} values of z with limits at 3 and -3. " + (
        f"Alarms: {', '.join(alarms)}." if alarms else "None lies beyond the limits."
    )
    return axes.svg("times", "Control chart", described, parts)


def cost_picture(costs: Costs) -> str:
    """The cost against the threshold."""
    top = float(costs.curve.max()) or 1.0
    axes = _Axes(260, (0, 1), (0, 1.05 * top))
    parts = [axes.frame("Threshold", "Cost of a row", _plain, _plain)]
    planned = costs.planned[0]
    parts.append(axes.line([(planned, 0), (planned, 1.05 * top)], "limit"))
    parts.append(axes.line(list(zip(costs.thresholds, costs.curve, strict=True)), "curve"))
    described = (
        f"The cost is {number(costs.always, 3)} at the threshold 0, "
        f"{number(costs.planned[1], 3)} at {number(planned, 3)}, which is marked, "
        f"{number(costs.lowest[1], 3)} at its lowest point {number(costs.lowest[0], 3)}, "
        f"and {number(costs.never, 3)} if one never acts."
    )
    return axes.svg("cost", "Cost against the threshold", described, parts)


def _share(value: float) -> str:
    """A tick in percent, with no more digits than it needs."""
    return f"{100 * value:.6g}\N{NO-BREAK SPACE}%"


def _plain(value: float) -> str:
    """A tick, with no more digits than it needs."""
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")


class _Axes:
    """A frame, and where numbers lie in it."""

    def __init__(
        self,
        height: int,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        log: bool = False,
    ):
        self.height, self.x_range, self.y_range, self.log = height, x_range, y_range, log
        self.bottom = height - _BOTTOM

    def x(self, value: float) -> float:
        """In pixels from the left."""
        return _LEFT + self._part(value, self.x_range) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """In pixels from the top."""
        return self.bottom - self._part(value, self.y_range) * (self.bottom - _TOP)

    def _part(self, value: float, ends: tuple[float, float]) -> float:
        low, high = ends
        if self.log:
            value, low, high = math.log(max(value, low)), math.log(low), math.log(high)
        return (value - low) / (high - low)

    def line(self, points: Iterable[tuple[float, float]], kind: str) -> str:
        """A line through points."""
        drawn = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        return f'<polyline class="{kind}" points="{drawn}"/>'

    def frame(
        self,
        x_name: str,
        y_name: str,
        x_text: Callable[[float], str],
        y_text: Callable[[float], str],
    ) -> str:
        """Axes with ticks; those of an x without a name have none."""
        right = _WIDTH - _RIGHT
        parts = [f'<path class="axis" d="M{_LEFT} {_TOP}V{self.bottom}H{right}"/>']
        for value in self._ticks(self.x_range) if x_name else ():
            text = x_text(value)
            at = self.x(value)
            parts.append(f'<path class="axis" d="M{at:.1f} {self.bottom}v4"/>')
            parts.append(
                f'<text x="{at:.1f}" y="{self.bottom + 18}" text-anchor="middle">{text}</text>'
            )
        for value in self._ticks(self.y_range):
            at = self.y(value)
            parts.append(f'<path class="axis" d="M{_LEFT} {at:.1f}h-4"/>')
            parts.append(
                f'<text x="{_LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{y_text(value)}</text>'
            )
        middle = (_TOP + self.bottom) / 2
        parts.append(
            f'<text x="{(_LEFT + right) / 2}" y="{self.height - 8}" text-anchor="middle">'
            f"{escape(x_name)}</text>"
            f'<text transform="translate(13 {middle}) rotate(-90)" text-anchor="middle">'
            f"{escape(y_name)}</text>"
        )
        return "".join(parts)

    def _ticks(self, ends: tuple[float, float]) -> list[float]:
        low, high = ends
        if self.log:
            return [10.0**p for p in range(round(math.log10(low)), round(math.log10(high)) + 1)]
        step = 10 ** math.floor(math.log10(high - low))
        step = next(step * f for f in (0.1, 0.2, 0.5, 1) if (high - low) / (step * f) <= 6)
        first = math.ceil(low / step - 1e-9)
        return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]

    def svg(self, name: str, title: str, described: str, parts: Iterable[str]) -> str:
        """The whole picture."""
        return (
            f'<svg viewBox="0 0 {_WIDTH} {self.height}" role="img" '
            f'aria-labelledby="{name}-title {name}-text">'
            f'<title id="{name}-title">{escape(title)}</title>'
            f'<desc id="{name}-text">{escape(described)}</desc>{"".join(parts)}</svg>'
        )
