"""Arrays and facts in one ``.npz`` file without pickles, written completely or not at all."""

from __future__ import annotations

import io
import json
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils._files import replacing

__all__ = ["explain_damage", "read_npz", "write_npz"]

_ADVICE = "install the module again, or restore the file from the repository"


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


def read_npz(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the facts that `write_npz` wrote."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(str(arrays.pop("facts")))


@contextmanager
def explain_damage(what: str, advice: str = _ADVICE) -> Iterator[None]:
    """Turn any error from reading a damaged file into a ValueError about ``what``."""
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
