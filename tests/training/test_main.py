"""The command line that trains a network and stores its predictions."""

import runpy
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from calib_utils.records import load_record
from calib_utils.records.recipe import DIGITS_RECIPE
from calib_utils.training import __main__ as train_cli
from calib_utils.training import load_digits, predict_logits, train
from calib_utils.training.checkpoints import read_facts
from tests.training.small import network


def command(folder, **changes: str) -> list[str]:
    options = {
        "model": "lenet5",
        "dataset": "digits",
        "epochs": "2",
        "checkpoint": str(folder / "run.safetensors"),
        "record": "lenet5-digits",
        "folder": str(folder),
    } | changes
    return [x for name, value in options.items() for x in (f"--{name}", value)]


def test_main_trains_and_writes_records_then_only_writes_them(tmp_path, capsys):
    train_cli.main(command(tmp_path))
    assert "test accuracy" in capsys.readouterr().out
    digits, validation, test = load_digits()
    first = load_record("lenet5-digits", "test", tmp_path)
    assert first.labels.tolist() == test.labels.tolist()
    assert first.test_accuracy == (first.logits.argmax(axis=1) == test.labels).mean()
    assert first.recipe == asdict(replace(DIGITS_RECIPE, epochs=2)) | {"milestones": [20, 40]}
    assert (first.model, first.epochs, first.seed) == ("lenet5", 2, 0)
    assert first.dataset == "197 training images of scikit-learn's digits"
    assert first.versions["torch"] in torch.__version__
    history = read_facts(tmp_path / "run.safetensors")["history"]
    assert first.seconds_per_epoch == np.median([entry["seconds"] for entry in history])
    second = load_record("lenet5-digits", "validation", tmp_path)
    assert second.labels.tolist() == validation.labels.tolist()
    assert second.test_accuracy == first.test_accuracy

    # The course's records: seed, network, then training.
    model = network(seed=0)
    train(model, digits, replace(DIGITS_RECIPE, epochs=2), seed=0, progress=False)
    logits = predict_logits(model, test).astype(np.float64)
    expected = logits - logits.max(axis=1, keepdims=True)  # what changes no probability
    assert (first.logits == expected.astype(np.float16)).all()

    for name in ("test", "validation"):
        (tmp_path / f"lenet5-digits.{name}.npz").unlink()
    train_cli.main(command(tmp_path))
    again = load_record("lenet5-digits", "test", tmp_path)
    assert again.facts == first.facts  # the time of an epoch too: nothing was trained
    assert (again.logits == first.logits).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epochs": "0"}, "error: epochs: expected at least 1, found 0"),
        ({"record": "../x"}, "error: name: expected lower-case letters"),
        ({"device": "meta"}, "error: device: expected 'cpu' or 'cuda'"),
    ],
)
def test_main_reports_a_bad_value(tmp_path, capsys, changes, message):
    with pytest.raises(SystemExit) as stop:
        train_cli.main(command(tmp_path, **changes))
    assert stop.value.code == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_main_tells_ctrl_c_in_a_sentence(monkeypatch, capsys, tmp_path):
    def stopped(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_cli, "_run", stopped)
    with pytest.raises(SystemExit) as ended:
        train_cli.main(command(tmp_path))
    assert ended.value.code == 130
    assert capsys.readouterr().err.startswith("\nStopped. The same command continues")


@pytest.mark.filterwarnings("ignore:.*found in sys.modules")  # as it is imported here
def test_the_module_is_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["-m", "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("calib_utils.training", run_name="__main__", alter_sys=True)
    shown = capsys.readouterr()
    assert "--checkpoint" in shown.out
    assert shown.err == ""
