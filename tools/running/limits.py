"""Limits of the shell, by `ulimit`, under which libraries fail with words that mislead."""

from __future__ import annotations

import resource

from tools.sources.errors import MystError

MEBIBYTE = 2**20
# What each needs, far from what the book takes: `ulimit` counts files, or kibibytes.
NEEDED = {
    "n": (resource.RLIMIT_NOFILE, 256, 1, "open files"),
    "f": (resource.RLIMIT_FSIZE, 256 * MEBIBYTE, 1024, "KiB in a file"),
    "v": (resource.RLIMIT_AS, 4096 * MEBIBYTE, 1024, "KiB of memory"),
}


def require_limits() -> None:
    """Raise MystError, which names the limit, where the shell allows too little of something."""
    for option, (limit, needed, unit, what) in NEEDED.items():
        allowed = resource.getrlimit(limit)[0]
        if allowed != resource.RLIM_INFINITY and allowed < needed:
            raise MystError(
                f"`ulimit -{option}` allows {allowed // unit} {what}, and the book needs "
                f"{needed // unit}: raise it, or begin another shell, and run this again."
            )
