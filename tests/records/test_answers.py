"""What language models answered, against other code and what others found in the same data."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import calib_records
from calib_utils.metrics import confidence_auroc
from calib_utils.records import (
    LANGUAGE_MODELS,
    QUESTIONS,
    list_answers,
    load_answers,
    load_samples,
)

LETTERS = [name for name, kinds in QUESTIONS.items() if kinds == ("letter",)]


class TestAnswers:
    def test_what_is_missing_has_no_confidence_and_is_not_right(self):
        missing = without = 0
        for model, questions, prompt in itertools.product(LANGUAGE_MODELS, LETTERS, (0, 1)):
            answers = load_answers(model, questions, prompt)
            assert np.isnan(answers.confidence[~answers.answered]).all()
            assert not answers.correct[~answers.answered].any()
            assert len(answers.predictions) == answers.complete.sum()
            assert answers.predictions.array.min() > 0
            missing += (~answers.answered).sum()
            without += (answers.answered & ~answers.complete).sum()
        assert missing == 68 + 493 + 423 + 301 + 250
        # A stored 0 means that the token was not found: 28 of ARC, 71 of MMLU, 8 of WinoGrande.
        assert without == 28 + 71 + 8

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (("GPT-5", "mmlu"), "model: expected one of Falcon-40b, .*'GPT-5'"),
            (("Mixtral", "MMLU"), "questions: expected one of arc, .*'MMLU'"),
            (("Mixtral", "mmlu", 2), "prompt: expected one of 0, 1, found 2"),
            (("gpt-4.1", "mmlu-pro", 1), "prompt: expected one of 0, found 1"),
            (("Mixtral", "mmlu-pro"), "model: expected one of Llama-3.1-Nem.*, found 'Mixtral'"),
        ],
    )
    def test_bad_names(self, given, message):
        with pytest.raises(ValueError, match=f"^{message}"):
            load_answers(*given)

    def test_a_kind_that_was_not_recorded(self):
        with pytest.raises(ValueError, match="kind: expected one of letter, found 'stated'"):
            load_answers("Mixtral", "mmlu", kind="stated")
        with pytest.raises(ValueError, match="questions: expected one of triviaqa-samples, found"):
            load_samples("triviaqa")
        with pytest.raises(ValueError, match=r"questions: expected one of arc, .*'nothing'"):
            list_answers("nothing")

    def test_the_licences_and_sources_are_beside_the_files(self):
        stored = Path(calib_records.__file__).parent / "answers"
        sources = (stored / "SOURCES.md").read_text("utf-8")
        for name, holder in (
            ("LICENSE", "2024 Ben Plaut"),
            ("LICENSE-mmlu-pro", "2024 OpenAI"),
            ("LICENSE-open-questions", "2025 Yuxi Xia"),
            ("LICENSE-triviaqa-samples", "2023 Zhen Lin"),
        ):
            text = (stored / name).read_text("utf-8")
            assert text.startswith("MIT License")
            assert f"Copyright (c) {holder}" in text
            assert f"`{name}`" in sources
        files = {path.stem for path in stored.glob("*.npz")}
        assert files == {*QUESTIONS, "triviaqa-samples"}
        assert all(f"`{name}`" in sources for name in files)


def sorted_ece(confidence: np.ndarray, correct: np.ndarray, bins: int = 15) -> float:
    """By a loop over the sorted bins, whose upper edges belong to them."""
    index = np.ceil(confidence.astype(float) * bins).clip(1) - 1
    return sum(
        abs((correct[index == k].astype(float) - confidence[index == k]).sum())
        for k in np.unique(index)
    ) / len(correct)


@pytest.mark.parametrize(
    ("questions", "model", "accuracy", "confidence", "auroc", "ece"),
    [
        # As stated beside the data, with no ECE.
        ("mmlu", "gpt-4-turbo", 0.810, 0.965, 0.85, None),
        ("mmlu", "Yi-34b", 0.633, 0.710, 0.68, None),
        ("mmlu", "Falcon-7b", 0.259, 0.330, 0.48, None),
        # By other code, of the rows that have both a letter and a number.
        ("mmlu-pro", "gpt-4o-2024-08-06", 0.726, 0.934, 0.71, 0.208),
        ("mmlu-pro", "deepseek-reasoner", 0.846, 0.899, 0.78, 0.055),
        ("mmlu-pro", "Qwen3-14B-Base", 0.592, 0.927, 0.62, 0.336),
        ("mmlu-pro", "claude-3-haiku-20240307", 0.421, 0.919, 0.52, 0.498),
    ],
)
def test_first_look_of_others(questions, model, accuracy, confidence, auroc, ece):
    found = load_answers(model, questions).predictions
    assert found.labels.mean() == pytest.approx(accuracy, abs=6e-4)
    assert found.array.mean() == pytest.approx(confidence, abs=6e-4)
    by_sklearn = roc_auc_score(found.labels, found.array)
    assert confidence_auroc(found) == pytest.approx(by_sklearn)
    assert by_sklearn == pytest.approx(auroc, abs=0.006)
    if ece is not None:
        assert sorted_ece(found.array, found.labels) == pytest.approx(ece, abs=6e-4)


class TestStated:
    """What language models said of their answers, and two other kinds of confidence."""

    def test_every_run_has_the_same_questions(self):
        runs = [load_answers(model, "mmlu-pro") for model in list_answers("mmlu-pro")]
        assert len(runs) == 83
        counts = dict(zip(*np.unique(runs[0].category, return_counts=True), strict=True))
        assert (len(counts), sum(counts.values()), counts["law"]) == (14, 12_032, 1_101)
        for run in runs:
            assert (run.category == runs[0].category).all()
            stated = run.confidence[run.complete]
            assert ((stated >= 0) & (stated <= 1)).all()
            np.testing.assert_allclose(100 * stated, np.round(100 * stated), atol=1e-4)
            assert run.answered[run.complete].all()
        # Models agree on what is hard, so the rows pair.
        right = np.array([run.correct for run in runs if run.complete.mean() > 0.99])
        assert np.corrcoef(right)[np.triu_indices(len(right), 1)].min() > 0.1

    @pytest.mark.parametrize(
        ("model", "questions", "accuracy", "stated", "ece"),
        [
            ("Qwen2-72B-Instruct", "triviaqa", 0.588, 0.902, 0.314),
            ("Llama-3-70B-Instruct", "triviaqa", 0.609, 0.887, 0.280),
            ("gemma-2-2b-it", "triviaqa", 0.324, 0.849, 0.525),
            ("Qwen2-72B-Instruct", "sciq", 0.700, 0.911, 0.211),
        ],
    )
    def test_words_on_open_questions(self, model, questions, accuracy, stated, ece):
        found = load_answers(model, questions).predictions
        assert found.labels.mean() == pytest.approx(accuracy, abs=1.1e-3)
        assert found.array.mean() == pytest.approx(stated, abs=1e-3)
        assert sorted_ece(found.array, found.labels) == pytest.approx(ece, abs=1.5e-3)

    def test_words_and_tokens_are_of_the_same_answers(self):
        words, tokens = (
            load_answers("gemma-2-2b-it", "sciq", kind=kind) for kind in ("stated", "tokens")
        )
        assert (words.correct == tokens.correct).all()
        both = words.complete & tokens.complete
        eces = [sorted_ece(one.confidence[both], one.correct[both]) for one in (words, tokens)]
        assert eces == pytest.approx([0.424, 0.061], abs=1e-3)

    def test_samples_by_hand(self):
        samples = load_samples("triviaqa-samples")
        shares, right = [], []
        for answers, correct in zip(samples.answer.tolist(), samples.correct, strict=True):
            counts = Counter(answers)
            answer, times = counts.most_common(1)[0]
            shares.append(times / 20)
            right.append(correct[answers.index(answer)])
            assert len({(a, c) for a, c in zip(answers, correct.tolist(), strict=True)}) == len(
                counts
            ), "equal answers are graded alike"
        assert np.mean(shares) == pytest.approx(0.510, abs=5e-4)
        assert np.mean(right) == pytest.approx(0.648, abs=5e-4)
        assert samples.correct.mean() == pytest.approx(0.433, abs=5e-4)
        assert sorted_ece(np.array(shares), np.array(right)) == pytest.approx(0.148, abs=5e-4)
