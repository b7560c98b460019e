"""Compare the pictures that scripts draw for chapters: `python -m tools.running.check_parts`.

A notebook shows them from files beside it, which must be what the scripts draw now.
"""

from __future__ import annotations

import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterable
from pathlib import Path

from calib_utils._files import write_bytes
from tools.running.kernel import plain_environment
from tools.running.notebook_pictures import difference, small
from tools.sources.generated import copy_of, maker, parts, shown_in_chapters

BUILD = Path("build")


def drawn(script: Path) -> str:
    """What a script has drawn, in the form in which it is stored."""
    picture = BUILD / parts()[script].with_suffix(".png")
    return small(b64encode(picture.read_bytes()).decode())


def stored(script: Path) -> str | None:
    path = copy_of(script)
    return b64encode(path.read_bytes()).decode() if path.exists() else None


def store_parts(sources: Iterable[Path]) -> None:
    """Draw those of these chapters, and store what shows something else now."""
    environment = plain_environment() | {"PYTHONPATH": str(Path().absolute())}
    for script in shown_in_chapters(sources):
        copy_of(script).touch()  # a new one is drawn as a PNG, too
        command = [sys.executable, "-m", "tools.sources.errors", *maker(script)]
        subprocess.run([*command, str(BUILD / parts()[script])], env=environment, check=True)
        picture = drawn(script)
        if difference(stored(script), picture):
            write_bytes(copy_of(script), b64decode(picture))
            print(f"wrote {copy_of(script)}")


if __name__ == "__main__":
    said = [
        f"{copy_of(script)}: {found}, compared with what {script} draws."
        for script in shown_in_chapters()
        if (found := difference(stored(script), drawn(script) if stored(script) else "new"))
    ]
    if said:
        print("\n".join([*said, "If the change is wanted: `make notebooks`, and read the diff."]))
        sys.exit(1)
