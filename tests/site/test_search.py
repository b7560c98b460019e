"""What readers would ask of the built book, and the first answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

TERM = "book/glossary.html#term-"
METRICS = "book/api/metrics.html#calib_utils.metrics."
CAUSES = "notebooks/why-networks-are-overconfident.html"
FIRST = {
    # The part of a chapter that treats it.
    "deep ensembles": "notebooks/since-2017.html#averages-of-networks",
    "reliability diagrams": "notebooks/what-calibration-means.html#ninety-per-cent-sure",
    "conformal": "notebooks/deciding-with-probabilities.html#a-set-instead-of-a-single-class",
    "baseline": "notebooks/ece-and-mce.html#why-a-calibrated-model-does-not-score-zero",
    "number of bins": "notebooks/ece-and-mce.html#why-bins-and-how-many",
    "overconfident": f"{CAUSES}#why-modern-networks-are-overconfident",
    "language models": "notebooks/language-models.html#do-language-models-know-what-they-know",
    "GPT-4": "notebooks/language-models.html#ask-it-how-sure-it-is",
    "corrupted images": "notebooks/since-2017.html#when-the-images-change",
    "ResNet-34": "notebooks/resnet34-lab.html#the-resnet-34-lab",
    "rain": "notebooks/what-calibration-means.html#three-weather-forecasters",
    # The word of the glossary, before attributes of the module with the same name.
    "ECE": f"{TERM}ECE",
    "expected calibration error": f"{TERM}ECE",
    "maximum calibration error": f"{TERM}MCE",
    "LLM": "notebooks/language-models.html#do-language-models-know-what-they-know",
    "temperature": f"{TERM}temperature",
    "temperature scaling": f"{TERM}temperature-scaling",
    "logits": f"{TERM}logits",
    "label smoothing": f"{TERM}label-smoothing",
    "weight decay": f"{TERM}weight-decay",
    "selective prediction": f"{TERM}selective-prediction",
    "proper scoring rules": f"{TERM}proper-score",
    # Whole questions.
    "what is ECE": "notebooks/ece-and-mce.html#ece-and-mce",
    "is my model calibrated": "notebooks/your-own-model.html#calibrate-your-own-model",
    "multi label": "book/which-command.html#a-sample-can-have-several-labels",
    # Hyphens, a wrong letter, two that changed places.
    "one-versus-rest": f"{TERM}one-versus-rest",
    "cross entropy": f"{TERM}cross-entropy",
    "isotonik regression": f"{TERM}isotonic-regression",
    "temperatrue": f"{TERM}temperature",
    "histogramm binning": f"{TERM}histogram-binning",
    "bootsrtap": f"{TERM}bootstrap",
    # Korean, however it is spaced.
    "기대보정오차": f"{TERM}ECE",
    "기대 보정 오차": f"{TERM}ECE",
    "과신": f"{TERM}overconfidence",
    "앙상블": f"{TERM}ensemble",
    # Code.
    "expected_calibration_error": f"{METRICS}expected_calibration_error",
}
# Questions as readers type them, with the pages or sections that answer them.
ASKED = {
    "why are neural networks overconfident": [CAUSES],
    "calibrate my own model": ["notebooks/your-own-model"],
    "conformal prediction": [f"{TERM}conformal", "notebooks/deciding-with-probabilities"],
    "classwise ECE": [f"{METRICS}classwise", "notebooks/four-notions"],
    "adaptive ECE": [f"{TERM}equal-mass", "notebooks/ece-and-mce.html#why-bins"],
    "multiclass": ["notebooks/methods-for-many-classes"],
    "NLL vs ECE": ["notebooks/ece-and-mce.html#two-scores"],
    "LLM calibration": ["notebooks/language-models"],
    "how many bins should I use": ["notebooks/ece-and-mce.html#why-bins"],
    "does label smoothing help calibration": ["notebooks/since-2017", f"{TERM}label-smoothing"],
    "distribution shift": ["notebooks/since-2017.html#when-the-images-change"],
    "bootstrap confidence interval": ["notebooks/can-you-trust-an-ece"],
    "isotonic vs platt": ["notebooks/methods-for-two-classes", "notebooks/replication-of-methods"],
    "temperature scaling multiclass": ["notebooks/methods-for-many-classes"],
    "what is calibration": [f"{TERM}calibration"],
}


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    tab = browser.new_page()
    yield tab
    tab.close()


def found(tab: Any, address: str, question: str) -> list[str]:
    tab.goto(f"{address}search.html?q={quote(question)}", wait_until="load")
    links = tab.locator("#search-results > li > a")
    return links.evaluate_all("all => all.map(one => one.getAttribute('href'))")


@pytest.mark.parametrize(("question", "first"), FIRST.items())
def test_the_first_answer_is_what_a_reader_wants(
    question: str, first: str, tab: Any, address: str
) -> None:
    assert found(tab, address, question)[0] == first


@pytest.mark.parametrize("question", ["앙상블", "과신", "기대보정오차"])
def test_a_korean_word_leads_to_chapters_before_the_module(
    question: str, tab: Any, address: str
) -> None:
    kinds = [
        link.partition("/")[0] + "/api" * ("/api/" in link)
        for link in found(tab, address, question)
    ]
    assert "notebooks" in kinds[:3]
    assert "book/api" not in kinds[: kinds.index("notebooks")]


def test_the_first_three_answer_what_readers_ask(tab: Any, address: str) -> None:
    """Of 49 queries at least 45, and all that a missing word once left without an answer."""
    wanted = {**{question: [one] for question, one in FIRST.items()}, **ASKED}
    assert len(wanted) >= 49
    missed = [
        question
        for question, pages in wanted.items()
        if not any(one.startswith(tuple(pages)) for one in found(tab, address, question)[:3])
    ]
    assert len(wanted) - len(missed) >= 45, missed
    assert not set(missed) & set(list(ASKED)[:8])
