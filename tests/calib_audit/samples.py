"""Predictions that tests of the report share, most of them with a known fault."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logit

_RNG = np.random.default_rng(0)
SCORE = _RNG.random(300).round(4)
LABEL = (_RNG.random(300) < SCORE).astype(int)
PROBS = _RNG.dirichlet([1, 2, 3], 300)
CLASS = np.array([_RNG.choice(3, p=row) for row in PROBS])
NAMES = np.array(["cat", "dog", "고양이"])
# How often each of 3,000 rows counts.
TIMES = np.random.default_rng(0).integers(1, 5, 3_000)
# Overconfident scores, and what happened.
_RNG = np.random.default_rng(0)
BENT = _RNG.uniform(0.02, 0.98, 3_000).round(6)
HAPPENED = (_RNG.random(3_000) < expit(0.5 * logit(BENT) - 0.7)).astype(int)


def drawn(
    n: int, seed: int, slope: float = 1.0, shift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and labels of which logit(chance) = slope * logit(score) + shift."""
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 2, n).round(5).clip(1e-4, 1 - 1e-4)
    return score, (rng.random(n) < expit(slope * logit(score) + shift)).astype(int)


def calibrated(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 3, n)
    return {"score": score, "label": (rng.random(n) < score).astype(int)}


def happening(score: np.ndarray, gaps: np.ndarray, seed: int = 0) -> np.ndarray:
    """Labels of which more happen than is predicted, by the gap of each row."""
    chances = np.clip(score + gaps, 0, 1)
    return (np.random.default_rng(seed + 1).random(len(score)) < chances).astype(int)


def cells(n: int = 40_000) -> dict[str, Any]:
    """Right in each region and of each product, and 10 points off in each cell."""
    rng = np.random.default_rng(0)
    region, product = rng.choice(["N", "S"], n), rng.choice(["A", "B"], n)
    score = rng.uniform(0.3, 0.7, n)
    true = score + np.where((region == "N") == (product == "A"), 0.1, -0.1)
    label = (rng.random(n) < true).astype(int)
    return {"score": score, "label": label, "region": region, "product": product}


def two_plans(seed: int = 0, gap: float = 0.05, n: int = 12_000) -> dict[str, np.ndarray]:
    """Of plan a more happens than is predicted, and of b less, so that the mean is right."""
    rng = np.random.default_rng(seed)
    score = 0.1 + 0.8 * rng.beta(2, 3, n)
    plan = rng.choice(["a", "b"], n)
    chances = score + np.where(plan == "a", gap, -gap)
    return {"score": score, "label": (rng.random(n) < chances).astype(int), "plan": plan}


def of_patients(n: int = 60, visits: int = 12, seed: int = 0, shift: float = 0.0) -> dict[str, Any]:
    """Calibrated but for the shift; the visits of a patient have much in common."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n), rng.integers(1, 2 * visits, n))
    of_patient = rng.normal(0, 2, n)[patient]  # what the model knows
    luck = rng.normal(0, 1.5, n)[patient]  # and what it does not
    chances = expit(of_patient[:, None] + rng.normal(0, 1.5, (1, 2_000)))
    label = (rng.random(len(patient)) < expit(of_patient + luck)).astype(int)
    score = expit(np.log(chances.mean(axis=1) / (1 - chances.mean(axis=1))) + shift)
    return {
        "score": score,
        "label": label,
        "patient": np.char.add("p", patient.astype(str)),
        "ward": np.array(["east", "west"])[patient % 2],
    }


def copies(n: int = 100, times: int = 20, seed: int = 0) -> dict[str, Any]:
    """Calibrated forecasts, each repeated."""
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    label = (rng.random(n) < score).astype(int)
    race = np.repeat(np.arange(n), times)
    return {"score": score[race], "label": label[race], "race": race}


def too_high(n: int = 3_000, seed: int = 0) -> dict[str, np.ndarray]:
    """Scores in three plans and on four days, all of them a little too high."""
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    return {
        "score": score,
        "label": (rng.random(n) < score**1.3).astype(int),
        "plan": rng.choice(["a", "b", "c"], n),
        "day": np.datetime64("2026-06-01") + rng.integers(4, size=n),
    }


def too_high_of_classes(n: int = 3_000) -> dict[str, np.ndarray]:
    """The same plans and days, with three classes."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), n)
    label = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    classes = {f"prob_{k}": probs[:, k] for k in range(3)}
    return {**classes, "label": label, "plan": too_high(n)["plan"], "day": too_high(n)["day"]}


def logits_of_many(seed: int, n: int = 3_000, k: int = 100) -> np.ndarray:
    """Of a network of many classes, sure of one in each row."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k))
    z[np.arange(n), rng.integers(k, size=n)] += rng.normal(7, 3, n)
    return z


def tenths(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores .6 to .9, of which .5, .8, .7 and 1 came true: in ten bins each has a bin."""
    rates = {0.6: 0.5, 0.7: 0.8, 0.8: 0.7, 0.9: 1.0}
    score = np.repeat(list(rates), 200).astype(dtype)
    label = np.concatenate([np.arange(200) < 200 * rate for rate in rates.values()])
    return score, label.astype(np.int64)


def fraud(n: int = 200_000, seed: int = 0) -> dict[str, np.ndarray]:
    """Scores as they are met at work, right on average in the North, East and West.

    In the South the score is 40 % too low, and from the fifty-first of sixty days on the odds are
    2.2 times as high everywhere.
    """
    rng = np.random.default_rng(seed)
    days = np.sort(rng.integers(0, 60, n))
    region = rng.choice(["North", "East", "South", "West"], n)
    score = expit(rng.normal(-5.6, 1.5, n))
    odds = score / (1 - score)
    odds = odds * np.where(region == "South", 1 / 0.6, 1) * np.where(days >= 50, 2.2, 1)
    return {
        "score": score.round(6),
        "label": (rng.random(n) < odds / (1 + odds)).astype(int),
        "region": region,
        "day": np.datetime64("2026-04-01") + days,
    }
