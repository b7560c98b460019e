"""Sums in whole numbers: by hand, of each row once, and the same however they are made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from calib_audit import report
from calib_audit.exact_sums import ExactSums, cells_of, in_bins, in_cells
from calib_audit.totals import Totals
from calib_utils.metrics import accuracy
from tests.calib_audit import bare, every_form, in_form, points_of, taken
from tests.calib_audit.months import NAMED, month, write
from tests.calib_audit.samples import TIMES, too_high, too_high_of_classes


def test_exact_sums_by_hand() -> None:
    """Three rows: 1/4 is wrong, 1/2 and 3/4 are right."""
    probs = np.array([0.25, 0.5, 0.75])
    rows = bare(probs, np.array([0, 1, 1]))
    sums = ExactSums(1)
    sums.add(rows)
    spread = 2 * 3 / 16 + 1 / 4
    squares = 1 / 16 + 1 / 4 + 1 / 16
    excess = 0.5 * -0.25 + 0 + -0.5 * 0.25
    variance = 2 * 0.25 * 3 / 16
    expected = [3, 2, 1.5, squares, spread]
    assert in_bins(sums.bins).array[:, 0].tolist() == expected
    assert in_cells(sums.cells).array.sum(axis=1).tolist() == expected
    assert sums.losses[1:] == [round(variance * 2**32), 2 * 2**32]
    assert Totals(sums).losses[1] == squares
    assert Totals(sums).of_z.tolist() == [excess, variance]
    nll = -np.log(0.75) * 2 - np.log(0.5)
    assert sums.losses[0] / 2**32 == pytest.approx(nll, abs=1e-9)


def test_exact_sums_of_tiny_probabilities() -> None:
    probs = np.full(1_000, 3e-8)
    rows = bare(probs, np.zeros(1_000, np.int64))
    sums = ExactSums(15)
    sums.add(rows)
    assert in_bins(sums.bins).predicted == pytest.approx(3e-8, rel=0.01)
    found = Totals(sums).confidences[0]
    assert found == pytest.approx(np.full(1_000, 3e-8), rel=0.01)


def test_cells_of_log_odds_are_the_nearest() -> None:
    log_odds = np.array([-800, -40, -1 / 300, 0, 1 / 200, 1 / 128, 50])
    assert cells_of(log_odds).tolist() == [0, 0, 5120, 5120, 5121, 5121, 10240]


@every_form
def test_exact_sums_predict_the_first_of_tied_classes(form: str, tmp_path: Path) -> None:
    """Half of the rows are tied; in all of these the second of the two is true."""
    probs = np.tile([[0.4, 0.4, 0.2], [0.1, 0.3, 0.6]], (100, 1))
    label = np.tile([1, 2], 100)
    columns = {f"prob_{k}": probs[:, k] for k in range(3)} | {"label": label}
    found = report(in_form(form, columns, tmp_path), cross_fit=0)
    assert found.measures.accuracy == accuracy(probs, label) == 0.5


@every_form
def test_exact_sums_take_one_half_for_negative(form: str, tmp_path: Path) -> None:
    score, label = np.repeat([0.2, 0.5, 0.9], [40, 50, 60]), np.zeros(150, int)
    label[[0, 1, 50, 51, 52, *range(90, 140)]] = 1
    found = report(in_form(form, {"score": score, "label": label}, tmp_path), cross_fit=0)
    assert found.measures.accuracy == accuracy(score, label) == (38 + 47 + 50) / 150


@pytest.mark.parametrize("data", [too_high(), too_high_of_classes()], ids=["score", "classes"])
def test_exact_sums_take_whole_weights_for_repeated_rows(
    data: dict[str, np.ndarray], tmp_path: Path
) -> None:
    options = {"group": "plan", "time": "day:D"} | (
        {"prices": (1.0, 3.0)} if "score" in data else {}
    )
    found = report(data | {"w": 3.7 * TIMES}, weight="w", cross_fit=0, **options)
    repeated = report(taken(data, np.repeat(np.arange(3_000), TIMES)), cross_fit=0, **options)
    assert points_of(found) == pytest.approx(points_of(repeated), rel=1e-8, abs=1e-10)
    m = found.measures
    assert m.n == 3_000
    assert m.effective == pytest.approx(TIMES.sum() ** 2 / (TIMES**2).sum())
    low, high = m.error
    assert low < repeated.measures.error[0] < repeated.measures.error[1] < high
    data = data | {"w": 3.7 * TIMES}
    files = report(write(tmp_path / "files", data, 3), weight="w", cross_fit=0, **options)
    assert files.measures == m  # bit for bit
    assert files.times == found.times


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("month") / "files", month(6_000), 6)


@pytest.mark.parametrize(("name", "value"), [("_STEP", 7), ("_MOST_JOINT", 1)])
def test_exact_sums_are_the_same_however_they_are_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    expected = report(folder, cross_fit=0, **NAMED).facts["SHA-256 of the sums"]
    monkeypatch.setattr(f"calib_audit.exact_sums.{name}", value)
    assert report(folder, cross_fit=0, **NAMED).facts["SHA-256 of the sums"] == expected


def test_exact_sums_do_not_overflow() -> None:
    sums, more = ExactSums(1), ExactSums(1)
    more.bins[0, 0] = 2**30
    sums.merge(more)
    with pytest.raises(ValueError, match=r"fewer than 2,147,483,648 rows.*each week"):
        sums.merge(more)


def test_digest_is_of_all_sums() -> None:
    score, label = np.array([0.2, 0.7]), np.array([0, 1])

    def sums() -> ExactSums:
        found = ExactSums(5)
        found.add(bare(score, label))
        return found

    assert sums().digest() == sums().digest()
    for place in range(3):
        other = sums()
        other.losses[place] += 1
        assert other.digest() != sums().digest()
    for name in ("bins", "cells"):
        other = sums()
        getattr(other, name).ravel()[-1] += 1
        assert other.digest() != sums().digest()
