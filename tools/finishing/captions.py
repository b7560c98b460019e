"""Captions, and with them numbers, for the tables that code cells make.

A Sphinx extension. The cell says name and caption, as it does for a figure; the table is in what
the cell shows, where no directive reaches.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from tools.sources.book import table_of
from tools.sources.errors import MystError


class CaptionTables(SphinxTransform):
    """Before Sphinx takes stock of what has a number."""

    default_priority = 400

    def apply(self, **options: Any) -> None:
        caption_tables(self.document)


def caption_tables(document: nodes.document) -> None:
    """Give the table of each cell that names one its caption, and its label.

    Raises:
        MystError: A cell that names a table makes none.
    """
    for cell in list(document.findall(nodes.container)):
        about = table_of(cell.get("cell_metadata", {}))
        if about is None or cell.get("nb_element") != "cell_code":
            continue
        table = next(cell.findall(nodes.table), None)
        if table is None:
            raise MystError(f"the cell of {about['name']} makes no table: take its caption away")
        caption = " ".join(about["caption"].split())
        table.insert(0, nodes.title(caption, "", nodes.Text(caption)))
        table["names"].append(nodes.fully_normalize_name(about["name"]))
        document.note_explicit_target(table, table)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(CaptionTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
