"""The only file of ours in the sandbox: run a submission's cells, answer calls with plain JSON.

One request a line comes in, one answer a line goes out, and what the student's code prints goes
nowhere. Student's code shares this process and may do anything to it, forge answers too. It gains
nothing by that: what comes out is data, which the grader judges outside (`classroom.grade`).
Nothing here knows an expected value. Only the standard library and NumPy are imported.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import json
import math
import os
import random
import re
import sys
import types
from typing import Any

import numpy as np

MAX_BYTES = 5_000_000  # of one answer, as JSON
MAX_ITEMS = 200_000  # of one answer: numbers, strings, lists, dictionaries
MAX_DEPTH = 20
MESSAGE = 300  # characters of an exception's message
MAGIC = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<name>[\w.]+)[ \t]*=[ \t]*[!%].*|[!%?].*|[\w.]+\?\??[ \t]*)"
)
DTYPES = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
}


class NotPlain(ValueError):
    """A value that is no plain data, or too much of it. The message is a word of `encode`."""


def encode(value: Any, depth: int = MAX_DEPTH, budget: list[int] | None = None) -> Any:
    """Turn a value into what JSON can hold.

    Args:
        value: ``None``, a truth value, a number, a string, a NumPy array of these, or lists,
            tuples and dictionaries with string keys of all this.
        depth: How many levels of lists may follow.
        budget: The number of items that are left.

    Returns:
        The same as plain lists and dictionaries; an array as
        ``{"array": flat list, "dtype": name, "shape": list}``.

    Raises:
        NotPlain: ``"type"``, ``"deep"`` or ``"large"``.
    """
    budget = [MAX_ITEMS] if budget is None else budget
    budget[0] -= value.size if isinstance(value, np.ndarray) else 1
    if budget[0] < 0:
        raise NotPlain("large")
    if depth < 0:
        raise NotPlain("deep")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.dtype.name in DTYPES:
        flat = np.asarray(value).ravel().tolist()
        return {"array": flat, "dtype": value.dtype.name, "shape": list(value.shape)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO":
        value = value.tolist()
    if isinstance(value, bool | float | str) or value is None:
        return value
    if isinstance(value, int):
        if value.bit_length() > 1024:
            raise NotPlain("large")
        return int(value)
    if isinstance(value, list | tuple):
        return [encode(item, depth - 1, budget) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {str(key): encode(item, depth - 1, budget) for key, item in value.items()}
    raise NotPlain("type")


def decode(value: Any, budget: list[int] | None = None) -> Any:
    """Undo `encode`; tuples come back as lists. Nothing is trusted: anybody may have encoded it.

    Args:
        value: What JSON gave.
        budget: The number of items that are left.

    Raises:
        NotPlain: ``"large"``, or ``"array"`` where what says that it is an array is none.
    """
    budget = [MAX_ITEMS] if budget is None else budget
    budget[0] -= 1
    if budget[0] < 0:
        raise NotPlain("large")
    if isinstance(value, list):
        return [decode(item, budget) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() != {"array", "dtype", "shape"}:
        return {key: decode(item, budget) for key, item in value.items()}
    flat, dtype, shape = value["array"], value["dtype"], value["shape"]
    if (
        not (isinstance(flat, list) and isinstance(shape, list))
        or not (isinstance(dtype, str) and dtype in DTYPES)
        or not all(isinstance(item, int | float) for item in flat)
        or not all(type(n) is int and 0 <= n <= MAX_ITEMS for n in shape)
        or len(shape) > MAX_DEPTH
        or math.prod(shape) != len(flat)
    ):
        raise NotPlain("array")
    budget[0] -= len(flat)
    if budget[0] < 0:
        raise NotPlain("large")
    try:
        return np.array(flat, dtype=dtype).reshape(shape)
    except (OverflowError, ValueError):
        raise NotPlain("array") from None


def describe(error: BaseException) -> dict[str, Any]:
    """Say which built-in exception it was, and the last line of a cell that it passed.

    A class of the student's own goes by its built-in parent, so that no name carries anything.
    """
    names = [c.__name__ for c in type(error).__mro__ if vars(builtins).get(c.__name__) is c]
    place, trace = [None, None], error.__traceback__
    while trace is not None:
        place = _place(trace.tb_frame.f_code.co_filename, trace.tb_lineno) or place
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        place = _place(error.filename, error.lineno) or place
    return {"types": names, "cell": place[0], "line": place[1]}


def _place(filename: Any, line: Any) -> list[Any] | None:
    found = str(filename).startswith("<cell ") and str(filename)[6:-1]
    return [int(found), line] if found and found.isdecimal() else None


def plain_python(source: str, filename: str) -> ast.Module:
    """Parse a cell; a line that only Jupyter knows, and that Python stops at, does nothing.

    Raises:
        SyntaxError: It is no Python without such lines either.
    """
    lines = source.split("\n")
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith("%%") and first.split()[0] not in {"%%time", "%%timeit", "%%capture"}:
        lines = []
    while True:
        try:
            return ast.parse("\n".join(lines), filename)
        except SyntaxError as error:
            place = (error.lineno or 0) - 1
            found = MAGIC.fullmatch(lines[place]) if 0 <= place < len(lines) else None
            if found is None:
                raise
            given = found["name"]
            lines[place] = found["indent"] + (f"{given} = None" if given else "pass")


def run_cell(source: str, filename: str, names: dict[str, Any]) -> None:
    """Run a cell statement by statement: one that fails does not stop the next.

    So an import of what is not here costs no function that stands below it.

    Raises:
        BaseException: What the first statement that failed has raised.
    """
    flags, failed = 0, []
    for statement in plain_python(source, filename).body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            features = [getattr(__future__, alias.name, None) for alias in statement.names]
            flags |= sum(getattr(feature, "compiler_flag", 0) for feature in features)
        try:
            code = compile(ast.Module([statement], []), filename, "exec", flags, dont_inherit=True)
            exec(code, names)
        except BaseException as error:
            failed.append(error)
    if failed:
        raise failed[0]


class Session:
    """The student's namespace, and what may be asked of it."""

    def __init__(self) -> None:
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main  # where dataclasses and pickle look
        self.names = vars(main)
        self.names["display"] = lambda *values, **options: None  # Jupyter's own

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run a cell, or call a function. Whatever happens is an answer."""
        try:
            if "cell" in request:
                run_cell(request["source"], f"<cell {request['cell']}>", self.names)
                return {"done": True}
            if request["function"] not in self.names:
                return {"missing": True}
            found = self.names[request["function"]]
            if callable(found):
                value = found(*(decode(argument) for argument in request["arguments"]))
            else:
                value = found  # a question may ask for a value instead of a function
        except BaseException as error:
            message = ""
            if "cell" in request:  # before any hidden input has come
                try:
                    message = str(error)[:MESSAGE]
                except BaseException:
                    message = ""
            return {"raised": describe(error), "message": message}
        try:
            encoded = encode(value)
            if len(json.dumps(encoded)) > MAX_BYTES:
                raise NotPlain("large")
            return {"value": encoded}
        except NotPlain as error:
            return {"not_plain": str(error)}
        except BaseException:  # a class of the student's own, or no memory
            return {"not_plain": "type"}


def limit(limits: dict[str, int]) -> None:
    """Set what this process and its children may use: `resource`'s names and numbers."""
    import resource  # here, since the grader imports this file on systems without it, too

    for name, most in limits.items():
        resource.setrlimit(getattr(resource, name), (most, most))


def more_time(seconds: int) -> None:
    """Give the next step so many seconds of processor time: then the process ends."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(used.ru_utime + used.ru_stime) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (min(soft, most) if most >= 0 else soft, most))


def main() -> None:
    """Answer requests until there are no more."""
    requests, answers, process = os.fdopen(os.dup(0), "rb"), os.dup(1), os.getpid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)

    def send(answer: dict[str, Any]) -> None:
        line = json.dumps(answer).encode() + b"\n"
        while line:
            line = line[os.write(answers, line) :]

    settings = json.loads(requests.readline())
    limit(settings["limits"])
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (students' code may use it)
    session = Session()
    send({"id": settings["id"], "ready": True})
    for line in requests:
        request = json.loads(line)
        more_time(settings["seconds"])
        answer = session.answer(request)
        if os.getpid() != process:
            os._exit(0)  # a child that the student's code forked came back here
        send({"id": request["id"], **answer})


if __name__ == "__main__":
    main()
