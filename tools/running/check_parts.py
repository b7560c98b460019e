"""Compare what scripts have made for pages of text: `python -m tools.running.check_parts`.

Its fingerprints must be the stored ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
from base64 import b64decode, b64encode
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
from tools.running.notebook_pictures import small
from tools.running.snapshot import BUILD, given_back
from tools.sources.atomic import write_bytes
from tools.sources.generated import PRINTS, copy_of, maker, parts, reads

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
            if script.suffix == ".md":  # all that its cells have added
                own = script.read_text("utf-8").splitlines()
                made = (line for line in text.splitlines() if line not in own)
                found[str(part)] = of_table("\n".join(made))
            elif not reads(script):
                found[str(part)] = ways[part.suffix](text)
            elif drawings := DRAWING.findall(text):
                found[str(part)] = of_text("".join(drawings))
    return found


def store_parts() -> None:
    """Run the scripts, store the fingerprints of what they make, and copies for notebooks."""
    before = stored(PRINTS)
    for script, part in parts().items():
        run(script, BUILD / part)
    made = of_parts()
    chapters = "".join(path.read_text("utf-8") for path in Path("notebooks").glob("*.md"))
    for script, part in parts().items():
        was, now = ({str(part): prints.get(str(part), {})} for prints in (before, made))
        copy = copy_of(script)
        if f"../{script.with_suffix('.svg')}" in chapters and (
            differences(was, now) or not copy.exists()
        ):
            run(script, drawn := BUILD / part.with_suffix(".png"))
            with given_back(copy):
                write_bytes(copy, b64decode(small(b64encode(drawn.read_bytes()).decode())))
                print(f"wrote {copy}")
    with given_back(PRINTS):
        if store(PRINTS, made):
            print(f"wrote {PRINTS}")


def run(script: Path, target: Path) -> None:
    environment = plain_environment() | {"PYTHONPATH": str(Path().absolute())}
    command = [sys.executable, "-m", "tools.sources.errors", *maker(script), str(target)]
    subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    if said := differences(stored(PRINTS), of_parts()):
        print(f"{PRINTS}: pictures and tables are not the stored ones.\n")
        print("\n".join([*said, "", AGAIN]))
        sys.exit(1)
