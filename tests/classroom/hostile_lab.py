"""Attacks on the lab: training that does not train, records of nothing, reports that lie.

All other questions are stubs, or the reference where an attack needs an honest start.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LabCase:
    """A submission to the lab.

    Attributes:
        changed: The code of some questions; "first" and "last" are cells before and behind all.
        points: Of each question that earns any.
        said: What the student's page says.
        honest: The questions whose reference stands there.
    """

    changed: dict[str, str]
    said: str = "Not written yet"
    points: tuple[tuple[str, float], ...] = ()
    honest: tuple[str, ...] = ()


def trains(body: str, said: str) -> LabCase:
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    head = "def train_and_predict(*given):\n    seen, seen_labels, new_images, seed = given\n"
    return LabCase({"q2": head + lines}, said)


def records(change: str, said: str) -> LabCase:
    """An honest network, and a record that is of something else; only its split earns."""
    source = (
        f"honest = record\ndef record():\n    found = honest()\n    {change}\n    return found\n"
    )
    earned = (("q1", 2.0), ("q2", 4.0), ("q3", 1.0))
    return LabCase({"last": source}, said, earned, ("q1", "q2", "q3"))


def reports(value: str, said: str) -> LabCase:
    return LabCase({"q4": f"def report(*arguments):\n    return {value}\n"}, said)


WRONG = "an array, and this is not right"
SIX = '"temperature", "accuracy", "loss_before", "loss_after", "error_before", "error_after"'
LOOK_FOR_LABELS = """
import gc, sys
n, frame = len(new_images), sys._getframe()
found = [a for a in gc.get_objects() if isinstance(a, np.ndarray)]
while frame is not None:
    found += [a for a in frame.f_locals.values() if isinstance(a, (list, np.ndarray))]
    frame = frame.f_back
for one in found:
    if len(one) == n and np.ndim(one) == 1 and np.asarray(one).dtype.kind == "i":
        return 9 * np.eye(10)[one]
return np.zeros((n, 10))
"""
SEARCH = """
import os
found = []
for root, folders, files in os.walk("/"):
    if root in ("/usr/lib", "/packages", "/proc", "/sys", "/dev"):
        folders.clear()
    found += {"checks.py", "reference.py", "solution.toml", "secret"}.intersection(files)
assert not found, found
raise Warning("only the digits")
"""
ON_THE_LAB = {
    "looked-up": trains(
        "rows = [int(np.abs(images - image).sum(axis=1).argmin()) for image in new_images]\n"
        "return 9 * np.eye(10)[labels[rows]]",
        WRONG,
    ),
    "nearest-means": trains(
        "kinds = seen_labels if seen_labels.ndim == 1 else seen_labels.argmax(axis=1)\n"
        "means = np.array([seen[kinds == k].mean(axis=0) for k in range(10)])\n"
        "return -((new_images[:, None] - means) ** 2).sum(axis=2)",
        WRONG,
    ),
    "labels-from-memory": trains(LOOK_FOR_LABELS, WRONG),
    "another-shape": trains("return np.random.randn(10, len(new_images))", WRONG),
    "search": LabCase({"first": SEARCH}, "only the digits"),
    "record-of-the-labels": records(
        'found["validation_logits"], found["test_logits"] = '
        '(9 * np.eye(10)[labels[rows]] for rows in found["split"][1:])',
        "a dictionary, and this is not right",
    ),
    "record-with-a-strange-seed": records(
        'found |= {"seed": "1", "validation_logits": [], "test_logits": {}}',
        "a dictionary, and this is not right",
    ),
    "split-that-is-not-one": LabCase(
        {"q1": "def split(*given):\n    return [np.zeros(500, int), np.arange(997), [0]]\n"},
        "a list, and this is not right",
    ),
    "report-of-nothing": reports(
        f"dict.fromkeys([{SIX}], float('nan')) | {{'temperature': 5e-324}}",
        "a dictionary, and this is not right",
    ),
}
