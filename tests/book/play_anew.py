"""What figures to play with must show, computed anew and without their scripts.

Each function gives, for every setting of the figure's controls that is asked for, the printed
numbers and, where it has a reliability diagram, its bins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import softmax

import calib_records
from calib_utils.metrics import (
    ReliabilityBins,
    accuracy,
    baseline_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    negative_log_likelihood,
    reliability_bins,
    top_label,
)
from calib_utils.predictions import Predictions, as_predictions
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import (
    IDENTIFIERS,
    ExperimentRecord,
    load_experiment,
    load_forecasts,
    load_grid,
    load_identifier,
    load_record,
)

Setting = tuple[int, ...]
Asked = Callable[[Setting], bool]
# Of one diagram, or of several.
Bins = ReliabilityBins | list[ReliabilityBins] | None
Frames = Iterator[tuple[Setting, list[str], Bins]]
RESNET, LENET = "resnet34-cifar100", "lenet5-cifar100"
# The stops of the controls, as a reader finds them.
N_BINS = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 100]
DRAWN = [100, 200, 500, 1000, 2000, 5000, 10_000]
ERROR_COSTS = [2, 3, 5, 10, 20]
DIGITS = [10, 15, 20, 30, 40, 50, 60, 80, 100, 130, 160, 200, 240, 280, 320, 359]


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}\xa0%"


def ece_of(bins: ReliabilityBins) -> float:
    gaps = np.abs(bins.accuracy - bins.confidence)
    return float(np.nansum(bins.counts * gaps) / bins.counts.sum())


def answers_of(sums: Any) -> tuple[np.ndarray, np.ndarray]:
    """Confidences and correctness that fall into bins as those did of which these are the sums."""
    counts, right, summed = np.array(sums)[:, np.array(sums[0]) > 0]
    said = np.repeat((summed / counts).clip(max=1), counts.astype(int))
    sides = np.stack([right, counts - right], axis=1).ravel().astype(int)
    return said, np.repeat(np.tile([True, False], len(counts)), sides)


def fitted_temperature() -> float:
    held_out = load_record(RESNET, "validation")

    def nll(T: float) -> float:
        return negative_log_likelihood(held_out.logits / T, held_out.labels, inputs="logits")

    found = minimize_scalar(nll, bounds=(1, 1.5), method="bounded", options={"xatol": 1e-9})
    return float(found.x)


def temperatures() -> list[float]:
    return sorted([*(round(0.5 + 0.02 * k, 2) for k in range(101)), fitted_temperature()])


def turned(asked: Asked, split: str) -> Frames:
    record = load_record(RESNET, split)
    for stop, T in enumerate(temperatures()):
        if not asked((stop,)):
            continue
        probs = TemperatureScaling(temperature=T).predict_proba(record.logits)
        numbers = [
            percent(probs.max(axis=1).mean()),
            percent(accuracy(probs, record.labels)),
            percent(expected_calibration_error(probs, record.labels)),
            percent(baseline_calibration_error(probs).mean),
            f"{negative_log_likelihood(record.logits / T, record.labels, inputs='logits'):.3f}",
        ]
        yield (stop,), numbers, reliability_bins(*top_label(probs, record.labels))


def bars(asked: Asked) -> Frames:
    """The first page's: how sure, how often right, and the mean gap between the two."""
    for setting, numbers, bins in turned(asked, "test"):
        yield setting, numbers[:3], bins


def other_bins(asked: Asked) -> Frames:
    for i, name in enumerate([RESNET, LENET]):
        record = load_record(name, "test")
        probs = softmax(record.logits, axis=1)
        for (j, kind), (k, m) in product(enumerate(["uniform", "quantile"]), enumerate(N_BINS)):
            if not asked((i, j, k)):
                continue
            bins = reliability_bins(*top_label(probs, record.labels), m, kind)
            numbers = [
                percent(expected_calibration_error(probs, record.labels, m, kind)),
                percent(baseline_calibration_error(probs, m, strategy=kind).mean),
                percent(maximum_calibration_error(probs, record.labels, m, kind)),
                str(int(((bins.counts > 0) & (bins.counts < 100)).sum())),
            ]
            yield (i, j, k), numbers, bins


