"""Spread one training run over the processes that torchrun starts, one for each GPU.

Each process computes its share of every batch, and `DistributedDataParallel` averages the
gradients. All of them end with the same weights, statistics and metrics as a single process, up to
the order in which numbers are added. This does not apply to random layers such as dropout, because
each process draws for its own share. A process that was started alone is the first and only one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import distributed, nn

__all__ = ["add_up", "from_first", "process_group", "rank", "replicate", "share", "world_size"]

T = TypeVar("T")


@contextmanager
def process_group() -> Iterator[None]:
    """Join the other processes that torchrun started, if there are any."""
    if not {"RANK", "WORLD_SIZE"} <= os.environ.keys() or distributed.is_initialized():
        yield
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    distributed.init_process_group()
    try:
        yield
    finally:
        distributed.destroy_process_group()


def world_size() -> int:
    """The number of processes that work together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """The number of this process, from 0, which reports and writes the files."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def share(first: int, end: int) -> slice:
    """This process's share of the places ``first`` to ``end`` - 1."""
    bounds = [first + (end - first) * (rank() + side) // world_size() for side in (0, 1)]
    return slice(*bounds)


def add_up(tensor: torch.Tensor) -> torch.Tensor:
    """The sum of the processes' tensors, written into this one's tensor."""
    if world_size() > 1:
        distributed.all_reduce(tensor)
    return tensor


def from_first(value: T) -> T:
    """The value from the process of rank 0."""
    values: list[Any] = [value]
    if world_size() > 1:
        distributed.broadcast_object_list(values)
    return values[0]


def replicate(model: nn.Module) -> nn.Module:
    """``model`` for training in several processes: with equal weights and shared gradients.

    The gradient is the mean of the processes' gradients. Batch normalisation takes its
    statistics from the whole batch, on any device, as in one process.
    """
    if world_size() == 1:
        return model
    for module in model.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = WholeBatchNorm2d  # the same attributes, a different forward
    return nn.parallel.DistributedDataParallel(model)


class WholeBatchNorm2d(nn.BatchNorm2d):
    """`torch.nn.BatchNorm2d` that in training normalises over the shares of all processes.

    `torch.nn.SyncBatchNorm` does the same, but only on GPUs, where few tests can run.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise images (N, C, H, W)."""
        if not self.training or world_size() == 1:
            return super().forward(x)
        assert self.momentum is not None
        assert self.running_mean is not None
        assert self.running_var is not None
        values, axes = x.float(), (0, 2, 3)
        count = add_up(torch.tensor(float(x.numel() // x.shape[1]), device=x.device))
        mean = _sum(values.sum(axes)) / count
        centred = values - mean[:, None, None]
        variance = _sum(centred.square().sum(axes)) / count
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * count / (count - 1), self.momentum)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked += 1
        scale = self.weight * (variance + self.eps).rsqrt()
        return (centred * scale[:, None, None] + self.bias[:, None, None]).to(x.dtype)


def _sum(tensor: torch.Tensor) -> torch.Tensor:
    """The sum over the processes; its gradient is the sum of their gradients."""
    return _Sum.apply(tensor)


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, tensor: torch.Tensor) -> torch.Tensor:
        return add_up(tensor.clone())

    @staticmethod
    def backward(_: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return add_up(gradients[0].clone(memory_format=torch.contiguous_format))
