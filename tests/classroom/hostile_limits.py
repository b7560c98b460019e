"""Submissions that end, wait, or use more than there is."""

from __future__ import annotations

from tests.classroom.hostile import BUT_Q2, Case, before, q2
from tests.classroom.tiny_class import FULL, NONE, Q2, answers

WAITED = "before the time of the whole notebook was over"


def waits(source: str) -> Case:
    """Something that no clock of the processor ends: the clock of the whole notebook does."""
    return Case([("code", source), *answers()], NONE, WAITED)


CRASHES = {
    "exit-after-q1": Case(
        [*answers()[:4], ("code", "import os\nos._exit(0)"), *answers()[4:]], FULL
    ),
    "exit-in-q2": q2("import os\nos._exit(0)", "ended the whole process"),
    "exit-with-q2": Case(
        answers(q2="import os\nos._exit(3)"), BUT_Q2, "Code cell 4 (Question 2: bins)"
    ),
    "segfault": q2("import ctypes\nctypes.string_at(0)", "ended the whole process"),
    "endless-cell": before("while True:\n    pass", FULL, "more than 2 seconds"),
    "endless-function": q2("while True:\n    pass", "more than 2 seconds"),
    "endless-recursion": q2("return counts(x, n_bins)", "RecursionError"),
    "memory": q2("return len([0] * 10**9)", "MemoryError"),
    "deep": q2(
        "deep = []\nfor _ in range(10**5):\n    deep = [deep]\nreturn deep", "nested too deeply"
    ),
    "huge": q2("return np.zeros(10**6)", "more than can be read"),
    "not-finite": q2("return [float('inf'), -float('inf'), np.nan, 1e999]", "a list, and this"),
    "prints": before("for _ in range(10):\n    print('x' * 10**6)", FULL),
    "long-message": before("raise ValueError('y' * 10**7)", FULL, "yyy"),
    "closes-everything": before(
        "import os\nos.closerange(0, 100)", FULL, "ended the whole process"
    ),
    "kills-itself": Case(
        answers(q2="def counts(x, n):\n    import os\n    os.kill(os.getpid(), 9)"),
        None,
        "or it killed itself",
    ),
    "system-exit": q2("raise SystemExit", "Your code raised SystemExit"),
    "stack-overflow": q2(
        """
import sys
sys.setrecursionlimit(10**8)
deep = []
for _ in range(10**6):
    deep = [deep]
return repr(deep)
""",
        "ended the whole process",
    ),
    "own-signal-for-time": Case(
        [("code", "import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)")] * 4 + answers(),
        NONE,
        "more than 2 seconds",
    ),
    "stops-itself": waits("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"),
    "ignores-its-clock": waits(
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True:\n    pass"
    ),
    "virtual-memory": before("import mmap\nmmap.mmap(-1, 10**13)", FULL, "OSError"),
    "shared-memory": before(
        """
import mmap, os
file = os.open("/dev/shm/x", os.O_RDWR | os.O_CREAT)
for part in range(4):
    os.ftruncate(file, 2**25)
    mmap.mmap(file, 2**25).write(b"x" * 2**25)
    file = os.open(f"/dev/shm/{part}", os.O_RDWR | os.O_CREAT)
""",
        FULL,
        "ended the whole process",
    ),
    "empty-files": before(
        "k = 0\nwhile True:\n    k += 1\n    open(f'/tmp/{k}', 'w')", FULL, "2 s"
    ),
    "many-descriptors": before(
        "[open('/dev/null') for _ in range(10**6)]", FULL, "Too many open files"
    ),
    "deep-source": before(f"x = {'(' * 5000}1{')' * 5000}", FULL, "SyntaxError"),
    "slow-pattern": before("import re\nre.match('(a+)+$', 'a' * 40 + 'b')", FULL, "2 seconds"),
    "threads-left": before(
        "import threading\ndef spin():\n    while True: pass\n"
        "for _ in range(3):\n    threading.Thread(target=spin, daemon=True).start()",
        FULL,
    ),
    "own-limits": Case(
        [
            ("code", "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))"),
            *answers(q2=Q2.replace("return", "hoard = b'x' * 2**29\n    return")),
        ],
        BUT_Q2,
        "MemoryError",
    ),
}
