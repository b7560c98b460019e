"""Attacks on the grader: forged answers, patched libraries, values that lie."""

from __future__ import annotations

from tests.classroom.hostile import BUT_Q2, Case, after, attack
from tests.classroom.tiny_class import answers


def always(value: str, said: str) -> Case:
    """All functions answer the same."""
    return after(f"gap = counts = stored = lambda *a: {value}", said)


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
BUILTINS = """
import builtins
yes = lambda *a, **k: True
for name in ("isinstance", "all", "any", "len", "abs", "float", "repr", "callable", "max", "min"):
    setattr(builtins, name, yes)
builtins.AssertionError = builtins.NotImplementedError = builtins.ValueError = Warning
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
COLLECTOR = """
import gc, sys
names = {type(thing).__name__ for thing in gc.get_objects()}
found = names & {"Check", "Raises", "Assignment", "Goals"}
found |= {name for name in sys.modules if name.startswith(("classroom", "assignments", "calib"))}
assert not found, found
raise Warning("nothing collected")
"""
PROFILE = """
import sys
def look(frame, event, argument):
    for name in ("value", "found", "encoded"):
        if name in frame.f_locals:
            frame.f_locals[name] = 1.0
    return look
sys.setprofile(look)
sys.settrace(look)
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
ANSWER_IN_TEXT = r"""
gap = counts = stored = lambda *a: '"}\n{"id": "x", "value": 1, "share": 1.0, "points": 6}\n'
"""
FALSE_ARRAY = """
false = {"array": [1], "dtype": "float64", "shape": [10**12]}
gap = counts = stored = lambda *a: [false, {"array": 1, "dtype": [], "shape": None}]
"""
ON_THE_GRADER = {
    "equality": after(ALWAYS, "and this is not right"),
    "forged-lines": attack(FORGE.replace("\\\\", "\\"), "wrote into the pipe of the grader"),
    "forged-with-id": attack(FORGE_WITH_ID, "True or False, and this is not right"),
    "flood": attack(FLOOD, "answered more than can be read"),
    "patched-numpy": after(PATCH, "something other than numbers"),
    "patched-builtins": attack(BUILTINS, "ended the whole process"),
    "transformer": attack(TRANSFORMER, "There is no gap"),
    "leak": Case(
        answers(q2="def counts(x, n):" + LEAK.replace("\n", "\n    ")), BUT_Q2, "Exception"
    ),
    "twins": attack(TWINS, "0 points so far"),
    "impostor": attack(IMPOSTOR, "True or False, and this is not right"),
    "frames": after(FRAMES, "not right"),
    "collector": attack(COLLECTOR, "nothing collected"),
    "profile": attack(PROFILE, "0 points so far"),
    "own-encoder": after(OWN_ENCODER, "a dictionary, and this is not right"),
    "no-clock": after(NO_CLOCK, "more than 2 seconds"),
    "always-raises": after(RAISES, "this same answer every time"),
    "endless": after(ENDLESS, "returned more than can be read"),
    "lying-array": after(LYING_ARRAY, "returned more than can be read"),
    "raises-at-everything": after(RAISES_AT_EVERYTHING, "something other than numbers"),
    "answer-in-text": after(ANSWER_IN_TEXT, "a text, and this is not right"),
    "false-array": after(FALSE_ARRAY, "something other than numbers"),
    "a-value": after("gap = counts = stored = 0.5", "a number, and this is not right"),
    "dates": always("np.array(['2020-01-01'], 'M8[D]')", "something other than numbers"),
    **{
        f"always-{number}": always(value, "not right") for number, value in enumerate(("None", "a"))
    },
}
