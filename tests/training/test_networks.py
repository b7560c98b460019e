"""The networks: their sizes, counted by hand, and what they give."""

import pytest
import torch
from torch import nn

from calib_utils.training.networks import (
    NETWORKS,
    build_model,
    cifar_resnet,
    fast_resnet,
    lenet5,
    resnet34,
)


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_lenet5_has_the_layers_of_the_paper_with_three_colours():
    convolutions = (3 * 25 + 1) * 6 + (6 * 25 + 1) * 16
    layers = (16 * 25 + 1) * 120 + (120 + 1) * 84 + (84 + 1) * 100
    assert count(lenet5()) == convolutions + layers


def test_resnet34_is_torchvisions_but_for_its_first_and_last_layers():
    from torchvision import models

    with torch.device("meta"):  # shapes need no numbers
        reference = models.resnet34(weights=None)
        reference.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        reference.fc = nn.Linear(512, 100)
    shapes = {name: x.shape for name, x in resnet34().state_dict().items()}
    assert shapes == {name: x.shape for name, x in reference.state_dict().items()}


def test_the_first_layers_of_resnet34_keep_a_small_image():
    model = resnet34()
    stem = nn.Sequential(model.conv1, model.bn1, model.relu, model.maxpool)
    assert stem(torch.zeros(1, 3, 32, 32)).shape == (1, 64, 32, 32)


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_are_one_logit_per_class(name):
    model = build_model(name, 10).eval()
    assert model(torch.randn(2, 3, 32, 32)).shape == (2, 10)


@pytest.mark.parametrize("options", [{"width": 0}, {"depth": -8}, {"width": 99_999_999}])
def test_sizes_that_no_network_has(options):
    with pytest.raises(ValueError, match=r"^options: .* of cifar_resnet: expected 1 to 100,000"):
        build_model("cifar_resnet", **options)


def test_unknown_network():
    with pytest.raises(ValueError, match=r"name: .*'resnet35'.*lenet5.*resnet34"):
        build_model("resnet35")


def weighted_layers(model: nn.Module) -> int:
    return sum(isinstance(layer, (nn.Conv2d, nn.Linear)) for layer in model.modules())


class TestCifarResnet:
    @pytest.mark.parametrize("depth", [8, 20, 110])
    def test_depth_counts_the_layers_with_weights(self, depth):
        assert weighted_layers(cifar_resnet(depth)) == depth

    def test_size_is_the_papers(self):
        """Table 6 of He et al.: 0.27 million for 20 layers, and 0.85 for 56, with 10 classes."""
        for depth, millions in ((20, 0.27), (56, 0.85)):
            assert round(count(cifar_resnet(depth, n_classes=10)) / 1e6, 2) == millions

    def test_size_counted_by_hand(self):
        first = 9 * 3 * 4 + 2 * 4
        stages = [9 * a * b + 9 * b * b + 4 * b for a, b in ((4, 4), (4, 8), (8, 16))]
        assert count(cifar_resnet(8, width=4, n_classes=10)) == first + sum(stages) + 17 * 10

    def test_images_shrink_to_32_16_and_8_pixels(self):
        model, shapes = cifar_resnet(14, width=4).eval(), []
        for layer in model.children():
            layer.register_forward_hook(lambda _, __, y: shapes.append(tuple(y.shape[1:])))
        model(torch.zeros(1, 3, 32, 32))
        stages = [(4, 32, 32)] * 4 + [(8, 16, 16)] * 2 + [(16, 8, 8)] * 2
        assert shapes == [*stages, (16, 1, 1), (16,), (100,)]

    def test_without_batch_normalisation_there_is_none(self):
        model = cifar_resnet(20, batch_norm=False)
        assert not [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
        assert weighted_layers(model) == 20

    def test_without_batch_normalisation_the_signal_keeps_its_size(self):
        torch.manual_seed(0)
        images = torch.randn(64, 3, 32, 32)
        shallow, deep = (cifar_resnet(depth, batch_norm=False)(images) for depth in (8, 110))
        assert deep.std() < 2 * shallow.std()

    @pytest.mark.parametrize("depth", [2, 7, 10])
    def test_bad_depth(self, depth):
        with pytest.raises(ValueError, match=rf"depth: expected 6n \+ 2.*found {depth}"):
            cifar_resnet(depth)


class TestFastResnet:
    def test_size_counted_by_hand(self):
        # A convolution with its normalisation: from 2 channels to 4, 8 and 16, then blocks.
        pairs = [(3, 2), (2, 4), (4, 4), (4, 4), (4, 8), (8, 8), (8, 8), (8, 16), (16, 16)]
        pairs.append((16, 16))
        layers = sum(9 * a * b + 2 * b for a, b in pairs)
        assert count(fast_resnet(blocks=2, width=4, n_classes=10)) == layers + 17 * 10

    def test_images_are_halved_at_the_start_of_each_stage(self):
        model, shapes = fast_resnet(width=4).eval(), []
        for layer in model.children():
            layer.register_forward_hook(lambda _, __, y: shapes.append(tuple(y.shape[1:])))
        model(torch.zeros(1, 3, 32, 32))
        stages = [(2, 16, 16)] + [(4, 16, 16)] * 3 + [(4, 8, 8)] + [(8, 8, 8)] * 3
        stages += [(8, 4, 4)] + [(16, 4, 4)] * 3
        assert shapes == [(2, 32, 32)] * 2 + [*stages, (16, 1, 1), (16,), (100,)]

    def test_without_batch_normalisation_a_block_starts_as_its_shortcut(self):
        model = fast_resnet(blocks=2, width=4, batch_norm=False)
        assert not [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
        x = torch.rand(2, 4, 16, 16)
        block = model[5]  # the first of the first stage
        assert torch.equal(block(x), x)
        block(x).sum().backward()
        assert block.convolution.weight.grad.abs().sum() > 0  # and it can learn

    @pytest.mark.parametrize(("blocks", "width"), [(0, 48), (1, 1)])
    def test_bad_size(self, blocks, width):
        with pytest.raises(ValueError, match=r"(blocks: expected at least 1|width: .* 2), found"):
            fast_resnet(blocks, width)


class TestBuildModel:
    def test_options_reach_the_network(self):
        built = build_model("cifar_resnet", 10, depth=14, width=4, batch_norm=False)
        wanted = cifar_resnet(14, 4, batch_norm=False, n_classes=10)
        shapes = [{k: v.shape for k, v in m.state_dict().items()} for m in (built, wanted)]
        assert shapes[0] == shapes[1]

    def test_unknown_option(self):
        with pytest.raises(ValueError, match=r"fast_resnet does not take \['depth'\].*'blocks'"):
            build_model("fast_resnet", depth=6)
        with pytest.raises(ValueError, match=r"lenet5 does not take \['depth'\].*'width'"):
            build_model("lenet5", depth=6)
