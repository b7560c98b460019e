"""A report where the rows stay in their database: one query adds them up, and the report reads
what it gives.

Each term is rounded to a whole number by itself, as in `exact_sums`, so that an engine's threads
and their order cannot change a sum. Every engine of the list adds such numbers exactly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from calib_audit.bin_sums import check_few
from calib_audit.column_types import is_missing, texts_of, times_of, without_point
from calib_audit.columns import Columns, choose_columns
from calib_audit.exact_sums import FARTHEST, PER_LOG_ODDS, UNIT, ExactSums
from calib_audit.formatting import counted_rows
from calib_audit.probabilities import ROUNDED
from calib_audit.rows import LABELS, Counts
from calib_audit.source import Source

__all__ = ["DIALECTS", "are_sums", "query", "sums_in"]

_FINE = 2**62  # units of a weighted term, which is at most 1
_LARGEST = "0.9999999999999999"
_LOWEST = float(-np.log(np.finfo(float).smallest_subnormal))
_BINS = 15
_TIMES = {"Y": 4, "M": 7, "W": 10, "D": 10, "h": 13}  # characters of a date that tell a span
_OF_CELLS = 0, 1, 2, 4, 7, 8, 10  # of the sums with weights
_PART = "about", "part", "value", "place", "hit", "n"
# Run on DuckDB and Postgres; the others differ in these words alone.
# The words for text, a number of 64 bits, a whole one, a decimal one; and the mark of a name.
DIALECTS = {
    "duckdb": ("VARCHAR", "DOUBLE", "BIGINT", "DECIMAL(20, 0)", '"'),
    "postgres": ("TEXT", "DOUBLE PRECISION", "BIGINT", "DECIMAL(20, 0)", '"'),
    "snowflake": ("VARCHAR", "DOUBLE", "BIGINT", "DECIMAL(20, 0)", '"'),
    "bigquery": ("STRING", "FLOAT64", "INT64", "BIGNUMERIC", "`"),
    "spark": ("STRING", "DOUBLE", "BIGINT", "DECIMAL(20, 0)", "`"),
}


def query(
    score: str,
    label: str,
    *,
    group: Sequence[str] = (),
    time: str | None = None,
    weight: str | None = None,
    positive: str | None = None,
    table: str = "predictions",
    dialect: str = "duckdb",
) -> str:
    """The query whose result, stored or as a data frame, `report` takes in place of the rows.

    Args:
        score, label, group, time, weight, positive: the columns, as for `report`; one score only.
        table: what stands after FROM.
        dialect: of `DIALECTS`.

    Raises:
        ValueError: for another dialect, or a name with a quotation mark.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect: expected one of {', '.join(DIALECTS)}, found {dialect!r}")
    day, _, unit = (time or "").rpartition(":")
    names = [score, label, *(name for each in group for name in each.split("*")), weight, day]
    for name in filter(None, [*names, positive]):
        if set(name) & set("'\"`\\"):
            raise ValueError(f"{name}: expected a name without quotation marks or backslashes")
    columns = choose_columns(
        list(filter(None, [*names, unit if time and not day else None])),
        label=label,
        score=score,
        positive=positive,
        weight=weight,
        group=group,
        time=time,
    )
    return _Query(columns, *DIALECTS[dialect]).text(table)


