"""Self-check questions: how a source asks, and what becomes of it on the page and in Colab.

A question and its answers are text, and each answer says why it is right or wrong:

    :::{question}
    Of 100 answers with a confidence of 0.9, 80 are right. What is the network there?

    - [ ] Calibrated, for most of its answers are right.
      - Calibration does not ask for "most". It asks for 90 of 100.
    - [x] Overconfident.
      - It promises 90 right answers, and keeps 80.
    :::

A question for a number marks the right one with `=`, and says how close one has to come. The others
are those that one gets by a usual mistake:

    - [=] 20 ± 1
      - One in five.
    - [ ] 80
      - That is how many are right.

On the page each answer is a fold of HTML's own, which needs no script: to choose it is to open it.
The numbers are in one fold, so that readers find their own before they see any. Also a Sphinx
extension, for the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive

from tools.sources.errors import MystError

ANSWER = re.compile(r"\[(?P<mark>[ x=])\] +(?P<text>.+?)\n  - +(?P<reason>\S.*)", re.DOTALL)
NUMBER = re.compile(r"(?P<number>\d[\d,]*(\.\d+)?)( ± (?P<within>\d+(\.\d+)?))?( %)?")
LINK = re.compile(r"\{[\w:-]+\}`|\]\(")
HOW = "write `- [ ] answer`, or `- [x]` if it is right, and on a line of its own `  - reason`"
HOW_NUMBER = "write numbers, such as `- [=] 20 ± 1` and `- [ ] 80`, of which one is right"
COMPARE = "Find your own number, then compare"
SEVERAL = "More than one answer is right."
VERDICT = {True: "Right.", False: "Wrong."}


@dataclass(frozen=True)
class Answer:
    """One answer, and why it is right or wrong."""

    text: str
    reason: str
    is_right: bool


@dataclass(frozen=True)
class Question:
    """What is asked, and two answers or more, in MyST; they are not shown if it is a number."""

    text: str
    answers: list[Answer]
    is_number: bool = False

    def verdict(self, answer: Answer) -> str:
        verdict = VERDICT[answer.is_right]
        return f"{answer.text} is {verdict.lower()}" if self.is_number else verdict


def read_question(body: str) -> Question:
    """Read what stands in the directive.

    Raises:
        MystError: Nothing is asked, an answer has no mark or no reason, there are fewer than two
            answers, two are the same, none is right, or a wrong number is close enough.
    """
    text, *items = re.split(r"^- ", body, flags=re.MULTILINE)
    if not text.strip():
        raise MystError("ask something before the first answer")
    answers = [_answer(item) for item in items]
    if len({answer.text for answer in answers}) < max(2, len(answers)):
        raise MystError(f"it needs two answers or more, each another one: {HOW}")
    right = sum(answer.is_right for answer in answers)
    if not right:
        raise MystError("no answer is right: mark one with `- [x]`")
    is_number = re.search(r"^- \[=\]", body, re.MULTILINE) is not None
    if is_number:
        _check_numbers(answers)
    return Question(_joined(f"{text} {SEVERAL}" if right > 1 else text), answers, is_number)


def _check_numbers(answers: list[Answer]) -> None:
    found = [NUMBER.fullmatch(answer.text) for answer in answers]
    numbers = [float(one["number"].replace(",", "")) for one in found if one]
    if len(numbers) < len(answers) or sum(answer.is_right for answer in answers) > 1:
        raise MystError(f"it asks for a number: {HOW_NUMBER}")
    right = next(n for n, answer in enumerate(answers) if answer.is_right)
    within = float((found[right] or {})["within"] or 0)
    for answer, number in zip(answers, numbers, strict=True):
        if not answer.is_right and abs(number - numbers[right]) <= within:
            raise MystError(f"answer `{answer.text}`: it is close enough to be right")


def _answer(item: str) -> Answer:
    found = ANSWER.fullmatch(item.strip())
    if found is None:
        raise MystError(f"answer `{item.partition(chr(10))[0]}`: {HOW}")
    if re.search(r"\n *- ", found["reason"]):
        raise MystError(f"answer `{found['text']}`: give it one reason")
    if LINK.search(found["text"]):
        raise MystError(f"answer `{found['text']}`: what opens is no link, put it into the reason")
    return Answer(_joined(found["text"]), _joined(found["reason"]), found["mark"] != " ")


def _joined(lines: str) -> str:
    return re.sub(r"[ \n]+", " ", lines).strip()  # a no-break space stays


def as_form(question: Question) -> str:
    """For Colab: the answers in a list, and below it, folded, the reasons. Roles stay."""
    answers = [f"> {n}. {one.text}" for n, one in enumerate(question.answers, start=1)]
    reasons = [
        f"{n}. **{question.verdict(one)}** {one.reason}"
        for n, one in enumerate(question.answers, start=1)
    ]
    asked = ["> **Check yourself**", ">", f"> {question.text}"]
    if not question.is_number:
        asked += [">", *answers]
    fold = [
        "<details>",
        f"<summary>{COMPARE if question.is_number else 'Which is right, and why?'}</summary>",
        "",
        *reasons,
        "",
        "</details>",
    ]
    return "\n".join(["", *asked, "", *fold, ""])


class tagged(nodes.Element):
    """An element of HTML, named by its attribute ``tag``."""


class tagged_text(nodes.TextElement):
    """The same, for what holds text."""


class QuestionDirective(Directive):
    """A question on the page: a group of folds under a legend."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        try:
            question = read_question("\n".join(self.content))
        except MystError as error:
            raise self.error(str(error)) from None
        legend = tagged_text("", "", *self._inline(question.text), tag="legend")
        # What opens is read out.
        group = tagged("", legend, tag="fieldset", classes=["question"], live="polite")
        reasons = [self._reason(question, answer) for answer in question.answers]
        if question.is_number:
            group["classes"].append("for-number")
            group += tagged("", self._summary(COMPARE), *reasons, tag="details")
            return [group]
        for answer, reason in zip(question.answers, reasons, strict=True):
            classes = ["is-right"] if answer.is_right else []
            summary = self._summary(answer.text)
            group += tagged("", summary, reason, tag="details", classes=classes)
        return [group]

    def _summary(self, text: str) -> nodes.Node:
        return tagged_text("", "", *self._inline(text), tag="summary")

    def _reason(self, question: Question, answer: Answer) -> nodes.Node:
        verdict = [nodes.strong("", question.verdict(answer)), nodes.Text(" ")]
        classes = ["is-right"] if answer.is_right and question.is_number else []
        return nodes.paragraph("", "", *verdict, *self._inline(answer.reason), classes=classes)

    def _inline(self, text: str) -> list[nodes.Node]:
        found, messages = self.state.inline_text(text, self.lineno)
        return [*found, *messages]


def visit_tagged(self: Any, node: nodes.Element) -> None:
    live = {"aria-live": node["live"]} if "live" in node else {}
    self.body.append(self.starttag(node, node["tag"], "", **live))


def depart_tagged(self: Any, node: nodes.Element) -> None:
    self.body.append(f"</{node['tag']}>")


def setup(app: Any) -> dict[str, Any]:
    for node in (tagged, tagged_text):
        app.add_node(node, html=(visit_tagged, depart_tagged))
    app.add_directive("question", QuestionDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
