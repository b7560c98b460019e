"""The cards of the first page, one a chapter: `python -m book.tables.chapters TARGET`.

A card has the chapter's question, a small picture of what its data says, how long it takes, and
what it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.special import expit, softmax

from book.figures.many_remedies import ways
from book.play.maps import sets
from book.resnet34 import resnet34
from calib_utils._files import write_text
from calib_utils.metrics import (
    calibration_error_interval,
    expected_calibration_error,
    reliability_bins,
    top_label,
)
from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.plots.diagrams import draw_bins
from calib_utils.recalibration import (
    IsotonicRegression,
    PlattScaling,
    VectorScaling,
)
from calib_utils.records import by_level, list_answers, load_answers, load_grid, load_record
from tools.finishing.interactive import FEW
from tools.sources.book import Book
from tools.sources.errors import MystError
from tools.sources.needs import needs
from tools.sources.plot_settings import DRAWING, inside
from tools.sources.reading_time import exercise_times, reading_time

SPACE = "\N{NO-BREAK SPACE}"
# Of a picture, in points; the edge stays empty.
WIDTH, HEIGHT, EDGE = 160, 90, 6
THICK = 2.2
THIN: dict[str, Any] = {"color": GREY, "linewidth": 1.2}
DASHED = THIN | {"linestyle": (0, (3, 2.5))}


def predictions() -> tuple[np.ndarray, np.ndarray]:
    """The confidence of each prediction of the ResNet-34, and whether it is correct."""
    record = load_record("resnet34-cifar100", "test")
    return top_label(softmax(record.logits, axis=1), record.labels)


def a_hundred_predictions(ax: Axes) -> None:
    """A hundred predictions with a confidence of about 90 %; the correct ones are filled."""
    confidences, correct = predictions()
    right = round(100 * correct[(confidences > 0.85) & (confidences <= 0.95)].mean())
    row, column = np.divmod(np.arange(100), 20)
    x, y = (column + 0.5) / 20, 1 - (row + 0.5) / 5
    ax.plot(x[:right], y[:right], "o", color=BLUE, markersize=6)
    ax.plot(x[right:], y[right:], "o", color=ORANGE, markersize=5.2, markerfacecolor="none")
    ax.set_axis_off()


def bars_below_the_diagonal(ax: Axes) -> None:
    """A reliability diagram."""
    bins = reliability_bins(*predictions(), n_bins=8)
    draw_bins(ax, bins, bins.counts < FEW)


def chance_and_the_ece(ax: Axes) -> None:
    """The ECEs of a calibrated forecaster on 1,000 predictions, and the one measured."""
    rng = np.random.default_rng(0)
    confidences, correct = (values[:1000] for values in predictions())
    probs = np.stack([1 - confidences, confidences], axis=1)

    def ece(right: np.ndarray) -> float:
        return expected_calibration_error(probs, np.where(right, 1, 0))

    by_chance = [ece(rng.random(len(probs)) < confidences) for _ in range(400)]
    measured = ece(correct)
    ax.hist(by_chance, bins=12, color=GREY, edgecolor="white")
    ax.axvline(measured, color=ORANGE, linewidth=THICK)
    ax.set_xlim(0, 1.1 * max(*by_chance, measured))


def ece_by_weight_decay(ax: Axes) -> None:
    """The ECE of each network by its weight decay, and a line through the means."""
    eces = [
        [run.ece for run in runs] for runs in by_level(load_grid("weight-decay", "core")).values()
    ]
    ax.plot([np.mean(of_level) for of_level in eces], color=ORANGE, linewidth=THICK)
    for place, of_level in enumerate(eces):
        ax.plot([place] * len(of_level), of_level, "o", color=ORANGE, markersize=6)
    ax.set(xlim=(-0.3, len(eces) - 0.7), ylim=(0, 1.1 * max(map(max, eces))))


def two_maps(ax: Axes) -> None:
    """The scores of a naive Bayes model for digits, and the maps of two recalibrators."""
    log_odds, odd, _, _ = sets()
    across = np.linspace(0.001, 0.999, 120)
    ax.plot([0, 1], [0, 1], **DASHED)
    for colour, method in ((BLUE, IsotonicRegression), (ORANGE, PlattScaling)):
        fitted = method(inputs="probs").fit(expit(log_odds), odd)
        ax.plot(across, fitted.predict_proba(across), color=colour, linewidth=THICK)
    ax.set(xlim=(0, 1), ylim=(0, 1))


def errors_before_and_after(ax: Axes) -> None:
    """The ECE of the network as trained, with a temperature, and with two hundred parameters."""
    validation, test, temperature = resnet34()
    vector = VectorScaling().fit(validation.logits, validation.labels)
    recalibrated = (one.predict_proba(test.logits) for one in (temperature, vector))
    probs = [softmax(test.logits, axis=1), *recalibrated]
    eces = [expected_calibration_error(one, test.labels) for one in probs]
    ax.bar(range(3), eces, width=0.7, color=[ORANGE, BLUE, BLUE])
    ax.set(xlim=(-0.5, 2.5), ylim=(0, 1.05 * max(eces)))


def accuracy_of_the_surest(ax: Axes) -> None:
    """The accuracy of the most confident share of the predictions, with a dot at one half."""
    confidences, correct = predictions()
    right = correct[np.argsort(-confidences, kind="stable")]
    accuracies, half = np.cumsum(right) / np.arange(1, len(right) + 1), len(right) // 2
    kept = np.linspace(0.02, 1, 80) * len(right)
    ax.plot(kept, accuracies[kept.astype(int) - 1], color=BLUE, linewidth=THICK)
    ax.plot([half, half], [0, accuracies[half - 1]], **DASHED)
    ax.plot(half, accuracies[half - 1], "o", color=ORANGE, markersize=9)
    ax.set(xlim=(0, len(right)), ylim=(0, 1))


def cost_of_what_is_trusted(ax: Axes) -> None:
    """Errors among the predictions above each threshold, expected and observed, as trained."""
    confidences, correct = predictions()
    thresholds = np.linspace(0.1, 1, 60)
    trusted = confidences > thresholds[:, None]
    for colour, mistakes in ((ORANGE, ~correct), (BLUE, 1 - confidences)):
        shares = (trusted * mistakes).mean(axis=1)
        ax.plot(thresholds, shares, color=colour, linewidth=THICK)
    ax.set(xlim=(0.1, 1), ylim=(0, None))


def an_interval_and_a_tolerance(ax: Axes) -> None:
    """The interval of the calibration error, with and without a temperature, and a limit of 2 %."""
    _, test, recalibrated = resnet34()
    both = softmax(test.logits, axis=1), recalibrated.predict_proba(test.logits)
    for probs, height, colour in zip(both, (0.7, 0.3), (ORANGE, BLUE), strict=True):
        ends = calibration_error_interval(probs, test.labels)
        ax.plot(ends, [height, height], color=colour, linewidth=THICK)
        ax.plot(expected_calibration_error(probs, test.labels), height, "o", color=colour)
    ax.axvline(0.02, **DASHED)
    ax.set(xlim=(0, 0.12), ylim=(0, 1))


def confidence_and_accuracy(ax: Axes) -> None:
    """Accuracy and stated confidence of language models, and the line where the two agree."""
    found = [load_answers(model, "mmlu-pro") for model in list_answers("mmlu-pro")]
    ax.plot([0.25, 1], [0.25, 1], **DASHED)
    for one in (run.predictions for run in found if run.complete.mean() >= 0.95):
        ax.plot(one.labels.mean(), one.array.mean(), "o", color=ORANGE, markersize=3)
    ax.set(xlim=(0.25, 1), ylim=(0.25, 1))


def before_and_after_by_training(ax: Axes) -> None:
    """The NLL of each way to train, the lowest error at the top: as trained, and at T."""
    nlls = np.array([nlls for _, *nlls, _ in ways()])
    places = -np.arange(len(nlls))
    ax.hlines(places, *nlls.T, **THIN)
    for values, colour in zip(nlls.T, (ORANGE, BLUE), strict=True):
        ax.plot(values, places, "o", color=colour, markersize=4.4)
    ax.set_axis_off()


def drawing_of(picture: Callable[[Axes], None]) -> str:
    """The drawing of a picture as part of the page."""
    with plt.rc_context(DRAWING):
        fig = plt.figure(figsize=(WIDTH / 72, HEIGHT / 72))
        across, up = EDGE / WIDTH, EDGE / HEIGHT
        ax = fig.add_axes((across, up, 1 - 2 * across, 1 - 2 * up), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.spines.bottom.set(visible=True, **THIN)
        picture(ax)
        for part in ax.get_children():
            part.set_clip_on(False)
        return inside(fig)


# What draws the picture of each chapter, on axes without ticks.
PICTURES: dict[str, Callable[[Axes], None]] = {
    "what-calibration-means": a_hundred_predictions,
    "ece-and-mce": bars_below_the_diagonal,
    "can-you-trust-an-ece": chance_and_the_ece,
    "why-networks-are-overconfident": ece_by_weight_decay,
    "methods-for-two-classes": two_maps,
    "methods-for-many-classes": errors_before_and_after,
    "resnet34-lab": accuracy_of_the_surest,
    "deciding-with-probabilities": cost_of_what_is_trusted,
    "since-2017": before_and_after_by_training,
    "language-models": confidence_and_accuracy,
    "your-own-model": an_interval_and_a_tolerance,
}


def card(book: Book, page: str, number: int) -> str:
    """An item of the list, in MyST.

    Raises:
        MystError: The chapter has no card.
    """
    name = page.removeprefix("notebooks/")
    if name not in PICTURES:
        raise MystError(f"book/tables/chapters.py: no picture for {page}: give it one in PICTURES")
    source = book.source(page)
    minutes = {"Reading": reading_time(source), "Exercises": sum(exercise_times(source))}
    facts = [f"{what} {time}{SPACE}min" for what, time in minutes.items()]
    before = " and ".join(f"{{doc}}`{book.pages[one]} </{one}>`" for one in needs(book, page))
    facts += [f"After chapter {before}" if before else "Begin here"]
    lines = [
        "```{raw} html",
        drawing_of(PICTURES[name]),
        "```",
        "",
        f"{number}\\. {{doc}}`/{page}`",
        "",
        book.question(page),
        "",
        # Each on its own line, because a single line would break anywhere on a narrow card.
        *(f"{fact}\\" for fact in facts[:-1]),
        facts[-1],
    ]
    return "\n".join([f"- {lines[0]}", *(f"  {text}".rstrip() for text in lines[1:])])


def cards(book: Book) -> str:
    """All cards, part by part, in the order of the book."""
    made: dict[str, list[str]] = {}
    for page, number in book.pages.items():
        if number is None:
            continue
        made.setdefault(book.parts[page], []).append(card(book, page, number))
    blocks = []
    for part, of_part in made.items():
        blocks += [f"### {part}", "::::{container} chapter-cards", *of_part, "::::"]
    return "\n\n".join(blocks) + "\n"


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), cards(Book()))
