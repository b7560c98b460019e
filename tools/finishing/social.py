"""What a page says of itself where others link to it: title, description, picture.

A Sphinx extension, for the tags of the Open Graph protocol (ogp.me). A picture and an address are
absolute, so a site without an address has none.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import clean_astext

# Made by `book/pictures/card.py`.
PICTURE = "_static/card.png"
SIZE = (1200, 630)
ALT = (
    "Calibration of neural networks. A network says how sure it is: how often is it right? Beside "
    "it a reliability diagram, whose bars end below the diagonal."
)
# What a search engine or a chat shows of a description.
FEWEST, MOST = 60, 200
END = re.compile(r"(?<=[.?!]) ")
# Text that is no prose of the page, or is shown elsewhere.
ASIDE = (nodes.Admonition, nodes.figure, nodes.table, nodes.FixedTextElement, nodes.Invisible)


def description(doctree: nodes.document) -> str:
    """The first whole sentences of a page, one at least."""
    said = ""
    for paragraph in doctree.findall(nodes.paragraph):
        if any(isinstance(above, ASIDE) for above in _above(paragraph)):
            continue
        for sentence in END.split(" ".join(clean_astext(paragraph).split())):
            if said and (len(said) > FEWEST or len(said) + len(sentence) >= MOST):
                return said
            said = f"{said} {sentence}".strip()
    return said


def tags(name: str, title: str, said: str, page: str, address: str) -> str:
    """The tags of a page, whose path in the site at `address` is `page`."""
    properties = {"og:type": "website", "og:site_name": name, "og:title": title}
    names = {"twitter:card": "summary"}
    if said:
        properties["og:description"] = names["description"] = said
    if address:
        properties |= {
            "og:url": address + page,
            "og:image": address + PICTURE,
            "og:image:width": str(SIZE[0]),
            "og:image:height": str(SIZE[1]),
            "og:image:alt": ALT,
        }
        names["twitter:card"] = "summary_large_image"
    made = [("property", *one) for one in properties.items()]
    made += [("name", *one) for one in names.items()]
    return "".join(f'<meta {kind}="{key}" content="{escape(say)}">\n' for kind, key, say in made)


def _above(node: nodes.Node) -> list[nodes.Node]:
    above = []
    while (node := node.parent) is not None:
        above.append(node)
    return above


def _tagged(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    said = description(doctree) if doctree else ""
    title = clean_astext(app.env.titles[page]) if doctree else context.get("title", "")
    context["metatags"] = context.get("metatags", "") + tags(
        app.config.html_title, title, said, f"{page}.html", app.config.html_baseurl
    )


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", _tagged)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
