"""Run a module on a snapshot of the sources: `python -m tools.running MODULE ARGUMENT …`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Let a Ctrl-C end this process without a word, from before all that takes time."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tools.running.snapshot import run

    run(*sys.argv[1:])


if __name__ == "__main__":
    main()
