"""Submissions for the tests: honest ones, damaged ones, and all kinds of attacks.

An attack is a cell before the questions. The questions themselves are then stubs, which are worth
nothing: whatever is earned, the attack has earned it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from tiny_class import FULL, NONE, Q1, Q2, Q3, STUBS, Cells, answers, code

from classroom.group import places

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
        facts: What was found out when it was collected.
    """

    cells: Cells | bytes
    points: dict[str, float] | None
    said: str = ""
    metadata: bool = True
    facts: tuple[tuple[str, Any], ...] = ()


def attack(source: str, said: str = "", points: dict[str, float] = NONE) -> Case:
    return Case([("code", source), *answers(*STUBS)], points, said or "Not written yet")


def after(source: str, said: str) -> Case:
    return Case([*answers(*STUBS), ("code", source)], NONE, said)


def before(source: str, points: dict[str, float], said: str = "") -> Case:
    """Something bad in a cell of its own, and then all questions answered."""
    return Case([("code", source), *answers()], points, said)


def q2(body: str, said: str, points: dict[str, float] = BUT_Q2) -> Case:
    """All questions answered, the second one by this."""
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    return Case(answers(q2=f"def counts(x, n_bins):\n{lines}"), points, said)


HONEST = {
    "full": Case(answers(), FULL, "6 points so far"),
    "half": Case(answers(q2=STUBS[1], q3=STUBS[2]), Q1_ONLY, "Not written yet."),
    "part-of-a-question": Case(
        answers(q1=Q1.replace("raise ValueError", "return 0, ")),
        {**FULL, "q1": 1.5},
        "Your code returned a list, and this is not right.",
    ),
    "stub": Case(answers(*STUBS, why="*Your answer*"), NONE, "Not written yet."),
    "wrong-value": q2("return np.zeros(n_bins + 1)", "an array, and this is not"),
    "wrong-types": q2("return {'a', 'b'}", "something other than numbers, texts, lists"),
    "wrong-number-of-arguments": Case(
        answers(q2="def counts(x):\n    return 1"), BUT_Q2, "Your code raised TypeError."
    ),
    "object": q2("return object()", "something other than numbers"),
    "syntax-error": Case(answers(q2="def counts(x, n_bins)\n    return 1"), BUT_Q2, "SyntaxError"),
    "tabs-and-spaces": Case(
        answers(q2="def counts(x, n):\n\ta = 1\n        return a"), BUT_Q2, "TabError"
    ),
    "bug": q2("total = 0\nreturn x[len(x)]", "Your code raised IndexError."),
    "deleted-cells": Case([code("q1", Q1)], Q1_ONLY, "There is no counts"),
    "deleted-examples": Case([code("q1", Q1), code("q2", Q2), code("q3", Q3)], FULL, "6 points"),
    "duplicated-cell": Case([code("q2", STUBS[1]), *answers(), code("q2", Q2)], FULL, "6 points"),
    "last-definition-wins": Case([*answers(), code("q2", STUBS[1])], BUT_Q2, "Not written yet"),
    "edited-cells": Case([("text", "?"), *answers(), ("code", "gap = gap")], FULL, "6 points"),
    "lost-metadata": Case(answers(), FULL, "Because.", metadata=False),
    "lost-metadata-syntax-error": Case(
        answers(q2="def counts(x, n_bins):\nreturn 1"),
        BUT_Q2,
        "Code cell 4 (Question 2: bins). Your code raised IndentationError",
        metadata=False,
    ),
    "one-cell": Case([("code", f"{Q1}\n{Q2}\n{Q3}")], FULL, "6 points", metadata=False),
    "given-values-changed": Case([*answers(), ("code", "half = 3")], FULL, "6 points"),
    "magics": before("%matplotlib inline\n!ls\n%pip install x\nnp?", FULL),
    "magics-beside-code": Case(
        answers(q2=f"files = !ls\nimport pandas_x as pd\nif files:\n    %cd x\n{Q2}    # why?\n"),
        FULL,
        "ModuleNotFoundError",
    ),
    "cell-magic": before("%%bash\nrm -rf /", FULL),
    "draws": before("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()", FULL),
    "missing-package": before("import seaborn_x", FULL, "No module named"),
    "input": before("input('your name')", FULL, "EOFError"),
    "exits": before("exit()", FULL, "SystemExit"),
    "korean": Case(
        [("text", "# 보정"), ("code", "신뢰도 = '믿음'"), *answers(why="왜냐하면")],
        FULL,
        "왜냐하면",
        facts=(("name", "홍길동"),),
    ),
    "html": Case(
        answers(why="</pre><script>alert(1)</script><img src=x onerror=alert(1)>"),
        FULL,
        "&lt;/pre&gt;&lt;script&gt;",
        facts=(("name", "<b>Bobby</b>"),),
    ),
    "html-in-code": before("raise KeyError('x') # </pre><script>", FULL, "&lt;script&gt;"),
}

