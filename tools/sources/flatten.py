"""Turn MyST Markdown into the plain Markdown that Colab, Jupyter and GitHub show.

Directives become block quotes or `<details>`, roles become links into the published book or into
the literature. What has no plain form is an error, so that no fence shows as source in Colab.
"""

from __future__ import annotations

import posixpath
import re
from base64 import b64encode
from mimetypes import guess_type
from pathlib import Path

from tools.sources.book import CHAPTER, SECTION, Book, Label
from tools.sources.directives import DIRECTIVES, Plain, Row, label_of, row_of
from tools.sources.generated import copy_of
from tools.sources.myst import Code, Directive, MystError, Text, parse
from tools.sources.no_break import with_units_kept
from tools.sources.questions import as_form, read_question

# Of what a notebook cannot link to.
PLACE = "a page of the course"
SEE = "tools/sources/directives.py says what has one"
# A role; or code or a formula, in which nothing is a role or a link.
SPAN = re.compile(
    r"\{(?P<role>[\w:-]+)\}`(?P<content>[^`]+)`"
    r"|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|\$\$.+?\$\$(?P<label>[ \t]*\([\w:-]+\))?"
    r"|(?<![\\$])\$[^$\n]+(?<!\\)\$",
    re.DOTALL,
)
EXPLICIT_TITLE = re.compile(r"^(?P<title>.+?)\s*<(?P<target>[^<>]+)>$", re.DOTALL)
TARGET_OR_MARK = re.compile(r"^(?:\([^)\s]+\)=|<!-- .+ -->)[ \t]*\n?", re.MULTILINE)
DISPLAY_MATH = re.compile(r"\$\$(?P<formula>.+?)\$\$", re.DOTALL)
# MyST that a plain Markdown reader shows as source.
LEFT_OVER = re.compile(
    r"^%.*$|^\+\+\+.*$"  # a comment or a block break
    r"|^\(\S+\)=.*$|\{\{.*?\}\}"  # a target inside text, a substitution
    r"|\[\^[^\]]+\]"  # a footnote
    r"|!\[[^\]]*\]\([^)]*\)"  # a picture without a number
    r"|\[[^\]]*\]\((?!https?://|mailto:)[^)]*\)",  # a link inside the book
    re.MULTILINE,
)


