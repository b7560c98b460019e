"""On paper, the answers to a chapter's questions are at its end, and not below the options.

On the screen a reader opens an option and sees whether it is right. Paper cannot be opened, so the
options get letters there, and what follows the chapter is printed only.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.finishing.pages import pages_of

QUESTION = re.compile(r'<fieldset [^>]*class="question[^"]*".*?</fieldset>', re.DOTALL)
REASON = re.compile(r"</summary>(.*?)</details>", re.DOTALL)
END = "</article>"


def with_answers(page: str) -> str:
    """The page with the reasons of all its questions behind its text, a question an item."""
    items = [f"<li>{_answers(question)}</li>" for question in QUESTION.findall(page)]
    if not items:
        return page
    before, end, after = page.rpartition(END)
    printed = f"<h2>Answers to the questions</h2><ol>{''.join(items)}</ol>"
    return f'{before}<section class="printed-answers">{printed}</section>\n{end}{after}'


def _answers(question: str) -> str:
    reasons = REASON.findall(question)
    if "for-number" in question:
        return "".join(reasons)
    return f'<ol type="A">{"".join(f"<li>{reason}</li>" for reason in reasons)}</ol>'


def write_answers(site: Path) -> None:
    """Rewrite the pages of a finished site."""
    for path in pages_of(site):
        path.write_text(with_answers(path.read_text("utf-8")), "utf-8")
