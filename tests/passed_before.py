"""Leave out the files of tests that passed before on the same files: `--passed-before=FILE`.

A file of tests depends on the modules that it imports, with their data; on what it opens or lists
while it runs; and, where it starts a process, on what that may read: all of our code if it runs in
a folder of its own, such as a copy of the tiny book, or else everything that git knows. Installed
packages, the browser and the sandbox count too. When nothing of this has changed, the tests cannot
end in another way, and they are left out until something does.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.running.dependencies import PACKAGES, files_of
from tools.sources.atomic import write_text

CODE, EVERYTHING = "*code", "*everything"
# What no commit holds and a test may depend on all the same.
BUILT = Path("build/html")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--passed-before",
        metavar="FILE",
        type=Path,
        help="leave out test files that passed before on the same files, as noted in FILE",
    )


def pytest_configure(config: pytest.Config) -> None:
    chosen = config.option.keyword or any("::" in argument for argument in config.args)
    if config.option.passed_before and not chosen:
        config.pluginmanager.register(PassedBefore(config), "passed-before")


class PassedBefore:
    """Notes what each file of tests opened, and whether all of it passed."""

    def __init__(self, config: pytest.Config) -> None:
        self.root = config.rootpath
        self.worker = getattr(config, "workeroutput", None)  # of pytest-xdist
        self.state = self.root / config.option.passed_before
        self.passed = _read(self.state)
        self.opened: dict[str, set[str]] = defaultdict(set)
        self.expected: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.left_out: set[str] = set()
        self.running = ""
        self.began = time.time_ns()
        for folder in filter(os.path.isdir, known()):
            content(Path(folder))  # kept: what a folder holds now is what is tested
        sys.addaudithook(self.note)

    def note(self, event: str, args: tuple[Any, ...]) -> None:
        """An audit hook, which sees every file that is opened and every process that starts."""
        if not self.running:
            return
        if event in ("open", "os.listdir", "os.scandir"):
            if isinstance(args[0], (str, os.PathLike)):
                self.opened[self.running].add(self.inside(args[0]))
        elif event == "subprocess.Popen":
            apart = args[2] is not None and not self.inside(args[2])
            self.opened[self.running].add(CODE if apart else EVERYTHING)

    def inside(self, path: Any) -> str:
        """The path below the root, or nothing."""
        absolute = os.path.abspath(os.fspath(path))
        root = f"{self.root}{os.sep}"
        return os.path.relpath(absolute, root) if f"{absolute}{os.sep}".startswith(root) else ""

    @pytest.hookimpl(trylast=True)  # when others have left out theirs
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        files = {item.location[0] for item in items}
        same = {file for file in files if self.is_same(file)}
        self.left_out = same
        self.expected = Counter(item.location[0] for item in items if item.location[0] not in same)
        config.hook.pytest_deselected(items=[i for i in items if i.location[0] in same])
        items[:] = [item for item in items if item.location[0] not in same]

    def is_same(self, file: str) -> bool:
        noted = self.passed.get(file)
        return noted is not None and noted["digest"] == digest(file, tuple(noted["opened"]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.running = item.location[0]
        try:
            return (yield)
        finally:
            self.running = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown" and report.passed:
            self.ended[report.location[0]] += 1
        if report.failed:
            self.ended[report.location[0]] -= 10**9

    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        self.expected = Counter(output.get("expected", {}))
        self.left_out = set(output.get("left_out", ()))
        for file, names in output.get("opened", {}).items():
            self.opened[file].update(names)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.worker is not None:
            self.worker["expected"] = dict(self.expected)
            self.worker["left_out"] = sorted(self.left_out)
            self.worker["opened"] = {file: sorted(names) for file, names in self.opened.items()}
            return
        state = {file: noted for file, noted in self.passed.items() if Path(file).exists()}
        for file in self.expected:
            state.pop(file, None)
            if self.ended[file] == self.expected[file]:
                opened = tuple(sorted(self.opened[file] & known()))
                # What was changed meanwhile was perhaps not what was tested. A folder changes when
                # Python caches a module in it, so that its names are compared instead.
                found = [p for p in inputs(file, opened) if p == BUILT or not p.is_dir()]
                if all(path.lstat().st_ctime_ns < self.began for path in found):
                    state[file] = {"opened": opened, "digest": digest(file, opened)}
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.left_out:
            session.exitstatus = pytest.ExitCode.OK
        self.state.parent.mkdir(exist_ok=True)
        write_text(self.state, json.dumps(state, indent=0, sort_keys=True) + "\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.left_out:
            terminalreporter.write_line(
                f"{len(self.left_out)} files of tests passed before, and nothing that they depend "
                f"on has changed since: left out (delete {self.state.name} to run all)"
            )


def _read(state: Path) -> dict[str, Any]:
    try:
        found = json.loads(state.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def inputs(file: str, opened: tuple[str, ...]) -> list[Path]:
    """All that a file of tests depends on."""
    helpers = [path for path in Path("tests").rglob("*.py") if not path.name.startswith("test_")]
    paths = {Path(file), *helpers, *files_of(Path(file)), Path("pyproject.toml")}
    if EVERYTHING in opened:
        paths.update(tracked(), [BUILT])
    elif CODE in opened:
        paths.update(filter(_is_code, tracked()))
    paths.update(Path(name) for name in opened if name not in (CODE, EVERYTHING))
    return sorted(path for path in paths if path.exists())


def digest(file: str, opened: tuple[str, ...]) -> str:
    """One hash of all that a file of tests depends on."""
    found = hashlib.sha256(machine().encode())
    for path in inputs(file, opened):
        found.update(f"{path}\0{content(path)}\0".encode())
    return found.hexdigest()


def _is_code(path: Path) -> bool:
    return path.parts[0] in PACKAGES or path.suffix in (".py", ".toml", ".lock")


@cache
def tracked() -> tuple[Path, ...]:
    """All files that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(map(Path, filter(None, names.split("\0"))))


@cache
def known() -> frozenset[str]:
    """What may be noted as opened: files that git knows, and the folders that they are in."""
    folders = {str(folder) for path in tracked() for folder in path.parents}
    return frozenset({CODE, EVERYTHING, *map(str, tracked()), *folders} - {"."})


@cache
def machine() -> str:
    """What is installed, whose presence decides which tests are skipped."""
    installed = sorted(f"{d.name}=={d.version}" for d in importlib.metadata.distributions())
    programs = [shutil.which(name) for name in ("chromium", "google-chrome", "bwrap", "node")]
    return json.dumps([sys.version, installed, programs, os.environ.get("CI")])


@cache
def content(path: Path) -> str:
    """The hash of a file, of the names in a folder, or of a built site with all its files."""
    if path == BUILT:
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return hashlib.sha256("".join(map(content, files)).encode()).hexdigest()
    if path.is_dir():
        names = sorted(n for n in os.listdir(path) if n != "__pycache__" and not n.startswith("."))
        return hashlib.sha256("\0".join(names).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()
