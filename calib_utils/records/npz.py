"""Arrays and facts in one ``.npz`` file without pickles, written at once or not at all."""

from __future__ import annotations

import io
import json
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["explain_damage", "read_npz", "write_npz"]

_ADVICE = "install the module again, or restore the file from the repository"


def write_npz(path: Path, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
    """Write ``arrays``, and ``facts`` as JSON, replacing an older file."""
    content = io.BytesIO()
    entries: dict[str, Any] = arrays | {"facts": np.array(json.dumps(facts))}
    np.savez_compressed(content, **entries)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content.getbuffer())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def read_npz(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the facts that `write_npz` wrote."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(str(arrays.pop("facts")))


@contextmanager
def explain_damage(what: str, advice: str = _ADVICE) -> Iterator[None]:
    """Turn all that reading a damaged file can raise into a ValueError about ``what``."""
    try:
        yield
    except (
        AttributeError,
        EOFError,
        KeyError,
        MemoryError,  # a header may claim 40 GB
        NotImplementedError,
        OSError,
        OverflowError,
        RuntimeError,
        SyntaxError,
        tokenize.TokenError,  # a header that is not closed
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ValueError(f"{what} is damaged ({error}); {advice}") from error
