"""What pictures show, in few numbers, to be stored and compared.

A digest of a drawing would differ between two processors, whose digits do. So a figure is stored
as its texts and, of each path, the number of its points and where they lie: a bar that is 2 % too
high is seen, and a difference of rounding is not. A table is stored as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from io import BytesIO
from itertools import groupby, zip_longest
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from nbformat import NotebookNode
from PIL import Image

from tools.sources.atomic import write_text

# Texts, and one line of numbers for each path or block of numbers.
Print = dict[str, list[str]]

# Of a drawing, in its unit, 1/72 inch; of other numbers, as a share of their size.
FURTHEST, LARGEST = 0.05, 5e-4
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
BLOCK = 200
AGAIN = "If the change is wanted: `make notebooks`, and read the diff."


def of_figures(notebook: NotebookNode) -> dict[str, Print]:
    """The fingerprint of each figure of a page that has been run, by its name.

    Of one that differs between machines (a training, times) its words alone.
    """
    found = {}
    for cell in notebook.cells:
        name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
        for output in cell.get("outputs", []) if name else ():
            if svg := output.get("data", {}).get("image/svg+xml"):
                found[name] = of_drawing(svg)
                if "varies" in cell.metadata.get("tags", []):
                    words = [text for text in found[name]["texts"] if not NUMBER.search(text)]
                    found[name] = {"texts": words, "paths": []}
    return found


def of_drawing(svg: str) -> Print:
    """Texts of an SVG, and of each path, row of marks, frame and image where its points lie."""
    texts: list[str] = []
    shapes: list[tuple[str, np.ndarray]] = []
    for element in ElementTree.fromstring(svg).iter():
        kind = element.tag.rpartition("}")[2]
        if kind == "text":
            texts.append(" ".join("".join(element.itertext()).split()))
        elif kind == "path":
            points = np.array(NUMBER.findall(element.get("d", "")), float)
            shapes.append(("", points.reshape(-1, 2)))
        elif kind in ("use", "image", "rect"):
            of = next((value for name, value in element.items() if name.endswith("href")), "")
            x, y, *size = (float(element.get(n, 0)) for n in ("x", "y", "width", "height"))
            corners = [[x, y]] if kind == "use" else [[x, y], np.add([x, y], size)]
            shapes.append((of, np.array(corners)))
            if of.startswith("data:"):
                shapes.append(("", _grey(of)))
    paths = []
    # Marks of one kind follow each other, and are one path.
    for _, group in groupby(enumerate(shapes), lambda item: item[1][0] or item[0]):
        points = np.vstack([points for _, (_, points) in group])
        if len(points):
            where = [*points.min(axis=0), *points.max(axis=0), *_moment(points)]
            paths.append(_line(len(points), np.round(where, 2) + 0))
    return {"texts": texts, "paths": paths}


def of_text(text: str) -> Print:
    """The digest of the words, and size and place of the numbers, in blocks."""
    numbers = np.array(NUMBER.findall(text), float)
    words = hashlib.sha256(NUMBER.sub("#", text).encode()).hexdigest()[:16]
    blocks = [numbers[start : start + BLOCK] for start in range(0, len(numbers), BLOCK)]
    sums = ([np.abs(block).mean(), _moment(block)] for block in blocks)
    lines = [_line(len(block), both) for block, both in zip(blocks, sums, strict=True)]
    return {"words": [words], "numbers": lines}


def of_table(text: str) -> Print:
    """A table, to the letter: every number of it is one that readers see."""
    return {"lines": text.splitlines()}


def store(path: Path, made: Mapping[str, Print]) -> bool:
    """Write fingerprints, or no file where there is nothing; whether that changed something."""
    before = path.read_text("utf-8") if path.exists() else ""
    text = f"{json.dumps(made, indent=1, ensure_ascii=False)}\n" if made else ""
    if text and text != before:
        write_text(path, text)
    elif not text:
        path.unlink(missing_ok=True)
    return text != before


def stored(path: Path) -> dict[str, Print]:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def differences(before: Mapping[str, Print], made: Mapping[str, Print]) -> list[str]:
    """A sentence for each that is not as stored."""
    said = []
    for name in sorted({*before, *made}):
        if name not in made or name not in before:
            said.append(f"{name} is {'stored' if name in before else 'made'} only")
        elif difference := _difference(before[name], made[name]):
            said.append(f"{name}: {difference}")
    return said


def _difference(before: Print, made: Print) -> str | None:
    for kind in made:
        pairs = zip_longest(before.get(kind, []), made[kind], fillvalue="nothing")
        for count, (old, new) in enumerate(pairs, start=1):
            if old != new and not _is_near(kind, old, new):
                return f"{kind[:-1]} {count} is {new!r}, and {old!r} is stored"
    return None


def _is_near(kind: str, old: str, new: str) -> bool:
    if kind not in ("paths", "numbers") or "nothing" in (old, new):
        return False
    (n, *before), (now, *after) = (map(float, NUMBER.findall(line)) for line in (old, new))
    furthest = FURTHEST if kind == "paths" else LARGEST * before[0]
    return n == now and np.abs(np.subtract(before, after)).max() <= furthest + 1e-9


def _moment(points: np.ndarray) -> np.ndarray:
    """A mean in which later points count more, so that their order matters."""
    return np.average(points, axis=0, weights=np.arange(1, len(points) + 1))


def _grey(picture: str) -> np.ndarray:
    """How bright an image inside a drawing is, on the left and on the right."""
    grey = Image.open(BytesIO(b64decode(picture.partition(",")[2]))).convert("L")
    return np.array([[half.mean() for half in np.array_split(np.asarray(grey), 2, axis=1)]])


def _line(n: int, values: Iterable[float]) -> str:
    return f"{n}: {' '.join(f'{value:.6g}' for value in values)}"
