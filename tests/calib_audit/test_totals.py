"""What a report takes of its sums, and which rows two reports share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t as student

from calib_audit import report
from calib_audit.exact_sums import ExactSums, cells_of
from calib_audit.lots import Lots
from calib_audit.measures import larger_error
from calib_audit.totals import Totals, shared_rows
from calib_utils.comparing.pairs import paired_difference
from tests.calib_audit import bare, keep_at_most
from tests.calib_audit.samples import of_patients, too_high


def test_totals_of_cells_move_the_error_by_as_much_as_they_say() -> None:
    """In 24 sets of several shapes, rounded, rare or far from calibrated."""
    moved = []
    for seed in range(16, 40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2_000, 60_000))
        probs = rng.beta(*rng.choice([0.3, 1, 3, 30], 2), n)
        probs = [probs, probs.round(2), expit(rng.normal(0, 3, n)), probs / 1_000][seed % 4]
        truth = np.clip(probs * rng.uniform(0.7, 1.3) + rng.uniform(-0.02, 0.02), 0, 1)
        labels = (rng.random(n) < truth).astype(np.int64)
        rows = bare(probs, labels)
        all_rows, sums = ExactSums(15, lots=Lots(0, False)), ExactSums(15)
        ends = []
        for each in (all_rows, sums):
            each.add(rows)
            ends.append(larger_error(Totals(each).binnings))
        one, two = ends
        moved.append(np.abs(np.subtract(one, two)).max())
    assert max(moved) < 0.0011  # as the docstring of Totals says
    assert np.median(moved) < 0.00002


def test_totals_have_bins_of_equal_mass() -> None:
    """As many rows in each as NumPy's quantiles of the cells' numbers give."""
    rng = np.random.default_rng(0)
    probs = np.concatenate([np.zeros(300), rng.beta(0.3, 2, 1_000), np.full(200, 0.5)])
    with np.errstate(divide="ignore"):
        log_odds = np.log(probs) - np.log1p(-probs)
    rows = bare(probs, np.zeros(1_500, np.int64), log_odds)
    sums = ExactSums(10)
    sums.add(rows)
    found = Totals(sums).binnings[1].array[0]
    ranks = np.unique(cells_of(log_odds), return_inverse=True)[1]
    edges = np.quantile(ranks, np.linspace(0, 1, 11))
    index = np.clip(np.searchsorted(edges, ranks) - 1, 0, 9)
    assert found.tolist() == np.bincount(index, minlength=10).tolist()


def test_totals_count_all_of_many_rows_with_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calibration methods use whole rows that were kept, with their weights."""
    data = too_high(8_000) | {"w": np.random.default_rng(1).lognormal(0, 1, 8_000)}
    whole = report(data, weight="w", cross_fit=2)
    keep_at_most(3_000, monkeypatch)
    found = report(data, weight="w", cross_fit=2)
    assert any("a random sample of 3,000 whole rows" in line for line in found.read)
    for name in ("n", "effective", "ece", "nll", "brier", "accuracy", "z"):
        assert getattr(found.measures, name) == getattr(whole.measures, name)
    assert found.measures.error == pytest.approx(whole.measures.error, abs=0.004)
    low, high = found.measures.line.slope_interval
    assert low < whole.measures.line.slope < high


def test_totals_count_classes_by_their_blocks() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 60)
    label = (probs.cumsum(axis=1) < rng.random((60, 1))).sum(axis=1)
    video = np.repeat(np.arange(60), 25)
    data = {"prob": probs[video], "label": label[video], "video": video}
    found, rows = report(data, blocks="video", cross_fit=0), report(data, cross_fit=0)
    for one, other, k in zip(found.classes, rows.classes, range(3), strict=True):
        apart = paired_difference(probs[:, k], label == k)
        half = (one.interval[1] - one.interval[0]) / 2
        assert one.gap == pytest.approx(other.gap, abs=1e-8)
        assert half == pytest.approx(student.ppf(0.975, 59) * apart.standard_error, rel=0.06)
    assert found.measures.accuracy == pytest.approx(rows.measures.accuracy)
    assert found.measures.error[0] == 0


def test_totals_refuse_too_few_blocks() -> None:
    with pytest.raises(ValueError, match=r"^blocks: expected at least 10 of equal size, found 2"):
        report(of_patients(), blocks="ward")


def test_shared_rows_are_none_of_sets_that_differ_in_one_row() -> None:
    rng = np.random.default_rng(0)
    score, label = rng.random(5_000), rng.integers(2, size=5_000)
    other = score.copy()
    other[17] += 1e-3 * (0.5 - other[17])  # in the same bin
    moved = score[::-1].copy(), label[::-1].copy()
    found = []
    for rows in ((score, label), moved, (other, label)):
        sums = ExactSums(15)
        sums.add(bare(*rows))
        found.append(Totals(sums))
    one, same, two = found
    assert shared_rows(one, same) == 5_000
    assert shared_rows(one, two) == 0


def rounded_rows(rng: np.random.Generator, n: int, digits: int) -> dict[str, np.ndarray]:
    """Calibrated rows, of which some are equal if they have few digits."""
    score = rng.random(n).round(digits)
    return {"score": score, "label": (rng.random(n) < score).astype(int)}


@pytest.mark.parametrize("digits", [5, 17])
@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_shared_rows_are_found_though_others_are_not_shared(share: float, digits: int) -> None:
    rng = np.random.default_rng(7)
    rows, others = rounded_rows(rng, 1_000, digits), rounded_rows(rng, 1_000, digits)
    some = rng.permutation(1_000)[: int(1_000 * share)]
    mixed = {name: column.copy() for name, column in others.items()}
    for name, column in rows.items():
        mixed[name][: len(some)] = column[some]
    found = "the same ones" if share == 1 else r"\d+ of its 1,000 rows"
    with pytest.raises(ValueError, match=f"^fit: expected rows that .*, found {found} in a dic"):
        report(rows, fit=mixed)


@pytest.mark.parametrize("digits", [1, 3, 17])
def test_shared_rows_are_none_of_other_sets(digits: int) -> None:
    rng = np.random.default_rng(7)
    report(rounded_rows(rng, 1_000, digits), fit=rounded_rows(rng, 1_500, digits))


def test_shared_rows_of_few_levels_are_found_in_any_order() -> None:
    rng = np.random.default_rng(7)
    rows = rounded_rows(rng, 1_000, 1)
    moved = rng.permutation(1_000)
    with pytest.raises(ValueError, match=r"^fit: .*found the same ones"):
        report(rows, fit={name: column[moved] for name, column in rows.items()})


def test_shared_rows_are_none_where_equal_counts_may_be_an_accident() -> None:
    rows = {"score": np.full(200, 0.2), "label": np.repeat([0, 1], [160, 40])}
    report(rows, fit={name: column.copy() for name, column in rows.items()})


def test_shared_rows_are_those_with_the_same_logits_up_to_a_constant() -> None:
    logits = np.random.default_rng(0).normal(size=(200, 3))
    named = {"logits": logits, "label": np.arange(200) % 3}
    with pytest.raises(ValueError, match="fit: expected rows that the report"):
        report(named, fit=named | {"logits": logits + 1})
