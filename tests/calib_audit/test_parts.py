"""Verdicts: on all rows, on parts of them, and on spans of time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, t

from calib_audit import report
from calib_audit.bin_sums import BinSums, sums_of_blocks
from calib_audit.parts import (
    Gap,
    Part,
    Span,
    _chance_of,
    allowed,
    begins,
    check_limits,
    control,
    gap_of,
    judge_gaps,
    judge_parts,
    parted_by,
)
from calib_audit.table_rows import Titled, part_rows
from calib_utils.metrics import (
    calibration_error_interval,
    cox_line,
    debiased_calibration_error_interval,
)
from calib_utils.metrics.bins import tally
from calib_utils.metrics.blocks import block_noise
from calib_utils.predictions import as_predictions
from calib_utils.records import load_identifier
from tests.calib_audit import judged
from tests.calib_audit.samples import drawn


def test_allowed_is_the_tolerance_or_a_part_of_the_rate() -> None:
    assert allowed(0.02, 0.25, 0.3) == 0.02
    assert allowed(0.02, 0.25, 0.01) == pytest.approx(0.0025)
    assert allowed(0.02, 0.25, 0.99) == pytest.approx(0.0025)


@pytest.mark.parametrize(
    ("tolerance", "relative", "message"),
    [
        *((value, 0.25, "tolerance: expected above 0 and below 1") for value in (0, 1, -1, "2")),
        *((0.02, value, "relative_tolerance: expected above 0 and") for value in (0, -1, 1.5, "a")),
    ],
)
def test_check_limits_refuses_what_is_no_tolerance(
    tolerance: Any, relative: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        check_limits(tolerance, relative)


def test_judge_gives_each_outcome() -> None:
    within = judged(*drawn(40_000, 0)).verdict
    assert (within.outcome, within.exit_code) == ("within", 0)
    assert within.sentence.startswith("Trustworthy, as far as these rows show: it predicts 33.")
    assert (
        "On 40,000 rows its population ECE, a lower bound of its true calibration error"
        in within.sentence
    )
    beyond = judged(*drawn(4_000, 0, 1, -1)).verdict
    assert (beyond.outcome, beyond.exit_code) == ("beyond", 1)
    undecided = judged(*drawn(400, 0)).verdict
    assert (undecided.outcome, undecided.exit_code) == ("undecided", 3)
    fewest, most = undecided.rows_needed_range
    assert f"between {fewest:,} and {most:,} rows" in undecided.sentence
    assert fewest <= undecided.rows_needed <= most


def test_judge_follows_the_interval() -> None:
    score, label = drawn(3_000, 2, 1, -0.6)
    low, high = judged(score, label).measures.error
    for tolerance, outcome in (
        (low * 0.99, "beyond"),
        (low * 1.05, "undecided"),
        ((low + high) / 2, "undecided"),
        (high * 0.99, "undecided"),
        (high * 1.01, "within"),
    ):
        found = judged(score, label, tolerance=tolerance, relative_tolerance=1).verdict
        assert found.outcome == outcome


def test_judge_does_not_reject_many_rows() -> None:
    """Their error is so small that it does not matter, and so clear that a test finds it."""
    score, label = drawn(400_000, 0, 1, -0.03)
    found = judged(score, label)
    assert found.verdict.outcome == "within"
    assert abs(found.measures.z) > 3 or found.measures.ratio_interval[1] < 1


def test_judge_finds_rare_events_beyond_a_part_of_their_rate() -> None:
    rng = np.random.default_rng(0)
    score = rng.beta(0.66, 99.34, 100_000)
    label = (rng.random(100_000) < np.minimum(2 * score, 1)).astype(int)
    found = report({"score": score, "label": label}, cross_fit=0).verdict
    assert (found.outcome, found.exit_code) == ("beyond", 1)
    assert found.tolerance == pytest.approx(score.mean() / 4)
    assert "of the rate of 0.66" in found.sentence
    loose = report({"score": score, "label": label}, relative_tolerance=1, cross_fit=0).verdict
    assert loose.tolerance == pytest.approx(score.mean())


@pytest.mark.parametrize("n", [200, 40_000])
def test_judge_passes_no_rows_without_a_positive(n: int) -> None:
    score = np.random.default_rng(0).beta(1, 99, n)
    found = report({"score": score, "label": np.zeros(n, int)}, cross_fit=0).verdict
    assert found.exit_code == (3 if n == 200 else 1)
    if n == 200:
        assert "points: no row is positive." in found.sentence


def test_judge_takes_an_error_beyond_the_tolerance_for_that_at_any_rate() -> None:
    label = (np.random.default_rng(0).random(20_000) < 0.01).astype(int)
    found = report({"score": np.full(20_000, 0.06), "label": label}, cross_fit=0)
    assert found.verdict.tolerance == 0.02  # not a quarter of the rate


def parts_of(gaps: list[float], n: int, seed: int) -> dict[str, BinSums]:
    rng = np.random.default_rng(seed)
    found = {}
    for name, gap in enumerate(gaps):
        c = rng.uniform(0.2, 0.6, n)
        right = rng.random(n) < c + gap
        found[str(name)] = BinSums(tally(c, right, np.zeros(n, int), 1))
    return found


def test_judge_parts_is_rarely_wrong_of_all_parts_together() -> None:
    """Ten groups whose true gap is the tolerance: neither verdict may be given often."""
    outcomes = [
        {part.outcome for part in judge_parts(parts_of([0.02] * 10, 500, seed), 0.02)}
        for seed in range(120)
    ]
    assert np.mean(["beyond" in found for found in outcomes]) < 0.09
    assert np.mean(["within" in found for found in outcomes]) < 0.09


def test_judge_parts_finds_what_is_clear() -> None:
    found = judge_parts(parts_of([0.0, 0.1, -0.1, 0.02], 50_000, 0), 0.02)
    assert [part.outcome for part in found[:3]] == ["within", "beyond", "beyond"]
    assert found[1].interval[0] < 0.1 < found[1].interval[1]


def test_judge_parts_leaves_small_parts_undecided() -> None:
    (part,) = judge_parts(parts_of([0.39], 20, 0), 0.02)
    assert part.small
    assert part.outcome == "undecided"


def test_judge_parts_has_the_interval_written_out() -> None:
    """With two more rows, which spread as those of a calibrated model; and with no less noise
    than a model has whose gap is at the tolerance.
    """
    array = np.zeros((5, 2))
    array[:, 0] = 30, 10, 18, 8, 3
    array[:, 1] = 20, 10, 12, 4, 2
    calm = array.copy()
    calm[4] = 7, 4
    within = (12 - 50 * 0.2**2 + 2 * 5 / 50) / (50 - 1 + 2)
    at_the_edge = 11 / 50 * (0.58 * 0.42) / (0.6 * 0.4)
    for sums, variance in ((array, within), (calm, at_the_edge)):
        (found,) = judge_parts({"a": BinSums(sums)}, 0.02)
        half = t.ppf(0.975, 49) * (variance / 50) ** 0.5
        assert found.gap == pytest.approx(-0.2)
        assert found.interval == pytest.approx((-0.2 - half, -0.2 + half))


@pytest.mark.parametrize("n", [10_000, 50_000])
@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_judge_gaps_calls_no_rare_group_of_many_wrongly_beyond(n: int, sign: int) -> None:
    """Exact, of 100 groups; with the noise that each shows, 24 to 87 reports of 100 had one."""
    rate, limit = 0.001, allowed(0.02, 0.25, 0.001)
    events = np.arange(3 * n // 1_000)
    chances = []
    for x in events:
        sums = [n, x, n * rate, x * (1 - rate) ** 2 + (n - x) * rate**2, n * rate * (1 - rate)]
        gap = gap_of(BinSums(np.array(sums)[:, None]), limit)
        outcomes = judge_gaps([gap] * 100, [limit] * 100)
        chances.append(outcomes[0][1] == "beyond")
    alone = binom.pmf(events, n, rate + sign * limit)[chances].sum()
    assert 1 - (1 - alone) ** 100 < 0.05


def test_judge_gaps_takes_either_side_with_no_tolerance() -> None:
    """A gap that is significant on one side alone, at 5 %, is undecided."""
    for gap in (0.1, -0.1):
        for level, expected in ((0.96, "undecided"), (0.98, "beyond")):
            error = 0.1 / t.ppf(level, 99)
            ((_, outcome),) = judge_gaps([Gap(gap, error, 100, False)], [0.0])
            assert outcome == expected


def lognormal(seed: int, n: int = 1_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions 0.15 too high in log-odds, and weights of which a few make up most."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 1.5, n)
    chances = expit(log_odds - 0.15)
    return expit(log_odds), (rng.random(n) < chances).astype(int), rng.lognormal(0, 1, n)


def test_gap_of_weighted_rows_holds_the_truth() -> None:
    log_odds = np.linspace(-8, 8, 40_001)
    density = np.exp(-((log_odds / 1.5) ** 2) / 2)
    excess = density / density.sum() * (expit(log_odds) - expit(log_odds - 0.15))
    index = np.minimum(expit(log_odds) * 15, 14).astype(int)
    gaps, parts = np.bincount(index, excess), np.bincount(index, density / density.sum())
    error, root = np.abs(gaps).sum(), np.sqrt((gaps**2 / parts).sum())
    held = []
    for seed in range(200):
        probs, labels, weights = lognormal(seed)
        given = as_predictions(probs, labels, sample_weight=weights)
        line = cox_line(given)
        gap = gap_of(BinSums(tally(probs, labels == 1, np.zeros(1_000, int), 1, weights)))
        ends = [
            (line.slope_interval, 1.0),
            (line.intercept_interval, -0.15),
            ((gap.gap - 1.96 * gap.error, gap.gap + 1.96 * gap.error), -error),
        ]
        if seed < 40:  # which are slow, and cautious
            ends.append((calibration_error_interval(given), error))
            ends.append((debiased_calibration_error_interval(given), root))
        held.append([low <= truth <= high for (low, high), truth in ends])
    assert np.mean([each[:3] for each in held], axis=0).min() > 0.905  # three deviations below 95 %
    assert np.mean(held[:40], axis=0)[3:].min() > 0.9


def test_gap_of_equal_blocks_is_as_noisy_as_a_bin_of_them() -> None:
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 4)
    score, one = rng.random(120), np.zeros(120, np.intp)
    correct = rng.random(120) < score
    found = gap_of(sums_of_blocks(score, correct, one, 1, patient), in_blocks=True)
    noise = block_noise(score, correct, one, patient, rng, 10)
    assert found.error == pytest.approx(noise.measured[0], rel=1e-9)


def test_judge_parts_decides_large_groups_in_blocks() -> None:
    """13,571 rows with a gap of -15.3 points were "undecided: too few positives or negatives"."""
    found = report(
        load_identifier("CLD3"), group=["length", "language"], blocks="package", cross_fit=0
    )
    of_length = {part.name: part for part in found.groups["length"]}
    assert of_length["3-5 words"].n == 13_571
    assert of_length["3-5 words"].gap == pytest.approx(-0.153, abs=5e-4)
    assert {part.outcome for part in of_length.values()} == {"beyond"}
    of_language = {part.name: part for part in found.groups["language"]}
    assert of_language["nn"].gap == pytest.approx(-0.837, abs=5e-4)
    assert of_language["nn"].outcome == "beyond"
    undecided = [part for part in of_language.values() if part.small and part.outcome != "beyond"]
    assert undecided
    assert {part.outcome for part in undecided} == {"undecided"}
    rows = part_rows(Titled("Languages", undecided, in_blocks=True))
    assert {row.verdict for row in rows} == {"undecided: too few blocks"}
    assert "too few positives or negatives" not in found.text()


def alike(seed: int, rate: float, off: float, n: int = 40, size: int = 20) -> list[Part]:
    """Two groups of blocks whose rows are all alike: as few events as there can be."""
    rng = np.random.default_rng(seed)
    block = np.repeat(np.arange(n), size)
    parts = {}
    for name in "ab":
        score = np.full(n * size, rate)
        correct = (rng.random(n) < rate + off)[block]
        parts[name] = sums_of_blocks(score, correct, np.zeros(n * size, np.intp), 1, block)
    return judge_parts(parts, 0.02, in_blocks=True)


@pytest.mark.parametrize("off", [-0.02, 0.02])
@pytest.mark.parametrize("rate", [0.05, 0.2, 0.9])
def test_judge_parts_rarely_calls_small_groups_in_blocks_beyond(rate: float, off: float) -> None:
    """At the tolerance itself, where chance has the most to say: at most one in twenty reports."""
    found = [alike(seed, rate, off) for seed in range(400)]
    assert all(part.small for part in found[0])
    assert np.mean([any(part.outcome == "beyond" for part in parts) for parts in found]) <= 0.05


def test_judge_parts_calls_small_groups_in_blocks_beyond_that_are_far_off() -> None:
    found = [part for seed in range(20) for part in alike(seed, 0.1, 0.5)]
    assert all(part.small for part in found)
    assert np.mean([part.outcome == "beyond" for part in found]) > 0.9


def few_rows(events: int, n: int = 400, weights: np.ndarray | None = None) -> BinSums:
    """Rows of 2 % each, of which so many are positive."""
    score, correct = np.full(n, 0.02), np.arange(n) < events
    return BinSums(tally(score, correct, np.zeros(n, int), 1, weights))


def test_judge_parts_calls_few_rows_beyond_that_are_far_off() -> None:
    (part,) = judge_parts({"new": few_rows(120)}, 0.005)
    assert (part.small, part.outcome) == (True, "beyond")
    weights = np.random.default_rng(0).uniform(0.5, 2, 400)
    (part,) = judge_parts({"new": few_rows(120, weights=weights)}, 0.005)
    assert (part.small, part.outcome) == (True, "undecided")


def test_judge_parts_rarely_calls_few_rows_beyond() -> None:
    """With their gaps at the tolerance: in at most one in twenty reports on twenty groups."""
    rng = np.random.default_rng(0)
    found = [
        judge_parts({k: few_rows(n) for k, n in enumerate(rng.binomial(400, 0.025, 20))}, 0.005)
        for _ in range(300)
    ]
    assert all(part.small for part in found[0])
    assert np.mean([any(part.outcome == "beyond" for part in parts) for parts in found]) <= 0.05


def many(rng: np.random.Generator, rate: float, off: float, alike: float) -> list[Part]:
    """Two groups of 150 unequal blocks: beta-binomial numbers of events, with this correlation."""
    parts = {}
    for name in "ab":
        sizes = np.maximum(1, rng.lognormal(3, 0.6, 150).astype(int))
        shape = 1 / alike - 1
        block = np.repeat(np.arange(150), sizes)
        chance = rng.beta((rate + off) * shape, (1 - rate - off) * shape, 150)[block]
        score, one = np.full(len(block), rate), np.zeros(len(block), np.intp)
        parts[name] = sums_of_blocks(score, rng.random(len(block)) < chance, one, 1, block)
    return judge_parts(parts, 0.02, in_blocks=True)


@pytest.mark.parametrize(("rate", "off"), [(0.03, 0.02), (0.96, -0.02), (0.06, -0.02)])
@pytest.mark.parametrize("alike", [0.02, 0.1, 0.4, 0.99])
def test_judge_parts_rarely_calls_groups_of_many_blocks_what_they_are_not(
    rate: float, off: float, alike: float
) -> None:
    """At the tolerance itself, whatever the noise of the blocks, which is measured. CLD3's texts
    of six and more words were undecided, though it is 7 points too sure of them.
    """
    rng = np.random.default_rng(0)
    found = [many(rng, rate, off, alike) for _ in range(200)]
    assert np.mean([part.small for parts in found for part in parts]) > 0.9
    outcomes = [{part.outcome for part in parts} for parts in found]
    assert np.mean(["beyond" in each for each in outcomes]) <= 0.05
    assert not any("within" in each for each in outcomes)


def test_judge_parts_calls_groups_of_many_blocks_beyond_that_are_off() -> None:
    rng = np.random.default_rng(0)
    found = [part for _ in range(50) for part in many(rng, 0.04, 0.08, 0.05)]
    assert np.mean([part.outcome == "beyond" for part in found]) > 0.8


@pytest.mark.parametrize(
    ("labels", "groups", "expected"),
    [
        ([0, 1] * 20, [0, 1] * 20, True),
        ([0, 1] * 20, [0, 0] * 20, False),
        ([0, 1, 1, 0], [0, 1, 2, 3], False),  # a group for each row
        ([0] * 40, [0, 1] * 20, False),  # nothing else can happen
        ([0] * 39 + [1], [0] * 39 + [1], False),  # one of a kind, alone by chance
    ],
)
def test_parted_by_knows_an_accident(labels: list[int], groups: list[int], expected: bool) -> None:
    assert parted_by(np.array(labels), np.array(groups)) == expected


def test_parted_by_needs_no_chance_above_0_in_floats(recwarn: pytest.WarningsRecorder) -> None:
    outcome = np.arange(10_000) % 2
    assert parted_by(outcome, outcome)
    assert not recwarn.list


def test_control_seldom_alarms_on_calibrated_days_and_does_on_drift() -> None:
    alarms = {}
    for shift in (0.0, -0.6):
        score, label = drawn(400 * 300, 0, 1, shift)
        dates = np.datetime64("2026-01-01") + np.repeat(np.arange(400), 300)
        data = {"score": score, "label": label, "date": dates}
        found = report(data, time="date:D", cross_fit=0).times
        assert len(found) == 400
        alarms[shift] = np.mean([span.alarm for span in found])
    assert alarms[0.0] <= 0.01
    assert alarms[-0.6] > 0.5


def test_control_alarms_on_a_new_error_and_not_on_an_old_one(tmp_path: Path) -> None:
    old = judged(*drawn(20_000, 1, 1, -0.6))
    old.write(json=tmp_path / "base.json")
    score, label = drawn(100 * 300, 2, 1, -0.6)
    day = np.repeat(np.arange(100), 300)
    dates = np.datetime64("2026-01-01") + day
    label[day >= 90] = drawn(100 * 300, 2, 1, 0.4)[1][day >= 90]
    data = {"score": score, "label": label, "date": dates}
    for baseline in (old, tmp_path / "base.json"):
        found = report(data, time="date", baseline=baseline, cross_fit=0).times
        assert not any(span.alarm for span in found[:90])
        assert all(span.alarm for span in found[90:])


def test_control_has_a_standard_normal_z_against_the_baseline() -> None:
    """Also where the baseline is small, and its own chance counts."""
    z = []
    for seed in range(150):
        score, label = drawn(500, 1_000 + seed)
        base = BinSums(tally(score, label == 1, (score * 15).astype(int), 15))
        score, label = drawn(500, 5_000 + seed)
        new = BinSums(tally(score, label == 1, (score * 15).astype(int), 15))
        z.append(control({"a": new}, base.array[:3])[0].z)
    assert abs(np.mean(z)) < 0.3
    assert 0.8 < np.std(z) < 1.2


def test_control_has_the_z_written_out_against_a_few_rows() -> None:
    """Two calibrated rows are added to the eight of the baseline."""
    new, old = np.zeros((5, 1)), np.array([[8.0], [2], [4]])
    new[:3, 0] = 100, 50, 60
    (found,) = control({"a": BinSums(new)}, old)
    assert found.expected == pytest.approx(0.6 + (2 - 4) / 10)
    variance = 100 * 0.4 * 0.6 + 100**2 * 0.4 * 0.6 / 10
    assert found.z == pytest.approx((50 - 40) / variance**0.5)


def downsampled(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibrated scores, of whose negatives one in twenty was kept, with a weight of twenty."""
    rng = np.random.default_rng(seed)
    score = expit(rng.normal(-3, 1, 20_000))
    label = (rng.random(20_000) < score).astype(int)
    kept = (label == 1) | (rng.random(20_000) < 1 / 20)
    return score[kept], label[kept], np.where(label == 1, 1.0, 20.0)[kept]


