"""Measure what copied answers are worth: `PYTHONPATH=. python tests/classroom/classmates.py`.

It pastes the published solution, and the solution of each other sheet of a class, into sheets, and
counts the automatic points. `book/tables/classmates.json` keeps the shares, and the teacher's guide
shows them. Running it takes some minutes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax

from classroom.assignments.lab.reference import report, split
from classroom.goals import load
from classroom.variants import PUBLISHED, SHEETS, secret_of, variant_of
from tests.classroom.answering import (
    NAMES,
    marked,
    most,
    pasted,
    points,
    remembering,
    run,
    sheet_checks,
    write_data,
)

STORED = Path(__file__).parents[2] / "book/tables/classmates.json"
CLASSES = [f"class {number}".encode() for number in range(10)]
STUDENTS = ("1", "4", "7")


@contextlib.contextmanager
def desk(name: str, secret: bytes, sheet: str) -> Iterator[io.StringIO]:
    """A folder with the data of a sheet, in which nobody sees what cells print: it comes back."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_data(name, secret, sheet, Path(folder))
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                yield said
        finally:
            os.chdir(before)


def copied(name: str, secret: bytes, sheet: str, of: str = PUBLISHED) -> dict[str, Any]:
    """The result of a sheet with pasted answers; by default the published ones."""
    with desk(name, secret, sheet):
        names = run(pasted(name, secret, sheet, of), strict=False)
        for function in {"record", "train_and_predict"} & names.keys():
            names[function] = remembering(names[function])
        return marked(name, known_checks(name, secret, sheet), names)


def share(name: str, secret: bytes, sheet: str, of: str = PUBLISHED) -> float:
    """The share of the automatic points that they earn."""
    return points(copied(name, secret, sheet, of)) / most(name)


known_checks = cache(sheet_checks)  # which know the other variants once they have been asked


def shares_of(annotations: np.ndarray, way: str) -> np.ndarray:
    """The share of each class, row by row."""
    if way in ("label", "pair"):
        people = annotations.reshape(len(annotations), -1)
        return np.eye(int(people.max()) + 1)[people].mean(axis=1)
    if way == "sure":
        n_classes = int(annotations[:, 0].max()) + 1
        found = np.repeat((100 - annotations[:, 1:]) / (n_classes - 1), n_classes, axis=1)
        found[np.arange(len(found)), annotations[:, 0]] = annotations[:, 1]
        return found / 100
    counts = annotations if way == "votes" else annotations == 0
    return counts / counts.sum(axis=1, keepdims=True)


def output_of(logits: np.ndarray, way: str) -> np.ndarray:
    """Logits as the sheet asks for them."""
    return {
        "logits": lambda: logits,
        "normalised": lambda: log_softmax(logits, axis=1),
        "reference": lambda: logits - logits[:, :1],
        "top": lambda: logits - logits.max(axis=1, keepdims=True),
    }[way]()


def nearest(secret: bytes, sheet: str) -> float:
    """What the lab gives for the five nearest images, with a little noise that the seed decides."""
    variant = variant_of("lab", secret, sheet)
    stored = load("lab").data(secret_of(secret, sheet), variant)["digits"]

    def train_and_predict(images: Any, annotations: Any, new_images: Any, seed: int) -> Any:
        shares = shares_of(annotations, variant["annotation"])
        noise = np.random.default_rng(seed).normal(0, 0.1, (len(new_images), shares.shape[1]))
        far = (images**2).sum(axis=1) - 2 * new_images @ images.T
        near = shares[np.argsort(far, axis=1)[:, :5]].mean(axis=1)
        return output_of(np.log(near + 0.02) + noise, variant["output"])

    def record() -> dict[str, Any]:
        mine = split(stored["labels"], stored["writers"], 7, variant=variant)
        images, annotations = stored["images"], stored["annotations"]
        new = images[np.concatenate(mine[1:])]
        logits = train_and_predict(images[mine[0]], annotations[mine[0]], new, 7)
        validation, test = np.split(logits, [len(mine[1])])
        return {"seed": 7, "split": mine, "validation_logits": validation, "test_logits": test}

    names = {
        "split": lambda *given: split(*given, variant=variant),
        "train_and_predict": train_and_predict,
        "record": record,
        "report": lambda *given: report(*given, variant=variant),
    }
    names = {name: remembering(function) for name, function in names.items()}
    return points(marked("lab", sheet_checks("lab", secret, sheet), names)) / most("lab")


def who_pastes(name: str) -> list[tuple[bytes, str]]:
    """The class and the sheet of who pastes the published solution: in the lab, one of a class."""
    return [
        (secret, sheet)
        for number, secret in enumerate(CLASSES)
        for sheet in (STUDENTS[number % 3] if name == "lab" else STUDENTS)
    ]


def measured(name: str) -> dict[str, Any]:
    """The shares of an assignment."""
    secret = CLASSES[0]
    published = [share(name, other, sheet) for other, sheet in who_pastes(name)]
    pairs = [[share(name, secret, own, of) for of in SHEETS if of != own] for own in SHEETS]
    best = [max(shares) for shares in pairs]
    found = {
        "published": np.mean(published),
        "classmate": np.mean(pairs),
        "best": np.mean(best),
        "most": max(best),
    }
    if name == "lab":
        found["nearest"] = np.mean([nearest(secret, sheet) for sheet in STUDENTS])
    return {key: round(float(value), 4) for key, value in found.items()}


def main(names: list[str]) -> None:
    for name in names or NAMES:
        found = measured(name)
        stored = json.loads(STORED.read_text("utf-8")) if STORED.is_file() else {}
        stored[name] = found
        print(name, stored[name], flush=True)
        ordered = {known: stored[known] for known in NAMES if known in stored}
        STORED.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
