"""Where no browser is found, who tests is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.finishing.browser import MISSING

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_without_a_browser_tests_say_so_at_their_end_or_fail(
    ci: str, code: int, tmp_path: Path
) -> None:
    test = "tests/site/test_site.py::test_on_a_phone_a_finger_finds_each_button_and_no_hint_stays"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", test, "-q", "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=os.environ | {"PATH": str(tmp_path), "CI": ci},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    *_, last = done.stdout.split("THE PAGES WERE NOT TESTED")
    assert MISSING in last
    assert ("THE PAGES WERE NOT TESTED" in done.stdout) is (not ci)
