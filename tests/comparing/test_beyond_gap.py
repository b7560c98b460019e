"""What is left of a difference beside the line of the others."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import linregress, norm, t

from calib_utils.comparing import (
    compare,
    compare_beyond_gap,
    judge,
    pooled_spread,
)
from tests.run_cases import record


class TestBeyondTheGap:
    def runs(self, level, ece_per_gap, grid="depth", seeds=3):
        """Networks whose ECE is a share of their generalisation gap."""
        made = [record(level, seed, 0.002 * level, grid=grid) for seed in range(seeds)]
        return [
            dataclasses.replace(
                run,
                history=[
                    {
                        "train_accuracy": 0.0,
                        "fitted_accuracy": run.correct.mean() + run.ece / ece_per_gap,
                    }
                ],
            )
            for run in made
        ]

    @pytest.fixture
    def others(self):
        return [run for level in (10, 20, 30) for run in self.runs(level, 0.5, grid="width")]

    def test_nothing_is_left_of_what_lies_on_the_line(self, others):
        narrow, wide = self.runs(15, 0.5), self.runs(45, 0.5)
        assert compare(narrow, wide, repeats=100).mean > 0.04
        found = compare_beyond_gap(narrow, wide, others, repeats=100)
        assert found.mean == pytest.approx(0, abs=1e-9)
        assert found.p_value > 0.99

    def test_what_lies_beside_the_line_is_left(self, others):
        """At three quarters of the gap where others have half, a third of the ECE is left."""
        narrow, wide = self.runs(15, 0.5), self.runs(45, 0.75)
        found = compare_beyond_gap(narrow, wide, others, repeats=100)
        assert found.mean == pytest.approx(np.mean([run.ece for run in wide]) / 3)
        assert found.p_value < 0.05

    def test_an_overconfidence_has_a_sign(self, others):
        narrow, wide = self.runs(15, 0.5), self.runs(45, 0.75)

        def means(name):
            of = (narrow, wide, others[:3], others[3:6], others[6:])
            return [np.mean([getattr(run, name) for run in runs]) for runs in of]

        gaps, over = means("generalization_gap"), means("overconfidence")
        slope, _ = np.polyfit(gaps[2:], over[2:], 1)
        found = compare_beyond_gap(narrow, wide, others, metric="overconfidence", repeats=100)
        expected = over[1] - over[0] - slope * (gaps[1] - gaps[0])
        assert found.mean == pytest.approx(expected)
        with pytest.raises(ValueError, match="metric: expected 'ece' or 'overconfidence'"):
            compare_beyond_gap(narrow, wide, others, metric="nll")

    def test_a_scattered_line_is_an_uncertain_one(self, others):
        narrow, wide = self.runs(15, 0.5), self.runs(45, 0.75)
        scattered = [*others, *self.runs(25, 0.4, grid="width"), *self.runs(35, 0.6, grid="width")]
        close, far = (
            compare_beyond_gap(narrow, wide, runs, repeats=100) for runs in (others, scattered)
        )
        assert far.of_seeds > 2 * close.of_seeds

    def test_the_line_has_an_interval_of_its_own(self):
        """Of one degree of freedom here, however many the seeds have."""
        shares = {10: 0.45, 20: 0.55, 30: 0.5}
        others = [run for level, x in shares.items() for run in self.runs(level, x, grid="width")]
        narrow, wide = self.runs(15, 0.5), self.runs(45, 0.75)
        found = compare_beyond_gap(narrow, wide, others, repeats=100)
        means = [
            [np.mean([getattr(run, x) for run in others[k : k + 3]]) for k in (0, 3, 6)]
            for x in ("generalization_gap", "ece")
        ]
        fit = linregress(*means)
        gaps = [np.mean([run.generalization_gap for run in runs]) for runs in (narrow, wide)]
        spread = pooled_spread(
            [*narrow, *wide, *others], lambda run: run.ece - fit.slope * run.generalization_gap
        )
        halves = [
            t.ppf(0.975, 1) * fit.stderr * (gaps[1] - gaps[0]),
            t.ppf(0.975, spread.freedom) * (spread.variance * 2 / 3) ** 0.5,
            norm.ppf(0.975) * found.of_images,
        ]
        half = np.linalg.norm(halves)
        assert found.interval() == pytest.approx((found.mean - half, found.mean + half))

    def test_groups_without_a_common_seed(self, others):
        narrow, wide = self.runs(15, 0.5), self.runs(45, 0.75)
        with pytest.raises(ValueError, match=r"second: expected groups with a common seed"):
            compare_beyond_gap(narrow[:1], wide[1:], others)

    def test_in_a_verdict_the_others_are_the_other_grids(self, others):
        narrow, wide = self.runs(15, 0.5), self.runs(45, 0.75)
        claims = [
            ("depth", 15, 45, "ece_beyond_gap", "higher"),
            ("width", 10, 20, "ece", "higher"),
            ("width", 20, 30, "ece", "higher"),
        ]
        found = judge([*narrow, *wide, *others, *self.runs(5, 2.0, grid="width")], claims)
        assert found[0].difference == compare_beyond_gap(narrow, wide, others)
        assert "ECE beyond the gap" in str(found)

    def test_a_line_needs_three_gaps(self, others):
        narrow, wide = self.runs(15, 0.5), self.runs(45, 0.5)
        with pytest.raises(ValueError, match="others: expected trainings with at least three"):
            compare_beyond_gap(narrow, wide, others[:6])
