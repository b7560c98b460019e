"""Rows with named columns, read a block at a time: of arrays, of a data frame, or of any source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calib_audit.formatting import printable
from calib_utils.predictions import check_rows, is_tensor, plain_array

__all__ = [
    "Blocks",
    "Source",
    "source_of_arrays",
    "source_of_dictionary",
    "source_of_frame",
    "with_checked_names",
]

EXTRA = "which is not installed: pip install jinja2 matplotlib narwhals pyarrow tqdm"
_BFLOAT16 = "bfloat16", "torch.bfloat16"
_SCORES = ("prob", "probs", "logit", "logits", "score", "scores")  # names of arrays of predictions
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
        words: whether all cells are text, so that a word such as "NA" stands for a missing value.
    """

    name: str
    columns: list[str]
    sha256: str | None
    blocks: Blocks
    bfloat16: frozenset[str] = frozenset()
    words: bool = False


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

    Arrays of other shapes are ignored, except those named as predictions, and arrays that nobody
    asks for may have any length.

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
        elif len(shape) > 2 and key.lower() in _SCORES:
            raise ValueError(
                f"{key}: expected shape (N,) or (N, K), found {shape}; of an ensemble "
                "(member, N, K) give the mean of the members' probabilities, and of other shapes "
                "a row for each label"
            )

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


def source_of_dictionary(given: Mapping[str, Any]) -> Source:
    """Arrays, lists, tensors or columns of a frame, by name.

    Raises:
        ValueError: if one of them is none of these, or is indexed in another order.
    """
    arrays: dict[str, np.ndarray] = {}
    narrow = {key for key, one in given.items() if str(getattr(one, "dtype", "")) in _BFLOAT16}
    indexed = [key for key, column in given.items() if hasattr(column, "iloc")]
    for key in indexed[1:]:
        check_rows(given[indexed[0]], given[key], key, indexed[0])
    for key, column in given.items():
        try:
            if is_tensor(column) or key in narrow:
                column = plain_array(column, key)
            if isinstance(column, np.ma.MaskedArray):
                hidden, column = np.ma.getmaskarray(column), column.data.astype(object)
                column[hidden] = None
            arrays[key] = np.asarray(column)
            if arrays[key].dtype.kind == "T":  # texts of any length, which nothing else casts
                arrays[key] = arrays[key].astype(object)
        except (ValueError, TypeError, RuntimeError) as error:
            raise ValueError(f"{key}: expected an array, found {type(column).__name__}") from error
        if arrays[key].shape == () and arrays[key].dtype == object:  # such as a generator
            raise ValueError(f"{key}: expected an array, found {type(column).__name__}")

    def read(wanted: Sequence[str], n: int, step: int) -> Iterator[Block]:
        for start in range(0, n, step):
            yield {key: arrays[key][start : start + step] for key in wanted}

    shapes = {key: one.shape for key, one in arrays.items()}
    return source_of_arrays("a dictionary", shapes, read, narrow)


def source_of_frame(frame: Any) -> Source:
    """A data frame that narwhals supports.

    Raises:
        ModuleNotFoundError: if narwhals is not installed.
        ValueError: if it is none.
    """
    try:
        import narwhals
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"frame: a {type(frame).__name__} needs narwhals, {EXTRA}; or give a dictionary of "
            "arrays"
        ) from error
    frame = frame.read_all() if hasattr(frame, "read_all") else frame  # Arrow's reader of batches
    try:
        known = narwhals.from_native(frame)
        rows = known.collect() if isinstance(known, narwhals.LazyFrame) else known
    except narwhals.exceptions.NarwhalsError as error:
        raise ValueError(f"frame: expected rows with named columns ({error})") from error
    except TypeError as error:
        raise ValueError(
            f"frame: expected a path, a data frame or a dictionary of arrays, found "
            f"{type(frame).__name__}"
        ) from error
    places = {str(name): place for place, name in enumerate(rows.columns)}  # pandas has any names

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        step = rows_of_block(len(names))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            yield {name: _from_narwhals(part[:, places[name]]) for name in names}

    return Source("a data frame", [str(name) for name in rows.columns], None, blocks)


def _from_narwhals(column: Any) -> np.ndarray:
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.replace_time_zone(None)  # the clock that it shows
    return np.asarray(column.to_numpy())


def _singular(name: str) -> str:
    """The name of one class's column in an array named "probs" or "logits"."""
    return name[:-1] if name.lower() in _SCORES and name.lower().endswith("s") else name


def _width(shape: tuple[int, ...]) -> int:
    return shape[1] if len(shape) == 2 else 1
