"""Say in one sentence what nobody needs a traceback for.

`python -m tools.sources.errors MODULE …`, or `… SCRIPT.py …`, runs a step so.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class MystError(ValueError):
    """A source says something that the pipeline cannot turn into a notebook or a page."""


class ExecutionError(RuntimeError):
    """A cell failed; the message names notebook, cell and error."""


@contextmanager
def plainly() -> Iterator[None]:
    """Print a fault of a source or a cell, and exit; one of ours or of the machine goes on."""
    try:
        yield
    except (MystError, ExecutionError) as error:
        print(error)
        sys.exit(1)


def main(target: str, *arguments: str) -> None:
    """Run a module or a script as Python does."""
    sys.argv = [target, *arguments]
    with plainly():
        if target.endswith(".py"):
            sys.path.insert(0, str(Path(target).parent.absolute()))
            runpy.run_path(target, run_name="__main__")
        else:
            runpy.run_module(target, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    # As a module, not as `__main__`: else it would know another MystError than the tools.
    from tools.sources.errors import main as run

    run(*sys.argv[1:])
