"""Training against plain torch and torchvision, and what survives when it is killed."""

import json
import os
import runpy
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from torch import nn

from calib_utils.records import load_record
from calib_utils.records.recipe import DIGITS_RECIPE
from calib_utils.training import (
    Recipe,
    batches,
    checkpoints,
    devices,
    loop,
    predict_logits,
    train,
)
from calib_utils.training import __main__ as train_cli
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.data import ImageSet, load_digits
from calib_utils.training.networks import lenet5
from tests.records.test_records import COMPLETE

# In which another Python imports this file.
PATHS = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(PATHS), "CUDA_VISIBLE_DEVICES": ""}

SHORT = Recipe(epochs=3, batch_size=24, learning_rate=0.05, milestones=(1,))


def random_images(n: int = 64, seed: int = 0) -> ImageSet:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return ImageSet(images, rng.integers(0, 10, n), (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return lenet5(10)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def train_and_stop(model, data, recipe, file, epochs, **options) -> None:
    """Train until Ctrl-C at the end of the epoch after ``epochs``."""
    done: list[nn.Module] = []

    def interrupt(trained: nn.Module) -> dict[str, float]:
        if len(done) == epochs:
            raise KeyboardInterrupt
        done.append(trained)
        return {}

    options |= {"checkpoint": file, "after_epoch": interrupt, "progress": False}
    with pytest.raises(KeyboardInterrupt):
        train(model, data, recipe, **options)
    assert len(read_facts(file)["history"]) == epochs


def kill_when_done(process: subprocess.Popen, checkpoint: Path, epochs: int) -> None:
    """Kill -9 when a checkpoint, which is whole whenever it is read, has so many epochs."""
    try:
        while not checkpoint.exists() or len(read_facts(checkpoint)["history"]) < epochs:
            assert process.poll() is None, "the run ended by itself"
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()


def without_times(history: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{k: v for k, v in entry.items() if k != "seconds"} for entry in history]


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    """Runs are compared bit for bit, which no GPU promises; for those, see ``test_gpu.py``."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def float32(monkeypatch):
    monkeypatch.setattr(loop, "arithmetic", lambda device: torch.float32)


class TestRecipe:
    def test_default_is_the_courses(self):
        assert asdict(Recipe()) == COMPLETE | {"milestones": (10, 20)}

    def test_learning_rate_equals_step_lr(self):
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.1)
        for epoch in range(30):
            assert Recipe().learning_rate_at(epoch) == pytest.approx(scheduler.get_last_lr()[0])
            optimizer.step()
            scheduler.step()

    def test_one_cycle_is_that_of_torch_with_straight_lines_from_zero_to_zero(self):
        recipe = Recipe(epochs=10, learning_rate=0.4, schedule="one-cycle")
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer,
            max_lr=0.4,
            # It ends with its last step; ours with the one that would come next.
            total_steps=51,
            pct_start=11 / 51,
            anneal_strategy="linear",
            cycle_momentum=False,
            div_factor=1e9,
            final_div_factor=1e9,
        )
        for step in range(50):
            rate = recipe.learning_rate_at(step / 5)
            assert rate == pytest.approx(scheduler.get_last_lr()[0], abs=1e-8), step
            optimizer.step()
            scheduler.step()

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("epochs", 0),
            ("batch_size", 0),
            ("learning_rate", 0),
            ("learning_rate", float("nan")),
            ("learning_rate", float("inf")),
            ("milestones", (10, -1)),
            ("milestones", (0, 0)),
            ("momentum", 1),
            ("momentum", -0.1),
            ("weight_decay", -1e-4),
            ("crop_padding", -1),
            ("label_smoothing", 1),
            ("label_smoothing", -0.1),
            ("mixup_alpha", -0.2),
            ("mixup_alpha", float("inf")),
            ("focal_gamma", float("nan")),
            ("focal_gamma", -1),
            ("ema_decay", 1),
            ("warmup_epochs", -1),
            ("optimizer", "adam"),
            ("share", 0),
            ("share", 1.5),
            ("schedule", "cosine"),
        ],
    )
    def test_bad_setting(self, name, value):
        with pytest.raises(ValueError, match=f"{name}: expected .*, found "):
            Recipe(**{name: value})

    def test_the_first_epoch_has_the_full_learning_rate(self):
        for milestones in ((1,), (1, 2), (10, 20), ()):
            late = Recipe(learning_rate=0.1, milestones=milestones, warmup_epochs=1)
            assert late.learning_rate_at(0) == 0.1 * 0.1
            assert late.learning_rate_at(5) == Recipe(milestones=milestones).learning_rate_at(5)
            assert Recipe(learning_rate=0.1, milestones=milestones).learning_rate_at(0) == 0.1
        with pytest.raises(ValueError, match=r"milestones: .* or none: \(\), found \(0, 0\)"):
            Recipe(epochs=1, milestones=(1 // 3, 2 // 3))


class TestBatches:
    def reference(self, data: ImageSet, index: int, top: int, left: int, mirrored: bool):
        """One image the way torchvision prepares it."""
        from torchvision.transforms import functional as TF

        image = torch.from_numpy(data.images[index]).permute(2, 0, 1) / 255
        image = TF.crop(TF.pad(image, [4]), top, left, 32, 32)
        return TF.normalize(TF.hflip(image) if mirrored else image, data.mean, data.std)

    def test_augmented_images_equal_torchvisions(self):
        data = random_images(20)
        made = batches.Batches(data, torch.device("cpu"), padding=4)
        order, draws = batches.epoch_draws(20, Recipe(), seed=0, epoch=0)
        expected = [
            self.reference(data, i, *draws[:, place]) for place, i in enumerate(order.tolist())
        ]
        torch.testing.assert_close(made.augmented(order, draws), torch.stack(expected))

    def test_extreme_crops(self):
        data = random_images(1)
        made = batches.Batches(data, torch.device("cpu"), padding=4)
        for draws in ((0, 0, 0), (8, 8, 1), (0, 8, 1), (4, 4, 0)):
            found = made.augmented(torch.tensor([0]), torch.tensor(draws)[:, None])
            torch.testing.assert_close(found[0], self.reference(data, 0, *draws))

    def test_without_augmentation_equals_torchvisions(self):
        from torchvision.transforms import functional as TF

        data = random_images(3)
        made = batches.Batches(data, torch.device("cpu"))
        images = torch.from_numpy(data.images).permute(0, 3, 1, 2) / 255
        expected = TF.normalize(images, data.mean, data.std)
        torch.testing.assert_close(made.normalised(made.images), expected)

    def test_draws_are_even_and_differ_from_epoch_to_epoch(self):
        n = 50_000
        order, (top, left, mirrored) = batches.epoch_draws(n, Recipe(), seed=0, epoch=0)
        assert order.sort().values.equal(torch.arange(n))
        for crop in (top, left):
            counts = torch.bincount(crop, minlength=9)
            assert len(counts) == 9
            assert (abs(counts - n / 9) < 5 * (n / 9) ** 0.5).all()
        assert abs(mirrored.float().mean() - 0.5) < 0.01
        for seed, epoch in ((0, 1), (1, 0)):
            assert not order.equal(batches.epoch_draws(n, Recipe(), seed, epoch)[0])

    def test_no_crop_and_no_flip(self):
        recipe = Recipe(crop_padding=0, flip=False)
        assert (batches.epoch_draws(100, recipe, seed=0, epoch=0)[1] == 0).all()


class TestTrain:
    def test_learns_the_digits(self):
        digits, validation, _ = load_digits()
        model = network()
        history = train(model, digits, replace(DIGITS_RECIPE, epochs=20), progress=False)
        assert history[-1]["train_loss"] < 0.2 < 2 < history[0]["train_loss"]
        predicted = predict_logits(model, validation).argmax(axis=1)
        assert (predicted == validation.labels).mean() > 0.8

    def test_history(self):
        seen = []

        def after_epoch(model: nn.Module) -> dict[str, float]:
            seen.append(model.training)
            return {"validation_accuracy": len(seen) / 10}

        model = network()
        history = train(model, random_images(), SHORT, after_epoch=after_epoch, progress=False)
        assert seen == [False] * 3
        assert not model.training
        assert [entry["epoch"] for entry in history] == [1, 2, 3]
        assert [entry["learning_rate"] for entry in history] == pytest.approx([0.05, 5e-3, 5e-3])
        assert [entry["validation_accuracy"] for entry in history] == [0.1, 0.2, 0.3]
        for entry in history:
            assert entry["seconds"] > 0
            assert (entry["train_accuracy"] * 64) % 1 == 0

    def test_no_two_epochs_of_any_seeds_draw_the_same(self, monkeypatch):
        """Seed 1 must not begin where seed 0 goes on."""
        seeded, model, sow = [], network(), torch.manual_seed
        monkeypatch.setattr(torch, "manual_seed", lambda seed: seeded.append(seed) or sow(seed))
        for seed in range(3):
            train(model, random_images(), SHORT, seed=seed, progress=False)
        assert len(set(seeded)) == len(seeded) == 3 * SHORT.epochs
        orders = {
            tuple(batches.epoch_draws(50, SHORT, seed, epoch)[0].tolist())
            for seed in range(3)
            for epoch in range(3)
        }
        assert len(orders) == 9

    @pytest.mark.parametrize("after_epoch", [None, lambda model: {}])
    @pytest.mark.parametrize("recipe", [SHORT, replace(SHORT, ema_decay=0.9)])
    def test_network_is_left_as_it_predicts(self, tmp_path, after_epoch, recipe):
        for _ in range(2):  # the second time the run is complete
            model = network()
            given = {"checkpoint": tmp_path / "run.pt", "after_epoch": after_epoch}
            train(model, random_images(), recipe, **given, progress=False)
            assert not any(part.training for part in model.modules())

    @pytest.mark.parametrize("loss", [float("inf"), float("nan")])
    def test_loss_that_is_not_finite(self, monkeypatch, loss):
        monkeypatch.setattr(
            torch.nn.functional, "cross_entropy", lambda logits, labels: 0 * logits.sum() + loss
        )
        message = f"the training loss is {loss} in epoch 1: try a lower learning rate"
        with pytest.raises(FloatingPointError, match=message):
            train(network(), random_images(), SHORT, progress=False)

    def test_progress_bars_show_epoch_loss_accuracy_and_steps(self, capsys):
        train(network(), random_images(), SHORT)
        shown = capsys.readouterr().err
        for part in ("epoch 2 of 3:", "epoch 3 of 3: 100%", "loss=2.", "accuracy="):
            assert part in shown

    def test_is_quiet_when_asked(self, capfd):
        train(network(), random_images(), SHORT, progress=False)
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("seed", [-1, 2**32])
    def test_bad_seed(self, seed):
        with pytest.raises(ValueError, match=f"seed: expected 0 to 4294967295, found {seed}"):
            train(network(), random_images(), SHORT, seed=seed)

    def test_too_few_outputs(self):
        with pytest.raises(ValueError, match=r"model: expected at least 10 outputs.*found 5"):
            train(lenet5(5), random_images(), SHORT, progress=False)


class TestPrecision:
    @pytest.mark.parametrize(
        ("capabilities", "expected"),
        [
            ({"avx512_bf16": True, "amx_bf16": False}, torch.bfloat16),
            ({"avx512_bf16": False, "amx_bf16": True}, torch.bfloat16),
            ({"avx512_bf16": False, "avx2": True}, torch.float32),
            ({"architecture": "arm64"}, torch.float32),
        ],
    )
    def test_bf16_only_in_hardware(self, monkeypatch, capabilities, expected):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
        assert devices.arithmetic(torch.device("cpu")) == expected

    def test_torch_that_cannot_tell(self, monkeypatch):
        monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
        assert devices.arithmetic(torch.device("cpu")) == torch.float32

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
    def test_network_runs_in_it_while_it_trains(self, monkeypatch, dtype):
        monkeypatch.setattr(loop, "arithmetic", lambda device: dtype)
        model, seen = network(), []
        model.register_forward_hook(lambda module, inputs, output: seen.append(output.dtype))
        train(model, random_images(), replace(SHORT, epochs=1), device="cpu", progress=False)
        assert seen == [dtype] * 3
        assert weights(model).dtype == torch.float32

    def test_device_names(self):
        with pytest.raises(ValueError, match="device: expected 'cpu' or 'cuda', found 'meta'"):
            devices.choose_device("meta")
        with pytest.raises(ValueError, match="device: torch finds no CUDA GPU"):
            devices.choose_device("cuda")

    def test_environment_says_what_a_run_depends_on(self):
        made = devices.environment(torch.device("cpu"))
        assert made["versions"].keys() == {"calib_utils", "python", "numpy", "torch", "torchvision"}
        assert f"{torch.get_num_threads()} thread" in made["hardware"]
        assert made["hardware"].endswith(("bfloat16", "float32"))


class TestPredictLogits:
    def test_equals_the_network_on_normalised_images(self):
        from torchvision.transforms import functional as TF

        data, model = random_images(10), network()
        images = torch.from_numpy(data.images).permute(0, 3, 1, 2) / 255
        with torch.no_grad():
            expected = model(TF.normalize(images, data.mean, data.std)).numpy()
        for batch_size in (1, 4, 1000):
            found = predict_logits(model, data, device="cpu", batch_size=batch_size)
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
            assert found.dtype == np.float32

    def test_switches_dropout_off(self):
        model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(3072, 10)).train()
        a, b = (predict_logits(model, random_images(5), device="cpu") for _ in range(2))
        assert (a == b).all()


class TestCheckpoint:
    @pytest.mark.parametrize("stop", [1, 2])
    def test_stopped_run_ends_like_one_that_was_not(self, tmp_path, stop):
        """What only some recipes keep is resumed in ``test_losses.py``."""
        file, whole = tmp_path / "new" / "run.safetensors", network()
        expected = train(whole, random_images(), SHORT, progress=False)
        train_and_stop(network(), random_images(), SHORT, file, stop)
        resumed = network(seed=1)  # its own weights must not matter
        history = train(resumed, random_images(), SHORT, checkpoint=file, progress=False)
        assert weights(resumed).equal(weights(whole))
        assert without_times(history) == without_times(expected)
        assert os.listdir(file.parent) == [file.name]

    def test_batch_statistics_and_dropout_resume_too(self, tmp_path):
        def build() -> nn.Module:
            torch.manual_seed(0)
            return nn.Sequential(
                nn.Conv2d(3, 4, 5, stride=4),
                nn.BatchNorm2d(4),
                nn.Dropout(0.3),
                nn.Flatten(),
                nn.Linear(196, 10),
            )

        whole, resumed = build(), build()
        train(whole, random_images(), SHORT, progress=False)
        file = tmp_path / "run.safetensors"
        train_and_stop(build(), random_images(), SHORT, file, 1)
        train(resumed, random_images(), SHORT, checkpoint=file, progress=False)
        for (name, a), b in zip(
            whole.state_dict().items(), resumed.state_dict().values(), strict=True
        ):
            assert a.equal(b), name

    def test_complete_run_is_not_repeated(self, tmp_path):
        file = tmp_path / "run.safetensors"
        first, second = network(), network(seed=1)
        history = train(first, random_images(), SHORT, checkpoint=file, progress=False)
        before = file.stat()
        assert train(second, random_images(), SHORT, checkpoint=file, progress=False) == history
        assert weights(first).equal(weights(second))
        after = file.stat()  # a new file would have a number of its own
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    def test_facts(self, tmp_path):
        file = tmp_path / "run.safetensors"
        history = train(network(), random_images(), SHORT, seed=5, checkpoint=file, progress=False)
        facts = read_facts(file)
        assert facts["recipe"] == asdict(SHORT) | {"milestones": [1]}
        assert facts["seed"] == 5
        assert facts["history"] == history
        assert facts["environment"] == devices.environment(devices.choose_device())

    @pytest.fixture
    def file(self, tmp_path):
        file = tmp_path / "run.safetensors"
        train(network(), random_images(), SHORT, checkpoint=file, progress=False)
        return file

    @pytest.mark.parametrize("keep", [0, 7, 100, 2000, -1])
    def test_truncated(self, file, keep):
        file.write_bytes(file.read_bytes()[:keep])
        with pytest.raises(ValueError, match=rf"checkpoint: {file} is damaged.*delete it"):
            train(network(), random_images(), SHORT, checkpoint=file, progress=False)

    def test_not_a_checkpoint(self, file):
        from safetensors.torch import save_file

        for write in (
            lambda: file.write_bytes(b"\x80\x04K\x01." * 100),
            lambda: save_file({"x": torch.zeros(2)}, file),
            lambda: save_file({"x": torch.zeros(2)}, file, {"facts": "{}"}),
            lambda: save_file({"x": torch.zeros(2)}, file, {"facts": "not JSON"}),
        ):
            write()
            with pytest.raises(ValueError, match=r"checkpoint: .* is damaged"):
                train(network(), random_images(), SHORT, checkpoint=file, progress=False)

    def test_flipped_bits_never_pass(self, file):
        """One bit anywhere: in the header, the facts, a weight or the momentum."""
        content, rng = file.read_bytes(), np.random.default_rng(0)
        for place in rng.integers(0, 8 * len(content), 60):
            flipped = bytearray(content)
            flipped[place // 8] ^= 1 << (place % 8)
            file.write_bytes(flipped)
            with pytest.raises(ValueError, match=r"checkpoint: .* is (damaged|of another)"):
                train(network(), random_images(), SHORT, checkpoint=file, progress=False)

    def rewrite(self, file, change, checksum=True) -> None:
        """Change the tensors and facts of a checkpoint, with a checksum that fits."""
        from safetensors import safe_open
        from safetensors.torch import save_file

        with safe_open(file, "pt") as opened:
            facts = json.loads(opened.metadata()["facts"])
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        change(tensors, facts)
        text = json.dumps(facts)
        stored = {"facts": text, "sha256": checkpoints._checksum(tensors, text)}
        save_file(tensors, file, stored if checksum else {"facts": text})

    def test_what_is_read_while_another_is_saved_is_of_one_of_them(self, file, tmp_path):
        contents = [file.read_bytes()]
        self.rewrite(file, lambda tensors, facts: tensors["model/0.bias"].add_(1))
        contents.append(file.read_bytes())
        read = threading.Event()

        def save() -> None:
            while not read.is_set():
                for content in contents:
                    (tmp_path / "part").write_bytes(content)
                    os.replace(tmp_path / "part", file)

        saving = threading.Thread(target=save)
        saving.start()
        try:
            for _ in range(1000):
                assert read_facts(file)["recipe"]["epochs"] == SHORT.epochs
        finally:
            read.set()
            saving.join()

    def test_one_of_the_first_version_is_not_read(self, file):
        """It had no checksum: 60 of 60 flipped bits loaded in silence."""
        self.rewrite(file, lambda tensors, facts: None, checksum=False)
        before = file.read_bytes()
        sentence = r"checkpoint: .* has no checksum, .*; delete it to start that run again"
        with pytest.raises(ValueError, match=sentence):
            train(network(), random_images(), SHORT, checkpoint=file, progress=False)
        assert file.read_bytes() == before

    @pytest.mark.parametrize(
        "change",
        [
            lambda x: x.update({"momentum/99": x["momentum/2"] * 1}),
            lambda x: x.update({"momentum/2": x["momentum/2"][1:]}),
            lambda x: x.pop("model/0.bias"),
            lambda x: x.update({"model/9.bias": x["model/0.bias"] * 1}),
            lambda x: x.update({"model/0.bias": x["model/0.bias"].double()}),
        ],
    )
    def test_state_of_a_different_network(self, file, change):
        self.rewrite(file, lambda tensors, facts: change(tensors))
        with pytest.raises(ValueError, match=r"checkpoint: .* is of a different network"):
            train(network(), random_images(), SHORT, checkpoint=file, progress=False)

    def test_weights_that_are_no_numbers_stop_the_next_epoch(self, file):
        def broken(tensors, facts) -> None:
            tensors["model/0.weight"].view(-1)[3] = np.nan
            facts["history"].pop()

        self.rewrite(file, broken)
        with pytest.raises(FloatingPointError, match="the training loss is nan in epoch 3"):
            train(network(), random_images(), SHORT, checkpoint=file, progress=False)

    def test_full_disk(self, tmp_path, monkeypatch):
        def full(*_):
            raise SafetensorError("I/O error: No space left on device (os error 28)")

        monkeypatch.setattr(checkpoints, "save_file", full)
        with pytest.raises(OSError, match=r"checkpoint: .* cannot be written .*No space left"):
            train(network(), random_images(), SHORT, checkpoint=tmp_path / "x", progress=False)
        assert list(tmp_path.iterdir()) == []

    def test_other_recipe_seed_or_network(self, file):
        data = random_images()
        with pytest.raises(ValueError, match=r"was made with .*0\.05.*asks for .*0\.01"):
            train(network(), data, replace(SHORT, learning_rate=0.01), checkpoint=file)
        with pytest.raises(ValueError, match=r"was made with .*'seed': 0.*asks for .*'seed': 1"):
            train(network(), data, SHORT, seed=1, checkpoint=file)
        with pytest.raises(ValueError, match="is of a different network"):
            train(lenet5(11), data, SHORT, checkpoint=file)


LONG = replace(SHORT, epochs=8, milestones=(3, 6))
KILLED_RUN = """
import sys, time
from tests.training.test_loop import LONG, network, random_images
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
    write, pids = checkpoints.save_file, iter([1, 2])
    entry = {"epoch": 1, "learning_rate": 0.1, "train_accuracy": 0.5, "seconds": 2}

    def facts(loss: float) -> dict:
        history = [entry | {"train_loss": loss}]
        return {"recipe": {"epochs": 1}, "seed": 0, "history": history}

    def write_and_be_overtaken(*args):
        write(*args)
        if next(others, None):
            checkpoints.save_checkpoint(file, model, optimizer, facts(2.0))

    others = iter([True])
    monkeypatch.setattr(checkpoints, "save_file", write_and_be_overtaken)
    monkeypatch.setattr(os, "getpid", lambda: next(pids))
    checkpoints.save_checkpoint(file, model, optimizer, facts(1.0))
    assert next(others, None) is None
    assert read_facts(file)["history"][0]["train_loss"] == 1.0
    assert list(tmp_path.iterdir()) == [file]


class TestCommandLine:
    def command(self, folder, **changes: str) -> list[str]:
        options = {
            "model": "lenet5",
            "dataset": "digits",
            "epochs": "2",
            "checkpoint": str(folder / "run.safetensors"),
            "record": "lenet5-digits",
            "folder": str(folder),
        } | changes
        return [x for name, value in options.items() for x in (f"--{name}", value)]

    def test_trains_and_writes_records_then_only_writes_them(self, tmp_path, capsys):
        train_cli.main(self.command(tmp_path))
        assert "test accuracy" in capsys.readouterr().out
        _, validation, test = load_digits()
        first = load_record("lenet5-digits", "test", tmp_path)
        assert first.labels.tolist() == test.labels.tolist()
        assert first.test_accuracy == (first.logits.argmax(axis=1) == test.labels).mean()
        assert first.recipe == asdict(replace(DIGITS_RECIPE, epochs=2)) | {"milestones": [20, 40]}
        assert (first.model, first.epochs, first.seed) == ("lenet5", 2, 0)
        assert first.dataset == "197 training images of scikit-learn's digits"
        assert first.versions["torch"] in torch.__version__
        assert "epoch" not in first.hardware
        history = read_facts(tmp_path / "run.safetensors")["history"]
        assert first.seconds_per_epoch == np.median([entry["seconds"] for entry in history])
        second = load_record("lenet5-digits", "validation", tmp_path)
        assert second.labels.tolist() == validation.labels.tolist()
        assert second.test_accuracy == first.test_accuracy

        for name in ("test", "validation"):
            (tmp_path / f"lenet5-digits.{name}.npz").unlink()
        train_cli.main(self.command(tmp_path))
        again = load_record("lenet5-digits", "test", tmp_path)
        assert again.facts == first.facts  # the time of an epoch too: nothing was trained
        assert (again.logits == first.logits).all()

    def test_weights_come_from_the_seed(self, tmp_path):
        """The course's records: seed, network, then training."""
        train_cli.main(self.command(tmp_path))
        digits, _, test = load_digits()
        model = network(seed=0)
        train(model, digits, replace(DIGITS_RECIPE, epochs=2), seed=0, progress=False)
        stored = load_record("lenet5-digits", "test", tmp_path).logits
        logits = predict_logits(model, test).astype(np.float64)
        expected = logits - logits.max(axis=1, keepdims=True)  # what changes no probability
        assert (stored == expected.astype(np.float16)).all()

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"epochs": "0"}, "error: epochs: expected at least 1, found 0"),
            ({"learning-rate": "-1"}, "error: learning_rate: expected a number above 0, found -1"),
            ({"record": "../x"}, "error: name: expected lower-case letters"),
            ({"device": "meta"}, "error: device: expected 'cpu' or 'cuda'"),
            ({"seed": "-1"}, "error: seed: expected 0 to"),
            ({"model": "alexnet"}, "invalid choice: 'alexnet'"),
            ({"epochs": "many"}, "argument --epochs: invalid int value: 'many'"),
        ],
    )
    def test_bad_value(self, tmp_path, capsys, changes, message):
        with pytest.raises(SystemExit) as stop:
            train_cli.main(self.command(tmp_path, **changes))
        assert stop.value.code in (1, 2)
        assert message in capsys.readouterr().err
        assert not list(tmp_path.iterdir())

    def test_ctrl_c_is_told_in_a_sentence(self, monkeypatch, capsys, tmp_path):
        def stopped(args):
            raise KeyboardInterrupt

        monkeypatch.setattr(train_cli, "_run", stopped)
        with pytest.raises(SystemExit) as ended:
            train_cli.main(self.command(tmp_path))
        assert ended.value.code == 130
        assert capsys.readouterr().err.startswith("\nStopped. The same command continues")

    @pytest.mark.filterwarnings("ignore:.*found in sys.modules")  # as it is imported here
    def test_module_is_the_command(self, monkeypatch, capsys):
        monkeypatch.setattr(sys, "argv", ["-m", "--help"])
        with pytest.raises(SystemExit, match="0"):
            runpy.run_module("calib_utils.training", run_name="__main__", alter_sys=True)
        shown = capsys.readouterr()
        assert "--checkpoint" in shown.out
        assert shown.err == ""


