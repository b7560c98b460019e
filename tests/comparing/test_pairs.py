"""Paired comparisons, against formulas written out and cases counted by hand."""

from math import comb

import numpy as np
import pytest
from scipy.stats import ttest_rel

from benchmarks import blocks as benchmark
from calib_utils.comparing import (
    Difference,
    corrected_difference,
    mcnemar,
    paired_difference,
    paired_ece_difference,
)
from calib_utils.metrics import expected_calibration_error
from calib_utils.metrics.blocks import effective_blocks
from calib_utils.metrics.intervals import resampled_gaps
from calib_utils.predictions import as_predictions


def answers(both: int, first: int, second: int, neither: int) -> tuple[list[bool], list[bool]]:
    """Who is right, of so many samples of each kind."""
    one = [True] * (both + first) + [False] * (second + neither)
    other = [True] * both + [False] * first + [True] * second + [False] * neither
    return one, other


class TestMcNemar:
    @pytest.mark.parametrize(("first", "second"), [(5, 10), (0, 6), (1, 9), (40, 61)])
    def test_p_value_is_both_tails_of_a_fair_coin(self, first, second):
        n, fewer = first + second, min(first, second)
        tail = sum(comb(n, k) for k in range(fewer + 1)) / 2**n
        found = mcnemar(*answers(20, first, second, 7))
        assert (found.only_first, found.only_second) == (first, second)
        assert found.p_value == pytest.approx(2 * tail)

    def test_what_both_get_right_or_wrong_says_nothing(self):
        few, many = (mcnemar(*answers(n, 4, 11, 2 * n)).p_value for n in (1, 5_000))
        assert few == many

    def test_answers_that_agree(self):
        assert mcnemar(*answers(3, 0, 0, 2)).p_value == 1
        assert mcnemar(*answers(3, 4, 4, 2)).p_value == pytest.approx(1)

    def test_rejects_a_true_hypothesis_about_once_in_twenty(self):
        """And never more often: the exact test is cautious."""
        rng = np.random.default_rng(0)
        truth = rng.random(400)
        first, second = (rng.random((2, 2_000, 400)) < truth).astype(bool)
        rejected = [mcnemar(*pair).p_value < 0.05 for pair in zip(first, second, strict=True)]
        assert 0.02 < np.mean(rejected) < 0.055

    def test_bad_input(self):
        with pytest.raises(
            ValueError, match=r"second: expected 3 values, .*found 2; give the same"
        ):
            mcnemar([1, 0, 1], [1, 0])
        with pytest.raises(
            ValueError, match=r"first: expected True or False .*found 0.3 at index 2"
        ):
            mcnemar([1, 0, 0.3], [1, 0, 1])


class TestPairedDifference:
    def test_is_the_t_test_of_pairs(self):
        rng = np.random.default_rng(1)
        first = rng.exponential(size=200)
        second = first + 0.1 * rng.standard_normal(200) + 0.02
        found, expected = paired_difference(first, second), ttest_rel(second, first)
        assert found.p_value == pytest.approx(expected.pvalue)
        for level in (0.95, 0.6):
            assert found.interval(level) == pytest.approx(
                tuple(expected.confidence_interval(level))
            )

    def test_by_hand(self):
        found = paired_difference([True, False, True], [1, 2, 3])  # differences of 0, 2, 2
        assert (found.mean, found.freedom) == (4 / 3, 2)
        assert found.standard_error == pytest.approx((4 / 3 / 3) ** 0.5)

    def test_what_both_share_drops_out(self):
        rng = np.random.default_rng(2)
        hard = 10 * rng.random(500)
        first, second = hard, hard + 0.01 + 0.01 * rng.standard_normal(500)
        assert paired_difference(first, second).p_value < 1e-6
        assert paired_difference(first, rng.permutation(second)).p_value > 0.01

    def test_equal_differences(self):
        same, shifted = paired_difference([1, 2], [1, 2]), paired_difference([1, 2], [2, 3])
        assert (same.p_value, same.interval()) == (1, (0, 0))
        assert (shifted.p_value, shifted.interval()) == (0, (1, 1))

    def test_bad_input(self):
        with pytest.raises(ValueError, match=r"first: expected shape \(N,\) with at least two"):
            paired_difference([1.0], [2.0])
        with pytest.raises(
            ValueError, match="second: expected finite values, found inf at index 1"
        ):
            paired_difference([1.0, 2.0], [1.0, np.inf])
        with pytest.raises(ValueError, match="second: expected 2 values"):
            paired_difference([1.0, 2.0], [1.0, 2.0, 3.0])
        for least in (0, 1e-10, 1e-17):
            with pytest.raises(
                ValueError, match=r"sample_weight: expected two weights .* worth 1 "
            ):
                paired_difference([0, 1, 2], [1, 1, 3], sample_weight=[1, least, least])


