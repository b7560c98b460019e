"""What survives when a training is stopped, and what is never read."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from calib_utils.training import checkpoints, devices, train
from calib_utils.training.checkpoints import read_facts, save_checkpoint
from calib_utils.training.networks import lenet5
from tests.training.small import (
    ENVIRONMENT,
    SHORT,
    kill_when_done,
    network,
    random_images,
    train_and_stop,
    weights,
    without_times,
)


def with_a_state() -> nn.Module:
    """A network with batch statistics and a random layer."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 4, 5, stride=4), nn.BatchNorm2d(4), nn.Dropout(0.3)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(196, 10))


@pytest.mark.parametrize("own", [{}, {"momentum": 0.0}])
def test_stopped_run_ends_like_one_that_was_not(tmp_path, own):
    recipe, file = replace(SHORT, **own), tmp_path / "new" / "run.safetensors"
    whole, resumed = with_a_state(), with_a_state()
    expected = train(whole, random_images(), recipe, progress=False)
    train_and_stop(with_a_state(), random_images(), recipe, file, 1)
    nn.init.zeros_(resumed[0].weight)  # its own weights must not matter
    history = train(resumed, random_images(), recipe, checkpoint=file, progress=False)
    assert without_times(history) == without_times(expected)
    assert os.listdir(file.parent) == [file.name]
    states = (model.state_dict() for model in (whole, resumed))
    for (name, a), b in zip(next(states).items(), next(states).values(), strict=True):
        assert a.equal(b), name


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    file = tmp_path_factory.mktemp("run") / "run.safetensors"
    train(network(), random_images(), SHORT, checkpoint=file, device="cpu", progress=False)
    return file.read_bytes()


@pytest.fixture
def file(content, tmp_path):
    file = tmp_path / "run.safetensors"
    file.write_bytes(content)
    return file


def go_on(file, **options):
    return train(network(), random_images(), SHORT, checkpoint=file, progress=False, **options)


def test_complete_run_is_not_repeated(tmp_path):
    file = tmp_path / "run.safetensors"
    first, second = network(), network(seed=1)
    history = train(first, random_images(), SHORT, seed=5, checkpoint=file, progress=False)
    before, facts = file.stat(), read_facts(file)
    assert facts["recipe"] == asdict(SHORT) | {"milestones": [1]}
    assert (facts["seed"], facts["history"]) == (5, history)
    assert facts["environment"] == devices.environment(devices.choose_device())
    again = train(second, random_images(), SHORT, seed=5, checkpoint=file, progress=False)
    assert again == history
    assert weights(first).equal(weights(second))
    assert not any(part.training for part in second.modules())
    after = file.stat()  # a new file would have a number of its own
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_truncated_checkpoint_is_damaged(file, keep):
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(ValueError, match=rf"checkpoint: {file} is damaged.*delete it"):
        go_on(file)


def test_other_files_are_no_checkpoints(file):
    for write in (
        lambda: file.write_bytes(b"\x80\x04K\x01." * 100),
        lambda: save_file({"x": torch.zeros(2)}, file),
        lambda: save_file({"x": torch.zeros(2)}, file, {"facts": "not JSON"}),
    ):
        write()
        with pytest.raises(ValueError, match=r"checkpoint: .* is damaged"):
            read_facts(file)


def rewrite(file, change) -> None:
    """Change the tensors and facts of a checkpoint."""
    with safe_open(file, "pt") as opened:
        facts = json.loads(opened.metadata()["facts"])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    change(tensors, facts)
    save_file(tensors, file, {"facts": json.dumps(facts)})


def test_weights_that_are_no_numbers_stop_the_next_epoch(file):
    def broken(tensors, facts) -> None:
        tensors["model/0.weight"].view(-1)[3] = np.nan
        facts["history"].pop()

    rewrite(file, broken)
    with pytest.raises(FloatingPointError, match="the training loss is nan in epoch 3"):
        go_on(file)


def test_full_disk_is_an_error_of_the_checkpoint(tmp_path, monkeypatch):
    def full(*_):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(OSError, match=r"checkpoint: .* cannot be written .*No space left"):
        go_on(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_other_recipe_seed_or_network_is_refused(file):
    data = random_images()
    with pytest.raises(ValueError, match=r"was made with .*0\.05.*asks for .*0\.01"):
        train(network(), data, replace(SHORT, learning_rate=0.01), checkpoint=file)
    with pytest.raises(ValueError, match=r"was made with .*'seed': 0.*asks for .*'seed': 1"):
        go_on(file, seed=1)
    with pytest.raises(ValueError, match="is of a different network"):
        train(lenet5(11), data, SHORT, checkpoint=file)


def test_a_setting_that_the_recipe_lost_bars_no_run_that_it_did_not_change(file):
    rewrite(file, lambda _, facts: facts["recipe"].update(label_smoothing=0.0))
    assert len(go_on(file)) == 3
    rewrite(file, lambda _, facts: facts["recipe"].update(label_smoothing=0.1))
    with pytest.raises(ValueError, match=r"was made with .*'label_smoothing': 0\.1"):
        go_on(file)


LONG = replace(SHORT, epochs=8, milestones=(3, 6))
KILLED_RUN = """
import sys, time
from tests.training.test_checkpoints import LONG
from tests.training.small import network, random_images
from calib_utils.training import train

def never_end(model):
    epochs.append(1)
    return {} if len(epochs) < 5 else time.sleep(1000)

epochs = []
train(network(), random_images(), LONG, checkpoint=sys.argv[1], after_epoch=never_end,
      progress=False)
"""


def test_killed_run_ends_like_one_that_was_not(tmp_path):
    """Kill -9 at a moment that nobody chose, then go on to the end."""
    file = tmp_path / "run.safetensors"
    command = [sys.executable, "-c", KILLED_RUN, str(file)]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT)
    kill_when_done(process, file, epochs=2)
    assert len(read_facts(file)["history"]) < LONG.epochs
    file.with_name(f".{file.name}.{process.pid}.part").write_bytes(b"half a file")

    resumed, whole = network(seed=1), network()
    history = train(resumed, random_images(), LONG, checkpoint=file, progress=False)
    expected = train(whole, random_images(), LONG, progress=False)
    assert without_times(history) == without_times(expected)
    assert weights(resumed).equal(weights(whole))


def test_two_processes_may_write_one_checkpoint(tmp_path, monkeypatch):
    """As when a worker outlives its killed parent, and the command is given again."""
    file, model = tmp_path / "run.safetensors", network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    write, pids, others = checkpoints.save_file, iter([1, 2]), iter([True])

    def write_and_be_overtaken(*args):
        write(*args)
        if next(others, None):
            save_checkpoint(file, model, optimizer, {"seed": 2})

    monkeypatch.setattr(checkpoints, "save_file", write_and_be_overtaken)
    monkeypatch.setattr(os, "getpid", lambda: next(pids))
    save_checkpoint(file, model, optimizer, {"seed": 1})
    assert next(others, None) is None
    assert read_facts(file) == {"seed": 1}
    assert list(tmp_path.iterdir()) == [file]
