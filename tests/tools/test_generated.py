"""The parts of pages that scripts make: which there are, what makes them, and what they read."""

from __future__ import annotations

from pathlib import Path

import pytest

from classroom.goals import assignment_names
from tests.tiny_book import REPOSITORY
from tools.sources.generated import maker, parts, reads


def test_parts_know_the_pages_with_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    pages = [path for path in parts() if path.suffix == ".md"]
    assert [path.as_posix() for path in pages] == ["book/benchmarks.md"]
    assert maker(pages[0]) == ["tools.running.cells", "book/benchmarks.md"]
    assert maker(Path("book/tables/goals.py")) == ["book/tables/goals.py"]


def test_reads_name_the_sources_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    scripts = {script.as_posix(): script for script in parts()}
    goals = {f"classroom/assignments/{name}/goals.toml" for name in assignment_names()}
    assert {path.as_posix() for path in reads(scripts["book/tables/goals.py"])} == goals
    found = {path.as_posix() for path in reads(scripts["book/tables/syllabus.py"])}
    assert found > goals | {"_toc.yml", "notebooks/ece-and-mce.md"}
    assert reads(scripts["book/tables/recalibrators.py"]) == []