class _Query:
    def __init__(self, columns: Columns, text: str, number: str, whole: str, exact: str, mark: str):
        self.columns, self.mark = columns, mark
        self.types = text, number, whole, exact

    def text(self, table: str) -> str:
        """The whole query."""
        columns = self.columns
        about = asdict(columns) | {"format": 1}
        keys = [f"g{k}" for k in range(len(columns.groups))] + ["span"] * bool(columns.time)
        parts = [f"group {name}" for name in columns.groups] + ["time"] * bool(columns.time)
        sets = ["(bin, hit)", "(cell, hit)", *(f"({key}, bin, hit)" for key in keys)]
        sums = self._sums()
        listed = ", ".join(f"s{k}" for k in range(len(sums)))
        named = "".join(
            f" WHEN {k} IS NOT NULL THEN '{p}'" for k, p in zip(keys, parts, strict=True)
        )
        value = f"coalesce({', '.join(keys)})" if len(keys) > 1 else (keys or ["NULL"])[0]
        nothing = ", ".join(["NULL"] * len(sums))
        summed = ",\n    ".join(f"{each} AS s{k}" for k, each in enumerate(sums))
        held = ", ".join(["bin", "cell", *keys, "hit"])
        return f"""-- The sums that a report takes in place of rows: a line for each bin of a part.
WITH typed AS (
  SELECT {self._typed()}
  FROM {table}
), judged AS (
  SELECT *, {self._fault()} AS fault FROM typed
){self._weighed()}, scored AS (
  SELECT *, {self._scored()} FROM {"weighed" if columns.weight else "judged"}
  WHERE fault IS NULL
), measured AS (
  SELECT *, {self._measured()} FROM scored
), binned AS (
  SELECT *, {_bin()} AS bin FROM measured
), summed AS (
  SELECT {held},
    count(*) AS n,
    {summed}
  FROM binned
  GROUP BY GROUPING SETS ({", ".join(sets)})
)
SELECT '{json.dumps(about, ensure_ascii=False)}' AS about,
  CASE WHEN cell IS NOT NULL THEN 'cell'{named} ELSE 'bin' END AS part,
  {self._as(value, 0)} AS value, coalesce(cell, bin) AS place, hit, n, {listed}
FROM summed
UNION ALL
SELECT NULL, 'fault', fault, NULL, NULL, count(*), {nothing}
FROM judged WHERE fault IS NOT NULL GROUP BY fault
"""

    def _as(self, value: str, k: int) -> str:
        return f"CAST({value} AS {self.types[k]})"

    def _id(self, name: str) -> str:
        return f"{self.mark}{name}{self.mark}"

    def _clean(self, name: str) -> str:
        return f"trim({self._as(self._id(name), 0)})"

    def _typed(self) -> str:
        columns = self.columns
        found = [f"{self._as(self._id(columns.scores[0]), 1)} AS s"]
        found.append(f"{self._clean(columns.label)} AS label_text")
        for k, name in enumerate(columns.groups):
            cells = [self._clean(each) for each in columns.of_group(name)]
            missing = " OR ".join(f"coalesce({cell}, '') = ''" for cell in cells)
            joined = cells[0] if len(cells) == 1 else "concat(" + ", ', ', ".join(cells) + ")"
            found.append(f"CASE WHEN {missing} THEN '' ELSE {joined} END AS g{k}")
        if columns.time:
            length = _TIMES[columns.unit]
            found.append(f"substr({self._clean(columns.time)}, 1, {length}) AS span")
        if columns.weight:
            found.append(f"{self._as(self._id(columns.weight), 1)} AS w")
        return ",\n    ".join(found)

    def _fault(self) -> str:
        """What is wrong with a row, or NULL."""
        columns = self.columns
        (score,) = columns.scores
        cases = [("s IS NULL", "missing", score)]
        cases += [("coalesce(label_text, '') = ''", "missing", columns.label)]
        cases += [(f"g{k} = ''", "missing", name) for k, name in enumerate(columns.groups)]
        if columns.time:
            cases += [("coalesce(span, '') = ''", "missing", columns.time)]
        if columns.weight:
            cases += [("w IS NULL", "missing", columns.weight)]
            # A comparison with NaN is false, or NaN is larger than any number.
            cases += [("NOT (w BETWEEN 0 AND 1e300)", "weight", columns.weight)]
        if columns.kind == "logit":
            cases += [("NOT (s BETWEEN -4e9 AND 4e9)", "logit", score)]
        else:
            cases += [(f"NOT (s BETWEEN 0 AND {1 + ROUNDED})", "probability", score)]
        if columns.positive is None:
            cases += [(f"lower(label_text) NOT IN ({_YES}, {_NO})", "label", columns.label)]
        return "CASE" + "".join(f" WHEN {c} THEN '{what} {n}'" for c, what, n in cases) + " END"

    def _weighed(self) -> str:
        if not self.columns.weight:
            return ""
        return """, heaviest AS (
  SELECT max(w) AS most FROM judged WHERE fault IS NULL
), weighed AS (
  SELECT judged.*, w / most AS v FROM judged CROSS JOIN heaviest WHERE w > 0
)"""

    def _scored(self) -> str:
        """Of each row the confidence c, and whether it is right."""
        c = "least(s, 1)"
        if self.columns.kind == "logit":
            c = "1 / (1 + exp(least(greatest(-s, -700), 700)))"  # some engines refuse exp(710)
        if self.columns.positive is None:
            happened = f"lower(label_text) IN ({_YES})"
        else:
            bare = without_point(np.array([self.columns.positive]))[0]
            happened = f"label_text IN ('{bare}', '{bare}.0')"
        return f"{self._as(c, 1)} AS c, CASE WHEN {happened} THEN 1 ELSE 0 END AS hit"

    def _measured(self) -> str:
        """The NLL, the cell of log-odds, and nearly the bin."""
        kept = f"least(c, {_LARGEST})"
        odds = f"CASE WHEN c <= 1e-300 THEN -{FARTHEST} ELSE ln({kept} / (1 - {kept})) END"
        low = f"CASE WHEN c <= 1e-300 THEN {_LOWEST!r} ELSE -ln({kept}) END"
        nll = f"CASE WHEN hit = 1 THEN {low} ELSE -ln(1 - {kept}) END"
        if self.columns.kind == "logit":
            odds, far = "s", "CASE WHEN hit = 1 THEN -s ELSE s END"
            nll = f"greatest({far}, 0) + ln(1 + exp(-least(abs(s), 700)))"
        near_zero = f"least(greatest({odds}, -{FARTHEST}), {FARTHEST})"
        cell = f"floor(({near_zero} + {FARTHEST}) * {PER_LOG_ODDS} + 0.5)"
        near = self._as(f"least(floor(c * {_BINS}), {_BINS - 1})", 2)
        return f"{self._as(nll, 1)} AS nll, {self._as(cell, 2)} AS cell, {near} AS near"

    def _sums(self) -> list[str]:
        lean = "(1 - 2 * c) * (1 - 2 * c)"
        right = "CASE WHEN (c > 0.5 AND hit = 1) OR (c <= 0.5 AND hit = 0) THEN 1 ELSE 0 END"
        if not self.columns.weight:
            moments = [self._sum(each) for each in ("c", "c * c")]
            losses = ["nll", f"c * (1 - c) * {lean}", right]
        else:
            terms = ["v", "v * c", "v * (c * c)", "v * v", "(v * v) * c", "(v * v) * (c * c)"]
            moments = [self._sum(each, _FINE) for each in terms]
            losses = ["v * nll", f"(v * (hit - c)) * (v * (hit - c)) * {lean}", f"v * {right}"]
        return [*moments, *map(self._sum, losses)]

    def _sum(self, term: str, unit: float = UNIT) -> str:
        half = " + 0.5" if unit == UNIT else ""
        return f"sum({self._as(self._as(f'floor(({term}) * {unit:.0f}e0{half})', 2), 3)})"


