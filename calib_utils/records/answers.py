"""The answers of chat language models to multiple-choice questions, and their confidence.

Published by Plaut, Nguyen and Trinh under the MIT licence, which is next to the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calib_utils.predictions import Predictions, as_predictions
from calib_utils.records.npz import explain_damage, read_npz

__all__ = ["LANGUAGE_MODELS", "QUESTIONS", "Answers", "load_answers"]

_FOLDER = Path(__file__).parent / "stored/answers"
_CORRECT, _UNPARSEABLE = 1, 2  # of the grades; 0 is wrong

#: The fourteen models whose answers `load_answers` reads, from small to large in each family.
LANGUAGE_MODELS = (
    *("Falcon-7b", "Falcon-40b", "Llama-7b", "Llama-13b", "Llama-70b", "Llama3-8b", "Llama3-70b"),
    *("Mistral", "Mixtral", "Solar", "Yi-6b", "Yi-34b", "gpt-3.5-turbo", "gpt-4-turbo"),
)

#: The five sets of questions.
QUESTIONS = ("arc", "hellaswag", "mmlu", "truthfulqa", "winogrande")


@dataclass(frozen=True)
class Answers:
    """The answers of one model to one set of questions.

    Attributes:
        model: one of ``LANGUAGE_MODELS``.
        questions: one of ``QUESTIONS``.
        prompt: 0 or 1, the wording of the questions.
        confidence: float32, shape (n,): the probability of the letter that the model answered,
            among all tokens that it could have written. NaN if the answer was not a letter.
        correct: bool, shape (n,): whether it is the correct letter; False if it was not a letter.
        answered: bool, shape (n,): whether it was a letter.

    Example:
        >>> answers = load_answers("gpt-4-turbo", "mmlu")
        >>> len(answers.confidence), round(float(answers.correct.mean()), 2)
        (6000, 0.81)
    """

    model: str
    questions: str
    prompt: int
    confidence: np.ndarray
    correct: np.ndarray
    answered: np.ndarray

    @property
    def predictions(self) -> Predictions:
        """Confidence and correctness, without the answers that were not a letter."""
        return as_predictions(
            confidence=self.confidence[self.answered], correct=self.correct[self.answered]
        )


def load_answers(model: str, questions: str, prompt: int = 0) -> Answers:
    """Read the answers of a language model.

    The models were asked each question once, without examples, and took the most probable token.
    Each row is the same question for all models and both prompts. The only exception is MMLU, where
    the two Llama3 models got the questions in a different order, so that they pair with each other
    and with no other model.

    Args:
        model: one of ``LANGUAGE_MODELS``.
        questions: "arc" (2,590 questions), "hellaswag", "mmlu", "winogrande" (6,000 each), or
            "truthfulqa" (817).
        prompt: 0 or 1.

    Raises:
        ValueError: if there is no such model, set of questions or prompt; or the file is damaged.

    Source: Plaut, Nguyen and Trinh 2024, "Probabilities of Chat LLMs Are Miscalibrated but Still
    Predict Correctness on Multiple-Choice Q&A".

    Example:
        >>> answers = load_answers("Falcon-7b", "mmlu")
        >>> answers.predictions
        Predictions of 5986 samples: confidence, probs
    """
    for name, value, known in (
        ("model", model, LANGUAGE_MODELS),
        ("questions", questions, QUESTIONS),
        ("prompt", prompt, (0, 1)),
    ):
        if value not in known:
            raise ValueError(
                f"{name}: expected one of {', '.join(map(str, known))}, found {value!r}"
            )
    with explain_damage(f"questions: the file of answers to {questions!r}"):
        arrays, facts = read_npz(_FOLDER / f"{questions}.npz")
        row = facts["models"].index(model)
        grade = arrays["grade"][row, prompt]
        answered = grade != _UNPARSEABLE
        confidence = np.where(answered, arrays["confidence"][row, prompt], np.float32("nan"))
    return Answers(model, questions, prompt, confidence, grade == _CORRECT, answered)
