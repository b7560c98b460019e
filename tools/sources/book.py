"""The book as a whole: its pages in order, its one repository setting, its labels, its papers.

Numbers are counted as Sphinx counts them (chapter, then order in the chapter), so that a notebook
in Colab and the page of the book call a figure by the same number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from tools.sources.directives import Plain, label_of, row_of
from tools.sources.myst import Directive, MystError, Text, naming, parse

PLACEHOLDER = "OWNER/REPOSITORY"
REPOSITORY = re.compile(r"https://github\.com/[\w-]+/[\w.-]+(?<!\.git)")
DEFAULT_PROFILE = "cpu"
HEAD = re.compile(r"---\n(?P<head>.*?)^---$", re.DOTALL | re.MULTILINE)
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
        self.config: dict[str, Any] = _read_yaml(root / "_config.yml")
        toc = list(_pages(root / "_toc.yml"))
        self.pages: dict[str, int | None] = {page: number for page, number, _ in toc}
        self.parts: dict[str, str] = {page: part for page, _, part in toc}

    @property
    def front_page(self) -> str:
        return next(iter(self.pages))

    @property
    def chapters(self) -> list[str]:
        """The pages that are notebooks, such as `notebooks/ece-and-mce`."""
        return [page for page in self.pages if page.startswith("notebooks/")]

    def source(self, page: str) -> str:
        path = self.root / f"{page}.md"
        if not path.exists():
            raise MystError(f"{page}.md does not exist: write it, or take it out of _toc.yml")
        return _read(path)

    def parameters(self, page: str, profile: str) -> dict[str, Any]:
        """What a profile gives a chapter: `notebooks/parameters/PROFILE.yml`, by its name."""
        path = self.root / f"notebooks/parameters/{profile}.yml"
        if not path.exists():
            raise MystError(
                f"no profile {profile!r}: notebooks/parameters has {', '.join(self.profiles)}"
            )
        names = [chapter.removeprefix("notebooks/") for chapter in self.chapters]
        given = _read_yaml(path)
        if unknown := [str(name) for name in given if name not in names]:
            raise MystError(f"{path}: no chapter {', '.join(unknown)}; there is {', '.join(names)}")
        if wrong := [name for name, values in given.items() if not isinstance(values, dict)]:
            raise MystError(f"{path}: {wrong[0]} needs names and values, such as {{n_bins: 15}}")
        return given.get(page.removeprefix("notebooks/"), {})

    def question(self, page: str) -> str:
        """What a chapter answers: `question: …` in the page's head. MystError without one."""
        question = self._head(page).get("question", "")
        if not (isinstance(question, str) and question.endswith("?")):
            raise MystError(f"{page}.md: write in its head what it answers: `question: …?`")
        return question

    def _head(self, page: str) -> dict[str, Any]:
        """What stands between the two lines of hyphens at the top of a page."""
        head = HEAD.match(self.source(page))
        return _yaml(head["head"] if head else "", Path(f"{page}.md"))

    @property
    def profiles(self) -> list[str]:
        """The names of the profiles, the default one first."""
        found = (path.stem for path in (self.root / "notebooks/parameters").glob("*.yml"))
        return sorted(found, key=lambda name: (name != DEFAULT_PROFILE, name))

    @cached_property
    def repository(self) -> str | None:
        """The repository's address, or None while `_config.yml` holds the placeholder.

        Raises:
            MystError: It is none of a repository on GitHub.
        """
        url = str((self.config.get("repository") or {}).get("url", PLACEHOLDER))
        if PLACEHOLDER in url:
            return None
        if not REPOSITORY.fullmatch(url):
            raise MystError(
                f"_config.yml: repository url {url!r}: write https://github.com/OWNER/REPOSITORY "
                "with the owner and the name of yours"
            )
        return url

    @property
    def branch(self) -> str:
        return self.config["repository"].get("branch", "main")

    @property
    def website(self) -> str | None:
        """Where GitHub Pages publishes the repository, with a slash at the end."""
        if self.repository is None:
            return None
        owner, name = self.repository.split("/")[-2:]
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


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise MystError(f"{path} does not exist: restore it") from None


def _read_yaml(path: Path) -> dict[str, Any]:
    """What a file of settings says; nothing if it is empty."""
    return _yaml(_read(path), path)


def _yaml(text: str, path: Path) -> dict[str, Any]:
    try:
        said = yaml.safe_load(text) or {}
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise MystError(f"{path}{line}: this is no YAML: {error.problem}") from None
    if not isinstance(said, dict):
        raise MystError(f"{path}: `name: value` is expected, not {str(said)[:40]!r}")
    return said


def _pages(toc_file: Path) -> Iterator[tuple[str, int | None, str]]:
    """Each page with its number, if it has one, and its part."""
    toc = _read_yaml(toc_file)
    if "root" not in toc:
        raise MystError(f"{toc_file}: `root` is missing, the first page")
    yield toc["root"], None, ""
    number = 0
    for part in toc.get("parts") or []:
        if not part or not part.get("chapters"):
            name = (part or {}).get("caption", "without a caption")
            raise MystError(f"{toc_file}: part {name!r} has no chapters: add one, or remove it")
        for chapter in part["chapters"]:
            number += bool(part.get("numbered"))
            number_of = number if part.get("numbered") else None
            yield chapter["file"], number_of, part.get("caption", "")


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


def chosen(pages: Iterable[str], names: list[str]) -> list[str]:
    """Those of the pages with these names, such as `ece-and-mce`; all without names."""
    known = {page.removeprefix("notebooks/"): page for page in pages}
    if unknown := [name for name in names if name not in known]:
        raise MystError(f"no page {', '.join(unknown)}; there is {', '.join(known)}")
    return [page for name, page in known.items() if name in names or not names]


def figure_of(metadata: dict[str, Any]) -> dict[str, str] | None:
    """Name, caption and alt text of the figure that a code cell draws, if it says so."""
    mystnb = metadata.get("mystnb", {})
    if "figure" not in mystnb:
        return None
    return {**mystnb["figure"], "alt": mystnb.get("image", {}).get("alt", "")}


def table_of(metadata: dict[str, Any]) -> dict[str, str] | None:
    """Name and caption of the table that a code cell makes, if it says so."""
    return metadata.get("mystnb", {}).get("table")


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
    if "eprint" in entry.fields:
        return f"https://arxiv.org/abs/{entry.fields['eprint']}"
    return entry.fields.get("url", "")
