"""Every training here runs on one thread, and in all files but `test_gpu` without a GPU."""

import pytest
import torch


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """As many as all runs have that are compared bit for bit; and tests share their cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def no_gpu(request, monkeypatch):
    """Runs are compared bit for bit, which no GPU promises."""
    if request.path.name != "test_gpu.py":
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
