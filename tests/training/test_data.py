"""The images, their statistics and splits, and CIFAR-100 from an archive that is downloaded."""

import hashlib
import io
import os
import pickle
import tarfile
from types import SimpleNamespace

import numpy as np
import pytest

from calib_utils.training import data
from calib_utils.training.data import (
    CIFAR100_MEAN,
    CIFAR100_STD,
    ImageSet,
    channel_statistics,
    load_cifar100,
    load_digits,
    load_splits,
    train_validation_split,
)
from tests.training.mirrors import files, mirror, missing, serve

__all__ = ["mirror"]  # the fixture

real_data = pytest.mark.skipif(
    "CALIB_DATA_DIR" not in os.environ, reason="CALIB_DATA_DIR is not set: no CIFAR-100 here"
)


def pixels(n: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 4, 5, channels), dtype=np.uint8)


class TestImageSet:
    def test_subset_keeps_the_statistics(self):
        images = ImageSet(pixels(5), np.arange(5), (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
        part = images.subset([3, 1])
        assert len(part) == 2
        assert part.labels.tolist() == [3, 1]
        assert (part.images == images.images[[3, 1]]).all()
        assert (part.mean, part.std) == (images.mean, images.std)

    @pytest.mark.parametrize(
        ("images", "labels", "message"),
        [
            (pixels(2)[0], np.arange(4), r"images: expected .*\(N, H, W, C\), found \(4, 5, 3\)"),
            (pixels(0), np.arange(0), "images: expected a non-empty array"),
            (pixels(2) / 255, np.arange(2), "images: expected uint8 .*found float64"),
            (pixels(2, channels=1), np.arange(2), "images: expected 3 channels"),
            (pixels(2), np.arange(3), r"labels: expected 2 int64 .*\(3,\)"),
            (pixels(2), np.arange(2.0), "labels: expected 2 int64 .*found float64"),
            (pixels(2), np.arange(2) - 1, "labels: .*smallest -1"),
        ],
    )
    def test_bad_input(self, images, labels, message):
        with pytest.raises(ValueError, match=message):
            ImageSet(images, labels)


class TestChannelStatistics:
    @pytest.mark.parametrize("channels", [1, 3])
    def test_equals_numpy_in_float64(self, channels):
        images = pixels(50, channels)
        mean, std = channel_statistics(images)
        np.testing.assert_allclose(mean, (images / 255).mean(axis=(0, 1, 2)), rtol=1e-12)
        np.testing.assert_allclose(std, (images / 255).std(axis=(0, 1, 2)), rtol=1e-12)

    def test_one_colour_has_no_spread(self):
        mean, std = channel_statistics(np.full((2, 3, 3, 3), 51, dtype=np.uint8))
        np.testing.assert_allclose(mean, 0.2)
        np.testing.assert_allclose(std, 0, atol=1e-15)

    @pytest.mark.parametrize("images", [pixels(0), pixels(2)[0], pixels(2).astype(np.float32)])
    def test_bad_input(self, images):
        with pytest.raises(ValueError, match="images: expected"):
            channel_statistics(images)


class TestSplit:
    def test_every_image_is_in_one_part(self):
        train, validation = train_validation_split(1000, 100)
        assert (len(train), len(validation)) == (900, 100)
        assert sorted([*train, *validation]) == list(range(1000))
        assert (np.diff(train) > 0).all()
        assert (np.diff(validation) > 0).all()

    def test_the_courses_split_never_changes(self):
        # The stored records were made with it.
        train, validation = train_validation_split()
        assert (len(train), len(validation)) == (45_000, 5_000)
        assert validation[:5].tolist() == [14, 22, 24, 28, 64]
        assert hashlib.sha256(train.astype("<i8").tobytes()).hexdigest() == (
            "76f303ae786d764fd4a0e51c4633c463853f7faf2ad73953c4c344c5f14a83ad"
        )

    @pytest.mark.parametrize("n_validation", [0, 10, -1])
    def test_bad_size(self, n_validation):
        with pytest.raises(
            ValueError, match=f"n_validation: expected 1 to 9, found {n_validation}"
        ):
            train_validation_split(10, n_validation)


class TestDigits:
    def test_each_pixel_becomes_a_grey_square(self):
        from sklearn.datasets import load_digits as sklearn_digits

        original = {
            (np.round(x * 255 / 16).astype(np.uint8).tobytes(), y)
            for x, y in zip(*sklearn_digits(return_X_y=True), strict=True)
        }
        parts = load_digits()
        assert [len(part) for part in parts] == [197, 1000, 600]
        found = {
            (image[::4, ::4, 0].tobytes(), label)
            for part in parts
            for image, label in zip(part.images, part.labels, strict=True)
        }
        assert found == original
        for part in parts:
            assert part.images.shape[1:] == (32, 32, 3)
            squares = part.images.reshape(-1, 8, 4, 8, 4, 3)
            assert (squares == squares[:, :, :1, :, :1, :1]).all()

    def test_statistics_are_those_of_the_training_part(self):
        train, validation, test = load_digits()
        mean, std = channel_statistics(train.images)
        for part in (train, validation, test):
            np.testing.assert_allclose(part.mean, mean, atol=5e-5)
            np.testing.assert_allclose(part.std, std, atol=5e-5)


@real_data
class TestRealCifar100:
    def test_statistics(self):
        train = load_cifar100("train")
        assert np.bincount(train.labels).tolist() == [500] * 100
        mean, std = channel_statistics(train.images)
        assert tuple(mean.round(4)) == CIFAR100_MEAN == (0.5071, 0.4865, 0.4409)
        assert tuple(std.round(4)) == CIFAR100_STD == (0.2673, 0.2564, 0.2762)

    def test_splits(self):
        assert [len(part) for part in load_splits("cifar100")] == [45_000, 5_000, 10_000]


def test_names_of_data_sets_and_splits():
    with pytest.raises(ValueError, match="dataset: expected 'cifar100' or 'digits', found"):
        load_splits("mnist")
    with pytest.raises(ValueError, match="split: expected 'train' or 'test', found 'validation'"):
        load_cifar100("validation")


def archive_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


class TestLoadCifar100:
    """The way from a mirror to an image set, with three images and an archive to match."""

    @pytest.fixture
    def tiny(self, monkeypatch, tmp_path, mirror):
        from torchvision.datasets import CIFAR100

        rows = np.random.default_rng(1).integers(0, 256, (3, 3072), dtype=np.uint8)
        files = {
            name: pickle.dumps({"data": rows[i : i + n], "fine_labels": [7, 99, 0][:n]})
            for name, i, n in (("train", 0, 2), ("test", 2, 1))
        }
        files["meta"] = pickle.dumps({"fine_label_names": [str(i) for i in range(100)]})
        sums = {name: hashlib.md5(content).hexdigest() for name, content in files.items()}
        for name in ("train", "test"):
            monkeypatch.setattr(CIFAR100, f"{name}_list", [[name, sums[name]]])
        monkeypatch.setattr(CIFAR100, "meta", CIFAR100.meta | {"md5": sums["meta"]})
        monkeypatch.setenv("CALIB_DATA_DIR", str(tmp_path / "data"))

        def publish(members: dict[str, bytes]) -> None:
            archive = archive_of(members)
            mirror.answers["/cifar"] = serve(archive)
            monkeypatch.setattr(data, "_MIRRORS", (mirror.url + "/cifar",))
            monkeypatch.setattr(data, "_SHA256", hashlib.sha256(archive).hexdigest())

        members = {f"cifar-100-python/{name}": content for name, content in files.items()}
        publish(members)
        return SimpleNamespace(rows=rows, publish=publish, members=members, mirror=mirror)

    def test_downloads_once(self, tiny, tmp_path):
        train, test = load_cifar100("train"), load_cifar100("test")
        # CIFAR stores the channels one after the other.
        assert (train.images[1, :, :, 2].ravel() == tiny.rows[1, 2048:]).all()
        assert train.labels.tolist() == [7, 99]
        assert test.images.shape == (1, 32, 32, 3)
        assert len(tiny.mirror.asked) == 1
        assert files(tmp_path / "data") == [
            "cifar-100-python",
            "cifar-100-python.tar.gz",
        ]

    def test_uses_the_cache_of_the_user_when_no_folder_is_named(self, tiny, tmp_path, monkeypatch):
        monkeypatch.delenv("CALIB_DATA_DIR")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        assert len(load_cifar100("train")) == 2
        assert (tmp_path / "cache" / "calib_utils" / "cifar-100-python" / "train").exists()

    def test_damaged_file_is_replaced_and_never_read(self, tiny, tmp_path):
        load_cifar100("train")
        train = tmp_path / "data" / "cifar-100-python" / "train"
        # As a pickle, this would make a file.
        train.write_bytes(b"cos\nsystem\n(S'touch " + os.fsencode(tmp_path / "owned") + b"'\ntR.")
        assert len(load_cifar100("train")) == 2
        assert not (tmp_path / "owned").exists()
        assert len(tiny.mirror.asked) == 1  # the archive was still there

    def test_archive_cannot_write_outside_its_folder(self, tiny, tmp_path):
        tiny.publish(tiny.members | {"../../outside": b"x"})
        with pytest.raises(tarfile.FilterError):
            load_cifar100("train")
        assert not list(tmp_path.rglob("outside"))

    def test_other_mirrors_can_be_named(self, tiny, monkeypatch):
        own = tiny.mirror.url + "/own"
        tiny.mirror.answers |= {"/own": tiny.mirror.answers["/cifar"], "/cifar": missing}
        monkeypatch.setenv("CALIB_CIFAR100_MIRRORS", f"{tiny.mirror.url}/cifar {own}")
        assert len(load_cifar100("train")) == 2
        assert [path for path, _ in tiny.mirror.asked] == ["/cifar", "/own"]

    def test_no_mirror_says_how_to_install_by_hand(self, tiny, tmp_path):
        tiny.mirror.answers["/cifar"] = missing
        with pytest.raises(OSError, match="CIFAR-100 is not in") as error:
            load_cifar100("train")
        message = str(error.value)
        assert tiny.mirror.url in message
        assert (
            f"cifar-100-python.tar.gz (169,001,437 bytes) on any machine and put it into {tmp_path}"
            in message
        )
        assert "CALIB_DATA_DIR" in message
