"""The numbers of the figures to play with, in the pages of the built book.

Those of each play are computed a second time, from the records and without its script, at three of
its settings: that in which it opens, one near the middle, and the last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB

import calib_records
from calib_utils import recalibration
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
from calib_utils.records import load_forecasts, load_grid, load_identifier, load_record
from calib_utils.records.experiments import load_experiment
from tests.site.test_html import BOOK, text_of

DATA = re.compile(r'<script type="application/json" data-play="([a-z0-9-]+)">(.*?)</script>')
# The page of each play, and all that its figure can show.
FOUND = {
    figure: (f"{page}.html", json.loads(data))
    for page in BOOK.pages
    for figure, data in DATA.findall(text_of(f"{page}.html"))
}
PLAYS = {figure: one for figure, (_, one) in FOUND.items()}
RECORDS = {"ResNet-34": "resnet34-cifar100", "LeNet-5": "lenet5-cifar100"}
Computed = tuple[list[str], list[ReliabilityBins]]


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}\xa0%"


def ece_of(bins: ReliabilityBins) -> float:
    gaps = np.abs(bins.accuracy - bins.confidence)
    return float(np.nansum(bins.counts * gaps) / bins.counts.sum())


def of_sums(sums: Any) -> ReliabilityBins:
    """Bins from their counts, right answers and summed confidence."""
    counts, right, summed = np.array(sums)[:, np.array(sums[0]) > 0]
    said = np.repeat((summed / counts).clip(max=1), counts.astype(int))
    sides = np.stack([right, counts - right], axis=1).ravel().astype(int)
    return reliability_bins(said, np.repeat(np.tile([True, False], len(counts)), sides))


@cache
def fitted_temperature() -> float:
    held_out = load_record(RECORDS["ResNet-34"], "validation")
    return recalibration.TemperatureScaling().fit(held_out.logits, held_out.labels).temperature_


def turned(split: str, n_numbers: int, T: str) -> Computed:
    record = load_record(RECORDS["ResNet-34"], split)
    probs = softmax(record.logits / float(T), axis=1)
    nll = negative_log_likelihood(record.logits / float(T), record.labels, inputs="logits")
    shares = [
        probs.max(axis=1).mean(),
        accuracy(probs, record.labels),
        expected_calibration_error(probs, record.labels),
        baseline_calibration_error(probs).mean,
    ]
    bins = reliability_bins(*top_label(probs, record.labels))
    return [*map(percent, shares), f"{nll:.3f}"][:n_numbers], [bins]


def number_of_bins(network: str, kind: str, m: str) -> Computed:
    record = load_record(RECORDS[network], "test")
    probs = softmax(record.logits, axis=1)
    how = (int(m), {"equal width": "uniform", "equal mass": "quantile"}[kind])
    bins = reliability_bins(*top_label(probs, record.labels), *how)
    shares = [
        expected_calibration_error(probs, record.labels, *how),
        baseline_calibration_error(probs, how[0], strategy=how[1]).mean,
        maximum_calibration_error(probs, record.labels, *how),
    ]
    few = ((bins.counts > 0) & (bins.counts < 100)).sum()
    return [*map(percent, shares), str(few)], [bins]


def one_draw(n: str, draw: str) -> Computed:
    """Sizes and draws share one stream of random numbers."""
    rng = np.random.default_rng(seed=0)
    probs = softmax(load_record(RECORDS["ResNet-34"], "test").logits, axis=1)
    confidences = rng.permutation(probs.max(axis=1).astype(float))
    wanted, last = int(n.replace(",", "")), int(draw.split()[1]) - 1
    for size in (100, 200, 500, 1000, 2000, 5000, 10_000):
        some = confidences[:size]
        bins = [reliability_bins(some, rng.random(size) < some) for _ in range(20)]
        if size == wanted:
            break
    eces = [ece_of(one) for one in bins[: last + 1]]
    shares = eces[last], baseline_calibration_error(some).mean, min(eces), max(eces)
    return [*map(percent, shares)], [bins[last]]


def rain(power: str) -> Computed:
    rng = np.random.default_rng(seed=0)
    chance = rng.integers(1, 10, size=10_000) / 10
    rained = rng.random(10_000) < chance
    bold = chance ** float(power)
    forecast = bold / (bold + (1 - chance) ** float(power))
    days = [forecast == p for p in np.unique(forecast)]
    gaps = sum(one.sum() * abs(forecast[one][0] - rained[one].mean()) for one in days)
    return [
        percent(((forecast > 0.5) == rained).mean(), 0),
        percent(np.maximum(forecast, 1 - forecast).mean(), 0),
        f"{gaps / 10_000:.3f}",
        f"{np.sqrt(forecast * (1 - forecast)).mean():.2f}",
    ], []


def costs(error: str, above: str) -> Computed:
    record = load_record(RECORDS["ResNet-34"], "test")
    each, totals = [], []
    for T in (1, fitted_temperature()):
        probs = softmax(record.logits / T, axis=1)
        confidences, wrong = probs.max(axis=1), probs.argmax(axis=1) != record.labels
        accepted = confidences > float(above)
        cost = np.where(accepted, int(error) * wrong, 1)
        expected = int(error) * (1 - confidences[accepted])
        none = not accepted.any()
        each.append("none" if none else f"{expected.mean():.2f}, {cost[accepted].mean():.2f}")
        totals.append(f"{cost.sum():,}")
    return [*each, *totals], []


METHODS = {
    "isotonic": recalibration.IsotonicRegression(),
    "Platt": recalibration.PlattScaling(),
    "BBQ": recalibration.BayesianBinningIntoQuantiles(),
}


def maps(method: str, n: str, draw: str) -> Computed:
    images, digits = load_digits(return_X_y=True)
    how = {"random_state": 0}
    train, rest, y_train, y_rest = train_test_split(
        images, digits % 2, train_size=0.4, stratify=digits % 2, **how
    )
    fit, test, y_fit, y_test = train_test_split(
        rest, y_rest, train_size=1 / 3, stratify=y_rest, **how
    )
    model = BernoulliNB(binarize=8).fit(train, y_train)
    fit, test = (np.diff(model.predict_log_proba(x))[:, 0] for x in (fit, test))
    k = 80 * (int(draw.split()[1]) - 1)
    fit, y_fit = np.r_[fit[k:], fit[:k]], np.r_[y_fit[k:], y_fit[:k]]
    fitted = METHODS[method].fit(fit[: int(n)], y_fit[: int(n)])
    found = []
    for probs in (fitted.predict_proba(test), 1 / (1 + np.exp(-test))):
        brier = 2 * np.mean((probs - y_test) ** 2)
        found.append((f"{brier:.3f}", percent(expected_calibration_error(probs, y_test, 10))))
    baseline = baseline_calibration_error(fitted.predict_proba(test), 10).mean
    return [found[0][0], found[1][0], found[0][1], found[1][1], percent(baseline)], []


def suspect(change: str, *_: str) -> Computed:
    """Means over the seeds that have a run at both levels."""
    grid, *ends = next(levels for name, *levels in SUSPECTS if change.startswith(name))
    runs = {(run.value, run.seed): run for run in load_grid(grid, "core")}
    seeds = [s for s in range(3) if all((end, s) in runs for end in ends)]
    means = []
    for end in ends:
        of_end = [runs[end, seed] for seed in seeds]
        shares = [
            (
                1 - run.correct.mean(),
                ece_of(reliability_bins(run.confidences, run.correct)),
                baseline_calibration_error(run.confidences).mean,
                run.confidences.mean(dtype=float) - run.correct.mean(),
            )
            for run in of_end
        ]
        means.append(100 * np.mean(shares, axis=0))
    arrow = "\u202f\u2192\u202f"
    return [f"{a:.1f}{arrow}{b:.1f}".replace("-", "\u2212") for a, b in np.transpose(means)], []


# What the plan compares, as a reader finds it; what has been trained with one seed is shown.
SUSPECTS = [
    ("Depth", "depth", 1, 3),
    ("Width", "width", 12, 48),
    ("Batch", "batch-norm", "without", "with"),
    ("Weight decay: 0 to", "weight-decay", 0.0, 0.0005),
    ("Weight decay", "weight-decay", 0.0005, 0.005),
    ("Training time", "training-time", 5, 40),
    ("Augmentation", "augmentation", "none", "crops-and-flips"),
    ("Training images", "training-images", "5000", "45000"),
]


def epoch(shown: str) -> Computed:
    run = load_experiment("nll-and-error", "cpu", "cifar_resnet.seed-0")
    stop = int(shown) - 1
    assert run.epoch_correct is not None
    entry, bins = run.history[stop], of_sums(run.history[stop]["test_bins"])
    said = np.repeat(np.nan_to_num(bins.confidence), bins.counts)
    if stop + 1 == len(run.history):
        bins = reliability_bins(run.confidences, run.correct)
    baseline = percent(baseline_calibration_error(said).mean)
    return [
        percent(1 - run.epoch_correct[stop].mean()),
        f"{entry['test_nll']:.2f}",
        percent(ece_of(bins)),
        f"\N{LESS-THAN OR EQUAL TO}\xa0{baseline}",
    ], [bins]


def shifted(corruption: str, severity: str, forecast: str) -> Computed:
    of = {
        "one network": ("ordinary", (0,)),
        "ensemble of five": ("ordinary", (0, 1, 2, 3, 4)),
        "label smoothing": ("smoothed", (0,)),
    }[forecast]
    (one,) = (
        one
        for one in load_forecasts("ensembles", "core")[0]
        if (one.networks, one.members, one.severity, one.scaled) == (*of, int(severity), "after")
        and one.corruption == (corruption if one.severity else "")
    )
    counts, right, summed = (side.sum() for side in one.bins)
    gap = np.abs(one.bins[1] - one.bins[2]).sum()
    shares = right / counts, summed / counts, gap / counts, one.baseline
    return [*map(percent, shares)], [of_sums(one.bins)]


def stated(*models: str) -> Computed:
    """From the arrays as they are stored: percent in 8 bits, and grades."""
    file = np.load(Path(calib_records.__file__).parent / "answers/mmlu-pro.npz")
    names, numbers, diagrams = json.loads(str(file["facts"]))["models"], [], []
    for model in models:
        said, graded = (file[kind][names.index(model), 0] for kind in ("stated", "grade"))
        use = (said <= 100) & (graded <= 1)
        said, right = said[use] / 100, graded[use] == 1
        diagrams.append(reliability_bins(said, right, 20))
        numbers += [percent(share) for share in (right.mean(), said.mean(), ece_of(diagrams[-1]))]
    return numbers, diagrams


def identified(model: str, length: str, _: str) -> Computed:
    texts = load_identifier(model)
    here = texts["length"] == length.replace("\N{EN DASH}", "-")
    if not here.any():
        here = texts["length"] == f"{length} words"
    said, right = texts["confidence"][here], texts["predicted"][here] == texts["language"][here]
    sure = said >= 0.9
    numbers = [f"{sure.sum():,}", percent(said[sure].mean()), percent(right[sure].mean())]
    return numbers, [reliability_bins(said, right, 10)]


ANEW: dict[str, Callable[..., Computed]] = {
    "fig-overview": partial(turned, "test", 3),
    "fig-nll-and-ece-against-temperature": partial(turned, "validation", 5),
    "fig-number-of-bins": number_of_bins,
    "fig-one-draw": one_draw,
    "fig-three-forecasters": rain,
    "fig-all-maps": maps,
    "fig-cost-threshold": costs,
    "fig-suspects": suspect,
    "fig-nll": epoch,
    "fig-damaged": shifted,
    "fig-stated-and-accuracy": stated,
    "fig-three-identifiers": identified,
}


def entry(table: Any, controls: Any, setting: tuple[int, ...]) -> Any:
    """The entry of a table: the last control runs fastest."""
    sizes = [len(controls[c]["stops"]) for c in table["by"]]
    chosen = tuple(setting[c] for c in table["by"])
    return table["of"][int(np.ravel_multi_index(chosen, sizes)) if sizes else 0]


def check(frame: Any, bins: ReliabilityBins) -> None:
    """The frame of a diagram has what the bins have."""
    counts, right, summed, *edges = frame
    full = bins.counts > 0
    assert counts == bins.counts.tolist()
    np.testing.assert_array_equal(
        np.array(right)[full], (bins.counts * bins.accuracy)[full].round()
    )
    off = np.array(summed)[full] - (bins.counts * bins.confidence)[full]
    assert (np.abs(off) < np.where(bins.counts[full] < 100, 0.0051, 0.051)).all()
    expected = edges[0] if edges else np.arange(len(counts) + 1) / len(counts)
    np.testing.assert_allclose(expected, bins.edges, atol=1e-3)


def settings(one: Any) -> list[tuple[int, ...]]:
    """Where a play opens, near the middle of its controls, and where they end."""
    sizes = [len(control["stops"]) for control in one["controls"]]
    opens = tuple(control["start"] for control in one["controls"])
    return [opens, tuple((size - 1) // 2 for size in sizes), tuple(size - 1 for size in sizes)]


@pytest.mark.parametrize("figure", ANEW)
@pytest.mark.filterwarnings("ignore")  # some methods say that ten samples are few
def test_a_play_shows_what_calib_utils_computes(figure: str) -> None:
    one = PLAYS[figure]
    controls = one["controls"]
    for setting in settings(one):
        stops = [control["stops"][k] for control, k in zip(controls, setting, strict=True)]
        numbers, bins = ANEW[figure](*stops)
        assert [entry(number, controls, setting) for number in one["numbers"]] == numbers, stops
        diagrams = [panel["frames"] for panel in one["panels"] if panel["kind"] == "bins"]
        for frames, expected in zip(diagrams, bins, strict=bool(bins)):
            check(entry(frames, controls, setting), expected)


@pytest.mark.filterwarnings("ignore")
def test_maps_are_drawn_as_they_are() -> None:
    """Steps as steps: between the drawn points, a line is never a pixel from the map."""
    from book.play import maps

    val_logits, y_val, *_ = maps.sets()
    scores = np.linspace(0.002, 0.998, 997)
    of = PLAYS["fig-all-maps"]["panels"][0]["curves"][1]
    for k, method in enumerate(maps.METHODS.values()):
        for j, n in enumerate(maps.SIZES):
            fitted = method().fit(val_logits[:n], y_val[:n])
            real = fitted.predict_proba(np.log(scores / (1 - scores)))
            x, y = (of[side]["of"][(k * len(maps.SIZES) + j) * maps.DRAWS] for side in "xy")
            off = np.abs(np.interp(scores, x, y) - real)
            # A jump is as wide as the grid at most: a seventh of a pixel.
            assert (off > 0.005).mean() < 0.03, (method, n)
            assert np.median(off) < 0.003


def test_every_play_is_checked() -> None:
    assert PLAYS.keys() == ANEW.keys()


def test_the_captions_are_true() -> None:
    held_out = PLAYS["fig-nll-and-ece-against-temperature"]
    numbers = {number["label"]: number["of"] for number in held_out["numbers"]}
    assert len(set(numbers["accuracy"])) == 1
    fitted = held_out["controls"][0]["marks"][1][0]
    (nll,) = held_out["panels"][2]["curves"][0]["y"]["of"]
    assert nll[fitted] == min(nll)
    lowest = PLAYS["fig-one-draw"]["numbers"][2]["of"]
    assert min(float(share.split("\xa0")[0]) for share in lowest) > 0
    for of_epochs, rise in zip(PLAYS["fig-nll"]["panels"][1:], (1.1, 0.95, 1.5), strict=True):
        (values,) = of_epochs["curves"][-1]["y"]["of"]
        drop = int(of_epochs["marks"][0][0])
        assert values[drop] < 0.8 * values[drop - 1]
        assert rise < values[-1] / values[drop] < rise + 0.5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([1.0, 2.0, 3.0], "rises in each of the three seeds, by 2.0 points on average"),
        ([-1.0, -3.0, 0.5], "falls in two of the three seeds, by 1.2 points on average"),
        ([0.2, 0.1, -0.6], "stays (\u22120.1 points on average, higher in two of the three seeds)"),
        ([-0.2, -0.2], "stays (\u22120.2 points on average, lower in each of the two seeds)"),
        ([-0.5], "falls in the one seed, by 0.5 points"),
    ],
)
def test_what_is_told_of_seeds_is_what_they_did(changes: list[float], said: str) -> None:
    from book.play import suspects

    assert suspects.told("The ECE", np.array(changes)) == f"The ECE {said}"


def test_no_curve_leaves_its_panel() -> None:
    """What stands above the axis is left out, so a record that grows would lose its curve."""
    panels = [panel for one in PLAYS.values() for panel in one.get("panels", ())]
    for panel in (panel for panel in panels if panel["kind"] == "lines"):
        for curve in panel["curves"]:
            values = np.concatenate(curve["y"]["of"])
            assert panel["y"]["low"] <= values.min(), panel["title"]
            assert values.max() <= panel["y"]["high"], panel["title"]
