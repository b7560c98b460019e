"""Rows chosen by lot: each as likely, and the same however they come."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from calib_audit import report
from calib_audit.lots import Lots, drawn
from tests.calib_audit import bare, keep_at_most
from tests.calib_audit.samples import of_patients


def test_numbers_of_rows_are_splitmix64() -> None:
    """Against the published generator, step by step in Python's whole numbers."""

    def next_of(state: int) -> int:
        z = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    assert next_of(1234567) == 6457827717110365317  # the first of the reference, of that seed
    probs = np.array([[0.25, 0.75], [0.5, 0.5]])
    rows = bare(probs, np.array([1, 0]))
    for row, label, lot in zip(probs, rows.labels, Lots(9, False).numbers_of(rows), strict=True):
        state = 9
        for bits in (*row.view(np.uint64).tolist(), int(label)):
            state = next_of(state ^ bits)
        assert int(lot) == state


def test_numbers_of_rows_are_the_same_for_zeros_of_both_signs() -> None:
    logits = np.array([[0.0, 1.0], [-0.0, 1.0]])
    rows = bare(expit(logits), np.array([1, 1]), logits)
    lots = Lots(0, from_logits=True)
    lots.add(rows)
    assert len(np.unique(lots.numbers_of(rows))) == 1
    assert len(lots.rows().labels) == 2


def test_lots_keep_each_row_as_likely() -> None:
    """Of 400 different rows, 100 are kept for each of 300 seeds."""
    probs = np.linspace(0.1, 0.9, 400)
    probs = np.stack([probs, 1 - probs], axis=1)
    rows = bare(probs, np.zeros(400, np.int64))
    kept = np.zeros(400)
    for seed in range(300):
        lots = Lots(seed, False)
        lots._limit = 100
        lots._join([(lots.numbers_of(rows), np.ones(400, np.int64), rows)])
        lots._shrink()
        kept += np.isin(probs[:, 0], lots._parts[0][2].probs[:, 0])
    variance = 300 * 0.25 * 0.75
    chi2 = ((kept - 75) ** 2).sum() / variance
    assert abs(chi2 - 400) < 5 * np.sqrt(2 * 400)  # of a mean of 400


@pytest.mark.parametrize("times", [2, 3])
def test_lots_count_equal_rows_however_late_they_come(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those whose lot is the highest of the lots that are kept."""
    monkeypatch.setattr("calib_audit.lots.MOST_DRAWN", 10)
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    lots = Lots(0, from_logits=False)
    for _ in range(times):
        lots.add(bare(probs, np.zeros(200, np.int64)))
        lots._shrink()
    ((_, counts, _),) = lots._parts
    assert counts.tolist() == [times] * 10


def test_lots_keep_rows_apart_that_differ_in_their_block_alone() -> None:
    """What is kept of equal rows is one of them, and how often it came up."""
    label, video = np.tile([0, 1], 300), np.repeat(np.arange(30), 20)
    found = report({"score": np.full(600, 0.5), "label": label, "video": video}, blocks="video")
    assert found.measures.blocks == 30


def test_lots_keep_all_rows_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are judged by all of their rows, and calibration methods fitted on some."""
    data = of_patients()
    whole = report(data, blocks="patient", cross_fit=2)
    keep_at_most(200, monkeypatch)
    found = report(data, blocks="patient", cross_fit=2)
    assert found.measures == whole.measures
    assert found.recalibrators.how == "cross-fitted in 2 folds of 200 rows"


def test_drawn_rows_are_a_sample_without_replacement() -> None:
    counts = np.array([0, 5, 1_000_000_000_000, 3])
    assert drawn(np.array([2, 0, 1]), 3, 0).tolist() == [0, 0, 2]
    assert drawn(counts, 50, 0).tolist() == [2] * 50
    first = [np.sum(drawn(np.array([30, 70]), 10, seed) == 0) for seed in range(500)]
    assert np.mean(first) == pytest.approx(3, abs=0.3)  # its standard error is 0.06


def test_drawn_rows_are_of_all_of_a_long_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first half of the rows has another slope than the second, as if sorted by date.

    The scores are random numbers of the report's own seed, which must not draw the lots as well.
    """
    keep_at_most(2_000, monkeypatch)
    monkeypatch.setattr("calib_audit.source._CELLS", 3_000)  # in blocks
    rng = np.random.default_rng(0)
    score = rng.random(20_000).round(4).clip(1e-4, 1 - 1e-4)
    slope = np.repeat([0.2, 1.8], 10_000)
    label = (rng.random(20_000) < expit(slope * logit(score))).astype(int)
    found = report({"score": score, "label": label}, cross_fit=0)
    assert "a random sample of 2,000 rows" in "".join(found.read)
    whole = report({"score": score[::20], "label": label[::20]}, cross_fit=0)
    assert found.measures.line.slope == pytest.approx(whole.measures.line.slope, abs=0.2)
