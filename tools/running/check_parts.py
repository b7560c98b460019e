"""Compare what scripts have made for pages of text: `python -m tools.running.check_parts`.

Its fingerprints must be the stored ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tools.running.fingerprints import (
    AGAIN,
    Print,
    differences,
    of_drawing,
    of_table,
    of_text,
    store,
    stored,
)
from tools.running.kernel import plain_environment
from tools.running.snapshot import BUILD, given_back
from tools.sources.generated import PRINTS, parts, reads

DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


def of_parts() -> dict[str, Print]:
    """The fingerprints of what the scripts have made.

    Of tables that say again what the pages say, the drawings alone; of a photograph, none.
    """
    ways = {".svg": of_drawing, ".json": of_text, ".md": of_table}
    found = {}
    for script, part in parts().items():
        if part.suffix in ways:
            text = (BUILD / part).read_text("utf-8")
            if not reads(script):
                found[str(part)] = ways[part.suffix](text)
            elif drawings := DRAWING.findall(text):
                found[str(part)] = of_text("".join(drawings))
    return found


def store_parts() -> None:
    """Run the scripts, and store the fingerprints of what they make."""
    environment = plain_environment() | {"PYTHONPATH": str(Path().absolute())}
    for script, part in parts().items():
        command = [sys.executable, "-m", "tools.sources.errors", str(script), str(BUILD / part)]
        subprocess.run(command, env=environment, check=True)
    with given_back(PRINTS):
        if store(PRINTS, of_parts()):
            print(f"wrote {PRINTS}")


if __name__ == "__main__":
    if said := differences(stored(PRINTS), of_parts()):
        print(f"{PRINTS}: pictures and tables are not the stored ones.\n")
        print("\n".join([*said, "", AGAIN]))
        sys.exit(1)
