"""What a release says: `python -m tools.sources.release_notes v0.1.0` prints it of CHANGELOG.md.

It fails unless the tag is the version of the module, and the changelog has a part on it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from calib_utils import __version__


def notes(tag: str, changelog: str, version: str = __version__) -> str:
    """The text below `## VERSION`, to the next such heading.

    Raises:
        SystemExit: The tag is another version's, or the changelog does not know it.
    """
    if tag != f"v{version}":
        raise SystemExit(f"the tag is {tag}, but calib_utils is version {version}: tag v{version}")
    found = re.search(
        rf"^## {re.escape(version)}(?![\w.]).*\n((?:(?!## ).*\n?)*)", changelog, re.MULTILINE
    )
    if found is None or not found[1].strip():
        raise SystemExit(
            f"CHANGELOG.md says nothing about {version}: write it below '## {version}'"
        )
    return found[1].strip()


if __name__ == "__main__":
    print(notes(sys.argv[1], Path("CHANGELOG.md").read_text("utf-8")))
