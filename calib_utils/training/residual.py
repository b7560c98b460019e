"""The residual block of the networks for small images."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F


def convolution(
    inputs: int,
    outputs: int,
    stride: int = 1,
    batch_norm: bool = True,
    scale: float = 1.0,
) -> nn.Module:
    """A 3x3 convolution, with batch normalisation or with a bias.

    The weights are drawn so that with ReLUs after them the variance of the input is preserved,
    and then multiplied by ``scale``.

    Source: He et al. 2015, "Delving Deep into Rectifiers".
    """
    conv = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=not batch_norm)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    with torch.no_grad():
        conv.weight.mul_(scale)
    if conv.bias is None:
        return nn.Sequential(conv, nn.BatchNorm2d(outputs))
    nn.init.zeros_(conv.bias)
    return conv


class ResidualBlock(nn.Module):
    """Two convolutions with a shortcut without weights.

    If the number of channels grows, the shortcut takes every second pixel and adds
    channels of zeros ("option A").

    Without batch normalisation the second convolution starts at zero and the first one is
    scaled down, so that a network of ``blocks`` such blocks begins as its shortcuts and no
    step is too large for it: the rule of Fixup, without its extra scalars.

    Source: He et al. 2016, "Deep Residual Learning for Image Recognition", section 4.2;
    Zhang, Dauphin and Ma 2019, "Fixup Initialization".
    """

    def __init__(self, inputs: int, outputs: int, stride: int, batch_norm: bool, blocks: int):
        super().__init__()
        scales = (1.0, 1.0) if batch_norm else (1 / math.sqrt(blocks), 0.0)
        self.first = convolution(inputs, outputs, stride, batch_norm, scales[0])
        self.second = convolution(outputs, outputs, 1, batch_norm, scales[1])
        self.stride, self.new_channels = stride, outputs - inputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (N, C, H, W) to images of as many or twice as many channels."""
        shortcut = x
        if self.stride > 1 or self.new_channels:
            shortcut = x[:, :, :: self.stride, :: self.stride]
            shortcut = F.pad(shortcut, (0, 0, 0, 0, 0, self.new_channels))
        return F.relu(self.second(F.relu(self.first(x))) + shortcut)


class ShortBlock(nn.Module):
    """One convolution with a shortcut, for as many channels as it gets.

    Without batch normalisation it starts as its shortcut: its weights are zero, as in Fixup.
    """

    def __init__(self, channels: int, batch_norm: bool):
        super().__init__()
        self.convolution = convolution(
            channels, channels, batch_norm=batch_norm, scale=1.0 if batch_norm else 0.0
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images (N, C, H, W) to images of the same shape."""
        return F.relu(self.convolution(x) + x)
