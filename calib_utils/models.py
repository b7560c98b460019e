"""The networks of the course. Inputs are images (N, 3, 32, 32); outputs are logits (N, K)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

__all__ = ["build_model", "lenet5", "resnet34"]


def resnet34(num_classes: int = 100) -> nn.Module:
    """ResNet-34 as torchvision has it, untrained, with ``num_classes`` outputs.

    Its stem (a 7x7 convolution of stride 2, then max pooling) was made for images of
    224 pixels: a 32-pixel image is down to 8 pixels before the first block. Where it has
    become one or two pixels, the convolutions are computed in a way that is quicker on a CPU.

    Source: He et al. 2016, "Deep Residual Learning for Image Recognition".
    """
    from torchvision.models import resnet34 as torchvision_resnet34

    from calib_utils.small_convolutions import speed_up_small_convolutions

    model = torchvision_resnet34(weights=None, num_classes=num_classes)
    return speed_up_small_convolutions(model)


def lenet5(num_classes: int = 100) -> nn.Module:
    """LeNet-5 for colour images of 32 pixels, with ReLU and max pooling.

    Source: LeCun et al. 1998, "Gradient-Based Learning Applied to Document Recognition";
    the modern activation and pooling are those of most later re-implementations.
    """
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(3, 6, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, num_classes),
    )


_MODELS = {"lenet5": lenet5, "resnet34": resnet34}


def build_model(name: str, num_classes: int = 100) -> nn.Module:
    """Build the untrained network called ``name``.

    Raises:
        ValueError: if there is no network of that name.
    """
    if name not in _MODELS:
        raise ValueError(f"name: there is no network {name!r}; choose one of {sorted(_MODELS)}")
    return _MODELS[name](num_classes)
