"""Is what is installed what requirements.lock says? `python -m tools.running.packages`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.sources.errors import MystError, plainly

LOCK = Path("requirements.lock")
LINE = re.compile(r"^[\w.-]+(?:\[.*?\])?==[^\\\n]+", re.MULTILINE)
SHOWN = 5


def installed() -> dict[str, str]:
    """The version of each package that this Python finds."""
    found: dict[str, str] = {}
    for package in distributions():
        found.setdefault(canonicalize_name(package.metadata["Name"]), package.version)
    return found


def differences(lock: str, found: Mapping[str, str]) -> list[str]:
    """Which packages of a lock file are not there, or in another version."""
    wrong = []
    for wanted in map(Requirement, LINE.findall(lock)):
        if wanted.marker and not wanted.marker.evaluate():
            continue
        version = found.get(canonicalize_name(wanted.name))
        if version is None:
            wrong.append(f"{wanted.name} is missing")
        elif not wanted.specifier.contains(version, prereleases=True):
            wrong.append(f"{wanted.name} is {version} instead of {str(wanted.specifier)[2:]}")
    return wrong


def require_locked() -> None:
    """Raise MystError unless the packages that are installed are those of the lock."""
    wrong = differences(LOCK.read_text("utf-8"), installed())
    if len(wrong) > SHOWN:
        wrong = [*wrong[:SHOWN], f"and {len(wrong) - SHOWN} more"]
    if wrong:
        raise MystError(
            f"The packages differ from {LOCK}: {', '.join(wrong)}. "
            "`rm .venv/.installed`, and the next `make` installs what it says."
        )


if __name__ == "__main__":
    with plainly():
        require_locked()
