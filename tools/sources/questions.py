"""Self-check questions: how a source asks, and what becomes of it on the page and in Colab.

A question and its answers are text, and each answer says why it is right or wrong:

    :::{question}
    Of 100 answers with a confidence of 0.9, 80 are right. What is the network there?

    - [ ] Calibrated, for most of its answers are right.
      - Calibration does not ask for "most". It asks for 90 of 100.
    - [x] Overconfident.
      - It promises 90 right answers, and keeps 80.
    :::

On the page each answer is a fold of HTML's own, which needs no script: to choose it is to open it.
Also a Sphinx extension, for the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive

from tools.sources.errors import MystError

ANSWER = re.compile(r"\[(?P<mark>[ x])\] +(?P<text>.+?)\n  - +(?P<reason>\S.*)", re.DOTALL)
LINK = re.compile(r"\{[\w:-]+\}`|\]\(")
HOW = "write `- [ ] answer`, or `- [x]` if it is right, and on a line of its own `  - reason`"
SEVERAL = "More than one answer is right."
VERDICT = {True: "Right.", False: "Wrong."}


@dataclass(frozen=True)
class Answer:
    """One answer, and why it is right or wrong."""

    text: str
    reason: str
    is_right: bool

    @property
    def verdict(self) -> str:
        return VERDICT[self.is_right]


@dataclass(frozen=True)
class Question:
    """What is asked, and two answers or more, in MyST."""

    text: str
    answers: list[Answer]


def read_question(body: str) -> Question:
    """Read what stands in the directive.

    Raises:
        MystError: Nothing is asked, an answer has no mark or no reason, there are fewer than two
            answers, two are the same, or none is right.
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
    return Question(_joined(f"{text} {SEVERAL}" if right > 1 else text), answers)


def _answer(item: str) -> Answer:
    found = ANSWER.fullmatch(item.strip())
    if found is None:
        raise MystError(f"answer `{item.partition(chr(10))[0]}`: {HOW}")
    if re.search(r"\n *- ", found["reason"]):
        raise MystError(f"answer `{found['text']}`: give it one reason")
    if LINK.search(found["text"]):
        raise MystError(f"answer `{found['text']}`: what opens is no link, put it into the reason")
    return Answer(_joined(found["text"]), _joined(found["reason"]), found["mark"] == "x")


def _joined(lines: str) -> str:
    return re.sub(r"[ \n]+", " ", lines).strip()  # a no-break space stays


def as_form(question: Question) -> str:
    """For Colab: the answers in a list, and below it, folded, the reasons. Roles stay."""
    answers = [f"> {n}. {one.text}" for n, one in enumerate(question.answers, start=1)]
    reasons = [
        f"{n}. **{one.verdict}** {one.reason}" for n, one in enumerate(question.answers, start=1)
    ]
    asked = ["> **Check yourself**", ">", f"> {question.text}", ">", *answers]
    fold = [
        "<details>",
        "<summary>Which is right, and why?</summary>",
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
        for answer in question.answers:
            reason = [nodes.strong("", answer.verdict), nodes.Text(" ")]
            group += tagged(
                "",
                tagged_text("", "", *self._inline(answer.text), tag="summary"),
                nodes.paragraph("", "", *reason, *self._inline(answer.reason)),
                tag="details",
                classes=["is-right"] if answer.is_right else [],
            )
        return [group]

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
