"""The images, their statistics and splits, and CIFAR-100's way from a mirror to the disk."""

import contextlib
import hashlib
import http.server
import io
import os
import pickle
import subprocess
import sys
import tarfile
import threading
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from calib_utils.training import data, downloads
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
from calib_utils.training.downloads import download

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
        train, validation = train_validation_split(1000, 100, seed=3)
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

    def test_is_the_same_each_time(self):
        assert all(
            (a.images == b.images).all() for a, b in zip(load_digits(), load_digits(), strict=True)
        )


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


CONTENT = np.random.default_rng(0).bytes(600_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
CHUNK = 1 << 14  # bytes that are written at a time


@pytest.fixture
def mirror(monkeypatch):
    """A server on this machine. ``answers`` maps a path to a function of (handler, start)."""
    state = SimpleNamespace(answers={}, asked=[])

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            start = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-")
            state.asked.append((self.path, int(start)))
            state.answers[self.path](self, int(start))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def serve(content: bytes, stop: int | None = None, ranges: bool = True):
    """An answer that closes the connection after byte ``stop``, as a broken one does."""

    def answer(handler, start):
        if start >= len(content) and ranges:
            handler.send_error(416)
            return
        start = start if ranges else 0
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start:stop])

    return answer


def slowly(content: bytes, size: int = 50_000, pause: float = 0.05):
    """An answer of a few bytes at a time."""

    def answer(handler, start):
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            for first in range(start, len(content), size):
                handler.wfile.write(content[first : first + size])
                time.sleep(pause)

    return answer


def missing(handler, _):
    handler.send_error(404)