def test_in_a_notebook_without_widgets_nothing_is_said():
    """There tqdm warns as it is first imported, which torchvision does, and that takes long, too.

    With the variable of the notebooks' pipeline, which tqdm reads then, it shows no bars either.
    """
    code = (
        "import sys, types\n"
        "sys.modules['IPython'] = types.SimpleNamespace(get_ipython=object)\n"
        "sys.modules['ipykernel.zmqshell'] = types.ModuleType('zmqshell')\n"
        "import calib_utils.training\n"
        "assert 'torchvision' not in sys.modules\n"
        "from tests.training import test_loop as t\n"
        "t.train(t.network(), t.random_images(), t.SHORT)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd="/",
        env=ENVIRONMENT | {"TQDM_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_learning_rate_moves_with_each_step(monkeypatch):
    seen = []
    step = torch.optim.SGD.step

    def watched(self, *arguments, **named):
        seen.append(self.param_groups[0]["lr"])
        return step(self, *arguments, **named)

    monkeypatch.setattr(torch.optim.SGD, "step", watched)
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (32, 8, 8, 3), dtype=np.uint8)
    data = ImageSet(images, rng.integers(0, 2, 32), (0.5,) * 3, (0.2,) * 3)
    network = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
    recipe = Recipe(epochs=4, batch_size=8, schedule="one-cycle")
    train(network, data, recipe, device="cpu", progress=False)
    assert seen == pytest.approx([recipe.learning_rate_at(k / 4) for k in range(16)])


def test_a_mixed_image_is_right_by_the_share_of_its_class():
    targets = torch.tensor([[0.7, 0.3], [0.4, 0.6]])
    predicted = torch.tensor([0, 3])  # of an output that no class has
    assert loop._right(predicted, targets).item() == pytest.approx(0.7)
