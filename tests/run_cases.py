"""Runs made by hand, for the tests of what compares and draws runs."""

import numpy as np

from calib_utils.records import ExperimentRecord

N = 4_000


def ece(confidences: np.ndarray, correct: np.ndarray) -> float:
    """Equation 3 of Guo et al., with a loop over the bins."""
    total = 0.0
    for m in range(15):
        here = (confidences > np.float32(m / 15)) & (confidences <= np.float32((m + 1) / 15))
        total += abs(confidences[here].astype(float).sum() - correct[here].sum())
    return total / len(correct)


def record(level, seed: int, excess: float, network: str = "toy", **changes) -> ExperimentRecord:
    """Answers whose confidence is too high by ``excess``; the same images for every run."""
    rng = np.random.default_rng(7)
    truth = rng.uniform(0.2, 0.7, N)
    correct = np.random.default_rng([seed, int(100 * level)]).random(N) < truth
    confidences = (truth + excess).astype(np.float32)
    fields = {
        **{"grid": "depth", "protocol": "cpu", "name": f"{network}.depth-{level}.seed-{seed}"},
        **{"network": {"name": network, "depth": level}, "factor": "depth", "value": level},
        **{"seed": seed, "dataset": "digits", "training_images": 150, "recipe": {"epochs": 1}},
        **{"confidences": confidences, "correct": correct, "history": [], "temperature": 1.0},
        **{"error": 1 - correct.mean(), "nll": 1.0, "ece": ece(confidences, correct)},
        **{"nll_scaled": 1.0, "ece_scaled": 0.0, "versions": {}, "hardware": "", "date": ""},
    }
    return ExperimentRecord(**fields | changes)


CLAIMS = [("depth", 8, 56, "ece", "higher"), ("depth", 8, 56, "error", "lower")]
CALIBRATED = [record(8, seed, 0.0) for seed in range(3)]
OVERCONFIDENT = [record(56, seed, 0.1) for seed in range(3)]
