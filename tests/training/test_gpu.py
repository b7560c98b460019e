"""What only a GPU reaches: on one where there is one, and with a stand-in where there is none.

The stand-in gives each tensor a shape, a type and a place on a GPU, but no numbers. It finds a
tensor that was left on the CPU, a type that does not fit and a call with wrong arguments. It
cannot find a wrong number, nor what CUDA and cuDNN do.
"""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from packaging.version import Version
from torch._subclasses.fake_tensor import FakeTensorMode

from calib_utils.experiments import one_run, plan_grid, runner
from calib_utils.recalibration import CalibratedModule, TemperatureScaling, VectorScaling
from calib_utils.records.recipe import DIGITS_RECIPE
from calib_utils.training import (
    choose_device,
    devices,
    environment,
    load_digits,
    loop,
    predict_logits,
    train,
)
from tests.training.small import SHORT, network, random_images, train_and_stop

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
CUDA = torch.device("cuda", 0)
GRID = """
seeds = [0, 1]
[protocols.cpu]
dataset = "digits"
training_images = 150
recipe = { epochs = 2, milestones = [1], batch_size = 32, learning_rate = 0.01 }
[grids.tiny]
network = { name = "lenet5" }
test_every_epoch = true
"""


class TestStandIn:
    @pytest.fixture
    def found(self, monkeypatch):
        """A GPU that says what it is, as PyTorch would."""
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"A card ({device})")
        support = SimpleNamespace(bf16=True)

        def supported(including_emulation: bool = True) -> bool:
            return including_emulation or support.bf16

        monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
        return support

    def test_is_taken_unless_the_cpu_is_named(self, found):
        assert choose_device().type == "cuda"
        assert choose_device("cuda:1") == torch.device("cuda", 1)
        assert choose_device("cpu").type == "cpu"

    def test_multiplies_in_bf16_where_it_has_that_in_hardware(self, found):
        assert devices.arithmetic(CUDA) == torch.bfloat16
        found.bf16 = False  # an older card, which PyTorch would emulate it on, slowly
        assert devices.arithmetic(CUDA) == torch.float32

    def test_is_named_in_the_records(self, found):
        assert environment(CUDA)["hardware"] == "A card (cuda:0), bfloat16"

    def test_runs_take_turns_with_the_gpus(self, found, monkeypatch, tmp_path):
        file, taken = tmp_path / "grids.toml", []
        file.write_text(GRID)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        monkeypatch.setattr(torch.cuda, "set_device", taken.append)
        monkeypatch.setattr(runner, "run_experiment", lambda *_, **__: None)
        runs = plan_grid("tiny", "cpu", file)
        runner.run_grid(runs, tmp_path, tmp_path, progress=False)
        assert taken == [0, 1]
        runner.run_grid(runs, tmp_path, tmp_path, device="cpu", progress=False)
        assert taken == [0, 1]

    @pytest.mark.skipif(
        Version(torch.__version__) < Version("2.9"),
        reason="this PyTorch asks for a driver when a stand-in draws numbers",
    )
    def test_training_keeps_everything_on_it(self, monkeypatch):
        """Forward and the step; what autograd does on a GPU needs one."""
        seen = SimpleNamespace(casts=[], outputs=[], sums=[], losses=[], optimizers=[])

        def autocast(*arguments, **options):
            seen.casts.append((*arguments, options))
            return nullcontext()

        def sgd(parameters, **options):
            seen.optimizers.append(options.pop("fused"))  # it has no stand-in
            return plain(parameters, foreach=False, **options)

        def total(tensor):
            seen.sums.append(tensor.device)
            return 0.0

        def backward(loss):
            seen.losses.append((loss.device, loss.dtype, loss.shape))
            for parameter in model.parameters():
                parameter.grad = torch.empty_like(parameter)

        plain = torch.optim.SGD
        monkeypatch.setattr(torch, "autocast", autocast)
        monkeypatch.setattr(torch.optim, "SGD", sgd)
        monkeypatch.setattr(torch.Tensor, "backward", backward)
        monkeypatch.setattr(torch.Tensor, "item", total)
        monkeypatch.setattr(loop, "arithmetic", lambda device: torch.bfloat16)
        monkeypatch.setattr(loop, "_place", lambda model, device: CUDA)
        with FakeTensorMode():
            with CUDA:
                model = network()
            model.register_forward_hook(lambda _, x, y: seen.outputs.append((x[0].device, y.shape)))
            train(model, random_images(), SHORT, progress=False)
            assert {p.device for p in model.parameters()} == {CUDA}
        sizes = [24, 24, 16] * 3
        assert seen.casts == [("cuda", torch.bfloat16, {"enabled": True})] * 9
        assert seen.outputs == [(CUDA, (n, 10)) for n in sizes]
        assert seen.losses == [(CUDA, torch.float32, ())] * 9
        assert seen.sums == [CUDA] * 6
        assert seen.optimizers == [True]

    @pytest.mark.parametrize("recalibrator", [TemperatureScaling(2.0), VectorScaling()])
    def test_a_calibrated_module_moves_with_its_network(self, recalibrator):
        rng = np.random.default_rng(0)
        if isinstance(recalibrator, VectorScaling):
            recalibrator.fit(rng.normal(size=(60, 3)), rng.integers(0, 3, 60))
        module = CalibratedModule(torch.nn.Identity(), recalibrator)
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            for name, tensor in module.named_buffers():
                module._buffers[name] = mode.from_tensor(tensor).to(CUDA)
            for kind in (torch.float32, torch.bfloat16):
                probs = module.predict_proba(torch.zeros(5, 3, dtype=kind, device=CUDA))
                assert (probs.device, probs.dtype, probs.shape) == (CUDA, kind, (5, 3))


