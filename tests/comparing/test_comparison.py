"""Groups of runs compared, against formulas written out."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm, t, ttest_ind, ttest_rel

from calib_utils.comparing import (
    RunDifference,
    Spread,
    Verdict,
    compare,
)
from calib_utils.comparing.comparison import joined
from tests.run_cases import CALIBRATED, OVERCONFIDENT, N, ece, record


class TestCompare:
    def test_difference_of_the_means(self):
        found = compare(CALIBRATED, OVERCONFIDENT, repeats=100)
        expected = np.mean([r.ece for r in OVERCONFIDENT]) - np.mean([r.ece for r in CALIBRATED])
        assert found.mean == pytest.approx(expected)
        assert 0.06 < found.mean < 0.1
        assert found.p_value < 0.01

    def test_the_other_way_round(self):
        there, back = (
            compare(*pair, repeats=100)
            for pair in ((CALIBRATED, OVERCONFIDENT), (OVERCONFIDENT, CALIBRATED))
        )
        assert back.mean == pytest.approx(-there.mean)
        assert back.standard_error == pytest.approx(there.standard_error)
        assert back.freedom == pytest.approx(there.freedom)

    def test_part_of_seeds_is_the_t_test_of_pairs(self):
        """With the metric that no image speaks of, nothing else is left."""
        losses = np.array([[1.0, 1.2, 1.3], [1.5, 1.8, 2.1]])
        groups = [
            [dataclasses.replace(r, nll=loss) for r, loss in zip(runs, part, strict=True)]
            for runs, part in ((CALIBRATED, losses[0]), (OVERCONFIDENT, losses[1]))
        ]
        found = compare(groups[0], groups[1][::-1], "nll")  # in whatever order
        paired = ttest_rel(losses[1], losses[0])
        assert found.p_value == pytest.approx(paired.pvalue)
        assert found.interval() == pytest.approx(tuple(paired.confidence_interval()))
        assert found.of_seeds == found.standard_error
        assert np.isnan(found.of_images)

    def test_runs_without_a_partner_are_left_out(self):
        found = compare(CALIBRATED, OVERCONFIDENT[1:], "error", repeats=100)
        assert found == compare(CALIBRATED[1:], OVERCONFIDENT[1:], "error", repeats=100)
        assert found.mean == pytest.approx(
            np.mean([r.error for r in OVERCONFIDENT[1:]])
            - np.mean([r.error for r in CALIBRATED[1:]])
        )

    def test_without_a_common_seed_each_group_has_its_own_interval(self):
        losses = [1.0, 1.2, 1.3, 1.5, 2.1]
        others = [record(56, seed, 0.1) for seed in (7, 8)]
        first, second = (
            [dataclasses.replace(r, nll=loss) for r, loss in zip(runs, part, strict=True)]
            for runs, part in ((CALIBRATED, losses[:3]), (others, losses[3:]))
        )
        found = compare(first, second, "nll")
        halves = [
            np.diff(t.interval(0.95, len(x) - 1, scale=np.std(x, ddof=1) / len(x) ** 0.5))[0] / 2
            for x in (losses[:3], losses[3:])
        ]
        half = np.hypot(*halves)
        assert found.interval() == pytest.approx((found.mean - half, found.mean + half))
        assert min(map(abs, found.interval(1 - found.p_value))) == pytest.approx(0, abs=1e-9)
        welch = ttest_ind(losses[3:], losses[:3], equal_var=False)
        assert (found.mean, found.standard_error) == pytest.approx(
            (np.mean(losses[3:]) - np.mean(losses[:3]), found.mean / welch.statistic)
        )

    @pytest.mark.parametrize("level", [0.95, 0.999])
    @pytest.mark.parametrize("freedoms", [(1, 2), (2, 4), (18, 1), (18, 7)])
    def test_two_parts_of_the_seeds_do_not_make_it_too_short(self, level, freedoms):
        """Such as two groups without pairs. With Satterthwaite's degrees of freedom it is."""
        alone = [joined(0.0, [(1.0, freedom)], 0.0).interval(level)[1] for freedom in freedoms]
        rng, missed = np.random.default_rng(freedoms), []
        for share in (0.02, 0.1, 0.5, 0.7, 0.9):
            off = np.abs(rng.normal(size=200_000))
            parts = np.array([[1 - share], [share]]) * [
                rng.chisquare(freedom, 200_000) / freedom for freedom in freedoms
            ]
            half = np.sqrt(np.square(alone) @ parts)
            first = joined(0.0, list(zip(parts[:, 0], freedoms, strict=True)), 0.0)
            assert first.interval(level)[1] == pytest.approx(half[0])
            freedom = parts.sum(axis=0) ** 2 / (parts.T**2 @ (1 / np.array(freedoms)))
            usual = 2 * t.sf(off / np.sqrt(parts.sum(axis=0)), freedom) < 1 - level
            missed.append((np.mean(off > half), np.mean(usual)))
        ours, usual = np.max(missed, axis=0)
        assert ours <= 1 - level
        assert usual > 1.01 * (1 - level)

    @pytest.mark.parametrize("metric", ["nll", "nll_scaled", "ece_scaled"])
    def test_newer_records_have_a_part_of_images_for_all_metrics(self, metric):
        """Its own bootstrap, of the mean or of the ECE; where one run lacks it, there is none."""
        rng, groups = np.random.default_rng(0), []
        for runs in (CALIBRATED, OVERCONFIDENT):
            losses = [rng.gamma(2.0, size=N).astype(np.float16) for _ in runs]
            of_each = {"losses": losses, "losses_scaled": losses}
            of_each["confidences_scaled"] = [r.confidences.astype(np.float16) for r in runs]
            groups.append(
                [
                    dataclasses.replace(r, **{name: x[i] for name, x in of_each.items()})
                    for i, r in enumerate(runs)
                ]
            )
        found = compare(*groups, metric, repeats=100, seed=3)
        rng, differences = np.random.default_rng(3), []
        for _ in range(100):
            drawn = rng.integers(N, size=N)
            means = [
                np.mean(
                    [
                        ece(r.confidences_scaled.astype(np.float32)[drawn], r.correct[drawn])
                        if metric == "ece_scaled"
                        else r.losses[drawn].mean(dtype=float)
                        for r in runs
                    ]
                )
                for runs in groups
            ]
            differences.append(means[1] - means[0])
        assert found.of_images == pytest.approx(np.std(differences, ddof=1), rel=1e-2)
        older = [*groups[1][:2], OVERCONFIDENT[2]]
        assert np.isnan(compare(groups[0], older, metric, repeats=100).of_images)

    @pytest.mark.parametrize("metric", ["ece", "error"])
    def test_part_of_images_is_a_bootstrap_of_whole_images(self, metric):
        """Every draw made again, with the metrics computed on the drawn images."""
        rng, differences = np.random.default_rng(3), []
        for _ in range(100):
            drawn = rng.integers(N, size=N)
            means = []
            for runs in (CALIBRATED, OVERCONFIDENT):
                of_runs = [
                    ece(r.confidences[drawn], r.correct[drawn])
                    if metric == "ece"
                    else 1 - r.correct[drawn].mean()
                    for r in runs
                ]
                means.append(np.mean(of_runs))
            differences.append(means[1] - means[0])
        found = compare(CALIBRATED, OVERCONFIDENT, metric, repeats=100, seed=3)
        assert found.of_images == pytest.approx(np.std(differences, ddof=1))

    def test_both_parts_are_joined(self):
        """The squares of the half-widths that each part would give are added."""
        eces = [[r.ece for r in runs] for runs in (CALIBRATED, OVERCONFIDENT)]
        found = compare(CALIBRATED, OVERCONFIDENT, repeats=100)
        assert found.of_seeds == pytest.approx(np.std(np.diff(eces, axis=0), ddof=1) / 3**0.5)
        half = np.hypot(t.ppf(0.975, 2) * found.of_seeds, 1.959964 * found.of_images)
        assert found.interval() == pytest.approx((found.mean - half, found.mean + half))
        ends = found.interval(1 - found.p_value)
        assert min(map(abs, ends)) == pytest.approx(0, abs=1e-9)

    @pytest.mark.parametrize("level", [0.95, 0.998])
    @pytest.mark.parametrize("seeds", [2, 3, 5])
    def test_the_joint_interval_is_never_too_short(self, level, seeds):
        """However the variance is shared. With Satterthwaite's degrees of freedom it is."""
        alone = [
            RunDifference(0.0, 1.0, seeds - 1, of_seeds=a, of_images=b).interval(level)[1]
            for a, b in ((1.0, 0.0), (0.0, 1.0))
        ]
        rng, missed = np.random.default_rng(seeds), []
        for of_seeds in (0.1, 1.0, 4.0, 10.0):
            off = np.abs(rng.normal(0, np.sqrt(of_seeds + 1), 200_000))
            found = of_seeds * rng.chisquare(seeds - 1, 200_000) / (seeds - 1)
            ours = np.mean(off > np.hypot(alone[0] * np.sqrt(found), alone[1]))
            freedom = (seeds - 1) * ((found + 1) / found) ** 2
            usual = np.mean(2 * t.sf(off / np.sqrt(found + 1), freedom) < 1 - level)
            missed.append((ours, usual))
        ours, usual = np.max(missed, axis=0)
        assert ours <= 1 - level
        assert usual > 1.1 * (1 - level)

    def test_joined_p_value_of_a_clear_difference(self):
        found = RunDifference(1.0, 0.1, float("inf"), of_seeds=0.0, of_images=0.1)
        assert found.p_value == pytest.approx(2 * norm.sf(10))
        assert RunDifference(1e3, 0.1, 2, of_seeds=0.0, of_images=0.1).p_value == 0
        assert RunDifference(0.0, 0.1, 2, of_seeds=0.1, of_images=0.0).p_value == 1

    def test_seeds_that_disagree(self):
        others = [record(8, seed, excess) for seed, excess in enumerate((0.0, 0.01, 0.15), 3)]
        found = compare(CALIBRATED, others, repeats=100)
        assert found.mean > 3 * found.of_images  # other images would show the same
        assert found.p_value > 0.2  # other seeds might not

    def test_one_seed_tells_nothing_of_others(self):
        found = compare(CALIBRATED, OVERCONFIDENT[:1], repeats=100)
        assert found.mean > 0.05
        assert np.isnan([found.p_value, found.of_seeds, found.of_images]).all()

    def test_a_setting_that_changes_nothing(self):
        changes = {"value": 9, "recipe": {"epochs": 1, "early_stopping": True}}
        stopped = [
            dataclasses.replace(run, name=f"toy.stopped.seed-{run.seed}", **changes)
            for run in CALIBRATED
        ]
        found = compare(CALIBRATED, stopped, "ece", spread=Spread(0.01**2, 10))
        assert (found.mean, found.interval(), found.p_value) == (0, (0, 0), 1)
        other = dataclasses.replace(record(8, 2, 0.1), **changes)
        one_moved = [*stopped[:2], other]
        assert compare(CALIBRATED, one_moved, repeats=100).standard_error > 0
        assert Verdict("depth", "8 to 9", "ece", "lower", found, 1.0).outcome == "no difference"

    def test_runs_are_read_once(self):
        found = compare(iter(CALIBRATED), iter(OVERCONFIDENT))
        assert found == compare(CALIBRATED, OVERCONFIDENT)


