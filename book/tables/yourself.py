"""The questions of "Calibrate yourself": `python -m book.tables.yourself TARGET`.

Things that everybody half knows, each with a source, and numbers of this course, which are computed
here. The first option is the true one; the order on the page is random.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from scipy.stats import binom

from calib_utils.metrics import expected_calibration_error, top_label
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import LANGUAGE_MODELS, load_answers, load_recalibrated, load_record
from tools.sources.atomic import write_text

ROUND = 20
NASA = "NASA, Planetary Fact Sheet"
FACTBOOK = "CIA, The World Factbook"
CRC = "CRC Handbook of Chemistry and Physics"
BRITANNICA = "Encyclopaedia Britannica"
ARITHMETIC = "arithmetic"


class Question(NamedTuple):
    """A question with its true option, the other one, and the source of the truth."""

    question: str
    true: str
    other: str
    source: str


def of_the_course() -> list[Question]:
    """Questions about numbers that the chapters compute."""
    test = load_record("resnet34-cifar100", "test")
    validation = load_record("resnet34-cifar100", "validation")
    lenet = load_record("lenet5-cifar100", "test")
    probs = softmax(test.logits, axis=1)
    confidence, correct = top_label(probs, test.labels)
    eces = [
        expected_calibration_error(softmax(record.logits, axis=1), record.labels)
        for record in (test, lenet)
    ]
    temperature = TemperatureScaling().fit(validation.logits, validation.labels).temperature_
    gpt = load_answers("gpt-4-turbo", "mmlu").predictions
    models = [load_answers(model, "mmlu").predictions for model in LANGUAGE_MODELS]
    over = sum(one.array.mean() > one.labels.mean() for one in models)
    rows, _ = load_recalibrated("public", "cifar100")
    deep = {
        row.network: row.ece
        for row in rows
        if row.method == "none" and row.network in ("ResNet-20", "ResNet-56")
    }
    eight = float(binom.pmf(8, 10, 0.8))
    accuracy, ours = 100 * correct.mean(), "this course"
    return [
        Question(
            "Our ResNet-34 sorts the 10,000 test images of CIFAR-100 into 100 classes. How many "
            "of its predictions are correct?",
            f"About {accuracy:.0f} %",
            f"About {accuracy + 22:.0f} %",
            ours,
        ),
        Question(
            "Is the mean confidence of our ResNet-34 on these images higher or lower than its "
            "accuracy?",
            *_ordered("Higher", "Lower", confidence.mean() > correct.mean()),
            ours,
        ),
        Question(
            "Which of the two networks that we train on CIFAR-100 has the smaller calibration "
            "error?",
            *_ordered("LeNet-5, from 1998", "ResNet-34, from 2015", eces[1] < eces[0]),
            ours,
        ),
        Question(
            "A single number, the temperature, is fitted to the ResNet-34. Is it above or below 1?",
            *_ordered("Above 1", "Below 1", temperature > 1),
            ours,
        ),
        Question(
            "A perfectly calibrated model makes ten predictions with a confidence of 80 %. How "
            "likely is it that exactly eight of them are correct?",
            f"About {100 * eight:.0f} %",
            f"About {200 * eight:.0f} %",
            ARITHMETIC,
        ),
        Question(
            f"On the questions of MMLU GPT-4-turbo is {100 * gpt.array.mean():.0f} % confident on "
            "average. How many of its answers are correct?",
            f"About {100 * gpt.labels.mean():.0f} %",
            f"About {100 * gpt.array.mean() - 3:.0f} %",
            ours,
        ),
        Question(
            f"How many of {len(models)} chat models are overconfident on MMLU?",
            f"{over}",
            f"{len(models) // 2}",
            ours,
        ),
        Question(
            "Public ResNets for CIFAR-100: which one has the larger calibration error?",
            *_ordered("ResNet-56", "ResNet-20", deep["ResNet-56"] > deep["ResNet-20"]),
            ours,
        ),
        Question(
            "A calibrated network makes 1,000 predictions. What is its expected calibration error "
            "(ECE) in fifteen bins?",
            "Above 0",
            "Exactly 0",
            ours,
        ),
        Question(
            "A network divides all its logits by the same number above 0. How many of its "
            "predicted classes change?",
            "None",
            "Some",
            ours,
        ),
        Question(
            "Someone gives each of 100 classes a probability of 1 %. What is the negative "
            "log-likelihood?",
            f"About {math.log(100):.1f}",
            f"About {math.log2(100):.1f}",
            ARITHMETIC,
        ),
        Question(
            "A fair coin is tossed 100 times. How likely are exactly 50 heads?",
            f"About {100 * binom.pmf(50, 100, 0.5):.0f} %",
            f"About {300 * binom.pmf(50, 100, 0.5):.0f} %",
            ARITHMETIC,
        ),
    ]


def _ordered(one: str, two: str, first: bool) -> tuple[str, str]:
    """Two options, the true one first."""
    return (one, two) if first else (two, one)


GENERAL = [
    Question("Which planet has the larger diameter?", "Uranus", "Neptune", NASA),
    Question("Which planet is hotter on average?", "Venus", "Mercury", NASA),
    Question("Which lasts longer on Venus?", "One rotation", "One year", NASA),
    Question("Which planet has the higher mean density?", "Earth", "Mercury", NASA),
    Question("Which is wider?", "Australia, coast to coast", "The Moon", f"{NASA}; {BRITANNICA}"),
    Question("How long does sunlight take to the Earth?", "Under 10 min", "Over 10 min", NASA),
    Question("Which planet has more known moons?", "Uranus", "Neptune", NASA),
    Question("Which is denser?", "Gold", "Lead", CRC),
    Question("Which metal melts at a higher temperature?", "Iron", "Gold", CRC),
    Question("Which has the higher atomic number?", "Lead", "Gold", CRC),
    Question("Ethanol boils at …", "Below 80 °C", "Above 80 °C", CRC),
    Question("Where does sound travel faster?", "In water", "In air", CRC),
    Question("Which conducts electricity better?", "Silver", "Gold", CRC),
    Question("Which has the larger area?", "Greenland", "Mexico", FACTBOOK),
    Question("Which has the larger area?", "Japan", "Germany", FACTBOOK),
    Question("Which has the larger area?", "New Zealand", "The United Kingdom", FACTBOOK),
    Question("Which has the larger area?", "Kazakhstan", "Saudi Arabia", FACTBOOK),
    Question("Which has more inhabitants?", "Nigeria", "Brazil", "UN, World Population Prospects"),
    Question("Which has more inhabitants?", "Ethiopia", "Egypt", "UN, World Population Prospects"),
    Question("Which city lies further north?", "Rome", "New York", "geographical coordinates"),
    Question("Which city lies further north?", "Seoul", "Tokyo", "geographical coordinates"),
    Question("Which city lies further north?", "London", "Calgary", "geographical coordinates"),
    Question("Which city lies further west?", "Reno", "Los Angeles", "geographical coordinates"),
    Question("Which mountain is higher?", "Elbrus", "Mont Blanc", BRITANNICA),
    Question("Which lake is deeper?", "Lake Baikal", "The Caspian Sea", BRITANNICA),
    Question("Which is the larger ocean?", "The Atlantic", "The Indian Ocean", BRITANNICA),
    Question("Which was founded first?", "Harvard", "The Royal Society", BRITANNICA),
    Question("Which is older?", "Teaching in Oxford", "Tenochtitlan, the Aztec city", BRITANNICA),
    Question(
        "Cleopatra lived nearer in time to …",
        "The Moon landing",
        "The building of the Great Pyramid",
        BRITANNICA,
    ),
    Question("Which was patented first?", "The fax machine", "The telephone", BRITANNICA),
    Question("Which was invented first?", "The steam locomotive", "The bicycle", BRITANNICA),
    Question("Who was born first?", "Bach", "Mozart", BRITANNICA),
    Question(
        "Hangul was proclaimed …", "Before Columbus sailed", "After Columbus sailed", BRITANNICA
    ),
    Question("Which is, to a botanist, a berry?", "A banana", "A strawberry", BRITANNICA),
    Question("How many hearts has an octopus?", "Three", "One", BRITANNICA),
    Question(
        "Which animal is the closer relative of whales?",
        "The hippopotamus",
        "The sea lion",
        BRITANNICA,
    ),
    Question("An elephant is pregnant for …", "Over 18 months", "Under 18 months", BRITANNICA),
    Question("Which has more bones?", "A newborn child", "An adult", BRITANNICA),
    Question("What colour is the skin of a polar bear?", "Black", "White", BRITANNICA),
    Question(
        "Which genome is larger?", "That of wheat", "That of humans", "IWGSC 2018, Science 361"
    ),
    Question("Which is larger?", "7!", "2 to the power of 10", ARITHMETIC),
    Question("Which is larger?", "e to the power of π", "π to the power of e", ARITHMETIC),
    Question(
        "23 people are in a room. That two of them share a birthday is …",
        "More likely than not",
        "Less likely than not",
        ARITHMETIC,
    ),
    Question("How many primes are below 1,000?", "Fewer than 200", "More than 200", ARITHMETIC),
    Question(
        "The orders of 52 cards are …",
        "More than the atoms of the Earth",
        "Fewer than the atoms of the Earth",
        f"{ARITHMETIC}; {BRITANNICA}",
    ),
    Question(
        "Which came first?",
        "The Brier score",
        "The first transistor radio",
        "Brier 1950; Britannica",
    ),
    Question(
        "Which was published first?",
        "Platt scaling",
        "AlexNet",
        "Platt 1999; Krizhevsky et al. 2012",
    ),
    Question(
        "The sum of the whole numbers from 1 to 100 is …", "Above 5,000", "Below 5,000", ARITHMETIC
    ),
]


def questions() -> str:
    """All questions as the page's script reads them, in rounds of twenty."""
    rng = np.random.default_rng(0)
    every = [*of_the_course(), *GENERAL]
    if len(every) % ROUND:
        raise SystemExit(f"{len(every)} questions are no rounds of {ROUND}: add or remove some")
    shown = []
    for place in rng.permutation(len(every)):
        question, true, other, source = every[place]
        correct = int(rng.integers(2))
        options = [other, true] if correct else [true, other]
        shown.append(
            {"question": question, "options": options, "correct": correct, "source": source}
        )
    data = json.dumps(shown, ensure_ascii=False).replace("<", "\\u003c")
    return "\n".join(
        [
            "```{raw} html",
            '<script defer src="../_static/yourself.js"></script>',
            f'<script type="application/json" id="yourself-questions">{data}</script>',
            '<div class="play yourself" role="group" aria-label="Twenty questions"></div>',
            "<noscript>The questions need a browser that runs scripts.</noscript>",
            "```",
            "",
        ]
    )


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), questions())
