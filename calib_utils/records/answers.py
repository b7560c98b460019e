"""The answers of language models to questions, and their confidence.

Published by others under the MIT licence. ``SOURCES.md`` next to the files says who measured what
and where it was published; the licences are beside it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib_utils.predictions import Predictions, as_predictions
from calib_utils.records.installed import check_known, folder_of
from calib_utils.records.npz import explain_damage, reading

_CORRECT, _UNPARSEABLE = 1, 2  # of the grades; 0 is wrong

#: The fourteen chat models of 2024 whose probabilities were recorded, from small to large in each
#: family.
LANGUAGE_MODELS = (
    *("Falcon-7b", "Falcon-40b", "Llama-7b", "Llama-13b", "Llama-70b", "Llama3-8b", "Llama3-70b"),
    *("Mistral", "Mixtral", "Solar", "Yi-6b", "Yi-34b", "gpt-3.5-turbo", "gpt-4-turbo"),
)

#: The sets of questions, with the kinds of confidence that were recorded for each. "letter" is the
#: probability of the letter that answers a question with options, "stated" the number that the
#: model wrote, and "tokens" the geometric mean of the probabilities of its answer's tokens.
QUESTIONS = {
    **dict.fromkeys(("arc", "hellaswag", "mmlu", "truthfulqa", "winogrande"), ("letter",)),
    "mmlu-pro": ("stated",),
    **dict.fromkeys(("nq", "sciq", "triviaqa", "wikiqa"), ("stated", "tokens")),
}


@dataclass(frozen=True)
class Answers:
    """The answers of one model to one set of questions.

    Attributes:
        model: one of ``list_answers(questions)``.
        questions: one of ``QUESTIONS``.
        prompt: 0 or 1, the wording of the questions.
        kind: of the confidence, one of those in ``QUESTIONS``.
        confidence: float32, shape (n,), 0 to 1. NaN if there was none, or no answer that could be
            graded.
        correct: bool, shape (n,): whether the answer is correct; False if there was none.
        answered: bool, shape (n,): whether there was an answer that could be graded.
        category: str, shape (n,), the subject of each question; None where the source has none.

    Example:
        >>> answers = load_answers("gpt-4-turbo", "mmlu")
        >>> len(answers.confidence), round(float(answers.correct.mean()), 2)
        (6000, 0.81)
    """

    model: str
    questions: str
    prompt: int
    kind: str
    confidence: np.ndarray
    correct: np.ndarray
    answered: np.ndarray
    category: np.ndarray | None

    @property
    def complete(self) -> np.ndarray:
        """Whether each row has both an answer and a confidence, shape (n,)."""
        return ~np.isnan(self.confidence)

    @property
    def predictions(self) -> Predictions:
        """Confidence and correctness, of the complete rows."""
        return as_predictions(
            confidence=self.confidence[self.complete], correct=self.correct[self.complete]
        )


def list_answers(questions: str) -> tuple[str, ...]:
    """The models whose answers to a set of questions are stored.

    Args:
        questions: one of ``QUESTIONS``.

    Raises:
        ValueError: if there is no such set of questions; or the file is damaged.

    Example:
        >>> models = list_answers("mmlu-pro")
        >>> len(models), "deepseek-reasoner" in models
        (83, True)
    """
    check_known("questions", questions, QUESTIONS)
    return _read(questions)[1]


def load_answers(
    model: str, questions: str, prompt: int = 0, *, kind: str | None = None
) -> Answers:
    """Read the answers of a language model.

    Each row is the same question for all models and both prompts. The only exception is MMLU, where
    the two Llama3 models got the questions in a different order, so that they pair with each other
    and with no other model.

    Args:
        model: one of ``list_answers(questions)``.
        questions: "arc" (2,590 questions), "hellaswag", "mmlu", "winogrande" (6,000 each) or
            "truthfulqa" (817), for the fourteen ``LANGUAGE_MODELS``, without examples and with the
            most probable token; "mmlu-pro" (12,032), for 83 runs; "nq", "sciq", "triviaqa" (1,000
            each) or "wikiqa" (243), which are open questions, for twelve models.
        prompt: 0, or 1 for the five sets with two prompts.
        kind: "letter", "stated" or "tokens"; by default the first in ``QUESTIONS[questions]``.

    Raises:
        ValueError: if there is no such model, set of questions, prompt or kind; or the file is
            damaged.

    Source: Plaut, Nguyen and Trinh 2024, "Probabilities of Chat LLMs Are Miscalibrated but Still
    Predict Correctness on Multiple-Choice Q&A"; for the other sets, the repositories named in
    ``SOURCES.md`` next to the files.

    Example:
        >>> answers = load_answers("Falcon-7b", "mmlu")
        >>> answers.predictions
        Predictions of 5981 samples: confidence, probs
        >>> said = load_answers("gemma-2-2b-it", "sciq", kind="stated")
        >>> round(float(said.predictions.array.mean()), 2), round(float(said.correct.mean()), 2)
        (0.9, 0.47)
    """
    check_known("questions", questions, QUESTIONS)
    arrays, models, categories = _read(questions)
    check_known("model", model, models)
    kind = QUESTIONS[questions][0] if kind is None else kind
    check_known("kind", kind, QUESTIONS[questions])
    check_known("prompt", prompt, (0, 1) if kind == "letter" else (0,))
    with explain_damage(f"questions: the file of answers to {questions!r}"):
        row = models.index(model), prompt
        grade = arrays["grade"][row]
        answered = grade != _UNPARSEABLE
        stored = _shares(arrays["confidence" if kind == "letter" else kind][row])
        if kind == "letter":  # 0 means that its token was not found
            stored[stored == 0] = np.nan
        confidence = np.where(answered, stored, np.float32("nan"))
        category = np.array(categories)[arrays["category"]] if categories else None
    return Answers(
        model, questions, prompt, kind, confidence, grade == _CORRECT, answered, category
    )


@dataclass(frozen=True)
class Samples:
    """Several answers of one model to each of some questions, sampled independently.

    Attributes:
        answer: uint8, shape (n, m). In a row, the same number is the same answer, spelled alike.
        correct: bool, shape (n, m): whether the answer is spelled like the one in the key.

    Example:
        >>> samples = load_samples("triviaqa-samples")
        >>> samples.answer.shape, round(float(samples.correct.mean()), 2)
        ((500, 20), 0.43)
    """

    answer: np.ndarray
    correct: np.ndarray


def load_samples(questions: str) -> Samples:
    """Read twenty sampled answers of LLaMA-13B to each of 500 open questions.

    An answer is graded by exact match to a single spelling, after normalisation, so an answer that
    says the same in other words counts as different and as wrong.

    Args:
        questions: "triviaqa-samples", the only set.

    Raises:
        ValueError: if there is no such set; or the file is damaged.

    Source: Lin, Trivedi and Sun 2024, "Generating with Confidence: Uncertainty Quantification for
    Black-box Large Language Models", whose repository ``SOURCES.md`` names.

    Example:
        >>> samples = load_samples("triviaqa-samples")
        >>> round(float((samples.answer == samples.answer[:, :1]).mean()), 2)
        0.39
    """
    check_known("questions", questions, ("triviaqa-samples",))
    path = folder_of("answers") / f"{questions}.npz"
    with reading(path, f"questions: the file of {questions!r}") as (arrays, _):
        return Samples(arrays["answer"], arrays["correct"])


def _read(questions: str) -> tuple[dict[str, np.ndarray], tuple[str, ...], list[str] | None]:
    """The arrays of a file, its models, and its categories if it has any."""
    path = folder_of("answers") / f"{questions}.npz"
    with reading(path, f"questions: the file of answers to {questions!r}") as (arrays, facts):
        return arrays, tuple(facts["models"]), facts.get("categories")


def _shares(stored: np.ndarray) -> np.ndarray:
    """Confidences as float32: of 8 bits in percent, of 16 in 1/10,000, the largest one missing."""
    if stored.dtype.kind == "f":
        return stored.copy()
    whole = {1: 100, 2: 10_000}[stored.itemsize]
    missing = stored == np.iinfo(stored.dtype).max
    return np.where(missing, np.nan, stored / whole).astype(np.float32)
