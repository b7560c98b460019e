"""The cards of the first page, one a chapter: `python -m book.tables.chapters TARGET`.

A card has the chapter's question, a small picture of what its data says, how long it takes, and
what it needs. The pictures are part of the page, so that their colours follow it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from book.figures.many_remedies import ways
from book.play.maps import sets
from calib_utils.metrics import (
    calibration_error_interval,
    expected_calibration_error,
    reliability_bins,
    top_label,
)
from calib_utils.recalibration import (
    IsotonicRegression,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from calib_utils.records import by_level, load_grid, load_record
from tools.sources.atomic import write_text
from tools.sources.book import Book
from tools.sources.errors import MystError
from tools.sources.reading_time import reading_time

NETWORK = "resnet34-cifar100"
# Of a picture, in its own units; the edge stays empty.
WIDTH, HEIGHT, EDGE = 160, 90, 6
SPACE = "\N{NO-BREAK SPACE}"


def x(share: float) -> float:
    return EDGE + share * (WIDTH - 2 * EDGE)


def y(share: float) -> float:
    return HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE)


def box(left: float, bottom: float, right: float, top: float, kind: str) -> str:
    """A rectangle between two corners, in shares of the picture."""
    return (
        f'<rect class="{kind}" x="{x(left):.1f}" y="{y(top):.1f}" '
        f'width="{x(right) - x(left):.1f}" height="{y(bottom) - y(top):.1f}"/>'
    )


def line(points: Iterable[tuple[float, float]], kind: str) -> str:
    drawn = " ".join(f"{x(across):.1f},{y(up):.1f}" for across, up in points)
    return f'<polyline class="card-line {kind}" points="{drawn}"/>'


def dot(across: float, up: float, kind: str, radius: float = 3) -> str:
    return f'<circle class="{kind}" cx="{x(across):.1f}" cy="{y(up):.1f}" r="{radius}"/>'


def answers(split: str = "test") -> tuple[np.ndarray, np.ndarray]:
    """Confidence of each answer of the ResNet-34, and whether it is right."""
    record = load_record(NETWORK, split)
    return top_label(softmax(record.logits, axis=1), record.labels)


def a_hundred_answers() -> Iterable[str]:
    """Of a hundred answers with a confidence of about 90 %, those that are right are full."""
    confidences, correct = answers()
    right = round(100 * correct[(confidences > 0.85) & (confidences <= 0.95)].mean())
    for mark in range(100):
        row, column = divmod(mark, 20)
        kind = "card-a" if mark < right else "card-hollow"
        yield dot((column + 0.5) / 20, 1 - (row + 0.5) / 5, kind, 2.6)


def bars_below_the_diagonal() -> Iterable[str]:
    """A reliability diagram; what is missing to the diagonal is hollow."""
    bins = reliability_bins(*answers(), n_bins=8)
    for m, (accuracy, confidence) in enumerate(zip(bins.accuracy, bins.confidence, strict=True)):
        left, right = (m + 0.06) / 8, (m + 0.94) / 8
        if bins.counts[m] >= 100:
            yield box(left, 0, right, accuracy, "card-a")
            yield box(left, accuracy, right, confidence, "card-gap")
    yield line([(0, 0), (1, 1)], "card-dashed")


def chance_and_the_ece() -> Iterable[str]:
    """The ECEs of a calibrated forecaster on 1,000 answers, and beside them the one measured."""
    rng = np.random.default_rng(0)
    confidences, correct = (values[:1000] for values in answers())
    probs = np.stack([1 - confidences, confidences], axis=1)

    def ece(right: np.ndarray) -> float:
        return expected_calibration_error(probs, np.where(right, 1, 0))

    by_chance = [ece(rng.random(len(probs)) < confidences) for _ in range(400)]
    measured = ece(correct)
    end = 1.1 * max(*by_chance, measured)
    counts, edges = np.histogram(by_chance, bins=28, range=(0, end))
    for count, left, right in zip(counts, edges[:-1], edges[1:], strict=True):
        if count:
            yield box(left / end, 0, right / end, 0.9 * count / counts.max(), "card-c")
    yield line([(0, 0), (1, 0)], "card-thin")
    yield line([(measured / end, 0), (measured / end, 1)], "card-b")


def ece_by_weight_decay() -> Iterable[str]:
    """The ECE of each network by its weight decay, and a line through the means."""
    groups = by_level(load_grid("weight-decay", "cpu"))
    network = next(iter(groups))[0]
    eces = [[run.ece for run in runs] for (name, _), runs in groups.items() if name == network]
    top = 1.1 * max(map(max, eces))
    across = np.linspace(0.06, 0.94, len(eces))
    means = [float(np.mean(seeds)) / top for seeds in eces]
    yield line(zip(across, means, strict=True), "card-b")
    for place, seeds in zip(across, eces, strict=True):
        yield from (dot(place, ece / top, "card-b") for ece in seeds)
    yield line([(0, 0), (1, 0)], "card-thin")


def two_maps() -> Iterable[str]:
    """What a naive Bayes model says of digits, and what two repairs make of it."""
    log_odds, odd, _, _ = sets()
    across = np.linspace(0.001, 0.999, 120)
    yield line([(0, 0), (1, 1)], "card-dashed")
    repairs = {"card-a": IsotonicRegression, "card-b": PlattScaling}
    for kind, repair in repairs.items():
        fitted = repair(inputs="probs").fit(expit(log_odds), odd)
        yield line(zip(across, fitted.predict_proba(across), strict=True), kind)


def errors_before_and_after() -> Iterable[str]:
    """The ECE of the network as it is, with a temperature, and with two hundred numbers."""
    validation, test = load_record(NETWORK, "validation"), load_record(NETWORK, "test")
    probs = [softmax(test.logits, axis=1)]
    for repair in (TemperatureScaling(), VectorScaling()):
        fitted = repair.fit(validation.logits, validation.labels)
        probs.append(fitted.predict_proba(test.logits))
    eces = [expected_calibration_error(one, test.labels) for one in probs]
    for k, ece in enumerate(eces):
        kind = "card-b" if k == 0 else "card-a"
        yield box((k + 0.15) / 3, 0, (k + 0.85) / 3, 0.95 * ece / max(eces), kind)
    yield line([(0, 0), (1, 0)], "card-thin")


def accuracy_of_the_surest() -> Iterable[str]:
    """The accuracy of the surest share of the answers, with a dot at one half."""
    confidences, correct = answers()
    kept = np.cumsum(correct[np.argsort(-confidences, kind="stable")])
    shares = np.linspace(0.02, 1, 80)
    accuracies = [kept[round(share * len(kept)) - 1] / round(share * len(kept)) for share in shares]
    yield line(zip(shares, accuracies, strict=True), "card-a")
    half = len(kept) // 2
    yield line([(0.5, 0), (0.5, kept[half - 1] / half)], "card-dashed")
    yield dot(0.5, kept[half - 1] / half, "card-b", 4.5)
    yield line([(0, 0), (1, 0)], "card-thin")


def cost_of_what_is_trusted() -> Iterable[str]:
    """Mistakes among the answers above each threshold: made, and promised, before the repair."""
    confidences, correct = answers()
    thresholds = np.linspace(0.1, 1, 60)
    trusted = [confidences > threshold for threshold in thresholds]
    made = np.array([(some & ~correct).mean() for some in trusted])
    promised = np.array([np.where(some, 1 - confidences, 0).mean() for some in trusted])
    top, across = 1.05 * made.max(), (thresholds - 0.1) / 0.9
    for kind, mistakes in (("card-b", made), ("card-a", promised)):
        yield line(zip(across, mistakes / top, strict=True), kind)
    yield line([(0, 0), (1, 0)], "card-thin")


def an_interval_and_a_tolerance() -> Iterable[str]:
    """The interval of the calibration error as it is and with a temperature, and 2 % as a limit."""
    validation, test = load_record(NETWORK, "validation"), load_record(NETWORK, "test")
    repaired = TemperatureScaling().fit(validation.logits, validation.labels)
    both = softmax(test.logits, axis=1), repaired.predict_proba(test.logits)
    for probs, height, kind in zip(both, (0.7, 0.3), ("card-b", "card-a"), strict=True):
        low, high = calibration_error_interval(probs, test.labels)
        yield line([(10 * low, height), (10 * high, height)], kind)
        yield dot(10 * expected_calibration_error(probs, test.labels), height, kind, 4)
    yield line([(0.2, 0), (0.2, 1)], "card-dashed")
    yield line([(0, 0), (1, 0)], "card-thin")


def before_and_after_by_training() -> Iterable[str]:
    """The NLL of each way to train, the lowest error at the top: as trained, and at T."""
    nlls_of_each = [nlls for _, *nlls, _ in ways()]
    low, high = np.min(nlls_of_each), np.max(nlls_of_each)
    for place, nlls in enumerate(nlls_of_each):
        up = 0.97 - 0.94 * place / (len(nlls_of_each) - 1)
        before, after = (0.04 + 0.92 * (nll - low) / (high - low) for nll in nlls)
        yield line([(before, up), (after, up)], "card-thin")
        yield dot(before, up, "card-b", 2.2)
        yield dot(after, up, "card-a", 2.2)


class Card(NamedTuple):
    """What stands on a card beside what is counted.

    Attributes:
        question: of the chapter.
        picture: makes the elements of the SVG.
        needs: the labels of the chapters to be read before.
    """

    question: str
    picture: Callable[[], Iterable[str]]
    needs: Sequence[str] = ()


CARDS = {
    "what-calibration-means": Card(
        "When a network says 90 %, how often is it right?", a_hundred_answers
    ),
    "ece-and-mce": Card(
        "How far from calibrated is it, in one number?",
        bars_below_the_diagonal,
        ["what-calibration-means"],
    ),
    "can-you-trust-an-ece": Card(
        "Is that number the network's, or chance's?", chance_and_the_ece, ["ece-and-mce"]
    ),
    "why-networks-are-overconfident": Card(
        "Which choices of a designer make a network too sure, and how does it become so?",
        ece_by_weight_decay,
        ["ece-and-mce"],
    ),
    "repairing-two-classes": Card(
        "Can the numbers of a model for two classes be repaired after training?",
        two_maps,
        ["ece-and-mce"],
    ),
    "repairing-many-classes": Card(
        "And those of a network for a hundred classes, or can a repair make them worse?",
        errors_before_and_after,
        ["repairing-two-classes"],
    ),
    "resnet34-lab": Card(
        "A network trained, measured and repaired: does it know which half of its answers is "
        "right?",
        accuracy_of_the_surest,
        ["ece-and-mce"],
    ),
    "deciding-with-probabilities": Card(
        "What can one do with true numbers, and what does the repair change?",
        cost_of_what_is_trusted,
        ["can-you-trust-an-ece", "repairing-many-classes"],
    ),
    "since-2017": Card(
        "What do newer ways to train, and averages of networks, do to the numbers? What is left of "
        "it when the photographs change?",
        before_and_after_by_training,
        ["can-you-trust-an-ece", "why-overconfident"],
    ),
    "your-own-model": Card(
        "Is the model that you use at work calibrated, well enough for its task?",
        an_interval_and_a_tolerance,
        ["ece-and-mce"],
    ),
}


def card(page: str, number: int, minutes: int, about: Card) -> str:
    """An item of the list, in MyST."""
    drawn = "".join(about.picture())
    facts = [f"{what} {minutes}{SPACE}min" for what in ("Reading", "Exercises")]
    needs = " and ".join(f"{{numref}}`{label}`" for label in about.needs)
    facts += [f"After {needs}" if needs else "Begin here"]
    lines = [
        "```{raw} html",
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{drawn}</svg>',
        "```",
        "",
        f"{number}\\. {{doc}}`/{page}`",
        "",
        about.question,
        "",
        # Each in a line of its own: on a narrow card a line of all would break anywhere.
        *(f"{fact}\\" for fact in facts[:-1]),
        facts[-1],
    ]
    return "\n".join([f"- {lines[0]}", *(f"  {text}".rstrip() for text in lines[1:])])


def cards(book: Book) -> str:
    """All cards, in the order of the book.

    Raises:
        MystError: A chapter has no card.
    """
    chapters = {page: number for page, number in book.pages.items() if number}
    made = []
    for page, number in chapters.items():
        name = page.removeprefix("notebooks/")
        if name not in CARDS:
            raise MystError(f"book/tables/chapters.py: no card for {page}; give it one in CARDS")
        made.append(card(page, number, reading_time(book.source(page))[0], CARDS[name]))
    return "\n\n".join(["::::{container} chapter-cards", *made, "::::"]) + "\n"


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), cards(Book()))
