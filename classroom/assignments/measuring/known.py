"""What is right on a sheet of "Measure by group": for the teacher who marks it."""

from __future__ import annotations

from typing import Any

import numpy as np

from classroom.assignments.measuring.checks import photographs, roles
from classroom.assignments.measuring.reference import (
    classwise_error,
    compare_groups,
    signed_gap,
    signed_gaps,
)
from classroom.secret import drawn_labels, generator
from classroom.variants import Variant

N_DRAWS = 20  # as the sheet asks for them
FAULTY = ("over", "under")


def listed(numbers: Any) -> str:
    return ", ".join(f"{number:.3f}" for number in numbers)


def known(secret: bytes, variant: Variant) -> dict[str, str]:
    """The gaps and errors of all images and of each camera, by name."""
    found = photographs(secret, variant["min_size"])
    probs, labels, weights, cameras = found.values()
    tops = (probs.max(axis=1), probs.argmax(axis=1) == labels, weights)
    rng = generator(secret, "measuring", "chance")

    def errors(said: Any = labels, heavy: Any = weights) -> list[float]:
        return [
            classwise_error(probs[rows], said[rows], heavy[rows], variant=variant)
            for rows in cameras == np.arange(6)[:, None]
        ]

    own, drawn = errors(), [errors(drawn_labels(rng, probs)) for _ in range(N_DRAWS)]
    sizes = np.bincount(cameras)
    usual = np.mean(drawn, axis=0)
    worst = int(np.argmax(np.where(sizes >= variant["min_size"], own, -1)))
    # One whose error is not by chance, for comparison.
    other = next(c for c, role in enumerate(roles(secret)) if role in FAULTY and c != worst)
    alone = {**variant, "camera": "alone"}
    answer = compare_groups(probs, labels, weights, cameras, variant=variant)
    return {
        **{role: str(camera) for camera, role in enumerate(roles(secret))},
        "n": f"{len(labels):,}",
        "sizes": ", ".join(map(str, sizes)),
        "all_gap": f"{signed_gap(*tops, variant=variant):.3f}",
        "gaps": listed(signed_gaps(*tops, cameras, 6, variant=alone)),
        "all_error": f"{classwise_error(probs, labels, weights, variant=variant):.3f}",
        "errors": listed(own),
        "equal_errors": listed(errors(heavy=np.ones(len(labels)))),
        "usual_errors": listed(usual),
        "largest_errors": listed(np.max(drawn, axis=0)),
        "compared": f"{answer:.3f}" if isinstance(answer, float) else str(answer),
        "worst": str(worst),
        "worst_rows": str(sizes[worst]),
        "worst_error": f"{own[worst]:.3f}",
        "worst_usual": f"{usual[worst]:.3f}",
        "other": str(other),
        "other_error": f"{own[other]:.3f}",
        "other_usual": f"{usual[other]:.3f}",
    }
