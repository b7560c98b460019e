"""The interval of the calibration error, against itself written out and against known truths."""

import doctest
from math import comb
from statistics import NormalDist

import numpy as np
import pytest
import torch
from interval_cases import FEW, binary, held, noise_of_bins

from calib_utils.metrics import calibration_error_interval, expected_calibration_error, intervals
from calib_utils.predictions import as_predictions


def test_the_noise_of_a_bin_with_the_samples_that_are_added():
    """To the first deviation two calibrated ones, to the second four, two of them all wrong."""
    confidences = np.array([0.6, 0.7, 0.8, 0.9, 0.2, 0.3])
    correct = np.array([1, 0, 1, 1, 0, 1])
    given = as_predictions(confidence=confidences, correct=correct)
    of_bins = intervals.bin_sums(given, 2, "uniform")
    share, excess, measured, cautious = intervals._noise(of_bins)
    for m, inside in enumerate((confidences < 0.5, confidences > 0.5)):
        gaps, n = (confidences - correct)[inside], inside.sum()
        mean, around = gaps.mean(), ((gaps - gaps.mean()) ** 2).sum()
        spread = (confidences * (1 - confidences))[inside].mean()
        assert (share[m], excess[m]) == pytest.approx((n / 6, gaps.sum() / 6))
        for found, within in (
            (measured, (around + 2 * spread) / (n - 1 + 2)),
            (cautious, (around + 2) / (n + 4)),
        ):
            variance = n / 6 * (within + mean**2 * (1 - n / 6)) / 6
            assert found[m] == pytest.approx(variance**0.5)


def written_out(probs, labels, n_bins, level, seed):
    """The interval bin by bin, draw by draw, and by steps of a hundredth of a per cent."""
    n, excess, measured, cautious = len(probs), [], [], []
    for share, gap, ours, at_least in noise_of_bins(probs, labels, n_bins):
        excess.append(share * gap)
        measured.append(np.sqrt(share * ours / n))
        cautious.append(np.sqrt(share * at_least / n))
    ece, tail = sum(map(abs, excess)), (1 - level) / 2
    draws = np.random.default_rng(seed).standard_normal((2_000, len(excess)))
    z = NormalDist().inv_cdf(1 - 0.005 / (2 * len(excess)))
    too_high = []
    for draw in draws:
        total = 0.0
        for gap, sd, noise in zip(excess, cautious, draw, strict=True):
            total += sd * (noise if abs(gap) > 2 * z * sd else abs(noise))
        too_high.append(total)
    highest = []
    for sds in (measured, cautious):
        lucky = np.quantile(np.abs(draws * sds).sum(axis=1), NormalDist().cdf(-1))
        for error in np.arange(0, 1, 1e-4):
            means = error * np.array(sds) / sum(sds)
            if np.quantile(np.abs(means + draws * sds).sum(axis=1), tail) > max(ece, lucky):
                highest.append(error)
                break
    return max(0, ece - np.quantile(too_high, 1 - tail + 0.005)), max(highest)


@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_is_what_its_definition_gives(gap):
    probs, labels = binary(200, gap=gap)
    found = calibration_error_interval(probs, labels, 5, level=0.9, seed=3)
    expected = written_out(probs, labels, 5, level=0.9, seed=3)
    assert found == pytest.approx(expected, abs=1e-4)


def test_with_a_clear_gap_it_is_that_of_a_mean():
    # Then the ECE is a mean of n terms, with a normal error.
    probs, labels = binary(5_000, gap=0.2)
    excess = probs - labels
    error = excess.std() / np.sqrt(len(excess))
    low, high = calibration_error_interval(probs, labels, 1)
    # Of the chance to miss below, a fifth is kept back for gaps that only look clear.
    assert low == pytest.approx(excess.mean() - 2.054 * error, abs=0.25 * error)
    assert high == pytest.approx(excess.mean() + 1.960 * error, abs=0.25 * error)


TRUTHS = {
    "calibrated": lambda p: p,
    "a gap that alternates": lambda p: p + np.where(np.ceil(15 * p) % 2, 0.02, -0.02),
    "a bend": lambda p: p - 0.3 * p * (1 - p),
    "far too bold": lambda p: p**2,
}


