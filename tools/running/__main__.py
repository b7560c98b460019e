"""Run a module on a snapshot of the sources: `python -m tools.running MODULE ARGUMENT …`.

Ctrl-C gives no traceback, even while Python begins.
"""

import signal
import sys

if __name__ == "__main__":
    try:
        import os
        import runpy

        from tools.running import ORIGIN

        if ORIGIN in os.environ:  # the process that the one below becomes
            del sys.argv[0]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            from tools.running.snapshot import run

            run(*sys.argv[1:])
    except KeyboardInterrupt:
        print("\nStopped.")
        sys.exit(128 + signal.SIGINT)
