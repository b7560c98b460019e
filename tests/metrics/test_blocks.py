"""The noise of blocks, against numbers worked out by hand and known truths."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import norm, t

from benchmarks import blocks as benchmark
from calib_utils.comparing import paired_difference
from calib_utils.metrics import (
    calibration_error_interval,
    calibration_test,
    cox_line,
)
from calib_utils.metrics.blocks import block_index, block_noise, effective_blocks

CASE = (40, 25, 1.0, True, 0.0)  # blocks that are right or wrong as a whole


def drawn(seed, error=0.0, case=CASE):
    everyone = np.linspace(0.05, 0.99, 5_000)
    return benchmark.draw_set(case, error, everyone, np.random.default_rng(seed))


def test_blocks_of_one_sample_have_the_noise_of_samples():
    """The deviations are those of independent samples, but for the counts, which vary together."""
    rng = np.random.default_rng(0)
    probs = rng.uniform(0.3, 1, 4_000)
    labels = (rng.random(4_000) < probs - 0.05).astype(int)
    plain = calibration_error_interval(probs, labels)
    found = calibration_error_interval(probs, labels, blocks=np.arange(4_000))
    assert found == pytest.approx(plain, abs=0.003)
    scores = [calibration_test(probs, labels, blocks=b).z for b in (None, np.arange(4_000))]
    assert scores[0] == pytest.approx(scores[1], rel=0.2)


def test_block_noise_by_hand():
    """Two bins and three blocks, in numbers that are worked out one by one."""
    confidences = np.array([0.6, 0.7, 0.8, 0.9, 0.6, 0.2, 0.3, 0.4])
    correct = np.array([1, 0, 1, 1, 0, 0, 1, 0])
    bins = (confidences > 0.5).astype(int)
    blocks = np.array([0, 0, 1, 1, 2, 0, 1, 2])
    found = block_noise(confidences, correct, bins, blocks, np.random.default_rng(0), 10)
    for m in (0, 1):
        inside = bins == m
        mean = (confidences - correct)[inside].mean()
        off, of_share, sizes, alike = [], [], [], []
        for block in (0, 1, 2):
            rows = inside & (blocks == block)
            off.append(((confidences - correct)[rows] - mean).sum())
            of_share.append(mean * (rows.sum() - inside.mean() * (blocks == block).sum()))
            sizes.append(rows.sum() ** 2)
            alike.append(np.sqrt(confidences * (1 - confidences))[rows].sum() ** 2)
        around = np.square(off).sum()
        for deviation, within in (
            (found.measured, (around + 2 * np.mean(alike)) / (3 - 1 + 2)),
            (found.cautious, (around + 2 * np.mean(sizes)) / (3 + 4)),
        ):
            variance = 3 * within + np.square(of_share).sum()
            assert deviation[m] == pytest.approx(variance**0.5 / 8)
        assert found.excess[m] == pytest.approx(abs((confidences - correct)[inside].sum()) / 8)


def test_blocks_of_copied_rows_change_nothing():
    """Ten copies of each sample, as a block, are worth as much as the sample alone."""
    rng = np.random.default_rng(1)
    probs = rng.uniform(0.3, 1, 600)
    labels = (rng.random(600) < probs).astype(int)
    blocks = np.arange(600)
    once = calibration_error_interval(probs, labels, blocks=blocks)
    copied = (np.repeat(each, 10) for each in (probs, labels, blocks))
    p, y, b = copied
    assert calibration_error_interval(p, y, blocks=b) == pytest.approx(once, abs=1e-9)
    assert calibration_error_interval(p, y)[1] < once[1] - 0.01
    tests = [
        tuple(calibration_test(*pair, blocks=c))
        for *pair, c in ((probs, labels, blocks), (p, y, b))
    ]
    assert tests[0] == pytest.approx(tests[1])
    pairs = [
        paired_difference(first, second, blocks=c)
        for first, second, c in ((probs, labels, blocks), (p, y, b))
    ]
    assert pairs[0].interval() == pytest.approx(pairs[1].interval())


def test_blocks_cover_where_independence_does_not():
    inside, plain, found, missed = [], [], [], []
    for seed in range(60):
        probs, labels, blocks = drawn(seed)
        inside.append(calibration_error_interval(probs, labels, blocks=blocks)[0] == 0)
        plain.append(calibration_error_interval(probs, labels)[0] == 0)
        found.append(calibration_test(probs, labels, draws=200, blocks=blocks).p_value < 0.05)
        missed.append(calibration_test(probs, labels, draws=200).p_value < 0.05)
    assert np.mean(inside) > 0.95 > 0.5 > np.mean(plain)
    assert np.mean(found) < 0.1 < 0.9 < np.mean(missed)


def test_calibration_error_interval_of_blocks_all_correct_allows_a_wrong_one():
    """Of twenty blocks of a certain network, as of twenty samples."""
    probs, blocks = np.ones(200), np.arange(200) // 10
    low, high = calibration_error_interval(probs, probs.astype(int), blocks=blocks)
    of_twenty = calibration_error_interval(np.ones(20), np.ones(20, int))
    assert (low, high) == pytest.approx(of_twenty, rel=0.15)
    assert high > 0.05


@pytest.mark.parametrize(
    "blocks",
    [
        [f"race {i // 3}" for i in range(60)],
        np.arange(60) // 3,
        torch.arange(60) // 3,
        pd.Series([f"race {i // 3}" for i in range(60)]),
        np.arange(60) // 3 / 7,
        np.ma.array(np.arange(60) // 3, mask=False),
        np.datetime64("2026-01-01") + np.arange(60) // 3,
    ],
)
def test_block_index_takes_any_names(blocks):
    assert block_index(blocks, 60).max() == 19
    assert effective_blocks(block_index(blocks, 60)) == pytest.approx(20)


def test_blocks_are_refused_by_name():
    probs, labels = np.full(60, 0.5), np.arange(60) % 2
    for blocks, message in (
        (np.arange(59), r"blocks: expected shape \(60,\), .* found \(59,\)"),
        (np.arange(60) // 10, r"blocks: expected at least 10 .* found 6 that are worth 6.0"),
        ([0] * 48 + [*range(1, 13)], r"blocks: .* found 13 that are worth 1.6; so few"),
        ([None] + list("abc") * 19 + ["d"] * 2, r"blocks: .* found None at index 0"),
        (np.r_[np.arange(59.0), np.nan], r"blocks: .* found nan at index 59"),
        (pd.array([*range(59), pd.NA], dtype="Int64"), r"blocks: .* found (<NA>|nan) at index 59"),
        (np.ma.array(np.arange(60), mask=np.arange(60) < 2), "blocks: found masked entries"),
        (pd.Series(["a", pd.NA] * 30, dtype="string"), r"blocks: .* found (<NA>|nan) at index 1"),
    ):
        for function in (
            *(calibration_error_interval, calibration_test, paired_difference),
            cox_line,
        ):
            with pytest.raises(ValueError, match=message):
                function(probs, labels, blocks=blocks)


def test_calibration_test_z_block_by_block():
    probs, labels, blocks = drawn(5, case=(30, 20, 0.4, False, 0.7))
    sums, most = [], []
    for block in range(30):
        of_block = [(p, y) for p, y, b in zip(probs, labels, blocks, strict=True) if b == block]
        sums.append(sum((1 - 2 * p) * (y - p) for p, y in of_block))
        most.append(sum(abs(1 - 2 * p) * (p * (1 - p)) ** 0.5 for p, _ in of_block))
    ratio = sum(sums) / (np.square(sums).sum() + 2 * np.square(most).mean()) ** 0.5
    tail = t.sf(abs(ratio), effective_blocks(blocks) - 1)
    z = calibration_test(probs, labels, draws=9, blocks=blocks).z
    assert z == pytest.approx(np.copysign(norm.isf(tail), ratio))
    certain = np.repeat([0.0, 1.0], 30)
    assert calibration_test(certain, certain.astype(int), draws=9, blocks=np.arange(60)).z == 0


def test_calibration_test_z_is_finite_where_the_tail_is_too_small_for_a_float():
    """As the gap grows, z grows on, also beyond 38."""
    blocks = np.arange(20_000) // 2
    confidences = np.random.default_rng(0).uniform(0.7, 0.9, 20_000)
    correct = np.random.default_rng(1).random(20_000)
    z = [
        calibration_test(confidences, (correct < share).astype(int), draws=9, blocks=blocks).z
        for share in (0.7, 0.67, 0.64, 0.6, 0.4)
    ]
    assert (np.diff(z) > 0).all()
    assert np.isfinite(z).all()
    assert z[0] < 38 < z[-1]
    certain = np.append(confidences, 1.0), np.append(correct < 0.8, 0).astype(int)
    assert np.isfinite(calibration_test(*certain, draws=9, blocks=np.append(blocks, 10_000)).z)