def draws(asked: Asked) -> Frames:
    rng = np.random.default_rng(seed=0)
    probs = softmax(load_record(RESNET, "test").logits, axis=1)
    confidences = rng.permutation(probs.max(axis=1).astype(float))
    for i, n in enumerate(DRAWN):
        some = confidences[:n]
        bins = [reliability_bins(some, rng.random(n) < some) for _ in range(20)]
        eces = list(map(ece_of, bins))
        baseline = baseline_calibration_error(some).mean
        for j in range(20):
            shares = eces[j], baseline, min(eces[: j + 1]), max(eces[: j + 1])
            if asked((i, j)):
                yield (i, j), [percent(share) for share in shares], bins[j]


def rain(asked: Asked) -> Frames:
    rng = np.random.default_rng(seed=0)
    chance = rng.integers(1, 10, size=10_000) / 10
    rained = rng.random(10_000) < chance
    for stop in filter(lambda stop: asked((stop,)), range(29)):
        power = (stop + 2) / 10
        forecast = chance**power / (chance**power + (1 - chance) ** power)
        gap = 0
        for p in np.unique(forecast):
            days = forecast == p
            gap += days.sum() * abs(p - rained[days].mean())
        numbers = [
            percent(((forecast > 0.5) == rained).mean(), 0),
            percent(np.maximum(forecast, 1 - forecast).mean(), 0),
            f"{gap / 10_000:.3f}",
            f"{np.sqrt(forecast * (1 - forecast)).mean():.2f}",
        ]
        yield (stop,), numbers, None


def costs(asked: Asked) -> Frames:
    record, T = load_record(RESNET, "test"), fitted_temperature()
    probs = [softmax(record.logits / t, axis=1) for t in (1, T)]
    correct = probs[0].argmax(axis=1) == record.labels
    for (i, error_cost), j in product(enumerate(ERROR_COSTS), range(51)):
        if not asked((i, j)):
            continue
        each, totals = [], []
        for p in probs:
            confidences = p.max(axis=1)
            accepted = confidences > (50 + j) / 100
            cost = np.where(accepted, error_cost * ~correct, 1)
            expected = error_cost * (1 - confidences[accepted])
            none = not accepted.any()
            each.append("none" if none else f"{expected.mean():.2f}, {cost[accepted].mean():.2f}")
            totals.append(f"{cost.sum():,}")
        yield (i, j), [*each, *totals], None


def maps(asked: Asked) -> Frames:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.naive_bayes import BernoulliNB

    from calib_utils import recalibration as r

    images, digits = load_digits(return_X_y=True)

    def split(x: Any, y: Any, size: float) -> Any:
        return train_test_split(x, y, train_size=size, stratify=y, random_state=0)

    train, rest, of_train, of_rest = split(images, digits % 2, 0.4)
    fit, test, of_fit, of_test = split(rest, of_rest, 1 / 3)
    model = BernoulliNB(binarize=8).fit(train, of_train)

    def log_odds(x: Any) -> np.ndarray:
        log_probs = model.predict_log_proba(x)
        return log_probs[:, 1] - log_probs[:, 0]

    methods = [
        r.PlattScaling(),
        r.PlattScaling(smooth_targets=True),
        r.BetaCalibration(),
        r.IsotonicRegression(),
        r.HistogramBinning(10),
        r.HistogramBinning(10, "quantile"),
        r.BayesianBinningIntoQuantiles(),
    ]

    def scores(probs: np.ndarray) -> tuple[str, str]:
        brier = 2 * np.mean((probs - of_test) ** 2)
        return f"{brier:.3f}", percent(expected_calibration_error(probs, of_test, 10))

    as_it_is = scores(model.predict_proba(test)[:, 1])
    for (i, method), (j, n) in product(enumerate(methods), enumerate(DIGITS)):
        if not asked((i, j)):
            continue
        method.fit(log_odds(fit)[:n], of_fit[:n])
        probs = method.predict_proba(log_odds(test))
        found, baseline = scores(probs), percent(baseline_calibration_error(probs, 10).mean)
        yield (i, j), [found[0], as_it_is[0], found[1], as_it_is[1], baseline], None