@pytest.mark.parametrize(
    ("truth", "strategy"), list(zip(TRUTHS, 2 * ["uniform", "quantile"], strict=True))
)
def test_holds_the_true_error_as_often_as_it_says(truth, strategy):
    inside = held(
        TRUTHS[truth],
        strategy,
        lambda sums, counts: np.abs(sums).sum() / counts.sum(),
        calibration_error_interval,
    )
    # At 95 %, 88 or fewer of 100 inside have a chance of less than one in a hundred.
    assert inside > 88


def test_the_error_of_calibrated_predictions_may_be_none():
    probs, labels = binary(2_000)
    low, high = calibration_error_interval(probs, labels, 30)
    assert low == 0
    assert high < 0.06
    assert expected_calibration_error(probs, labels, 30) > 0.02


def test_a_higher_level_is_wider():
    probs, labels = binary(500, gap=0.15)
    narrow = calibration_error_interval(probs, labels, level=0.5)
    wide = calibration_error_interval(probs, labels, level=0.98)
    assert 0 < wide[0] < narrow[0] < narrow[1] < wide[1] < 1


def test_more_samples_make_it_shorter():
    ends = [calibration_error_interval(*binary(n, gap=0.1)) for n in (300, 3_000, 30_000)]
    widths = [high - low for low, high in ends]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_is_the_same_for_one_seed_for_tensors_and_in_any_order():
    probs, labels = binary(300, gap=0.3)
    first = calibration_error_interval(probs, labels, seed=1)
    assert first == calibration_error_interval(probs, labels, seed=1)
    assert first != calibration_error_interval(probs, labels, seed=2)
    assert first == calibration_error_interval(
        torch.from_numpy(probs), torch.from_numpy(labels), seed=1
    )
    assert first == pytest.approx(
        calibration_error_interval(probs[::-1].copy(), labels[::-1].copy(), seed=1)
    )
    columns = np.stack([1 - probs, probs], axis=1)
    assert first != calibration_error_interval(columns, labels, seed=1)  # of the predicted class


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize(
    ("probs", "labels", "holds"),
    FEW,
)
def test_few_or_equal_samples(probs, labels, holds, strategy):
    for n_bins in (1, 15):
        low, high = calibration_error_interval(probs, labels, n_bins, strategy=strategy)
        assert 0 <= low <= holds <= high <= 1


def test_float16_and_bfloat16_bin_as_they_came():
    probs, labels = binary(500)
    half = torch.from_numpy(probs).half()
    found = calibration_error_interval(half, labels)
    assert found == calibration_error_interval(half.numpy(), labels)
    assert found == pytest.approx(calibration_error_interval(probs, labels), abs=0.01)
    assert calibration_error_interval(torch.from_numpy(probs).bfloat16(), labels)[1] > 0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"level": 0}, "level"),
        ({"level": 0.99}, "level"),
        ({"level": 95}, "level"),
        ({"level": float("nan")}, "level"),
        ({"n_bins": 0}, "n_bins"),
        ({"n_bins": 2.5}, "n_bins"),
        ({"strategy": "equal"}, "strategy"),
    ],
)
def test_bad_arguments(arguments, name):
    with pytest.raises(ValueError, match=f"^{name}: "):
        calibration_error_interval(*binary(10), **arguments)


def test_bad_probabilities():
    with pytest.raises(ValueError, match=r"^probs: "):
        calibration_error_interval([[0.5, 0.6]], [0])


def test_its_example():
    result = doctest.testmod(intervals)
    assert result.attempted
    assert not result.failed


def test_with_ten_samples_of_one_confidence_it_covers_92_percent_in_the_worst_case():
    """All numbers of correct ones, each with its probability: no chance is left."""
    n, confidence = 10, 0.8
    ends = [
        calibration_error_interval([confidence] * n, [1] * k + [0] * (n - k)) for k in range(n + 1)
    ]
    coverage = []
    for chance in np.linspace(0.01, 0.99, 99):
        error = abs(confidence - chance)
        inside = [low <= error + 1e-9 and error - 1e-9 <= high for low, high in ends]
        of_k = [comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
        coverage.append(np.dot(inside, of_k))
    assert min(coverage) == pytest.approx(0.92, abs=0.004)
    assert np.mean(coverage) > 0.95
