"""Grids of networks that are trained in a second, and the records of two of them."""

from pathlib import Path

import pytest
import torch

from calib_utils.experiments import plan_grid
from calib_utils.experiments.runner import run_grid
from tests.experiments.tiny import TINY
from tests.training.conftest import one_thread

__all__ = ["one_thread"]  # the fixture


@pytest.fixture(scope="package", autouse=True)
def no_gpu():
    """A GPU adds in an order of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "")  # for other processes
        patch.setattr(torch.cuda, "is_available", lambda: False)
        patch.setattr(torch.cuda, "device_count", lambda: 0)
        yield


@pytest.fixture(scope="package")
def tiny(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("grids") / "tiny.toml"
    file.write_text(TINY)
    return file


@pytest.fixture(scope="package")
def expected(tiny, tmp_path_factory) -> Path:
    """The records of the tiny grids, made one after the other without a stop."""
    folder = tmp_path_factory.mktemp("expected")
    for grid in ("weight-decay", "nll"):
        assert run_grid(plan_grid(grid, "cpu", tiny), folder, folder, progress=False) == {}
    return folder
