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
from answering import (
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
from honest_lab import Way, answers, output_of, shares_of

from classroom.goals import load
from classroom.variants import PUBLISHED, SHEETS, secret_of, variant_of

STORED = Path(__file__).parents[2] / "book/tables/classmates.json"
CLASSES = [f"class {number}".encode() for number in range(10)]
STUDENTS = ("1", "4", "7")
WAY = Way(False, False, False, 45, 0.2, 40, False, False, 15)


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

    names = answers(WAY, variant, stored, 0, train_and_predict)
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
