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
from calib_audit.column_types import (
    as_coded,
    is_missing,
    name_of,
    texts_of,
    times_of,
    without_point,
)
from calib_audit.columns import Columns, choose_columns
from calib_audit.exact_sums import CELL_ENDS, FARTHEST, PER_LOG_ODDS, UNIT, ExactSums
from calib_audit.formatting import counted_rows
from calib_audit.lots import SEED, Lots
from calib_audit.probabilities import ROUNDED
from calib_audit.rows import LABELS, Counts, Rows
from calib_audit.source import Source
from calib_utils.metrics.bins import sums_per_bin

_FINE = 2**62  # units of a weighted term, which is at most 1
_LARGEST = "0.9999999999999999"
_LOWEST = float(-np.log(np.finfo(float).smallest_subnormal))
_BINS = 15
_FORMAT = 3
_STEP = 1_000_000  # rows that are counted at once
_TIMES = {"Y": 4, "M": 7, "W": 10, "D": 10, "h": 13}  # characters of a date that tell a span
_OF_CELLS = 0, 1, 2, 4, 7, 8, 10  # of the sums with weights
_PART = "about", "part", "value", "place", "hit", "n"
# Run on DuckDB, Postgres and Spark; the others differ in these words alone.
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
    classes: Sequence[str] = (),
    blocks: str | None = None,
    table: str = "predictions",
    dialect: str = "duckdb",
) -> str:
    """The query whose result, stored or as a data frame, `report` takes in place of the rows.

    Args:
        score, label, group, time, weight, positive, blocks: the columns, as for `report`.
        classes: the names that take the place of the asterisk in a ``score`` such as ``prob_*``.
        table: what stands after FROM.
        dialect: of `DIALECTS`.

    Raises:
        ValueError: for another dialect, a name with a quotation mark, log-probabilities, or blocks
            together with a weight or a time.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect: expected one of {', '.join(DIALECTS)}, found {dialect!r}")
    day, _, unit = (time or "").rpartition(":")
    scores = [score]
    if classes:
        if score.count("*") != 1:
            raise ValueError(f"score: expected one * for each of the classes, found {score!r}")
        scores = [score.replace("*", name) for name in classes]
    names = [*scores, label, *(name for each in group for name in each.split("*")), weight, day]
    names += [blocks]
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
        classes=classes,
        blocks=blocks,
    )
    if columns.kind == "logprobs":
        raise ValueError(
            f"score: expected probabilities or logits, found {score!r}; log-probabilities may be "
            "missing, so a report needs their rows"
        )
    return _Query(columns, *DIALECTS[dialect]).text(table)


class _Query:
    def __init__(self, columns: Columns, text: str, number: str, whole: str, exact: str, mark: str):
        self.columns, self.mark = columns, mark
        self.types = text, number, whole, exact
        self.kept = "weighed" if columns.weight else "judged"  # the rows that may be summed

    def text(self, table: str) -> str:
        """The whole query."""
        columns = self.columns
        about = asdict(columns) | {"format": _FORMAT}
        keys = [f"g{k}" for k in range(len(columns.groups))] + ["span"] * bool(columns.time)
        if columns.blocks:
            return self._of_blocks(table, json.dumps(about, ensure_ascii=False), keys)
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
        return f"""{self._binned(table)}, summed AS (
  SELECT {held},
    count(*) AS n,
    {summed}
  FROM binned
  GROUP BY GROUPING SETS ({", ".join(sets)})
)
SELECT '{json.dumps(about, ensure_ascii=False)}' AS about,
  CASE WHEN cell IS NOT NULL THEN 'cell'{named} ELSE 'bin' END AS part,
  {self._as(value, 0)} AS value, coalesce(cell, bin) AS place, hit, n, {listed}
FROM summed{self._of_classes()}
{self._of_values(nothing)}"""

    def _binned(self, table: str) -> str:
        """The rows, with all that is summed."""
        return f"""-- The sums that a report takes in place of rows: a line for each bin of a part.
