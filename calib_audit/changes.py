"""This month against last month: two stored reports beside each other, without their rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calib_audit.formatting import percent, points, signed_points
from calib_audit.parts import BEYOND, UNDECIDED, Gap, allowed, gap_of, judge_gaps
from calib_audit.stored import check_predicted, read_stored

__all__ = ["Change", "Changes", "compare_reports"]


@dataclass(frozen=True)
class Change:
    """How the mean gap of some rows has changed.

    Attributes:
        name: "all rows", or the column and the value of a group.
        n: rows of the first and of the second report.
        gaps: happened less predicted, in both.
        change: the second gap less the first; ``interval`` is that of this row alone, of 95 %.
        small: whether too little is expected to happen, or not to, for any verdict.
        outcome: "within" or "beyond" the tolerance, or "undecided", of all rows together.
        limit: the largest change that is acceptable here: the tolerance, or less for rare outcomes.
    """

    name: str
    n: tuple[int, int]
    gaps: tuple[float, float]
    change: float
    interval: tuple[float, float]
    small: bool
    outcome: str
    limit: float


@dataclass(frozen=True)
class Changes:
    """Two reports beside each other.

    Attributes:
        found: all rows first, then the groups that both have.
        tolerance: of a change, 0 to 1.
        relative_tolerance: the largest change beside the rate of the rarer outcome, 0 to 1.
        errors: the interval of the population ECE in both.
        missing: groups that only one of the two has.

    Example:
        >>> from calib_audit import compare_reports, report
        >>> score = [0.2] * 500
        >>> may = report({"score": score, "label": [0, 0, 0, 0, 1] * 100}, cross_fit=0)
        >>> june = report({"score": score, "label": [0, 1] * 250}, cross_fit=0)
        >>> compare_reports(may, june).found[0].outcome
        'beyond'
    """

    found: list[Change]
    tolerance: float
    relative_tolerance: float
    errors: tuple[tuple[float, float], tuple[float, float]]
    missing: list[str]

    @property
    def exit_code(self) -> int:
        """0 if all changes are within the tolerance, 1 if any is beyond, 3 if it is not clear."""
        outcomes = {change.outcome for change in self.found}
        return 1 if BEYOND in outcomes else 3 if UNDECIDED in outcomes else 0

    def text(self) -> str:
        """What was found, in plain text."""
        asked = f"the tolerance of {points(self.tolerance)} points"
        if any(change.limit < self.tolerance for change in self.found):
            asked += f", or {percent(self.relative_tolerance)} of the rate of the rarer outcome"
        beyond = [change.name for change in self.found if change.outcome == BEYOND]
        opening = {
            0: f"No gap has changed by more than {asked}",
            1: f"Changed by more than {asked}: {', '.join(beyond)}",
            3: f"No change is clearly beyond {asked}, and not all are clearly within",
        }[self.exit_code]
        lines = [f"{opening}."]
        for which, (low, high) in zip(("first", "second"), self.errors, strict=True):
            lines.append(f"  population ECE of the {which}: {points(low)} to {points(high)} points")
        for one in self.found:
            gaps = " and ".join(map(signed_points, one.gaps))
            interval = " to ".join(map(signed_points, one.interval))
            lines.append(
                f"  {one.name:<24} {one.n[0]:>12,} and {one.n[1]:>12,} rows, gap {gaps}, change "
                f"{signed_points(one.change)} ({interval}) points: "
                f"{'undecided: too few positives or negatives' if one.small else one.outcome}"
            )
        lines += [f"  {name} is only in one of the two" for name in self.missing]
        lines.append(
            "  A gap is what happened less what was predicted. The verdicts are for all rows of "
            "this table together, with Holm's correction."
        )
        return "\n".join(lines) + "\n"

    def numbers(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self) | {"exit_code": self.exit_code}


def compare_reports(
    first: Any, second: Any, tolerance: float = 0.02, relative_tolerance: float = 0.25
) -> Changes:
    """Whether the gap between what was predicted and what happened has changed, by group.

    Each change is tested against the tolerance, not against 0: of millions of rows every change is
    significant. Holm's correction is for all rows and all groups together. The rows of the two
    reports must be other rows, such as those of two months.

    Args:
        first, second: two reports, or the paths of their JSON, as ``--json`` writes it.
        tolerance: of a change, above 0 and below 1.
        relative_tolerance: the largest change beside the rate of the rarer outcome, as `report` has
            it; the rate is the mean prediction of both reports.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: if a file is no such JSON, or is of rows in blocks, or both are of the same
            rows.

    Example:
        >>> from calib_audit import report
        >>> score = [0.2] * 500
        >>> may = report({"score": score, "label": [0, 0, 0, 0, 1] * 100}, cross_fit=0)
        >>> june = report({"score": score, "label": [0, 1] * 250}, cross_fit=0)
        >>> compare_reports(may, june).exit_code
        1
    """
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance: expected above 0 and below 1, found {tolerance!r}; try 0.02")
    one, two = read_stored(first, "first"), read_stored(second, "second")
    check_predicted("second", two.predicted, one.predicted)
    if one.sums.keys() == two.sums.keys() and all(
        np.array_equal(one.sums[name].array, two.sums[name].array) for name in one.sums
    ):
        raise ValueError(
            "second: expected a report of other rows than the first, found one of the same rows; "
            "give the report of another month"
        )
    if not 0 < relative_tolerance <= 1:
        raise ValueError(
            f"relative_tolerance: expected above 0 and up to 1, found {relative_tolerance!r}; try "
            "0.25"
        )
    shared = [name for name in one.sums if name in two.sums]
    before, after = ([gap_of(each.sums[name]) for name in shared] for each in (one, two))
    rates = [
        float(np.average([sums.predicted for sums in each], weights=[sums.n for sums in each]))
        for each in ((one.sums[name], two.sums[name]) for name in shared)
    ]
    limits = [allowed(tolerance, relative_tolerance, rate) for rate in rates]
    changes = [
        Gap(
            new.gap - old.gap,
            float(np.hypot(old.error, new.error)),
            min(old.n, new.n),
            old.small or new.small,
        )
        for old, new in zip(before, after, strict=True)
    ]
    found = [
        Change(
            name=name,
            n=(one.sums[name].n, two.sums[name].n),
            gaps=(old.gap, new.gap),
            change=change.gap,
            interval=interval,
            small=change.small,
            outcome=verdict,
            limit=limit,
        )
        for name, old, new, change, limit, (interval, verdict) in zip(
            shared, before, after, changes, limits, judge_gaps(changes, limits), strict=True
        )
    ]
    return Changes(
        found,
        tolerance,
        relative_tolerance,
        (one.error, two.error),
        sorted(one.sums.keys() ^ two.sums),
    )
