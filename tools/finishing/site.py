"""Build the site from what papermill executed: `python -m tools.finishing.site PROFILE [PAGE]`.

Pages and executed notebooks are staged under the paths that the repository has, so that the
theme's Colab button points at the committed notebook. The new site takes the place of the old one
once it is whole.
"""

from __future__ import annotations

import gc
import re
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tools.finishing.lighten import lighten, lighten_page
from tools.finishing.pages import BUILD, NEW, ONE, SITE, SPHINX, STAGED
from tools.finishing.pictures import show_pictures
from tools.finishing.search import write_search
from tools.finishing.slides import write_slides
from tools.running.kernel import heartbeat
from tools.sources.book import Book
from tools.sources.errors import MystError
from tools.sources.generated import parts
from tools.sources.locations import committed

CHANGELOG = "CHANGELOG.md"
# The folder whose content goes into the site as it is.
DOWNLOADS = "downloads"
# The settings of the picture that is shown beside a link, whose address is absolute.
PICTURE = ("ogp_image", "ogp_image_alt", "ogp_custom_meta_tags")


def site_config(book: Book) -> dict[str, Any]:
    """`_config.yml` with what follows from its repository setting."""
    config = book.config
    options = config["sphinx"]["config"]
    options["html_extra_path"] = [DOWNLOADS]
    if book.website is None:
        # No button to a notebook that is nowhere; of a site without address no map, no picture.
        del config["launch_buttons"]
        config["sphinx"]["extra_extensions"].remove("sphinx_sitemap")
        for name in ("sitemap_url_scheme", "sitemap_show_lastmod", *PICTURE):
            del options[name]
        options["notfound_urls_prefix"] = "/"
    else:
        config["html"] |= {"baseurl": book.website, "use_repository_button": True}
        config["repository"]["url"] = book.repository
        options["ogp_site_url"] = book.website
        options["notfound_urls_prefix"] = urlsplit(book.website).path
    options["notfound_context"] = not_found(book, options["notfound_urls_prefix"])
    return config


def not_found(book: Book, root: str) -> dict[str, str]:
    """Title and text of the page for an address that does not exist, with ways on.

    Its links begin at the site's `root`, as the page is shown at any address.
    """
    links = "\n".join(
        f'<li><a href="{root}{page}.html">Chapter {number}: {book.title(page)}</a></li>'
        for page, number in book.pages.items()
        if number
    )
    start = book.front_page
    return {
        "title": "Page not found",
        "body": f"""<h1>Page not found</h1>
<p>There is no page at this address. It may have moved. Search for it, or begin with a chapter.</p>
<form role="search" action="{root}search.html"><div class="search-line">
<input type="search" name="q" aria-label="Search this book"><button type="submit">Search</button>
</div></form>
<ul><li><a href="{root}{start}.html">{book.title(start)}</a></li>
{links}</ul>""",
    }


def stage(book: Book, profile: str, folder: Path) -> None:
    """Copy pages, pictures and executed notebooks to where Sphinx builds, which compares dates."""
    for path in folder.iterdir() if folder.exists() else ():
        if path.is_file():
            path.unlink()
        elif path.name != SPHINX:
            shutil.rmtree(path)
    shutil.copytree(
        "book",
        folder / "book",
        ignore=shutil.ignore_patterns(".*", "__pycache__", "*.part", "*.py"),
    )
    for part in parts().values():
        target = folder / "book" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(BUILD / part, target)
    for page in book.chapters:
        executed = BUILD / "executed" / profile / f"{page}.ipynb"
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(executed, folder / f"{page}.ipynb")
        # What a reader runs is the committed one, in plain Markdown.
        download = folder / DOWNLOADS / f"{page}.ipynb"
        download.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(committed(page), download)
        # No page, but what links from other pages name, which hold in the repository as well.
        shutil.copy2(f"{page}.md", folder / f"{page}.md")
    for name in ("_toc.yml", CHANGELOG):
        shutil.copy2(name, folder)
    config = yaml.safe_dump(site_config(book), allow_unicode=True)
    (folder / "_config.yml").write_text(config, "utf-8")


def build(profile: str, page: str = "") -> None:
    """Build a site to publish, or one page of it anew. Exits when Sphinx warns of anything."""
    book = Book()
    if page and not (SITE / f"{page}.html").exists():
        raise MystError(f"{SITE / page}.html does not exist: run `make book` once")
    made = ONE if page else NEW
    shutil.rmtree(made if page else STAGED, ignore_errors=True)
    stage(book, profile, STAGED)
    with heartbeat("site"):
        sphinx(made, page)
    if page:
        show_pictures(made)
        lighten_page(made, page)
        replace_page(page)
    else:
        finish(made, book)
        replace_site()


def sphinx(target: Path, page: str) -> None:
    """What `jupyter-book build` does, which cannot write a single page of a book."""
    from jupyter_book.sphinx import build_sphinx
    from sphinx.builders.html import StandaloneHTMLBuilder
    from sphinx.util.console import nocolor

    nocolor()
    # The trees of the pages are cycles, which the collector of garbage would walk through again
    # and again, for a third of the time, and all of them are needed until the end.
    gc.disable()
    StandaloneHTMLBuilder.search = not page
    source = STAGED.absolute()
    failed = build_sphinx(
        source,
        target.absolute(),
        noconfig=True,
        path_config=source / "_config.yml",
        confoverrides={"nitpicky": True, "latex_individualpages": False},
        doctreedir=source / SPHINX / ".doctrees",
        filenames=[str(source / f"{page}.ipynb")] if page else None,
        freshenv=not page,
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )
    if failed:
        sys.exit("Sphinx could not build the site.")


def replace_page(page: str) -> None:
    """Put a new page, and its pictures, into the site; its search and slides stay as they are."""
    shutil.copytree(ONE / "_images", SITE / "_images", dirs_exist_ok=True)
    for name in (f"{page}.html", f"{page}.ipynb"):
        shutil.copy(ONE / name, SITE / name)


def replace_site() -> None:
    """Swap the new site in; the old one is deleted only when the new one is in its place."""
    old = BUILD / "html.old"
    shutil.rmtree(old, ignore_errors=True)
    if SITE.exists():
        SITE.rename(old)
    NEW.rename(SITE)
    shutil.rmtree(old, ignore_errors=True)


def finish(site: Path, book: Book) -> None:
    """Make what Sphinx wrote ready to be read."""
    write_front_page(site, book)
    write_search(site, book)
    show_pictures(site)
    lighten(site)
    write_slides(site, book)


def write_front_page(site: Path, book: Book) -> None:
    """The page at the site's address, for who reads, links or finds it, not only for a browser."""
    root = book.front_page
    tags = re.findall(
        r'<meta (?:property="og:|name="(?:description|twitter:))[^>]*>',
        (site / f"{root}.html").read_text("utf-8"),
    )
    address = f'<link rel="canonical" href="{book.website}{root}.html">' if book.website else ""
    head = "\n".join(
        [
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="refresh" content="0; url={root}.html">',
            f"<title>{book.config['title']}</title>",
            *tags,
            address,
        ]
    )
    link = f'<a href="{root}.html">{book.config["title"]}</a>'
    text = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n'
    (site / "index.html").write_text(f"{text}<body><h1>{link}</h1></body>\n</html>\n", "utf-8")


if __name__ == "__main__":
    build(*sys.argv[1:])
