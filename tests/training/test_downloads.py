"""The way of a file from a mirror to the disk, whatever breaks."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

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

    def test_several_at_once(self, mirror, tmp_path):
        """They wait for the first; one gets the file, and all have it."""
        mirror.answers["/a"] = slowly(CONTENT)
        given = [mirror.url + "/a"], SHA256, tmp_path / "file"
        with ThreadPoolExecutor(3) as pool:
            for begun in [pool.submit(download, *given) for _ in range(3)]:
                begun.result()
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
