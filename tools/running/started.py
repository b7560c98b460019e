"""Run a module as Python does, but end without a traceback if Ctrl-C comes while it begins."""

import signal
import sys

try:
    import runpy

    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
except KeyboardInterrupt:
    print("\nStopped.")
    sys.exit(128 + signal.SIGINT)