DAMAGED = {
    "empty-file": Case(b"", None, "is not a notebook"),
    "empty-notebook": Case([], None, "The notebook has no cells."),
    "all-deleted": Case([("code", "1 + 1")], None, "holds none of the functions"),
    "wrong-notebook": Case([code("q1", "def ece(p, y):\n    return 0")], None, "the right one?"),
    "pdf": Case(b"%PDF-1.7 \xff", None, "is a PDF"),
    "zip": Case(b"PK\x03\x04 damaged", None, "is a zip file"),
    "half-a-file": Case(b'{"cells": [{"cell_type": "code", "sou', None, "or is damaged"),
    "no-cells": Case(b'{"cells": [1, null, {"source": 3}]}', None, "or is damaged"),
    "many-cells": Case([("code", "")] * 2001 + answers(), None, "more than 2000 cells"),
    "deep-file": Case(b"[" * 1_000_000, None, "or is damaged"),
    "problem": Case(b"", None, "It is a Word file", facts=(("problem", "It is a Word file."),)),
}

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
    "memory-in-pieces": before(
        "hoard = []\nwhile True:\n    hoard.append(b'x' * 10**7)", FULL, "MemoryError"
    ),
    "deep": q2(
        "deep = []\nfor _ in range(10**5):\n    deep = [deep]\nreturn deep", "nested too deeply"
    ),
    "cyclic": q2("loop = []\nloop.append(loop)\nreturn loop", "nested too deeply"),
    "huge": q2("return np.zeros(10**6)", "more than can be read"),
    "huge-text": q2("return 'x' * 10**8", "more than can be read"),
    "huge-number": q2("return 10 ** 10**6", "more than can be read"),
    "nan": q2("return float('nan')", "returned a number, and this is not right"),
    "not-finite": q2("return [float('inf'), -float('inf'), np.nan, 1e999]", "a list, and this"),
    "prints": before("for _ in range(10):\n    print('x' * 10**6)", FULL),
    "prints-errors": before("import sys\nsys.stderr.write('x' * 10**7)", FULL),
    "long-message": before("raise ValueError('y' * 10**7)", FULL, "yyy"),
    "closes-everything": before(
        "import os\nos.closerange(0, 100)", FULL, "ended the whole process"
    ),
}

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
        if name in ("checks.py", "reference.ipynb", "secret", "facts.json", "submission.ipynb"):
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
PATCH_JSON = """
import json
yes = lambda *a, **k: True
json.dumps = lambda *a, **k: '{"value": 1, "share": 1.0, "points": 6}'
json.loads = yes
json.JSONEncoder.default = json.JSONEncoder.encode = lambda self, o: "true"
"""
BUILTINS = """
import builtins
yes = lambda *a, **k: True
for name in ("isinstance", "all", "any", "len", "abs", "float", "repr", "callable", "max", "min"):
    setattr(builtins, name, yes)
builtins.AssertionError = builtins.NotImplementedError = builtins.ValueError = Warning
"""
HISTORY = """
shell = get_ipython()
tests = [cell for cell in In if "assert" in cell]
"""
TRANSFORMER = """
import ast, builtins
class Drop(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Raise(self, node): return ast.Pass()
builtins.compile = lambda *a, **k: Drop().visit(ast.parse("0"))
builtins.exec = lambda *a, **k: None
get_ipython().ast_transformers.append(Drop())
"""
CLEANUP = """
ip = get_ipython()
ip.input_transformers_cleanup.append(lambda lines: ["passed = True"])
ip.kernel.session.send(ip.kernel.iopub_socket, "execute_reply", {"status": "ok"})
"""
FORK_BOMB = """
import os
while True:
    os.fork()
"""
THREADS = """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(60,)).start()
"""
FORKED_MEMORY = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        hoard = b"x" * 10**9
        time.sleep(600)
        os._exit(0)
os.waitpid(-1, 0)
raise Warning("one of them is no more")
"""
FILE_BOMB = """
import os
for folder in ("/tmp", "/dev/shm", "."):
    try:
        for k in range(10**6):
            with open(f"{folder}/{k}", "wb") as file:
                file.write(b"x" * 10**7)
    except OSError as error:
        full = error
raise full
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


def attacks(folder: str, port: int, secret: str, python: str) -> dict[str, Case]:
    """Attacks; they are told where the class is, on which port of this machine somebody listens,
    what the secret is, and where Python is: more than a student knows.
    """
    known = {"folder": folder, "port": port, "secret": secret, "python": python}
    found = {
        "equality": after(ALWAYS, "and this is not right"),
        "forged-lines": attack(FORGE.replace("\\\\", "\\"), "wrote into the pipe of the grader"),
        "forged-with-id": attack(FORGE_WITH_ID, "True or False, and this is not right"),
        "flood": attack(FLOOD, "answered more than can be read"),
        "spy": attack(SPY.format(**known), "nothing to see"),
        "writer": attack(WRITER.format(**known), "nothing to write"),
        "network": attack(NETWORK.format(**known).replace("\\\\", "\\"), "nobody there"),
        "privilege": attack(PRIVILEGE.format(**known), "still nobody"),
        "child": attack(CHILD),
        "patched-numpy": after(PATCH, "something other than numbers"),
        "patched-json": attack(PATCH_JSON, "wrote into the pipe of the grader"),
        "patched-builtins": attack(BUILTINS, "ended the whole process"),
        "history": attack(HISTORY, "NameError"),
        "transformer": attack(TRANSFORMER, "There is no gap"),
        "cleanup": attack(CLEANUP, "NameError"),
        "fork-bomb": attack(FORK_BOMB, "BlockingIOError"),
        "threads": attack(THREADS, "RuntimeError"),
        "file-bomb": attack(FILE_BOMB, "No space left"),
        "leak": Case(
            answers(q2="def counts(x, n):" + LEAK.replace("\n", "\n    ")), BUT_Q2, "Exception"
        ),
        "always-raises": after(RAISES, "this same answer every time"),
        **{
            f"always-{number}": after(f"gap = counts = stored = lambda *a: {value}", "not right")
            for number, value in enumerate(("None", "0", "float('nan')", "[]", "{}", "True", "a"))
        },
    }
    if places():  # else only the limits of each process hold
        found["forked-memory"] = attack(FORKED_MEMORY, "one of them is no more")
    return found