def _labels(of: int) -> str:
    """The words that mean 0, or 1; a whole number may be written as a float."""
    words = [word for word, label in LABELS.items() if label == of]
    return ", ".join(f"'{w}', '{w}.0'" if w.isdigit() else f"'{w}'" for w in words)


_NO, _YES = map(_labels, (0, 1))


def _bin() -> str:
    """The bin of c, right-closed; an edge that float32 rounds up is still one."""
    edges = np.arange(1, _BINS) / _BINS
    up = [float(e) for e, given in zip(edges.astype(np.float32), edges, strict=True) if e > given]
    marks = ", ".join(map(repr, up))
    return (
        f"CASE WHEN near > 0 AND (c <= near / {_BINS}e0 OR c IN ({marks})) THEN near - 1 "
        "ELSE near END"
    )


def are_sums(source: Source) -> bool:
    """Whether a source is the result of a `query`, and not rows."""
    return {*_PART, "s0", "s1"} <= set(map(str.lower, source.columns))


def sums_in(source: Source, drop: bool) -> tuple[Columns, ExactSums, Counts]:
    """What `ExactSums` has, of the result of a `query`.

    Raises:
        ValueError: if the query found rows that are no predictions, or none.
    """
    low = {name.lower(): name for name in source.columns}
    names = [low[name] for name in (*_PART, *(f"s{k}" for k in range(9))) if name in low]
    blocks = list(source.blocks(names))
    about, part, value, place, hit, n, *sums = (
        np.concatenate([block[name] for block in blocks]) for name in names
    )
    about, part = about[~is_missing(about)], texts_of(part)
    counts = _counted(part, value, n, drop, source.name)
    if not len(about):
        raise ValueError(f"{source.name}: there are no rows")
    known: dict[str, Any] = json.loads(str(about[0]))
    if known.pop("format", None) != 1:
        raise ValueError(f"{source.name}: expected sums in format 1; print the query again")
    lists = {key: tuple(each) for key, each in known.items() if isinstance(each, list)}
    columns = Columns(**(known | lists))
    found = ExactSums(_BINS, weighted=columns.weight is not None)
    weighted = found.weighted
    for which, name, at, right, count, *rest in zip(
        part.tolist(), value.tolist(), place, hit, n, *sums, strict=True
    ):
        if which == "fault":
            continue
        column = _split(list(map(int, (count, *rest[:-3]))), weighted)
        if which == "cell":
            found.cells[:, int(right), int(at)] = (
                [column[k] for k in _OF_CELLS] if weighted else column[:2]
            )
            continue
        array = found.bins
        if which == "time":
            where = _span(str(name), columns)
            array = found.times.setdefault(where, np.zeros_like(found.bins))
        elif which != "bin":
            group = which.removeprefix("group "), _cell_name(str(name))
            array = found.groups.setdefault(group, np.zeros_like(found.bins))
        else:
            added = map(int, rest[-3:])
            found.losses = [a + b for a, b in zip(found.losses, added, strict=True)]
        array[:, int(right), int(at)] += column
    check_few(found.groups)
    counts.read += found.n
    return columns, found, counts


