"""The page of benchmarks: its words for numbers, and that the stored results support it."""

import json
from pathlib import Path

import pytest

from benchmarks.tables import about, by_name, machine, milliseconds, percent, short, with_width
from calib_utils.metrics import calibration_error_interval
from tools.running.cells import shown

ROOT = Path(__file__).parents[2]
SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0.00"), (0.184, "0.18"), (0.996, "1.00"), (1.26, "1.3"), (19.4, "19"), (2447.3, "2,450")],
)
def test_numbers_are_short(number: float, text: str) -> None:
    assert short(number) == text


def test_times_and_shares() -> None:
    assert [milliseconds(value) for value in (9_949, 10_000)] == ["9,950 ms", "10 s"]
    assert [percent(0.1234), percent(0.95, 0)] == [f"12.3{SPACE}%", f"95{SPACE}%"]
    assert [about(value) for value in (2e-17, 0.009, 0.52)] == [
        *(f"0{SPACE}%", f"0.9{SPACE}%", f"52{SPACE}%"),
    ]
    row = {"name": "a", "coverage": 0.96, "width": 0.071}
    assert with_width(row) == f"96.0{SPACE}% (7.1)"
    assert by_name([row, row | {"name": "b"}, row | {"coverage": 1}]) == {
        "a": [0.96, 1],
        "b": [0.96],
    }


def test_where_something_was_measured() -> None:
    made = {"cpu": "A chip", "threads": 1, "versions": {"numpy": "9", "scipy": "8"}}
    assert machine(made, "2 cores") == "Measured on: A chip, 1 thread, 2 cores. numpy 9, scipy 8."
    made |= {"hardware": "A chip, 2 threads", "date": "2001-02-03"}
    assert machine(made) == "Measured on: A chip, 2 threads, 2001-02-03. numpy 9, scipy 8."


def test_the_page_says_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIB_CLAIMS", "strict")
    page = shown(ROOT / "book/benchmarks.md")
    results = {path.stem: path for path in (ROOT / "benchmarks/results").glob("*.json")}
    assert {name for name in results if f"(`benchmarks/{name}.py`)" in page} == {*results}
    assert "| None |" not in page
    assert "{code-cell}" not in page
    # A row of the file, as a reader sees it.
    rows = json.loads(results["false_findings"].read_text("utf-8"))["rows"]
    cells = [f"{100 * rate:.1f}{SPACE}%" for rate in rows[0]["rates"].values()]
    assert f"| {' | '.join(cells)} |" in page


def test_a_docstring_says_the_price_that_was_measured() -> None:
    text = (ROOT / "benchmarks/results/coverage.json").read_text("utf-8")
    hostile = json.loads(text)["hostile"]["rows"]
    ratios = [row["width"] / row["oracle_width"] for row in hostile]
    said = " ".join(str(calibration_error_interval.__doc__).split())
    assert f"interval {min(ratios):.1f} to {max(ratios):.1f} times as wide" in said
