"""The two examples of the chapter that ask a model, and the file that they end in."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from calib_audit import report


@pytest.fixture
def names():
    chapter = Path(__file__).parents[2] / "notebooks/language-models.md"
    found: dict[str, Any] = {}
    for code in re.findall(r"(?ms)^```python\n(.*?)^```$", chapter.read_text("utf-8")):
        exec(code, found)
    return found


def client(token: str, logprob: float) -> SimpleNamespace:
    """It replies with this token, in the form of OpenAI's client."""
    best = SimpleNamespace(token=token, logprob=logprob)
    other = SimpleNamespace(token="C", logprob=logprob - 1)
    content = [SimpleNamespace(token="C", logprob=logprob - 1, top_logprobs=[other, best])]
    reply = SimpleNamespace(choices=[SimpleNamespace(logprobs=SimpleNamespace(content=content))])

    def create(**asked):
        assert asked.keys() == {"model", "messages", "logprobs", "top_logprobs"}
        return reply

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


def test_a_letter_has_the_probability_of_its_token(names):
    letter, probability = names["ask"](client(" B", -0.25), "some-model", "Which?")
    assert letter == "B"
    assert probability == pytest.approx(0.7788, abs=1e-4)


@pytest.mark.parametrize("token", ["The", "E", "b", "AB", "", " "])
def test_what_is_no_letter_is_missing(names, token):
    assert names["ask"](client(token, -0.1), "some-model", "Which?") == (None, None)


def test_agreement_by_hand(names):
    assert names["agreement"](list("BABBCBBDBA")) == ("B", 0.6)


def test_from_a_file_to_the_report(names, tmp_path):
    asked = [list("AAAAB"), list("BBBBB"), list("CCDDD"), list("AABBB")] * 10
    truth = ["A", "B", "C", "A"] * 10
    rows = [names["agreement"](answers) for answers in asked]
    lines = [f"{q},{int(a == y)}" for (a, q), y in zip(rows, truth, strict=True)]
    (tmp_path / "answers.csv").write_text("\n".join(["confidence,correct", *lines]))
    found = report(tmp_path / "answers.csv")
    assert found.measures.accuracy == 0.5
    # Ten rows of 0.8, ten of 1 and twenty of 0.6, which are off by 0.2, 0 and 0.6.
    assert found.measures.ece == pytest.approx((10 * 0.2 + 20 * 0.6) / 40)
