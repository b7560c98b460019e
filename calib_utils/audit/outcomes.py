"""The outcomes of a verdict, the exit status of each, and what a tolerance allows."""

from __future__ import annotations

__all__ = ["BEYOND", "EXIT", "GROUPS", "TIMES", "UNDECIDED", "WITHIN", "allowed", "outcome_of"]

WITHIN, BEYOND, UNDECIDED, GROUPS, TIMES = "within", "beyond", "undecided", "groups", "times"
EXIT = {WITHIN: 0, BEYOND: 1, UNDECIDED: 3, GROUPS: 4, TIMES: 5}  # 2 is bad input


def allowed(tolerance: float, relative: float, predicted: float) -> float:
    """The largest error that is acceptable where a rate of ``predicted`` is expected.

    It is the tolerance or, where that would be large beside the rate of the rarer outcome, a part
    of this rate. An error of 2 points is small for a rate of 30 %, and huge for one of 1 %.

    Args:
        tolerance: 0 to 1.
        relative: the part of the rate, 0 to 1.
        predicted: the mean prediction, 0 to 1.
    """
    return min(tolerance, relative * min(predicted, max(1 - predicted, 0.0)))


def outcome_of(interval: tuple[float, float], tolerance: float) -> str:
    """The verdict of an interval of the error."""
    low, high = interval
    return WITHIN if high <= tolerance else BEYOND if low > tolerance else UNDECIDED