# What the plan compares, as a reader finds it; what has been trained with one seed is shown.
SUSPECTS = [
    ("depth", 1, 3),
    ("width", 12, 48),
    ("batch-norm", "without", "with"),
    ("weight-decay", 0.0, 0.0005),
    ("weight-decay", 0.0005, 0.005),
    ("training-time", 5, 40),
    ("augmentation", "none", "crops-and-flips"),
    ("training-images", "5000", "45000"),
]
Pairs = list[tuple[ExperimentRecord, ExperimentRecord]]


@cache
def pairs_of_suspects() -> list[Pairs]:
    """For each change, the runs of each seed at both levels."""
    found = []
    for grid, *ends in SUSPECTS:
        runs = {(run.value, run.seed): run for run in load_grid(grid, "core")}
        seeds = sorted({seed for _, seed in runs})
        sides = [(runs.get((ends[0], seed)), runs.get((ends[1], seed))) for seed in seeds]
        found.append([(a, b) for a, b in sides if a and b])
    return [pairs for pairs in found if pairs]


def of_run(run: ExperimentRecord) -> list[float]:
    """Error, ECE, baseline and overconfidence in percent, from what was said of each image."""
    gaps = ece_of(reliability_bins(run.confidences, run.correct))
    said, right = run.confidences.mean(dtype=float), run.correct.mean()
    baseline = baseline_calibration_error(run.confidences).mean
    return [float(100 * share) for share in (1 - right, gaps, baseline, said - right)]


def suspects(asked: Asked) -> Frames:
    for i, pairs in enumerate(pairs_of_suspects()):
        means = np.mean([[of_run(run) for run in pair] for pair in pairs], axis=0)
        numbers = [
            f"{a:.1f}\u202f\u2192\u202f{b:.1f}".replace("-", "\u2212") for a, b in means.T.tolist()
        ]
        for j, k in product(range(3), repeat=2):
            if asked((i, j, k)):
                yield (i, j, k), numbers, None


def epochs(asked: Asked) -> Frames:
    run = load_experiment("nll-and-error", "cpu", "cifar_resnet.seed-0")
    assert run.epoch_correct is not None
    for stop, (entry, correct) in enumerate(zip(run.history, run.epoch_correct, strict=True)):
        if not asked((stop,)):
            continue
        confidences, in_bins = answers_of(entry["test_bins"])
        assert len(in_bins) == len(correct)
        highest = percent(baseline_calibration_error(confidences).mean)
        numbers = [
            percent(1 - correct.mean()),
            f"{entry['test_nll']:.2f}",
            percent(ece_of(reliability_bins(confidences, in_bins))),
            f"\N{LESS-THAN OR EQUAL TO}\N{NO-BREAK SPACE}{highest}",
        ]
        if stop + 1 == len(run.history):
            confidences, in_bins = run.confidences, run.correct
        yield (stop,), numbers, reliability_bins(confidences, in_bins)


def shift(asked: Asked) -> Frames:
    found, _ = load_forecasts("ensembles", "core")
    by_place = {
        (one.networks, one.members, one.corruption, one.severity): one
        for one in found
        if one.scaled == "after"
    }
    chosen = [("ordinary", (0,)), ("ordinary", (0, 1, 2, 3, 4)), ("smoothed", (0,))]
    damages = ["noise", "blur", "contrast", "brightness", "jpeg"]
    for (i, damage), severity, (k, who) in product(enumerate(damages), range(6), enumerate(chosen)):
        if not asked((i, severity, k)):
            continue
        one = by_place[*who, damage if severity else "", severity]
        counts, right, summed = one.bins
        numbers = [
            percent(right.sum() / counts.sum()),
            percent(summed.sum() / counts.sum()),
            percent(np.abs(right - summed).sum() / counts.sum()),
            percent(one.baseline),
        ]
        yield (i, severity, k), numbers, reliability_bins(*answers_of(one.bins))


