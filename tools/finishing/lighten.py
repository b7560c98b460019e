"""Make a built site light: one style sheet, one script, icons in the page.

Sphinx and the theme put some 25 files on every page, of which a page needs a sixth. What a reader
sees and can do is the same afterwards.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from tools.finishing.pages import pages_of, replaced
from tools.finishing.stylesheet import one_sheet

PRELOAD = re.compile(r'[ \t]*<link\b(?=[^>]*\brel="preload")[^>]*>\n?')
SHEET = re.compile(
    r'[ \t]*<link\b(?=[^>]*\brel="stylesheet")[^>]*\bhref="(?P<path>[^"?#]+)[^>]*>\n?'
)
SCRIPT = re.compile(r'[ \t]*<script\b[^>]*?\bsrc="(?P<path>[^"?#]+)[^"]*"[^>]*></script>\n?')
IMPORT = re.compile(r"@import\s*(?:url\()?[\"'](?P<path>[^\"']+)[\"']\)?\s*;")
ICON = re.compile(
    r'<(?P<tag>i|span) class="(?P<before>[^"]*?)\bfa-solid\s+fa-(?P<name>[a-z-]+)'
    r'(?P<after>[^"]*)"(?P<rest>[^>]*)></(?P=tag)>'
)
# What axe-core finds in the theme: a button with a name that is not seen, a heading without words.
NAMED = re.compile(r'(\bsearch-button-field\b[^"]*") title="Search" aria-label="Search"')
UNTITLED = re.compile(r"<h1></h1>\s*")
# Parts that one looks things up in, where one is seldom led by reading on: they open on a click.
PART = re.compile(
    r'<p aria-level="2" class="caption" role="heading"><span class="caption-text">'
    r"(?P<name>Appendix|Solutions|Reference|Teaching)</span></p>\n"
    r'(?P<pages><ul class="(?P<classes>[^"]*)">.*?</ul>)',
    re.DOTALL,
)
# An icon has it, and a drawing may not.
TITLE = re.compile(r'\s+title="[^"]*"')
# Icons are in the pages already, there are no tabs, folds are HTML's own, and the search is ours.
NOT_NEEDED = (
    *("fontawesome.js", "design-tabs.js", "togglebutton.js"),
    *("searchtools.js", "language_data.js", "searchindex.js"),
    *("doctools.js", "sphinx_highlight.js"),
)
# What only such scripts read.
SETTING = re.compile(r"[ \t]*<script>(?:let |var |DOCUMENTATION_OPTIONS\.)[^<]*</script>\n?")
# Each for one page, no other.
ALONE = ("search-index.js", "search.js", "yourself.js", "playground.js", "story.js")
STYLE, CODE = "_static/book.css", "_static/book.js"


def lighten(site: Path) -> None:
    """Rewrite the site in its folder."""
    pages = {path: path.read_text("utf-8") for path in pages_of(site)}
    icons = icon_paths((site / "_static/scripts/fontawesome.js").read_text("utf-8"))
    pages = {path: tidy(with_icons(text, icons), path) for path, text in pages.items()}
    sheets: dict[str, str] = {}
    scripts: dict[str, str] = {}
    for path, text in pages.items():
        for sheet in SHEET.finditer(text):
            sheets |= _sheets(site, _in_site(site, path, sheet["path"]))
        for script in SCRIPT.finditer(text):
            name = _in_site(site, path, script["path"])
            if Path(name).name not in (*NOT_NEEDED, *ALONE):
                scripts[name] = (site / name).read_text("utf-8")
    (site / STYLE).write_text(one_sheet(sheets, posixpath.dirname(STYLE), pages.values()), "utf-8")
    # The semicolon keeps one file's "use strict" from being everyone's.
    (site / CODE).write_text("".join(f";\n{text}\n" for text in scripts.values()), "utf-8")
    for path, text in pages.items():
        path.write_text(with_one_sheet_and_script(text, path), "utf-8")


def tidy(text: str, where: object) -> str:
    """A page without what the theme has too much of."""

    def folded(part: re.Match[str]) -> str:
        is_open = " open" * ("current" in part["classes"].split())
        summary = f'<summary class="caption">{part["name"]}</summary>'
        return f'<details class="menu-part"{is_open}>{summary}\n{part["pages"]}</details>'

    text = replaced(text, NAMED, lambda found: found[1], where)
    return UNTITLED.sub("", replaced(text, PART, folded, where))


def lighten_page(site: Path, page: str) -> None:
    """Rewrite one page, which then asks for the files of the whole site."""
    path = site / f"{page}.html"
    icons = icon_paths((site / "_static/scripts/fontawesome.js").read_text("utf-8"))
    text = tidy(with_icons(path.read_text("utf-8"), icons), path)
    path.write_text(with_one_sheet_and_script(text, path), "utf-8")


def icon_paths(script: str) -> dict[str, tuple[str, str, str]]:
    """Width, height and path of each icon that Font Awesome's script could draw, by name."""
    found = re.findall(
        r'[{,]"?([a-z][a-z0-9-]*)"?:\[(\d+),(\d+),\[[^]]*\],"[0-9a-f]+","([^"]+)"\]', script
    )
    return {name: (width, height, path) for name, width, height, path in found}


def with_icons(text: str, icons: dict[str, tuple[str, str, str]]) -> str:
    """Each icon as a drawing inside the page, as the script would have put it there."""

    def drawn(found: re.Match[str]) -> str:
        width, height, path = icons[found["name"]]
        classes = f"{found['before']}svg-inline--fa fa-{found['name']}{found['after']}"
        said = TITLE.sub("", found["rest"])
        hidden = "" if "aria-" in said else ' aria-hidden="true"'
        return (
            f'<svg class="{" ".join(classes.split())}"{said}{hidden} role="img" '
            f'viewBox="0 0 {width} {height}"><path fill="currentColor" d="{path}"/></svg>'
        )

    return ICON.sub(drawn, text)


def with_one_sheet_and_script(text: str, where: object) -> str:
    """The page, asking for the joint files, and for a script that it alone needs."""
    roots: list[str] = []

    def sheet(found: re.Match[str]) -> str:
        roots.append(found["path"].partition("_static/")[0])
        return f'<link rel="stylesheet" href="{roots[0]}{STYLE}">\n' * (len(roots) == 1)

    def script(found: re.Match[str]) -> str:
        return found[0] * (Path(found["path"]).name in ALONE)

    text = replaced(SETTING.sub("", PRELOAD.sub("", text)), SHEET, sheet, where)
    text = replaced(text, SCRIPT, script, where)
    return replaced(
        text, "</head>", f'<script defer src="{roots[0]}{CODE}"></script>\n</head>', where
    )


def _in_site(site: Path, page: Path, target: str) -> str:
    """The path in the site of what a page names; the address of 404.html's begins at the host."""
    folder = page.parent.relative_to(site).as_posix()
    path = posixpath.normpath(posixpath.join(folder, target))
    while path.startswith("/") or (target.startswith("/") and not (site / path).exists()):
        path = path.partition("/")[2]
    return path


def _sheets(site: Path, name: str) -> dict[str, str]:
    """A style sheet by its path in the site, behind those that it imports."""
    text = (site / name).read_text("utf-8")
    sheets: dict[str, str] = {}
    for found in IMPORT.finditer(text):
        sheets |= _sheets(site, posixpath.normpath(f"{posixpath.dirname(name)}/{found['path']}"))
    return sheets | {name: IMPORT.sub("", text)}
