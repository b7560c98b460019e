"""The networks: their sizes, counted by hand, and what they give."""

import copy

import pytest
import torch
from torch import nn

from calib_utils.models import build_model, lenet5, resnet34
from calib_utils.small_convolutions import Conv3x3, speed_up_small_convolutions


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_lenet5_has_the_layers_of_the_paper_with_three_colours():
    convolutions = (3 * 25 + 1) * 6 + (6 * 25 + 1) * 16
    layers = (16 * 25 + 1) * 120 + (120 + 1) * 84 + (84 + 1) * 100
    assert count(lenet5()) == convolutions + layers


def test_resnet34_is_torchvisions_with_another_last_layer():
    from torchvision import models

    reference = models.resnet34(weights=None)
    reference.fc = nn.Linear(512, 100)
    shapes = {name: x.shape for name, x in resnet34().state_dict().items()}
    assert shapes == {name: x.shape for name, x in reference.state_dict().items()}
    # The paper's 21.8 million weights are for 1,000 classes.
    assert count(resnet34(1000)) == 21_797_672


def test_resnet34_throws_most_of_a_small_image_away_in_its_stem():
    model = resnet34()
    stem = nn.Sequential(model.conv1, model.bn1, model.relu, model.maxpool)
    assert stem(torch.zeros(1, 3, 32, 32)).shape == (1, 64, 8, 8)


@pytest.mark.parametrize("name", ["lenet5", "resnet34"])
@pytest.mark.parametrize("num_classes", [10, 100])
def test_outputs_are_one_logit_per_class(name, num_classes):
    model = build_model(name, num_classes).eval()
    assert model(torch.randn(2, 3, 32, 32)).shape == (2, num_classes)


def test_weights_come_from_the_seed():
    def weights(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.cat([p.flatten() for p in build_model("lenet5").parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_unknown_network():
    with pytest.raises(ValueError, match=r"name: .*'resnet35'.*lenet5.*resnet34"):
        build_model("resnet35")


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 2), (2, 1), (3, 3)])
def test_small_convolutions_give_what_torch_gives(shape, stride):
    torch.manual_seed(0)
    reference = nn.Conv2d(5, 7, 3, stride, padding=1, bias=False).double()
    quick = speed_up_small_convolutions(copy.deepcopy(reference))
    assert type(quick) is Conv3x3
    inputs = [torch.randn(4, 5, *shape, dtype=torch.double, requires_grad=True)]
    inputs.append(inputs[0].detach().clone().requires_grad_())
    outputs = [layer(x) for layer, x in zip((reference, quick), inputs, strict=True)]
    torch.testing.assert_close(*outputs)
    for y in outputs:
        y.square().sum().backward()
    torch.testing.assert_close(*(x.grad for x in inputs))
    torch.testing.assert_close(reference.weight.grad, quick.weight.grad)


def test_resnet34_computes_what_torchvisions_does():
    from torchvision import models

    model = resnet34(num_classes=10).eval()
    reference = models.resnet34(weights=None, num_classes=10).eval()
    reference.load_state_dict(model.state_dict())
    images = torch.randn(3, 3, 32, 32)
    torch.testing.assert_close(model(images), reference(images), rtol=1e-4, atol=1e-5)


def test_other_convolutions_stay_as_they_are():
    others = [
        nn.Conv2d(4, 4, 5, padding=2, bias=False),
        nn.Conv2d(4, 4, 3, padding=1),
        nn.Conv2d(4, 4, 3, bias=False),
        nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False),
    ]
    model = speed_up_small_convolutions(nn.Sequential(*others))
    assert {type(layer) for layer in model} == {nn.Conv2d}
