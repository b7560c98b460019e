"""Verdicts on claims about grids of experiments, corrected for multiple comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from calib_utils.comparing.beyond_gap import compare_beyond_gap
from calib_utils.comparing.comparison import compare
from calib_utils.comparing.forecasts import compare_forecasts
from calib_utils.comparing.pairs import Difference
from calib_utils.comparing.seeds import pooled_spread
from calib_utils.comparing.tables import Markdown, signed, table
from calib_utils.predictions.arrays import to_numpy
from calib_utils.predictions.checks import check_several
from calib_utils.records import ExperimentRecord, Forecast, by_level
from calib_utils.records.grids import check_records
from calib_utils.records.names import factor_name, level_name, metric_name

_LEVEL = 0.05
_BEYOND = "ece_beyond_gap"
_POINTS = {"error", "ece", "ece_scaled", _BEYOND}


class Verdict(NamedTuple):
    """A claim about two levels of a factor, and the evidence of the runs.

    Attributes:
        grid: such as "depth".
        change: between the two, such as "layers: 8 to 56".
        metric: such as "ece".
        claimed: "higher" or "lower", for the metric at the second level.
        difference: the second level's runs minus the first's.
        adjusted: its p value after Holm's correction for all claims that were judged with it; NaN
            if the difference has none.

    Example:
        >>> found = Difference(0.05, standard_error=0.01, freedom=4)
        >>> Verdict("depth", "layers: 8 to 56", "ece", "higher", found, adjusted=0.03).outcome
        'holds'
    """

    grid: str
    change: str
    metric: str
    claimed: str
    difference: Difference
    adjusted: float

    @property
    def outcome(self) -> str:
        """Either "holds" or "does not hold" if the adjusted p value is below 0.05.

        Otherwise "undecided", or "no difference" if all pairs of runs have the same predictions.
        """
        if self.difference.mean == self.difference.standard_error == 0:
            return "no difference"
        if not self.adjusted < _LEVEL:
            return "undecided"
        found = "higher" if self.difference.mean > 0 else "lower"
        return "holds" if found == self.claimed else "does not hold"


class Verdicts(tuple[Verdict, ...]):
    """Claims that were tested together. A notebook displays them as a table.

    Example:
        >>> found = Difference(0.05, standard_error=0.01, freedom=4)
        >>> claimed = Verdict("depth", "layers: 8 to 56", "ece", "higher", found, adjusted=0.03)
        >>> Verdicts([claimed]).outcomes
        ['holds']
    """

    __slots__ = ()

    @property
    def outcomes(self) -> list[str]:
        """For each claim "holds", "does not hold", "undecided" or "no difference"."""
        return [one.outcome for one in self]

    def of(self, grid: str) -> Verdicts:
        """The claims about one grid, with their adjusted p values unchanged."""
        return Verdicts(one for one in self if one.grid == grid)

    @property
    def table(self) -> Markdown:
        """A row for each claim, with the difference and its 95 % interval.

        The interval is for this difference alone, and the p value is adjusted for all of them.
        """
        rows = []
        for one in self:
            in_points = one.metric in _POINTS
            unit, digits = (100, 1) if in_points else (1, 3)
            mean, low, high = (
                signed(unit * x, digits) for x in (one.difference.mean, *one.difference.interval())
            )
            known = not np.isnan(one.adjusted)
            rows.append(
                [
                    one.change,
                    f"{metric_name(one.metric)} {one.claimed}",
                    f"{mean}{' points' if in_points else ''}",
                    f"{low} to {high}" if known else "unknown",
                    _p_value(one.adjusted) if known else "unknown",
                    one.outcome,
                ]
            )
        head = ["change", "claimed", "found", "95 % interval", "p, adjusted", "verdict"]
        return table(head, rows)

    def _repr_markdown_(self) -> str:
        return str(self.table)

    def __repr__(self) -> str:
        return str(self.table)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values of several tests, adjusted for their number by Holm's method.

    If all adjusted values below 0.05 count as significant, the probability of at least one false
    finding is at most 5 %. The smallest of m values is multiplied by m, the next by m - 1, and so
    on, and none becomes smaller than the one before it.

    Args:
        p_values: 0 to 1; NaN for a test that could not be made, which still counts as one.

    Returns:
        The adjusted values in the same order, 0 to 1; NaN where there was none.

    Raises:
        ValueError: if one is neither from 0 to 1 nor NaN.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".

    Example:
        >>> [round(p, 2) for p in holm([0.01, 0.04, 0.03])]
        [0.03, 0.06, 0.06]
    """
    given = to_numpy(p_values, "p_values").astype(np.float64)
    if given.ndim != 1 or ((given < 0) | (given > 1)).any():
        raise ValueError(f"p_values: expected numbers from 0 to 1, found {given.tolist()}")
    order = np.argsort(given)  # NaN last
    adjusted = np.empty(len(given))
    adjusted[order] = np.fmin(np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)), 1)
    adjusted[np.isnan(given)] = np.nan
    return [float(p) for p in adjusted]


