"""The networks of the course: from images (N, 3, 32, 32) to logits (N, K)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import nn

from calib_utils.training.residual import ResidualBlock, ShortBlock, convolution


def resnet34(n_classes: int = 100) -> nn.Module:
    """The ResNet-34 of torchvision, untrained, with first layers for images of 32 pixels.

    Those of torchvision were made for images of 224 pixels: a 7 by 7 convolution of stride 2 and
    max pooling leave 8 by 8 pixels of a small image before the first block. Here a 3 by 3
    convolution of stride 1 takes their place, as in the networks for CIFAR of He et al.

    Args:
        n_classes: number of outputs.

    Source: He et al. 2016, "Deep Residual Learning for Image Recognition", table 1 and section 4.2.

    Example:
        >>> model = resnet34(n_classes=10)
        >>> sum(weights.numel() for weights in model.parameters())
        21282122
    """
    from torchvision.models import resnet34  # takes longer to import than PyTorch

    model = resnet34(weights=None, num_classes=n_classes)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    model.maxpool = nn.Identity()
    return model


def lenet5(n_classes: int = 100, width: int = 1) -> nn.Module:
    """LeNet-5 for colour images of 32 pixels, with ReLU and max pooling.

    Args:
        n_classes: number of outputs.
        width: how many times as many channels and units each layer has; 1 in the original.

    Source: LeCun et al. 1998, "Gradient-Based Learning Applied to Document Recognition";
    the modern activation and pooling are those of most later re-implementations.

    Example:
        >>> model = lenet5(n_classes=10)
        >>> sum(weights.numel() for weights in model.parameters())
        62006
    """
    return nn.Sequential(
        nn.Conv2d(3, 6 * width, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6 * width, 16 * width, kernel_size=5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * width * 5 * 5, 120 * width),
        nn.ReLU(),
        nn.Linear(120 * width, 84 * width),
        nn.ReLU(),
        nn.Linear(84 * width, n_classes),
    )


def cifar_resnet(
    depth: int = 20, width: int = 16, batch_norm: bool = True, n_classes: int = 100
) -> nn.Module:
    """A residual network for images of 32 pixels, whose depth and width can be chosen.

    One convolution, then three stages of residual blocks at 32, 16 and 8 pixels, the mean of
    the pixels, and a linear layer. The shortcuts have no weights; channels that they add are zeros.
    A network without batch normalisation starts as its shortcuts (Fixup).

    Args:
        depth: layers with weights: 6n + 2 for n blocks in a stage, such as 8, 14, 20.
        width: channels in the first stage; the later ones have twice and four times as many.
        batch_norm: whether each convolution is followed by batch normalisation.
        n_classes: number of outputs.

    Raises:
        ValueError: if there is no such depth.

    Source: He et al. 2016, "Deep Residual Learning for Image Recognition", section 4.2.

    Example:
        >>> model = cifar_resnet(depth=8, width=4, n_classes=10)
        >>> sum(weights.numel() for weights in model.parameters())
        5006
    """
    if depth < 8 or (depth - 2) % 6:
        raise ValueError(f"depth: expected 6n + 2, such as 8, 14 or 20, found {depth}")
    n = (depth - 2) // 6
    layers = [convolution(3, width, batch_norm=batch_norm), nn.ReLU()]
    inputs = width
    for stage in range(3):
        for block in range(n):
            outputs, stride = width * 2**stage, 2 if stage and not block else 1
            layers.append(ResidualBlock(inputs, outputs, stride, batch_norm, blocks=3 * n))
            inputs = outputs
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, *pool, nn.Linear(inputs, n_classes))


def fast_resnet(
    blocks: int = 1, width: int = 48, batch_norm: bool = True, n_classes: int = 100
) -> nn.Module:
    """A residual network that learns 32-pixel images in minutes on one core of a CPU.

    One convolution, then three stages. Each begins by halving the image with max pooling, and with
    a convolution that changes the number of channels; blocks of one convolution and a shortcut
    follow.

    Args:
        blocks: residual blocks in each stage, at least 1.
        width: channels in the first stage; the later ones have twice and four times as many, and
            the first convolution has half.
        batch_norm: whether each convolution is followed by batch normalisation. Without it the
            blocks start as their shortcuts (Zhang, Dauphin and Ma 2019, "Fixup Initialization").
        n_classes: number of outputs.

    Raises:
        ValueError: if there are no such blocks or width.

    Source: of the idea, Page 2018, "How to Train Your ResNet", part 4; the sizes are ours.

    Example:
        >>> model = fast_resnet(n_classes=10)
        >>> sum(weights.numel() for weights in model.parameters())
        657154
    """
    for name, value, least in (("blocks", blocks, 1), ("width", width, 2)):
        if value < least:
            raise ValueError(f"{name}: expected at least {least}, found {value}")
    inputs = width // 2
    layers = [convolution(3, inputs, batch_norm=batch_norm), nn.ReLU()]
    for stage in range(3):
        outputs = width * 2**stage
        layers += [nn.MaxPool2d(2), convolution(inputs, outputs, batch_norm=batch_norm), nn.ReLU()]
        layers += [ShortBlock(outputs, batch_norm) for _ in range(blocks)]
        inputs = outputs
    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, *pool, nn.Linear(inputs, n_classes))


_MODELS: dict[str, Callable[..., nn.Module]] = {
    "cifar_resnet": cifar_resnet,
    "fast_resnet": fast_resnet,
    "lenet5": lenet5,
    "resnet34": resnet34,
}
NETWORKS = tuple(_MODELS)
_MOST = 100_000  # of any option, such as a width; layers of more have billions of weights


def build_model(name: str, n_classes: int = 100, **options: Any) -> nn.Module:
    """Build the untrained network called ``name``.

    Args:
        name: of a function of this module.
        n_classes: number of outputs.
        options: further arguments of that function, such as ``depth=14``.

    Raises:
        ValueError: if there is no network of that name, or it has no such option, or an option has
            the wrong type, or is below 1 or above 100,000.

    Example:
        >>> import torch
        >>> model = build_model("cifar_resnet", n_classes=10, depth=8)
        >>> model(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """
    check_options(name, **options)
    return _MODELS[name](n_classes=n_classes, **options)


def check_options(name: str, **options: Any) -> None:
    """Raise the ValueError of `build_model` if it could not build that network."""
    if name not in _MODELS:
        raise ValueError(f"name: there is no network {name!r}; choose one of {sorted(_MODELS)}")
    parameters = inspect.signature(_MODELS[name]).parameters
    known = {option: x.default for option, x in parameters.items() if option != "n_classes"}
    if unknown := options.keys() - known.keys():
        raise ValueError(
            f"options: {name} does not take {sorted(unknown)}; it takes {sorted(known) or 'none'}"
        )
    for option, value in options.items():
        if type(value) is not type(known[option]):
            raise ValueError(
                f"options: {option} of {name}: expected a value like {known[option]!r}, "
                f"found {value!r}"
            )
        if not isinstance(value, bool) and not 1 <= value <= _MOST:
            raise ValueError(
                f"options: {option} of {name}: expected 1 to {_MOST:,}, found {value:,}; a network "
                "of that size cannot be built"
            )
