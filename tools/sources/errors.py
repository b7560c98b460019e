"""Say in one sentence what nobody needs a traceback for.

`python -m tools.sources.errors MODULE …`, or `… SCRIPT.py …`, runs a step so.
"""

from __future__ import annotations

import errno
import runpy
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.sources.opened_records import watch

# What a person at the machine can mend, and no change of the code.
OUTSIDE = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EEXIST,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
# What a shell may allow too little of, and how it is asked.
LIMITS = {errno.EFBIG: "-f", errno.EMFILE: "-n", errno.ENOMEM: "-v"}
# What ends a run. Until it can say so in a sentence, it keeps them waiting.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class MystError(ValueError):
    """A source says something that the pipeline cannot turn into a notebook or a page."""


class ExecutionError(RuntimeError):
    """A cell failed; the message names notebook, cell and error."""


@contextmanager
def plainly() -> Iterator[None]:
    """Print a fault of a source or of the machine, and exit; a fault of ours is not caught."""
    try:
        yield
    except MystError as error:
        print(error)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\nStopped.")
        sys.exit(128 + signal.SIGINT)
    except OSError as error:
        if error.errno not in {*OUTSIDE, *LIMITS}:
            raise
        print(explained(error))
        sys.exit(1)


def explained(error: OSError) -> str:
    """What the machine does not let us write, and what to do."""
    what = f"{error.filename}: " if error.filename else ""
    if error.errno in LIMITS:
        advice = f"this shell may allow too little (`ulimit {LIMITS[error.errno]}`): raise that"
    else:
        advice = "make room, or allow to write there"
    return f"{what}{error.strerror}: {advice}, and run this again."


def main(target: str, *arguments: str) -> None:
    """Run a module or a script as Python does."""
    sys.argv = [target, *arguments]
    watch()
    with plainly():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        if target.endswith(".py"):
            sys.path.insert(0, str(Path(target).parent.absolute()))
            runpy.run_path(target, run_name="__main__")
        else:
            runpy.run_module(target, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    # As a module, not as `__main__`: else it would know another MystError than the tools.
    from tools.sources.errors import main as run

    run(*sys.argv[1:])
