"""The plan of the experiments, and runs that are stopped, shared or broken."""

import dataclasses
import hashlib
import itertools
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from joblib import delayed
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from calib_utils.experiments import one_run, plan_grid, planned_comparisons, runner
from calib_utils.experiments.__main__ import main
from calib_utils.experiments.estimate import estimate
from calib_utils.experiments.grids import grid_names
from calib_utils.experiments.one_run import checkpoint_path
from calib_utils.experiments.runner import run_grid
from calib_utils.metrics import reliability_bins
from calib_utils.records import (
    ExperimentRecord,
    Recipe,
    by_level,
    experiments,
    load_grid,
    load_record,
    recipe,
)
from calib_utils.records.experiments import experiment_path, list_experiments, load_experiment
from calib_utils.records.npz import read_npz, write_npz
from calib_utils.training import loop, predict_logits, train
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.data import load_digits
from calib_utils.training.networks import build_model
from calib_utils.training.progress import progress_bars
from tests.experiments import dying_worker
from tests.training.test_loop import ENVIRONMENT, kill_when_done

PROTOCOLS = ("cpu", "gpu")
SUSPECTS = {
    "depth": [1, 3],
    "width": [12, 24, 48],
    "batch-norm": ["with", "without", "without-longer"],
    "weight-decay": [0.0, 5e-4, 5e-3],
    "training-time": [5, 10, 20, 40],
    "augmentation": ["none", "flips", "crops-and-flips"],
    "training-images": ["5000", "45000"],
}
TINY = """
seeds = [0, 1]

[protocols.cpu]
dataset = "digits"
training_images = 150

[protocols.cpu.recipe]
epochs = 8
milestones = [5]
batch_size = 32
learning_rate = 0.02
crop_padding = 0
flip = false

[grids.weight-decay]
network = { name = "lenet5" }
factor = "weight_decay"
values = [0.0, 1e-2]

[grids.nll]
network = { name = "lenet5" }
test_every_epoch = true
cpu = { seeds = [2], recipe = { epochs = 3 } }

[grids.remedies]
network = { name = "lenet5" }
factor = "remedy"
validate_every_epoch = true
logits = 40
cpu = { seeds = [1], recipe = { epochs = 3, learning_rate = 0.05, milestones = [] } }
[grids.remedies.levels]
none = {}
stopped = { early_stopping = true }
smoothed = { label_smoothing = 0.1 }

[grids.long]
network = { name = "lenet5" }
factor = "weight_decay"
values = [0.0, 1e-2]
cpu = { seeds = [0], recipe = { epochs = 6 } }

[grids.broken]
network = { name = "lenet5" }
factor = "learning_rate"
values = [0.01, 1e30, 0.02]
cpu = { seeds = [0], recipe = { epochs = 1 } }

[grids.hopeless]
network = { name = "lenet5" }
factor = "learning_rate"
values = [1e30, 0.01]
cpu = { seeds = [0], recipe = { epochs = 1 } }
"""


