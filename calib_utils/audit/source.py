"""Rows with named columns, read a block at a time from any source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from calib_utils.audit.formatting import printable

__all__ = ["Blocks", "Source", "source_of_arrays", "with_checked_names"]

EXTRA = "which is not installed: pip install jinja2 matplotlib narwhals pyarrow tqdm"
_CELLS = 2_000_000  # in a block: a few hundred megabytes as text

Block = dict[str, np.ndarray]
Blocks = Callable[[Sequence[str]], Iterator[Block]]


class Source(NamedTuple):
    """Rows with named columns.

    Attributes:
        name: of the file, or a description of another source.
        columns: their names.
        sha256: of the file's bytes; None for a data frame.
        blocks: a function that takes names of columns and yields a block of rows at a time, with
            one array of shape (n,) for each column.
        bfloat16: the columns whose numbers came in this type, which NumPy does not have.
    """

    name: str
    columns: list[str]
    sha256: str | None
    blocks: Blocks
    bfloat16: frozenset[str] = frozenset()


def rows_of_block(width: int) -> int:
    """The number of rows in a block, if each row has ``width`` cells."""
    return max(1, _CELLS // max(1, width))


def with_checked_names(source: Source) -> Source:
    """The source with printable names, all of them different.

    Raises:
        ValueError: if there are no columns, or two of the same name.
    """
    head = [printable(name) for name in source.columns]
    if not head:
        raise ValueError(f"{source.name}: there are no columns; give a label and a score at least")
    twice = sorted(name for name, times in Counter(head).items() if times > 1)
    if twice:
        raise ValueError(
            f"{source.name}: expected a name for each column, found {twice[0]!r} twice"
        )
    if head == source.columns:
        return source
    given = dict(zip(head, source.columns, strict=True))

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        for block in source.blocks([given[name] for name in names]):
            yield {name: block[given[name]] for name in names}

    narrow = frozenset(map(printable, source.bfloat16))
    return source._replace(columns=head, blocks=blocks, bfloat16=narrow)


def source_of_arrays(
    name: str,
    shapes: Mapping[str, tuple[int, ...]],
    read: Callable[[Sequence[str], int, int], Iterator[Block]],
    bfloat16: Container[str] = (),
) -> Source:
    """Arrays as columns; an array of shape (N, K) becomes K columns, name_0 and so on.

    Arrays of other shapes are ignored, and arrays that nobody asks for may have any length.

    Args:
        name: of the source.
        shapes: of each array.
        read: takes names of arrays, their number of rows, and the number of rows in a block.
        bfloat16: names of arrays whose numbers came in this type.
    """
    flat: dict[str, tuple[str, int | None]] = {}
    for key, shape in shapes.items():
        if len(shape) == 2:
            flat |= {f"{_singular(key)}_{k}": (key, k) for k in range(shape[1])}
        elif len(shape) == 1:
            flat[key] = key, None

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        wanted = list(dict.fromkeys(flat[each][0] for each in names))
        lengths = {key: shapes[key][0] for key in wanted}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{name}: expected columns of one length, found {lengths}")
        step = rows_of_block(sum(_width(shapes[key]) for key in wanted))
        for arrays in read(wanted, lengths[wanted[0]], step):
            places = ((each, *flat[each]) for each in names)
            yield {each: arrays[key] if k is None else arrays[key][:, k] for each, key, k in places}

    narrow = frozenset(each for each, (key, _) in flat.items() if key in bfloat16)
    return Source(name, list(flat), None, blocks, narrow)


def _singular(name: str) -> str:
    """The name of one class's column in an array named "probs" or "logits"."""
    return name[:-1] if name.lower() in ("probs", "logits", "scores") else name


def _width(shape: tuple[int, ...]) -> int:
    return shape[1] if len(shape) == 2 else 1
