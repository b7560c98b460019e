"""The snapshot that a build works on: of one moment, and given back only where it belongs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.running import snapshot
from tools.running.dependencies import PACKAGES
from tools.running.snapshot import FOLDERS, ORIGIN, SOURCES, given_back, is_source, sources, write
from tools.sources.errors import MystError

OLD, NEW, OTHER = ({Path("book/a.md"): text} for text in (b"old", b"new", b"other"))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("_toc.yml", "book/a.md", "book/.a.md.swp", "book/__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sources_that_change_while_they_are_read_are_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot.time, "sleep", lambda seconds: None)
    for states in ([OLD, OLD], [OLD, NEW, NEW, NEW], [OLD, {}, OLD, OTHER, OTHER, OTHER]):
        left = iter(states)
        monkeypatch.setattr(snapshot, "sources", lambda left=left: next(left))
        assert snapshot.snapshot() == states[-1]
    for endless in ([OLD, NEW] * 100, [OLD, {}] * 100):
        left = iter(endless)
        monkeypatch.setattr(snapshot, "sources", lambda left=left: next(left))
        with pytest.raises(MystError, match="change all the time"):
            snapshot.snapshot()


def test_a_snapshot_has_no_compiled_code_and_nothing_of_the_one_before(tree: Path) -> None:
    found = sources()
    assert {str(path) for path in found} == {"_toc.yml", "book/a.md"}
    write(found)
    (SOURCES / "book/__pycache__").mkdir()
    (SOURCES / "book/gone.md").touch()
    write(found)
    copied = {p.relative_to(SOURCES) for p in SOURCES.rglob("*") if p.is_file()}
    assert copied == found.keys()
    # What steps make is where it was, and is shared by all builds.
    (tree / "build/made").touch()
    assert (SOURCES / "build/made").exists()
    # Nor is what a chapter trains lost with the next build.
    (SOURCES / "notebooks/runs/checkpoint.pt").touch()
    assert (tree / "notebooks/runs/checkpoint.pt").exists()


def test_all_that_code_depends_on_is_copied() -> None:
    assert set(PACKAGES) <= set(FOLDERS)
    assert is_source("lenet.npz")
    assert not is_source("lenet.pt")


@pytest.mark.parametrize("changed", [None, "book/a.md", "book/a.json"])
def test_what_is_made_is_given_back_unless_it_is_of_another_source(
    tree: Path, monkeypatch: pytest.MonkeyPatch, changed: str | None
) -> None:
    (tree / "book/a.json").write_text("stored", "utf-8")
    write(sources())
    monkeypatch.chdir(tree / SOURCES)
    monkeypatch.setenv(ORIGIN, str(tree))
    with given_back(Path("book/a.md"), Path("book/a.json"), Path("book/new.json")):
        Path("book/a.json").write_text("made", "utf-8")
        Path("book/new.json").write_text("made", "utf-8")
        if changed:
            (tree / changed).write_text("edited", "utf-8")
    expected = {None: "made", "book/a.md": "stored", "book/a.json": "edited"}[changed]
    assert (tree / "book/a.json").read_text("utf-8") == expected
    assert (tree / "book/new.json").exists() == (changed is None)


def test_what_a_figure_no_longer_shows_is_deleted_there(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(sources())
    monkeypatch.chdir(tree / SOURCES)
    monkeypatch.setenv(ORIGIN, str(tree))
    with given_back(Path("book/a.md")):
        Path("book/a.md").unlink()
    assert not (tree / "book/a.md").exists()


def test_make_test_begins_without_compiled_code(tmp_path: Path) -> None:
    python = tmp_path / "bin/python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\n", "utf-8")
    python.chmod(0o755)
    for folder in (*PACKAGES, "tests"):
        (tmp_path / folder / "inner/__pycache__").mkdir(parents=True)
    make = ["make", "-f", Path(__file__).parents[2] / "Makefile", "-o", ".venv/.installed"]
    subprocess.run([*make, f"BIN={python.parent}", "test-code"], cwd=tmp_path, check=True)
    assert list(tmp_path.rglob("__pycache__")) == []