class Flattener:
    """Flattens the Markdown of one page of a book."""

    def __init__(self, book: Book, page: str) -> None:
        self.book = book
        self.page = page

    def flatten(self, markdown: str) -> str:
        """Return plain Markdown.

        Raises:
            MystError: A directive, role, label or citation that is unknown, or MyST left over.
        """
        parts = []
        for block in parse(markdown):
            if isinstance(block, Text):
                parts.append(self._text(block.text))
            elif isinstance(block, Code):
                parts.append(block.text)
            else:
                parts.append(self._directive(block))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).strip("\n")

    def _directive(self, block: Directive) -> str:
        row = row_of(block)
        if row is None:
            known = ", ".join(DIRECTIVES)
            raise MystError(f"directive {{{block.name}}} has no plain form; these have: {known}")
        match row.plain:
            case Plain.BOX:
                return self._boxed(self._head(row, block), block)
            case Plain.LINE:
                return f"**{self._head(row, block)}**"
            case Plain.FORMULA:
                return self._math(label_of(row, block), block)
            case Plain.PICTURE:
                return self._figure(label_of(row, block), block)
            case Plain.QUESTION:
                return self._text(as_form(read_question(block.body)))
            case Plain.TABLE:
                caption = self.caption(label_of(row, block), block.argument)
                return f"\n{caption}\n\n{self.flatten(block.body)}\n"
            case Plain.NOTHING:
                return ""
            case Plain.CELL:
                raise MystError("a {code-cell} begins at the start of its line, in no directive")

    def _head(self, row: Row, block: Directive) -> str:
        if row.of_label:
            target = self._label(block.argument)
            name, title = f"{row.name} {target.name}", target.title
        else:
            label, title = label_of(row, block), block.argument
            name = self._label(label).name if label else row.name
        title = self._text(title)
        return f"{name} ({title})" if title else name

    def _boxed(self, head: str, block: Directive) -> str:
        """A block quote, or `<details>` where the page folds the text as well."""
        body = self.flatten(block.body)
        if block.is_dropdown:
            return f"\n<details>\n<summary>{head}</summary>\n\n{body}\n\n</details>\n"
        # A formula of several lines breaks inside a block quote.
        body = DISPLAY_MATH.sub(lambda found: f"$${' '.join(found['formula'].split())}$$", body)
        lines = [f"**{head}**", "", *body.split("\n")]
        return "\n" + "\n".join(f"> {line}".rstrip() for line in lines) + "\n"

    def _math(self, label: str, block: Directive) -> str:
        formula = " ".join(block.body.split())
        if label:
            formula += rf" \tag{{{self._label(label).number}}}"
        return f"\n$${formula}$$\n"

    def _figure(self, label: str, block: Directive) -> str:
        alt = block.options["alt"]
        folder = posixpath.dirname(self.page)
        path = block.argument
        script = Path(posixpath.normpath(posixpath.join(folder, path))).with_suffix(".py")
        if (self.book.root / script).exists():
            # The build draws it for the page, and `make notebooks` keeps a copy for notebooks.
            path = posixpath.relpath(copy_of(script).as_posix(), folder)
        image = f"![{alt}]({self._image(path)})"
        return f"\n{image}\n\n{self.caption(label, block.body)}\n"

    def caption(self, name: str, caption: str) -> str:
        """The caption of what a cell makes: in the notebook it is a cell of its own."""
        return f"**{self._label(name).name}.** {self.flatten(caption)}"

    def _text(self, text: str) -> str:
        # Targets go, which links reach in the published book, and so do the marks of slides.
        text = TARGET_OR_MARK.sub("", text)
        kept: list[str] = []

        def keep(found: re.Match[str]) -> str:
            if found["label"]:
                raise MystError(f"write the formula{found['label']} as {{math}} with a `:label:`")
            kept.append(self._role(found) if found["role"] else found[0])
            return f"\0{len(kept) - 1}\0"

        text = SPAN.sub(keep, text)
        if left := LEFT_OVER.search(text):
            raise MystError(f"`{left[0].strip()}` has no plain form; {SEE}")
        text = with_units_kept(text)
        return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], text)

    def _image(self, path: str) -> str:
        """The picture itself, so that it is there wherever the notebook is opened.

        Jupyter, Colab and GitHub all show a PNG in an address that begins with `data:`. Colab
        shows no attachment of a cell, and no file beside the notebook.
        """
        file = self.book.root / posixpath.dirname(self.page) / path
        if path.startswith("http") or not file.exists():
            return path
        kind = guess_type(file)[0]
        return f"data:{kind};base64,{b64encode(file.read_bytes()).decode()}"

    def _role(self, found: re.Match[str]) -> str:
        role, content = found["role"], " ".join(found["content"].split())
        if role in ("cite:t", "cite:p"):
            return self._citation(role, [key.strip() for key in content.split(",")])
        explicit = EXPLICIT_TITLE.match(content)
        title, target = (explicit["title"], explicit["target"]) if explicit else ("", content)
        if role == "doc":
            page = posixpath.normpath(posixpath.join("/", posixpath.dirname(self.page), target))[1:]
            return self._link(title or self.book.title(page), page)
        if role in ("ref", "numref", "eq", "prf:ref"):
            return self._reference(role, title, target)
        raise MystError(f"role {{{role}}} has no plain form; {SEE}")

    def _reference(self, role: str, title: str, target: str) -> str:
        label = self._label(target)
        if role == "numref" and (title or not label.name):
            why = "a title" if title else f"a {label.kind.lower()} without number"
            raise MystError(f"{{numref}}`{target}`: {why}; write {{ref}}`title <{target}>`")
        # {ref} to a heading gives its title, to anything else its number.
        is_heading = label.kind in (CHAPTER, SECTION) and role != "numref"
        text = label.title if is_heading else label.name
        if not title and not text:
            raise MystError(f"{{ref}}`{target}`: no heading; write {{ref}}`title <{target}>`")
        if label.kind == DIRECTIVES["math"].name:
            # Sphinx puts "equation-" before the anchor of a formula.
            return self._link(title or f"({label.number})", label.page, f"equation-{target}")
        return self._link(title or text, label.page, target)

    def _link(self, text: str, page: str, anchor: str = "") -> str:
        """A link into the published book; while it has no address, to the notebook beside this.

        What is no notebook then has its place named.
        """
        if self.book.website is None:
            if page == self.page:
                return text
            if page not in self.book.chapters:
                title = self.book.title(page)
                same = text.lower() in (title.lower(), f"the {title.lower()}")
                return f"{text} ({PLACE if same else f'{PLACE}: “{title}”'})"
            return f"[{text}]({posixpath.relpath(f'{page}.ipynb', posixpath.dirname(self.page))})"
        return f"[{text}]({self.book.website}{page}.html{'#' + anchor if anchor else ''})"

    def _citation(self, role: str, keys: list[str]) -> str:
        parts = []
        for key in keys:
            if key not in self.book.papers:
                raise MystError(f"no paper {key!r} in book/references.bib")
            authors, year, url = self.book.papers[key]
            text = f"{authors} ({year})" if role == "cite:t" else f"{authors}, {year}"
            parts.append(f"[{text}]({url})" if url else text)
        return ", ".join(parts) if role == "cite:t" else f"({'; '.join(parts)})"

    def _label(self, name: str) -> Label:
        if name not in self.book.labels:
            raise MystError(f"no label {name!r} in the book")
        return self.book.labels[name]
