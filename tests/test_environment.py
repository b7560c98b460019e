"""pyproject.toml, requirements.lock and environment.yml say the same."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PINNED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==([^\s;\\]+)", LOCK, re.MULTILINE)
}
# Installed only by whoever wants to compare with other libraries.
OPTIONAL = {"peers"}


def locked_groups() -> dict[str, list[str]]:
    groups = PROJECT["dependency-groups"]
    return {name: lines for name, lines in groups.items() if name not in OPTIONAL}


def wanted() -> list[Requirement]:
    groups = [
        PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"].values(),
        *locked_groups().values(),
    ]
    return [Requirement(line) for group in groups for line in group]


def test_every_dependency_is_locked_within_its_range() -> None:
    wrong = {
        str(requirement): PINNED.get(canonicalize_name(requirement.name))
        for requirement in wanted()
        if not requirement.specifier.contains(PINNED.get(canonicalize_name(requirement.name), "0"))
    }
    assert wrong == {}


def test_every_locked_package_has_hashes() -> None:
    packages = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert len(packages) >= len(PINNED) > 100
    assert [text.splitlines()[0] for text in packages if "--hash=sha256:" not in text] == []


def test_the_lock_names_no_host() -> None:
    assert re.findall(r"\S*(?:://|--index|--find-links|@ file).*", LOCK) == []


def test_conda_takes_its_packages_from_the_lock() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    assert environment["dependencies"] == [
        f"python{PROJECT['project']['requires-python']}",
        "pip",
        {"pip": ["-r requirements.lock"]},
    ]


def test_make_lock_takes_every_group() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    groups = {f"--group {name}" for name in locked_groups()}
    extras = {f"--extra {name}" for name in PROJECT["project"]["optional-dependencies"]}
    assert {option for option in groups | extras if option not in makefile} == set()


@pytest.mark.parametrize("name", ["Makefile", "docs/reference.md", "pyproject.toml"])
def test_packages_go_into_our_environment(name: str) -> None:
    """Unless told, uv takes the active one, of conda or another project, before `.venv`."""
    text = (ROOT / name).read_text("utf-8").replace("$(BIN)", ".venv/bin")
    installs = re.findall(r"uv pip install (.*)", text)
    assert installs
    ours = ("--python .venv/bin/python ", "--python build/versions/bin/python ")
    assert [line for line in installs if not line.startswith(ours)] == []


def test_nobody_is_told_to_install_a_stranger() -> None:
    """On the index, the name of the module is somebody else's."""
    told = re.compile(
        r"""(?<!un)install\s+(?:["']\s*)*(?:-\S+\s+)*["']?calib[_-]utils|calib[_-]utils\["""
    )
    for wrong in (
        "pip install calib-utils",
        "'calib_utils[training]'",
        '"python -m pip install "\n    "-U calib_utils"',
    ):
        assert told.search(wrong)
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, files.stdout.split("\0")):
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        if b"\0" not in content and name != "tests/test_environment.py":
            found = told.search(content.decode("utf-8"))
            assert found is None, f"{name}: {found[0]!r}" if found else ""
