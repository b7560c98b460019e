"""A deck of slides for each chapter, from its own figures and questions: `slides/NAME.html`.

    python -m tools.finishing.slides FOLDER     print the decks of the built site as PDF

A section gives a slide with its first figure, formula or table, and its text as notes; a question
gives one for a vote. A teacher shows the page in a browser: arrow keys go on, N shows the notes.
"""

from __future__ import annotations

import html
import sys
from pathlib import Path
from typing import NamedTuple

from bs4 import BeautifulSoup, Tag

from tools.finishing.publish import BUILD
from tools.sources.book import Book
from tools.sources.errors import MystError

MOST = 15  # slides, which fit a lesson
SHOWN = "figure.align-default, table, div.math, div.proof"
# Marks for the mouse, and what answers to it.
SILENT = ".headerlink, .play-figure, script, button"
STYLE = """
html { scroll-snap-type: y mandatory; }
body { margin: 0; }
.slide { box-sizing: border-box; display: flex; flex-direction: column; gap: 1.2rem;
  justify-content: center; min-height: 100vh; padding: 4vh 7vw; scroll-snap-align: start; }
.slide h1 { font-size: 3rem; margin: 0; }
.slide h2 { font-size: 2.1rem; margin: 0; }
.slide > p, .slide li, .slide legend { font-size: 1.5rem; line-height: 1.5; }
.slide figure { margin: 0; text-align: center; }
.slide svg.drawing { height: auto; max-height: 62vh; max-width: 100%; width: 60rem; }
.slide figcaption, .slide caption { font-size: 1.1rem; }
.slide table { font-size: 1.2rem; margin: 0 auto; }
.notes { border-top: 1px solid; display: none; font-size: 1rem; }
.with-notes .notes { display: block; }
@page { margin: 0; size: 13.333in 7.5in; }
@media print { .slide { break-after: page; height: 7.5in; min-height: 0; overflow: hidden; } }
"""
SCRIPT = """
addEventListener("keydown", (event) => {
  const slides = [...document.querySelectorAll(".slide")];
  const now = slides.findIndex((one) => one.getBoundingClientRect().bottom > innerHeight / 2);
  const by = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 }[event.key];
  if (event.key === "n") document.body.classList.toggle("with-notes");
  if (!by) return;
  event.preventDefault();
  slides[Math.min(Math.max(now + by, 0), slides.length - 1)].scrollIntoView();
});
"""


class Slide(NamedTuple):
    """What is shown, and what the teacher reads; a question may be left out."""

    body: str
    notes: str
    is_question: bool = False


def slides_of(article: Tag) -> list[Slide]:
    """The slides of a chapter: its opening, its sections, some of its questions, what it showed."""
    for silent in article.select(SILENT):
        silent.decompose()
    chapter = article.find("section")
    if not isinstance(chapter, Tag) or chapter.h1 is None:
        raise MystError("a chapter begins with a section and its title")
    opening = chapter.find("p", recursive=False)
    first = chapter.find("figure", class_="align-default")
    made = [Slide(f"{chapter.h1}{opening or ''}", "")]
    if isinstance(first, Tag) and first.find_parent("section") is chapter:
        made.append(Slide(f"<h2>{chapter.h1.get_text()}</h2>{first}", _notes(chapter)))
    for section in chapter.find_all("section", recursive=False):
        if section.get("id") == "exercises":
            continue
        points = section.find("ul", recursive=False)
        if section.get("id") == "what-we-have-seen" and points:
            made.append(Slide(f"{section.h2}{points}", _notes(section)))
            continue
        if shown := section.select_one(SHOWN):
            made.append(Slide(f"{section.h2}{shown}", _notes(section)))
        made += [_question(one) for one in section.find_all("fieldset", class_="question")]
    return _few(made)


def _question(fieldset: Tag) -> Slide:
    """The options without their reasons, which are the notes."""
    options = [one.summary for one in fieldset.find_all("details") if one.summary]
    listed = "".join(f"<li>{one.decode_contents()}</li>" for one in options)
    legend = fieldset.legend.decode_contents() if fieldset.legend else ""
    reasons = "".join(f"<p>{p.decode_contents()}</p>" for p in fieldset.select("details p"))
    body = f'<h2>Question</h2><p>{legend}</p><ol type="A">{listed}</ol>'
    return Slide(body, reasons, is_question=True)


def _notes(section: Tag) -> str:
    return "".join(map(str, section.find_all("p", recursive=False)))


def _few(slides: list[Slide]) -> list[Slide]:
    """At most MOST: questions are left out evenly, then sections from the end but the last."""
    questions = [slide for slide in slides if slide.is_question]
    room = max(MOST - (len(slides) - len(questions)), 0)
    step = max(len(questions) / room, 1) if room else 0
    asked = [questions[int(i * step)] for i in range(min(room, len(questions)))]
    kept = [one for one in slides if not one.is_question or any(one is q for q in asked)]
    return kept if len(kept) <= MOST else [*kept[: MOST - 1], kept[-1]]


def deck(page: str, title: str) -> str:
    """The page with the slides of a built chapter."""
    article = BeautifulSoup(page, "html.parser").find("article", class_="bd-article")
    if not isinstance(article, Tag):
        raise MystError("a chapter's page has an article")
    slides = "\n".join(
        f'<section class="slide">{slide.body}<aside class="notes">{slide.notes}</aside></section>'
        for slide in slides_of(article)
    )
    name = html.escape(title)
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{name}: slides</title>
<link rel="stylesheet" href="../_static/book.css"><style>{STYLE}</style></head>
<body><main class="bd-article">{slides}</main><script>{SCRIPT}</script></body></html>
"""


def write_slides(site: Path, book: Book) -> None:
    """Write a deck for each chapter of a finished site."""
    (site / "slides").mkdir(exist_ok=True)
    for page, number in book.pages.items():
        if number is not None:
            made = deck((site / f"{page}.html").read_text("utf-8"), book.title(page))
            made = made.replace('href="#', f'href="../{page}.html#')
            (site / "slides" / f"{Path(page).name}.html").write_text(made, "utf-8")


def print_slides(folder: Path) -> None:
    """Each deck of the built site as a PDF."""
    from tools.finishing.browser import browser

    folder.mkdir(parents=True, exist_ok=True)
    with browser() as chromium:
        tab = chromium.new_page()
        for path in sorted((BUILD / "html/slides").glob("*.html")):
            tab.goto(path.absolute().as_uri())
            target = folder / f"{path.stem}.pdf"
            tab.pdf(path=target, prefer_css_page_size=True, print_background=True)
            print(target)


if __name__ == "__main__":
    print_slides(Path(sys.argv[1]))
