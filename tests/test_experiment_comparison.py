"""Groups of runs compared, judged and tabulated, against formulas written out."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from scipy.stats import t

from calib_utils.experiments import (
    ExperimentRecord,
    by_level,
    describe_protocol,
    load_grid,
    save_experiment,
)
from calib_utils.plots import factor_panels, factor_plot, generalization_plot
from calib_utils.report import Difference, Verdicts, compare, judge, level_table
from calib_utils.report.verdicts import ClaimedDifference

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


@pytest.fixture(scope="module")
def calibrated():
    return [record(8, seed, 0.0) for seed in range(3)]


@pytest.fixture(scope="module")
def overconfident():
    return [record(56, seed, 0.1) for seed in range(3)]


class TestCompare:
    def test_difference_of_the_means(self, calibrated, overconfident):
        found = compare(calibrated, overconfident, repeats=50)
        expected = np.mean([r.ece for r in overconfident]) - np.mean([r.ece for r in calibrated])
        assert found.mean == pytest.approx(expected)
        assert 0.06 < found.mean < 0.1
        assert found.verdict == "higher"

    def test_the_other_way_round(self, calibrated, overconfident):
        there, back = (
            compare(*pair, repeats=50)
            for pair in ((calibrated, overconfident), (overconfident, calibrated))
        )
        assert back.mean == pytest.approx(-there.mean)
        assert back.seeds == pytest.approx([-x for x in reversed(there.seeds)])
        assert back.images == pytest.approx([-x for x in reversed(there.images)])
        assert back.verdict == "lower"

    def test_interval_for_seeds_is_welchs(self, calibrated, overconfident):
        a, b = ([r.ece for r in runs] for runs in (calibrated, overconfident))
        va, vb = np.var(a, ddof=1) / 3, np.var(b, ddof=1) / 3
        freedom = (va + vb) ** 2 / (va**2 / 2 + vb**2 / 2)
        half = t.ppf(0.975, freedom) * np.sqrt(va + vb)
        middle = np.mean(b) - np.mean(a)
        found = compare(calibrated, overconfident, repeats=2).seeds
        assert found == pytest.approx((middle - half, middle + half))

    @pytest.mark.parametrize("metric", ["ece", "error"])
    def test_interval_for_images_is_a_bootstrap_of_whole_images(
        self, calibrated, overconfident, metric
    ):
        """Every draw made again, with the metrics computed on the drawn images."""
        rng, differences = np.random.default_rng(3), []
        for _ in range(20):
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
        found = compare(calibrated, overconfident, metric, repeats=20, seed=3)
        assert found.images == pytest.approx(np.quantile(differences, [0.025, 0.975]))

    def test_equal_groups_are_undecided(self, calibrated):
        others = [record(8, seed, 0.0) for seed in range(3, 6)]
        assert compare(calibrated, others, repeats=100).verdict == "undecided"

    def test_seeds_that_disagree_are_undecided(self, calibrated):
        others = [record(8, seed, excess) for seed, excess in enumerate((0.0, 0.01, 0.15))]
        found = compare(calibrated, others, repeats=100)
        assert found.images[0] > 0  # other images would show the same
        assert found.seeds[0] < 0  # other seeds might not
        assert found.verdict == "undecided"

    def test_one_seed_decides_nothing(self, calibrated, overconfident):
        found = compare(calibrated, overconfident[:1], repeats=50)
        assert np.isnan(found.seeds).all()
        assert found.images[0] > 0
        assert found.verdict == "undecided"

    def test_bad_input(self, calibrated):
        with pytest.raises(ValueError, match="metric: expected 'ece' or 'error', found 'nll'"):
            compare(calibrated, calibrated, "nll")
        with pytest.raises(ValueError, match="second: expected at least one run, found none"):
            compare(calibrated, [])


CLAIMS = {"ece": "higher", "error": "lower"}


class TestJudge:
    def test_each_claim_is_set_against_the_comparison(self, calibrated, overconfident):
        found = judge([*overconfident, *calibrated], 8, 56, CLAIMS)
        assert [one.metric for one in found] == ["ece", "error"]
        assert [one.difference for one in found] == [
            compare(calibrated, overconfident, metric) for metric in CLAIMS
        ]
        assert {one.change for one in found} == {"layers: 8 to 56"}
        assert found.outcomes == ["holds", "undecided"]
        (back,) = judge([*overconfident, *calibrated], 56, 8, {"ece": "higher"}).outcomes
        assert back == "does not hold"

    @pytest.mark.parametrize(
        ("seeds", "images", "claimed", "outcome"),
        [
            ((0.1, 0.2), (0.1, 0.3), "higher", "holds"),
            ((0.1, 0.2), (0.1, 0.3), "lower", "does not hold"),
            ((-0.2, -0.1), (-0.3, -0.1), "lower", "holds"),
            ((-0.2, -0.1), (-0.3, -0.1), "higher", "does not hold"),
            ((-0.1, 0.2), (0.1, 0.3), "higher", "undecided"),
            ((0.1, 0.2), (-0.1, 0.3), "lower", "undecided"),
            ((0.1, 0.2), (-0.3, -0.1), "lower", "undecided"),
            ((float("nan"), float("nan")), (0.1, 0.3), "higher", "undecided"),
        ],
    )
    def test_both_intervals_must_agree(self, seeds, images, claimed, outcome):
        difference = Difference(0.15, seeds, images)
        assert Verdicts([ClaimedDifference("a: 1 to 2", "ece", claimed, difference)]).outcomes == [
            outcome
        ]

    def test_shows_itself_as_a_table_in_points(self):
        shown = Verdicts(
            [
                ClaimedDifference(
                    "a: 1 to 2", "ece", "higher", Difference(0.012, (-0.1, 0.2), (0, 1))
                )
            ]
        )
        row = "| a: 1 to 2 | ECE | higher | +1.2 | \N{MINUS SIGN}10.0 to +20.0 | +0.0 to +100.0 | undecided |"
        assert shown._repr_markdown_().splitlines()[2:] == [row]
        assert repr(shown) == shown._repr_markdown_()
        both = shown + shown
        assert isinstance(both, Verdicts)
        assert both.outcomes == ["undecided"] * 2
        assert both._repr_markdown_().splitlines()[2:] == [row] * 2

    def test_one_of_two_networks(self, overconfident):
        others = [record(level, seed, 0.0, "convnet") for level in (8, 56) for seed in range(2)]
        found = judge([*others, *overconfident], 8, 56, {"ece": "higher"}, network="convnet")
        assert found[0].change == "plain network, layers: 8 to 56"
        assert found[0].difference == compare(others[:2], others[2:])
        with pytest.raises(ValueError, match="network: expected one of convnet, toy, found None"):
            judge([*others, *overconfident], 8, 56, CLAIMS)

    def test_bad_input(self, calibrated, overconfident):
        runs = [*calibrated, *overconfident]
        with pytest.raises(ValueError, match="low: expected one of the levels 8, 56, found 9"):
            judge(runs, 9, 56, CLAIMS)
        with pytest.raises(ValueError, match="high: expected one of the levels 8, 56, found 57"):
            judge(runs, 8, 57, CLAIMS)
        with pytest.raises(ValueError, match="claims: expected 'higher' or 'lower' for 'ece'"):
            judge(runs, 8, 56, {"ece": "rises"})
        with pytest.raises(ValueError, match="metric: expected 'ece' or 'error', found 'nll'"):
            judge(runs, 8, 56, {"nll": "higher"})
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            judge([], 8, 56, CLAIMS)


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
        assert head.startswith("| layers | test error, % | ECE, % | overconfidence, points | T |")
        assert [row.split(" | ")[0] for row in rows] == ["| 8", "| 56"]
        cells = rows[0].removesuffix(" |").split(" | ")
        group = runs[2:]
        sure = [100 * np.mean(r.confidences - r.correct.astype(float)) for r in group]
        assert cells[3] == f"{np.mean(sure):.1f}\xa0±\xa0{abs(sure[0] - sure[1]) / 2**0.5:.1f}"
        assert cells[4] == "1.55\xa0±\xa00.07"
        assert cells[6] == "55.0\xa0±\xa07.1"

    def test_several_networks_are_named(self):
        runs = [
            dataclasses.replace(record(8, 0, 0.1, name, **self.history(1)), value=value)
            for name in ("convnet", "toy")
            for value in (True, False)
        ]
        rows = level_table(runs).splitlines()[2:]
        names = ["plain network, without", "plain network, with", "toy, without", "toy, with"]
        assert [row.split(" | ")[0] for row in rows] == [f"| {name}" for name in names]

    def test_no_run(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            level_table([])


def test_overconfidence_and_gap_are_distances_from_the_test_accuracy(overconfident):
    (run, *_) = overconfident
    run = dataclasses.replace(run, history=[{"train_accuracy": 0.9}])
    right = sum(run.correct.tolist()) / N
    assert run.overconfidence == pytest.approx(sum(run.confidences.tolist()) / N - right)
    assert run.generalization_gap == pytest.approx(0.9 - right)


class TestLevels:
    def test_sorted_by_network_value_and_seed(self):
        runs = [
            record(level, seed, 0.0, network)
            for network in ("toy", "a")
            for level in (56, 8, 14)
            for seed in (1, 0)
        ]
        found = by_level(runs)
        assert list(found) == [(n, level) for n in ("a", "toy") for level in (8, 14, 56)]
        assert {tuple(r.seed for r in runs) for runs in found.values()} == {(0, 1)}

    @pytest.mark.parametrize(
        "change", [{"recipe": {"epochs": 2}}, {"training_images": 9}, {"grid": "width"}]
    )
    def test_protocols_are_never_mixed(self, change):
        runs = [record(8, 0, 0.0), record(14, 0, 0.0, **change)]
        with pytest.raises(ValueError, match="records: expected runs of one protocol, found"):
            by_level(runs)
        with pytest.raises(ValueError, match="one protocol"):
            factor_plot(runs)

    def test_the_factor_itself_may_be_part_of_the_recipe(self):
        runs = [
            dataclasses.replace(record(8, 0, 0.0), factor="weight_decay", value=x)
            for x in (0.0, 0.1)
        ]
        for run in runs:
            run.recipe["weight_decay"] = run.value
        assert [value for _, value in by_level(runs)] == [0.0, 0.1]

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
            "depth: 4 runs, seeds 0, 2; 150 training images of digits, 24 epochs, batches of 64, "
            "learning rate 0.1, divided by ten after epochs 8 and 16; weight decay 0.0005; a CPU; "
            "2026-11-20"
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


class TestFactorPlot:
    def dots(self, ax, fill: str) -> set[tuple[float, float]]:
        lines = [x for x in ax.lines if x.get_marker() != "None"]
        hollow = [x for x in lines if (x.get_markerfacecolor() == "none") == (fill == "none")]
        return {tuple(xy) for line in hollow for xy in line.get_xydata().round(6)}

    def test_a_dot_for_each_seed_and_a_line_through_the_means(self, calibrated, overconfident):
        drawn = factor_plot([*overconfident, *calibrated], "error")
        assert drawn.levels == [8, 56]
        groups = [calibrated, overconfident]
        expected = {
            (float(place), round(100 * r.error, 6))
            for place, runs in enumerate(groups)
            for r in runs
        }
        assert self.dots(drawn.ax, "full") == expected
        (line,) = [x for x in drawn.ax.lines if x.get_marker() == "None"]
        means = [100 * np.mean([r.error for r in runs]) for runs in groups]
        assert line.get_ydata() == pytest.approx(means)
        assert [x.get_text() for x in drawn.ax.get_xticklabels()] == ["8", "56"]
        plt.close("all")

    def test_two_networks_and_a_yes_or_no(self):
        runs = [
            dataclasses.replace(record(8, seed, 0.1, network), value=value)
            for network in ("a", "b")
            for value in (True, False)
            for seed in range(2)
        ]
        drawn = factor_plot(runs)
        assert [x.get_text() for x in drawn.ax.get_xticklabels()] == ["without", "with"]
        assert len(self.dots(drawn.ax, "none")) == len(self.dots(drawn.ax, "full")) == 4
        labels = [x.get_text() for x in drawn.ax.legend().get_texts()]
        assert labels == ["ECE, a", "ECE, b"]
        plt.close("all")

    def test_a_grid_that_is_not_complete(self, calibrated, overconfident):
        drawn = factor_plot([*calibrated, overconfident[0]])
        assert [len(x) for x in drawn.dots.values()] == [3, 1]
        plt.close("all")

    def test_panels_are_the_error_and_the_ece(self, calibrated, overconfident):
        error, ece = factor_panels([*calibrated, *overconfident])
        alone = [factor_plot([*calibrated, *overconfident], metric) for metric in ("error", "ece")]
        assert [error.dots, ece.dots] == [one.dots for one in alone]
        assert error.ax.figure is ece.ax.figure
        assert ece.ax.get_ylim()[0] == 0
        assert ece.ax.get_xlabel() == "Layers"
        assert ece.ax.get_legend() is None
        plt.close("all")

    def test_panels_of_two_networks_have_a_legend(self):
        runs = [record(8, 0, 0.1, network) for network in ("convnet", "cifar_resnet")]
        for panel, name in zip(factor_panels(runs), ("Test error", "ECE"), strict=True):
            labels = [x.get_text() for x in panel.ax.get_legend().get_texts()]
            assert labels == [f"{name}, residual network", f"{name}, plain network"]
        plt.close("all")

    def test_nothing_is_drawn_of_no_runs(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            factor_panels([])
        assert plt.get_fignums() == []

    def test_bad_metric(self, calibrated):
        with pytest.raises(ValueError, match="metric: expected 'error' or 'ece', found 'nll'"):
            factor_plot(calibrated, "nll")


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
        plt.close("all")

    def test_no_run(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            generalization_plot([])
