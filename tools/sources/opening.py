"""How a committed notebook begins: title, question, picture, and then what installs the modules.

GitHub shows all code, so a picture that a cell draws stands above the code as well, and not below.
In a copy of the repository the first code says what to type. Elsewhere it installs what is missing,
once the repository has an address.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterable
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output

from calib_utils import __version__
from tools.sources.book import Book
from tools.sources.locations import INSTALLS

COLUMNS = 70
# The packages of the course, of which all but the first have folders of their own.
MODULE = "calibration-course"
FOLDERS = ("calib_audit", "calib_records")
# What each extra of the module brings, and the rooms of the module that need it.
BRINGS = {
    "plots": {"matplotlib"},
    "training": {"safetensors", "sklearn", "torch", "torchvision"},
}
ROOMS = {
    "calib_utils.experiments.runner": "training",
    "calib_utils.plots": "plots",
    "calib_utils.training": "training",
}
# What comes with the module, with the report on a model, or with Colab.
THERE = {"calib_utils", "google", "numpy", "scipy"}
WITH_AUDIT = {"jinja2", "matplotlib", "narwhals", "pyarrow"}
PACKAGES = {"sklearn": "scikit-learn"}

LOOK = """\
from importlib.util import find_spec
{path}
{needed}
missing = [name for name in needed if not find_spec(name)]
"""
SAY = """\
    raise SystemExit(
        f"{{', '.join(missing)}}: not installed. In the folder of the "
        "repository, type\\n\\n    pip install {packages}"
    )"""
IN_A_COPY = 'any((up / "calib_records").is_dir() for up in Path.cwd().parents)'


PNG = "image/png"
# Of the text with a picture from a cell below, and of that cell.
ABOVE, BELOW = "picture-from-below", "picture-above"
UNCHECKED = "nbval-ignore-output"
PICTURE = re.compile(
    r"!\[(?P<alt>[^\]]*)\]\(data:image/png;base64,(?P<png>[^)]+)\)\n\n(?P<caption>.+)", re.DOTALL
)


def raise_picture(cells: list[NotebookNode]) -> None:
    """Move the picture that a chapter opens with, and its caption, above the first code."""
    end = next((k for k, cell in enumerate(cells) if "\n## " in f"\n{cell.source}"), len(cells))
    opening, first = cells[:end], next(k for k, c in enumerate(cells) if c.cell_type == "code")
    if any("](data:image" in cell.source for cell in cells[:first]):
        return
    for at, cell in enumerate(opening):
        outputs = cell.get("outputs", [])
        if len(outputs) == 1 and PNG in outputs[0].get("data", {}):
            png, alt = outputs[0].data[PNG].strip(), outputs[0].metadata[PNG]["alt"]
            caption = cells.pop(at + 1).source
            cell.outputs = []
            tags = cell.metadata.get("tags", [])
            cell.metadata["tags"] = [*tags, BELOW, *({UNCHECKED} - set(tags))]
            text = f"![{alt}](data:{PNG};base64,{png})\n\n{caption}"
            cells.insert(first, new_markdown_cell(text, metadata={"tags": [ABOVE]}))
            return


def lower_picture(cells: list[NotebookNode]) -> None:
    """Give it back to the cell that draws it, as the page has it."""
    above = next((cell for cell in cells if ABOVE in cell.metadata.get("tags", [])), None)
    if above is None:
        return
    cells.remove(above)
    found = PICTURE.fullmatch(above.source)
    at = next(k for k, cell in enumerate(cells) if BELOW in cell.metadata.get("tags", []))
    drawn = cells[at]
    tags = drawn.metadata["tags"]
    gone = {BELOW} if "varies" in tags else {BELOW, UNCHECKED}
    drawn.metadata["tags"] = [tag for tag in tags if tag not in gone]
    if found:
        alt = {PNG: {"alt": found["alt"]}}
        drawn.outputs = [new_output("display_data", {PNG: f"{found['png']}\n"}, metadata=alt)]
        cells.insert(at + 1, new_markdown_cell(found["caption"]))


def imported(code: Iterable[str]) -> set[str]:
    """The modules that some code imports, such as `calib_utils.plots`."""
    found: set[str] = set()
    for cell in code:
        for node in ast.walk(ast.parse(cell)):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add(str(node.module))
    return found


class Needs:
    """What some code needs: the names to look for, and what pip takes to install them."""

    def __init__(self, code: Iterable[str]) -> None:
        modules = imported(code)
        names = {module.partition(".")[0] for module in modules} - THERE - sys.stdlib_module_names
        extras = {extra for room, extra in ROOMS.items() if any(_is_in(m, room) for m in modules)}
        extras |= {"training"} if "torch" in names else set()
        extras |= {"plots"} if "matplotlib" in names else set()
        if any(_is_in(module, "calib_utils.records") for module in modules):
            names.add("calib_records")
        if "calib_audit" in names:
            names -= WITH_AUDIT
            extras.discard("plots")
        # What no extra brings is a package of its own: for scikit-learn nobody needs PyTorch.
        brought = {name for extra in extras for name in BRINGS[extra]}
        self.names = sorted({"calib_utils"} | names | brought)
        self.extras = f"[{','.join(sorted(extras))}]" if extras else ""
        self.folders = [folder for folder in FOLDERS if folder in names]
        self.packages = sorted(PACKAGES.get(x, x) for x in names - brought - {*FOLDERS})

    def in_a_copy(self) -> str:
        """What one types after `pip install` in the folder of the repository."""
        module = f"'.{self.extras}'" if self.extras else "."
        return " ".join([module, *(f"./{folder}" for folder in self.folders), *self.packages])

    def from_(self, release: str) -> str:
        """What one types elsewhere, for the wheels of a release."""
        names = {MODULE: self.extras}
        names |= {f"{MODULE}-{folder.removeprefix('calib_')}": "" for folder in self.folders}
        end = f"-{__version__}-py3-none-any.whl"
        wheels = [
            f'"{name}{extras} @ {release}/{name.replace("-", "_")}{end}"'
            for name, extras in names.items()
        ]
        return " ".join([*wheels, *self.packages])


def install_code(book: Book, code: Iterable[str]) -> str:
    """The first code of a notebook with this code."""
    needs = Needs(code)
    say = SAY.format(packages=needs.in_a_copy())
    look = LOOK.format(
        needed=assigned("needed", needs.names),
        path="from pathlib import Path\n" if book.repository else "",
    )
    if book.repository is None:
        return f"{INSTALLS}\n{look}if missing:\n{say}"
    # Of its own version, not what main has become meanwhile.
    release = f"{book.repository}/releases/download/v{__version__}"
    install = f"    %pip install -q {needs.from_(release)}"
    return f"{INSTALLS}\n{look}if missing and {IN_A_COPY}:\n{say}\nif missing:\n{install}"


def assigned(name: str, value: Any, indent: str = "") -> str:
    """Code that gives a name to a value, as ruff lays it out."""
    line = f"{indent}{name} = {json.dumps(value)}"
    if len(line) <= COLUMNS or not isinstance(value, list):
        return line
    items = "".join(f"{indent}    {json.dumps(one)},\n" for one in value)
    return f"{indent}{name} = [\n{items}{indent}]"


def _is_in(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")
