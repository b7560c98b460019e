"""Groups of runs compared, judged and tabulated, against formulas written out."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from scipy.stats import linregress, norm, t, ttest_ind, ttest_rel

from calib_utils.comparing import (
    Difference,
    RunDifference,
    Spread,
    Verdict,
    Verdicts,
    compare,
    compare_beyond_gap,
    holm,
    judge,
    level_table,
    pooled_spread,
)
from calib_utils.comparing.comparison import joined
from calib_utils.metrics import baseline_calibration_error, expected_calibration_error
from calib_utils.plots import (
    BLUE,
    GREY,
    factor_panels,
    generalization_plot,
    verdict_plot,
)
from calib_utils.records import ExperimentRecord, by_level, describe_protocol, load_grid
from calib_utils.records.experiments import save_experiment

N = 4_000


def ece(confidences: np.ndarray, correct: np.ndarray) -> float:
    """Equation 3 of Guo et al., with a loop over the bins."""
    total = 0.0
    for m in range(15):
        here = (confidences > np.float32(m / 15)) & (confidences <= np.float32((m + 1) / 15))
        total += abs(confidences[here].astype(float).sum() - correct[here].sum())
    return total / len(correct)


def record(level, seed: int, excess: float, network: str = "toy", **changes) -> ExperimentRecord:
    """Answers whose confidence is too high by ``excess``; the same images for every run."""
    rng = np.random.default_rng(7)
    truth = rng.uniform(0.2, 0.7, N)
    correct = np.random.default_rng([seed, int(100 * level)]).random(N) < truth
    confidences = (truth + excess).astype(np.float32)
    fields = {
        **{"grid": "depth", "protocol": "cpu", "name": f"{network}.depth-{level}.seed-{seed}"},
        **{"network": {"name": network, "depth": level}, "factor": "depth", "value": level},
        **{"seed": seed, "dataset": "digits", "training_images": 150, "recipe": {"epochs": 1}},
        **{"confidences": confidences, "correct": correct, "history": [], "temperature": 1.0},
        **{"error": 1 - correct.mean(), "nll": 1.0, "ece": ece(confidences, correct)},
        **{"nll_scaled": 1.0, "ece_scaled": 0.0, "versions": {}, "hardware": "", "date": ""},
    }
    return ExperimentRecord(**fields | changes)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def calibrated():
    return [record(8, seed, 0.0) for seed in range(3)]


@pytest.fixture(scope="module")
def overconfident():
    return [record(56, seed, 0.1) for seed in range(3)]


class TestCompare:
    def test_difference_of_the_means(self, calibrated, overconfident):
        found = compare(calibrated, overconfident, repeats=100)
        expected = np.mean([r.ece for r in overconfident]) - np.mean([r.ece for r in calibrated])
        assert found.mean == pytest.approx(expected)
        assert 0.06 < found.mean < 0.1
        assert found.p_value < 0.01

    def test_the_other_way_round(self, calibrated, overconfident):
        there, back = (
            compare(*pair, repeats=100)
            for pair in ((calibrated, overconfident), (overconfident, calibrated))
        )
        assert back.mean == pytest.approx(-there.mean)
        assert back.standard_error == pytest.approx(there.standard_error)
        assert back.freedom == pytest.approx(there.freedom)

    def test_part_of_seeds_is_the_t_test_of_pairs(self, calibrated, overconfident):
        """With the metric that no image speaks of, nothing else is left."""
        losses = np.array([[1.0, 1.2, 1.3], [1.5, 1.8, 2.1]])
        groups = [
            [dataclasses.replace(r, nll=loss) for r, loss in zip(runs, part, strict=True)]
            for runs, part in ((calibrated, losses[0]), (overconfident, losses[1]))
        ]
        found = compare(groups[0], groups[1][::-1], "nll")  # in whatever order
        paired = ttest_rel(losses[1], losses[0])
        assert found.p_value == pytest.approx(paired.pvalue)
        assert found.interval() == pytest.approx(tuple(paired.confidence_interval()))
        assert found.of_seeds == found.standard_error
        assert np.isnan(found.of_images)

    def test_runs_without_a_partner_are_left_out(self, calibrated, overconfident):
        found = compare(calibrated, overconfident[1:], "error", repeats=100)
        assert found == compare(calibrated[1:], overconfident[1:], "error", repeats=100)
        assert found.mean == pytest.approx(
            np.mean([r.error for r in overconfident[1:]])
            - np.mean([r.error for r in calibrated[1:]])
        )

    def test_without_a_common_seed_each_group_has_its_own_interval(self, calibrated):
        losses = [1.0, 1.2, 1.3, 1.5, 2.1]
        others = [record(56, seed, 0.1) for seed in (7, 8)]
        first, second = (
            [dataclasses.replace(r, nll=loss) for r, loss in zip(runs, part, strict=True)]
            for runs, part in ((calibrated, losses[:3]), (others, losses[3:]))
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
    def test_newer_records_have_a_part_of_images_for_all_metrics(
        self, calibrated, overconfident, metric
    ):
        """Its own bootstrap, of the mean or of the ECE; where one run lacks it, there is none."""
        rng, groups = np.random.default_rng(0), []
        for runs in (calibrated, overconfident):
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
        older = [*groups[1][:2], overconfident[2]]
        assert np.isnan(compare(groups[0], older, metric, repeats=100).of_images)

    @pytest.mark.parametrize("metric", ["ece", "error"])
    def test_part_of_images_is_a_bootstrap_of_whole_images(self, calibrated, overconfident, metric):
        """Every draw made again, with the metrics computed on the drawn images."""
        rng, differences = np.random.default_rng(3), []
        for _ in range(100):
            drawn = rng.integers(N, size=N)
            means = []
            for runs in (calibrated, overconfident):
                of_runs = [
                    ece(r.confidences[drawn], r.correct[drawn])
                    if metric == "ece"
                    else 1 - r.correct[drawn].mean()
                    for r in runs
                ]
                means.append(np.mean(of_runs))
            differences.append(means[1] - means[0])
        found = compare(calibrated, overconfident, metric, repeats=100, seed=3)
        assert found.of_images == pytest.approx(np.std(differences, ddof=1))

    def test_both_parts_are_joined(self, calibrated, overconfident):
        """The squares of the half-widths that each part would give are added."""
        eces = [[r.ece for r in runs] for runs in (calibrated, overconfident)]
        found = compare(calibrated, overconfident, repeats=100)
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

    def test_seeds_that_disagree(self, calibrated):
        others = [record(8, seed, excess) for seed, excess in enumerate((0.0, 0.01, 0.15), 3)]
        found = compare(calibrated, others, repeats=100)
        assert found.mean > 3 * found.of_images  # other images would show the same
        assert found.p_value > 0.2  # other seeds might not

    def test_one_seed_tells_nothing_of_others(self, calibrated, overconfident):
        found = compare(calibrated, overconfident[:1], repeats=100)
        assert found.mean > 0.05
        assert np.isnan([found.p_value, found.of_seeds, found.of_images]).all()

    def test_a_setting_that_changes_nothing(self, calibrated):
        changes = {"value": 9, "recipe": {"epochs": 1, "early_stopping": True}}
        stopped = [
            dataclasses.replace(run, name=f"toy.stopped.seed-{run.seed}", **changes)
            for run in calibrated
        ]
        found = compare(calibrated, stopped, "ece", spread=Spread(0.01**2, 10))
        assert (found.mean, found.interval(), found.p_value) == (0, (0, 0), 1)
        other = dataclasses.replace(record(8, 2, 0.1), **changes)
        one_moved = [*stopped[:2], other]
        assert compare(calibrated, one_moved, repeats=100).standard_error > 0
        assert Verdict("depth", "8 to 9", "ece", "lower", found, 1.0).outcome == "no difference"

    def test_runs_are_read_once(self, calibrated, overconfident):
        found = compare(iter(calibrated), iter(overconfident))
        assert found == compare(calibrated, overconfident)


class TestBadInput:
    """What would have given a number that means nothing."""

    def test_metric_and_groups(self, calibrated):
        with pytest.raises(ValueError, match=r"metric: expected one of error, ece, .*'loss'"):
            compare(calibrated, calibrated, "loss")
        with pytest.raises(ValueError, match="second: expected at least one run, found none"):
            compare(calibrated, [])
        with pytest.raises(ValueError, match=r"first: expected records of experiments, found 0\.1"):
            compare([0.1, 0.2], calibrated)

    @pytest.mark.parametrize("repeats", [0, 1, 99, 2.5, -1])
    def test_too_few_draws(self, calibrated, overconfident, repeats):
        with pytest.raises(ValueError, match="repeats: expected"):
            compare(calibrated, overconfident, repeats=repeats)

    def test_one_run_several_times(self, calibrated, overconfident):
        with pytest.raises(ValueError, match=r"second: expected runs with different seeds"):
            compare(calibrated, [overconfident[0]] * 3)
        copies = [dataclasses.replace(overconfident[0], seed=seed) for seed in range(3)]
        with pytest.raises(ValueError, match=r"second: expected different runs, found the same"):
            compare(calibrated, copies)
        with pytest.raises(ValueError, match=r"second: expected different runs, found the same"):
            compare(calibrated, calibrated)

    def test_other_images(self, calibrated, overconfident):
        others = [dataclasses.replace(r, dataset="cifar100") for r in overconfident]
        with pytest.raises(ValueError, match=r"same test images .* 4000 of cifar100"):
            compare(calibrated, others)
        fewer = [
            dataclasses.replace(r, confidences=r.confidences[:9], correct=r.correct[:9])
            for r in overconfident
        ]
        with pytest.raises(ValueError, match=r"same test images .* 9 of digits"):
            compare(calibrated, fewer)

    def test_a_group_of_different_trainings(self, calibrated, overconfident):
        with pytest.raises(
            ValueError, match=r"first: expected runs that differ only in their seed"
        ):
            compare([calibrated[0], overconfident[1]], overconfident)

    @pytest.mark.parametrize("change", [{"ece": 0.01}, {"error": 0.2}, {"ece": float("nan")}])
    def test_numbers_that_the_answers_contradict(self, calibrated, overconfident, change):
        others = [*calibrated[:2], dataclasses.replace(calibrated[2], **change)]
        with pytest.raises(
            ValueError, match=r"seed-2: its record has (ece|error) .* predictions give"
        ):
            compare(others, overconfident)


CLAIMS = [("depth", 8, 56, "ece", "higher"), ("depth", 8, 56, "error", "lower")]


class TestHolm:
    def test_by_hand(self):
        """Each p value times the number of those not smaller; never below the one before."""
        assert holm([0.2, 0.01, 0.04, 0.015]) == pytest.approx([0.2, 0.04, 0.08, 0.045])
        assert holm([0.03, 0.031]) == pytest.approx([0.06, 0.06])
        assert holm([0.7, 0.8, 0.001]) == pytest.approx([1, 1, 0.003])
        assert holm([]) == []

    def test_one_is_left_as_it_is(self):
        assert holm([0.04]) == [0.04]

    def test_what_could_not_be_tested_counts(self):
        first, second = holm([0.03, float("nan")])
        assert first == 0.06
        assert np.isnan(second)

    def test_rejects_as_the_steps_of_the_paper_do(self):
        """Smallest first, against 0.05 / m, 0.05 / (m - 1), ...; stop at the first that fails."""
        rng = np.random.default_rng(0)
        for _ in range(200):
            p_values = rng.random(5) ** 4
            rejected = set()
            for step, i in enumerate(np.argsort(p_values)):
                if p_values[i] > 0.05 / (5 - step):
                    break
                rejected.add(i)
            assert {i for i, p in enumerate(holm(p_values)) if p <= 0.05} == rejected

    def test_bad_input(self):
        with pytest.raises(ValueError, match="p_values: expected numbers from 0 to 1"):
            holm([0.1, 1.2])


class TestJudge:
    def test_each_claim_is_set_against_the_comparison(self, calibrated, overconfident):
        found = judge([*overconfident, *calibrated], CLAIMS)
        assert [one.metric for one in found] == ["ece", "error"]
        alone = [compare(calibrated, overconfident, metric) for metric in ("ece", "error")]
        assert [one.difference for one in found] == alone
        assert [one.adjusted for one in found] == holm([one.p_value for one in alone])
        assert {one.change for one in found} == {"layers: 8 to 56"}
        assert found.outcomes == ["holds", "undecided"]
        back = judge([*overconfident, *calibrated], [("depth", 56, 8, "ece", "higher")])
        assert back.outcomes == ["does not hold"]

    def test_what_is_judged_together_is_corrected_together(self, calibrated, overconfident):
        runs = [*calibrated, *overconfident]
        more = [dataclasses.replace(run, grid="width") for run in runs]
        both = judge([*runs, *more], [*CLAIMS, *(("width", *claim[1:]) for claim in CLAIMS)])
        alone = judge(runs, CLAIMS)
        assert both.of("depth")[0].adjusted == pytest.approx(2 * alone[0].adjusted)
        assert [one.grid for one in both.of("width")] == ["width"] * 2
        assert isinstance(both.of("width"), Verdicts)

    @pytest.mark.parametrize(
        ("mean", "adjusted", "claimed", "outcome"),
        [
            (0.1, 0.049, "higher", "holds"),
            (0.1, 0.049, "lower", "does not hold"),
            (-0.1, 0.001, "lower", "holds"),
            (-0.1, 0.001, "higher", "does not hold"),
            (0.1, 0.05, "higher", "undecided"),
            (-0.1, 1.0, "higher", "undecided"),
            (0.1, float("nan"), "higher", "undecided"),
        ],
    )
    def test_outcome(self, mean, adjusted, claimed, outcome):
        verdict = Verdict("a", "a: 1 to 2", "ece", claimed, Difference(mean, 0.1, 3), adjusted)
        assert verdict.outcome == outcome

    def test_shows_itself_as_a_table(self):
        inf, nan = float("inf"), float("nan")
        shown = Verdicts(
            [
                Verdict("a", "a: 1 to 2", "ece", "higher", Difference(0.012, 0.1, inf), 1.0),
                Verdict("a", "a: 1 to 2", "nll", "lower", Difference(-0.5, 0.1, inf), 1e-6),
                Verdict("a", "a: 1 to 2", "ece", "lower", Difference(0.02, nan, nan), nan),
            ]
        )
        ece = "\N{MINUS SIGN}18.4 to +20.8 | 1.000 | undecided |"
        nll = "\N{MINUS SIGN}0.696 to \N{MINUS SIGN}0.304 | below 0.001 | holds |"
        assert shown._repr_markdown_().splitlines()[2:] == [
            f"| a: 1 to 2 | ECE higher | +1.2 points | {ece}",
            f"| a: 1 to 2 | NLL lower | \N{MINUS SIGN}0.500 | {nll}",
            "| a: 1 to 2 | ECE lower | +2.0 points | unknown | unknown | undecided |",
        ]
        assert repr(shown) == shown._repr_markdown_()

    def test_bad_input(self, calibrated, overconfident):
        runs = [*calibrated, *overconfident]

        def raises(message, *claim):
            with pytest.raises(ValueError, match=message):
                judge(runs, [claim])

        raises("expected one of the levels 8, 56, found 9", "depth", 9, 56, "ece", "lower")
        raises("expected one of the levels 8, 56, found 57", "depth", 8, 57, "ece", "lower")
        raises("comparisons: expected 'higher' or 'lower' for 'ece'", "depth", 8, 56, "ece", "up")
        raises("metric: expected one of error, ece", "depth", 8, 56, "loss", "higher")
        raises("expected runs of the grid 'width', found depth", "width", 8, 56, "ece", "lower")
        with pytest.raises(ValueError, match="comparisons: expected at least one, found none"):
            judge(runs, [])


class TestLevelTable:
    def history(self, accuracy: float) -> dict:
        return {"history": [{"train_accuracy": 0.1}, {"train_accuracy": accuracy}]}

    def test_mean_and_deviation_of_each_level(self):
        runs = [
            record(level, seed, 0.1, temperature=1.5 + seed / 10, **self.history(0.5 + seed / 10))
            for level in (56, 8)
            for seed in range(2)
        ]
        head, _, *rows = level_table(runs).splitlines()
        assert head.startswith(
            "| layers | test error, % | ECE, % | baseline, % | overconfidence, points | T |"
        )
        assert [row.split(" | ")[0] for row in rows] == ["| 8", "| 56"]
        cells = rows[0].removesuffix(" |").split(" | ")
        group = runs[2:]
        sure = [100 * np.mean(r.confidences - r.correct.astype(float)) for r in group]
        baselines = [baseline_calibration_error(r.confidences).mean for r in group]
        assert cells[3] == f"{100 * np.mean(baselines):.1f}"
        assert cells[4] == f"{np.mean(sure):.1f}\xa0±\xa0{abs(sure[0] - sure[1]) / 2**0.5:.1f}"
        assert cells[5] == "1.55\xa0±\xa00.07"
        assert cells[7] == "55.0\xa0±\xa07.1"

    def test_no_run(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            level_table([])


def test_overconfidence_and_gap_are_distances_from_the_test_accuracy(overconfident):
    (run, *_) = overconfident
    run = dataclasses.replace(run, history=[{"train_accuracy": 0.9}])
    right = sum(run.correct.tolist()) / N
    assert run.overconfidence == pytest.approx(sum(run.confidences.tolist()) / N - right)
    assert run.generalization_gap == pytest.approx(0.9 - right)
    run = dataclasses.replace(run, history=[{"train_accuracy": 0.9, "fitted_accuracy": 0.95}])
    assert run.generalization_gap == pytest.approx(0.95 - right)


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

    def test_takes_the_place_of_the_spread_of_two_groups(self, calibrated, overconfident):
        spread = pooled_spread([*calibrated, *overconfident, *self.grid(np.eye(3))], "error")
        found = compare(calibrated, overconfident, "error", spread=spread, repeats=100)
        assert found.of_seeds == pytest.approx((spread.variance * 2 / 3) ** 0.5)
        assert found.freedom == pytest.approx(spread.freedom)
        alone = compare(calibrated, overconfident, "error", repeats=100)
        assert (found.mean, found.of_images) == (alone.mean, alone.of_images)
        of_one = compare(calibrated[:1], overconfident[:1], "error", spread=spread, repeats=100)
        assert of_one.of_seeds == pytest.approx((spread.variance * 2) ** 0.5)

    def test_is_not_for_groups_without_a_common_seed(self, calibrated, overconfident):
        """What a seed does to all trainings is not in it, but in the difference of such groups."""
        noise = np.random.default_rng(0).normal(0, 1e-3, size=(5, 3))
        runs = self.grid(noise + np.array([0.0, 0.5, -0.5]))
        spread = pooled_spread(runs, "nll")
        assert spread.variance**0.5 < 2e-3
        for pair in ([runs[0]], [runs[4]]), (calibrated[:1], overconfident[1:]):
            with pytest.raises(ValueError, match=r"spread: .* seed, found the seeds \[0\] and \[1"):
                compare(*pair, "nll", spread=spread)

    def test_verdicts_of_a_plan(self, calibrated, overconfident):
        claims = [("depth", 8, 56, "ece", "higher"), ("depth", 8, 56, "error", "lower")]
        runs = [*calibrated, *overconfident]
        for one in judge(runs, claims, pooled=True):
            spread = pooled_spread(runs, one.metric)
            assert one.difference == compare(calibrated, overconfident, one.metric, spread=spread)

    def test_levels_that_no_comparison_names_change_no_verdict(self, calibrated, overconfident):
        claims = [("depth", 8, 56, "error", "lower")]
        runs = [*calibrated, *overconfident]
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


class TestLevels:
    def test_sorted_by_value_and_seed(self):
        runs = [record(level, seed, 0.0) for level in (56, 8, 14) for seed in (1, 0)]
        found = by_level(runs)
        assert list(found) == [8, 14, 56]
        assert {tuple(r.seed for r in runs) for runs in found.values()} == {(0, 1)}

    @pytest.mark.parametrize(
        "change",
        [
            {"recipe": {"epochs": 2}},
            {"training_images": 9},
            {"grid": "width"},
            {"network": "other"},
        ],
    )
    def test_protocols_are_never_mixed(self, change):
        runs = [record(8, 0, 0.0), record(14, 0, 0.0, **change)]
        with pytest.raises(ValueError, match="records: expected runs of one protocol, found"):
            by_level(runs)
        with pytest.raises(ValueError, match="one protocol"):
            factor_panels(runs)

    def test_the_factor_itself_may_be_part_of_the_recipe(self):
        runs = [
            dataclasses.replace(record(8, 0, 0.0), factor="weight_decay", value=x)
            for x in (0.0, 0.1)
        ]
        for run in runs:
            run.recipe["weight_decay"] = run.value
        assert list(by_level(runs)) == [0.0, 0.1]

    def test_load_grid(self, tmp_path, calibrated):
        for run in calibrated:
            save_experiment(run, tmp_path)
        found = load_grid("depth", "cpu", tmp_path)
        assert [r.name for r in found] == [r.name for r in calibrated]
        with pytest.raises(ValueError, match="no records of 'width' in the protocol 'gpu'; make"):
            load_grid("width", "gpu", tmp_path)

    def test_protocol_in_words(self):
        recipe = {"epochs": 24, "milestones": [8, 16], "batch_size": 64, "learning_rate": 0.1}
        recipe |= {"weight_decay": 5e-4}
        made = {"recipe": recipe, "hardware": "a CPU", "date": "2026-11-20"}
        runs = [record(level, seed, 0.0, **made) for level in (8, 14) for seed in (2, 0)]
        assert describe_protocol(runs) == (
            "depth: 4 runs, seeds 0, 2; 150 training images of scikit-learn's digits, 24 epochs, "
            "batches of 64, learning rate 0.1, divided by ten after epochs 8 and 16; "
            "weight decay 0.0005; a CPU; 2026-11-20"
        )
        (run,) = [
            dataclasses.replace(r, factor="weight_decay", value=0.5, date="2026-11-21")
            for r in runs[:1]
        ]
        alone = describe_protocol([run])
        assert alone.startswith("depth: 1 run, seed 2; ")
        assert "weight decay" not in alone
        with pytest.raises(ValueError, match="one protocol"):
            describe_protocol([*runs, record(8, 1, 0.0)])

    def test_what_some_levels_set_is_not_what_all_have_in_common(self):
        """A level that says nothing of a setting has the usual one."""
        recipe = {"epochs": 24, "milestones": [8, 16], "batch_size": 64, "learning_rate": 0.1}
        recipe |= {"weight_decay": 5e-4}
        made = {"recipe": recipe, "hardware": "a CPU", "date": "2026-11-20"}
        plain = record(8, 0, 0.0, **made)
        level = {"milestones": [8], "ema_decay": 0.9}
        averaged = record(14, 0, 0.0, **made | {"recipe": recipe | level})
        averaged = dataclasses.replace(averaged, level=level)
        assert len(by_level([plain, averaged])) == 2
        assert describe_protocol([plain, averaged]).endswith(
            "24 epochs, batches of 64, learning rate 0.1; weight decay 0.0005; a CPU; 2026-11-20"
        )


class TestFactorPlot:
    def test_a_dot_for_each_seed_and_a_line_through_the_means(self, calibrated, overconfident):
        drawn, below = factor_panels([*overconfident, *calibrated])
        assert drawn.levels == [8, 56]
        groups = [calibrated, overconfident]
        expected = {
            (float(place), round(100 * r.error, 6))
            for place, runs in enumerate(groups)
            for r in runs
        }
        (line,) = [x for x in drawn.ax.lines if x.get_marker() == "None"]
        dots = {tuple(xy) for x in drawn.ax.lines if x is not line for xy in x.get_xydata()}
        assert {(place, round(dot, 6)) for place, dot in dots} == expected
        means = [100 * np.mean([r.error for r in runs]) for runs in groups]
        assert line.get_ydata() == pytest.approx(means)
        assert [x.get_text() for x in below.ax.get_xticklabels()] == ["8", "56"]

    def test_the_ece_has_its_baseline(self, calibrated, overconfident):
        drawn = factor_panels([*calibrated, *overconfident])[1]
        _, baseline = [x for x in drawn.ax.lines if x.get_marker() == "None"]
        for found, runs in zip(baseline.get_ydata(), (calibrated, overconfident), strict=True):
            rng, eces = np.random.default_rng(1), []
            for run in runs:
                said = run.confidences.astype(float)
                for _ in range(100):
                    right = (rng.random(len(said)) < said).astype(int)
                    eces.append(100 * expected_calibration_error(said, right))
            assert found == pytest.approx(np.mean(eces), rel=0.06)

    def test_a_grid_that_is_not_complete(self, calibrated, overconfident):
        drawn = factor_panels([*calibrated, overconfident[0]])[0]
        assert [len(x) for x in drawn.dots.values()] == [3, 1]

    def test_panels_are_the_error_and_the_ece(self, calibrated, overconfident):
        error, ece = factor_panels([*calibrated, *overconfident])
        assert error.ax.figure is ece.ax.figure
        assert ece.ax.get_ylim()[0] == 0
        assert ece.ax.get_xlabel() == "Layers"
        assert ece.ax.get_legend() is None

    def test_a_seed_has_the_same_sign_everywhere_which_the_legend_names(
        self, calibrated, overconfident
    ):
        runs = [*calibrated, *overconfident]
        error, ece = factor_panels(runs)
        (legend,) = error.ax.figure.legends
        names = [text.get_text() for text in legend.get_texts()]
        signs = [handle.get_marker() for handle in legend.legend_handles]
        seeds = sorted({run.seed for run in runs})
        assert names == [f"Seed {seed}" for seed in seeds]
        assert len(set(signs)) == len(seeds)
        for panel, metric in ((error, "error"), (ece, "ece")):
            for seed, sign in zip(seeds, signs, strict=True):
                drawn = [
                    x for x in panel.ax.lines if x.get_marker() == sign and x.get_xydata().size
                ]
                values = {round(float(x.get_ydata()[0]), 6) for x in drawn}
                assert values == {
                    round(100 * getattr(r, metric), 6) for r in runs if r.seed == seed
                }

    def test_nothing_is_drawn_of_no_runs(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            factor_panels([])
        assert plt.get_fignums() == []


class TestVerdictPlot:
    def test_an_interval_a_row_in_points(self, calibrated, overconfident):
        verdicts = judge([*calibrated, *overconfident], CLAIMS)
        axes = verdict_plot(verdicts)
        assert list(axes) == ["ece", "error"]
        for one in verdicts:
            ax = axes[one.metric]
            interval, middle, _ = ax.lines
            assert interval.get_xdata() == pytest.approx(100 * np.array(one.difference.interval()))
            assert middle.get_xdata() == pytest.approx(100 * one.difference.mean)
            assert middle.get_marker() == {"higher": ">", "lower": "<"}[one.claimed]
            assert middle.get_color() == {"holds": BLUE, "undecided": GREY}[one.outcome]
            assert [text.get_text() for text in ax.texts] == [one.outcome]
        assert [x.get_text() for x in axes["error"].get_yticklabels()] == ["layers: 8 to 56"]

    def test_what_is_no_percentage_is_left_out(self, calibrated, overconfident):
        runs = [*calibrated, *overconfident]
        claims = [("depth", 8, 56, metric, "lower") for metric in ("nll", "ece")]
        assert list(verdict_plot(judge(runs, claims))) == ["ece"]
        plt.close("all")
        with pytest.raises(ValueError, match="verdicts: expected at least one on an error"):
            verdict_plot(judge(runs, claims[:1]))
        assert plt.get_fignums() == []


class TestGeneralizationPlot:
    def test_a_dot_for_each_run_and_a_sign_for_each_grid(self, calibrated, overconfident):
        history = {"history": [{"train_accuracy": 0.95}]}
        runs = [dataclasses.replace(run, **history) for run in (*calibrated, *overconfident)]
        runs[3:] = [dataclasses.replace(run, grid="width") for run in runs[3:]]
        drawn = generalization_plot(runs)
        assert {grid: len(dots) for grid, dots in drawn.dots.items()} == {"depth": 3, "width": 3}
        marked = [line for line in drawn.ax.lines if line.get_marker() != "None"]
        assert len({line.get_marker() for line in marked}) == 2
        for line, group in zip(marked, (runs[:3], runs[3:]), strict=True):
            expected = [
                [95 - 100 * r.correct.mean(), 100 * (r.confidences.mean() - r.correct.mean())]
                for r in group
            ]
            assert line.get_xydata() == pytest.approx(np.array(expected), abs=1e-4)
        assert [x.get_text() for x in drawn.ax.get_legend().get_texts()] == ["depth", "width"]

    def test_no_run(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            generalization_plot([])


def test_a_protocol_leaves_out_what_the_levels_set():
    """Weight decay is one of the settings that the levels of this grid differ in."""
    text = describe_protocol(load_grid("regularisation", "full"))
    assert text.startswith("regularisation: 6 runs, seeds 0, 1, 2; 45,000 training images")
    assert "weight decay" not in text
