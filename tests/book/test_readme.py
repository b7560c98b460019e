"""The picture of the README."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from bs4 import BeautifulSoup


def test_the_picture_of_the_readme_is_what_its_script_makes_and_its_text_says(
    tmp_path: Path,
) -> None:
    """It is committed, since GitHub shows it without a build."""
    made = tmp_path / "readme.svg"
    script = "book.readme"
    subprocess.run([sys.executable, "-m", script, made], check=True)
    assert made.read_text("utf-8") == Path("book/assets/readme.svg").read_text("utf-8"), (
        f"python -m {script} book/assets/readme.svg makes it anew"
    )
    said = re.search(
        r"!\[(.*?)\]\(book/assets/readme.svg\)", Path("README.md").read_text(), re.DOTALL
    )
    svg = made.read_text("utf-8")
    frames = re.findall(r'(?s)<g id="f\d+">.*?</svg></g>', svg)
    # Its style hides the frames, and no group inside one, such as a panel.
    hidden = re.findall(r"(?m)^(.+) \{ visibility: hidden \}", svg)
    groups = [g for one in hidden for g in BeautifulSoup(svg, "html.parser").select(one)]
    assert [g["id"] for g in groups] == [f"f{k}" for k in range(len(frames))]
    words = [re.findall(r">([^<>]+)</text>", frames[k]) for k in (0, -1)]
    first, last = (dict(pairwise(one)) for one in words)
    assert first["accuracy"] == last["accuracy"]
    (T,) = (word for word in words[1] if word.startswith("T = "))
    for number in (first["ECE"], last["ECE"], last["baseline ECE"], T.removeprefix("T = ")):
        assert number.replace("\N{NO-BREAK SPACE}", " ") in said[1]