WITH typed AS (
  SELECT {self._typed()}
  FROM {table}
), judged AS (
  SELECT *, {self._fault()} AS fault FROM typed
){self._weighed()}{self._classified()}, scored AS (
  SELECT *, {self._scored()} FROM {"classified" if self.columns.classes else self.kept}
  WHERE fault IS NULL
), measured AS (
  SELECT *, {self._measured()} FROM scored
), binned AS (
  SELECT *, {_bin()} AS bin FROM measured
)"""

    def _of_blocks(self, table: str, about: str, keys: list[str]) -> str:
        """A line for each bin and cell of a block, and not of all rows."""
        held = ", ".join(["block", *keys, "bin", "cell", "hit"])
        named = "".join(f", {key} AS k{k}" for k, key in enumerate(keys))
        nothing, unknown = ", ".join(["NULL"] * (4 + len(keys))), ", NULL" * (1 + len(keys))
        sums = ", ".join(
            f"{each} AS s{k}" for k, each in enumerate([self._sum("c"), *self._sums()[-3:]])
        )
        terms = "c", "c * c", "sqrt(greatest(c * (1 - c), 0))"
        moments = ", ".join(map(self._sum, terms))
        of_classes = "".join(
            f"""
UNION ALL
SELECT NULL, 'class', block, {k}, hit, count(*), {moments}{unknown}
FROM (SELECT block, {self._of_class(k)} FROM classified) AS of_class GROUP BY block, hit"""
            for k in range(len(self.columns.classes))
        )
        return f"""{self._binned(table)}
SELECT '{about}' AS about, 'block' AS part, block AS value, cell AS place, hit,
  count(*) AS n, {sums}{named}
FROM binned GROUP BY {held}{of_classes}
{self._of_values(nothing)}"""

    def _of_values(self, nothing: str) -> str:
        """The lines of faults, and of labels where others than the positive one are negative."""
        held = [("fault", "fault", "fault IS NOT NULL")]
        if self.columns.positive is not None:
            held.append(("label", "label_text", "fault IS NULL"))
        return "".join(
            f"""UNION ALL
SELECT NULL, '{part}', {value}, NULL, NULL, count(*), {nothing}
FROM judged WHERE {which} GROUP BY {value}
"""
            for part, value, which in held
        )

    def _classified(self) -> str:
        """Of each row the number of its class, and the probability of each class."""
        names = self.columns.classes
        if not names:
            return ""
        whens = " ".join(f"WHEN {test} THEN {k}" for k, test in _labels_of(names))
        largest = f"greatest({', '.join(f's{k}' for k in range(len(names)))})"
        if self.columns.kind == "probs":
            return f""", classified AS (
  SELECT *, CASE {whens} END AS y,
    {", ".join(f"{_cut(f's{k}')} AS p{k}" for k in range(len(names)))}
  FROM {self.kept} WHERE fault IS NULL
)"""
        powers = " + ".join(f"exp(z{k})" for k in range(len(names)))
        distances = ", ".join(f"greatest(s{k} - most_s, -700) AS z{k}" for k in range(len(names)))
        return f""", largest AS (
  SELECT *, CASE {whens} END AS y, {largest} AS most_s FROM {self.kept} WHERE fault IS NULL
), apart AS (
  SELECT *, {distances} FROM largest
), added AS (
  SELECT *, ln({powers}) AS lse FROM apart
), classified AS (
  SELECT *, {", ".join(f"exp(z{k} - lse) AS p{k}" for k in range(len(names)))} FROM added
)"""

    def _of_classes(self) -> str:
        """The lines of each class, whose probability is compared with whether it is the label."""
        moments = self._sums()[:-3]
        listed = ", ".join([*moments, "NULL", "NULL", "NULL"])
        weight = ", v" if self.columns.weight else ""
        return "".join(
            f"""