class TestCorrectedDifference:
    DIFFERENCES = (0.3, -0.1, 0.2, 0.4, 0.0, 0.25)

    def test_by_the_formula(self):
        j, values = 6, np.array(self.DIFFERENCES)
        mean = values.sum() / j
        variance = ((values - mean) ** 2).sum() / (j - 1)
        found = corrected_difference(self.DIFFERENCES, n_train=300, n_test=200)
        assert found.mean == pytest.approx(mean)
        assert found.standard_error == pytest.approx(((1 / 6 + 2 / 3) * variance) ** 0.5)
        assert found.freedom == 5

    def test_holds_zero_where_the_usual_one_does_not(self):
        """Splits of one set of samples, and methods that do not differ in truth.

        A method predicts the mean of what it is fitted on, which is one feature or the other.
        """
        rng, wrong = np.random.default_rng(3), np.zeros(2)
        for _ in range(300):
            samples = rng.standard_normal((60, 2))
            differences = []
            for _ in range(15):
                order = rng.permutation(60)
                fitted, judged = samples[order[:30]], samples[order[30:]]
                losses = ((judged - fitted.mean(axis=0)) ** 2).mean(axis=0)
                differences.append(losses[1] - losses[0])
            usual = paired_difference(np.zeros(15), differences).p_value
            wrong += [usual < 0.05, corrected_difference(differences, 30, 30).p_value < 0.05]
        usual, corrected = wrong / 300
        assert usual > 0.3
        assert corrected < 0.08

    def test_bad_input(self):
        with pytest.raises(ValueError, match="n_train: expected an integer from 1"):
            corrected_difference([1, 2], n_train=0, n_test=5)
        with pytest.raises(ValueError, match="n_test: expected an integer from 1"):
            corrected_difference([1, 2], n_train=5, n_test=2.5)
        with pytest.raises(ValueError, match="differences: expected shape"):
            corrected_difference([1], n_train=5, n_test=5)

    def test_as_many_images_as_imagenet_has(self):
        found = corrected_difference([1, 2], n_train=1_281_167, n_test=50_000)
        assert found.standard_error == pytest.approx((0.5 * (0.5 + 50_000 / 1_281_167)) ** 0.5)


class TestDifference:
    def test_interval_of_level_one_less_p_ends_at_zero(self):
        for mean in (0.3, -0.3):
            found = Difference(mean, 0.2, 7.5)
            ends = found.interval(1 - found.p_value)
            assert min(map(abs, ends)) == pytest.approx(0, abs=1e-12)

    def test_without_a_standard_error(self):
        found = Difference(0.3, float("nan"), float("nan"))
        assert np.isnan([found.p_value, *found.interval()]).all()

    def test_normal_with_infinite_freedom(self):
        assert Difference(0, 1, float("inf")).interval() == pytest.approx((-1.959964, 1.959964))

    def test_bad_level(self):
        with pytest.raises(ValueError, match="level: expected a number between 0 and 1, found 95"):
            Difference(0, 1, 3).interval(95)