@pytest.fixture(scope="module", autouse=True)
def one_thread_and_no_gpu():
    """As the workers have, so that all add in the same order; a GPU has an order of its own."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "")  # for other processes
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(torch.cuda, "device_count", lambda: 0)
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("grids") / "tiny.toml"
    file.write_text(TINY)
    return file


@pytest.fixture(scope="module")
def expected(tiny, tmp_path_factory) -> Path:
    """The records of the tiny grids, made one after the other without a stop."""
    folder = tmp_path_factory.mktemp("expected")
    for grid in ("weight-decay", "nll"):
        assert run_grid(plan_grid(grid, "cpu", tiny), folder, folder, progress=False) == {}
    return folder


def same_numbers(grid: str, folder: Path, expected: Path) -> None:
    """Check all but the times and what else says when and where."""
    names = list_experiments(grid, "cpu", expected)
    assert names
    assert list_experiments(grid, "cpu", folder) == names
    for name in names:
        found, wanted = (
            dataclasses.asdict(load_experiment(grid, "cpu", name, f)) for f in (folder, expected)
        )
        for record in (found, wanted):
            del record["hardware"], record["date"]
            for entry in record["history"]:
                del entry["seconds"]
            for array in experiments._ARRAYS:
                record[array] = None if record[array] is None else record[array].tolist()
        assert found == wanted


class TestPlan:
    def runs(self, grid: str, protocol: str = "cpu") -> list:
        return plan_grid(grid, protocol)

    def test_grids(self):
        assert grid_names()[: len(SUSPECTS)] == [*SUSPECTS]

    def test_each_comparison_is_made_once_and_of_two_levels(self):
        """One of unknown levels or metrics would be an error."""
        for grid in grid_names():
            for protocol in (*PROTOCOLS, "full", "core", "ladder"):
                rows = planned_comparisons(grid, protocol)
                assert all(row.grid == grid and row.first != row.second for row in rows)
                assert len({row[:4] for row in rows}) == len(rows)

    def test_suspects_are_tried_on_all_images_with_three_seeds(self):
        """The plan that was committed before its first run, and one training that all share."""
        metrics, trainings, steps = [], {}, set()
        for grid, levels in SUSPECTS.items():
            runs = plan_grid(grid, "core")
            assert [run.value for run in runs[: len(levels)]] == levels
            assert {(run.value, run.seed) for run in runs} == set(
                itertools.product(levels, range(3))
            )
            assert {run.training_images for run in runs} == {45_000}
            metrics += [row.metric for row in planned_comparisons(grid, "core")]
            trainings[grid] = {run.training for run in runs}
            if grid == "training-images":
                steps = {round(run.recipe.share * run.recipe.epochs, 6) for run in runs}
        assert (metrics.count("ece"), metrics.count("error"), len(metrics)) == (8, 7, 15)
        assert steps == {10}
        assert len(set.intersection(*trainings.values())) == 3  # one for each seed

    def test_eight_primary_claims_about_remedies_share_the_ordinary_network(self):
        rows = [row for g in ("remedies", "ensembles") for row in planned_comparisons(g, "core")]
        assert len(rows) == 8
        plain = {
            run.seed: run.training for run in plan_grid("remedies", "core") if run.value == "none"
        }
        members = {run.seed: run.training for run in plan_grid("ensembles", "core")}
        assert len(plain) == 3
        assert {seed: members[seed] for seed in plain} == plain

    def test_names_of_checkpoints_stay(self):
        """A setting more, or a grid more, makes no training anew that has been begun."""
        known = {
            ("nll-and-error", "cpu"): "cifar_resnet.c37a9bfb2b99",
            ("regularisation", "full"): "lenet5.ad3a173afeb8",
        }
        for (grid, protocol), name in known.items():
            assert plan_grid(grid, protocol)[0].training == name
        names = [run.training for grid in SUSPECTS for run in plan_grid(grid, "core")]
        digest = hashlib.sha256("\n".join(names).encode()).hexdigest()
        assert digest == "9d8c9310e66863431d65136c0eb7921e29411173f38d6ce07eda90e1c32c1b00"

    def test_early_stopping_shares_the_training(self):
        runs = {run.value: run for run in plan_grid("remedies") if run.seed == 0}
        none, stopped = runs["none"], runs["early-stopping"]
        assert none.training == stopped.training
        assert none.settings != stopped.settings
        ensembles = plan_grid("ensembles")
        assert none.training == ensembles[0].training
        assert len({run.training for run in runs.values()}) == len(runs) - 1
        assert {run.value for run in runs.values() if run.validate_every_epoch} == {
            "none",
            "early-stopping",
        }
        unvalidated = dataclasses.replace(none, validate_every_epoch=False)
        assert unvalidated.training != none.training
        assert dataclasses.replace(none, logits=9).training == none.training

    @pytest.mark.parametrize(
        "row",
        [
            '[8, 9, "ece", "higher"]',
            '[8, 14, "loss", "higher"]',
            '[8, 14, "ece", "up"]',
            '[8, 14, "ece"]',
            '[8, 14, "ece", "higher", "lenet5"]',
        ],
    )
    def test_a_comparison_that_cannot_be_made(self, row, tmp_path):
        plan = f"""