def judge(
    records: Iterable[ExperimentRecord],
    comparisons: Iterable[Sequence[Any]],
    forecasts: Mapping[str, Sequence[Forecast]] | None = None,
    *,
    pooled: bool = False,
) -> Verdicts:
    """Test claims about the levels of one factor or several, all together.

    Of twelve comparisons without any true difference, at least one is significant by chance almost
    half of the time. Claims that were fixed together are therefore judged together, with Holm's
    correction for all of them.

    Args:
        records: of one or more grids, each of one protocol.
        comparisons: for each claim the grid, two values of its factor, the metric, and what it
            is claimed to be at the second value, "higher" or "lower". ``planned_comparisons``
            returns them in this form. The metric may also be "ece_beyond_gap": see
            `compare_beyond_gap`, with the runs that other grids compare as the others.
        forecasts: by grid, the forecasts of its networks; its comparisons name two of them instead
            of two values, as in `compare_forecasts`.
        pooled: whether the spread over seeds is estimated from the runs of all levels that a
            comparison names, as `pooled_spread` does, which a few seeds at each level make
            necessary.

    Raises:
        ValueError: if there is no comparison or no such grid, forecast, level or metric;
            a claim is neither of the two words; or the runs of a grid have different protocols.

    Example:
        >>> from calib_utils.records import load_grid
        >>> claims = [("width", 12, 48, "error", "lower"), ("width", 12, 48, "ece", "higher")]
        >>> verdicts = judge(load_grid("width", "core"), claims)
        >>> [(one.change, one.metric) for one in verdicts]
        [('channels: 12 to 48', 'error'), ('channels: 12 to 48', 'ece')]
    """
    grids: dict[str, list[ExperimentRecord]] = {}
    for record in check_records(records, "records"):
        grids.setdefault(record.grid, []).append(record)
    levels = {grid: by_level(runs) for grid, runs in grids.items()}
    found = []
    made = forecasts or {}
    planned = [_words(one) for one in check_several(comparisons, "comparisons")]
    compared = {
        grid: [run for run in runs if any(_names(words, run) for words in planned)]
        for grid, runs in grids.items()
    }
    spread = cache(partial(pooled_spread, [run for runs in compared.values() for run in runs]))
    for grid, first, second, metric, claimed in planned:
        if grid not in levels and grid not in made:
            known = ", ".join([*levels, *made]) or "none"
            raise ValueError(f"records: expected runs of the grid {grid!r}, found {known}")
        if claimed not in ("higher", "lower"):
            raise ValueError(
                f"comparisons: expected 'higher' or 'lower' for {metric!r}, found {claimed!r}"
            )
        change = f"{level_name(first)} to {level_name(second)}"
        if grid in made:
            apart = compare_forecasts(made[grid], first, second, metric)
            found.append((grid, change, metric, claimed, apart))
            continue
        low, high = (_level(levels[grid], value) for value in (first, second))
        change = f"{factor_name(low[0].factor)}: {change}"
        if metric == _BEYOND:
            others = [run for other, runs in compared.items() if other != grid for run in runs]
            apart = compare_beyond_gap(low, high, others)
        else:
            apart = compare(low, high, metric, spread=spread(metric) if pooled else None)
        found.append((grid, change, metric, claimed, apart))
    if not found:
        raise ValueError("comparisons: expected at least one, found none")
    adjusted = holm([difference.p_value for *_, difference in found])
    return Verdicts(Verdict(*one, p) for one, p in zip(found, adjusted, strict=True))


def _words(comparison: Any) -> Sequence[Any]:
    words = [] if isinstance(comparison, str) else comparison
    if not isinstance(words, Sequence) or len(words) != 5:
        raise ValueError(
            f"comparisons: expected grid, two values, metric and claim, found {comparison!r}"
        )
    return words


def _names(words: Sequence[Any], run: ExperimentRecord) -> bool:
    """Whether a comparison is about the level of a run."""
    return run.grid == words[0] and run.value in words[1:3]


def _level(levels: dict[Any, list[ExperimentRecord]], value: Any) -> list[ExperimentRecord]:
    if value not in levels:
        known = ", ".join(map(str, levels))
        raise ValueError(f"comparisons: expected one of the levels {known}, found {value!r}")
    return levels[value]


def _p_value(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "below 0.001"
