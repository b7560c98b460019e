"""The files of records: arrays and facts in one ``.npz`` without pickles, written whole or not."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from calib_utils._files import replacing

Row = TypeVar("Row")

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


def read_npz(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the facts that `write_npz` wrote.

    Raises:
        ValueError: if it unpacks to over 256 MiB, and to 50 times as many bytes as the file has.
    """
    with zipfile.ZipFile(path) as file:  # a few megabytes may contain gigabytes of zeros
        size = sum(info.file_size for info in file.infolist())
    if size > max(MOST_BYTES, _MOST_TIMES * path.stat().st_size):
        raise ValueError(f"it unpacks to {size:,} bytes, and no record is that large")
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


@contextmanager
def reading(path: Path, what: str) -> Iterator[tuple[dict[str, np.ndarray], dict[str, Any]]]:
    """The arrays and the facts of a file; whatever is wrong with them is damage of ``what``."""
    with explain_damage(what):
        yield read_npz(path)


def fields_from(kind: type, facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a file for which a record has a field; a later version may write more."""
    return {field.name: facts[field.name] for field in fields(kind) if field.name in facts}


def stored_facts(record: Any, arrays: tuple[str, ...]) -> dict[str, Any]:
    """The facts of a record for a file: every field but the arrays."""
    return {
        field.name: getattr(record, field.name)
        for field in fields(record)
        if field.name not in arrays
    }


def load_rows(
    path: Path, kind: Callable[..., Row], of_each: Sequence[str], name: str, what: str
) -> tuple[list[Row], dict[str, Any]]:
    """The rows of a file, and how they were made: facts and bins of each, and for some more.

    JSON has no tuples: a list in a row comes back as one.

    Args:
        path: of the file.
        kind: the dataclass of a row, with a field ``bins``.
        of_each: its fields with a value for every image; a row has all of them or none.
        name: of the rows in the file.
        what: the file is, in an error.

    Raises:
        ValueError: if the file is damaged.
    """
    with reading(path, what) as (arrays, facts):
        values = zip(*(arrays[field] for field in of_each), strict=True)
        found = []
        for row, bins in zip(facts[name], arrays["bins"], strict=True):
            kept = dict(zip(of_each, next(values), strict=True)) if row.pop("of_each") else {}
            own = {key: tuple(x) if isinstance(x, list) else x for key, x in row.items()}
            found.append(kind(**own, bins=bins.astype(np.float64), **kept))
        return found, facts["made"]
