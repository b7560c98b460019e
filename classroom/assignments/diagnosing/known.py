"""What is right on a sheet of "Three unknown networks": for the teacher who marks it."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from calib_utils.metrics import baseline_calibration_error
from classroom.assignments.diagnosing.checks import diagnoses, network
from classroom.assignments.diagnosing.reference import class_gaps, summary
from classroom.page import percent
from classroom.variants import Variant

BESIDE = "its mean confidence of {confidence} is {gap} points %s its accuracy of {accuracy}"
EVIDENCE = {
    "overconfident": BESIDE % "above",
    "underconfident": BESIDE % "below",
    "calibrated": "its mean confidence of {confidence} and its accuracy of {accuracy} are only "
    "{gap} points apart",
    "class bias": "the probabilities of {high} of its 20 classes are too high by more than three "
    "standard deviations",
}
ONE_CAUSE = (
    "A bias in some classes does not fit, because no class stands out: the largest of its 20 "
)
ONE_CAUSE += "gaps is {largest} standard deviations"
AGAINST = {
    "overconfident": ONE_CAUSE,
    "underconfident": ONE_CAUSE,
    "calibrated": ONE_CAUSE,
    "class bias": "A factor on all logits does not fit, because some classes stand out: the "
    "largest of the 20 gaps is {largest} standard deviations",
}


def known(secret: bytes, variant: Variant) -> dict[str, str]:
    """The true word for each network with the numbers that show it, by name.

    Those of ``off`` are of the first network that is over- or underconfident.
    """
    found: dict[str, str] = {}
    for name, word in diagnoses(secret).items():
        logits, labels = network(secret, name)
        asked = {**variant, "form": "logits", "gap": "excess"}
        seen = summary(logits, labels, variant=asked)
        gaps = class_gaps(logits, labels, variant=asked)  # above 0: too much is expected
        chance = np.sqrt(seen["accuracy"] * (1 - seen["accuracy"]) / len(labels))
        baseline = baseline_calibration_error(softmax(logits, axis=1), n_bins=variant["n_bins"])
        numbers = {
            **{key: percent(value, 1) for key, value in seen.items()},
            "gap": f"{100 * abs(seen['confidence'] - seen['accuracy']):.1f}",
            "noise": f"{100 * chance:.1f}",
            "largest": f"{np.abs(gaps).max():.1f}",
            "high": f"{(gaps > 3).sum()}",
            "baseline": percent(baseline.mean, 1),
        }
        found |= {name: word} | {f"{name}_{key}": text for key, text in numbers.items()}
        found[f"{name}_evidence"] = EVIDENCE[word].format_map(numbers)
        found[f"{name}_against"] = AGAINST[word].format_map(numbers)
    # Of three networks at least one: the sample answer is about it, whatever A is.
    off = next(name for name, word in diagnoses(secret).items() if word.endswith("confident"))
    keys = ("evidence", "against", "noise", "baseline")
    return found | {"off": off} | {f"off_{key}": found[f"{off}_{key}"] for key in keys}