def test_control_takes_rows_of_which_negatives_were_left_out() -> None:
    """What is wrong by chance is told by the positives, of which all are there."""
    of_days, slopes, ratios = [], [], []
    for seed in range(80):
        score, label, weights = downsampled(seed)
        given = as_predictions(score, label, sample_weight=weights)
        sums = tally(score, label == 1, (score * 15).astype(int), 15, weights / 20)
        of_days.append(control({"a": BinSums(sums)})[0].z)
        low, high = cox_line(given).slope_interval
        slopes.append(low <= 1 <= high)
        ratios.append((weights @ label) / (weights @ score))
    assert abs(np.mean(of_days)) < 0.35
    assert 0.8 < np.std(of_days) < 1.2
    assert np.mean(slopes) > 0.88
    score, label, weights = downsampled(0)
    found = report({"score": score, "label": label, "w": weights}, weight="w", cross_fit=0)
    low, high = found.measures.ratio_interval
    assert (high - low) / (2 * 1.96) == pytest.approx(np.std(ratios), rel=0.2)


def days_of(rates: list[float], happened: list[float], n: int) -> dict[str, BinSums]:
    """Sums of days on which all rows have one score."""
    found = {}
    for day, (rate, share) in enumerate(zip(rates, happened, strict=True)):
        right, c = round(n * share), n * rate
        squares = right * (1 - rate) ** 2 + (n - right) * rate**2
        array = np.array([n, right, c, squares, n * rate * (1 - rate)], float)[:, None]
        found[str(np.datetime64("2026-06-01") + day)] = BinSums(array)
    return found


