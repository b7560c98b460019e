"""Averages, temperatures and damaged photographs, against the same made by hand."""

import shutil

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from calib_utils.experiments import forecasts, plan_grid
from calib_utils.experiments.__main__ import main
from calib_utils.experiments.forecasts import average, make_forecasts
from calib_utils.experiments.one_run import checkpoint_path, trained
from calib_utils.experiments.runner import run_grid
from calib_utils.metrics import baseline_calibration_error, expected_calibration_error
from calib_utils.records import load_forecasts
from calib_utils.training import corrupt, load_digits, predict_logits
from calib_utils.training.data import ImageSet

GRIDS = """
seeds = [0, 1]
[protocols.cpu]
dataset = "digits"
training_images = 150
recipe = { epochs = 6, milestones = [4], batch_size = 32, learning_rate = 0.05, crop_padding = 0 }
[grids.ensembles]
network = { name = "lenet5" }
[grids.remedies]
network = { name = "lenet5" }
factor = "remedy"
levels = { none = {}, "label-smoothing-0.1" = { label_smoothing = 0.1 } }
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder, the forecasts, and the trained networks."""
    folder = tmp_path_factory.mktemp("forecasts")
    grids = folder / "grids.toml"
    grids.write_text(GRIDS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(forecasts, "CORRUPTIONS", ("noise", "blur"))
        runs = [run for grid in ("ensembles", "remedies") for run in plan_grid(grid, "cpu", grids)]
        assert run_grid(runs, folder, folder, progress=False) == {}
        options = ["--grids", str(grids), "--folder", str(folder), "--records", str(folder)]
        main([*options, "--forecasts"])
        networks = [trained(r, "cpu", False, checkpoint_path(r, folder))[0] for r in runs[:2]]
    found, facts = load_forecasts("ensembles", "cpu", folder / "forecasts")
    return folder, found, facts, networks


def one(found, networks, members, scaled, corruption="", severity=0):
    wanted = (networks, members, scaled, corruption, severity)
    (forecast,) = [
        x for x in found if (x.networks, x.members, x.scaled, x.corruption, x.severity) == wanted
    ]
    return forecast


def check(forecast, probs: np.ndarray, labels: np.ndarray) -> None:
    of_labels = -np.log(probs[np.arange(len(labels)), labels])
    assert forecast.error == pytest.approx((probs.argmax(axis=1) != labels).mean())
    assert forecast.nll == pytest.approx(of_labels.mean(), rel=1e-4)
    assert forecast.nll_error == pytest.approx(np.std(of_labels, ddof=1) / 600**0.5, rel=1e-3)
    assert forecast.confidence == pytest.approx(probs.max(axis=1).mean(), rel=1e-4)
    assert forecast.ece == pytest.approx(expected_calibration_error(probs, labels), abs=1e-3)
    counts, right, confidence = forecast.bins
    assert counts.sum() == 600
    assert right.sum() == pytest.approx(600 * (1 - forecast.error))
    assert np.abs(confidence - right).sum() / 600 == pytest.approx(forecast.ece, abs=1e-5)


def best_temperature(probs: np.ndarray, labels: np.ndarray) -> float:
    def nll(t: float) -> float:
        scaled = softmax(np.log(probs) / t, axis=1)
        return -np.log(scaled[np.arange(len(labels)), labels]).mean()

    return minimize_scalar(nll, bounds=(0.05, 20), method="bounded").x


def test_average_is_that_of_probabilities():
    z = np.random.default_rng(0).normal(size=(3, 5, 4))
    np.testing.assert_allclose(np.exp(average(list(z))), softmax(z, axis=2).mean(axis=0))
    scaled = [softmax(one_z / t, axis=1) for one_z, t in zip(z, (0.5, 1, 2), strict=True)]
    np.testing.assert_allclose(np.exp(average(list(z), [0.5, 1, 2])), np.mean(scaled, axis=0))


def test_clean_forecasts_are_those_made_by_hand(made):
    _, found, facts, networks = made
    _, validation, test = load_digits()
    on_test, on_validation = (
        [predict_logits(x, data, device="cpu").astype(np.float64) for x in networks]
        for data in (test, validation)
    )
    check(one(found, "ordinary", (1,), "none"), softmax(on_test[1], axis=1), test.labels)
    pooled = np.mean([softmax(z, axis=1) for z in on_test], axis=0)
    check(one(found, "ordinary", (0, 1), "none"), pooled, test.labels)

    t = best_temperature(
        np.mean([softmax(z, axis=1) for z in on_validation], axis=0), validation.labels
    )
    after = one(found, "ordinary", (0, 1), "after")
    assert after.temperature == pytest.approx(t, rel=1e-2)
    check(after, softmax(np.log(pooled) / after.temperature, axis=1), test.labels)

    own = [best_temperature(softmax(z, axis=1), validation.labels) for z in on_validation]
    for seed, t in enumerate(own):
        alone = one(found, "ordinary", (seed,), "after")
        assert alone.temperature == pytest.approx(t, rel=1e-2)
    own = [one(found, "ordinary", (seed,), "after").temperature for seed in (0, 1)]
    before = np.mean([softmax(z / t, axis=1) for z, t in zip(on_test, own, strict=True)], axis=0)
    check(one(found, "ordinary", (0, 1), "before"), before, test.labels)

    flipped = ImageSet(test.images[:, :, ::-1].copy(), test.labels, test.mean, test.std)
    mirror = predict_logits(networks[0], flipped, device="cpu").astype(np.float64)
    both = (softmax(on_test[0], axis=1) + softmax(mirror, axis=1)) / 2
    check(one(found, "mirrored", (0,), "none"), both, test.labels)
    assert facts["networks"]["smoothed"]["recipe"]["label_smoothing"] == 0.1


@pytest.mark.parametrize(("corruption", "severity"), [("blur", 5), ("noise", 2)])
def test_damaged_ones_have_the_temperatures_of_clean_ones(made, corruption, severity):
    _, found, _, networks = made
    _, _, test = load_digits()
    damaged = ImageSet(corrupt(test.images, corruption, severity), test.labels, test.mean, test.std)
    z = predict_logits(networks[0], damaged, device="cpu").astype(np.float64)
    clean = one(found, "ordinary", (0,), "after")
    forecast = one(found, "ordinary", (0,), "after", corruption, severity)
    assert forecast.temperature == clean.temperature
    check(forecast, softmax(z / clean.temperature, axis=1), test.labels)


def test_all_that_is_compared_is_there_once(made):
    _, found, _, _ = made
    keys = [(x.networks, x.members, x.scaled, x.corruption, x.severity) for x in found]
    assert len(set(keys)) == len(keys)
    # Two seeds of each group at two scales, and the average of the ordinary ones at three.
    of_set = 2 * 2 * 2 + 3
    assert len(keys) == (of_set + 2 * 2) + 10 * of_set


@pytest.mark.parametrize(
    ("n", "severity", "expected"), [(5, 0, 31), (5, 3, 5 + 5 + 1), (2, 3, 3), (1, 0, 1)]
)
def test_averages_of_all_and_of_all_but_one(n, severity, expected):
    subsets = forecasts._subsets("ordinary", range(n), severity)
    assert len(set(subsets)) == len(subsets) == expected
    assert forecasts._subsets("smoothed", range(n), severity) == [(seed,) for seed in range(n)]


def test_of_what_is_compared_each_image_is_kept(made):
    _, found, _, networks = made
    _, _, test = load_digits()
    z = predict_logits(networks[0], test, device="cpu").astype(np.float64)
    forecast = one(found, "ordinary", (0,), "after")
    probs = softmax(z / forecast.temperature, axis=1)
    np.testing.assert_allclose(forecast.confidences, probs.max(axis=1), rtol=1e-3)
    np.testing.assert_array_equal(forecast.correct, probs.argmax(axis=1) == test.labels)
    loss = -np.log(probs[np.arange(len(probs)), test.labels])
    np.testing.assert_allclose(forecast.losses, loss, rtol=1e-3, atol=1 / 256)
    assert forecast.baseline == pytest.approx(baseline_calibration_error(probs).mean, rel=1e-4)
    kept = {(x.severity, x.scaled) for x in found if x.losses is not None}
    assert kept == {(s, scaled) for s in (0, 5) for scaled in ("after", "before")}


def test_who_stops_goes_on_with_the_next_photographs(made, tmp_path, monkeypatch):
    folder, found, _, _ = made
    for path in folder.glob("*.safetensors"):
        shutil.copy(path, tmp_path)
    predict, calls = forecasts.predict_logits, []

    def stopped(*args, **kwargs):
        calls.append(args)
        if len(calls) > limit:
            raise KeyboardInterrupt
        return predict(*args, **kwargs)

    monkeypatch.setattr(forecasts, "CORRUPTIONS", ("blur",))
    monkeypatch.setattr(forecasts, "predict_logits", stopped)
    runs = {x: plan_grid(x, "cpu", folder / "grids.toml") for x in ("ensembles", "remedies")}
    smoothed = [run for run in runs["remedies"] if run.value != "none"]
    clean, damaged = 2 * (4 + 2), 4  # test and validation, with mirror images; each damage
    arguments = (runs["ensembles"], smoothed, tmp_path, tmp_path)
    limit = clean + 2 * damaged + 1
    with pytest.raises(KeyboardInterrupt):
        make_forecasts(*arguments, device="cpu", progress=False)
    assert len(list(tmp_path.glob("*.npz"))) == 3
    calls, limit = [], 3 * damaged
    path = make_forecasts(*arguments, device="cpu", progress=False)
    assert len(calls) == limit
    assert list(tmp_path.glob("*.npz")) == []
    again, _ = load_forecasts("ensembles", "cpu", path.parent)
    wanted = [x.nll for x in found if x.corruption != "noise"]
    assert [x.nll for x in again] == wanted


def test_networks_that_are_not_trained(made, tmp_path, capsys):
    folder, *_ = made
    options = ["--grids", str(folder / "grids.toml"), "--folder", str(tmp_path)]
    with pytest.raises(SystemExit):
        main([*options, "--records", str(tmp_path), "--forecasts"])
    assert "has 0 of 6 epochs in" in capsys.readouterr().err


def test_damaged_file(made, tmp_path):
    folder, *_ = made
    content = (folder / "forecasts" / "ensembles.cpu.npz").read_bytes()
    (tmp_path / "ensembles.cpu.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="forecasts of 'ensembles' in 'cpu' is damaged"):
        load_forecasts("ensembles", "cpu", tmp_path)
