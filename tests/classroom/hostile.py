"""Submissions for the tests: one of each kind of honest, damaged and hostile notebook.

An attack is a cell before the questions, or behind them. The questions themselves are then stubs,
which are worth nothing: whatever is earned, the attack has earned it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from tests.classroom.tiny_class import (
    FULL,
    NONE,
    Q1,
    Q2,
    Q3,
    STUBS,
    Cells,
    answers,
    code,
    notebook,
)

Q1_ONLY = {**NONE, "q1": 2.0}
BUT_Q2 = {**FULL, "q2": 0.0}


@dataclass(frozen=True)
class Case:
    """A submission, and what must come of it.

    Attributes:
        cells: Of the notebook, or the bytes of the file.
        points: Of the questions; ``None`` if it must not be graded.
        said: What the student's page says.
        metadata: Whether the cells still name their questions.
    """

    cells: Cells | bytes
    points: dict[str, float] | None
    said: str = ""
    metadata: bool = True


def attack(source: str, said: str = "Not written yet") -> Case:
    return Case([("code", source), *answers(*STUBS)], NONE, said)


def after(source: str, said: str) -> Case:
    return Case([*answers(*STUBS), ("code", source)], NONE, said)


def before(source: str, points: dict[str, float], said: str = "") -> Case:
    """Something bad in a cell of its own, and then all questions answered."""
    return Case([("code", source), *answers()], points, said)


def q2(body: str, said: str) -> Case:
    """All questions answered, the second one by this."""
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    return Case(answers(q2=f"def counts(x, n_bins):\n{lines}"), BUT_Q2, said)


def lies() -> bytes:
    """Stubs, and a cell whose metadata says that it is worth all points."""
    found = notebook(answers(*STUBS))
    marks = {"points": 1000, "grade": True, "grade_id": "q1"}
    metadata = {"question": ["q1"], "tags": "variant", "points": 6, "nbgrader": marks}
    cell = {"cell_type": "code", "metadata": metadata, "source": "points = 6", "outputs": []}
    found["cells"].append(cell | {"points": 6})
    return json.dumps(found).encode()


HONEST = {
    "full": Case(answers(), FULL, "6 points so far"),
    "part-of-a-question": Case(
        answers(q1=Q1.replace("raise ValueError", "return 0, ")),
        {**FULL, "q1": 1.5},
        "Your code returned a list, and this is not right.",
    ),
    "deleted-cells": Case([code("q1", Q1)], Q1_ONLY, "There is no counts"),
    "duplicated-cell": Case([code("q2", STUBS[1]), *answers(), code("q2", Q2)], FULL, "6 points"),
    "lost-metadata-syntax-error": Case(
        answers(q2="def counts(x, n_bins):\nreturn 1"),
        BUT_Q2,
        "Code cell 4 (Question 2: bins). Your code raised IndentationError",
        metadata=False,
    ),
    "one-cell": Case([("code", f"{Q1}\n{Q2}\n{Q3}")], FULL, "6 points", metadata=False),
    "given-values-changed": Case([*answers(), ("code", "half = 3")], FULL, "6 points"),
    "magics-beside-code": Case(
        answers(q2=f"files = !ls\nimport pandas_x as pd\nif files:\n    %cd x\n{Q2}    # why?\n"),
        FULL,
        "ModuleNotFoundError",
    ),
    "draws": before("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()", FULL),
    "prints": before("for _ in range(10):\n    print('x' * 10**6)", FULL),
    "exits": before("exit()", FULL, "SystemExit"),
    "wrong-notebook": Case([code("q1", "def ece(p, y):\n    return 0")], None, "the right one?"),
    "half-a-file": Case(b'{"cells": [{"cell_type": "code", "sou', None, "or is damaged"),
}
# What ends, waits, or uses more than there is; what waits for ever is in `test_sandbox`.
CRASHES = {
    "exit-after-q1": Case(
        [*answers()[:4], ("code", "import os\nos._exit(0)"), *answers()[4:]], FULL
    ),
    "exit-in-q2": q2("import os\nos._exit(0)", "ended the whole process"),
    "segfault": q2("import ctypes\nctypes.string_at(0)", "ended the whole process"),
    "endless-cell": before("while True:\n    pass", FULL, "more than 2 seconds"),
    "endless-function": q2("while True:\n    pass", "more than 2 seconds"),
    "memory": q2("return len([0] * 10**9)", "MemoryError"),
    "deep": q2(
        "deep = []\nfor _ in range(10**5):\n    deep = [deep]\nreturn deep", "nested too deeply"
    ),
    "huge": q2("return np.zeros(10**6)", "more than can be read"),
    "closes-everything": before(
        "import os\nos.closerange(0, 100)", FULL, "ended the whole process"
    ),
    "own-signal-for-time": Case(
        [("code", "import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)")] * 4 + answers(),
        NONE,
        "more than 2 seconds",
    ),
}

# ---- attacks on the grader: forged answers, patched libraries, values that lie

ALWAYS = """
class Always(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __sub__(self, other): return 0.0
    __rsub__ = __add__ = __sub__
    def __bool__(self): return True
    def __hash__(self): return 0
    def __len__(self): return 4
    def __float__(self): return 0.5
    def __array__(self, *a, **k): return self
    def tolist(self): return self
gap = counts = stored = lambda *a: Always()
"""
# Answers all that is asked, before anybody else does, with whatever the grader might like.
FORGE = """
import json, os, sys, threading
def forge():
    for fd in range(3, 64):
        for line in (
            {"ready": True}, {"done": True}, {"points": 6}, {"value": True}, {"share": 1.0},
            {"status": "graded"}, {"id": None, "value": 1}, {"judge": "lambda answer: True"},
        ):
            try:
                os.write(fd, json.dumps(line).encode() + b"\\n")
            except OSError:
                break
forge()
"""
# The same with the right id, which student's code can find: the pipe is its own process's.
FORGE_WITH_ID = """
import gc, inspect, json, os, sys
session = next(o for o in gc.get_objects() if type(o).__name__ == "Session")
def answer(request):
    return {"value": True, "points": 2, "share": 1, "passed": True, "done": True,
            "judge": True, "raised": {"types": ["Right"], "cell": [], "line": {}}}
session.answer = answer
type(session).answer = lambda self, request: answer(request)
"""
LEAK = """
raised = type(str(len(x)) + "_" + str(x[0]), (Exception,), {})
class Where(Exception):
    pass
error = raised("the input was " + str(list(x)))
error.__notes__ = [str(list(x))]
raise error
"""
PATCH = """
import builtins, json, math, operator, numpy as np
yes = lambda *a, **k: True
for name in ("allclose", "isclose", "array_equal", "all", "array_equiv", "asarray", "array"):
    setattr(np, name, yes)
np.testing.assert_allclose = np.testing.assert_array_equal = yes
np.ndarray = np.generic = object
math.isclose = operator.eq = yes
gap = counts = stored = lambda *a: 1.0
"""
RAISES = """
def gap(*arguments):
    raise ValueError
counts = stored = gap
"""
FLOOD = """
import os
line = b"x" * 65536
while True:
    for fd in range(3, 16):
        try:
            os.write(fd, line)
        except OSError:
            pass
"""
# Two processes answer, since neither finds out that it is the child.
TWINS = """
import os
own = os.getpid()
os.getpid = lambda: own
os.fork()
"""
# A program in the place of ours, with the same pipes.
IMPOSTOR = r'''
import json, os, sys
program = """
import json, os
for line in open(3, "rb"):
    answer = {"id": json.loads(line)["id"], "done": True, "value": True, "points": 6}
    os.write(4, json.dumps(answer).encode() + bytes([10]))
"""
frame = sys._getframe()
while "request" not in frame.f_locals:
    frame = frame.f_back
for fd in (3, 4):
    os.set_inheritable(fd, True)
os.write(4, json.dumps({"id": frame.f_locals["request"]["id"], "done": True}).encode() + b"\n")
os.execv(sys.executable, [sys.executable, "-c", program])
'''
# Looks up through all frames for what it was called with, and for what is wanted.
FRAMES = """
import sys
def gap(*arguments):
    frame, found = sys._getframe().f_back, []
    while frame is not None:
        found += [value for value in list(frame.f_locals.values()) if isinstance(value, float)]
        for name in ("expected", "wanted", "judge", "answer"):
            if name in frame.f_locals or name in frame.f_globals:
                return frame.f_locals.get(name, frame.f_globals.get(name))
        frame = frame.f_back
    return found
counts = stored = gap
"""
OWN_ENCODER = """
import gc
session = next(o for o in gc.get_objects() if type(o).__name__ == "Session")
type(session).answer.__globals__["encode"] = lambda value: {"points": 6, "share": 1}
gap = counts = stored = print
"""
NO_CLOCK = """
import gc
session = next(o for o in gc.get_objects() if type(o).__name__ == "Session")
type(session).answer.__globals__["more_time"] = lambda seconds: None
type(session).answer.__globals__["MAX_BYTES"] = 10**12
def gap(*arguments):
    while True:
        pass
"""
ENDLESS = """
import itertools
class Pairs(dict):
    def items(self): return (("k", n) for n in itertools.count())
    def __iter__(self): return iter(("k",))
class Row(list):
    def __iter__(self): return itertools.count()
gap = lambda *a: Pairs(k=1)
counts = stored = lambda *a: Row([1])
"""
LYING_ARRAY = """
import numpy as np
class Array(np.ndarray):
    size = property(lambda self: -10**9)
    shape = property(lambda self: (4,))
    def tolist(self): return [0] * 10**7
gap = counts = stored = lambda *a: np.zeros(10**6).view(Array)
"""
RAISES_AT_EVERYTHING = """
class Bomb:
    def __getattribute__(self, name): raise SystemExit
    __eq__ = __hash__ = __bool__ = __len__ = __repr__ = __iter__ = None
class Error(Exception):
    def __str__(self): raise SystemExit
    __repr__ = __str__
gap = counts = lambda *a: Bomb()
def stored(*arguments):
    raise Error(Bomb())
raise Error(Bomb())
"""
ON_THE_GRADER = {
    "metadata-that-lies": Case(lies(), NONE, "Not written yet"),
    "equality": after(ALWAYS, "and this is not right"),
    "forged-lines": attack(FORGE.replace("\\\\", "\\"), "wrote into the pipe of the grader"),
    "forged-with-id": attack(FORGE_WITH_ID, "True or False, and this is not right"),
    "flood": attack(FLOOD, "answered more than can be read"),
    "patched-numpy": after(PATCH, "something other than numbers"),
    "leak": Case(
        answers(q2="def counts(x, n):" + LEAK.replace("\n", "\n    ")), BUT_Q2, "Exception"
    ),
    "twins": attack(TWINS, "0 points so far"),
    "impostor": attack(IMPOSTOR, "True or False, and this is not right"),
    "frames": after(FRAMES, "not right"),
    "own-encoder": after(OWN_ENCODER, "a dictionary, and this is not right"),
    "no-clock": after(NO_CLOCK, "more than 2 seconds"),
    "always-raises": after(RAISES, "this same answer every time"),
    "endless": after(ENDLESS, "returned more than can be read"),
    "lying-array": after(LYING_ARRAY, "returned more than can be read"),
    "raises-at-everything": after(RAISES_AT_EVERYTHING, "something other than numbers"),
}

# ---- attacks on the machine and on other students' work: files, network, processes

SPY = """
import os, socket, sys
found = []
for place in ("/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline", "/proc/mounts"):
    try:
        text = open(place, "rb").read()
    except OSError:
        continue
    found += [place for word in (b"{secret}", b"CANARY") if word in text]
found += [name for name in os.environ if "CANARY" in name]
for root, folders, files in os.walk("/"):
    if root in ("/usr/lib", "/packages", "{python}/lib", "/proc", "/sys", "/dev"):
        folders.clear()
        continue
    for name in files:
        path = os.path.join(root, name)
        try:
            if os.path.getsize(path) < 10**6:
                text = open(path, "rb").read()
                if b"{secret}" in text or b"Check(" in text or b"hand_in" in text:
                    found.append(path)
        except OSError:
            pass
        if name in ("checks.py", "reference.py", "solution.toml", "secret", "facts.json"):
            found.append(path)
        if name.endswith(".ipynb"):
            found.append(path)
import importlib.util
for name in ("calib_utils", "tools", "pytest", "torch", "netcal"):
    if importlib.util.find_spec(name):
        found.append(name)
assert not found, found
raise Warning("nothing to see")
"""
WRITER = """
import os, subprocess
done = []
for place in ("{folder}", "{folder}/graded/tiny", "{folder}/collected/tiny/full", "/", "/usr",
              "/usr/lib", "/packages", "/packages/numpy", "/grader", "/dev", "/etc", "/proc",
              "/proc/sys/kernel", "/sys", "{python}/lib", "/root", "/home", "/var/tmp"):
    try:
        open(place + "/written.json", "w").write('{{"status": "graded", "points": 6}}')
        done.append(place)
    except OSError:
        pass
    try:
        os.symlink("/tmp", place + "/link")
        done.append(place)
    except OSError:
        pass
for path in ("squares.npz", "/grader/inside.py", "/packages/numpy/__init__.py", "/dev/sda",
             "/dev/vda", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"):
    try:
        open(path, "r+b").write(b"x")
        done.append(path)
    except OSError:
        pass
assert not done, done
raise Warning("nothing to write")
"""
NETWORK = """
import socket
done = []
for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_INET, ("1.1.1.1", 53)),
                        (socket.AF_INET6, ("::1", {port})), (socket.AF_UNIX, "\\0canary-{port}")):
    try:
        s = socket.socket(family)
        s.settimeout(1)
        s.connect(address)
        done.append(address)
    except OSError:
        pass
