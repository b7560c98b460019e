"""What only a GPU reaches, with a stand-in for one.

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

from calib_utils.recalibration import CalibratedModule, TemperatureScaling, VectorScaling
from calib_utils.training import (
    choose_device,
    devices,
    environment,
    loop,
    train,
)
from tests.training.small import SHORT, network, random_images

CUDA = torch.device("cuda", 0)


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
