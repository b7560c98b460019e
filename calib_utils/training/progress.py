"""The progress bars of a training, and the warnings of its dependencies.

A notebook without ipywidgets gets bars of text, and tqdm warns about it when it is imported. That
warning is silenced here, so modules that import tqdm, such as torchvision, must come later.

When the book is built, nobody sees the bars of a kernel. If the variable ``CALIB_PROGRESS_FILE``
names a file, they are written there instead, as one line of text.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tqdm import tqdm as tqdm_of_text
    from tqdm.auto import tqdm

from calib_utils._files import replacing


def progress_bars(shown: bool) -> Callable[..., Any]:
    """Bars of tqdm. `disable` is given only to hide one, so that TQDM_DISABLE=1 has its effect."""
    if not shown:
        return partial(tqdm, disable=True)
    return _BarInFile if os.environ.get("CALIB_PROGRESS_FILE") else tqdm


class _BarInFile(tqdm_of_text):
    """A bar that is part of a file's only line, after those of the loops around it."""

    under_way: dict[_BarInFile, None] = {}  # noqa: RUF012  all of this process, in their order

    def __init__(self, *args: Any, **options: Any) -> None:
        form = "{desc}: {n_fmt} of {total_fmt}{postfix}"
        options = {"bar_format": form, "mininterval": 1} | options
        super().__init__(*args, file=StringIO(), disable=False, **options)

    def display(self, *_: Any, **__: Any) -> None:
        """Rewrite the line."""
        self.under_way[self] = None
        self._write()

    def close(self) -> None:
        """Remove this bar from the line."""
        super().close()
        if self in self.under_way:
            del self.under_way[self]
            self._write()

    def _write(self) -> None:
        path = Path(os.environ["CALIB_PROGRESS_FILE"])
        with replacing(path) as part:
            part.write_text("; ".join(map(str, self.under_way)), "utf-8")


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings with their kind and message only, without the path of the file.

    A page with a warning is then the same on every machine. Filters work as usual.
    """
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, category, *_: f"{category.__name__}: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before
