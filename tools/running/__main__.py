"""Run a module on a snapshot of the sources: `python -m tools.running MODULE ARGUMENT …`."""

import sys

from tools.running.snapshot import run

if __name__ == "__main__":
    run(*sys.argv[1:])
