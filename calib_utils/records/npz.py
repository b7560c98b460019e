"""Arrays and facts in one ``.npz`` file without pickles, written completely or not at all."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils._files import replacing

__all__ = ["MOST_BYTES", "check_unpacked", "explain_damage", "read_npz", "write_npz"]

MOST_BYTES = 1 << 28  # unpacked
_MOST_TIMES = 50  # as large as the file; logits shrink to half
_ADVICE = "install the records again, or restore the file from the repository"


def write_npz(path: Path, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """Write ``arrays``, and ``facts`` as JSON, replacing an older file.

    Raises:
        ValueError: if a fact is neither a type of JSON nor a NumPy number.
    """
    content = io.BytesIO()
    text = json.dumps(facts, default=_plain)
    entries: dict[str, Any] = arrays | {"facts": np.array(text)}
    np.savez_compressed(content, **entries)
    with replacing(path) as part:
        part.write_bytes(content.getbuffer())


def _plain(fact: Any) -> Any:
    if isinstance(fact, np.generic):
        return fact.item()
    raise ValueError(
        f"facts: expected texts, numbers, lists and dictionaries, found {type(fact).__name__}"
    )


def check_unpacked(path: Path, what: str, most: int = MOST_BYTES) -> dict[str, int]:
    """The size of each array of a file that unpacks to a plausible number of bytes.

    A few megabytes may contain gigabytes of zeros.

    Args:
        path: of the file.
        what: it should contain, for the error.
        most: how many bytes are plausible.

    Raises:
        ValueError: if it unpacks to more.
    """
    with zipfile.ZipFile(path) as file:
        sizes = {info.filename.removesuffix(".npy"): info.file_size for info in file.infolist()}
    if (size := sum(sizes.values())) > most:
        raise ValueError(f"it unpacks to {size:,} bytes, and no {what} is that large")
    return sizes


def read_npz(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the facts that `write_npz` wrote.

    Raises:
        ValueError: if it unpacks to over 256 MiB, and to 50 times as many bytes as the file has.
    """
    check_unpacked(path, "record", max(MOST_BYTES, _MOST_TIMES * path.stat().st_size))
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(str(arrays.pop("facts")))


@contextmanager
def explain_damage(what: str, advice: str = _ADVICE) -> Iterator[None]:
    """Turn any error from reading a damaged file into a ValueError about ``what``."""
    try:
        yield
    except Exception as error:  # of any kind, from zlib's to a SyntaxError in a header
        raise ValueError(f"{what} is damaged ({error}); {advice}") from error