@on_a_gpu
class TestGpu:
    """Never run so far by those who wrote it: they had no GPU."""

    def test_learns_the_digits(self):
        digits, validation, _ = load_digits()
        model = network()
        history = train(model, digits, DIGITS_RECIPE, device="cuda", progress=False)
        assert history[-1]["train_loss"] < 0.2
        predicted = predict_logits(model, validation, device="cuda").argmax(axis=1)
        assert (predicted == validation.labels).mean() > 0.8

    def test_stopped_run_ends_near_one_that_was_not(self, tmp_path, monkeypatch):
        """Near, not at: a GPU adds in an order of its own each time."""
        monkeypatch.setattr(loop, "arithmetic", lambda device: torch.float32)

        file, data = tmp_path / "run.safetensors", random_images()
        whole, resumed = network(), network(seed=1)
        expected = train(whole, data, SHORT, device="cuda", progress=False)
        train_and_stop(network(), data, SHORT, file, 1, device="cuda")
        history = train(resumed, data, SHORT, device="cuda", checkpoint=file, progress=False)
        losses = [[entry["train_loss"] for entry in each] for each in (history, expected)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-3)
        a, b = (predict_logits(model, data, device="cuda") for model in (resumed, whole))
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-2)

    def test_logits_are_those_of_the_cpu(self):
        model, data = network(), random_images(50)
        expected = predict_logits(model, data, device="cpu")
        found = predict_logits(model, data, device="cuda")
        # Convolutions may be in TF32, which has ten bits.
        np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)

    def test_record_of_a_run(self, tmp_path):
        file = tmp_path / "grids.toml"
        file.write_text(GRID)
        run = plan_grid("tiny", "cpu", file)[0]
        one_run.run_experiment(run, tmp_path, tmp_path, device="cuda", progress=False)
        record = one_run.load_experiment("tiny", "cpu", run.name, tmp_path)
        assert record.hardware.startswith(torch.cuda.get_device_name())
        # Two forward passes over the same images may differ in the last digits.
        assert record.history[-1]["test_nll"] == pytest.approx(record.nll, rel=1e-3)
        assert record.history[-1]["test_error"] == pytest.approx(record.error, abs=0.01)
