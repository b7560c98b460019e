"""Guess how often a downloaded model is right: `python -m book.play.identifiers TARGET`."""

from __future__ import annotations

from itertools import product

import numpy as np

from calib_utils.metrics import reliability_bins
from calib_utils.records import IDENTIFIERS, load_identifier
from tools.finishing import interactive as ui
from tools.finishing.interactive import percent

LENGTHS = "1 word", "2 words", "3-5 words", "6-10 words", "11+ words"
SURE = 0.9
GUESSES = range(0, 101, 5)
NEAR = 3  # points
FEW = 50  # as in the picture of the chapter


def worth(model: str, length: str, right: float, guess: int) -> str:
    """What a guess was worth."""
    off = guess - round(100 * right, 1)
    verdict = f"your guess was {abs(off):.1f} points too {'high' if off > 0 else 'low'}"
    if abs(off) <= NEAR:
        verdict = "as you guessed"
    return (
        f"Where {model} says 90 % or more about texts of {length}, {percent(right)} of its "
        f"predictions are correct; {verdict}."
    )


def identifiers() -> ui.Json:
    """A diagram for each model and length, and how often its sure predictions are right."""
    frames, counts, sure, right = [], [], [], []
    for model, length in product(IDENTIFIERS, LENGTHS):
        rows = load_identifier(model)
        here = rows["length"] == length
        confidence, correct = rows["confidence"][here], rows["correct"][here]
        high = confidence >= SURE
        frames.append(ui.frame(reliability_bins(confidence, correct, 10)))
        counts.append(int(high.sum()))
        sure.append(float(confidence[high].mean()))
        right.append(float(correct[high].mean()))
    by = [0, 1]
    of_model = 100 * np.reshape(right, (len(IDENTIFIERS), len(LENGTHS)))
    stated = 100 * np.reshape(sure, of_model.shape)
    places = list(range(len(LENGTHS)))
    across = [
        (place, length.removesuffix("s").removesuffix(" word"))
        for place, length in enumerate(LENGTHS)
    ]
    learned = [
        worth(model, length, share, guess)
        for (model, length), share in zip(product(IDENTIFIERS, LENGTHS), right, strict=True)
        for guess in GUESSES
    ]
    return ui.play(
        ["fig-three-identifiers"],
        "It says 90 % or more",
        "How often a model is right where it is sure, by the number of words. Choose a model and a "
        "length, guess, and see. The strip counts the texts of each bar; pale bars have fewer than "
        f"{FEW}. Dashed: the mean confidence of those with 90\N{NO-BREAK SPACE}% or more.",
        "Reliability diagram of the chosen model for texts of the chosen length. Beside it how "
        "often predictions with 90 % or more are correct, against the number of words, below the "
        "mean confidence: of CLD3 half of them for one word, and most for eleven and more.",
        [
            ui.choice("Model", IDENTIFIERS, IDENTIFIERS.index("CLD3")),
            ui.slider("Length of the text", LENGTHS),
            ui.slider("Your guess", [f"{guess} %" for guess in GUESSES], GUESSES.index(90)),
        ],
        [
            ui.at_once(ui.number("texts with 90 %", [f"{n:,}" for n in counts], by)),
            ui.at_once(ui.number("mean confidence", map(percent, sure), by)),
            ui.number("correct", map(percent, right), by),
        ],
        [
            ui.diagram(ui.table(frames, by), few=FEW, relative=True),
            ui.lines(
                "Correct, in %",
                ui.axis(-0.3, len(LENGTHS) - 0.7, across, "Words"),
                ui.axis(40, 104, (40, 60, 80, 100)),
                [
                    ui.curve(places, ui.table(stated, [0]), "confidence", "c", digits=1),
                    ui.curve(places, ui.table(of_model, [0]), digits=1, moves=True),
                ],
                at=1,
                height=330,
            ),
        ],
        ui.guess(
            [2],
            "Of the predictions with 90 % or more, how many are correct?",
            learned,
            [0, 1, 2],
        ),
    )


if __name__ == "__main__":
    ui.write(identifiers())