seeds = [0]
[protocols.cpu]
dataset = "digits"
training_images = 150
recipe = {{ epochs = 1, milestones = [] }}
[grids.mine]
network = {{ name = "cifar_resnet" }}
factor = "depth"
values = [8, 14]
comparisons = [{row}]
"""
        (tmp_path / "my.toml").write_text(plan)
        with pytest.raises(ValueError, match="grid: 'mine' has the comparison"):
            planned_comparisons("mine", "cpu", tmp_path / "my.toml")

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_nll_and_error(self, protocol):
        runs = self.runs("nll-and-error", protocol)
        usual = self.runs("methods", protocol)[0].recipe
        for run in runs:
            assert run.test_every_epoch
            assert run.recipe.epochs > 2 * usual.epochs
            assert len(run.recipe.milestones) >= 2
        assert len(runs) == 5

    @pytest.mark.parametrize("grid", [*SUSPECTS, "regularisation", "remedies"])
    def test_only_the_level_differs(self, grid):
        runs = plan_grid(grid, "core")
        varied, rest = {name for run in runs for name in run.level}, []
        for run in runs:
            made = run.network | dataclasses.asdict(run.recipe)
            assert run.level.items() <= made.items()
            if run.factor in made and not isinstance(run.value, str):
                assert run.level == {run.factor: run.value}
            rest.append({k: v for k, v in made.items() if k not in varied})
        assert rest == len(runs) * rest[:1]

    def test_every_network_can_be_built(self):
        networks = {
            json.dumps(run.network)
            for grid in grid_names()
            for protocol in (*PROTOCOLS, "full", "core")
            for run in plan_grid(grid, protocol)
        }
        for network in networks:
            build_model(**json.loads(network), n_classes=100)
        assert len(networks) >= 10

    def test_gpu_uses_all_images_and_cpu_a_fixed_part(self):
        grids = [g for g in grid_names() if self.runs(g)[0].dataset == "cifar100"]
        assert {r.training_images for g in grids for r in self.runs(g, "gpu")} == {45_000}
        assert {r.training_images for g in grids for r in self.runs(g)} == {8_000}

    def test_first_seeds_come_first(self, tiny):
        names = [run.name for run in plan_grid("weight-decay", "cpu", tiny)]
        assert names == [f"lenet5.weight_decay-{v}.seed-{s}" for s in (0, 1) for v in (0.0, 0.01)]

    def test_name_of_a_training_says_all_that_decides_it(self, tiny):
        run = plan_grid("nll", "cpu", tiny)[0]
        recipe = dataclasses.replace(run.recipe, flip=True)
        decisive = [
            {"recipe": recipe},
            {"network": {"name": "fast_resnet"}},
            {"test_every_epoch": False},
            *({"seed": 9}, {"dataset": "cifar100"}, {"training_images": 9}),
        ]
        names = [dataclasses.replace(run, **change).training for change in decisive]
        assert len({run.training, *names}) == len(decisive) + 1
        places = ("grid", "protocol", "name", "factor", "value", "level")
        for place in places:
            assert dataclasses.replace(run, **{place: "other"}).training == run.training

    def test_protocol_overrides_grid_and_recipe(self, tiny):
        (run,) = plan_grid("nll", "cpu", tiny)
        assert (run.seed, run.recipe.epochs, run.recipe.batch_size) == (2, 3, 32)
        assert (run.name, run.factor, run.value) == ("lenet5.seed-2", "", None)

    @pytest.mark.parametrize(
        ("change", "grid", "message"),
        [
            (
                ("", ""),
                "height",
                "grid: there is no grid 'height'; choose one of weight-decay, nll, rem",
            ),
            (("test_every_epoch", "test_always"), "nll", r"grid: 'nll' has unknown.*test_always"),
            (("batch_size", "batch"), "nll", r"recipe: there are no settings \['batch'\]"),
            (("epochs = 3", "epochs = 0"), "nll", "epochs: expected at least 1, found 0"),
            (("0.0, 1e-2", "0.1, 0.1"), "weight-decay", "grid: 'weight-decay' has two runs of one"),
            (('dataset = "digits"', ""), "nll", "protocol: 'cpu' lacks dataset; it has training"),
            (("values = [0.0, 1e-2]", ""), "weight-decay", "grid: 'weight-decay' lacks values"),
            (('factor = "weight_decay"', ""), "weight-decay", "has values, and lacks their factor"),
            (("name =", "depth ="), "weight-decay", "its network lacks name; it has depth"),
            (("milestones = [5]", ""), "nll", "recipe: it lacks milestones; it has epochs, batch"),
            (("protocols.", "profiles."), "nll", "file: .*grids.toml lacks protocols; it has seed"),
            (("epochs = 3", 'epochs = "3"'), "nll", "epochs: expected a whole number, found '3'"),
            (("epochs = 3", "flip = 1"), "nll", "flip: expected true or false, found 1"),
            (("logits = 40", 'made_by = "x.py"'), "remedies", "'remedies' were trained by x.py,"),
            (
                ("validate_every_epoch = true", 'validate_every_epoch = ["non"]'),
                "remedies",
                r"validate_every_epoch: expected true or false, or a list .* found \['non'\]",
            ),
            (("[5]", '["5"]'), "nll", "in milestones: expected a whole number, found '5'"),
            (("= 150", '= "all"'), "nll", "training_images: expected a whole number, found 'all'"),
            (('{ name = "lenet5" }', '"lenet5"'), "weight-decay", "network: expected a table"),
            (
                ("cpu = { seeds = [2], ", "cpu = 5 #"),
                "nll",
                "'nll': cpu: expected a table, found 5",
            ),
        ],
    )
    def test_bad_plan(self, tmp_path, change, grid, message):
        file = tmp_path / "grids.toml"
        file.write_text(TINY.replace(*change))
        with pytest.raises(ValueError, match=message):
            plan_grid(grid, "cpu", file)


def test_the_packages_own_agree_with_the_grids():
    """Whatever is stored was made as the file of grids says, and by whole runs."""
    for grid in grid_names():
        for protocol in (*PROTOCOLS, "full", "core", "ladder"):
            runs = {run.name: run for run in plan_grid(grid, protocol)}
            for name in list_experiments(grid, protocol):
                record = load_experiment(grid, protocol, name)
                assert one_run.has_record(runs[name])
                epochs, stopped = record.recipe["epochs"], record.recipe["early_stopping"]
                assert len(record.history) == epochs or stopped
                assert len(record.correct) == 10_000
                assert record.error == pytest.approx(1 - record.correct.mean())
                assert record.ece == pytest.approx(ece(record), abs=1e-6)


def ece(record: ExperimentRecord) -> float:
    bins = reliability_bins(record.confidences, record.correct)
    gaps = np.abs(bins.accuracy - bins.confidence)
    return float(np.nansum(bins.counts * gaps) / bins.counts.sum())


class TestRuns:
    def test_record_says_what_the_network_does(self, tiny, expected):
        """Against the same network trained by hand, and formulas written out."""
        run = plan_grid("weight-decay", "cpu", tiny)[-1]
        record = load_experiment("weight-decay", "cpu", run.name, expected)
        training, validation, test = one_run.load_images("digits", 150)
        assert len(training) == 150
        torch.manual_seed(1)
        model = build_model("lenet5", 10)
        history = train(model, training, run.recipe, seed=1, progress=False)
        assert record.train_loss == history[-1]["train_loss"]
        assert record.train_accuracy == history[-1]["train_accuracy"]
        fitted = predict_logits(model, training, device="cpu").argmax(axis=1) == training.labels
        assert record.fitted_accuracy == fitted.mean()
        logits = predict_logits(model, test).astype(np.float64)
        on_validation = predict_logits(model, validation).astype(np.float64)

        def nll(z: np.ndarray, labels: np.ndarray) -> float:
            return float(-log_softmax(z, axis=1)[np.arange(len(z)), labels].mean())

        best = minimize_scalar(
            lambda t: nll(on_validation / t, validation.labels), bounds=(0.05, 20), method="bounded"
        ).x
        assert record.temperature == pytest.approx(best, rel=1e-3)
        assert record.error == pytest.approx((logits.argmax(axis=1) != test.labels).mean())
        assert record.nll == pytest.approx(nll(logits, test.labels), rel=1e-6)
        assert record.nll_scaled == pytest.approx(nll(logits / best, test.labels), rel=1e-4)
        np.testing.assert_allclose(
            record.confidences, softmax(logits, axis=1).max(axis=1), rtol=1e-5
        )
        assert record.correct.tolist() == (logits.argmax(axis=1) == test.labels).tolist()
        assert ece(record) == pytest.approx(record.ece, abs=1e-7)
        each = -log_softmax(logits, axis=1)[np.arange(len(logits)), test.labels]
        np.testing.assert_allclose(record.losses, each, rtol=1e-3, atol=1 / 250)
        assert record.losses.mean(dtype=float) == pytest.approx(record.nll, abs=1e-3)
        assert record.losses_scaled.mean(dtype=float) == pytest.approx(record.nll_scaled, abs=1e-3)
        scaled = softmax(logits / record.temperature, axis=1).max(axis=1)
        np.testing.assert_allclose(record.confidences_scaled, scaled, rtol=1e-3)
        assert {name: record.facts[name] for name in run.settings} == run.settings
        assert record.versions.keys() >= {"python", "torch", "numpy"}
        assert "1 thread, " in record.hardware
        assert record.hardware.endswith(("float32", "bfloat16"))

    def test_grid_that_validates_stores_logits_and_stops_early(self, tiny, tmp_path, monkeypatch):
        """The second epoch of three is said to be the best."""
        validated = itertools.cycle([2.0, 1.0, 3.0])
        monkeypatch.setattr(loop, "_validated", lambda *_: {"validation_nll": next(validated)})
        runs = plan_grid("remedies", "cpu", tiny)
        none, stopped, smoothed = runs
        assert run_grid(runs, tmp_path, tmp_path, progress=False) == {}
        assert len(list(tmp_path.glob("*.safetensors"))) == 2
        of_none, of_stopped, of_smoothed = (
            load_experiment("remedies", "cpu", run.name, tmp_path) for run in runs
        )
        assert [entry["validation_nll"] for entry in of_none.history] == [2.0, 1.0, 3.0]
        first, best = of_stopped.history
        assert first == of_none.history[0]
        assert of_none.history[1].items() <= best.items()
        assert best.keys() - of_none.history[1].keys() == {"fitted_accuracy", "fitted_nll"}
        assert of_stopped.recipe == of_none.recipe | {"early_stopping": True}
        assert (of_stopped.confidences != of_none.confidences).any()
        assert of_smoothed.recipe["label_smoothing"] == 0.1
        levels = by_level(load_grid("remedies", "cpu", tmp_path))
        assert list(levels) == ["none", "smoothed", "stopped"]

        # The logits of the first images, with which the record's numbers begin.
        _, validation, test = one_run.load_images("digits", 150)
        folder = tmp_path / "predictions"
        for run, record in ((none, of_none), (stopped, of_stopped), (smoothed, of_smoothed)):
            found = load_record(one_run.logits_name(run), "test", folder)
            assert found.labels.tolist() == test.labels[:40].tolist()
            assert found.facts["network"] == {"name": "lenet5"}
            assert (found.logits * 32 % 1 == 0).all()
            confidences = softmax(found.logits.astype(float), axis=1).max(axis=1)
            np.testing.assert_allclose(confidences, record.confidences[:40], rtol=0.02)
            rest = load_record(one_run.logits_name(run), "validation", folder)
            assert rest.labels.tolist() == validation.labels[:40].tolist()
        monkeypatch.setattr("calib_utils.training.loop._train_epoch", lambda *_: 1 / 0)
        (tmp_path / "remedies/cpu" / f"{stopped.name}.npz").unlink()
        assert run_grid(runs, tmp_path, tmp_path, progress=False) == {}  # from the checkpoint
        again = load_experiment("remedies", "cpu", stopped.name, tmp_path)
        assert (again.confidences == of_stopped.confidences).all()

    def test_nll_run_has_test_metrics_at_every_epoch(self, expected):
        record = load_experiment("nll", "cpu", "lenet5.seed-2", expected)
        assert [entry["epoch"] for entry in record.history] == [1, 2, 3]
        assert record.epoch_correct.shape == (3, len(record.correct))
        for entry, correct in zip(record.history, record.epoch_correct, strict=True):
            counts, right, confidence = np.array(entry["test_bins"])
            assert counts.sum() == len(correct)
            assert right.sum() == correct.sum() == round((1 - entry["test_error"]) * len(correct))
            assert np.abs(confidence - right).sum() / len(correct) == pytest.approx(
                entry["test_ece"]
            )
        assert (record.epoch_correct[-1] == record.correct).all()
        assert record.history[-1]["temperature"] == record.temperature
        assert "test_correct" not in record.history[-1]
        for metric in ("error", "nll", "ece"):
            values = [entry[f"test_{metric}"] for entry in record.history]
            assert values[-1] == getattr(record, metric)
            assert len(set(values)) > 1 or metric == "error"

    def test_training_images_are_the_same_in_every_run(self):
        chosen, *rest = one_run.load_images("digits", 150)
        one_run.load_images.cache_clear()
        again, *_ = one_run.load_images("digits", 150)
        assert (chosen.images == again.images).all()
        training, *whole = load_digits()
        assert [len(x) for x in rest] == [len(x) for x in whole]
        pictures = {image.tobytes() for image in training.images}
        assert {image.tobytes() for image in chosen.images} <= pictures

    def test_no_record_claims_more_training_images_than_there_are(self):
        with pytest.raises(ValueError, match="training_images: digits has 197, found 8,000"):
            one_run.load_images("digits", 8_000)

    def test_finished_runs_are_left_out(self, tiny, expected, monkeypatch):
        monkeypatch.setattr(one_run, "train", lambda *_, **__: 1 / 0)
        runs = plan_grid("weight-decay", "cpu", tiny)
        assert run_grid(runs, expected, expected, progress=False) == {}

    def test_runs_that_train_the_same_share_it(self, tiny, tmp_path, monkeypatch):
        runs = plan_grid("weight-decay", "cpu", tiny)[:2]
        again = [dataclasses.replace(run, grid="again", name=f"x.seed-{run.seed}") for run in runs]
        assert run_grid(runs, tmp_path, tmp_path, progress=False) == {}
        monkeypatch.setattr("calib_utils.training.loop._train_epoch", lambda *_: 1 / 0)
        assert run_grid(again[:1], tmp_path, tmp_path, progress=False) == {}
        found, wanted = (
            load_experiment(run.grid, "cpu", run.name, tmp_path) for run in (again[0], runs[0])
        )
        assert found.history == wanted.history
        assert (found.confidences == wanted.confidences).all()

    def test_record_of_other_settings_is_not_taken(self, tiny, expected, tmp_path):
        changed = tmp_path / "grids.toml"
        changed.write_text(TINY.replace("epochs = 8", "epochs = 9"))
        runs = plan_grid("weight-decay", "cpu", changed)
        with pytest.raises(ValueError, match=r"records: .* was made with .*'epochs': 8.*asks for"):
            run_grid(runs, expected, expected, progress=False)

    def test_a_setting_that_the_recipe_gained_later_makes_no_run_anew(
        self, tiny, expected, tmp_path, monkeypatch
    ):
        """Records from before the recipe had a momentum: 0.9 was, and is, its default."""
        runs = plan_grid("weight-decay", "cpu", tiny)
        for run in runs:
            arrays, facts = read_npz(experiment_path(run.grid, "cpu", run.name, expected))
            del facts["recipe"]["momentum"]
            write_npz(experiment_path(run.grid, "cpu", run.name, tmp_path), arrays, facts)
        monkeypatch.setattr(one_run, "trained", lambda *_: 1 / 0)
        assert run_grid(runs, tmp_path, tmp_path, progress=False) == {}
        levels = by_level(load_grid("weight-decay", "cpu", tmp_path))
        assert levels.keys() == by_level(load_grid("weight-decay", "cpu", expected)).keys()

    def test_a_setting_that_the_recipe_gained_later_leaves_checkpoints_their_names(
        self, tiny, monkeypatch
    ):
        run = plan_grid("weight-decay", "cpu", tiny)[0]

        @dataclasses.dataclass(frozen=True)
        class Later(Recipe):
            warm_up: int = 0

        monkeypatch.setattr(recipe, "Recipe", Later)
        same = dataclasses.replace(run, recipe=Later(**vars(run.recipe)))
        other = dataclasses.replace(run, recipe=Later(**vars(run.recipe), warm_up=1))
        assert same.training == run.training != other.training

    def test_bars_for_the_grid_and_for_the_run(self, tiny, tmp_path, capsys):
        run_grid(plan_grid("nll", "cpu", tiny), tmp_path, tmp_path)
        shown = capsys.readouterr().err
        for part in ("in all: 100%", "1/1", "lenet5.seed-2", "epoch 3 of 3: 100%"):
            assert part in shown


FAILED = "broken/lenet5.learning_rate-1e+30.seed-0"


class TestFailures:
    @pytest.fixture
    def fail(self, monkeypatch):
        """Let each network that is trained at a learning rate of 1e30 fail with an error."""
        networks = []

        def arrange(error: BaseException) -> list:
            def build(**network):
                model = build_model(**network)
                networks.append(model)
                return model

            def train_or_fail(model, data, recipe, **options):
                if recipe.learning_rate == 1e30:
                    raise error
                return train(model, data, recipe, **options)

            monkeypatch.setattr(one_run, "build_model", build)
            monkeypatch.setattr(one_run, "train", train_or_fail)
            return networks

        return arrange

    @pytest.mark.parametrize(
        "error",
        [
            RuntimeError("mat1 and mat2 shapes cannot be multiplied"),
            OSError(28, "No space left on device"),
            TypeError("a mistake"),
        ],
    )
    def test_whatever_a_later_run_raises(self, tiny, tmp_path, fail, error):
        fail(error)
        failed = run_grid(plan_grid("broken", "cpu", tiny), tmp_path, tmp_path, progress=False)
        assert failed == {FAILED: f"{type(error).__name__}: {error}"}
        assert len(list_experiments("broken", "cpu", tmp_path)) == 2

    def test_first_run_of_each_grid_stops_all_with_its_own_error(self, tiny, tmp_path, fail):
        networks = fail(RuntimeError("no such kernel"))
        runs = [run for grid in ("nll", "hopeless") for run in plan_grid(grid, "cpu", tiny)]
        with pytest.raises(RuntimeError, match="no such kernel") as error:
            run_grid(runs, tmp_path, tmp_path, progress=False)
        note = "hopeless/lenet5.learning_rate-1e+30.seed-0 failed, the first run of its grid: "
        assert error.value.__notes__ == [note + "the other runs are not made"]
        assert len(networks) == 2
        assert list_experiments("nll", "cpu", tmp_path) == ["lenet5.seed-2"]
        assert list_experiments("hopeless", "cpu", tmp_path) == []

    def test_a_run_that_failed_once_does_not_bar_the_others(self, tiny, tmp_path, fail):
        """When the command is given again, it is the first that is made, but not of the plan."""
        runs = plan_grid("broken", "cpu", tiny)
        assert run_grid(runs[:2], tmp_path, tmp_path, progress=False).keys() == {FAILED}
        assert run_grid(runs, tmp_path, tmp_path, progress=False).keys() == {FAILED}
        assert len(list_experiments("broken", "cpu", tmp_path)) == 2

    def test_interruption_is_no_failure(self, tiny, tmp_path, fail):
        fail(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run_grid(plan_grid("broken", "cpu", tiny), tmp_path, tmp_path, progress=False)

    @pytest.mark.thorough
    def test_jobs_report_failures_and_first_runs_too(self, tiny, tmp_path):
        runs = plan_grid("broken", "cpu", tiny)
        failed = run_grid(runs, tmp_path, tmp_path, jobs=2, progress=False)
        assert failed.keys() == {FAILED}
        runs = plan_grid("hopeless", "cpu", tiny)
        with pytest.raises(FloatingPointError, match="the training loss is nan") as error:
            run_grid(runs, tmp_path, tmp_path, jobs=2, progress=False)
        assert "the first run of its grid" in error.value.__notes__[0]


def test_a_network_of_several_runs_is_trained_before_the_others_take_it(
    tiny, tmp_path, monkeypatch
):
    """Two that train it at the same time would write one checkpoint."""
    made = []
    monkeypatch.setattr(runner, "run_experiment", lambda run, *_, **__: made.append(run.name))
    first, other = plan_grid("weight-decay", "cpu", tiny)[:2]
    again = dataclasses.replace(first, name="again")
    assert run_grid([first, again, other], tmp_path, tmp_path, progress=False) == {}
    assert made == [first.name, other.name, "again"]


class TestEstimate:
    @pytest.fixture
    def four_seconds(self, monkeypatch):
        """An epoch takes 4.2 s; a network that fails, fails."""

        def seconds(run, device) -> float:
            if run.recipe.batch_size == 7:
                raise RuntimeError("out of memory")
            timed.append(run)
            return 4.2 * (1 + run.test_every_epoch)

        timed: list = []
        monkeypatch.setattr("calib_utils.experiments.estimate.time_run", seconds)
        return timed

    def bars(self):
        return progress_bars(False)

    def test_sentence_for_each_grid(self, tiny, tmp_path, four_seconds):
        runs = plan_grid("nll", "cpu", tiny) + plan_grid("weight-decay", "cpu", tiny)
        cost = estimate(runs, tmp_path, None, self.bars())
        assert cost.seconds == pytest.approx(4 * 8 * 4.2 + 3 * 8.4)
        assert cost.sentences == [
            "nll: 1 run of 3 epochs, one epoch takes 8.4 s, less than a minute",
            "weight-decay: 4 runs of 8 epochs, one epoch takes 4.2 s, about 2 minutes",
        ]
        assert len(four_seconds) == 2  # another weight decay takes no longer

    def test_what_is_done_is_not_counted(self, tiny, tmp_path, four_seconds):
        run = plan_grid("weight-decay", "cpu", tiny)[0]
        state = dataclasses.replace(run, recipe=dataclasses.replace(run.recipe, epochs=8))
        model = build_model("lenet5", 10)
        training, _, _ = one_run.load_images("digits", 150)
        train(model, training, state.recipe, checkpoint=checkpoint_path(run, tmp_path))
        cost = estimate([run], tmp_path, None, self.bars())
        assert cost.seconds == 0
        assert "1 run of 8 epochs, 8 epochs are done, one epoch" in cost.sentences[0]

    def test_a_network_that_fails_is_left_to_its_run(self, tiny, tmp_path, four_seconds):
        runs = plan_grid("weight-decay", "cpu", tiny)[:2]
        small = dataclasses.replace(runs[0].recipe, batch_size=7, epochs=9)
        runs[0] = dataclasses.replace(runs[0], recipe=small)
        (sentence,) = estimate(runs, tmp_path, None, self.bars()).sentences
        assert sentence == (
            "weight-decay: 2 runs of 8 to 9 epochs, one epoch takes 4.2 s, less than a minute, "
            "without 1 whose epoch failed"
        )

    def test_is_said_before_the_first_run(self, tiny, tmp_path, capsys, monkeypatch):
        def stop(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(runner, "run_experiment", stop)
        with pytest.raises(KeyboardInterrupt):
            run_grid(plan_grid("weight-decay", "cpu", tiny), tmp_path, tmp_path)
        assert "weight-decay: 4 runs of 8 epochs, one epoch takes 0." in capsys.readouterr().out
        assert list(tmp_path.iterdir()) == []

    def test_is_kept_in_the_line_where_bars_are_not_seen(self, tiny, tmp_path, monkeypatch, capfd):
        line, seen = tmp_path / "line", []
        monkeypatch.setenv("CALIB_PROGRESS_FILE", str(line))
        monkeypatch.setattr(
            runner, "run_experiment", lambda *_, **__: seen.append(line.read_text())
        )
        run_grid(plan_grid("nll", "cpu", tiny), tmp_path, tmp_path)
        assert seen == ["runs, less than a minute in all: 0 of 1, lenet5.seed-2"]
        assert capfd.readouterr() == ("", "")


class TestSharing:
    def test_jobs_of_this_machine_end_like_one_after_the_other(self, tiny, expected, tmp_path):
        runs = plan_grid("weight-decay", "cpu", tiny)
        assert run_grid(runs, tmp_path, tmp_path, jobs=2, progress=False) == {}
        same_numbers("weight-decay", tmp_path, expected)

    # Last: it ends the processes that the tests above share.
    @pytest.mark.thorough
    def test_a_killed_process_takes_only_its_run_with_it(self, tmp_path):
        tasks = {key: delayed(dying_worker.end)(key, tmp_path) for key in ("a", "dies", "b", "c")}
        with runner._workers():
            ends = dict(runner._as_they_end(tasks, 2))
        assert ends.pop("dies") == "its process was killed, perhaps for lack of memory"
        assert ends == {"a": "", "b": "", "c": ""}
        assert (tmp_path / "dies").read_text() == "xx"  # once beside others, once alone


def options(tiny: Path, folder: Path, grid: str) -> list[str]:
    given = {"--grid": grid, "--grids": tiny, "--folder": folder, "--records": folder}
    return [str(x) for pair in given.items() for x in pair]


ONE_THREAD = ENVIRONMENT | {"OMP_NUM_THREADS": "1"}
KILLED_GRID = """
import time
from calib_utils.experiments.__main__ import main
from calib_utils.training import loop

