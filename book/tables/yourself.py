"""The questions of "Calibrate yourself": `python -m book.tables.yourself TARGET`.

Things that people half know, wherever they live, and that no chapter tells. Each has been checked
twice: against the kind of source that is named, and with the fact that decides it. The first option
is the true one; the order of the options is random, and that of the questions is the same for a
whole class.
"""

from __future__ import annotations

import json
import sys
import tomllib
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from calib_utils._files import write_text
from calib_utils.metrics import top_label
from calib_utils.records import load_answers, load_record

ROUND = 10
LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.99])
SURE = 0.9  # and above, for the sentence on where a reader is surest


class Question(NamedTuple):
    """A question with its true option and the other one; the fact that decides it; its source."""

    question: str
    true: str
    other: str
    fact: str
    source: str


QUESTIONS = [
    Question(*one)
    for one in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["questions"]
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
    surest = correct[confidence >= SURE]
    return {"name": name, "points": points, "surest": round(float(surest.mean()), 3)}


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
    # A mended fact leaves the answers of readers, and their links, as they are.
    answered = [[one["question"], one["options"]] for one in asked]
    key = sha256(json.dumps(answered).encode()).hexdigest()[:4]
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
