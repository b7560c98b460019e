"""A folder of Parquet files: which files it holds, and whether they have the same columns."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from calib_audit.column_types import is_number
from calib_audit.columns import Columns, choose_columns
from calib_audit.formatting import printable
from calib_audit.source import EXTRA, Block, Source, parquet_source, with_checked_names

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class FolderFile(NamedTuple):
    """One file, as it was when the folder was opened.

    Attributes:
        path: absolute.
        name: below the folder, for messages.
        size: in bytes.
        rows: how many there are.
        keys: what the folders on the way say of its rows, as ``region=north`` does.
        texts: names of columns of text.
        weights: the lowest and the largest; None without weights, or without rows.
    """

    path: str
    name: str
    size: int
    rows: int
    keys: dict[str, str]
    texts: tuple[str, ...]
    weights: tuple[float, float] | None


@dataclass(frozen=True)
class Folder:
    """Files whose rows have the same columns.

    Attributes:
        name: as it was given.
        files: in the order of their names.
        columns: what is read of each.
        refused: what is wrong with the others, a sentence for each.
    """

    name: str
    files: list[FolderFile]
    columns: Columns
    refused: list[str]


def is_folder(data: Any) -> bool:
    """Whether this is a folder, or a pattern such as ``month/*.parquet``, and not one file."""
    if not isinstance(data, (str, Path)):
        return False
    return Path(data).is_dir() or (glob.has_magic(str(data)) and not Path(data).exists())


def open_folder(data: str | Path, named: Mapping[str, Any], skip_bad_files: bool) -> Folder:
    """Look at the footer of each file; files that come later are not read.

    Args:
        data: a folder, in which and below which all files called .parquet are taken; or a pattern.
            Names that begin with a point or an underscore are left out, as Spark means it.
        named: the columns, as for a report.
        skip_bad_files: whether files that cannot be read are listed, and not an error.

    Raises:
        ModuleNotFoundError: if PyArrow is not installed.
        ValueError: if there are no files, or one of them is not as the first.
    """
    root, paths = _listed(str(data))
    refused: list[str] = []
    files: list[FolderFile] = []
    first: tuple[str, Columns, dict[str, str]] | None = None
    for path in paths:
        name = printable(os.path.relpath(path, root))
        try:
            metadata, types = _footer(path, name)
            keys = {key: each for key, each in _keys(path, root).items() if key not in types}
            if first is None:
                source = _source_of(path, str(data), keys)
                columns = choose_columns(source.columns, source=source, **named)
                wanted = {each: types.get(each, "a folder's name") for each in columns.names}
                first = name, columns, wanted
            _check_types(name, types | dict.fromkeys(keys, "a folder's name"), *first[::2])
            texts = tuple(each for each, kind in types.items() if "string" in kind)
            weight = columns.weight
            weights = _range(metadata, keys, name, weight) if weight else None
            size, rows = os.path.getsize(path), metadata.num_rows
            files.append(FolderFile(path, name, size, rows, keys, texts, weights))
        except _BadFileError as error:
            if not skip_bad_files:
                raise ValueError(
                    f"{error}; no rows were read yet; leave such files out with skip_bad_files=True"
                ) from error
            refused.append(str(error))
    if first is None:
        raise ValueError(
            f"{data}: none of {len(paths):,} files can be read: {refused[0]}"
            if refused
            else f"{data}: expected Parquet files, found none; names end in .parquet"
        )
    name = Path(data).resolve().name if Path(data).is_dir() else str(data)
    return Folder(printable(name), files, first[1], refused)


class _BadFileError(ValueError):
    """What is wrong with one file, and not with what was asked for."""


def _listed(data: str) -> tuple[str, list[str]]:
    if Path(data).is_dir():
        root = os.path.abspath(data)
        found = [str(path) for path in Path(root).rglob("*.parquet")]
    else:
        magic = next(i for i, part in enumerate(Path(data).parts) if glob.has_magic(part))
        root = os.path.abspath(Path(*Path(data).parts[:magic]))
        found = [os.path.abspath(path) for path in glob.iglob(data, recursive=True)]
    paths = sorted({path for path in found if not os.path.isdir(path)})
    return root, [p for p in paths if not _is_hidden(os.path.relpath(p, root))]


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in Path(name).parts)


def _keys(path: str, root: str) -> dict[str, str]:
    parts = [part.partition("=") for part in Path(path).relative_to(root).parent.parts]
    return {
        printable(key): "" if value == _NO_VALUE else unquote(value)
        for key, sign, value in parts
        if sign
    }


def _footer(path: str, name: str) -> tuple[Any, dict[str, str]]:
    """What a file says of itself, and of what type its columns are."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{name}: Parquet needs pyarrow, {EXTRA}") from error
    try:
        with parquet.ParquetFile(path) as file:
            types = {field.name: str(_plain(field.type)) for field in file.schema_arrow}
            return file.metadata, types
    except (pa.ArrowException, OSError) as error:
        what = "cannot be read" if isinstance(error, FileNotFoundError) else "is cut, or no Parquet"
        reason = str(error).partition("\n")[0].rstrip(".")
        raise _BadFileError(f"{name}: the file {what} ({reason}); write it again") from error


def _range(
    metadata: Any, keys: Mapping[str, str], name: str, column: str
) -> tuple[float, float] | None:
    """The lowest and the largest number in a column, which the footer tells without the rows."""
    found: list[Any]
    if column in keys:
        found = [float(keys[column]) if is_number(keys[column]) else keys[column]]
    else:
        place = metadata.schema.names.index(column)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        known = [group.column(place).statistics for group in groups if group.num_rows]
        found = [
            end
            for each in known
            for end in ((each.min, each.max) if each is not None and each.has_min_max else [None])
        ]
    for largest in found:
        if not isinstance(largest, (int, float)) or not np.isfinite(largest):
            raise _BadFileError(
                f"{name}: {column}: expected finite numbers, and the largest of them in the footer "
                f"of the file, found {largest}; write the file with statistics"
            )
    return (float(min(found)), float(max(found))) if found else None


def _plain(kind: Any) -> Any:
    return getattr(kind, "value_type", kind) if "dictionary" in str(kind) else kind


def _check_types(
    name: str, types: Mapping[str, str], first: str, wanted: Mapping[str, str]
) -> None:
    for column, kind in wanted.items():
        found = types.get(column)
        if found != kind:
            what = "no such column" if found is None else found
            raise _BadFileError(
                f"{name}: {column}: expected {kind} as in {first}, found {what}; write all files "
                "with the same columns"
            )


def _source_of(path: str, name: str, keys: Mapping[str, str]) -> Source:
    """The first file as a source, of which names of columns are guessed."""
    stored = parquet_source(Path(path))

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        for block in stored.blocks([each for each in names if each not in keys]):
            n = len(next(iter(block.values())))
            yield block | {each: np.full(n, keys[each]) for each in names if each in keys}

    return with_checked_names(Source(name, [*stored.columns, *keys], None, blocks))
