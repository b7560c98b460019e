"""Damaged photographs, against formulas written out and other people's conversions."""

import io
import itertools

import numpy as np
import pytest
from matplotlib.colors import hsv_to_rgb, rgb_to_hsv
from PIL import Image
from scipy.ndimage import gaussian_filter

from calib_utils.training import CORRUPTIONS, corrupt

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
# As photographs are: neighbours are alike.
SMOOTH = np.stack(
    [
        np.asarray(Image.fromarray(x[:4, :4]).resize((32, 32), Image.Resampling.BICUBIC))
        for x in IMAGES
    ]
)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corrupt_makes_each_severity_worse_than_the_last(name):
    before = SMOOTH.copy()
    made = [corrupt(SMOOTH, name, severity) for severity in range(6)]
    assert all((x.shape, x.dtype) == (SMOOTH.shape, np.uint8) for x in made)
    assert (made[0] == before).all()
    assert (before == SMOOTH).all()
    far = [np.abs(x.astype(float) - SMOOTH).mean() for x in made]
    assert all(a < b for a, b in itertools.pairwise(far))
    assert (corrupt(SMOOTH, name, 2, seed=1) != made[2]).any() == (name == "noise")


def test_noise_has_its_standard_deviation():
    grey = np.full((20, 32, 32, 3), 128, np.uint8)
    for severity, deviation in enumerate((0.04, 0.06, 0.08, 0.09, 0.10), start=1):
        found = corrupt(grey, "noise", severity) / 255
        assert found.std() == pytest.approx(deviation, rel=0.02)
        assert found.mean() == pytest.approx(128 / 255, abs=0.001)


def test_blur_spreads_a_point_like_a_gaussian():
    images = np.zeros((1, 33, 33, 3), np.uint8)
    images[0, 16, 16] = 255, 128, 0
    found = corrupt(images, "blur", 5)[0].astype(float)
    distances = np.arange(-4, 5)
    kernel = np.exp(-(distances**2) / 2)
    kernel /= kernel.sum()
    np.testing.assert_allclose(found[12:21, 16, 0], 255 * kernel * kernel[4], atol=1)
    np.testing.assert_allclose(found[16, 12:21, 1], 128 * kernel * kernel[4], atol=1)
    assert not found[..., 2].any()
    images = np.zeros((1, 8, 8, 3), np.uint8)
    images[:, 0] = 255  # at the edge, which is repeated
    blurred = 255 * gaussian_filter(images / 255.0, (0, 1, 1, 0), mode="nearest")
    np.testing.assert_allclose(corrupt(images, "blur", 5), blurred, atol=0.51)


@pytest.mark.parametrize("severity", [1, 5])
def test_contrast_is_a_share_of_the_distance_from_the_mean(severity):
    share = {1: 0.75, 5: 0.15}[severity]
    found = corrupt(IMAGES, "contrast", severity)
    for image, damaged in zip(IMAGES, found, strict=True):
        for channel in range(3):
            plane = image[..., channel].astype(float)
            expected = plane.mean() + share * (plane - plane.mean())
            np.testing.assert_allclose(damaged[..., channel], expected, atol=0.51)


@pytest.mark.parametrize("severity", [1, 5])
def test_brightness_raises_the_value_of_hsv(severity):
    images = IMAGES.copy()
    images[0, :2] = 0  # black has no hue
    hsv = rgb_to_hsv(images / 255)
    hsv[..., 2] = (hsv[..., 2] + {1: 0.05, 5: 0.3}[severity]).clip(max=1)
    found = corrupt(images, "brightness", severity)
    np.testing.assert_allclose(found, 255 * hsv_to_rgb(hsv), atol=0.51)


def test_jpeg_is_pillows():
    for severity, quality in enumerate((80, 65, 58, 50, 40), start=1):
        file = io.BytesIO()
        Image.fromarray(IMAGES[2]).save(file, "JPEG", quality=quality)
        expected = np.asarray(Image.open(file))
        assert (corrupt(IMAGES, "jpeg", severity)[2] == expected).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((IMAGES, "fog", 1), "corruption: expected one of noise, blur, contrast, .* found 'fog'"),
        ((IMAGES, "blur", 6), "severity: expected 0, 1, 2, 3, 4 or 5, found 6"),
        ((IMAGES, "blur", 1.5), "severity: expected .* found 1.5"),
        ((IMAGES / 255, "blur", 1), "images: expected uint8 .* found float64"),
        ((IMAGES[0], "blur", 1), r"images: expected .* found uint8 of shape \(32, 32, 3\)"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        corrupt(*arguments)
