"""The book as a whole: its pages in order, its one repository setting, its labels, its papers.

Numbers are counted as Sphinx counts them (chapter, then order in the chapter), so that a notebook
in Colab and the page of the book call a figure by the same number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import yaml

from tools.directives import Plain, label_of, row_of
from tools.myst import Directive, MystError, Text, naming, parse

PLACEHOLDER = "OWNER/REPOSITORY"
DEFAULT_PROFILE = "cpu"
TARGET = re.compile(
    r"^\((?P<label>[^)\s]+)\)=[ \t]*$\n*(?:(?P<level>#+) (?P<title>.+)$)?", re.MULTILINE
)
LABEL = re.compile(r"[a-z][a-z0-9-]*")
TITLE = re.compile(r"^# (?P<title>.+)$", re.MULTILINE)
# Kinds of labels beside the numbered directives: above a page's title, and elsewhere.
CHAPTER, SECTION = "Chapter", "Section"


@dataclass(frozen=True)
class Label:
    """What a reference needs: kind, `Figure 2.1` (empty without number), title and page."""

    kind: str
    name: str
    title: str
    page: str

    @property
    def number(self) -> str:
        return self.name.rpartition(" ")[2]


class Book:
    """The sources under `root`, read but never changed."""

    def __init__(self, root: Path = Path()) -> None:
        self.root = root
        self.config: dict[str, Any] = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
        self.pages: dict[str, int | None] = dict(_pages(root / "_toc.yml"))

    @property
    def chapters(self) -> list[str]:
        """The pages that are notebooks, such as `notebooks/ece-and-mce`."""
        return [page for page in self.pages if page.startswith("notebooks/")]

    def source(self, page: str) -> str:
        path = self.root / f"{page}.md"
        if not path.exists():
            raise MystError(f"{page}.md does not exist: write it, or take it out of _toc.yml")
        return path.read_text("utf-8")

    def parameters(self, page: str, profile: str) -> dict[str, Any]:
        """What a profile gives a chapter: `notebooks/parameters/PROFILE.yml`, by its name."""
        path = self.root / f"notebooks/parameters/{profile}.yml"
        if not path.exists():
            known = ", ".join(sorted(file.stem for file in path.parent.glob("*.yml")))
            raise SystemExit(f"no profile {profile!r}: notebooks/parameters has {known}")
        return (yaml.safe_load(path.read_text("utf-8")) or {}).get(
            page.removeprefix("notebooks/"), {}
        )

    @property
    def profiles(self) -> list[str]:
        """The names of the profiles, the default one first."""
        found = (path.stem for path in (self.root / "notebooks/parameters").glob("*.yml"))
        return sorted(found, key=lambda name: (name != DEFAULT_PROFILE, name))

    @property
    def repository(self) -> str | None:
        """The repository's address, or None while `_config.yml` holds the placeholder."""
        url = self.config.get("repository", {}).get("url", PLACEHOLDER).rstrip("/")
        return None if PLACEHOLDER in url else url

    @property
    def branch(self) -> str:
        return self.config["repository"].get("branch", "main")

    @property
    def website(self) -> str | None:
        """Where GitHub Pages publishes the repository, with a slash at the end."""
        if self.repository is None:
            return None
        owner, name = urlsplit(self.repository).path.strip("/").split("/")
        host = f"https://{owner.lower()}.github.io/"
        return host if name.lower() == f"{owner.lower()}.github.io" else f"{host}{name}/"

    def title(self, page: str) -> str:
        if page not in self.pages:
            raise MystError(f"no page {page!r} in _toc.yml; it has {', '.join(self.pages)}")
        found = TITLE.search(self.source(page))
        if found is None:
            raise MystError(f"{page}.md has no title: begin it with `# Title`")
        return found["title"]

    @cached_property
    def labels(self) -> dict[str, Label]:
        """Every label of the book. Raises MystError when two are the same."""
        labels: dict[str, Label] = {}
        counts: Counter[tuple[int | None, str]] = Counter()
        for page, number in self.pages.items():
            with naming(page):
                for kind, label, title in _labelled(self.source(page)):
                    if label in labels:
                        raise MystError(f"label {label!r} is in {labels[label].page}.md too")
                    if not LABEL.fullmatch(label):
                        raise MystError(f"label {label!r}: use a-z, 0-9 and hyphens only")
                    counts[number, kind] += 1
                    name = self._name(kind, number, counts[number, kind])
                    labels[label] = Label(kind, name, title, page)
        return labels

    def _name(self, kind: str, chapter: int | None, count: int) -> str:
        """Such as `Figure 2.1`; `Figure 1` on a page without number."""
        if kind == SECTION or (kind == CHAPTER and chapter is None):
            return ""
        if kind == CHAPTER:
            return self.config["sphinx"]["config"]["numfig_format"]["section"] % chapter
        return f"{kind} {count}" if chapter is None else f"{kind} {chapter}.{count}"

    @cached_property
    def papers(self) -> dict[str, tuple[str, str, str]]:
        """Authors, year and address of every paper in `book/references.bib`, by key."""
        from pybtex.database import parse_file

        return {
            key: (_authors(entry), entry.fields["year"], _address(entry))
            for key, entry in parse_file(str(self.root / "book/references.bib")).entries.items()
        }


def _pages(toc_file: Path) -> Iterator[tuple[str, int | None]]:
    toc = yaml.safe_load(toc_file.read_text("utf-8"))
    yield toc["root"], None
    number = 0
    for part in toc.get("parts", []):
        for chapter in part["chapters"]:
            number += bool(part.get("numbered"))
            yield chapter["file"], number if part.get("numbered") else None


def _labelled(markdown: str) -> Iterator[tuple[str, str, str]]:
    """Kind, label and title of all that can be referred to, in order."""
    for block in parse(markdown):
        if isinstance(block, Text):
            for target in TARGET.finditer(block.text):
                kind = CHAPTER if target["level"] == "#" else SECTION
                yield kind, target["label"], target["title"] or ""
        elif isinstance(block, Directive):
            row = row_of(block)
            if row and (label := label_of(row, block)):
                yield row.name, label, block.argument
            # Pages that are no chapters may have directives without a row.
            if row is None or row.plain is Plain.BOX:
                yield from _labelled(block.body)


def figure_of(metadata: dict[str, Any]) -> dict[str, str] | None:
    """Name, caption and alt text of the figure that a code cell draws, if it says so."""
    mystnb = metadata.get("mystnb", {})
    if "figure" not in mystnb:
        return None
    return {**mystnb["figure"], "alt": mystnb.get("image", {}).get("alt", "")}


def _authors(entry: Any) -> str:
    from pybtex.richtext import Text

    people = entry.persons["author"]
    names = [
        str(Text.from_latex(" ".join(person.prelast_names + person.last_names)))
        for person in people
    ]
    if len(names) > 2:
        return f"{names[0]} et al."
    return " and ".join(names)


def _address(entry: Any) -> str:
    if "doi" in entry.fields:
        return f"https://doi.org/{quote(entry.fields['doi'])}"
    return entry.fields.get("url", "")
