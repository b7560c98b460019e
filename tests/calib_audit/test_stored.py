"""Reports as JSON, and two of them beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calib_audit
from calib_audit import compare_reports, report
from calib_audit.__main__ import main
from tests.calib_audit import DECIDED, taken, written
from tests.calib_audit.months import month
from tests.calib_audit.samples import drawn, fraud, of_patients, too_high


def test_as_json_fits_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    path = Path(calib_audit.__file__).with_name("report.schema.json")
    schema = json.loads(path.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    columns = taken(fraud(20_000), slice(1_000))
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 2, 3], 400)
    classes = {f"prob_{k}": probs[:, k] for k in range(3)} | {"label": rng.integers(0, 3, 400)}
    for found in (report(columns, group="region", time="day:D"), report(classes)):
        numbers = json.loads(found.json())
        jsonschema.validate(numbers, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(numbers | {"format": 2}, schema)
    file = written(tmp_path / "a.csv", score=columns["score"], label=columns["label"])
    main([file, "--cross-fit", "0", "--json", "-"])
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)


def test_bins_of_baseline_refuses_a_report_on_something_else(tmp_path: Path) -> None:
    score, label = drawn(300, 0)
    other = 1 - score
    words = np.where(label == 1, "yes", "no")
    binary = {"score": score, "label": label}
    dated = binary | {"day": np.datetime64("2026-06-01") + np.arange(300) % 3}
    both = {"prob_no": other, "prob_yes": score, "label": words}
    three = both | {"prob_so": np.zeros(300)}

    def told(data: dict[str, Any], baseline: Any, **options: Any) -> Any:
        return report(data, time="day:D", baseline=baseline, **DECIDED, **options).times

    several = report(both, **DECIDED)
    several.write(json=tmp_path / "several.json")
    for baseline in (several, tmp_path / "several.json"):
        with pytest.raises(ValueError, match=r"baseline: expected a report on the probability"):
            told(dated, baseline)
    day = {"day": dated["day"]}
    with pytest.raises(ValueError, match=r"classes no, yes, so, found .* no, yes; give one"):
        told(three | day, several)
    no, yes = (report(both, positive=name, **DECIDED) for name in ("no", "yes"))
    with pytest.raises(ValueError, match=r"probability of 'yes', found one on .* of 'no'"):
        told(both | day, no, positive="yes")
    # What is known of only one of the two is no objection.
    assert told(dated, yes) == told(dated, report(binary, **DECIDED))
    top = {"confidence": np.maximum(score, other), "correct": (score > 0.5) == label}
    assert len(told(top | day, several)) == 3


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("months")
    for name, seed, shift in (("may", 1, 0.0), ("june", 2, 0.0), ("july", 3, 1.0)):
        rows = month(60_000, seed, shift)
        if name == "july":
            rows["region"] = np.where(rows["region"] == "east", "west", rows["region"])
        report(rows, cross_fit=0, group="region").write(json=path / f"{name}.json")
    return path


def test_compare_reports_finds_what_the_rows_do(months: Path) -> None:
    found = compare_reports(months / "may.json", months / "july.json")
    by_name = {change.name: change for change in found.found}
    assert set(by_name) == {"all rows", "region north", "region south", "region 서울"}
    assert found.missing == ["region east", "region west"]
    rows = [month(60_000, 1), month(60_000, 3, 1.0)]
    gaps = [each["label"] - each["score"] for each in rows]
    north = [gap[each["region"] == "north"] for gap, each in zip(gaps, rows, strict=True)]
    change = by_name["region north"]
    assert change.gaps == pytest.approx([float(gap.mean()) for gap in north], abs=1e-9)
    error = np.sqrt(sum(gap.var(ddof=1) / len(gap) for gap in north))
    half = (change.interval[1] - change.interval[0]) / 2
    assert half == pytest.approx(1.96 * error, rel=1e-2)
    assert {name: each.outcome for name, each in by_name.items()} == {
        "all rows": "beyond",
        "region north": "beyond",
        "region south": "within",
        "region 서울": "within",
    }


def test_compare_reports_on_the_command_line(
    months: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    may, june, july = (str(months / f"{name}.json") for name in ("may", "june", "july"))
    assert main(["compare", may, june]) == 0
    assert "No gap has changed by more than the tolerance of 2.0" in capsys.readouterr().out
    assert main(["compare", may, july, "--json", str(months / "found.json")]) == 1
    said = capsys.readouterr().out
    assert said.startswith("Changed by more than the tolerance of 2.0 points: all rows, region")
    assert "region west is only in one of the two" in said
    stored = json.loads((months / "found.json").read_text("utf-8"))
    assert stored["exit_code"] == 1
    assert main(["compare", may, june, "--tolerance", "0.0001"]) == 3
    assert main(["compare", may, may]) == 2
    assert "expected a report of other rows than the first" in capsys.readouterr().err


def test_compare_reports_finds_that_a_rare_rate_has_trebled() -> None:
    """Beside a rate of 0.1 % two points are no tolerance."""
    rng = np.random.default_rng(0)
    score = rng.beta(1, 999, 100_000)
    may, june = (
        report({"score": score, "label": rng.random(100_000) < times * score}, cross_fit=0)
        for times in (1, 3)
    )
    found = compare_reports(may, june)
    assert found.exit_code == 1
    assert found.found[0].limit == pytest.approx(score.mean() / 4, rel=1e-3)
    assert "or 25.0\N{NO-BREAK SPACE}% of the rate of the rarer outcome" in found.text()
    assert compare_reports(may, june, relative_tolerance=1).found[0].outcome == "beyond"
    with pytest.raises(ValueError, match="relative_tolerance: expected above 0 and up to 1"):
        compare_reports(may, june, relative_tolerance=2)


def test_compare_reports_takes_weights(tmp_path: Path) -> None:
    paths = []
    for seed in range(2):
        data = too_high(20_000, seed) | {"w": np.random.default_rng(seed).lognormal(0, 1, 20_000)}
        found = report(data, weight="w", cross_fit=0, group="plan")
        paths.append(tmp_path / f"{seed}.json")
        found.write(json=paths[-1])
    changes = compare_reports(*paths)
    assert changes.found[0].n == (20_000, 20_000)
    assert {change.outcome for change in changes.found} <= {"within", "undecided"}
    later = report(data, weight="w", cross_fit=0, time="day:D", baseline=paths[0])
    assert not any(span.alarm for span in later.times)
    assert any(span.alarm for span in report(data, weight="w", cross_fit=0, time="day:D").times)


def test_compare_reports_takes_weights_in_one_and_other_bins() -> None:
    rng = np.random.default_rng(5)
    scores = rng.random((2, 3_000))
    labels = (rng.random((2, 3_000)) < scores).astype(int)
    plain, other = ({"score": s, "label": y} for s, y in zip(scores, labels, strict=True))
    expected = compare_reports(report(plain, cross_fit=0), report(other, cross_fit=0))
    twos = report(
        plain | {"w": np.where(np.arange(3_000) < 3_000 // 2, 2.0, 2.000001)},
        weight="w",
        cross_fit=0,
    )
    for first in (twos, report(plain, n_bins=10, cross_fit=0)):
        (found,) = compare_reports(first, report(other, cross_fit=0)).found
        assert found.change == pytest.approx(expected.found[0].change, abs=1e-6)
        assert found.interval == pytest.approx(expected.found[0].interval, abs=1e-4)
        assert found.outcome == expected.found[0].outcome


def test_compare_reports_refuses_rows_in_blocks() -> None:
    found, other = (report(of_patients(seed=k), cross_fit=0) for k in range(2))
    in_blocks = report(of_patients(), blocks="patient", cross_fit=0)
    assert compare_reports(found, other).found
    with pytest.raises(ValueError, match="found one of rows in blocks"):
        compare_reports(found, in_blocks)


@pytest.mark.parametrize("text", ["{}", "no"])
def test_compare_reports_refuses_what_is_no_report(months: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ValueError, match=r"a\.json: expected .*found something else"):
        compare_reports(months / "may.json", tmp_path / "a.json")


@pytest.mark.parametrize("count", [-5, None])
def test_compare_reports_refuses_counts_that_cannot_be(
    months: Path, tmp_path: Path, count: Any
) -> None:
    known = json.loads((months / "may.json").read_text("utf-8"))
    known["bins"]["count"][1] = count
    (tmp_path / "a.json").write_text(json.dumps(known), "utf-8")
    with pytest.raises(ValueError, match="expected the JSON of a report in format 3"):
        compare_reports(months / "june.json", tmp_path / "a.json")


@pytest.mark.parametrize("other", [2, 4])
def test_compare_reports_refuses_another_format(tmp_path: Path, other: int) -> None:
    """The next format may mean something else by the same names."""
    days = np.datetime64("2026-06-01") + np.arange(200) % 2
    data = {"score": np.full(200, 0.5), "label": np.arange(200) % 2, "day": days}
    found = report(data, cross_fit=0)
    assert json.loads(found.json())["format"] == 3
    path = tmp_path / "other.json"
    path.write_text(found.json().replace('"format": 3', f'"format": {other}'), "utf-8")
    with pytest.raises(ValueError, match=r"other\.json: expected .* make the report again"):
        compare_reports(found, path)
    with pytest.raises(ValueError, match=r"other\.json: expected .* something else"):
        report(data, time="day:D", baseline=path, cross_fit=0)
