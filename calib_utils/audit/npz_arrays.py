"""The arrays of an NPZ file, read a block of rows at a time, so that none is whole in memory."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calib_utils.audit.source import Block, Source, source_of_arrays
from calib_utils.records.npz import explain_damage

__all__ = ["npz_source"]

_WRITE_AGAIN = "write it again, with numpy.savez"


def npz_source(path: Path) -> Source:
    """The arrays of one or two dimensions; others are not columns, and are not read."""
    with explain_damage(f"{path}: the file", _WRITE_AGAIN), zipfile.ZipFile(path) as file:
        names = [name for name in file.namelist() if name.endswith(".npy")]
        members = {name[:-4]: _Member.of(file, name) for name in names}

    def read(wanted: Sequence[str], n: int, step: int) -> Iterator[Block]:
        with (
            explain_damage(f"{path}: the file", _WRITE_AGAIN),
            zipfile.ZipFile(path) as file,
            ExitStack() as opened,
        ):
            streams = {key: opened.enter_context(file.open(f"{key}.npy")) for key in wanted}
            readers = {key: members[key].blocks(streams[key], step) for key in wanted}
            for _ in range(0, n, step):
                yield {key: next(reader) for key, reader in readers.items()}

    return source_of_arrays(str(path), {key: one.shape for key, one in members.items()}, read)


class _Member(NamedTuple):
    """The header of a .npy file: where its array begins, and its shape and type."""

    start: int
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype

    @staticmethod
    def of(file: zipfile.ZipFile, name: str) -> _Member:
        with file.open(name) as stream:
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[np.lib.format.read_magic(stream)]
            shape, by_column, dtype = read(stream)
            member = _Member(stream.tell(), shape, by_column, dtype)
        size = member.start + math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size != file.getinfo(name).file_size:
            raise ValueError(f"{name} does not have the size that its header gives")
        return member

    def blocks(self, stream: Any, step: int) -> Iterator[np.ndarray]:
        """``step`` rows at a time; all at once if the array is stored by columns."""
        if self.dtype.hasobject:
            raise ValueError("it contains Python objects, which are not read")
        stream.read(self.start)
        n, width = self.shape[0], max(1, math.prod(self.shape[1:]))
        if self.by_column and width > 1:
            rows = stream.read(n * width * self.dtype.itemsize)
            whole = np.frombuffer(rows, self.dtype).reshape(self.shape, order="F")
            yield from (whole[start : start + step] for start in range(0, n, step))
            return
        for start in range(0, n, step):
            count = min(step, n - start)
            rows = stream.read(count * width * self.dtype.itemsize)
            yield np.frombuffer(rows, self.dtype).reshape(count, *self.shape[1:])
