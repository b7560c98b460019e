"""Crops, flips and normalised images, against torchvision."""

import pytest
import torch
from torchvision.transforms import functional as TF

from calib_utils.training import Recipe
from calib_utils.training.batches import Batches, epoch_draws
from calib_utils.training.data import ImageSet
from tests.training.small import random_images

CPU = torch.device("cpu")


def reference(data: ImageSet, index: int, top: int, left: int, mirrored: bool) -> torch.Tensor:
    """One image the way torchvision prepares it."""
    image = torch.from_numpy(data.images[index]).permute(2, 0, 1) / 255
    image = TF.crop(TF.pad(image, [4]), top, left, 32, 32)
    return TF.normalize(TF.hflip(image) if mirrored else image, data.mean, data.std)


def test_augmented_images_equal_torchvisions():
    data = random_images(20)
    order, draws = epoch_draws(20, Recipe(), seed=0, epoch=0)
    expected = [reference(data, i, *draws[:, place]) for place, i in enumerate(order.tolist())]
    made = Batches(data, CPU, padding=4)
    torch.testing.assert_close(made.augmented(order, draws), torch.stack(expected))


@pytest.mark.parametrize("draws", [(0, 0, 0), (8, 8, 1), (0, 8, 1), (4, 4, 0)])
def test_augmented_reaches_every_edge(draws):
    data = random_images(1)
    found = Batches(data, CPU, padding=4).augmented(torch.tensor([0]), torch.tensor(draws)[:, None])
    torch.testing.assert_close(found[0], reference(data, 0, *draws))


def test_epoch_draws_are_even_and_differ_from_epoch_to_epoch():
    n = 50_000
    order, (top, left, mirrored) = epoch_draws(n, Recipe(), seed=0, epoch=0)
    assert order.sort().values.equal(torch.arange(n))
    for crop in (top, left):
        counts = torch.bincount(crop, minlength=9)
        assert len(counts) == 9
        assert (abs(counts - n / 9) < 5 * (n / 9) ** 0.5).all()
    assert abs(mirrored.float().mean() - 0.5) < 0.01
    orders = {
        tuple(epoch_draws(50, Recipe(), s, e)[0].tolist()) for s in range(3) for e in range(3)
    }
    assert len(orders) == 9  # seed 1 does not begin where seed 0 goes on


def test_epoch_draws_without_crop_and_flip():
    recipe = Recipe(crop_padding=0, flip=False)
    assert (epoch_draws(100, recipe, seed=0, epoch=0)[1] == 0).all()
