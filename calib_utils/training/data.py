"""The data of the course: CIFAR-100, its statistics and its split, and small digits."""

from __future__ import annotations

import os
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_dir

from calib_utils.training.downloads import download

# What `channel_statistics` gives for the 50,000 training images.
CIFAR100_MEAN = (0.5071, 0.4865, 0.4409)
CIFAR100_STD = (0.2673, 0.2564, 0.2762)

# Copies of one archive with a known checksum. The original, last, has been slow since 2026.
_MIRRORS = (
    "https://huggingface.co/datasets/cnak47/cv-datasets/resolve/"
    "6931f66584bf3a507711a644f6803fa5f419faf1/cifar-100-python.tar.gz",
    "https://huggingface.co/datasets/nakroy/cifar100-python/resolve/"
    "201a32345d2c6b970e1a36c582930c83e09c96d2/cifar-100-python.tar.gz",
    "https://dataset.bj.bcebos.com/cifar/cifar-100-python.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
)
_SHA256 = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"


@dataclass(frozen=True)
class ImageSet:
    """Images with their labels and the statistics that normalise them.

    Attributes:
        images: uint8, shape (N, H, W, 3), as they are stored.
        labels: int64, shape (N,), from 0 to K - 1.
        mean: mean of each channel, on a scale of 0 to 1.
        std: standard deviation of each channel, on the same scale.

    Example:
        >>> import numpy as np
        >>> images = np.zeros((4, 32, 32, 3), np.uint8)
        >>> data = ImageSet(images, np.array([0, 1, 0, 1], np.int64))
        >>> len(data), len(data.subset([0, 1, 2]))
        (4, 3)
    """

    images: np.ndarray
    labels: np.ndarray
    mean: tuple[float, float, float] = CIFAR100_MEAN
    std: tuple[float, float, float] = CIFAR100_STD

    def __post_init__(self) -> None:
        images, labels = self.images, self.labels
        _require_pixels(images)
        if images.shape[-1] != 3:
            raise ValueError(f"images: expected 3 channels, last, found shape {images.shape}")
        if labels.shape != images.shape[:1] or labels.dtype != np.int64 or labels.min() < 0:
            raise ValueError(
                f"labels: expected {len(images)} int64 class indices from 0, found "
                f"{labels.dtype} of shape {labels.shape}, the smallest {labels.min(initial=0)}"
            )

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
        ValueError: if ``images`` is empty, has a wrong shape, or is not uint8.

    Example:
        >>> import numpy as np
        >>> images = np.array([0, 255], np.uint8).repeat(3).reshape(2, 1, 1, 3)
        >>> mean, std = channel_statistics(images)
        >>> mean.tolist(), std.tolist()
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5])
    """
    images = np.asarray(images)
    _require_pixels(images)
    # A byte has 256 values, so counting them is exact, without a float copy of the images.
    values = np.arange(256) / 255
    pixels = images[..., 0].size
    counts = np.stack(
        [np.bincount(images[..., c].ravel(), minlength=256) for c in range(images.shape[-1])]
    )
    mean = counts @ values / pixels
    variance = (counts * (values - mean[:, None]) ** 2).sum(axis=1) / pixels
    return mean, np.sqrt(variance)


def train_validation_split(
    n: int = 50_000, n_validation: int = 5_000
) -> tuple[np.ndarray, np.ndarray]:
    """Split the indices 0 to n - 1 into training and validation, at random but always the same.

    Recalibrators are fitted on the validation part, which no network was trained on.

    Returns:
        The sorted training indices and the sorted validation indices.

    Raises:
        ValueError: unless 0 < n_validation < n.

    Example:
        >>> training, validation = train_validation_split(10, n_validation=3)
        >>> len(training), len(validation), len({*training} & {*validation})
        (7, 3, 0)
    """
    if not 0 < n_validation < n:
        raise ValueError(f"n_validation: expected 1 to {n - 1}, found {n_validation}")
    # RandomState's stream is frozen, so the split stays the same in later versions of NumPy.
    order = np.random.RandomState(0).permutation(n)
    return np.sort(order[n_validation:]), np.sort(order[:n_validation])


def load_cifar100(split: str) -> ImageSet:
    """CIFAR-100 from ``$CALIB_DATA_DIR`` or, by default, from the user's cache.

    It is downloaded on first use, with a progress bar, from one of several mirrors or from the
    addresses in ``$CALIB_CIFAR100_MIRRORS``, which are separated by spaces.

    Args:
        split: "train" (50,000 images) or "test" (10,000 images).

    Returns:
        The images with labels from 0 to 99.

    Raises:
        ValueError: if there is no split of that name.
        OSError: if the data is not there and no mirror has it.

    Source: Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images".

    Example:
        >>> load_cifar100("test").images.shape  # doctest: +SKIP
        (10000, 32, 32, 3)
    """
    if split not in ("train", "test"):
        raise ValueError(f"split: expected 'train' or 'test', found {split!r}")
    from torchvision.datasets import CIFAR100  # takes longer to import than PyTorch

    folder = Path(os.environ.get("CALIB_DATA_DIR") or user_cache_dir("calib_utils"))
    # CIFAR's files are pickles. torchvision reads them only if their checksums are the known ones.
    try:
        dataset = CIFAR100(folder, train=split == "train")
    except RuntimeError:  # files are missing or damaged
        _install_cifar100(folder)
        dataset = CIFAR100(folder, train=split == "train")
    return ImageSet(dataset.data, np.asarray(dataset.targets, dtype=np.int64))


def load_digits() -> tuple[ImageSet, ImageSet, ImageSet]:
    """The 1,797 handwritten digits that come with scikit-learn, as small colour images.

    Each of the 8 by 8 grey pixels becomes a square of 4 by 4, so that the networks for CIFAR-100
    can take them. The training part is small enough for a network to memorise; its statistics
    normalise all three. The split is seeded.

    Returns:
        Training (197), validation (1,000) and test (600) images of 32 pixels, labels 0 to 9.

    Source: Alpaydin and Kaynak 1998, "Optical Recognition of Handwritten Digits", UCI.

    Example:
        >>> training, validation, test = load_digits()
        >>> len(training), len(validation), len(test), training.images.shape[1:]
        (197, 1000, 600, (32, 32, 3))
    """
    from sklearn.datasets import load_digits as sklearn_digits

    digits = sklearn_digits()
    grey = np.round(digits.images * (255 / 16)).astype(np.uint8)
    images = np.repeat(grey.repeat(4, axis=1).repeat(4, axis=2)[..., None], 3, axis=-1)
    rest, test = train_validation_split(len(images), 600)
    train, validation = (rest[part] for part in train_validation_split(len(rest), 1_000))
    mean, std = (tuple(x.round(4).tolist()) for x in channel_statistics(images[train]))
    data = ImageSet(images, digits.target.astype(np.int64), mean, std)
    return data.subset(train), data.subset(validation), data.subset(test)


def load_splits(dataset: str) -> tuple[ImageSet, ImageSet, ImageSet]:
    """The training, validation and test parts of a data set.

    Args:
        dataset: "cifar100" (45,000, 5,000 and 10,000 images) or "digits".

    Raises:
        ValueError: if there is no data set of that name.

    Example:
        >>> training, validation, test = load_splits("digits")
        >>> len(training), len(validation), len(test)
        (197, 1000, 600)
    """
    if dataset == "digits":
        return load_digits()
    if dataset != "cifar100":
        raise ValueError(f"dataset: expected 'cifar100' or 'digits', found {dataset!r}")
    data = load_cifar100("train")
    train, validation = train_validation_split(len(data))
    return data.subset(train), data.subset(validation), load_cifar100("test")


def _install_cifar100(folder: Path) -> None:
    """Download CIFAR-100 into ``folder``, unless its archive is there, and unpack it."""
    archive = folder / "cifar-100-python.tar.gz"
    try:
        mirrors = os.environ.get("CALIB_CIFAR100_MIRRORS", "").split()
        download(mirrors or _MIRRORS, _SHA256, archive)
    except OSError as error:
        raise OSError(
            f"CIFAR-100 is not in {folder}, and {error}\nTo install it by hand, get "
            f"{archive.name} (169,001,437 bytes) on any machine and put it into {folder}, "
            "or set CALIB_DATA_DIR to a folder that contains cifar-100-python/"
        ) from error
    target = folder / "cifar-100-python"
    target.mkdir(exist_ok=True)
    # Unpacked elsewhere and moved into place file by file, so that none is ever incomplete.
    with tempfile.TemporaryDirectory(dir=folder) as temporary, tarfile.open(archive) as tar:
        tar.extractall(temporary, filter="data")
        for file in (Path(temporary) / target.name).iterdir():
            os.replace(file, target / file.name)


def _require_pixels(images: np.ndarray) -> None:
    if images.ndim != 4 or images.size == 0:
        raise ValueError(
            f"images: expected a non-empty array of shape (N, H, W, C), found {images.shape}"
        )
    if images.dtype != np.uint8:
        raise ValueError(f"images: expected uint8 pixels from 0 to 255, found {images.dtype}")
