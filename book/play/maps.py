"""Watch a method overfit a few validation samples: `python -m book.play.maps TARGET`.

The model, its three sets and the methods are those of the chapter on two classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.special import logit
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB

from calib_utils.metrics import (
    baseline_calibration_error,
    brier_score,
    expected_calibration_error,
    reliability_bins,
)
from calib_utils.recalibration import (
    BayesianBinningIntoQuantiles,
    BetaCalibration,
    HistogramBinning,
    IsotonicRegression,
    PlattScaling,
    Recalibrator,
)
from tools.finishing import interactive as ui
from tools.finishing.interactive import percent

METHODS: dict[str, Callable[[], Recalibrator]] = {
    "Platt": PlattScaling,
    "Platt, smooth": lambda: PlattScaling(smooth_targets=True),
    "beta": BetaCalibration,
    "isotonic": IsotonicRegression,
    "histogram, width": lambda: HistogramBinning(10),
    "histogram, mass": lambda: HistogramBinning(10, "quantile"),
    "BBQ": BayesianBinningIntoQuantiles,
}
SIZES = [10, 15, 20, 30, 40, 50, 60, 80, 100, 130, 160, 200, 240, 280, 320, 359]
DRAWS = 4
APART = 80  # digits, from where one set begins to where the next does
N_BINS = 10
# So fine that a step is as steep as one can see.
GRID = np.linspace(0.0005, 0.9995, 2001)
CLOSE = 0.003  # less than a pixel


def sets() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Log-odds and labels of the validation digits, then of the test digits."""
    X, digits = load_digits(return_X_y=True)
    y = digits % 2
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, train_size=0.4, stratify=y, random_state=0
    )
    X_val, X_test, y_val, y_test = train_test_split(
        X_rest, y_rest, train_size=1 / 3, stratify=y_rest, random_state=0
    )
    model = BernoulliNB(binarize=8).fit(X_train, y_train)
    log_odds = [np.subtract(*model.predict_log_proba(x).T[::-1]) for x in (X_val, X_test)]
    return log_odds[0], y_val, log_odds[1], y_test


def corners(y: np.ndarray) -> np.ndarray:
    """Where a line on `GRID` turns: straight lines between these points are close to all others."""
    kept, ranges = {0, len(y) - 1}, [(0, len(y) - 1)]
    while ranges:
        low, high = ranges.pop()
        line = np.interp(GRID[low : high + 1], GRID[[low, high]], y[[low, high]])
        off = np.abs(y[low : high + 1] - line)
        if off.max() > CLOSE:
            far = low + int(off.argmax())
            kept.add(far)
            ranges += [(low, far), (far, high)]
    return np.array(sorted(kept))


def worth(briers: np.ndarray, uncalibrated: float) -> list[str]:
    """What a guess of each number of digits was worth."""
    better = briers < uncalibrated
    first = len(better) - int(np.argmin(better[::-1])) if not better.all() else 0
    if first == len(SIZES):
        says = f"even all {SIZES[-1]} are too few"
    else:
        says = f"it takes {SIZES[first]}" + " or fewer" * (first == 0)
    return [
        f"With {n} digits its Brier score is {brier:.3f}, and that of the uncalibrated model "
        f"{uncalibrated:.3f}. To be better from there on, {says}."
        for n, brier in zip(SIZES, briers, strict=True)
    ]


