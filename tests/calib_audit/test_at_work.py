"""The report at work: its headline, a job for the night, rows before there are any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calib_audit
from calib_audit import report, rows_for
from calib_audit.__main__ import main
from tests.calib_audit.fraud import fraud


def days(first: int, last: int, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    when = (columns["day"] - np.datetime64("2026-04-01")).astype(int)
    here = (when >= first) & (when < last)
    return {name: values[here] for name, values in columns.items()}


def test_the_headline_names_region_and_break_and_sells_no_map() -> None:
    found = report(fraud(), group="region", time="day:D")
    sentence = found.verdict.sentence
    assert found.verdict.outcome == "beyond"
    assert "`South` (" in sentence
    assert "alarms since 21 May 2026" in sentence
    assert "fit one on the rows since 21 May 2026" in sentence
    assert found.calibrator is None
    assert (
        "fit one on the rows since 21 May 2026" in found.text().partition("Calibration methods")[2]
    )


def cells(n: int = 40_000) -> dict[str, Any]:
    """Right in each region and of each product, and 10 points off in each cell."""
    rng = np.random.default_rng(0)
    region, product = rng.choice(["N", "S"], n), rng.choice(["A", "B"], n)
    score = rng.uniform(0.3, 0.7, n)
    true = score + np.where((region == "N") == (product == "A"), 0.1, -0.1)
    label = (rng.random(n) < true).astype(int)
    return {"score": score, "label": label, "region": region, "product": product}


def test_cells_are_groups_if_asked_for_and_otherwise_named() -> None:
    data = cells()
    found = report(data, group=["region", "product"], cross_fit=0)
    assert found.verdict.outcome == "within"
    assert "Cells of `region` and `product`" in found.verdict.sentence
    crossed = report(data, group="region*product", cross_fit=0)
    assert crossed.verdict.outcome == "groups"
    parts = {part.name: part for part in crossed.groups["region*product"]}
    assert sorted(parts) == ["N, A", "N, B", "S, A", "S, B"]
    for name, part in parts.items():
        here = (data["region"] == name[0]) & (data["product"] == name[-1])
        assert part.n == here.sum()
        assert part.gap == pytest.approx((data["label"] - data["score"])[here].mean(), abs=1e-6)
    with pytest.raises(ValueError, match="plan: there is no such column"):
        report(data, group="region*plan")


def test_maps_of_cells_are_applied(tmp_path: Path) -> None:
    data = cells(4_000)
    rows = [",".join(data), *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n", "utf-8")
    found = report(data, group="region*product")
    assert found.calibrator is not None
    found.calibrator.save(tmp_path / "maps.npz")
    given = [str(tmp_path / name) for name in ("maps.npz", "a.csv")]
    assert main(["apply", *given, "--output", str(tmp_path / "b.csv")]) == 0
    again = report(tmp_path / "b.csv", group="region*product", cross_fit=0)
    assert max(abs(part.gap) for part in again.groups["region*product"]) < 0.01


def test_a_job_of_the_night(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five quiet nights, and five in which the odds are 2.2 times as high."""
    columns = fraud()
    report(days(0, 30, columns), cross_fit=0).write(json=tmp_path / "may.json")
    found = []
    for night in (*range(30, 35), *range(50, 55)):
        of_night = days(night, night + 1, columns)
        rows = [",".join(of_night)]
        rows += [",".join(map(str, row)) for row in zip(*of_night.values(), strict=True)]
        (tmp_path / "night.csv").write_text("\n".join(rows) + "\n", "utf-8")
        options = ["--time", "day:D", "--baseline", str(tmp_path / "may.json"), "--monitor"]
        found.append(main([str(tmp_path / "night.csv"), *options, "--relative-tolerance", "0.5"]))
        line = capsys.readouterr().out
        assert line.count("\n") == 1
        assert line.startswith("An alarm on" if found[-1] == 5 else "No alarm")
    assert found[:5] == [0] * 5
    assert {*found[5:]} <= {0, 5}  # by chance a night may have few
    assert found[5:].count(5) >= 4
    # A change of the size of a smaller tolerance could not have been seen.
    quiet = report(
        days(30, 31, columns), time="day:D", baseline=tmp_path / "may.json", monitor=True
    )
    assert quiet.verdict.exit_code == 3
    assert "a change is only visible from" in quiet.verdict.sentence


def test_a_monitor_needs_a_baseline() -> None:
    with pytest.raises(ValueError, match="monitor: expected together with"):
        report(cells(200), monitor=True)


def test_the_numbers_fit_their_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(calib_audit.__file__).with_name("report.schema.json")
    schema = json.loads(path.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    columns = days(0, 3, fraud(20_000))
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 2, 3], 400)
    classes = {f"prob_{k}": probs[:, k] for k in range(3)} | {"label": rng.integers(0, 3, 400)}
    for found in (report(columns, group="region", time="day:D"), report(classes)):
        numbers = json.loads(found.json())
        jsonschema.validate(numbers, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(numbers | {"format": 2}, schema)
    rows = [f"{s},{y}" for s, y in zip(columns["score"], columns["label"], strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["score,label", *rows]), "utf-8")
    main([str(tmp_path / "a.csv"), "--cross-fit", "0", "--json", "-"])
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)


@pytest.mark.parametrize(("tolerance", "rate", "groups"), [(0.05, 0.3, 1), (0.05, 0.5, 4)])
def test_so_many_rows_decide_four_times_in_five(tolerance: float, rate: float, groups: int) -> None:
    n = rows_for(tolerance, rate, groups)
    within = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        score = rng.beta(2 * rate, 2 * (1 - rate), n)
        data = {"score": score, "label": (rng.random(n) < score).astype(int)}
        data["group"] = rng.permutation(np.arange(n) % groups).astype(str)
        of_groups = "group" if groups > 1 else ()
        found = report(data, group=of_groups, tolerance=tolerance, cross_fit=0)
        within += found.verdict.outcome == "within"
    assert 18 <= within <= 28  # no fewer, and not twice as many rows as needed


def test_a_reader_of_batches_is_taken() -> None:
    """As `duckdb.sql(...).arrow()` returns one."""
    arrow = pytest.importorskip("pyarrow")
    data = cells(400)
    table = arrow.table(data)
    batches = arrow.RecordBatchReader.from_batches(table.schema, table.to_batches(100))
    found = report(batches, group="region", cross_fit=0)
    assert found.measures == report(data, group="region", cross_fit=0).measures


def test_rows_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", "--tolerance", "0.05", "--rate", "0.3"]) == 0
    assert capsys.readouterr().out == f"about {rows_for(0.05, 0.3):,} rows\n"
    assert main(["rows", "--rate", "1.5"]) == 2


def test_one_map_is_not_stored_over_a_failing_group_without_a_word() -> None:
    """The South is 40 % too low and the others 12 %, as one map for all would mend best."""
    silent = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n = 20_000
        region = rng.choice(["North", "East", "South", "West"], n)
        score = rng.beta(1, 9, n)
        true = np.minimum(score / np.where(region == "South", 0.6, 0.88), 1)
        data = {"score": score, "label": (rng.random(n) < true).astype(int), "region": region}
        found = report(data, group="region", cross_fit=2)
        assert "South" in found.verdict.sentence
        after = found.recalibrators
        assert after is not None
        column = after.best_per_group
        parts = after.groups["region"] if column is None else column[1].parts
        (south,) = [part for part in parts if part.name == "South"]
        told = "`South` within the tolerance after it" in found.verdict.sentence
        silent += south.outcome != "within" and not told
    assert silent == 0
