"""What copied answers are worth, for the guide: `python -m book.tables.classmates TARGET`.

`tests/classroom/classmates.py` has measured it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from calib_utils._files import write_text
from calib_utils.comparing import table
from classroom.goals import assignment_names

STORED = Path(__file__).with_suffix(".json")
ROWS = {
    "published": "the published solution, pasted",
    "classmate": "the solution of another sheet, on average of all nine",
    "best": "the best of these nine for each sheet",
    "most": "the best of these nine, for the sheet where it earns most",
    "nearest": "in the lab, the five nearest images instead of a network",
}


def rows(stored: dict[str, dict[str, float]], names: list[str]) -> list[list[str]]:
    return [
        [
            said,
            *(f"{100 * stored[name][key]:.0f} %" if key in stored[name] else "" for name in names),
        ]
        for key, said in ROWS.items()
    ]


if __name__ == "__main__":
    names = assignment_names()
    stored = json.loads(STORED.read_text("utf-8"))
    shown = table(["answers", *(f"`{name}`" for name in names)], rows(stored, names))
    caption = "What copied answers earn of the automatic points of each assignment."
    write_text(Path(sys.argv[1]), f":::{{table}} {caption}\n:name: tab-copied\n\n{shown}\n:::\n")