def statements(asked: Asked) -> Frames:
    """From the arrays as they are stored: percent in 8 bits, and grades."""
    stored = Path(calib_records.__file__).parent / "answers"
    file = np.load(stored / "mmlu-pro.npz")
    said, graded = file["stated"][:, 0], file["grade"][:, 0]
    use = (said <= 100) & (graded <= 1)
    kept = np.flatnonzero(use.mean(axis=1) >= 0.95)
    right = {run: graded[run][use[run]] == 1 for run in kept}
    of_each = []
    for run in sorted(kept, key=lambda run: right[run].mean()):
        confidence = said[run][use[run]] / 100
        bins = reliability_bins(confidence, right[run], 20)
        shares = right[run].mean(), confidence.mean(), ece_of(bins)
        of_each.append(([*map(percent, shares)], bins))
    for (i, (first, a)), (j, (second, b)) in product(enumerate(of_each), repeat=2):
        if asked((i, j)):
            yield (i, j), [*first, *second], [a, b]


def confidence_only(confidence: np.ndarray, right: np.ndarray) -> Predictions:
    return as_predictions(confidence=confidence, correct=right)


# What a guess was worth, for every setting: words that must be in it, from the frames above.
@cache
def all_frames(figure: str) -> list[tuple[Setting, list[str], ReliabilityBins | None]]:
    return list(ANEW[figure](lambda _: True))


def all_numbers(figure: str) -> dict[Setting, list[str]]:
    return {setting: numbers for setting, numbers, _ in all_frames(figure)}


def first_number(text: str) -> float:
    return float(text.replace(",", "").split("\xa0")[0])


def learned_temperature(figure: str, column: int) -> Iterator[tuple[Setting, list[str]]]:
    found, best = all_numbers(figure), fitted_temperature()
    lowest = found[(temperatures().index(best),)][column]
    for stop, T in enumerate(temperatures()):
        missed = "found it" if abs(T - best) < 0.005 else f"missed it by {abs(T - best):.2f}."
        yield (stop,), [f"{T:.2f}, with", found[(stop,)][column], f"{best:.2f}", lowest, missed]


def learned_bins() -> Iterator[tuple[Setting, list[str]]]:
    found = all_numbers("fig-number-of-bins")
    for i, j in product(range(2), range(2)):
        shares = [found[i, j, k][0] for k in range(len(N_BINS))]
        low, high = (f(shares, key=first_number) for f in (min, max))
        for k, (m, share) in enumerate(zip(N_BINS, shares, strict=True)):
            others = [low, high] if low != high else ["any other number"]
            yield (i, j, k), [f"With {m} bin", share, *others]


LENGTHS = ["1 word", "2 words", "3-5 words", "6-10 words", "11+ words"]


def identifiers(asked: Asked) -> Frames:
    for (i, model), (j, length) in product(enumerate(IDENTIFIERS), enumerate(LENGTHS)):
        texts = load_identifier(model)
        here = texts["length"] == length
        said, right = texts["confidence"][here], texts["predicted"][here] == texts["language"][here]
        bins = reliability_bins(said, right, 10)
        some = [f"{(said >= 0.9).sum():,}", percent(said[said >= 0.9].mean())]
        for k in range(21):
            if asked((i, j, k)):
                yield (i, j, k), [*some, percent(right[said >= 0.9].mean())], bins


def learned_costs() -> Iterator[tuple[Setting, list[str]]]:
    found = all_numbers("fig-cost-threshold")
    record = load_record(RESNET, "test")
    probs = softmax(record.logits / fitted_temperature(), axis=1)
    correct, confidences = probs.argmax(axis=1) == record.labels, probs.max(axis=1)
    for i, error_cost in enumerate(ERROR_COSTS):
        # Chow's rule: accept where an error is expected to cost less than a check.
        expected = error_cost * (1 - confidences.astype(float))
        by_rule = int(np.where(expected < 1, error_cost * ~correct, 1).sum())
        for j in range(51):
            total = int(first_number(found[i, j][3]))
            sides = {-1: "less than", 0: "as much as", 1: "more than"}
            words = sides[int(np.sign(total - by_rule))]
            more = [f"{abs(total - by_rule):,} {words}"] if total != by_rule else [words]
            yield (i, j), [f"Above 0.{50 + j}," if j < 50 else "1.00", f"{total:,}", *more]