def save_and_stay(path, *state):
    save(path, *state)
    saved.append(path)
    if len(saved) == 9:  # in the middle of the second run of six epochs
        time.sleep(1000)

save, saved = loop.save_checkpoint, []
loop.save_checkpoint = save_and_stay
main()
"""


SLEEPING_GRID = """
import os, sys, time
from pathlib import Path
from calib_utils.experiments import runner
from calib_utils.experiments.__main__ import main

def sleep(run, folder, *_):
    (folder / f"worker-{os.getpid()}").touch()
    time.sleep(120)

runner._attempt, runner.estimate = sleep, lambda *_: None
main()
"""


@pytest.mark.thorough
def test_no_worker_outlives_a_terminated_grid(tiny, tmp_path):
    grid = [*options(tiny, tmp_path, "weight-decay"), "--jobs", "2"]
    command = [sys.executable, "-c", SLEEPING_GRID, *grid]
    process = subprocess.Popen(command, cwd=tmp_path, env=ONE_THREAD, stderr=subprocess.PIPE)
    try:
        while len(list(tmp_path.glob("worker-*"))) < 2:
            assert process.poll() is None, "the grid ended by itself"
            time.sleep(0.05)
        process.terminate()
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    workers = [int(path.name.partition("-")[2]) for path in tmp_path.glob("worker-*")]
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "a worker goes on alone"
        time.sleep(0.1)
    assert process.returncode == 143
    assert b"The same command continues" in said


def test_killed_grid_ends_like_one_that_was_not(tiny, tmp_path):
    """Kill -9 in the second run, then give the command again."""
    runs = plan_grid("long", "cpu", tiny)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    first, second = (checkpoint_path(run, killed) for run in runs)
    command = [sys.executable, "-c", KILLED_GRID, *options(tiny, killed, "long")]
    process = subprocess.Popen(command, cwd=tmp_path, env=ONE_THREAD, stderr=subprocess.DEVNULL)
    kill_when_done(process, second, epochs=3)
    assert list_experiments("long", "cpu", killed) == [runs[0].name]
    before, begun = first.stat().st_mtime_ns, read_facts(second)["history"]
    assert len(begun) == 3
    assert run_grid(runs, killed, killed, progress=False) == {}
    assert first.stat().st_mtime_ns == before
    assert read_facts(second)["history"][: len(begun)] == begun  # its times too: not run again

    assert run_grid(runs, whole, whole, progress=False) == {}
    same_numbers("long", killed, whole)


class TestCommandLine:
    def test_list(self, tiny, expected, tmp_path, capsys):
        main([*options(tiny, expected, "nll"), "--list"])
        assert "nll/lenet5.seed-2 " in (shown := capsys.readouterr().out)
        assert "error " in shown
        assert "ECE " in shown
        main([*options(tiny, tmp_path, "nll"), "--list"])
        assert "0 of 3 epochs" in capsys.readouterr().out

    def test_estimate_times_each_network_once_and_leaves_nothing(self, tiny, tmp_path, capsys):
        main([*options(tiny, tmp_path, "weight-decay"), "--estimate"])
        shown = capsys.readouterr().out
        assert shown.startswith("weight-decay: 4 runs of 8 epochs, one epoch takes 0.")
        assert shown.endswith("\nall: less than a minute\n")
        assert list(tmp_path.iterdir()) == []

    def test_failed_runs_are_an_error(self, tiny, tmp_path, capsys):
        with pytest.raises(SystemExit) as stop:
            main(options(tiny, tmp_path, "broken"))
        assert stop.value.code == 1
        error = capsys.readouterr().err
        assert f"these runs failed:\n  {FAILED}: FloatingPointError: the training" in error
        assert len(list_experiments("broken", "cpu", tmp_path)) == 2

    def test_failing_first_run_is_an_error(self, tiny, tmp_path, capsys):
        with pytest.raises(SystemExit) as stop:
            main(options(tiny, tmp_path, "hopeless"))
        assert stop.value.code == 1
        error = capsys.readouterr().err
        assert re.search(
            r"error: the training loss is nan.*\n  hopeless/lenet5.* failed, the", error
        )

    def test_list_refuses_what_cannot_be_built(self, tiny, tmp_path, capsys):
        network = '{ name = "fast_resnet", batch_norm = 1 }'
        plan = tiny.read_text().replace('{ name = "lenet5" }', network)
        (tmp_path / "mine.toml").write_text(plan)
        with pytest.raises(SystemExit):
            main([*options(tmp_path / "mine.toml", tmp_path, "nll"), "--list"])
        error = capsys.readouterr().err
        assert error == (
            "error: options: batch_norm of fast_resnet: expected a value like True, found 1\n"
        )

    def test_ctrl_c_is_told_in_a_sentence(self, tiny, tmp_path, capsys, monkeypatch):
        def stopped(*args, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr("calib_utils.experiments.__main__.run_grid", stopped)
        with pytest.raises(SystemExit) as ended:
            main(options(tiny, tmp_path, "nll"))
        assert ended.value.code == 130
        assert capsys.readouterr().err.startswith("\nStopped. The same command continues")
