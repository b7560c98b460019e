"""The generated parts of pages: pictures, figures to play with, tables; and pages with cells.

Each is made by a script, or by what runs a page's cells, under `build/`, and shown from the same
place under `book/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tools.sources.plot_settings import COPIES

# The sources, and what each makes; `{}` is the source's name. Of the pages those with cells.
PARTS = {
    "book/figures/*.py": "figures/{}.svg",
    "book/pictures/*.py": "assets/{}.png",
    "book/play/*.py": "play/{}.json",
    "book/tables/*.py": "tables/{}.md",
    "book/*.md": "{}.md",
}
CELL = "```{code-cell}"
# What a script reads beside code, and beside the data of the packages that it imports.
READS = {
    "book/tables/chapters.py": ("_toc.yml", "_config.yml", "notebooks/*.md"),
    "book/tables/classmates.py": (
        "classroom/assignments/*/goals.toml",
        "book/tables/classmates.json",
    ),
    "book/tables/goals.py": ("classroom/assignments/*/goals.toml",),
    "book/tables/syllabus.py": ("_toc.yml", "classroom/assignments/*/goals.toml", "notebooks/*.md"),
}


def parts() -> dict[Path, Path]:
    """What each script makes, such as `figures/overview.svg`, and what becomes of a page."""
    return {
        source: Path(made.format(source.stem))
        for sources, made in PARTS.items()
        for source in sorted(Path().glob(sources))
        if source.suffix == ".py" or CELL in source.read_text("utf-8")
    }


def maker(source: Path) -> list[str]:
    """What makes a part, once it is told where: a script, or what runs the cells of a page."""
    return [str(source)] if source.suffix == ".py" else ["tools.running.cells", str(source)]


def copy_of(script: Path) -> Path:
    """The picture that a script draws, as a small file beside the notebooks that show it."""
    return COPIES / f"{script.stem}.png"


def shown_in_chapters(sources: Iterable[Path] = ()) -> list[Path]:
    """The scripts whose drawings these or all chapters show: each has a copy for notebooks."""
    chosen = sources or sorted(Path("notebooks").glob("*.md"))
    chapters = "".join(path.read_text("utf-8") for path in chosen)
    return [script for script in parts() if f"../{script.with_suffix('.svg')}" in chapters]


def reads(script: Path) -> list[Path]:
    """The files that a script reads, as patterns of `READS` find them."""
    patterns = READS.get(script.as_posix(), ())
    return sorted(path for pattern in patterns for path in Path().glob(pattern))
