"""Ask a chat model, and recalibrate it: `python -m book.play.chats TARGET`."""

from __future__ import annotations

from itertools import product

import numpy as np

from calib_utils.metrics import (
    baseline_calibration_error,
    confidence_auroc,
    expected_calibration_error,
    reliability_bins,
)
from calib_utils.predictions import Predictions, as_predictions
from calib_utils.recalibration import PlattScaling
from calib_utils.records import LANGUAGE_MODELS, load_answers
from tools.finishing import interactive as ui
from tools.finishing.interactive import percent

LABELLED = 200
OTHERS = "hellaswag"
NAMES = {
    "arc": "ARC",
    "hellaswag": "HellaSwag",
    "mmlu": "MMLU",
    "truthfulqa": "TruthfulQA",
    "winogrande": "WinoGrande",
}
FEW = 50  # as in the picture of the chapter


def answers(model: str, questions: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidences, which are correct, and the rows in a random order: the first for a fit."""
    found = load_answers(model, questions).predictions
    confidence = np.clip(found.array.astype(float), 1e-6, 1 - 1e-6)
    return confidence, found.labels, np.random.default_rng(0).permutation(len(confidence))


def fitted(model: str, questions: str) -> PlattScaling:
    """Platt scaling, from the labelled questions."""
    confidence, correct, order = answers(model, questions)
    rows = order[:LABELLED]
    return PlattScaling(inputs="probs").fit(confidence[rows], correct[rows])


def three_ways(model: str, questions: str) -> list[Predictions]:
    """On the questions without a label: unchanged, fitted on the same set, and on the other one."""
    confidence, correct, order = answers(model, questions)
    left = order[LABELLED:]
    maps = [fitted(model, one) for one in (questions, OTHERS)]
    ways = [confidence[left], *(one.predict_proba(confidence[left]) for one in maps)]
    return [as_predictions(confidence=way, correct=correct[left]) for way in ways]


def worth(eces: np.ndarray) -> list[str]:
    """What a guess of each model was worth, on one set of questions."""
    best = int(eces.argmin())
    lowest = f"{LANGUAGE_MODELS[best]} has the lowest"

    def lower(ece: float) -> str:
        count = int(np.sum(eces < ece))
        return "one model has" if count == 1 else f"{count} models have"

    return [
        f"{lowest}: {percent(ece)}, as you guessed."
        if k == best
        else f"{LANGUAGE_MODELS[k]} has an ECE of {percent(ece)}, and {lower(ece)} a lower one. "
        f"{lowest}: {percent(eces[best])}."
        for k, ece in enumerate(eces)
    ]


def chats() -> ui.Json:
    """A diagram for each model, set of questions, and way to recalibrate."""
    found = [
        one for model, name in product(LANGUAGE_MODELS, NAMES) for one in three_ways(model, name)
    ]
    every, asked = range(3), range(2)
    as_they_are = found[::3]
    eces = [expected_calibration_error(one) for one in found]
    # In the order of the frames: the models, of each its sets of questions.
    unchanged = np.reshape(eces[::3], (len(LANGUAGE_MODELS), len(NAMES)))
    learned = np.transpose([worth(of_set) for of_set in unchanged.T])

    return ui.play(
        ["fig-fourteen-diagrams"],
        "Fourteen chat models",
        f"Choose a model and a set of questions, and recalibrate the model with {LABELLED} "
        f"labelled questions of this set, or of {NAMES[OTHERS]}. Shown are the questions without a "
        "label. A hatched piece is the gap between accuracy and confidence, the strip counts the "
        f"answers of each bar, and pale bars have fewer than {FEW}.",
        "Reliability diagram of the chosen model on the chosen questions, with its accuracy, mean "
        "confidence, ECE and AUROC. Most models are overconfident; recalibrated with questions of "
        "the same set nearly all of them come closer to the diagonal.",
        [
            ui.choice("Model", LANGUAGE_MODELS, LANGUAGE_MODELS.index("gpt-4-turbo")),
            ui.choice("Questions", list(NAMES.values()), list(NAMES).index("mmlu")),
            ui.choice("Recalibrated", ["no", "with the same set", f"with {NAMES[OTHERS]}"]),
        ],
        [
            ui.at_once(
                ui.number("accuracy", [percent(one.labels.mean()) for one in as_they_are], asked)
            ),
            ui.number("confidence", [percent(one.array.mean()) for one in found], every),
            ui.number("ECE", list(map(percent, eces)), every),
            ui.number(
                "baseline", [percent(baseline_calibration_error(one).mean) for one in found], every
            ),
            ui.number("AUROC", [f"{confidence_auroc(one):.2f}" for one in as_they_are], asked),
        ],
        [
            ui.diagram(
                ui.table(
                    [ui.frame(reliability_bins(one.array, one.labels)) for one in found], every
                ),
                few=FEW,
                relative=True,
            )
        ],
        ui.guess(
            [0],
            "Which of these models has the lowest ECE on these questions, not recalibrated?",
            learned.ravel().tolist(),
            asked,
        ),
    )


if __name__ == "__main__":
    ui.write(chats())
