"""What a network gets on a sheet of the lab: for the teacher who reads the report."""

from __future__ import annotations

import numpy as np

from classroom.assignments.lab.checks import data
from classroom.assignments.lab.reference import report, split, train_and_predict
from classroom.page import percent
from classroom.variants import Variant

SEED = 1


def known(secret: bytes, variant: Variant) -> dict[str, str]:
    """The numbers of the report that the reference would write, by name."""
    given = data(secret, variant)["digits"]
    images, labels = given["images"].astype(float), given["labels"]
    first, *others = split(labels, given["writers"], SEED, variant=variant)
    validation, test = (labels[part] for part in others)
    logits = train_and_predict(
        images[first],
        given["annotations"][first],
        images[np.concatenate(others)],
        SEED,
        variant=variant,
    )
    n = len(validation)
    found = report(logits[:n], validation, logits[n:], test, variant=variant)
    names = zip(("train", "validation", "test"), (first, *others), strict=True)
    shares = ("accuracy", "error_before", "error_after")
    return {
        **{f"n_{name}": str(len(part)) for name, part in names},
        **{key: percent(found[key], 1) for key in shares},
        **{key: f"{found[key]:.3f}" for key in ("loss_before", "loss_after")},
        "temperature": f"{found['temperature']:.2f}",
    }