try:
    done.append(socket.getaddrinfo("example.org", 80))
except OSError:
    pass
assert not done, done
raise Warning("nobody there")
"""
PRIVILEGE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
done = []
for name, call in {{
    "user namespace": lambda: libc.unshare(0x10000000),
    "mount namespace": lambda: libc.unshare(0x00020000),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "remount": lambda: libc.mount(None, b"/", None, 32, None),
    "root": lambda: libc.setuid(0),
    "chroot": lambda: libc.chroot(b"/tmp"),
    "nice": lambda: libc.setpriority(0, 0, -5),
    "limit": lambda: __import__("resource").setrlimit(6, (10**6, 10**6)) or 0,
}}.items():
    try:
        if call() == 0:
            done.append(name)
    except (OSError, ValueError):
        pass
try:
    os.kill(1, 9)
    os.kill(-1, 0)
except OSError:
    pass
assert not done, done
assert os.getuid() != 0
raise Warning("still nobody")
"""
MARKER = f"a-child-that-survives-{os.getpid()}"
CHILD = f"""
import os, subprocess, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600) #{MARKER}"])
    os._exit(0)
"""
FORK_BOMB = """
import os
while True:
    os.fork()
"""
TRACER = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
done = []
for pid in {1, os.getppid()} - {0}:
    for name in ("mem", "environ"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                done += [name] * bool(file.read(1))
        except (OSError, ValueError, OverflowError):
            pass
    if libc.ptrace(16, pid, None, None) == 0:
        done.append(pid)
assert not done, done
raise Warning("nobody to trace")
"""
DESCRIPTORS = """
import os
found = set()
for name in os.listdir("/proc/self/fd"):
    try:
        found.add(os.readlink(f"/proc/self/fd/{name}").split(":")[0])
    except OSError:
        pass
assert found <= {"pipe", "/dev/null", "/proc/1/fd", f"/proc/{os.getpid()}/fd"}, found
raise Warning("pipes alone")
"""


def on_the_machine(folder: str, port: int, secret: str, python: str) -> dict[str, Case]:
    """Attacks; they are told where the class is, on which port of this machine somebody listens,
    what the secret is, and where Python is: more than a student knows.
    """
    known = {"folder": folder, "port": port, "secret": secret, "python": python}
    return {
        "spy": attack(SPY.format(**known), "nothing to see"),
        "writer": attack(WRITER.format(**known), "nothing to write"),
        "network": attack(NETWORK.format(**known).replace("\\\\", "\\"), "nobody there"),
        "privilege": attack(PRIVILEGE.format(**known), "still nobody"),
        "child": attack(CHILD),
        "fork-bomb": attack(FORK_BOMB, "BlockingIOError"),
        "tracer": attack(TRACER, "nobody to trace"),
        "descriptors": attack(DESCRIPTORS, "pipes alone"),
    }
