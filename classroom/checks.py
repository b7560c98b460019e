"""What a hidden check is, and judges that most checks need.

An assignment's ``checks.py`` defines ``checks(secret, variant) -> list[Check]``. A check calls one
function of the student's with arguments that nobody can foresee, since they come from the secret.
What the function gives comes out of the sandbox as plain JSON, and a judge decides outside.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from classroom import ClassroomError
from classroom.inside import encode

Judge = Callable[..., bool | float]
Call = tuple[str, tuple[Any, ...]]  # the name of a function, and its arguments
NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Raised:
    """The student's function raised an exception.

    Attributes:
        type_name: The first built-in class among its classes, such as ``"ValueError"``.
        parents: The other built-in classes that it belongs to.
    """

    type_name: str
    parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Raises:
    """The judge of a check that expects an exception; made by `raises`."""

    types: tuple[str, ...]

    def __call__(self, answer: Any) -> bool:
        """Say whether the answer is an exception of these types. A stub's never is."""
        if not isinstance(answer, Raised):
            return False
        found = {answer.type_name, *answer.parents}
        return "NotImplementedError" not in found and not found.isdisjoint(self.types)


def raises(*types: type[BaseException]) -> Raises:
    """Judge: the function must raise a built-in exception of one of these types.

    Only this judge ever sees an exception; for every other one a check has then failed.
    """
    return Raises(tuple(t.__name__ for t in types))


def close(expected: Any, atol: float = 1e-9, rtol: float = 1e-6) -> Callable[[Any], bool]:
    """Judge: a number, or numbers of the same shape, within a tolerance.

    Args:
        expected: A number, a list or an array. NaN matches NaN.
        atol: The difference that is allowed.
        rtol: The difference that is allowed, relative to ``expected``.

    Returns:
        The judge. Lists and arrays count alike; truth values are no numbers.
    """
    wanted = np.asarray(expected, dtype=float)

    def judge(answer: Any) -> bool:
        found = np.asarray(answer)
        if found.dtype.kind not in "iuf" or found.shape != wanted.shape:
            return False
        return bool(np.allclose(found, wanted, rtol, atol, equal_nan=True))

    return judge


def partly(judge: Judge, *others: Judge) -> Judge:
    """Judge: all for what one judge takes, and half for what another one takes.

    So one misreading does not cost a whole question.
    """

    def judged(answer: Any) -> float:
        return 1.0 if judge(answer) else max(float(other(answer)) for other in others) / 2

    return judged


def follows(judge: Judge, made_of: Callable[[list[Any]], Any]) -> Judge:
    """Judge: what one judge takes, or what is right by the student's own earlier answers.

    Args:
        judge: Of the answer by itself.
        made_of: What the answer should then be, of the student's own answers (see `Check.own`).
            They count if they are numbers, and not all the same.
    """

    def judged(answer: Any, own: list[Any]) -> bool:
        if judge(answer):
            return True
        numbers = all(isinstance(o, int | float) and not isinstance(o, bool) for o in own)
        if not numbers or len(set(map(repr, own))) < 2:
            return False
        return close(made_of(own))(answer)

    return judged


def equal(expected: Any) -> Callable[[Any], bool]:
    """Judge: exactly this string, truth value, whole number, or list or dictionary of these.

    ``True`` is not 1 here, and lists, tuples and arrays count alike.
    """
    wanted = _plain(expected)

    def judge(answer: Any) -> bool:
        found = _plain(answer)
        return bool(found == wanted) and repr(found) == repr(wanted)

    return judge


def _plain(value: Any) -> Any:
    """Lists instead of arrays and tuples, dictionaries in the order of their keys."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    return value


@dataclass(frozen=True)
class Check:
    """One hidden check.

    Attributes:
        question: The question that it belongs to, such as ``"q1"``.
        name: What it is about, shown to the student: ``"empty bins"``. Never a value.
        function: The name of the student's function. Where the student's name holds something
            that cannot be called, this is the answer.
        arguments: What the function gets: plain data or NumPy arrays (see `encode`).
        judge: Gets the decoded answer, says whether it is right or what share of it, 0 to 1.
        weight: How much the check counts within its question, above 0.
        hint: The author's, shown when the check fails. Never a value.
        misread: The hint where a part is right: then the cause is known.
        own: Further calls of the student's functions, each a name and its arguments, or what makes
            them of the answer. The judge then gets a list of their answers, too; ``None`` for one
            that failed, and an empty list where there were none. Another process answers them,
            in an order drawn anew, and before the check itself where they do not depend on it: so
            no function can count its calls and say what another one has said.
        read: Reads an answer that earns nothing as one to a different variant, and gives its share
            and a hint, see `classroom.variants.reading`.
    """

    question: str
    name: str
    function: str
    arguments: tuple[Any, ...]
    judge: Judge
    weight: float = 1.0
    hint: str = ""
    misread: str = ""
    own: list[Call] | Callable[[Any], list[Call]] | None = None
    read: Callable[[Any], tuple[float, str]] | None = None

    def share(self, answer: Any, own: list[Any] | None = None) -> float:
        """What the judge says of an answer; see `own`."""
        return float(self.judge(answer) if self.own is None else self.judge(answer, own or []))

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.function):
            raise ClassroomError(f"check {self.name!r}: {self.function!r} is no name of a function")
        if not self.weight > 0:
            raise ClassroomError(
                f"check {self.name!r}: weight must be above 0, not {self.weight!r}"
            )
        if not isinstance(self.arguments, tuple):
            raise ClassroomError(f"check {self.name!r}: arguments must be a tuple, as in (probs,)")
        encode(self.arguments)  # fails here, not in the middle of a class
