"""The networks: their sizes, counted by hand, and what they give."""

import pytest
import torch
from torch import nn

from calib_utils.models import build_model, lenet5, resnet34


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
