"""The spread over seeds that trainings share, against a fit of least squares."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import t

from calib_utils.comparing import (
    compare,
    judge,
    pooled_spread,
)
from tests.run_cases import CALIBRATED, OVERCONFIDENT, record


class TestPooledSpread:
    def grid(self, values, grid="depth", first_seed=0):
        """Runs with the NLL of a matrix: a row for each training, a column for each seed."""
        return [
            record(level, seed, 0.0, nll=float(x), grid=grid)
            for level, row in enumerate(values, start=1)
            for seed, x in enumerate(row, start=first_seed)
        ]

    def test_is_the_residual_of_a_fit_with_a_constant_for_each_training_and_seed(self):
        values = np.random.default_rng(0).normal(size=(5, 3))
        rows, columns = np.indices(values.shape).reshape(2, -1)
        design = np.concatenate([np.eye(5)[rows], np.eye(3)[columns]], axis=1)
        _, _, rank, _ = np.linalg.lstsq(design, values.ravel())
        left = values.ravel() - design @ np.linalg.lstsq(design, values.ravel())[0]
        found = pooled_spread(self.grid(values), "nll")
        assert found.variance == pytest.approx(left @ left / (15 - rank))
        assert found.freedom == 15 - rank == 8

    def test_finds_the_spread_whatever_trainings_and_seeds_add(self):
        rng = np.random.default_rng(1)
        values = rng.normal(size=(40, 1)) * 9 + rng.normal(size=(1, 26)) * 9
        found = pooled_spread(self.grid(values + 0.3 * rng.normal(size=(40, 26))), "nll")
        assert found.variance**0.5 == pytest.approx(0.3, rel=0.05)

    def test_a_training_of_two_grids_counts_once_and_a_lonely_seed_not(self):
        values = np.random.default_rng(2).normal(size=(3, 3))
        runs = self.grid(values)
        again = [*runs, *self.grid(values, grid="width"), record(1, 7, 0.0, nll=5.0)]
        assert pooled_spread(again, "nll") == pooled_spread(runs, "nll")

    def test_a_copy_with_another_setting_counts_once(self):
        runs = self.grid(np.random.default_rng(0).normal(size=(4, 3)))
        copies = [
            dataclasses.replace(run, recipe={"epochs": 1, "early_stopping": True})
            for run in runs
            if run.value == runs[0].value
        ]
        assert pooled_spread([*runs, *copies], "nll") == pooled_spread(runs, "nll")

    @pytest.mark.parametrize("shape", [(1, 3), (3, 1), (0, 0)])
    def test_too_few(self, shape):
        with pytest.raises(ValueError, match="records: expected at least two different trainings"):
            pooled_spread(self.grid(np.zeros(shape)), "nll")

    def test_takes_the_place_of_the_spread_of_two_groups(self):
        spread = pooled_spread([*CALIBRATED, *OVERCONFIDENT, *self.grid(np.eye(3))], "error")
        found = compare(CALIBRATED, OVERCONFIDENT, "error", spread=spread, repeats=100)
        assert found.of_seeds == pytest.approx((spread.variance * 2 / 3) ** 0.5)
        assert found.freedom == pytest.approx(spread.freedom)
        alone = compare(CALIBRATED, OVERCONFIDENT, "error", repeats=100)
        assert (found.mean, found.of_images) == (alone.mean, alone.of_images)
        of_one = compare(CALIBRATED[:1], OVERCONFIDENT[:1], "error", spread=spread, repeats=100)
        assert of_one.of_seeds == pytest.approx((spread.variance * 2) ** 0.5)

    def test_is_not_for_groups_without_a_common_seed(self):
        """What a seed does to all trainings is not in it, but in the difference of such groups."""
        noise = np.random.default_rng(0).normal(0, 1e-3, size=(5, 3))
        runs = self.grid(noise + np.array([0.0, 0.5, -0.5]))
        spread = pooled_spread(runs, "nll")
        assert spread.variance**0.5 < 2e-3
        for pair in ([runs[0]], [runs[4]]), (CALIBRATED[:1], OVERCONFIDENT[1:]):
            with pytest.raises(ValueError, match=r"spread: .* seed, found the seeds \[0\] and \[1"):
                compare(*pair, "nll", spread=spread)

    def test_verdicts_of_a_plan(self):
        claims = [("depth", 8, 56, "ece", "higher"), ("depth", 8, 56, "error", "lower")]
        runs = [*CALIBRATED, *OVERCONFIDENT]
        for one in judge(runs, claims, pooled=True):
            spread = pooled_spread(runs, one.metric)
            assert one.difference == compare(CALIBRATED, OVERCONFIDENT, one.metric, spread=spread)

    def test_levels_that_no_comparison_names_change_no_verdict(self):
        claims = [("depth", 8, 56, "error", "lower")]
        runs = [*CALIBRATED, *OVERCONFIDENT]
        between = record(20, 0, 0.03)
        assert judge([*runs, between], claims, pooled=True) == judge(runs, claims, pooled=True)

    def test_seldom_finds_what_is_not_there(self):
        """Spreads as those of the small grids, 0.2 to 0.7 points, in fifteen trainings alike."""
        rng, found = np.random.default_rng(3), []
        for _ in range(2000):
            values = rng.uniform(0.2, 0.7, size=(15, 1)) * rng.normal(size=(15, 3))
            left = values - values.mean(axis=1, keepdims=True) - values.mean(axis=0) + values.mean()
            error = ((left**2).sum() / 28 * 2 / 3) ** 0.5
            found.append(abs(values[0].mean() - values[1].mean()) > t.isf(0.025, 28) * error)
        assert 0.03 < np.mean(found) < 0.065