class TestBadInput:
    """What would have given a number that means nothing."""

    def test_metric_and_groups(self):
        with pytest.raises(ValueError, match=r"metric: expected one of error, ece, .*'loss'"):
            compare(CALIBRATED, CALIBRATED, "loss")
        with pytest.raises(ValueError, match="second: expected at least one run, found none"):
            compare(CALIBRATED, [])
        with pytest.raises(ValueError, match=r"first: expected records of experiments, found 0\.1"):
            compare([0.1, 0.2], CALIBRATED)

    @pytest.mark.parametrize("repeats", [0, 1, 99, 2.5, -1])
    def test_too_few_draws(self, repeats):
        with pytest.raises(ValueError, match="repeats: expected"):
            compare(CALIBRATED, OVERCONFIDENT, repeats=repeats)

    def test_one_run_several_times(self):
        with pytest.raises(ValueError, match=r"second: expected runs with different seeds"):
            compare(CALIBRATED, [OVERCONFIDENT[0]] * 3)
        copies = [dataclasses.replace(OVERCONFIDENT[0], seed=seed) for seed in range(3)]
        with pytest.raises(ValueError, match=r"second: expected different runs, found the same"):
            compare(CALIBRATED, copies)
        with pytest.raises(ValueError, match=r"second: expected different runs, found the same"):
            compare(CALIBRATED, CALIBRATED)

    def test_other_images(self):
        others = [dataclasses.replace(r, dataset="cifar100") for r in OVERCONFIDENT]
        with pytest.raises(ValueError, match=r"same test images .* 4000 of cifar100"):
            compare(CALIBRATED, others)
        fewer = [
            dataclasses.replace(r, confidences=r.confidences[:9], correct=r.correct[:9])
            for r in OVERCONFIDENT
        ]
        with pytest.raises(ValueError, match=r"same test images .* 9 of digits"):
            compare(CALIBRATED, fewer)

    def test_a_group_of_different_trainings(self):
        with pytest.raises(
            ValueError, match=r"first: expected runs that differ only in their seed"
        ):
            compare([CALIBRATED[0], OVERCONFIDENT[1]], OVERCONFIDENT)

    @pytest.mark.parametrize("change", [{"ece": 0.01}, {"error": 0.2}, {"ece": float("nan")}])
    def test_numbers_that_the_answers_contradict(self, change):
        others = [*CALIBRATED[:2], dataclasses.replace(CALIBRATED[2], **change)]
        with pytest.raises(
            ValueError, match=r"seed-2: its record has (ece|error) .* predictions give"
        ):
            compare(others, OVERCONFIDENT)
