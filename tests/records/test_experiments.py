"""The record of one run: it comes back as it was saved, or says what is wrong with it."""

import dataclasses
from dataclasses import asdict

import numpy as np
import pytest

from calib_utils.records import ExperimentRecord
from calib_utils.records.experiments import list_experiments, load_experiment, save_experiment
from calib_utils.records.recipe import Recipe
from tests.run_cases import OVERCONFIDENT

RECIPE = asdict(Recipe(epochs=1)) | {"milestones": [10, 20]}


class TestRecord:
    def record(self, **changes) -> ExperimentRecord:
        rng = np.random.default_rng(0)
        fields = {
            **{"grid": "depth", "protocol": "cpu", "name": "toy.depth-8.seed-0"},
            **{"network": {"name": "toy", "depth": 8}, "factor": "depth", "value": 8, "seed": 0},
            "level": {"depth": 8},
            **{"dataset": "digits", "training_images": 1500, "recipe": RECIPE},
            **{"confidences": rng.random(50, np.float32), "correct": rng.random(50) < 0.5},
            "history": [{"epoch": 1, "train_loss": 0.5, "train_accuracy": 0.75, "seconds": 2}],
            **{"error": 0.5, "nll": 1.0, "ece": 0.1, "temperature": 1.5},
            **{"nll_scaled": 0.9, "ece_scaled": 0.05, "versions": {"numpy": "2"}},
            **{"hardware": "a processor", "date": "2026-11-20"},
        }
        return ExperimentRecord(**fields | changes)

    def test_comes_back_as_it_was_saved(self, tmp_path):
        record = self.record()
        path = save_experiment(record, tmp_path)
        assert path == tmp_path / "depth" / "cpu" / "toy.depth-8.seed-0.npz"
        back = load_experiment("depth", "cpu", "toy.depth-8.seed-0", tmp_path)
        assert back.facts == record.facts
        assert back.train_accuracy == 0.75
        assert back.confidences.dtype == np.float32
        assert back.correct.dtype == bool
        assert (back.confidences == record.confidences).all()
        assert (back.correct == record.correct).all()
        assert back.provenance == (
            "depth/toy.depth-8.seed-0: 1,500 training images of scikit-learn's digits, 1 epochs of "
            "2.0 s; a processor; 2026-11-20"
        )

    def test_correctness_of_every_epoch_comes_back(self, tmp_path):
        rights = np.random.default_rng(1).random((3, 50)) < 0.5
        save_experiment(self.record(epoch_correct=rights), tmp_path)
        back = load_experiment("depth", "cpu", "toy.depth-8.seed-0", tmp_path)
        assert back.epoch_correct.dtype == bool
        assert (back.epoch_correct == rights).all()
        with pytest.raises(ValueError, match="correct: expected shape"):
            save_experiment(self.record(epoch_correct=rights[:, 1:]), tmp_path)

    def test_what_newer_records_have_of_each_image_comes_back(self, tmp_path):
        losses, scaled = np.random.default_rng(2).gamma(2.0, size=(2, 50))
        of_each = {"losses": losses, "losses_scaled": scaled, "confidences_scaled": scaled / 20}
        save_experiment(self.record(**of_each), tmp_path)
        back = load_experiment("depth", "cpu", "toy.depth-8.seed-0", tmp_path)
        for name, values in of_each.items():
            found = getattr(back, name)
            assert found.dtype == np.float16
            np.testing.assert_allclose(found, values, rtol=1e-3, atol=1 / 256)
        assert (back.losses.astype(float) * 128 % 1 == 0).all()
        bare = self.record()
        assert (bare.losses, bare.losses_scaled, bare.confidences_scaled) == (None, None, None)

    @pytest.mark.parametrize(
        ("name", "values", "message"),
        [
            ("losses", np.zeros(49), "losses: expected 50 finite numbers of at least 0"),
            ("losses_scaled", np.full(50, np.nan), "losses_scaled: expected 50 finite"),
            ("losses", np.full(50, -0.1), "losses: expected 50 finite"),
            (
                "confidences_scaled",
                np.full(50, 1.5),
                "confidences: expected values from 0 to 1, found 1.5",
            ),
        ],
    )
    def test_bad_numbers_of_each_image(self, tmp_path, name, values, message):
        with pytest.raises(ValueError, match=message):
            save_experiment(self.record(**{name: values}), tmp_path)

    def test_unknown_or_damaged_run(self, tmp_path):
        path = save_experiment(self.record(), tmp_path)
        with pytest.raises(ValueError, match=r"no run 'x' in depth/cpu; there are: toy\.depth-8"):
            load_experiment("depth", "cpu", "x", tmp_path)
        assert list_experiments("depth", "gpu", tmp_path) == []
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(ValueError, match=r"run 'toy.*' in depth/cpu is damaged"):
            load_experiment("depth", "cpu", path.stem, tmp_path)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"grid": "../up"}, "grid: expected lower-case"),
            ({"protocol": "CPU"}, "protocol: expected lower-case"),
            ({"name": "a/b"}, "name: expected lower-case"),
            (
                {"confidences": np.full(50, 1.5)},
                "confidences: expected values from 0 to 1, found 1.5",
            ),
            ({"correct": np.zeros(49, bool)}, "correct: expected shape"),
        ],
    )
    def test_bad_record(self, tmp_path, changes, message):
        with pytest.raises(ValueError, match=message):
            save_experiment(self.record(**changes), tmp_path)
        assert list(tmp_path.iterdir()) == []


def test_overconfidence_and_gap_are_distances_from_the_test_accuracy():
    run = dataclasses.replace(OVERCONFIDENT[0], history=[{"train_accuracy": 0.9}])
    right = sum(run.correct.tolist()) / len(run.correct)
    said = sum(run.confidences.tolist()) / len(run.correct)
    assert run.overconfidence == pytest.approx(said - right)
    assert run.generalization_gap == pytest.approx(0.9 - right)
    run = dataclasses.replace(run, history=[{"train_accuracy": 0.9, "fitted_accuracy": 0.95}])
    assert run.generalization_gap == pytest.approx(0.95 - right)
