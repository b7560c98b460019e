"""What people give to the audit and ask of its command: log-probabilities, pages, names, bars."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import calib_audit
from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.probabilities import from_logs
from calib_utils.recalibration import TemperatureScaling

LETTERS = "ABCD"


def table(rows: list[list[object]]) -> dict[str, list[object]]:
    return {f"logprob_{x}": list(column) for x, column in zip(LETTERS, zip(*rows), strict=True)}  # noqa: B905


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.5, 0.2, 0.2, 0.1], [0.5, 0.2, 0.2, 0.1]),
        ([0.4, 0.2, 0.1, 0.1], [0.5, 0.25, 0.125, 0.125]),  # 0.2 belongs to other answers
        ([0.5, 0.2, 0, 0], [0.5, 0.2, 0.15, 0.15]),  # what is left of 1, in equal parts
        ([0.6, 0.1, 0.01, 0], [0.6 / 0.72, 0.1 / 0.72, 0.01 / 0.72, 0.01 / 0.72]),
        ([0.7, 0.3, 0, 0], [0.7, 0.3, 0, 0]),  # a masked class has nothing
        ([0, 0, 1e-4, 0], [0.25, 0.25, 0.25, 0.25]),
    ],
)
def test_what_the_listed_classes_leave(given: list[float], expected: list[float]) -> None:
    with np.errstate(divide="ignore"):
        logs = np.log([given])
    found = from_logs(logs, LETTERS, np.array([1]))
    np.testing.assert_allclose(found.probs[0], expected, atol=1e-15)
    assert (found.filled, found.elsewhere) == (0 in given, sum(given) < 0.5)


@pytest.mark.parametrize("missing", ["", "-inf", "NaN", "-9999.0"])
def test_a_file_says_what_was_missing(missing: str, tmp_path: Path) -> None:
    rows = [["-0.3", "-1.9", missing, "-3"], ["-0.7", "-0.9", "-3", "-4"]] * 30
    columns = table(rows) | {"label": ["A", "B"] * 30}
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    found = report(tmp_path / "a.csv", cross_fit=0)
    text = "\n".join(found.read)
    assert "log-probabilities of 4 classes (guessed)" in text
    assert "30 rows lacked a class: each such class got an equal part" in text
    first = np.exp([-0.3, -1.9, -3])
    whole = first.sum() + min(1 - first.sum(), first.min())
    second = np.exp([-0.7, -0.9, -3, -4])
    expected = (first[0] / whole + second[0] / second.sum()) / 2
    assert found.measures.predicted == pytest.approx(expected, rel=1e-9)  # sums in whole units


def test_the_answer_is_none_of_the_classes() -> None:
    rows = [[-3.0, -4.0, -5.0, -np.inf]] * 40
    found = report(table(rows) | {"label": list("ABCD") * 10}, cross_fit=0)
    assert "in 40 rows the classes have less than half" in "\n".join(found.read)


def test_rows_without_any_class() -> None:
    rows = [[-0.1, -3.0, -4.0, -5.0]] * 40 + [[np.nan] * 4, [-np.inf] * 4]
    columns = table(rows) | {"label": ["A"] * 42}
    with pytest.raises(ValueError, match=r"log-probability of one class at least.* row 41; leave"):
        report(columns)
    found = report(columns, drop=True, cross_fit=0)
    assert found.measures.n == 40
    assert "2 rows were dropped" in "\n".join(found.read)


@pytest.mark.parametrize("row", [[0.5, -1.0, -2.0, -3.0], [-0.1, -0.2, -3.0, -4.0]])
def test_what_is_no_log_probability(row: list[float]) -> None:
    with pytest.raises(ValueError, match=r"natural logarithms .* row 1, whose sum is larger"):
        report(table([row] * 30) | {"label": ["A"] * 30})


def test_a_folder_has_the_same_report(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1, 1, 2], 3_000)
    label = [LETTERS[k] for k in (probs[:, :4] * rng.random((3_000, 4))).argmax(axis=1)]
    logs = np.log(np.where(probs[:, :4] < 0.05, np.nan, probs[:, :4]))
    columns = {f"logprob_{x}": logs[:, k] for k, x in enumerate(LETTERS)} | {"label": label}
    folder = tmp_path / "files"
    folder.mkdir()
    for part in range(3):
        rows = {name: values[part::3] for name, values in columns.items()}
        parquet.write_table(pa.table(rows), folder / f"{part}.parquet")
    found = [report(data, cross_fit=0, drop=True) for data in (columns, folder)]
    lines = [[line for line in each.read if "rows l" in line] for each in found]
    assert lines[0] == lines[1] != []
    assert found[0].measures.ece == pytest.approx(found[1].measures.ece, rel=1e-6)


def test_a_calibrator_is_applied(tmp_path: Path) -> None:
    TemperatureScaling(2.0, inputs="probs").save(tmp_path / "cal.npz")
    (tmp_path / "a.csv").write_text("logprob_a,logprob_b\n-0.1,-3\n-0.5,\n", "utf-8")
    out = tmp_path / "out.csv"
    given = ["apply", str(tmp_path / "cal.npz"), str(tmp_path / "a.csv"), "--output", str(out)]
    assert main(given) == 0
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    odds = [np.exp(-2.9), (1 - np.exp(-0.5)) / np.exp(-0.5)]
    expected = [1 / (1 + odd**0.5) for odd in odds]
    np.testing.assert_allclose([float(row["prob_a"]) for row in rows], expected, rtol=1e-6)


def test_a_page_that_cannot_be_made_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sys
    import tomllib

    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main([str(tmp_path / "none.csv"), "--html", str(tmp_path / "a.html")]) == 2
    error = capsys.readouterr().err
    assert "the page needs jinja2, which is not installed" in error
    project = tomllib.loads(
        Path(calib_audit.__file__).with_name("pyproject.toml").read_text("utf-8")
    )
    packages = {each.split(">=")[0] for each in project["project"]["dependencies"]}
    told = error.partition("pip install ")[2].partition(";")[0]
    assert {*told.split()} <= packages


def test_columns_named_after_labels_whose_column_is_not_known() -> None:
    columns = {"truth": ["cat", "dog"] * 30, "cat": [0.9, 0.2] * 30, "dog": [0.1, 0.8] * 30}
    with pytest.raises(ValueError, match="name the column of what happened with label=") as caught:
        report(columns)
    assert "score=..., unless there is one named after each label" in str(caught.value)
    assert json.dumps(report(columns, label="truth", cross_fit=0).columns.classes)


@pytest.mark.parametrize("command", ["", "compare", "apply", "rows", "sql"])
def test_each_option_stands_on_a_page(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(calib_audit.__file__).parents[1]
    pages = [root / "calib_audit/README.md", *root.glob("book/*.md"), *root.glob("notebooks/*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    options = {*re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)}
    assert len(options) > 2
    assert not [each for each in options if not re.search(rf"{each}(?![\w-])", text)]
