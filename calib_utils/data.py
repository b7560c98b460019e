"""CIFAR-100: its images, its statistics, and the split that the course uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "CIFAR100_MEAN",
    "CIFAR100_STD",
    "ImageSet",
    "channel_statistics",
    "load_cifar100",
    "train_validation_split",
]

# What `channel_statistics` gives for the 50,000 training images.
CIFAR100_MEAN = (0.5071, 0.4865, 0.4409)
CIFAR100_STD = (0.2673, 0.2564, 0.2762)


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels and the statistics that normalise them.

    Attributes:
        images: uint8, shape (N, H, W, 3), as they are stored.
        labels: int64, shape (N,), from 0 to K - 1.
        mean: mean of each channel, on a scale of 0 to 1.
        std: standard deviation of each channel, on the same scale.
    """

    images: np.ndarray
    labels: np.ndarray
    mean: tuple[float, float, float] = CIFAR100_MEAN
    std: tuple[float, float, float] = CIFAR100_STD

    def __len__(self) -> int:
        return len(self.labels)

    def subset(self, indices: Any) -> ImageSet:
        """The images and labels at ``indices``, with the same statistics."""
        return ImageSet(self.images[indices], self.labels[indices], self.mean, self.std)


def channel_statistics(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each colour channel, on a scale of 0 to 1.

    Args:
        images: uint8, shape (N, H, W, C).

    Returns:
        Two float64 arrays of shape (C,).

    Raises:
        ValueError: if ``images`` is empty, has another shape, or is not uint8.
    """
    images = np.asarray(images)
    if images.ndim != 4 or images.size == 0:
        raise ValueError(
            f"images: expected a non-empty array of shape (N, H, W, C), found {images.shape}"
        )
    if images.dtype != np.uint8:
        raise ValueError(f"images: expected uint8 pixels from 0 to 255, found {images.dtype}")
    # A byte has 256 values: counting them is exact, and needs no float copy of the images.
    values = np.arange(256) / 255
    pixels = images[..., 0].size
    counts = np.stack(
        [np.bincount(images[..., c].ravel(), minlength=256) for c in range(images.shape[-1])]
    )
    mean = counts @ values / pixels
    variance = (counts * (values - mean[:, None]) ** 2).sum(axis=1) / pixels
    return mean, np.sqrt(variance)


def train_validation_split(
    n: int = 50_000, n_validation: int = 5_000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Split the indices 0 to n - 1 at random into training and validation.

    Recalibrators are fitted on the validation part, which no network was trained on.

    Returns:
        The sorted training indices and the sorted validation indices.

    Raises:
        ValueError: unless 0 < n_validation < n.
    """
    if not 0 < n_validation < n:
        raise ValueError(f"n_validation: expected 1 to {n - 1}, found {n_validation}")
    # RandomState's stream is frozen, so the split stays the same in later versions of NumPy.
    order = np.random.RandomState(seed).permutation(n)
    return np.sort(order[n_validation:]), np.sort(order[:n_validation])


def load_cifar100(split: str) -> ImageSet:
    """CIFAR-100, downloaded on first use unless ``$CALIB_DATA_DIR`` holds it.

    Args:
        split: "train" (50,000 images) or "test" (10,000 images).

    Raises:
        ValueError: if there is no split of that name.
    """
    import os

    from torchvision.datasets import CIFAR100

    if split not in ("train", "test"):
        raise ValueError(f"split: expected 'train' or 'test', found {split!r}")
    root = Path(os.environ["CALIB_DATA_DIR"])
    dataset = CIFAR100(str(root), train=split == "train", download=False)
    return ImageSet(dataset.data, np.asarray(dataset.targets, dtype=np.int64))
