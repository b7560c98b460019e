"""Download a file from the first mirror that works, going on where a broken try stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import requests

from calib_utils.training.progress import progress_bars

__all__ = ["download"]

_TIMEOUT = 20  # seconds without an answer, or without a byte
_CHUNK = 1 << 14  # bytes; less than that is lost when a connection breaks


def download(urls: Sequence[str], sha256: str, path: Path) -> None:
    """Download a file to ``path``, with a progress bar.

    The file appears there complete and verified, or not at all. What had come when a
    connection broke stays beside it as ``path`` + ".part", and the next try, from any of
    the mirrors, in this run or in a later one, goes on from there.

    Args:
        urls: mirrors that all have the same file, the best first.
        sha256: the checksum of the file.
        path: where to put it; its folder is made if need be.

    Raises:
        OSError: if no mirror gave the file; it says what came of each of them.
    """
    import pooch  # not above: see `calib_utils.training.progress`

    path = path.resolve()
    failures = []
    for url in urls:
        try:
            pooch.retrieve(
                url,
                known_hash=f"sha256:{sha256}",
                fname=path.name,
                path=path.parent,
                downloader=partial(_fetch, part=path.with_name(path.name + ".part")),
            )
            return
        except (OSError, ValueError) as error:  # no connection or an HTTP error; wrong checksum
            failures.append(f"  {url}\n    {error}")
    raise OSError(f"no mirror of {path.name} gave it:\n" + "\n".join(failures))


def _fetch(url: str, output_file: str, _: Any, part: Path) -> None:
    """Collect the file in ``part``, then move it to where pooch checks it."""
    while True:
        size = _size(part)
        try:
            _append(url, part, size)
            break
        except requests.RequestException:
            if _size(part) <= size:  # ask the same mirror again only while that brings something
                raise
    os.replace(part, output_file)


def _append(url: str, part: Path, start: int) -> None:
    """Add to ``part`` what follows its first ``start`` bytes."""
    # "identity": offsets would mean nothing in a file that is compressed on its way.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={start}-"} if start else {})
    with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
        if start and response.status_code == requests.codes.range_not_satisfiable:
            return  # nothing follows; whether the file is right, its checksum tells
        response.raise_for_status()
        if response.status_code != requests.codes.partial_content:
            start = 0  # the server sends the whole file
        total = start + int(response.headers.get("Content-Length", 0))
        with (
            open(part, "ab" if start else "wb") as file,
            progress_bars(True)(
                desc=part.stem, initial=start, total=total, unit="B", unit_scale=True
            ) as bar,
        ):
            for chunk in response.iter_content(_CHUNK):
                bar.update(file.write(chunk))
    if _size(part) < total:
        raise requests.ConnectionError(
            f"the connection closed after {_size(part)} of {total} bytes"
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
