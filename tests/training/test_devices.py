"""The device and its arithmetic; of a GPU, see `test_gpu`."""

import pytest
import torch

from calib_utils.training.devices import arithmetic, choose_device, environment

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"avx512_bf16": True, "amx_bf16": False}, torch.bfloat16),
        ({"avx512_bf16": False, "amx_bf16": True}, torch.bfloat16),
        ({"avx512_bf16": False, "avx2": True}, torch.float32),
        ({"architecture": "arm64"}, torch.float32),
    ],
)
def test_arithmetic_is_bf16_only_in_hardware(monkeypatch, capabilities, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert arithmetic(CPU) == expected


def test_arithmetic_is_float32_where_torch_cannot_tell(monkeypatch):
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert arithmetic(CPU) == torch.float32


def test_choose_device_says_what_there_is():
    with pytest.raises(ValueError, match="device: expected 'cpu' or 'cuda', found 'meta'"):
        choose_device("meta")
    with pytest.raises(ValueError, match="device: torch finds no CUDA GPU"):
        choose_device("cuda")


def test_environment_says_what_a_run_depends_on():
    made = environment(CPU)
    assert made["versions"].keys() == {"calib_utils", "python", "numpy", "torch", "torchvision"}
    assert f"{torch.get_num_threads()} thread" in made["hardware"]
    assert made["hardware"].endswith(("bfloat16", "float32"))
