"""Run a module on a snapshot of the sources: `python -m tools.running MODULE ARGUMENT …`.

Ctrl-C gives no traceback, even while Python begins.
"""

import signal
import sys

if __name__ == "__main__":
    try:
        from tools.running.snapshot import run

        run(*sys.argv[1:])
    except KeyboardInterrupt:
        print("\nStopped.")
        sys.exit(128 + signal.SIGINT)
