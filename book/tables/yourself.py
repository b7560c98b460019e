"""The questions of "Calibrate yourself": `python -m book.tables.yourself TARGET`.

Things that people half know, wherever they live, and that no chapter tells. Each has been checked
twice: against the kind of source that is named, and with the fact that decides it. The first option
is the true one; the order of the options is random, and that of the questions is the same for a
whole class.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from calib_utils.metrics import top_label
from calib_utils.records import load_answers, load_record
from tools.sources.atomic import write_text

ROUND = 10
LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.99])
PLANETS = "NASA, Planetary Fact Sheet"
FACTBOOK = "CIA, The World Factbook"
CRC = "CRC Handbook of Chemistry and Physics"
BRITANNICA = "Encyclopaedia Britannica"
MAP = "geographical coordinates"
PEOPLE = "UN, World Population Prospects"
ARITHMETIC = "arithmetic"


class Question(NamedTuple):
    """A question with its true option and the other one; the fact that decides it; its source."""

    question: str
    true: str
    other: str
    fact: str
    source: str


QUESTIONS = [
    Question(
        "Which planet has the larger diameter?",
        "Uranus",
        "Neptune",
        "51,118 and 49,528 km",
        PLANETS,
    ),
    Question("Which planet is hotter on average?", "Venus", "Mercury", "464 and 167 °C", PLANETS),
    Question(
        "Which lasts longer on Venus?",
        "One rotation",
        "One year",
        "243 and 225 of our days",
        PLANETS,
    ),
    Question(
        "Which planet has the higher mean density?",
        "Earth",
        "Mercury",
        "5.5 and 5.4 g/cm³",
        PLANETS,
    ),
    Question(
        "Which planet turns round its axis faster?",
        "Jupiter",
        "Mars",
        "in 9.9 and 24.6 hours",
        PLANETS,
    ),
    Question(
        "Which has the larger diameter?",
        "Ganymede, a moon of Jupiter",
        "The planet Mercury",
        "5,270 and 4,880 km",
        PLANETS,
    ),
    Question(
        "Which is wider?", "Australia, coast to coast", "The Moon", "4,000 and 3,475 km", PLANETS
    ),
    Question(
        "How long does sunlight take to the Earth?",
        "Under 10 minutes",
        "Over 10 minutes",
        "8.3 minutes",
        PLANETS,
    ),
    Question(
        "Which is longer?",
        "The way to the Moon",
        "The way of light in a second",
        "384,000 and 300,000 km",
        PLANETS,
    ),
    Question("Which is denser?", "Gold", "Lead", "19.3 and 11.3 g/cm³", CRC),
    Question(
        "Which metal melts at a higher temperature?", "Iron", "Gold", "1,538 and 1,064 °C", CRC
    ),
    Question("Which has the higher atomic number?", "Lead", "Gold", "82 and 79", CRC),
    Question("At sea level ethanol boils …", "Below 80 °C", "Above 80 °C", "at 78 °C", CRC),
    Question(
        "At the top of Mount Everest water boils …",
        "Below 80 °C",
        "Above 80 °C",
        "at about 70 °C",
        CRC,
    ),
    Question("Where does sound travel faster?", "In water", "In air", "1,480 and 340 m/s", CRC),
    Question("Which conducts electricity better?", "Silver", "Gold", "63 and 45 million S/m", CRC),
    Question(
        "Which element makes up more of the mass of the Earth's crust?",
        "Oxygen",
        "Silicon",
        "46 and 28 %",
        CRC,
    ),
    Question(
        "Which has the larger area?", "Greenland", "Mexico", "2.17 and 1.96 million km²", FACTBOOK
    ),
    Question("Which has the larger area?", "Japan", "Germany", "378,000 and 357,000 km²", FACTBOOK),
    Question(
        "Which has the larger area?",
        "New Zealand",
        "The United Kingdom",
        "268,000 and 244,000 km²",
        FACTBOOK,
    ),
    Question(
        "Which has the larger area?",
        "Kazakhstan",
        "Saudi Arabia",
        "2.72 and 2.15 million km²",
        FACTBOOK,
    ),
    Question(
        "Which has the larger area?", "Africa", "North America", "30 and 25 million km²", BRITANNICA
    ),
    Question(
        "Which island is larger?", "Borneo", "Madagascar", "750,000 and 590,000 km²", BRITANNICA
    ),
    Question(
        "Which island is larger?",
        "Honshu, in Japan",
        "Great Britain",
        "228,000 and 209,000 km²",
        BRITANNICA,
    ),
    Question(
        "Which has more inhabitants?", "Nigeria", "Russia", "over 220 and under 150 million", PEOPLE
    ),
    Question(
        "Which has more inhabitants?", "Ethiopia", "Egypt", "over 125 and under 120 million", PEOPLE
    ),
    Question(
        "Which has more inhabitants?", "South Korea", "Australia", "52 and 27 million", PEOPLE
    ),
    Question(
        "How many official time zones has China?",
        "One",
        "Five",
        "Beijing's time is everybody's",
        FACTBOOK,
    ),
    Question("Which city lies further north?", "Rome", "New York", "41.9° and 40.7° N", MAP),
    Question("Which city lies further north?", "Seoul", "Tokyo", "37.6° and 35.7° N", MAP),
    Question("Which city lies further north?", "Paris", "Montreal", "48.9° and 45.5° N", MAP),
    Question("Which city lies further north?", "Shanghai", "Cairo", "31.2° and 30.0° N", MAP),
    Question(
        "Which city lies further south?", "Buenos Aires", "Cape Town", "34.6° and 33.9° S", MAP
    ),
    Question("Which mountain is higher?", "Elbrus", "Mont Blanc", "5,642 and 4,806 m", BRITANNICA),
    Question(
        "Which mountain is higher?", "Aconcagua", "Kilimanjaro", "6,961 and 5,895 m", BRITANNICA
    ),
    Question(
        "Which lake is deeper?", "Lake Baikal", "The Caspian Sea", "1,640 and 1,025 m", BRITANNICA
    ),
    Question(
        "Which is the larger ocean?",
        "The Atlantic",
        "The Indian Ocean",
        "85 and 71 million km²",
        BRITANNICA,
    ),
    Question(
        "Which is older?",
        "Teaching in Oxford",
        "Tenochtitlan, the Aztec city",
        "1096 and 1325",
        BRITANNICA,
    ),
    Question(
        "Cleopatra lived nearer in time to …",
        "The Moon landing",
        "The building of the Great Pyramid",
        "2,000 years after her; 2,500 before",
        BRITANNICA,
    ),
    Question(
        "Which was patented first?", "The fax machine", "The telephone", "1843 and 1876", BRITANNICA
    ),
    Question(
        "Which was invented first?",
        "The steam locomotive",
        "The bicycle",
        "1804 and 1817",
        BRITANNICA,
    ),
    Question(
        "Which was finished first?",
        "The Statue of Liberty",
        "The Eiffel Tower",
        "1886 and 1889",
        BRITANNICA,
    ),
    Question(
        "Which was begun first?",
        "Angkor Wat, in Cambodia",
        "Machu Picchu, in Peru",
        "12th and 15th century",
        BRITANNICA,
    ),
    Question("Which company was founded first?", "Nintendo", "BMW", "1889 and 1916", BRITANNICA),
    Question("Which company was founded first?", "Samsung", "Sony", "1938 and 1946", BRITANNICA),
    Question(
        "Which came first?",
        "The first people on the Moon",
        "The first e-mail between two computers",
        "1969 and 1971",
        BRITANNICA,
    ),
    Question("Who was born first?", "Bach", "Mozart", "1685 and 1756", BRITANNICA),
    Question("Who was born first?", "Napoleon", "Beethoven", "1769 and 1770", BRITANNICA),
    Question("Who was born first?", "Gandhi", "Einstein", "1869 and 1879", BRITANNICA),
    Question("Who was born first?", "Confucius", "Socrates", "about 551 and 470 BC", BRITANNICA),
    Question(
        "The Korean alphabet was proclaimed …",
        "Before Columbus first sailed west",
        "After Columbus first sailed west",
        "1446 and 1492",
        BRITANNICA,
    ),
    Question(
        "Which is, to a botanist, a berry?",
        "A banana",
        "A strawberry",
        "from one ovary, with its seeds inside",
        BRITANNICA,
    ),
    Question(
        "How many hearts has an octopus?", "Three", "One", "two of them for the gills", BRITANNICA
    ),
    Question(
        "How many legs has a lobster, claws included?",
        "Ten",
        "Eight",
        "it is a decapod",
        BRITANNICA,
    ),
    Question(
        "How many bones has a giraffe's neck?",
        "Seven, as ours",
        "More than ours",
        "as nearly all mammals",
        BRITANNICA,
    ),
    Question(
        "Which animal is the closer relative of whales?",
        "The hippopotamus",
        "The sea lion",
        "both belong to the even-toed ungulates",
        BRITANNICA,
    ),
    Question(
        "An elephant is pregnant for …",
        "Over 18 months",
        "Under 18 months",
        "about 22 months",
        BRITANNICA,
    ),
    Question(
        "Which has more bones?", "A newborn child", "An adult", "nearly 300 and 206", BRITANNICA
    ),
    Question(
        "What colour is the skin of a polar bear?",
        "Black",
        "White",
        "its hairs are colourless",
        BRITANNICA,
    ),
    Question(
        "Which has more chromosomes in a cell?",
        "A potato plant",
        "A human",
        "48 and 46",
        BRITANNICA,
    ),
    Question(
        "Which is larger?",
        "7! = 1 · 2 · … · 7",
        "2 to the power of 10",
        "5,040 and 1,024",
        ARITHMETIC,
    ),
    Question(
        "Which is larger?",
        "2 to the power of 100",
        "10 to the power of 30",
        "1.27 · 10³⁰ and 10³⁰",
        ARITHMETIC,
    ),
    Question("Which is larger?", "√2 + √3", "π", "3.146 and 3.142", ARITHMETIC),
    Question(
        "23 people are in a room. That two of them share a birthday is …",
        "More likely than not",
        "Less likely than not",
        "51 %",
        ARITHMETIC,
    ),
    Question(
        "A die is thrown four times. At least one six is …",
        "More likely than not",
        "Less likely than not",
        "52 %",
        ARITHMETIC,
    ),
    Question(
        "A fair coin is tossed 100 times. How likely are exactly 50 heads?",
        "About 8 %",
        "About 24 %",
        "8.0 %",
        ARITHMETIC,
    ),
    Question(
        "How many primes are below 1,000?", "Fewer than 200", "More than 200", "168", ARITHMETIC
    ),
    Question("Which is a prime?", "97", "91", "91 = 7 · 13", ARITHMETIC),
    Question(
        "A million seconds are …",
        "Less than two weeks",
        "More than two weeks",
        "11.6 days",
        ARITHMETIC,
    ),
    Question(
        "The orders of 52 cards are …",
        "More than the atoms of the Earth",
        "Fewer than the atoms of the Earth",
        "about 10⁶⁸ and 10⁵⁰",
        ARITHMETIC,
    ),
]


def model(name: str, confidence: np.ndarray, correct: np.ndarray) -> dict[str, object]:
    """The mean confidence and the accuracy of a model near each level that readers can choose."""
    ends = [0.45, *(LEVELS[1:] + LEVELS[:-1]) / 2, 1.001]
    points = []
    for low, high in pairwise(ends):
        near = (low <= confidence) & (confidence < high)
        if near.sum() < 20:
            raise SystemExit(f"{name}: only {near.sum()} predictions between {low} and {high}")
        points.append([round(float(one[near].mean()), 3) for one in (confidence, correct)])
    return {"name": name, "points": points}


def models() -> list[dict[str, object]]:
    """Two models that the course measures, for the diagram of a reader."""
    gpt = load_answers("gpt-4-turbo", "mmlu").predictions
    ours = load_record("resnet34-cifar100", "test")
    return [
        model("GPT-4-turbo, exam questions (MMLU)", gpt.array, gpt.labels),
        model(
            "Our ResNet-34, images (CIFAR-100)",
            *top_label(softmax(ours.logits, axis=1), ours.labels),
        ),
    ]


def pool() -> list[dict[str, object]]:
    """The questions in the order of the page, with their options in a random order."""
    rng = np.random.default_rng(4)
    if len(QUESTIONS) % ROUND:
        raise SystemExit(f"{len(QUESTIONS)} questions are no rounds of {ROUND}: add or remove some")
    shown = []
    for place in rng.permutation(len(QUESTIONS)):
        question, true, other, fact, source = QUESTIONS[place]
        correct = int(rng.integers(2))
        options = [other, true] if correct else [true, other]
        shown.append(
            {
                "question": question,
                "options": options,
                "correct": correct,
                "fact": fact,
                "source": source,
            }
        )
    return shown


def questions() -> str:
    """All that the page's script reads. Results of other questions have another key."""
    asked = pool()
    key = sha256(json.dumps(asked).encode()).hexdigest()[:4]
    data = json.dumps({"key": key, "pool": asked, "models": models()}, ensure_ascii=False)
    data = data.replace("<", "\\u003c")
    return "\n".join(
        [
            "```{raw} html",
            '<script defer src="../_static/yourself.js"></script>',
            f'<script type="application/json" id="yourself-questions">{data}</script>',
            '<div class="play yourself" role="group" aria-label="Ten questions"></div>',
            "<noscript>The questions need a browser that runs scripts.</noscript>",
            "```",
            "",
        ]
    )


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), questions())
