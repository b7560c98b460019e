"""The generated parts of pages: pictures, figures to play with, tables.

Each is made by `python SCRIPT TARGET` under `build/`, and shown from the same place under `book/`.
What they show, and what the figures of chapters do, is stored beside the sources.
"""

from __future__ import annotations

from pathlib import Path

# The scripts, and what each makes; `{}` is the script's name.
PARTS = {
    "book/figures/*.py": "figures/{}.svg",
    "book/pictures/*.py": "assets/{}.png",
    "book/play/*.py": "play/{}.json",
    "book/tables/*.py": "tables/{}.md",
    "benchmarks/tables.py": "tables/benchmarks.md",
}
# The fingerprints of what the scripts make.
PRINTS = Path("book/fingerprints.json")
# What a script reads beside code, and beside the data of the packages that it imports.
READS = {
    "book/tables/chapters.py": ("_toc.yml", "_config.yml", "notebooks/*.md"),
    "book/tables/classmates.py": ("assignments/*/goals.toml", "book/tables/classmates.json"),
    "book/tables/goals.py": ("assignments/*/goals.toml",),
    "book/tables/syllabus.py": ("_toc.yml", "assignments/*/goals.toml", "notebooks/*.md"),
}


def parts() -> dict[Path, Path]:
    """What each script makes, such as `figures/overview.svg`."""
    return {
        script: Path(made.format(script.stem))
        for scripts, made in PARTS.items()
        for script in sorted(Path().glob(scripts))
    }


def copy_of(script: Path) -> Path:
    """The picture that a script draws, as a small file beside the notebooks that show it."""
    return Path("notebooks/figures", f"{script.stem}.png")


def prints_of(page: str) -> Path:
    """Where the fingerprints of a chapter's figures are stored."""
    return Path("notebooks/figures", f"{page.removeprefix('notebooks/')}.json")


def reads(script: Path) -> list[Path]:
    """The files that a script reads, as patterns of `READS` find them."""
    patterns = READS.get(script.as_posix(), ())
    return sorted(path for pattern in patterns for path in Path().glob(pattern))