def test_control_has_the_tolerance_for_days_too() -> None:
    """Two million rows a day, off by a tenth of a point: clear, and of no account."""
    days = days_of([0.2] * 3, [0.2, 0.2, 0.201], 2_000_000)
    for tolerance, alarms in ((0.02, [False] * 3), (0.0005, [False, False, True])):
        found = control(days, tolerance=tolerance, relative=0.25)
        assert found[-1].z > 3
        assert [span.alarm for span in found] == alarms


def test_control_corrects_for_the_number_of_days() -> None:
    """Without a tolerance, a hundred calibrated days alarm in one report of twenty."""
    rng = np.random.default_rng(0)
    alarms, beyond = [], []
    for _ in range(100):
        shares = rng.binomial(2_000, 0.3, 100) / 2_000
        days = days_of([0.3] * 100, list(shares), 2_000)
        found = control(days)
        alarms.append(any(span.alarm for span in found))
        beyond.append(any(abs(span.z) > 3 for span in found))
    assert np.mean(alarms) <= 0.09
    assert np.mean(beyond) > 0.2


def small_days(seed: int, drop: float) -> list[Span]:
    """Days with too few rows for a verdict, the last of which have fewer positives."""
    rng, days, rows = np.random.default_rng(seed), 60, 40
    score = np.clip(rng.beta(1, 8, (days, rows)), 0.01, 0.9)
    late = np.arange(days)[:, None] >= 40
    label = rng.random((days, rows)) < np.where(late, score * (1 - drop), score)
    sums = {
        f"{day:02}": BinSums(tally(score[day], label[day], (score[day] * 15).astype(int), 15))
        for day in range(days)
    }
    return control(sums, None, 0.02, 0.25)


