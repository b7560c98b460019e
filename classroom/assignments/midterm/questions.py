"""The fifteen questions of the mid-term, with keys: numbers are drawn, and the keys computed.

Each function is a question. It draws its numbers and returns the text and the key.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.isotonic import IsotonicRegression

from classroom.assignments.measures import Array
from classroom.page import percent

Question = tuple[str, str]


def listed(numbers: Array, form: str = "g") -> str:
    return ", ".join(f"{number:{form}}" for number in numbers)


def errors_to_expect(rng: np.random.Generator) -> Question:
    n, c = int(rng.choice([100, 225, 400])), float(rng.choice([0.64, 0.8, 0.9]))
    spread = np.sqrt(n * c * (1 - c))
    return (
        f"A calibrated network makes {n} predictions, each with confidence {c:g}. How many errors "
        "do you expect, and by how many does their number differ by chance (one standard "
        "deviation)?",
        f"{n * (1 - c):g} errors, give or take {spread:.1f}: √(n c (1 - c)).",
    )


def always_the_base_rate(rng: np.random.Generator) -> Question:
    rate = float(rng.choice([0.2, 0.3, 0.4]))
    return (
        f"It rains on {percent(rate)} of the days of a year. A service announces {percent(rate)} "
        "on every day. Is it calibrated, what is its Brier score (of rain alone: the mean of "
        "(p - y)², where y is one if it rains and zero if not), and what is missing?",
        f"It is calibrated. The Brier score is p(1 - p) = {rate * (1 - rate):.2f}; summed "
        "over both classes it would be twice that. It has no resolution: no day can be told from "
        "another.",
    )


def bins_by_hand(rng: np.random.Generator) -> Question:
    sizes = rng.permutation([20, 30, 50])
    correct = np.array(
        [int(size * share) for size, share in zip(sizes, (0.5, 0.6, 0.7), strict=True)]
    )
    said = np.array([0.55, 0.75, 0.95])
    gaps = np.abs(correct / sizes - said)
    rows = "; ".join(
        f"{n} predictions, mean confidence {c}, {k} correct"
        for n, c, k in zip(sizes, said, correct, strict=True)
    )
    return (
        f"Three bins hold: {rows}. Compute the ECE and the MCE.",
        f"Gaps {listed(gaps, '.2f')}. ECE {percent((gaps * sizes).sum() / 100, 1)}, MCE "
        f"{percent(gaps.max(), 1)}.",
    )


def gaps_that_cancel(rng: np.random.Generator) -> Question:
    gap = float(rng.choice([0.05, 0.1, 0.15]))
    return (
        f"Half of the predictions have confidence 0.9 and an accuracy of {0.9 - gap:.2f}, the "
        f"others confidence 0.6 and an accuracy of {0.6 + gap:.2f}. What are the mean confidence "
        "minus the accuracy, and the ECE? What does a single temperature do about it?",
        f"0, because the gaps cancel, and an ECE of {percent(gap)}. A temperature moves both "
        "groups in the same direction, so it repairs one and spoils the other.",
    )


def ece_of_a_calibrated_model(rng: np.random.Generator) -> Question:
    m, c = int(rng.choice([25, 100])), float(rng.choice([0.5, 0.8]))
    gap = np.sqrt(2 / np.pi * c * (1 - c) / m)
    return (
        f"A calibrated model makes {m} predictions in each of its bins, all with confidence {c:g}. "
        "About how large is its ECE on average? (The mean of |z| for a standard normal z is 0.8.) "
        "How many predictions a bin would halve it?",
        f"About 0.8 √(c(1 - c)/m) = {percent(gap, 1)}, although the model is calibrated. Four "
        f"times as many, {4 * m}.",
    )


def merged_bins(rng: np.random.Generator) -> Question:
    a, b = float(rng.choice([0.04, 0.06])), float(rng.choice([0.1, 0.12]))
    return (
        f"Two bins with equally many predictions have accuracy minus confidence of +{a:g} and "
        f"-{b:g}. What is the ECE of the two, and what is it after they are merged into one bin? "
        "Can merging ever increase an ECE?",
        f"{percent((a + b) / 2, 1)} before and {percent(abs(a - b) / 2, 1)} after. Never: the size "
        "of a mean is at most the mean of the sizes.",
    )


def two_logits(rng: np.random.Generator) -> Question:
    a, t = float(rng.choice([2, 3, 4])), float(rng.choice([1.5, 2, 4]))
    before, after = (1 / (1 + np.exp(-z)) for z in (a, a / t))
    return (
        f"A network with two classes has the logits {a:g} and 0. What is its confidence, and what "
        f"is it with a temperature of {t:g}?",
        f"{before:.3f}, and {after:.3f}: the sigmoid of the difference of the logits, divided by "
        "T.",
    )


def temperature_to_fit(rng: np.random.Generator) -> Question:
    a, p = float(rng.choice([2, 3, 4])), float(rng.choice([0.75, 0.8, 0.9]))
    t = a / np.log(p / (1 - p))
    return (
        f"In all its predictions a network with two classes has logits that differ by {a:g}, and "
        f"it is correct in {percent(p)} of them. Which temperature makes it calibrated? What has "
        "happened to the accuracy?",
        f"T = {a:g} / ln(p / (1 - p)) = {t:.2f}. The accuracy stays.",
    )


def what_a_temperature_keeps(rng: np.random.Generator) -> Question:
    asked = rng.permutation(
        ["the accuracy", "the NLL", "the ECE", "the predicted class of each image"]
    )
    return (
        f"Which of these can a temperature change: {', '.join(asked)}? And can it change which of "
        "two images has the higher confidence, with two classes and with ten?",
        "The NLL and the ECE; not the accuracy or a predicted class. With two classes the order of "
        "the confidences stays, with ten it may change.",
    )


def after_the_last_error(rng: np.random.Generator) -> Question:
    a = float(rng.choice([2, 3, 4]))
    right, wrong = ([np.log1p(np.exp(-s * z)) for z in (a, 2 * a)] for s in (1, -1))
    return (
        "A network with two classes classifies all training images correctly, with logits that "
        f"differ by {a:g}. Training goes on and doubles all logits. What happens to the loss (NLL) "
        f"of a training image, and to that of a test image that is misclassified by {a:g}?",
        f"Training: from {right[0]:.3f} to {right[1]:.4f}. Test: from {wrong[0]:.2f} to "
        f"{wrong[1]:.2f}. The training loss still falls while confident errors become expensive: "
        "overconfidence.",
    )


def a_fitted_sigmoid(rng: np.random.Generator) -> Question:
    a, b, s = (
        float(rng.choice([0.5, 0.8])),
        float(rng.choice([-1, -0.4])),
        float(rng.choice([1, 2, 3])),
    )
    return (
        f"Platt scaling has found the slope {a:g} and the intercept {b:g}. Which probability does "
        f"it give to a logit of {s:g}, and at which logit is it one half? What does the slope say?",
        f"{1 / (1 + np.exp(-(a * s + b))):.3f}; one half at {-b / a:g}. A slope below 1 shrinks "
        "the logits: the model was overconfident.",
    )


def pooled_neighbours(rng: np.random.Generator) -> Question:
    labels = np.array([0, *rng.permutation([0, 0, 1, 1]), 1])
    fit = IsotonicRegression().fit_transform(np.arange(len(labels)), labels)
    return (
        f"In ascending order of their scores, six samples have the labels {listed(labels)}. Which "
        "values does isotonic regression give to them? Name one drawback with so few samples.",
        f"{listed(fit.round(2))}. It gives probabilities of exactly 0 or 1, or steps that follow "
        "single samples.",
    )


def parts_of_the_brier_score(rng: np.random.Generator) -> Question:
    high, low = float(rng.choice([0.7, 0.8])), float(rng.choice([0.2, 0.3]))
    said = float(rng.choice([0.1, 0.15]))  # too much; even then it is below one
    miscalibration, base = said**2, (high + low) / 2
    resolution = ((high - base) ** 2 + (low - base) ** 2) / 2
    score = miscalibration - resolution + base * (1 - base)
    return (
        f"On half of the days a service announces {high + said:.2f} and it rains on "
        f"{percent(high)} of them, on the others it announces {low + said:.2f} and it rains on "
        f"{percent(low)}. The Brier score of rain alone, the mean of (p - y)², is miscalibration - "
        "resolution + uncertainty: the mean square of forecast minus frequency, that of frequency "
        "minus base rate, and the score of a service that always announces the base rate. Compute "
        "all four. What would recalibration save?",
        f"Miscalibration {miscalibration:.4f}, resolution {resolution:.4f}, uncertainty "
        f"{base * (1 - base):.4f}, Brier score {score:.4f}. Recalibration saves the "
        "miscalibration.",
    )


def fitted_on_the_test_set(rng: np.random.Generator) -> Question:
    n = int(rng.choice([500, 1000, 2000]))
    return (
        f"A report says: we fitted a vector of 20 parameters on our {n} test images, and the ECE "
        "on them fell from 6 % to 1 %. What is wrong, how would you correct it without new images, "
        "and what does the 1 % have to be compared with?",
        "The same images were used to fit and to report, so the 1 % is too good. Split them, or "
        "cross-validate. Compare with the ECE that a calibrated model would have on as many "
        "images.",
    )


def smoothed_labels(rng: np.random.Generator) -> Question:
    k, share = int(rng.choice([5, 10, 20])), float(rng.choice([0.1, 0.2]))
    return (
        f"A network with {k} classes is trained with label smoothing of {share:g}: this share of "
        "each label is spread equally over all classes, the true one among them. What is the "
        "target of the true class and that of each other class? At which confidence is the "
        "training loss of an image lowest, and what may follow for its calibration?",
        f"{1 - share + share / k:.3f} and {share / k:.3f}. At a confidence of "
        f"{1 - share + share / k:.3f}, so images that are certain become underconfident, and the "
        "smoothing acts like a temperature.",
    )


QUESTIONS: tuple[Callable[[np.random.Generator], Question], ...] = (
    errors_to_expect,
    always_the_base_rate,
    bins_by_hand,
    gaps_that_cancel,
    ece_of_a_calibrated_model,
    merged_bins,
    two_logits,
    temperature_to_fit,
    what_a_temperature_keeps,
    after_the_last_error,
    a_fitted_sigmoid,
    pooled_neighbours,
    parts_of_the_brier_score,
    fitted_on_the_test_set,
    smoothed_labels,
)
