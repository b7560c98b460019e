"""The report on sums that a database made is that on its rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.sql import DIALECTS, query

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

N = 6_000
RNG = np.random.default_rng(0)
SCORE = RNG.beta(1, 3, N)
SCORE[:40] = np.repeat([0.0, 1.0, 0.2, 3 / 5], 10)  # at the ends, and on edges of bins
HAPPENED = RNG.random(N) < SCORE
HOURS = np.datetime64("2026-06-01T00:30", "s") + RNG.integers(0, 30 * 24, N) * 3600
COLUMNS: dict[str, Any] = {
    "p": SCORE,
    "logit_p": np.clip(np.log(np.maximum(SCORE, 1e-9) / np.maximum(1 - SCORE, 1e-9)), -30, 30),
    "narrow": pa.array(SCORE.astype(np.float32)),
    "y": HAPPENED.astype(int),
    "said": np.where(HAPPENED, "late", "in time"),
    "region": np.array(["north", "south", "서울"])[RNG.integers(3, size=N)],
    "size": RNG.integers(1, 4, N).astype(float),
    "hour": HOURS,
    "zoned": pa.array(HOURS, pa.timestamp("s")).cast(pa.timestamp("us", "Asia/Seoul")),
    "written": [f"{hour}+09:00" for hour in HOURS],
    "vip": RNG.random(N) < 0.3,
    "w": np.where(HAPPENED, 1.0, 20.0),
}
LOGITS = 2 * RNG.normal(size=(N, 3))
LOGITS[:20, 1] = LOGITS[:20, 0]  # of equal ones the first counts
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
ANIMALS = ["cat", "dog", "hen"]
OF_CLASSES = {
    **{f"prob_{name}": PROBS[:, k] for k, name in enumerate(ANIMALS)},
    **{f"logit_of_{name}": LOGITS[:, k] for k, name in enumerate(ANIMALS)},
    "animal": np.array(ANIMALS)[(LOGITS / 1.5 + RNG.gumbel(size=LOGITS.shape)).argmax(axis=1)],
}
PATIENTS = {"patient": RNG.integers(0, 300, N)}


def sums_of(rows: Any, **options: Any) -> Any:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Seoul'")
        connection.register("predictions", rows)
        return connection.sql(query(**options)).to_arrow_table()


def numbers(found: Any) -> dict[str, Any]:
    """All that a report says but where it comes from."""
    known = json.loads(found.json())
    return {key: each for key, each in known.items() if key not in ("facts", "read")}


def leaves(known: Any) -> list[Any]:
    if isinstance(known, dict):
        return [each for key in sorted(known) for each in leaves(known[key])]
    return [each for part in known for each in leaves(part)] if isinstance(known, list) else [known]


def assert_near(one: Any, two: Any, rel: float) -> None:
    pairs = list(zip(leaves(numbers(one)), leaves(numbers(two)), strict=True))
    assert [type(a) for a, _ in pairs] == [type(b) for _, b in pairs]
    for a, b in pairs:
        assert b == (pytest.approx(a, rel=rel, abs=rel) if isinstance(a, float) else a)


@pytest.mark.parametrize(
    "options",
    [
        {"score": "p", "label": "y", "group": ["region", "size", "region*size"]},
        {"score": "p", "label": "y", "group": ["vip", "hour", "zoned", "vip*size"]},
        {"score": "narrow", "label": "y", "time": "hour:W"},
        {"score": "p", "label": "said", "positive": "late", "time": "zoned:D"},
        {"score": "p", "label": "y", "time": "written:h", "group": ["size"]},
        {"score": "logit_p", "label": "y"},
        {"score": "p", "label": "y", "weight": "w", "group": ["region"]},
        {"score": "prob_*", "label": "animal", "classes": ANIMALS, "group": ["region"]},
        {"score": "logit_of_*", "label": "animal", "classes": ANIMALS, "time": "hour:D"},
        {"score": "prob_*", "label": "animal", "classes": ANIMALS, "weight": "w"},
        {"score": "prob_*", "label": "animal", "classes": ANIMALS, "positive": "dog"},
    ],
    ids=[
        *("groups", "other groups", "float32", "time zone", "text", "log-odds", "weights"),
        *("classes", "logits", "weights of classes", "one class"),
    ],
)
def test_beyond_what_is_kept_the_two_are_equal(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("lots", "totals"):
        monkeypatch.setattr(f"calib_audit.{module}.MOST_DRAWN", 1_000)
    rows = pa.table(COLUMNS | OF_CLASSES)
    found = report(sums_of(rows, **options))
    assert_near(report(rows, cross_fit=0, **options), found, 1e-12)
    assert "compare and apply" in found.text()
    assert "1,000 rows, each with the mean confidence of its cell" in found.text()


@pytest.mark.parametrize(
    "options",
    [
        {"score": "p", "label": "y"},
        {"score": "prob_*", "label": "animal", "classes": ANIMALS},
        {"score": "logit_of_*", "label": "animal", "classes": ANIMALS},
    ],
    ids=["one score", "classes", "logits"],
)
def test_blocks_are_read_from_their_bins_and_cells(options: dict[str, Any]) -> None:
    """A line stands for the rows of a block in a bin and a cell, so nearly nothing is lost."""
    rows = pa.table(COLUMNS | OF_CLASSES | PATIENTS)
    options = options | {"blocks": "patient", "group": ["region"]}
    of_rows, of_sums = report(rows, cross_fit=0, **options), report(sums_of(rows, **options))
    a, b = of_rows.measures, of_sums.measures
    assert b.blocks == a.blocks == 300
    assert_near(of_rows, of_sums, 2e-3)
    assert b.error == pytest.approx(a.error, abs=1e-5)
    assert b.nll == pytest.approx(a.nll, abs=1e-8)
    pairs = [(of_rows.groups["region"], of_sums.groups["region"])]
    pairs.append((of_rows.classes, of_sums.classes))
    for one, two in ((one, two) for each in pairs for one, two in zip(*each, strict=True)):
        assert two.gap == pytest.approx(one.gap, abs=1e-8)
        assert two.interval == pytest.approx(one.interval, abs=1e-8)
    if options["label"] == "animal":
        assert b.brier == pytest.approx(a.brier, abs=1e-8)
        assert len(of_sums.classes) == 3
    assert "the mean confidence of its block" in of_sums.text()


@pytest.mark.parametrize("more", [{"weight": "w"}, {"time": "hour:D"}])
def test_blocks_with_weights_or_a_time_are_refused_as_of_rows(more: dict[str, str]) -> None:
    options = {"score": "p", "label": "y", "blocks": "patient", **more}
    with pytest.raises(ValueError, match=f"^blocks: expected without {min(more)}, found both"):
        query(**options)
    with pytest.raises(ValueError, match=f"^blocks: expected without {min(more)}, found both"):
        report(pa.table(COLUMNS | PATIENTS), **options)


@pytest.mark.parametrize(
    "options",
    [{"score": "p"}, {"score": "logit_p"}, {"score": "p", "weight": "w", "group": ["region"]}],
    ids=["probabilities", "log-odds", "weights"],
)
def test_what_needs_rows_is_near(options: dict[str, Any]) -> None:
    """Cells of log-odds stand for the rows in slope, AUROC, bins of equal mass and decomposition,
    which differ little; all sums over bins and groups are the same.
    """
    rows = pa.table(COLUMNS)
    of_rows = report(rows, label="y", cross_fit=0, **options)
    of_sums = report(sums_of(rows, label="y", **options))
    for one, two in zip(of_rows.bins.array, of_sums.bins.array, strict=True):
        assert two == pytest.approx(one, rel=1e-9, abs=1e-9)
    assert numbers(of_sums)["groups"] == [] or of_sums.groups.keys() == of_rows.groups.keys()
    a, b = of_rows.measures, of_sums.measures
    for name in ("predicted", "happened", "nll", "brier", "accuracy", "ece", "z", "debiased"):
        assert getattr(b, name) == pytest.approx(getattr(a, name), rel=1e-6), name
    assert b.auroc == pytest.approx(a.auroc, abs=2e-3)
    assert b.error == pytest.approx(a.error, abs=2e-3)
    assert b.line.slope == pytest.approx(a.line.slope, rel=1e-2)
    assert of_sums.verdict.outcome == of_rows.verdict.outcome


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("p", None, r"p: expected a value in each row; .* \(1 row of the database"),
        ("p", float("nan"), r"p: expected probabilities from 0 to 1"),
        ("p", 2.0, r"p: expected probabilities from 0 to 1"),
        ("y", 7, r"y: expected 0 or 1; name the positive label"),
        ("region", " ", r"region: expected a value in each row"),
        ("hour", None, r"hour: expected a value in each row"),
        ("w", -1.0, r"w: expected finite weights of 0 or more"),
    ],
)
def test_rows_that_are_no_predictions_are_counted(name: str, value: Any, message: str) -> None:
    rows = pa.table({key: list(np.asarray(each)[:500]) for key, each in COLUMNS.items()})
    changed = rows[name].to_pylist()
    changed[7] = value
    place = rows.column_names.index(name)
    rows = rows.set_column(place, name, pa.array(changed, rows[name].type))
    options = {"group": ["region"], "time": "hour:D", "weight": "w"}
    sums = sums_of(rows, score="p", label="y", **options)
    with pytest.raises(ValueError, match=message):
        report(sums)
    if "a value in each row" in message:
        found = report(sums, drop=True)
        assert found.measures.n == 499
        assert "1 row was dropped because a value was missing" in found.read


@pytest.mark.parametrize("blocks", [None, "patient"])
@pytest.mark.parametrize("labels", [("Yes", "no"), ("YES", "yes"), ("no", "no")])
def test_a_positive_label_is_taken_or_refused_as_in_rows(
    labels: tuple[str, str], blocks: str | None
) -> None:
    """Where it is misspelt, nothing would have happened; where it is rare, nothing has."""
    of_rows = {"p": SCORE, "y": np.where(HAPPENED, *labels), **PATIENTS}
    options = {"score": "p", "label": "y", "positive": "yes", "blocks": blocks}
    sums = sums_of(pa.table(of_rows), **options)
    if labels == ("no", "no"):
        assert report(sums).measures.happened == 0
        assert "no row has the label 'yes'" in report(sums).read
        return
    with pytest.raises(ValueError, match=r"^positive: expected ") as expected:
        report(of_rows, cross_fit=0, **options)
    with pytest.raises(ValueError, match=r"^positive: expected ") as found:
        report(sums)
    assert str(found.value) == str(expected.value)


def test_a_positive_label_that_occurs_is_not_said_to_be_missing() -> None:
    sums = sums_of(pa.table(COLUMNS), score="p", label="said", positive="late")
    assert not any("no row has" in line for line in report(sums).read)


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_groups_have_one_name_in_sums_and_rows_of_any_form(form: str, tmp_path: Path) -> None:
    """Otherwise a group of last month's rows would be missing in this month's sums."""
    pd = pytest.importorskip("pandas")
    hours = pd.Series(HOURS).dt.floor("12h")
    values = {
        "vip": COLUMNS["vip"],
        "vips": np.where(COLUMNS["vip"], "YES", "TRUE"),
        "size": COLUMNS["size"],
        "day": hours.dt.floor("D"),
        "hour": hours,
        "tick": hours + pd.Timedelta("1.25s"),
        "zoned": hours.dt.tz_localize("Asia/Seoul"),
        "date": hours.dt.date,
    }
    frame = pd.DataFrame({"p": SCORE, "y": COLUMNS["y"], **values})
    options = {"score": "p", "label": "y", "group": list(values)}
    rows: Any = frame if form == "frame" else tmp_path / f"a.{form}"
    if form == "csv":
        frame.to_csv(rows, index=False)
    elif form == "parquet":
        frame.to_parquet(rows)
    names = {
        name: [(part.name, part.n) for part in parts]
        for name, parts in report(rows, cross_fit=0, **options).groups.items()
    }
    of_sums = report(sums_of(frame, **options)).groups
    assert names == {name: [(part.name, part.n) for part in of_sums[name]] for name in values}
    firsts = {name: parts[0][0] for name, parts in names.items()}
    assert firsts == {"vip": "False", "vips": "TRUE", "size": "1", "date": "2026-06-01"} | {
        "day": "2026-06-01",
        "hour": "2026-06-01",
        "tick": "2026-06-01 00:00:01.25",
        "zoned": "2026-06-01",
    }
    assert names["hour"][1][0] == "2026-06-01 12:00:00"


@pytest.mark.parametrize("score", [1.00005, 1.0005, 1.005, -1e-16, -5e-5, -5e-4])
def test_a_score_beyond_0_to_1_is_taken_or_refused_as_in_rows(score: float) -> None:
    happened = int(score > 0.5)
    rows = {"p": np.append(SCORE[:500], score), "y": np.append(COLUMNS["y"][:500], happened)}
    sums = sums_of(pa.table(rows), score="p", label="y")
    try:
        of_rows = report(rows, score="p", label="y", cross_fit=0)
    except ValueError:
        with pytest.raises(ValueError, match="p: expected probabilities from 0 to 1"):
            report(sums)
    else:
        assert -1e-4 < score < 1.0001
        assert report(sums).measures.n == 501
        assert report(sums).measures.nll == pytest.approx(of_rows.measures.nll, rel=1e-9)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["sql", "--score", "p", "--label", "y", "--group", "region", "--time", "hour:D"]
    assert main([*given, "--table", "log"]) == 0
    asked = capsys.readouterr().out
    path = tmp_path / "sums.parquet"
    with duckdb.connect() as connection:
        connection.register("log", pa.table(COLUMNS))
        connection.execute(f"COPY ({asked}) TO '{path}' (FORMAT parquet)")
    base = tmp_path / "base.json"
    assert main([str(path), "--json", str(base)]) in (0, 3, 5)
    assert capsys.readouterr().out.startswith(("Trustworthy", "Too few rows"))
    assert main([str(path), "--label", "y"]) == 2
    assert "label: expected in the command that prints the query" in capsys.readouterr().err


def test_what_cannot_be_asked() -> None:
    with pytest.raises(ValueError, match="dialect: expected one of duckdb"):
        query("p", "y", dialect="oracle")
    with pytest.raises(ValueError, match="expected a name without quotation marks"):
        query('p"', "y")
    with pytest.raises(ValueError, match="time: expected a unit"):
        query("p", "y", time="hour:minute")
    assert len({query("p", "y", dialect=name) for name in DIALECTS}) == 4  # Snowflake is as DuckDB