def learned_maps() -> Iterator[tuple[Setting, list[str]]]:
    found = all_numbers("fig-all-maps")
    for i in range(7):
        briers = [first_number(found[i, j][0]) for j in range(len(DIGITS))]
        plain = first_number(found[i, 0][1])
        better = [all(one < plain for one in briers[j:]) for j in range(len(DIGITS))]
        says = f"takes {DIGITS[better.index(True)]}" if any(better) else "even all 359 are too few"
        for j, n in enumerate(DIGITS):
            yield (i, j), [f"With {n} digits", found[i, j][0], found[i, j][1], says]


def learned_suspects() -> Iterator[tuple[Setting, list[str]]]:
    for i, pairs in enumerate(pairs_of_suspects()):
        rises = np.array([np.subtract(of_run(b), of_run(a))[:2] for a, b in pairs])
        said, right = [], []
        for name, change in zip(("test error", "ECE"), rises.T, strict=True):
            mean, up = change.mean(), sum(change > 0)
            right.append(1 if abs(mean) < 0.5 else 2 * (mean > 0))
            said.append(f"he {name} {('falls in', 'stays (', 'rises in')[right[-1]]}")
            # A tie of those that stay counts as higher.
            higher = up >= len(pairs) / 2 if right[-1] == 1 else mean > 0
            alike = up if higher else len(pairs) - up
            number = {1: "one", 2: "two", 3: "three"}
            count = "each" if alike == len(pairs) else number[alike]
            several = f" {count} of the {number[len(pairs)]} seeds"
            said.append(several if len(pairs) > 1 else " the one seed")
            said.append(f"{abs(mean):.1f} points")
        for j, k in product(range(3), repeat=2):
            verdict = {
                (True, True): "Both are as",
                (True, False): "The test error is as you guessed, the ECE is not.",
                (False, True): "The ECE is as you guessed, the test error is not.",
                (False, False): "Neither is as",
            }[j == right[0], k == right[1]]
            yield (i, j, k), [verdict, *said]


def learned_identifiers() -> Iterator[tuple[Setting, list[str]]]:
    for (i, j, k), (_, _, right) in all_numbers("fig-three-identifiers").items():
        off = 5 * k - first_number(right)
        verdict = f"{abs(off):.1f} points too {'high' if off > 0 else 'low'}"
        yield (
            (i, j, k),
            [IDENTIFIERS[i], LENGTHS[j], right, verdict if abs(off) > 3 else "as you guessed"],
        )


LEARNED: dict[str, Callable[[], Iterator[tuple[Setting, list[str]]]]] = {
    "fig-overview": partial(learned_temperature, "fig-overview", 2),
    "fig-nll-and-ece-against-temperature": partial(
        learned_temperature, "fig-nll-and-ece-against-temperature", 4
    ),
    "fig-number-of-bins": learned_bins,
    "fig-cost-threshold": learned_costs,
    "fig-all-maps": learned_maps,
    "fig-suspects": learned_suspects,
    "fig-three-identifiers": learned_identifiers,
}

ANEW: dict[str, Callable[[Asked], Frames]] = {
    "fig-overview": bars,
    "fig-nll-and-ece-against-temperature": partial(turned, split="validation"),
    "fig-number-of-bins": other_bins,
    "fig-one-draw": draws,
    "fig-three-forecasters": rain,
    "fig-all-maps": maps,
    "fig-cost-threshold": costs,
    "fig-suspects": suspects,
    "fig-nll": epochs,
    "fig-damaged": shift,
    "fig-stated-and-accuracy": statements,
    "fig-three-identifiers": identifiers,
}
