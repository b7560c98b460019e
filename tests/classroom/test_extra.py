"""The extra `classroom` has all that releasing and grading needs, and no PyTorch."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]


def closure(lines: Iterable[str]) -> set[str]:
    """The packages that pip would install for these requirements, by name."""
    found: set[str] = set()
    waiting = [(Requirement(line), "") for line in lines]
    while waiting:
        wanted, extra = waiting.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        if name not in found or wanted.extras:
            found.add(name)
            needs = [Requirement(line) for line in requires(name) or []]
            waiting += [(need, extra) for need in needs for extra in ("", *wanted.extras)]
    return found


def test_releasing_and_grading_need_only_the_extra(tmp_path: Path) -> None:
    extra = closure([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["classroom"]])
    assert not {"torch", "torchvision", "jupyter-book", "papermill", "playwright"} & extra
    modules = {
        name: {canonicalize_name(package) for package in packages}
        for name, packages in packages_distributions().items()
    }
    others = {name for name, packages in modules.items() if not packages & extra}
    ours = {"assignments", "calib_records", "calib_utils", "classroom", "tools"}
    program = f"""
import importlib, pkgutil, sys
from pathlib import Path
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {others - ours}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
import classroom.variants
classroom.variants.SHEETS = ("0",)  # one is as good as ten
for module in pkgutil.iter_modules(classroom.__path__):
    importlib.import_module(f"classroom.{{module.name}}")
from classroom.__main__ import main
"""
    for name in ("measuring", "recalibrating"):
        program += f"assert main(['release', {name!r}, '--class', {str(tmp_path)!r}]) == 0\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "released/measuring/sheet-0/measuring-0.ipynb").exists()


def test_the_guides_say_how_to_install_it() -> None:
    for name in ("README.md", "book/teach.md"):
        text = (REPOSITORY / name).read_text("utf-8")
        assert re.search(r"pip install '\.\[classroom\]'", text), name


def test_the_guides_name_the_line_that_installs_in_colab() -> None:
    from tools.sources.opening import MODULE

    parts = f'"{MODULE}-audit @ AUDIT" "{MODULE}-records @ RECORDS"'
    line = f'%pip install "{MODULE}[training] @ ADDRESS" {parts}'
    for name in ("README.md", "book/teach.md"):
        text = (REPOSITORY / name).read_text("utf-8")
        assert line in text, name
        assert "git+https://" in text
