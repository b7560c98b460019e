"""One network of a grid, and its record, against formulas written out."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from calib_utils.experiments import one_run, plan_grid
from calib_utils.experiments.grids import grid_names
from calib_utils.experiments.runner import run_grid
from calib_utils.records.experiments import experiment_path, list_experiments, load_experiment
from calib_utils.records.npz import read_npz, write_npz
from calib_utils.training import predict_logits, train
from calib_utils.training.data import load_digits
from calib_utils.training.networks import build_model
from tests.experiments.tiny import TINY, ece


def test_the_packages_own_agree_with_the_grids():
    """Whatever is stored was made as the file of grids says, and by whole runs."""
    for grid in grid_names():
        for protocol in ("cpu", "full", "core", "ladder"):
            runs = {run.name: run for run in plan_grid(grid, protocol)}
            for name in list_experiments(grid, protocol):
                record = load_experiment(grid, protocol, name)
                assert one_run.has_record(runs[name])
                assert len(record.history) == record.recipe["epochs"]
                assert len(record.correct) == 10_000
                assert record.error == pytest.approx(1 - record.correct.mean())
                assert record.ece == pytest.approx(ece(record), abs=1e-6)


def test_record_says_what_the_network_does(tiny, expected):
    """Against the same network trained by hand, and formulas written out."""
    run = plan_grid("weight-decay", "cpu", tiny)[-1]
    record = load_experiment("weight-decay", "cpu", run.name, expected)
    training, validation, test = one_run.load_images("digits", 150)
    assert len(training) == 150
    torch.manual_seed(1)
    model = build_model("lenet5", 10)
    history = train(model, training, run.recipe, seed=1, progress=False)
    assert record.history[-1]["train_loss"] == history[-1]["train_loss"]
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
    np.testing.assert_allclose(record.confidences, softmax(logits, axis=1).max(axis=1), rtol=1e-5)
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


def test_nll_run_has_test_metrics_at_every_epoch(expected):
    record = load_experiment("nll", "cpu", "lenet5.seed-2", expected)
    assert [entry["epoch"] for entry in record.history] == [1, 2, 3]
    assert record.epoch_correct.shape == (3, len(record.correct))
    for entry, correct in zip(record.history, record.epoch_correct, strict=True):
        counts, right, confidence = np.array(entry["test_bins"])
        assert counts.sum() == len(correct)
        assert right.sum() == correct.sum() == round((1 - entry["test_error"]) * len(correct))
        assert np.abs(confidence - right).sum() / len(correct) == pytest.approx(entry["test_ece"])
    assert (record.epoch_correct[-1] == record.correct).all()
    assert record.history[-1]["temperature"] == record.temperature
    assert "test_correct" not in record.history[-1]
    for metric in ("error", "nll", "ece"):
        values = [entry[f"test_{metric}"] for entry in record.history]
        assert values[-1] == getattr(record, metric)
        assert len(set(values)) > 1 or metric == "error"


def test_training_images_are_the_same_in_every_run():
    chosen, *rest = one_run.load_images("digits", 150)
    one_run.load_images.cache_clear()
    again, *_ = one_run.load_images("digits", 150)
    assert (chosen.images == again.images).all()
    training, *whole = load_digits()
    assert [len(x) for x in rest] == [len(x) for x in whole]
    pictures = {image.tobytes() for image in training.images}
    assert {image.tobytes() for image in chosen.images} <= pictures


def test_a_run_is_trained_on_the_first_part_of_its_images(tiny):
    run = plan_grid("nll", "cpu", tiny)[0]
    run = dataclasses.replace(run, recipe=dataclasses.replace(run.recipe, share=0.1))
    whole, *_ = one_run.load_images("digits", 150)
    part = one_run._training_set(run)
    assert (part.images == whole.images[:15]).all()
    assert part.labels.tolist() == whole.labels[:15].tolist()


def test_no_record_claims_more_training_images_than_there_are():
    with pytest.raises(ValueError, match="training_images: digits has 197, found 8,000"):
        one_run.load_images("digits", 8_000)


def test_runs_that_train_the_same_share_it(tiny, tmp_path, monkeypatch):
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


def test_record_of_other_settings_is_not_taken(tiny, expected, tmp_path):
    changed = tmp_path / "grids.toml"
    changed.write_text(TINY.replace("epochs = 8", "epochs = 9"))
    runs = plan_grid("weight-decay", "cpu", changed)
    with pytest.raises(ValueError, match=r"records: .* was made with .*'epochs': 8.*asks for"):
        run_grid(runs, expected, expected, progress=False)


def test_a_setting_that_the_recipe_gained_later_makes_no_run_anew(
    tiny, expected, tmp_path, monkeypatch
):
    """Records from before the recipe had a momentum: 0.9 was, and is, its default."""
    runs = plan_grid("weight-decay", "cpu", tiny)
    for run in runs:
        arrays, facts = read_npz(experiment_path(run.grid, "cpu", run.name, expected))
        del facts["recipe"]["momentum"]
        write_npz(experiment_path(run.grid, "cpu", run.name, tmp_path), arrays, facts)
    monkeypatch.setattr(one_run, "trained", lambda *_: 1 / 0)
    assert run_grid(runs, tmp_path, tmp_path, progress=False) == {}
