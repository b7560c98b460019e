"""The generated parts of pages: pictures, figures to play with, tables.

Each is made by `python SCRIPT TARGET` under `build/`, and shown from the same place under `book/`.
"""

from __future__ import annotations

from pathlib import Path

# The scripts, and what each makes; `{}` is the script's name.
PARTS = {
    "book/figures/*.py": "figures/{}.svg",
    "book/play/*.py": "play/{}.json",
    "benchmarks/tables.py": "tables/benchmarks.md",
}


def parts() -> dict[Path, Path]:
    """What each script makes, such as `figures/overview.svg`."""
    return {
        script: Path(made.format(script.stem))
        for scripts, made in PARTS.items()
        for script in sorted(Path().glob(scripts))
    }
