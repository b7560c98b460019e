"""A convolution that is fast on the CPU for images of one or two pixels.

ResNet-34 with torchvision's stem shrinks an image of 32 pixels to 2 and then to 1. Most of
the nine taps of a 3x3 kernel then see only padding, but a library for convolutions still
spends more than half of the training time there.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

__all__ = ["Conv3x3", "speed_up_small_convolutions"]


class Conv3x3(nn.Conv2d):
    """`torch.nn.Conv2d` with a 3x3 kernel and a padding of 1, as a matrix product if small.

    Weights, state dict and, up to rounding, results are those of `torch.nn.Conv2d`.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Convolve images (N, C, H, W)."""
        n, channels, height, width = x.shape
        if x.device.type != "cpu" or max(height, width) > 2:
            return super().forward(x)
        weight, stride = self.weight, self.stride[0]
        if torch.is_autocast_enabled("cpu"):
            dtype = torch.get_autocast_dtype("cpu")
            x, weight = x.to(dtype), weight.to(dtype)
        out_height, out_width = (height - 1) // stride + 1, (width - 1) // stride + 1
        # The tap from each pixel of the input to each pixel of the output.
        taps = [
            3 * (a - i * stride + 1) + (b - j * stride + 1)
            for i in range(out_height)
            for j in range(out_width)
            for a in range(height)
            for b in range(width)
        ]
        matrix = weight.permute(2, 3, 0, 1).flatten(0, 1)[taps]
        matrix = matrix.unflatten(0, (out_height * out_width, height * width)).transpose(1, 2)
        pixels = x.permute(0, 2, 3, 1).reshape(n, -1)
        out = F.linear(pixels, matrix.reshape(-1, height * width * channels))
        return out.reshape(n, out_height, out_width, self.out_channels).permute(0, 3, 1, 2)


def speed_up_small_convolutions(model: nn.Module) -> nn.Module:
    """Turn the 3x3 convolutions of ``model`` into `Conv3x3`, with the same weights."""
    for module in model.modules():
        if (
            type(module) is nn.Conv2d
            and module.kernel_size == (3, 3)
            and module.padding == (1, 1)
            and module.dilation == (1, 1)
            and module.groups == 1
            and module.bias is None
        ):
            module.__class__ = Conv3x3  # the same attributes, a different forward
    return model