def maps() -> ui.Json:
    """The map of each method, fitted on sets of samples from the validation set."""
    val_logits, y_val, test_logits, y_test = sets()
    if len(y_val) != SIZES[-1]:
        raise SystemExit(f"book/play/maps.py: SIZES end at {SIZES[-1]}, not {len(y_val)}")
    across_map, drawn, briers, eces, baselines = [], [], [], [], []
    for method, n, draw in product(METHODS.values(), SIZES, range(DRAWS)):
        some = np.roll(np.arange(len(y_val)), -APART * draw)[:n]
        with warnings.catch_warnings():
            # That so few samples can be told apart without error is what the figure shows.
            warnings.simplefilter("ignore")
            fitted = method().fit(val_logits[some], y_val[some])
        y = fitted.predict_proba(logit(GRID))
        turns = corners(y)
        across_map.append(GRID[turns])
        drawn.append(y[turns])
        probs = fitted.predict_proba(test_logits)
        briers.append(brier_score(probs, y_test))
        eces.append(expected_calibration_error(probs, y_test, N_BINS))
        baselines.append(baseline_calibration_error(probs, N_BINS).mean)
    # A row for each method and draw.
    shape = len(METHODS), len(SIZES), DRAWS
    of_brier, of_ece = (
        np.reshape(one, shape).swapaxes(1, 2).reshape(-1, len(SIZES)) for one in (briers, eces)
    )
    scores = 1 / (1 + np.exp(-test_logits))
    plain_brier = brier_score(scores, y_test)
    plain_ece = expected_calibration_error(scores, y_test, N_BINS)
    dots = reliability_bins(scores, y_test == 1, N_BINS)
    shares = (0, 0.2, 0.4, 0.6, 0.8, 1)
    ticks = ui.logarithms([10, 20, 50, 100, 200, 359])
    places = np.log10(SIZES)
    across = ui.axis(places[0], places[-1], ticks)
    low, high = min(plain_brier, *briers), max(plain_brier, *briers)
    top = 100 * max(plain_ece, *eces) * 1.1
    level = [places[0], places[-1]]
    return ui.play(
        ["fig-all-maps"],
        f"Naive Bayes, {len(y_test)} test digits",
        "The map that a method learns from some digits of the validation set, from ten to "
        f"all {len(y_val)}; another set begins {APART} digits later. Diamonds: the test digits in "
        f"{N_BINS} bins of the score. Dashed: the uncalibrated model.",
        "The map of the chosen method from score to probability, with dots for the test digits. "
        "Beside it the Brier score and the ECE on the test digits against the number of digits "
        "that the method was fitted on, each with a level line for the uncalibrated model.",
        [
            ui.choice("Method", list(METHODS), list(METHODS).index("isotonic")),
            ui.slider("Validation digits", SIZES, SIZES.index(40)),
            ui.again("Other digits", [f"set {k + 1} of {DRAWS}" for k in range(DRAWS)]),
        ],
        [
            ui.number("Brier score", [f"{b:.3f}" for b in briers], [0, 1, 2]),
            ui.at_once(ui.number("uncalibrated", [f"{plain_brier:.3f}"], [])),
            ui.number("ECE", map(percent, eces), [0, 1, 2]),
            ui.at_once(ui.number("uncalibrated", [percent(plain_ece)], [])),
            ui.number("baseline ECE", map(percent, baselines), [0, 1, 2]),
        ],
        [
            ui.at_once(
                ui.lines(
                    "Output",
                    ui.axis(0, 1, shares, "Score"),
                    ui.axis(0, 1, shares),
                    [
                        ui.curve([0, 1], [0, 1], "uncalibrated", "c"),
                        ui.curve(
                            ui.table(across_map, [0, 1, 2]), ui.table(drawn, [0, 1, 2]), "map", "a"
                        ),
                        ui.curve(dots.confidence, dots.accuracy, "test", "b", dots="d"),
                    ],
                    height=330,
                )
            ),
            ui.lines(
                "Brier score",
                across,
                ui.axis(low - 0.05 * (high - low), high + 0.05 * (high - low), _round(low, high)),
                [
                    ui.curve(level, [plain_brier] * 2, "uncalibrated", "c"),
                    ui.curve(places, ui.table(of_brier, [0, 2]), moves=True),
                ],
                at=1,
            ),
            ui.lines(
                "ECE in %",
                across | {"label": "Validation digits"},
                ui.axis(0, top, range(0, 100, 20)),
                [
                    ui.curve(level, [100 * plain_ece] * 2, "uncalibrated", "c"),
                    ui.curve(places, ui.table(100 * of_ece, [0, 2]), moves=True),
                ],
                at=1,
            ),
        ],
        ui.guess(
            [1],
            "From how many validation digits on is this method better than no recalibration?",
            [words for of in of_brier for words in worth(of, plain_brier)],
            [0, 2, 1],
        ),
    )


def _round(low: float, high: float) -> list[tuple[float, str]]:
    """Tenths between two numbers."""
    return [(k / 10, f"{k / 10:.1f}") for k in range(int(10 * low), int(10 * high) + 2)]


if __name__ == "__main__":
    ui.write(maps())
