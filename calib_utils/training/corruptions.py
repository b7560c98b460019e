"""Corrupted images, as a worse camera would take them: five kinds, five severities.

The strengths are those of CIFAR-10-C. Its noise was drawn differently, and its files were not made
with this code, so results are close to published ones but not the same.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter

_NOISE = (0.04, 0.06, 0.08, 0.09, 0.10)  # standard deviation, of a scale of 0 to 1
_BLUR = (0.4, 0.6, 0.7, 0.8, 1.0)  # standard deviation, in pixels
_CONTRAST = (0.75, 0.5, 0.4, 0.3, 0.15)  # the remaining share
_BRIGHTNESS = (0.05, 0.1, 0.15, 0.2, 0.3)  # added, on a scale of 0 to 1
_QUALITY = (80, 65, 58, 50, 40)  # of JPEG, of 100


def corrupt(images: np.ndarray, corruption: str, severity: int, *, seed: int = 0) -> np.ndarray:
    """Corrupt images.

    Noise is Gaussian, in each channel of each pixel, and so is the blur. Lower contrast moves each
    channel towards its mean in the image. More brightness raises the largest channel of a pixel,
    at the same hue and saturation. JPEG is a lossy compression.

    Args:
        images: uint8, shape (N, H, W, 3).
        corruption: "noise", "blur", "contrast", "brightness" or "jpeg": ``CORRUPTIONS``.
        severity: 1 (mild) to 5; 0 leaves the images unchanged.
        seed: of the noise.

    Returns:
        uint8, of the same shape.

    Raises:
        ValueError: if there is no such corruption or severity, or ``images`` are not valid.

    Source: Hendrycks and Dietterich 2019, "Benchmarking Neural Network Robustness to Common
    Corruptions and Perturbations", section 3 and, for the strengths, their CIFAR-10-C.

    Example:
        >>> import numpy as np
        >>> images = np.full((2, 32, 32, 3), 100, np.uint8)
        >>> [int(corrupt(images, what, 3).max()) for what in ("brightness", "contrast")]
        [138, 100]
    """
    if corruption not in _DAMAGE:
        raise ValueError(f"corruption: expected one of {', '.join(_DAMAGE)}, found {corruption!r}")
    if severity not in range(6):
        raise ValueError(f"severity: expected 0, 1, 2, 3, 4 or 5, found {severity}")
    images = np.asarray(images)
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[-1] != 3:
        raise ValueError(
            f"images: expected uint8 of shape (N, H, W, 3), found {images.dtype} of shape "
            f"{images.shape}"
        )
    if severity == 0 or images.size == 0:
        return images.copy()
    damage, strengths = _DAMAGE[corruption]
    damaged = damage(images.astype(np.float32) / 255, strengths[severity - 1], seed)
    return np.rint(255 * damaged.clip(0, 1)).astype(np.uint8)


def _noise(x: np.ndarray, deviation: float, seed: int) -> np.ndarray:
    return x + deviation * np.random.default_rng(seed).standard_normal(x.shape, np.float32)


def _blur(x: np.ndarray, deviation: float, _: int) -> np.ndarray:
    return gaussian_filter(x, (0, deviation, deviation, 0), mode="nearest")


def _contrast(x: np.ndarray, share: float, _: int) -> np.ndarray:
    mean = x.mean(axis=(1, 2), keepdims=True)
    return mean + share * (x - mean)


def _brightness(x: np.ndarray, added: float, _: int) -> np.ndarray:
    value = x.max(axis=-1, keepdims=True)  # V of HSV; H and S are ratios of the channels
    black = value == 0
    return np.where(black, added, x * ((value + added).clip(max=1) / np.where(black, 1, value)))


def _jpeg(x: np.ndarray, quality: float, _: int) -> np.ndarray:
    compressed = np.empty_like(x)
    for place, image in enumerate(np.rint(255 * x).astype(np.uint8)):
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=int(quality))
        compressed[place] = np.asarray(Image.open(file), np.float32) / 255
    return compressed


_DAMAGE: dict[str, tuple[Callable[[np.ndarray, float, int], np.ndarray], tuple[float, ...]]] = {
    "noise": (_noise, _NOISE),
    "blur": (_blur, _BLUR),
    "contrast": (_contrast, _CONTRAST),
    "brightness": (_brightness, _BRIGHTNESS),
    "jpeg": (_jpeg, _QUALITY),
}
CORRUPTIONS = tuple(_DAMAGE)
