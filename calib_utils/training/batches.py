"""Images on the device, and the crops and flips that an epoch makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch.nn import functional as F

from calib_utils.records.recipe import Recipe
from calib_utils.training.data import ImageSet


class Batches:
    """An image set on the device, ready to be cut into normalised batches."""

    def __init__(self, data: ImageSet, device: torch.device, padding: int = 0):
        images = torch.from_numpy(np.ascontiguousarray(data.images))
        self.height, self.width = images.shape[1:3]
        if padding:
            images = F.pad(images, (0, 0, padding, padding, padding, padding))
        self.images = images.to(device)
        self.labels = torch.from_numpy(data.labels).to(device)
        self.n_classes = int(data.labels.max()) + 1
        self.mean = 255 * torch.tensor(data.mean, device=device)
        self.std = 255 * torch.tensor(data.std, device=device)
        self.rows = torch.arange(self.height, device=device)[:, None]
        self.columns = torch.arange(self.width, device=device)

    def normalised(self, pixels: torch.Tensor) -> torch.Tensor:
        """uint8 (n, H, W, 3) to float32 (n, 3, H, W), which is channels-last in memory."""
        return ((pixels - self.mean) / self.std).permute(0, 3, 1, 2)

    def augmented(self, index: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
        """The images at ``index``, cropped and mirrored; ``draws`` has top, left, mirrored."""
        top, left, mirrored = draws[:, :, None, None]
        columns = torch.where(mirrored.bool(), self.width - 1 - self.columns, self.columns)
        return self.normalised(self.images[index[:, None, None], top + self.rows, left + columns])

    def inputs(self, batch_size: int) -> Iterator[torch.Tensor]:
        """All images in batches, in their order and without augmentation."""
        return map(self.normalised, self.images.split(batch_size))


def epoch_draws(n: int, recipe: Recipe, seed: int, epoch: int) -> tuple[torch.Tensor, ...]:
    """The order of the images in an epoch, and the crop and flip of each place in it."""
    generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
    order = torch.randperm(n, generator=generator)
    places = 2 * recipe.crop_padding + 1
    crops = torch.randint(places, (2, n), generator=generator)
    flips = torch.randint(2, (1, n), generator=generator) * recipe.flip
    return order, torch.cat([crops, flips])