def _split(numbers: list[int], weighted: bool) -> list[int]:
    """With weights, sums in units of 2^-62 as a high and a low part."""
    if not weighted:
        return numbers
    scaled = [4 * each for each in numbers[1:]]
    return [numbers[0], *(each >> 32 for each in scaled), *(each & 0xFFFFFFFF for each in scaled)]


def _cell_name(text: str) -> str:
    return ", ".join(without_point(np.array(text.split(", "))).tolist())


def _span(text: str, columns: Columns) -> str:
    """The span of a date as the engine writes it; weeks are made of days."""
    text = f"{text}:00" if columns.unit == "h" else text
    times = times_of(np.array([text]), columns, np.array([0]))
    return str(np.datetime_as_string(times)[0])


def _counted(part: Any, value: Any, n: Any, drop: bool, name: str) -> Counts:
    """Of the rows that the query left out, those that may be missing.

    Raises:
        ValueError: if there are others.
    """
    counts = Counts(doubtful=False)
    faults: Mapping[str, int] = {
        str(value[k]): int(n[k]) for k in np.flatnonzero(part == "fault").tolist()
    }
    expected = {
        "missing": "a value in each row; fill them, or leave such rows out with drop=True",
        "weight": "finite weights of 0 or more",
        "probability": "probabilities from 0 to 1; name a column of log-odds logit_…",
        "logit": "finite log-odds",
        "label": "0 or 1; name the positive label with positive=...",
    }
    for fault, times in faults.items():
        what, _, column = fault.partition(" ")
        if what != "missing" or not drop:
            raise ValueError(
                f"{column}: expected {expected[what]} ({counted_rows(times)} of the database are "
                "not so)"
            )
        counts.dropped += times
    counts.read = counts.dropped
    return counts