def files(folder) -> list[str]:
    """What is in a folder, but for the lock."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(".lock"))


class TestDownload:
    def test_whole_file(self, mirror, tmp_path, capsys):
        mirror.answers["/a"] = serve(CONTENT)
        download([mirror.url + "/a"], SHA256, tmp_path / "new" / "file")
        assert (tmp_path / "new" / "file").read_bytes() == CONTENT
        assert files(tmp_path / "new") == ["file"]
        assert "100%" in capsys.readouterr().err

    def test_broken_connection_goes_on_where_it_broke(self, mirror, tmp_path):
        breaks = iter([20 * CHUNK, 30 * CHUNK, None])
        mirror.answers["/a"] = lambda handler, start: serve(CONTENT, next(breaks))(handler, start)
        download([mirror.url + "/a"], SHA256, tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert mirror.asked == [("/a", 0), ("/a", 20 * CHUNK), ("/a", 30 * CHUNK)]

    def test_another_mirror_goes_on_where_one_stopped(self, mirror, tmp_path):
        mirror.answers |= {"/a": serve(CONTENT, 20 * CHUNK), "/b": serve(CONTENT)}
        download([mirror.url + "/a", mirror.url + "/b"], SHA256, tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert mirror.asked[-1] == ("/b", 20 * CHUNK)

    def test_a_later_run_goes_on_where_a_killed_one_stopped(self, mirror, tmp_path):
        mirror.answers["/a"] = serve(CONTENT, CHUNK)
        with pytest.raises(OSError, match="no mirror of file"):
            download([mirror.url + "/a"], SHA256, tmp_path / "file")
        assert (tmp_path / "file.part").read_bytes() == CONTENT[:CHUNK]
        mirror.answers["/a"] = serve(CONTENT)
        download([mirror.url + "/a"], SHA256, tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert mirror.asked[-1] == ("/a", CHUNK)

    @pytest.mark.parametrize(
        ("part", "ranges", "starts"),
        [
            pytest.param(CONTENT, True, [600_000], id="killed after the last byte"),
            pytest.param(CONTENT[:1000], False, [1000], id="a server that cannot resume"),
            pytest.param(b"wrong" * 100, True, [500, 0], id="of another mirror"),
        ],
    )
    def test_whatever_part_is_there(self, mirror, tmp_path, part, ranges, starts):
        (tmp_path / "file.part").write_bytes(part)
        mirror.answers["/a"] = serve(CONTENT, ranges=ranges)
        download([mirror.url + "/a"], SHA256, tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert [start for _, start in mirror.asked] == starts

    def test_killed_while_its_checksum_is_made(self, mirror, tmp_path, monkeypatch):
        """What has come is used by the next run, and nothing else lies about."""
        mirror.answers["/a"] = serve(CONTENT)
        monkeypatch.setattr(warnings, "filters", [("ignore", None, Warning, None, 0)])  # fork
        if (child := os.fork()) == 0:
            try:
                hashlib.new = hashlib.file_digest = lambda *_: os._exit(9)
                download([mirror.url + "/a"], SHA256, tmp_path / "file")
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert files(tmp_path) == ["file.part"]
        download([mirror.url + "/a"], SHA256, tmp_path / "file")
        assert files(tmp_path) == ["file"]

    def test_wrong_or_missing_file_gives_way_to_the_next_mirror(self, mirror, tmp_path):
        mirror.answers |= {
            "/wrong": serve(b"<html>moved</html>"),
            "/missing": missing,
            "/right": serve(CONTENT),
        }
        urls = [mirror.url + path for path in ("/wrong", "/missing", "/right")]
        download(urls, SHA256, tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert [path for path, _ in mirror.asked] == ["/wrong", "/missing", "/right"]
        assert files(tmp_path) == ["file"]

    def test_nothing_works(self, mirror, tmp_path):
        mirror.answers |= {"/wrong": serve(b"other"), "/missing": missing}
        nobody = "http://127.0.0.1:9/file"
        urls = [mirror.url + "/wrong", mirror.url + "/missing", nobody]
        with pytest.raises(OSError, match="no mirror of file gave it") as error:
            download(urls, SHA256, tmp_path / "file")
        assert all(url in str(error.value) for url in urls)
        assert f"not {SHA256}" in str(error.value)
        assert "404" in str(error.value)
        assert files(tmp_path) == []

    def test_several_processes_at_once(self, mirror, tmp_path):
        """They wait for the first; one gets the file, and all have it."""
        mirror.answers["/a"] = slowly(CONTENT)
        code = (
            "import sys; from pathlib import Path; from types import ModuleType\n"
            # The package brings PyTorch, which no download needs.
            "import calib_utils\n"
            "room = sys.modules['calib_utils.training'] = ModuleType('training')\n"
            "room.__path__ = [str(Path(calib_utils.__file__).with_name('training'))]\n"
            "from calib_utils.training.downloads import download\n"
            "download([sys.argv[1]], sys.argv[2], Path(sys.argv[3]))"
        )
        command = [sys.executable, "-c", code, mirror.url + "/a", SHA256, str(tmp_path / "file")]
        quiet = {"cwd": tmp_path, "stderr": subprocess.DEVNULL}
        processes = [subprocess.Popen(command, **quiet) for _ in range(3)]
        assert [process.wait() for process in processes] == [0, 0, 0]
        assert (tmp_path / "file").read_bytes() == CONTENT
        assert files(tmp_path) == ["file"]
        assert mirror.asked == [("/a", 0)]

    def test_stalling_mirror_is_left(self, mirror, tmp_path, monkeypatch):
        """It sends some bytes now and then, so no time-out of the connection ever comes."""
        monkeypatch.setattr(downloads, "_PATIENCE", 0.3)
        mirror.answers |= {"/a": slowly(CONTENT, size=100, pause=0.05), "/b": serve(CONTENT)}
        download([mirror.url + "/a", mirror.url + "/b"], SHA256, tmp_path / "file")
        assert (tmp_path / "file").read_bytes() == CONTENT
        (_, start), (path, second) = mirror.asked
        assert (start, path) == (0, "/b")
        assert 0 < second < len(CONTENT)

    def test_silent_mirror_is_not_waited_for(self, mirror, tmp_path, monkeypatch):
        asked, get = [], downloads.requests.get
        monkeypatch.setattr(
            downloads.requests, "get", lambda *a, **given: asked.append(given) or get(*a, **given)
        )
        mirror.answers["/a"] = serve(CONTENT)
        download([mirror.url + "/a"], SHA256, tmp_path / "file")
        assert [given["timeout"] for given in asked] == [20]

    def test_web_page_never_becomes_a_part(self, mirror, tmp_path):
        """As of a network that asks for a password, cut off."""

        def page(handler, _):
            handler.send_response(200)
            handler.send_header("Content-Type", "text/html; charset=utf-8")
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
            handler.wfile.write(b"<html>" * 10)

        mirror.answers["/a"] = page
        with pytest.raises(OSError, match="it sent a web page instead of the file"):
            download([mirror.url + "/a"], SHA256, tmp_path / "file")
        assert files(tmp_path) == []


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