class TestECEsInPairs:
    """Two overconfident models, whose answers to one sample are right together more often."""

    GAPS = np.array([0.04, 0.10])  # on average; larger where the confidence is lower

    def draw(self, rng, n):
        """For each model (confidences, correct)."""
        ease = rng.beta(2, 1, n)
        luck = rng.random(n)
        models = []
        for gap in self.GAPS:
            confidences = np.clip(ease + rng.normal(0, 0.05, n), 0.01, 0.999)
            chance = confidences * (1 - gap * 3 * (1 - confidences))
            models.append((confidences, (0.5 * luck + 0.5 * rng.random(n)) < self.half(chance)))
        return models

    @staticmethod
    def half(chance):
        """The quantile of half the sum of two uniform numbers."""
        return np.where(chance < 0.5, np.sqrt(chance / 2), 1 - np.sqrt((1 - chance) / 2))

    @staticmethod
    def predictions(model):
        return as_predictions(confidence=model[0], correct=model[1])

    def test_the_mean_is_the_difference_and_the_error_that_of_the_bootstrap(self):
        models = self.draw(np.random.default_rng(0), 5_000)
        found = paired_ece_difference(*map(self.predictions, models))
        eces = [expected_calibration_error(self.predictions(model)) for model in models]
        assert found.mean == pytest.approx(eces[1] - eces[0])
        sets = [(np.ceil(15 * c).astype(int) - 1, c - y) for c, y in models]
        drawn = resampled_gaps(sets, 1_000, seed=0)
        assert found.standard_error == pytest.approx(np.std(drawn[:, 1] - drawn[:, 0]), rel=0.1)

    def test_the_interval_holds_the_difference_of_the_true_errors(self):
        rng = np.random.default_rng(1)
        # So many samples that their ECEs are the true ones.
        large = [
            expected_calibration_error(self.predictions(model))
            for model in self.draw(rng, 2_000_000)
        ]
        truth, held = large[1] - large[0], 0
        for _ in range(400):
            low, high = paired_ece_difference(
                *map(self.predictions, self.draw(rng, 5_000))
            ).interval()
            held += low <= truth <= high
        assert 0.92 < held / 400 < 0.98

    def test_bad_input(self):
        good = as_predictions(confidence=[0.9, 0.8], correct=[1, 0])
        with pytest.raises(ValueError, match="second: expected 2 values"):
            paired_ece_difference(good, as_predictions(confidence=[0.9] * 3, correct=[1] * 3))
        with pytest.raises(ValueError, match="n_bins"):
            paired_ece_difference(good, good, n_bins=0)
        heavy = as_predictions(confidence=[0.9, 0.8], correct=[1, 0], sample_weight=[1, 2])
        with pytest.raises(ValueError, match="sample_weight"):
            paired_ece_difference(good, heavy)

    def test_other_samples_have_other_labels(self):
        rows = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
        first = as_predictions(rows, [0, 1, 0])
        with pytest.raises(ValueError, match=r"second: expected the labels .* 0 for 1 at index 1"):
            paired_ece_difference(first, as_predictions(rows, [0, 0, 1]))
        found = as_predictions(confidence=[0.9, 0.8, 0.6], correct=[True, True, False])
        assert paired_ece_difference(first, found).mean != 0


def test_the_standard_error_of_weighted_differences_counts_effective_samples():
    second, weights = np.array([1.0, 2, 4, 3]), np.array([1.0, 1, 2, 1])
    share = weights / weights.sum()
    effective = 25 / 7  # the squared sum of the weights over the sum of their squares
    squares = (share * (second - share @ second)) ** 2
    expected = np.sqrt(squares.sum() * effective / (effective - 1))
    found = paired_difference(np.zeros(4), second, sample_weight=weights).standard_error
    assert found == pytest.approx(expected)


CASE = (40, 25, 1.0, True, 0.0)  # blocks that are right or wrong as a whole


def drawn(seed, error=0.0, case=CASE):
    everyone = np.linspace(0.05, 0.99, 5_000)
    return benchmark.draw_set(case, error, everyone, np.random.default_rng(seed))


def test_paired_difference_is_the_jackknife_of_blocks():
    rng = np.random.default_rng(2)
    blocks = np.repeat(np.arange(30), rng.integers(1, 9, 30))
    first, second = rng.random((2, len(blocks)))
    found = paired_difference(first, second, blocks=blocks)
    gaps = second - first
    without = np.array([gaps[blocks != b].mean() for b in range(30)])
    assert found.mean == pytest.approx(gaps.mean())
    assert found.standard_error == pytest.approx(
        np.sqrt(29 / 30 * ((without - without.mean()) ** 2).sum())
    )
    assert found.freedom == pytest.approx(effective_blocks(blocks) - 1)
    single = paired_difference(first, second, blocks=np.arange(len(blocks)))
    plain = paired_difference(first, second)
    assert (single.standard_error, single.freedom) == pytest.approx(
        (plain.standard_error, plain.freedom)
    )


def test_paired_ece_difference_takes_blocks():
    probs, labels, blocks = drawn(3)
    sides = [
        as_predictions(confidence=np.clip(probs + shift, 0, 1), correct=labels)
        for shift in (0, -0.05)
    ]
    found, plain = (paired_ece_difference(*sides, blocks=b) for b in (blocks, None))
    assert found.mean == pytest.approx(plain.mean)
    assert found.standard_error > plain.standard_error


def test_paired_difference_keeps_an_infinite_loss_and_names_a_missing_one():
    losses = np.append(np.zeros(20), np.inf)
    with pytest.raises(ValueError, match=r"^second: .*found inf at index 20; .*must stay"):
        paired_difference(np.ones(21), losses)
    with pytest.raises(ValueError, match=r"^first: .*found nan at index 0; remove such samples"):
        paired_difference(np.append([np.nan], losses[:-1]), np.ones(21))


def test_paired_difference_takes_weights_or_blocks():
    with pytest.raises(ValueError, match=r"^sample_weight: expected without blocks"):
        paired_difference(
            np.arange(9.0), np.ones(9), sample_weight=np.arange(9) + 1, blocks=np.arange(9) // 3
        )
