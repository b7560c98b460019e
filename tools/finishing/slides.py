"""A deck of slides for each chapter, from its own figures and questions: `slides/NAME.html`.

    python -m tools.finishing.slides FOLDER     print the decks of the built site as PDF

The source says what a slide shows, with `<!-- slide -->` on a line of its own before a sentence, a
formula, a table, a figure or a cell, and `<!-- and -->` before the next step of the same slide.
A section without a mark gives a slide with its first figure, formula or table; a question gives one
for a vote, whose next step marks what is right, though not on paper. Arrow keys turn them, and show
the steps. The teacher's copy, `NAME-teacher.html`, has the text up to the next slide as notes, the
reasons behind the options, and the solutions.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from bs4 import BeautifulSoup, Comment, Tag
from bs4.element import AttributeValueList, PageElement

from tools.finishing.pages import SITE
from tools.finishing.search import ARTICLE
from tools.sources.book import Book
from tools.sources.errors import MystError

MOST = 18  # slides, which fit a lesson
SHOWN = "figure.align-default, table, div.math, div.proof"
# The width of a figure by its height, below which its caption stands beside it; the characters of a
# table, above which it is set small, and below which large.
TALL, DENSE, SPARSE = 1.48, 1000, 300
# Words are set large if they have no more characters, and code with no more lines, none of them
# with more characters.
WORDS, LINES, ACROSS = 640, 12, 66
# What a cell has made says more than its code.
MADE = "figure.align-default, table:has(caption)"
RIGHT = '<span class="right later">{}</span>'
# Marks for the mouse, and what answers to it.
SILENT = ".headerlink, .notebook-links, .play-stage, .play-words, .story, .rest, script, button"


class Slide(NamedTuple):
    """What is shown, and what the teacher reads; a question may be left out."""

    body: str
    notes: str
    is_question: bool = False
    turn: int = 0  # of a question, among those of its section


def slides_of(article: Tag) -> list[Slide]:
    """The slides of a chapter: its opening, its sections, some of its questions, what it showed."""
    for silent in article.select(SILENT):
        silent.decompose()
    for drawing in article.select("figure img.drawing"):
        width, height = (float(str(drawing.get(side, "0"))) for side in ("width", "height"))
        if drawing.parent and width < TALL * height:
            drawing.parent["class"] = AttributeValueList(["align-default", "tall"])
    for table in article.select("table"):
        characters = len(table.get_text())
        if characters > DENSE or characters < SPARSE:
            kind = "dense" if characters > DENSE else "sparse"
            table["class"] = AttributeValueList(["table", kind])
    chapter = article.find("section")
    if not isinstance(chapter, Tag) or chapter.h1 is None:
        raise MystError("a chapter begins with a section and its title")
    opening = chapter.find("p", recursive=False)
    first = chapter.find("figure", class_="align-default")
    made = [Slide(f"{chapter.h1}{opening or ''}", "")]
    if marked := _marked(chapter, chapter.children):
        made += marked
    elif isinstance(first, Tag) and first.find_parent("section") is chapter:
        made.append(Slide(f"<h2>{chapter.h1.get_text()}</h2>{first}", _notes(chapter.children)))
    for section in chapter.find_all("section", recursive=False):
        if section.get("id") == "exercises":
            continue
        points = section.find("ul", recursive=False)
        if section.get("id") == "what-we-have-seen" and points:
            made.append(Slide(f"{section.h2}{points}", _notes(section.children)))
        elif marked := _marked(section, section.descendants):
            made += marked
        elif shown := section.select_one(SHOWN):
            made.append(Slide(f"{section.h2}{shown}", _notes(section.children)))
        asked = section.find_all("fieldset", class_="question")
        made += [_question(one, turn) for turn, one in enumerate(asked)]
    return _few(made)


def _marked(part: Tag, inside: Iterable[PageElement]) -> list[Slide]:
    """What the author has marked in a part of the chapter, with the text up to the next slide."""
    bodies: list[str] = []
    notes = [""]
    heading = part.find(["h1", "h2"])
    for node in list(inside):
        if isinstance(node, Tag) and node.name == "h3":
            heading = node
        notes[-1] += _notes([node])
        kind = str(node).strip() if isinstance(node, Comment) else ""
        if kind not in ("slide", "and"):
            continue
        shown = _after(node)
        if shown is None or (kind == "and" and not bodies):
            raise MystError(f"{part.get('id')}: <!-- {kind} --> stands before what a slide shows")
        if kind == "and":
            bodies[-1] += f'<div class="later">{shown}</div>'
            continue
        if bodies:
            notes.append("")
        bodies.append(f"<h2>{heading.get_text() if heading else ''}</h2>{shown}")
    return [Slide(*one) for one in zip(bodies, notes, strict=False)]


def _after(mark: PageElement) -> Tag | None:
    """What a mark stands before: of a cell what it made, or else its open code and its output."""
    shown = mark.find_next_sibling(lambda tag: tag.name != "span")
    if not isinstance(shown, Tag) or shown.name == "section":
        return None
    for folded in shown.select("details.hide"):
        folded.extract()
    return shown.select_one(MADE) or shown


def _question(fieldset: Tag, turn: int) -> Slide:
    """The options without their reasons, which are the notes; what is right is the next step."""
    legend = fieldset.legend.decode_contents() if fieldset.legend else ""
    reasons = "".join(f"<p>{p.decode_contents()}</p>" for p in fieldset.select("details p"))
    body = f"<h2>Question</h2><p>{legend}</p>"
    if "for-number" in fieldset["class"]:
        found = fieldset.select("p.is-right > strong")
        body += "".join(f"<p>{RIGHT.format(one.decode_contents())}</p>" for one in found)
    else:
        listed = ""
        for one in fieldset.find_all("details"):
            is_right = "is-right" in one.get_attribute_list("class")
            mark = RIGHT.format("\N{CHECK MARK}") if is_right else ""
            listed += f"<li>{one.summary.decode_contents()}{mark}</li>" if one.summary else ""
        body += f'<ol type="A">{listed}</ol>'
    return Slide(body, reasons, is_question=True, turn=turn)


def _notes(nodes: Iterable[PageElement]) -> str:
    """The paragraphs of the text, without ids, which stand once in a page."""
    return "".join(
        re.sub(r' id="[^"]*"', "", str(one))
        for one in nodes
        if isinstance(one, Tag) and one.name == "p" and one.parent and one.parent.name == "section"
    )


def _few(slides: list[Slide]) -> list[Slide]:
    """At most MOST, a third of them questions: one of each section before a second one of any."""
    questions = [slide for slide in slides if slide.is_question]
    others = len(slides) - len(questions)
    room = min(max(MOST - others, 0), others // 2, len(questions))
    firsts = [one for one in questions if one.turn == 0]
    # Those that there is room for, or of the first ones as many, evenly.
    pool = firsts if len(firsts) > room else sorted(questions, key=lambda one: one.turn)[:room]
    asked = [pool[i * len(pool) // room] for i in range(room)]
    kept = [one for one in slides if not one.is_question or any(one is q for q in asked)]
    return kept if len(kept) <= MOST else [*kept[: MOST - 1], kept[-1]]


def article_of(site: Path, page: str) -> Tag:
    """What a built page says; its links lead there from the folder of the slides, too.

    Those within a drawing stay: they lead to its own marks.
    """
    text = (site / f"{page}.html").read_text("utf-8")
    article = BeautifulSoup(text, "html.parser", parse_only=ARTICLE).find("article")
    if not isinstance(article, Tag):
        raise MystError(f"{page}: a page has an article")
    for tag in article.select("a[href], img[src]"):
        name = "href" if tag.name == "a" else "src"
        if not urlsplit(link := str(tag[name])).scheme:
            tag[name] = f"../{urljoin(f'{page}.html', link)}"
    return article


def solutions_of(article: Tag) -> list[Slide]:
    """The solutions of the exercises, one after the other."""
    made = []
    for one in article.select("details.solution"):
        for silent in one.select(SILENT):
            silent.decompose()
        if one.summary:
            title = html.escape(one.summary.extract().get_text())
            made.append(Slide(f"<h2>{title}</h2>", one.decode_contents()))
    return made


def deck(slides: list[Slide], title: str, teachers: bool = False) -> str:
    """The page with these slides; their notes are in the teacher's copy alone."""
    rooms = ["" if teachers else _room(slide.body) for slide in slides]
    shown = "\n".join(
        f'<section class="slide{room}">{slide.body}'
        + (f'<aside class="notes">{slide.notes}</aside>' if teachers else "")
        + "</section>"
        for slide, room in zip(slides, rooms, strict=True)
    )
    kind = "the teacher's copy of the slides" if teachers else "slides"
    name = f"{html.escape(title)}: {kind}"
    sheets = ["book", "slides", *["slides-teacher"] * teachers]
    styles = "".join(f'<link rel="stylesheet" href="../_static/{name}.css">' for name in sheets)
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{name}</title>
<link rel="icon" href="../_static/favicon.svg">{styles}
<script defer src="../_static/slides.js"></script></head>
<body><main class="bd-article">{shown}</main></body></html>
"""


def _room(body: str) -> str:
    """The class of a slide with room to set its words or its code large."""
    parsed = BeautifulSoup(body, "html.parser")
    if parsed.select("figure, table"):
        return ""
    for unseen in parsed.select(".katex-mathml"):
        unseen.decompose()
    code = [line for pre in parsed.select("pre") for line in pre.get_text().rstrip().split("\n")]
    if not code:
        return " words" if len(parsed.get_text()) <= WORDS else ""
    fits = len(code) <= LINES and max(map(len, code)) <= ACROSS and not parsed.select("div.math")
    return " roomy" if fits else ""


def write_slides(site: Path, book: Book) -> None:
    """Write a deck for each chapter of a finished site, and the teacher's copy of it."""
    (site / "slides").mkdir(exist_ok=True)
    for page, number in book.pages.items():
        if number is not None:
            slides, title = slides_of(article_of(site, page)), book.title(page)
            name = Path(page).name
            solved = f"{Path(page).parent}/solutions/{name}"
            solutions = solutions_of(article_of(site, solved)) if solved in book.pages else []
            for file, made in {
                f"{name}.html": deck(slides, title),
                f"{name}-teacher.html": deck([*slides, *solutions], title, teachers=True),
            }.items():
                (site / "slides" / file).write_text(made, "utf-8")


def print_slides(folder: Path) -> None:
    """Each deck of the built site as a PDF."""
    from tools.finishing.browser import browser

    folder.mkdir(parents=True, exist_ok=True)
    with browser() as chromium:
        tab = chromium.new_page()
        for path in sorted((SITE / "slides").glob("*.html")):
            tab.goto(path.absolute().as_uri())
            target = folder / f"{path.stem}.pdf"
            tab.pdf(path=target, prefer_css_page_size=True, print_background=True)
            print(target)


if __name__ == "__main__":
    print_slides(Path(sys.argv[1]))
