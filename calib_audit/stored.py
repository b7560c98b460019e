"""A report's numbers as JSON, and two of these beside each other: this month and last month."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calib_audit.bin_sums import CORRECT, COUNT, EXPECTED, BinSums
from calib_audit.columns import Columns
from calib_audit.findings import Findings
from calib_audit.formatting import percent, points, signed_points
from calib_audit.parts import (
    BEYOND,
    RELATIVE,
    UNDECIDED,
    Gap,
    allowed,
    check_limits,
    gap_of,
    judge_gaps,
)
from calib_audit.recalibrators import TriedRecalibrators
from calib_utils.metrics.bins import squared_sums

_ALL_ROWS = "all rows"
FORMAT = 3  # of the JSON, as in report.schema.json
_SUMS = "count", "correct", "predicted", "squares", "spread"  # the rows of `BinSums.array`
_PREDICTED = "top_label", "classes", "positive"  # what `Columns` knows of it
_OF_WEIGHTS = "weights_squared", "correct_squared", "predicted_squared", "rows"  # further ones


class _Stored(NamedTuple):
    """What a later report takes of an earlier one.

    Attributes:
        error: the interval of the population ECE.
        sums: of all rows, and of each group, by column and value.
        predicted: what was predicted, as `Columns` says by ``top_label``, ``classes`` and
            ``positive``.
    """

    error: tuple[float, float]
    sums: dict[str, BinSums]
    predicted: dict[str, Any]


def as_json(report: Findings) -> str:
    """All numbers; unknown ones are null."""
    known = {
        "format": FORMAT,
        "verdict": vars(report.verdict) | {"exit_code": report.verdict.exit_code},
        "predicted": _predicted(report.columns),
        "measures": report.measures,
        "bins": report.bins,
        "classes": report.classes,
        "groups": report.groups,
        "times": report.times,
        "recalibrators": report.recalibrators and _of_tried(report.recalibrators),
        "costs": report.costs,
        "read": report.read,
        "facts": report.facts,
    }
    return json.dumps(_plain(known), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _read_stored(given: Any, name: str) -> _Stored:
    """What a report found, or the one whose JSON is in a file.

    Args:
        given: a report, or the path of its JSON.
        name: of the argument, for messages.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is no such JSON, or the report is of rows in blocks.
    """
    if isinstance(given, (str, Path)):
        where, text = str(given), Path(given).read_text("utf-8")
    elif hasattr(given, "json"):
        where, text = name, given.json()
    else:
        raise ValueError(f"{name}: expected a report or the path of its JSON, found {given!r}")
    try:
        known = json.loads(text)
        if known["format"] != FORMAT:
            raise ValueError(f"format {known['format']!r}")
        found = None if known["measures"].get("blocks") else _stored(known)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{where}: expected the JSON of a report in format {FORMAT}, as json=... writes it, "
            "found something else; make the report again"
        ) from error
    if found is None:
        raise ValueError(
            f"{where}: expected a report of independent rows, found one of rows in blocks; compare "
            "the intervals of the two reports"
        )
    return found


def _stored(known: Mapping[str, Any]) -> _Stored:
    low, high = known["measures"]["error"]
    sums = {_ALL_ROWS: _bins_in(known["bins"])}
    for column, parts in known["groups"].items():
        sums |= {f"{column} {part['name']}": _bins_in(part["bins"]) for part in parts}
    predicted = {key: known["predicted"][key] for key in _PREDICTED}
    return _Stored((float(low), float(high)), sums, predicted)


def _check_predicted(name: str, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """That two reports are about the same event; a class that one does not name is no objection.

    Args:
        name: of the argument that is checked, for messages.
        found, expected: as `_Stored.predicted`.

    Raises:
        ValueError: if one is about the confidence in the predicted class, and the other about the
            probability of a class; or if the classes or the positive labels differ.
    """
    kinds, classes, positive = [(found[key], expected[key]) for key in _PREDICTED]
    if (
        kinds[0] != kinds[1]
        or (all(classes) and sorted(classes[0]) != sorted(classes[1]))
        or (all(positive) and positive[0] != positive[1])
    ):
        raise ValueError(
            f"{name}: expected a report on {_written(expected)}, found one on {_written(found)}; "
            "give one on the same predictions"
        )


def _written(predicted: Mapping[str, Any]) -> str:
    if not predicted["top_label"]:
        label = predicted["positive"]
        return "the probability of " + ("the positive class" if label is None else repr(label))
    classes = predicted["classes"]
    more = ", …" if len(classes) > 4 else ""
    which = f", with the classes {', '.join(classes[:4])}{more}" if classes else ""
    return f"the confidence in the predicted class{which}"


def _predicted(columns: Columns) -> dict[str, Any]:
    return {name: getattr(columns, name) for name in _PREDICTED}


def _bins_in(known: Mapping[str, Any]) -> BinSums:
    names = _SUMS + (_OF_WEIGHTS if _OF_WEIGHTS[0] in known else ())
    found = np.array([known[name] for name in names], np.float64)
    most = found[8] if len(names) > len(_SUMS) else found[0]  # weights are at most 1
    if found.ndim != 2 or not (np.isfinite(found) & (found >= 0) & (found <= most)).all():
        raise ValueError("impossible counts")
    return BinSums(found)


def bins_of_baseline(baseline: Any, n_bins: int, columns: Columns) -> np.ndarray:
    """The counts, correct predictions and summed predictions of an earlier report; of weighted rows
    those of Kish's effective number in each bin.

    Raises:
        ValueError: for other bins, or a report on something else than the ``columns`` predict.
    """
    stored = _read_stored(baseline, "baseline")
    _check_predicted("baseline", stored.predicted, _predicted(columns))
    found = stored.sums[_ALL_ROWS].array
    if found.shape[-1] != n_bins:
        raise ValueError(f"baseline: expected {n_bins} bins, found {found.shape[-1]}")
    masses, squared = found[COUNT], squared_sums(found)[0]
    scale = np.divide(masses, squared, out=np.ones_like(masses), where=squared > 0)
    return np.asarray(found[[COUNT, CORRECT, EXPECTED]] * scale)


def _of_tried(recalibrators: TriedRecalibrators) -> dict[str, Any]:
    best = recalibrators.best_found
    return {
        "nll": recalibrators.nll,
        "ece": recalibrators.ece,
        "auroc": recalibrators.auroc,
        "how": recalibrators.how,
        "best": None if best is None else best.name,
        "found": recalibrators.found,
        "groups": recalibrators.groups,
        "per_group": {
            name: {
                "nll": maps.nll,
                "gain": maps.gain,
                "interval": maps.interval,
                "helps": maps.best is not None,
                "parts": maps.parts,
            }
            for name, maps in recalibrators.per_group.items()
        },
    }


def _plain(value: Any) -> Any:
    """The value in types that JSON has; of an object its fields, by name."""
    if isinstance(value, BinSums):
        return dict(zip(_SUMS + _OF_WEIGHTS, value.array.tolist(), strict=False))
    if is_dataclass(value):
        value = vars(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(each) for each in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.generic):
        return value.item()
    return value


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
    first: Any, second: Any, tolerance: float = 0.02, relative_tolerance: float = RELATIVE
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
    check_limits(tolerance, relative_tolerance)
    one, two = _read_stored(first, "first"), _read_stored(second, "second")
    _check_predicted("second", two.predicted, one.predicted)
    if one.sums.keys() == two.sums.keys() and all(
        np.array_equal(one.sums[name].array, two.sums[name].array) for name in one.sums
    ):
        raise ValueError(
            "second: expected a report of other rows than the first, found one of the same rows; "
            "give the report of another month"
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
