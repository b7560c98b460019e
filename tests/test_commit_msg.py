"""The hook that reads a commit's message."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[1] / ".githooks/commit-msg"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Say why a chapter ran again", ""),
        (f"{72 * 'é'}\n\nA body of any length, {100 * 'a'}.", ""),
        ("# A comment of git's\nMerge the report on one's own model\n", ""),
        (73 * "a", "The subject needs 1 to 72 characters: "),
        ("\n\nOnly a body", "The subject needs 1 to 72 characters: "),
        ("Merge branch 'pipeline'", "Say what this merges, "),
        ("Merge pull request #12 from someone/main", "Say what this merges, "),
    ],
)
def test_a_subject_is_short_and_says_what_it_merges(
    tmp_path: Path, message: str, said: str
) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    file.write_text(message, "utf-8")
    done = subprocess.run([HOOK, file], capture_output=True, text=True, check=False)
    assert done.returncode == bool(said)
    assert done.stderr.startswith(said)