def test_control_finds_a_break_that_is_spread_over_small_days() -> None:
    for seed in range(8):
        assert any(span.alarm for span in small_days(seed, 0.55))
    calm = sum(any(span.alarm for span in small_days(seed, 0.0)) for seed in range(20))
    assert calm <= 2


@pytest.mark.parametrize(("n", "rate"), [(5_100, 0.001), (60, 0.9), (200, 0.5)])
def test_chance_of_few_events_is_binomial(n: int, rate: float) -> None:
    variance = n * rate * (1 - rate)
    for x in range(0, n + 1, 5):
        tails = binom.sf(x - 1, n, rate), binom.cdf(x, n, rate)
        found = _chance_of(x, n * rate, variance, variance)
        assert found == pytest.approx(min(1, 2 * min(tails)), rel=1e-6, abs=1e-12)
        # Weights that are all one half change nothing.
        halved = _chance_of(x / 2, n * rate / 2, variance / 2, variance / 4)
        assert halved == pytest.approx(found, rel=1e-6, abs=1e-12)


def test_begins_is_not_dated_by_one_early_false_alarm() -> None:
    since = [day >= 20 for day in range(30)]
    assert begins(since) == 20
    assert begins([alarm or day == 12 for day, alarm in enumerate(since)]) == 20
    assert begins([day >= 10 and day % 2 == 0 for day in range(30)]) == 10
    assert begins([day == 29 for day in range(30)]) == 29


def test_begins_where_alarms_are_likeliest() -> None:
    """Before it one alarm in 370, from it on as many as there are, with half a one added."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        alarms = rng.random(20) < np.where(np.arange(20) < rng.integers(20), 0.1, 0.6)
        likely = {}
        for day in np.flatnonzero(alarms):
            after = alarms[day:]
            rate = (after.sum() + 0.5) / (len(after) + 1)
            chances = np.where(np.arange(20) < day, 1 / 370, rate)
            likely[day] = np.log(np.where(alarms, chances, 1 - chances)).sum()
        if likely:
            assert begins(alarms) == max(likely, key=lambda day: likely[day])
