"""The page with all recalibrators: ranks, differences and verdicts by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from book.tables.recalibrators import mean_differences, mean_ranks, networks_table, verdict
from calib_utils.comparing import Difference
from calib_utils.records import Recalibrated


def row(network: str, method: str, nll: float, **changes: Any) -> Recalibrated:
    bins = np.zeros((3, 15))
    bins[:, 11] = 100, 70, 78
    fields: dict[str, Any] = {"family": "", "size": None, "brier": nll / 2, "baseline": 0.01}
    fields |= {"network": network, "method": method, "nll": nll, "nll_error": 0.01, "bins": bins}
    return Recalibrated(**fields | changes)


def test_ranks_by_hand() -> None:
    infinite = float("inf")
    networks = [
        [row("one", "a", 1.0), row("one", "b", 2.0), row("one", "c", infinite)],
        [row("two", "a", 3.0), row("two", "b", 1.0), row("two", "c", 1.0)],
        [row("three", "a", 1.0), row("three", "b", infinite), row("three", "c", infinite)],
    ]
    # 1, 3 and 1; 2, 1.5 and 2.5; 3, 1.5 and 2.5.
    assert mean_ranks(networks, "nll") == pytest.approx({"a": 5 / 3, "b": 2, "c": 7 / 3})


def test_differences_and_verdicts() -> None:
    rows = [row("one", "temperature", 1.0), row("one", "a", 1.2), row("two", "temperature", 2.0)]
    rows += [row("two", "a", 2.4)]
    found = mean_differences(rows, {"temperature": 0.0, "a": 0.05})["a"]
    assert (found.mean, found.standard_error, found.freedom) == pytest.approx((0.3, 0.05, 99))
    assert verdict(found, 0.01) == "worse"
    assert verdict(replace(found, mean=-0.3), 0.01) == "better"
    assert verdict(found, 0.06) == "undecided"
    assert verdict(Difference(float("inf"), float("nan"), 99), float("nan")) == "worse"


def test_without_scripts_the_lowest_nll_of_a_network_comes_first() -> None:
    rows = [row("n", "temperature", 1.2), row("n", "isotonic", float("inf")), row("n", "beta", 0.9)]
    lines = str(networks_table({"Digits": rows})).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [line[2] for line in cells] == ["beta", "temperature", "isotonic"]
    assert [line[3] for line in cells] == ["0.9000", "1.2000", "∞"]
    assert cells[0][4] == "\N{MINUS SIGN}0.300 \N{PLUS-MINUS SIGN} 0.020"
    assert [line[4] for line in cells[1:]] == ["0", "∞"]
    assert cells[0][6:] == ["8.0", "1.0", "70.0"]