UNION ALL
SELECT NULL, 'class', '{k}', bin, hit, count(*), {listed} FROM (
  SELECT *, {_bin()} AS bin FROM (
    SELECT {self._of_class(k)}{weight}, {self._near(f"p{k}")} AS near FROM classified
  ) AS of_class
) AS in_bins GROUP BY bin, hit"""
            for k in range(len(self.columns.classes))
        )

    def _of_class(self, k: int) -> str:
        """The probability of a class, and whether it is the label."""
        return f"{self._as(f'p{k}', 1)} AS c, CASE WHEN y = {k} THEN 1 ELSE 0 END AS hit"

    def _as(self, value: str, k: int) -> str:
        return f"CAST({value} AS {self.types[k]})"

    def _id(self, name: str) -> str:
        return f"{self.mark}{name}{self.mark}"

    def _clean(self, name: str) -> str:
        return f"trim({self._as(self._id(name), 0)})"

    def _typed(self) -> str:
        columns = self.columns
        named = ["s"] if not columns.classes else [f"s{k}" for k in range(len(columns.scores))]
        found = [
            f"{self._as(self._id(each), 1)} AS {name}"
            for each, name in zip(columns.scores, named, strict=True)
        ]
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
        if columns.blocks:
            found.append(f"{self._clean(columns.blocks)} AS block")
        return ",\n    ".join(found)

    def _fault(self) -> str:
        """What is wrong with a row, or NULL."""
        columns = self.columns
        named = ["s"] if not columns.classes else [f"s{k}" for k in range(len(columns.scores))]
        scores = list(zip(named, columns.scores, strict=True))
        cases = [(f"{each} IS NULL", "missing", name) for each, name in scores]
        cases += [("coalesce(label_text, '') = ''", "missing", columns.label)]
        cases += [(f"g{k} = ''", "missing", name) for k, name in enumerate(columns.groups)]
        if columns.time:
            cases += [("coalesce(span, '') = ''", "missing", columns.time)]
        if columns.weight:
            cases += [("w IS NULL", "missing", columns.weight)]
            # A comparison with NaN is false, or NaN is larger than any number.
            cases += [("NOT (w BETWEEN 0 AND 1e300)", "weight", columns.weight)]
        if columns.blocks:
            cases += [("coalesce(block, '') = ''", "missing", columns.blocks)]
        what, low, high = "probability", str(-ROUNDED), str(1 + ROUNDED)
        if columns.kind in ("logit", "logits"):
            what, low, high = "logit", "-4e9", "4e9"
        cases += [(f"NOT ({each} BETWEEN {low} AND {high})", what, name) for each, name in scores]
        if columns.kind == "probs":
            total = " + ".join(map(_cut, named))
            last = f"{columns.scores[0]} to {columns.scores[-1]}"
            cases += [(f"abs({total} - 1) > {ROUNDED}", "sum", last)]
        if columns.classes:
            known = " OR ".join(test for _, test in _labels_of(columns.classes))
            cases += [(f"NOT ({known})", "class", columns.label)]
        elif columns.positive is None:
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
        k_classes = len(self.columns.classes)
        if k_classes:
            top = f"greatest({', '.join(f'p{k}' for k in range(k_classes))})"
            first = " ".join(f"WHEN p{k} = {top} THEN {k}" for k in range(k_classes))
            hit = f"CASE WHEN y = CASE {first} END THEN 1 ELSE 0 END"
            return f"{self._as(f'least({top}, 1)', 1)} AS c, {hit} AS hit"
        c = _cut("s")
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
        if self.columns.classes:
            nll = self._nll_of_classes()
        near_zero = f"least(greatest({odds}, -{FARTHEST}), {FARTHEST})"
        cell = f"floor(({near_zero} + {FARTHEST}) * {PER_LOG_ODDS} + 0.5)"
        return f"{self._as(nll, 1)} AS nll, {self._as(cell, 2)} AS cell, {self._near('c')} AS near"

    def _near(self, c: str) -> str:
        """The bin of c, or the next one if it is on an edge."""
        return self._as(f"least(floor({c} * {_BINS}), {_BINS - 1})", 2)

    def _nll_of_classes(self) -> str:
        places = range(len(self.columns.classes))
        if self.columns.kind == "logits":
            return f"lse - CASE y {' '.join(f'WHEN {k} THEN z{k}' for k in places)} END"
        own = f"CASE y {' '.join(f'WHEN {k} THEN p{k}' for k in places)} END"
        total = " + ".join(f"p{k}" for k in places)
        return (
            f"ln({total}) + CASE WHEN {own} <= 1e-300 THEN {_LOWEST!r} "
            f"ELSE -ln(greatest({own}, 1e-300)) END"
        )

    def _sums(self) -> list[str]:
        lean = "(1 - 2 * c) * (1 - 2 * c)"
        right = "CASE WHEN (c > 0.5 AND hit = 1) OR (c <= 0.5 AND hit = 0) THEN 1 ELSE 0 END"
        if self.columns.classes:
            right = "hit"
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


def _cut(score: str) -> str:
    """A probability that rounding has taken beyond 0 or 1."""
    return f"greatest(least({score}, 1), 0)"


def _labels_of(classes: Sequence[str]) -> list[tuple[int, str]]:
    """The number of a class, and a test of a label; a name as it is written goes first."""
    texts = [f"'{name}', '{name}.0'" if name.isdigit() else f"'{name}'" for name in classes]
    return [
        (k, f"{label} IN ({text})")
        for label in ("label_text", "lower(label_text)")
        for k, text in enumerate(texts)
    ]


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
    return {*_PART, "s0"} <= set(map(str.lower, source.columns))


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
    if known.pop("format", None) != _FORMAT:
        raise ValueError(f"{source.name}: expected sums in format {_FORMAT}; print the query again")
    lists = {key: tuple(each) for key, each in known.items() if isinstance(each, list)}
    columns = Columns(**(known | lists))
    if columns.blocks is not None:
        keys = [low[f"k{k}"] for k in range(len(columns.groups))]
        named = [block for names in [keys] if names for block in source.blocks(names)]
        groups = [np.concatenate([block[key] for block in named]) for key in keys]
        lines = value, place, hit, n, *sums
        kept = part == "block"
        found = _rows_again(columns, *(each[kept] for each in (*lines, *groups)))
        kept = part == "class"
        _add_classes(found, *(each[kept] for each in lines))
        counts.read += found.n
        return columns, found, counts
    found = ExactSums(_BINS, len(columns.classes), weighted=columns.weight is not None)
    weighted = found.weighted
    for which, name, at, right, count, *rest in zip(
        part.tolist(), value.tolist(), place, hit, n, *sums, strict=True
    ):
        if which in ("fault", "label"):
            continue
        column = _split(list(map(int, (count, *rest[:-3]))), weighted)
        if which == "cell":
            found.cells[:, int(right), int(at)] = (
                [column[k] for k in _OF_CELLS] if weighted else column[:2]
            )
            continue
        array = found.bins
        if which == "class":
            array = found.classes[int(name)]
        elif which == "time":
            where = _span(str(name), columns)
            array = found.times.setdefault(where, np.zeros_like(found.bins))
        elif which != "bin":
            of = which.removeprefix("group ")
            group = of, _group_name(str(name), of in columns.crossed)
            array = found.groups.setdefault(group, np.zeros_like(found.bins))
        else:
            added = map(int, rest[-3:])
            found.losses = [a + b for a, b in zip(found.losses, added, strict=True)]
        array[:, int(right), int(at)] += column
    check_few(found.groups)
    counts.read += found.n
    return columns, found, counts


def _rows_again(columns: Columns, block: Any, cell: Any, hit: Any, n: Any, *sums: Any) -> ExactSums:
    """The rows of each block, of which each has the mean confidence of its bin and cell.

    The losses are those of the rows. With several classes the confidence is all that is known.
    """
    times, cells = n.astype(np.int64), cell.astype(np.int64)
    ends = CELL_ENDS[cells], CELL_ENDS[cells + 1]
    means, labels = np.clip(_floats(sums[0]) / UNIT / times, *ends), hit.astype(np.int64)
    blocks = as_coded(texts_of(block))
    groups = {
        name: as_coded(
            np.array([_group_name(str(each), name in columns.crossed) for each in values])
        )
        for name, values in zip(columns.groups, sums[4:], strict=True)
    }
    # Sums are rounded, and so are the means: one of rows on an edge is on it in float32.
    lines = Rows(means, None, labels, groups, None, None, "float32", blocks)
    found = ExactSums(_BINS, lots=Lots(SEED, from_logits=False))
    which = np.repeat(np.arange(len(times)), times)
    for start in range(0, len(which), _STEP):
        found.add(lines.take(which[start : start + _STEP]))
    found.losses = [sum(map(int, each)) for each in sums[1:4]]
    found.classes = np.zeros((len(columns.classes), *found.bins.shape), np.int64)
    return found


def _add_classes(
    found: ExactSums,
    block: Any,
    k: Any,
    hit: Any,
    n: Any,
    c: Any,
    squares: Any,
    spread: Any,
    _: Any,
) -> None:
    """The probability of each class, of all rows and of each block."""
    which, right, rows = (each.astype(np.int64) for each in (k, hit, n))
    for term, values in enumerate((rows, c, squares)):
        np.add.at(found.classes, (which, term, right, 0), [int(each) for each in values])
    terms = rows, right * rows, _floats(c) / UNIT, _floats(spread) / UNIT
    numbers = np.unique(texts_of(block), return_inverse=True)[1]
    size = int(numbers.max(initial=-1)) + 1
    for each in range(len(found.classes)):
        here = which == each
        sums = [term[here].astype(np.float64) for term in terms]
        found.class_blocks.append(sums_per_bin(numbers[here], sums, size))


def _floats(numbers: Any) -> np.ndarray:
    return np.array([int(each) for each in numbers], np.float64)


def _split(numbers: list[int], weighted: bool) -> list[int]:
    """With weights, sums in units of 2^-62 as a high and a low part."""
    if not weighted:
        return numbers
    scaled = [4 * each for each in numbers[1:]]
    return [numbers[0], *(each >> 32 for each in scaled), *(each & 0xFFFFFFFF for each in scaled)]


def _group_name(text: str, crossed: bool) -> str:
    return ", ".join(map(name_of, text.split(", ") if crossed else [text]))


def _span(text: str, columns: Columns) -> str:
    """The span of a date as the engine writes it; weeks are made of days."""
    text = f"{text}:00" if columns.unit == "h" else text
    times = times_of(np.array([text]), np.array([0]), str(columns.time), columns.unit)
    return str(np.datetime_as_string(times)[0])


def _counted(part: Any, value: Any, n: Any, drop: bool, name: str) -> Counts:
    """Of the rows that the query left out, those that may be missing; and the labels that it saw.

    Raises:
        ValueError: if there are others.
    """
    seen = without_point(texts_of(value[part == "label"]))
    counts = Counts(doubtful=False, seen={*seen.tolist()})
    faults: Mapping[str, int] = {
        str(value[k]): int(n[k]) for k in np.flatnonzero(part == "fault").tolist()
    }
    expected = {
        "missing": "a value in each row; fill them, or leave such rows out with drop=True",
        "weight": "finite weights of 0 or more",
        "probability": "probabilities from 0 to 1; name a column of log-odds logit_…",
        "logit": "finite log-odds",
        "sum": "probabilities that sum to 1",
        "class": "one of the classes",
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
