"""A release is of one version: the tag's, the module's, the changelog's and the citation's."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

import calib_audit
import calib_records
import classroom
from calib_utils import __version__
from tools.sources.release_notes import notes

ROOT = Path(__file__).parents[2]
CHANGELOG = "# Changed\n\n## 0.2.0\n\nMore.\n\n- One.\n\n## 0.1.0\n\nThe first.\n"


def test_the_notes_are_the_part_on_that_version() -> None:
    assert notes("v0.2.0", CHANGELOG, "0.2.0") == "More.\n\n- One."
    assert notes("v0.1.0", CHANGELOG, "0.1.0") == "The first."


@pytest.mark.parametrize(
    ("tag", "version", "message"),
    [
        ("v0.1.1", "0.1.0", "the tag is v0.1.1, but calib_utils is version 0.1.0"),
        ("0.1.0", "0.1.0", "tag v0.1.0"),
        ("v0.3.0", "0.3.0", "says nothing about 0.3.0"),
        ("v0.1", "0.1", "says nothing about 0.1:"),
    ],
)
def test_a_release_that_does_not_fit_is_refused(tag: str, version: str, message: str) -> None:
    with pytest.raises(SystemExit, match=message):
        notes(tag, CHANGELOG, version)


def test_every_place_says_the_same_version() -> None:
    assert notes(f"v{__version__}", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == calib_records.__version__ == __version__
    assert calib_audit.__version__ == classroom.__version__ == __version__
    for name in ("calib_audit", "classroom"):
        project = tomllib.loads((ROOT / name / "pyproject.toml").read_text("utf-8"))["project"]
        assert f"calibration-course=={__version__}" in project["dependencies"]
