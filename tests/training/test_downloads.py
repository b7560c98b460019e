"""The way of a file from a mirror to the disk, whatever breaks."""

import hashlib
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from calib_utils.training import downloads
from calib_utils.training.downloads import download
from tests.training.mirrors import files, mirror, missing, serve, slowly

__all__ = ["mirror"]  # the fixture

CONTENT = np.random.default_rng(0).bytes(600_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
CHUNK = 1 << 14  # bytes that are written at a time


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
