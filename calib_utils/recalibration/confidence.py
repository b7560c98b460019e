"""A temperature for all classes, and then a map for the confidence in the predicted one."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from calib_utils._numerics import row_blocks
from calib_utils.recalibration.base import MulticlassRecalibrator
from calib_utils.recalibration.binary import BetaCalibration
from calib_utils.recalibration.temperature import TemperatureScaling


class BetaOnConfidence(MulticlassRecalibrator):
    """Temperature scaling, and then a beta map for the confidence.

    The map learns how often a prediction of each confidence is correct, as `BetaCalibration` does
    for two classes, so it corrects gaps that change their sign, which no temperature can. The other
    classes share what it leaves, in the proportions that the temperature gave them. If that is
    more than half, one of them may become the predicted class.

    If all predictions are correct, or none is, the fit uses Platt's soft targets, as
    `PlattScaling` does, and warns.

    Args:
        inputs: "logits", or "probs" for probabilities, zeros allowed.

    Attributes:
        temperature_: the temperature T.
        a_, b_: the weights of log s and of -log(1 - s), 0 or more, where s is the confidence at
            the temperature T.
        c_: the intercept.

    Source: the map is that of Kull, Silva Filho, Flach 2017, "Beta calibration"; that one for the
    confidence is enough is shown by Gupta, Ramdas 2022, "Top-label calibration and
    multiclass-to-binary reductions". Both are put together here.

    Example:
        >>> logits = [[2.0, 0.0, -1.0]] * 5 + [[9.0, 0.0, -1.0]] * 5
        >>> labels = [0, 0, 0, 0, 1] + [0, 0, 0, 1, 2]
        >>> found = BetaOnConfidence().fit(logits, labels).predict_proba(logits[4:6])
        >>> found.max(axis=1).round(2).tolist()
        [0.7, 0.7]
    """

    temperature_: float
    a_: float
    b_: float
    c_: float

    _numbers: ClassVar[tuple[str, ...]] = ("temperature_", "a_", "b_", "c_")

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        scaling = TemperatureScaling()
        problems = scaling._fit(logits, labels, weights)
        self.temperature_ = scaling.temperature_
        odds, correct = np.empty(len(logits)), np.empty(len(logits), np.int64)
        for rows, block in row_blocks(logits):
            _, first, rest = self._split(block)
            odds[rows], correct[rows] = -rest[:, 0], first[:, 0] == labels[rows]
        open_ = np.isfinite(odds)  # where other classes are possible
        beta = BetaCalibration()
        if open_.any():
            of_rows = None if weights is None else weights[open_]
            problems += [
                f"confidence: of correct predictions and others, {text}"
                for text in beta._fit(odds[open_], correct[open_], of_rows)
            ]
            self.a_, self.b_, self.c_ = beta.a_, beta.b_, beta.c_
        else:
            self.a_, self.b_, self.c_ = 1.0, 1.0, 0.0
        return problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return np.exp(self._predict_log(logits))

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        shares, first, rest = self._split(logits)
        alone = np.isneginf(rest)
        rest = np.where(alone, 0, rest)
        # The log-odds of the confidence are -rest.
        positive, negative = -np.logaddexp(0, rest), -np.logaddexp(0, -rest)
        odds = self.a_ * positive - self.b_ * negative + self.c_
        result = -np.logaddexp(0, odds) + shares
        np.put_along_axis(result, first, np.where(alone, 0, -np.logaddexp(0, -odds)), axis=1)
        return result

    def _split(self, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The logarithm of each other class's share of what the predicted one leaves, (N, K), with
        -inf for that class itself; its number, (N, 1); and the logarithm of the odds that another
        class is the right one, (N, 1).
        """
        first = logits.argmax(axis=1)[:, None]
        largest = np.take_along_axis(logits, first, axis=1)
        with np.errstate(over="ignore"):
            others = np.subtract(logits, largest, dtype=np.float64) / self.temperature_
        np.put_along_axis(others, first, -np.inf, axis=1)
        second = others.max(axis=1, keepdims=True)
        second[np.isneginf(second)] = 0
        others -= second  # before the logarithm is added, which may be small beside it
        with np.errstate(divide="ignore"):
            total = np.log(np.exp(others).sum(axis=1, keepdims=True))
        return others - np.where(np.isneginf(total), 0, total), first, second + total
