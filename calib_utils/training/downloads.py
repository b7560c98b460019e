"""Download a file from the first mirror that works, and resume broken downloads."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import requests
import urllib3
from filelock import FileLock

from calib_utils.training.progress import progress_bars

_TIMEOUT = 20  # seconds without a response, or without a byte
_CHUNK = 1 << 14  # bytes that are written at a time
_PATIENCE, _LEAST = 60, 100_000  # seconds, and the bytes that a mirror must send in them


def download(urls: Sequence[str], sha256: str, path: Path) -> None:
    """Download a file to ``path``, with a progress bar.

    The file appears there complete and verified, or not at all. If a connection breaks, the part
    that has arrived is kept as ``path`` + ".part", and the next attempt, from any of the mirrors,
    in this run or in a later one, continues from there. Several processes that want the same file
    wait for the first of them, with a lock next to it.

    Args:
        urls: mirrors that all have the same file, the best first.
        sha256: the checksum of the file.
        path: where to put it; its folder is created if necessary.

    Raises:
        OSError: if no mirror has the file, with the failure of each of them.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    failures = []

    def retrieve(url: str) -> bool:
        try:
            _fetch(url, part)
        except OSError as error:  # no connection, or an HTTP error
            failures.append(f"  {url}\n    {error}")
            return False
        # It gets its name only now, so a killed process leaves no file but the part.
        if (found := _sha256(part)) != sha256:
            part.unlink()
            failures.append(f"  {url}\n    its SHA-256 is {found}, not {sha256}")
            return False
        os.replace(part, path)
        return True

    with FileLock(path.with_name(f".{path.name}.lock")):
        if path.exists() and _sha256(path) == sha256:
            return
        for url in urls:
            begun = part.exists()
            # A different mirror may have left a wrong part; then this one is still to be tried.
            if retrieve(url) or (begun and not part.exists() and retrieve(url)):
                return
    raise OSError(f"no mirror of {path.name} gave it:\n" + "\n".join(failures))


def _fetch(url: str, part: Path) -> None:
    """Collect the file in ``part``."""
    while True:
        size = _size(part)
        try:
            return _append(url, part, size)
        except requests.RequestException:
            if _size(part) <= size:  # ask the same mirror again only while it sends something
                raise


def _append(url: str, part: Path, start: int) -> None:
    """Append to ``part`` the bytes after the first ``start``."""
    # "identity", because offsets mean nothing in a compressed transfer.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
        if start and response.status_code == requests.codes.range_not_satisfiable:
            return  # nothing follows; the checksum tells whether the file is correct
        response.raise_for_status()
        if response.headers.get("Content-Type", "").startswith("text/html"):
            raise requests.ConnectionError("it sent a web page instead of the file")
        if response.status_code != requests.codes.partial_content:
            start = 0  # the server sends the whole file
        total = start + int(response.headers.get("Content-Length", 0))
        with (
            open(part, "ab" if start else "wb") as file,
            progress_bars(True)(
                desc=part.stem, initial=start, total=total, unit="B", unit_scale=True
            ) as bar,
        ):
            for chunk in _chunks(response):
                bar.update(file.write(chunk))
    if _size(part) < total:
        raise requests.ConnectionError(
            f"the connection closed after {_size(part)} of {total} bytes"
        )


def _chunks(response: requests.Response) -> Iterator[bytes]:
    """The bytes from a mirror as they arrive, unless it stalls."""
    since, brought = time.monotonic(), 0
    try:
        read = getattr(response.raw, "read1", response.raw.read)  # urllib3 1 has no read1
        while chunk := read(_CHUNK):
            yield chunk
            brought += len(chunk)
            if time.monotonic() - since > _PATIENCE:
                if brought < _LEAST:
                    raise _StalledError(f"it sent {brought} bytes in {_PATIENCE} seconds")
                since, brought = time.monotonic(), 0
    except urllib3.exceptions.HTTPError as error:
        raise requests.ConnectionError(str(error)) from error


class _StalledError(OSError):
    """A mirror that is not asked again, although it sends something."""


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
