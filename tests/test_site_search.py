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
    "reliability diagrams": "notebooks/what-calibration-means.html#what-calibration-means",
    "conformal": "notebooks/deciding-with-probabilities.html#a-set-instead-of-a-single-class",
    "baseline": "notebooks/can-you-trust-an-ece.html#how-large-is-the-baseline",
    "number of bins": "notebooks/ece-and-mce.html#why-bins-and-how-many",
    "overconfident": f"{CAUSES}#why-modern-networks-are-overconfident",
    "language models": "notebooks/language-models.html#do-language-models-know-what-they-know",
    "GPT-4": "notebooks/language-models.html#do-language-models-know-what-they-know",
    "corrupted images": "notebooks/since-2017.html#when-the-images-change",
    "ResNet-34": "notebooks/resnet34-lab.html#the-resnet-34-lab",
    "rain": "notebooks/what-calibration-means.html#three-weather-forecasters",
    # The word of the glossary, before attributes of the module with the same name.
    "ECE": f"{TERM}ECE",
    "expected calibration error": f"{TERM}ECE",
    "maximum calibration error": f"{TERM}MCE",
    "LLM": f"{TERM}LLM",
    "temperature": f"{TERM}temperature",
    "temperature scaling": f"{TERM}temperature-scaling",
    "logits": f"{TERM}logits",
    "label smoothing": f"{TERM}label-smoothing",
    "weight decay": f"{TERM}weight-decay",
    "selective prediction": f"{TERM}selective-prediction",
    "proper scoring rules": f"{TERM}proper-score",
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
