"""Leave out tests that passed before on the same files: `--passed-before=FILE`.

The tests of a file depend on the modules that it names, whether it imports them or a process does,
with their data; on what they open or list; on the chapters that they run; and, where they start a
process in the repository, on everything that git knows. Tests of the built site depend on all of
it, but those with the name of a page in their brackets only on that page and on what pages share.
Installed packages, the browser and the sandbox count too. When nothing of this has changed, the
tests cannot end in another way, and they are left out until something does.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
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

from tools.running.dependencies import PACKAGES, files_of, files_of_chapter
from tools.sources.atomic import write_text

EVERYTHING, RUN = "*everything", "*run "
# What no commit holds: the tests of it are in this file, and in those that import from it.
BUILT, SITE_TESTS = Path("build/html"), Path("tests/test_site.py")
# The words of all pages, which only one of them reads.
INDEX, SEARCH = BUILT / "_static/search-index.js", "search.html"
# How a test file names a module or script of ours, and another file beside it; the id of a test.
NAMED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:[./]\w+)*")
BESIDE = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
OF_PAGE = re.compile(r"[\[ ]([\w/-]+\.html)[\]-]")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--passed-before",
        metavar="FILE",
        type=Path,
        help="leave out tests that passed before on the same files, as noted in FILE",
    )


def pytest_configure(config: pytest.Config) -> None:
    chosen = config.option.keyword or any("::" in argument for argument in config.args)
    if config.option.passed_before and not chosen:
        config.pluginmanager.register(PassedBefore(config), "passed-before")


class PassedBefore:
    """Notes what the tests of each file opened, and whether all of a unit passed.

    A unit is a file of tests, or in one of the built site the tests of one page.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.root = config.rootpath
        self.worker = getattr(config, "workeroutput", None)  # of pytest-xdist
        self.state = self.root / config.option.passed_before
        self.passed = _read(self.state)
        self.opened: dict[str, set[str]] = defaultdict(set)
        self.expected: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.running, self.collects = "", False
        self.began = time.time_ns()
        machine()  # kept: a test file that imports setuptools adds the packages inside it
        for folder in filter(os.path.isdir, known()):
            content(Path(folder))  # kept: what a folder holds now is what is tested
        sys.addaudithook(self.note)

    def note(self, event: str, args: tuple[Any, ...]) -> None:
        """An audit hook, which sees what is opened or run, and every process that starts."""
        if not self.running:
            return
        if event == "os.listdir" and self.collects:
            return  # as Python does, which looks for a module
        if event in ("open", "os.listdir", "os.scandir"):
            if isinstance(args[0], (str, os.PathLike)):
                name = self.inside(args[0])
                built = name.startswith(f"{BUILT}{os.sep}")
                self.opened[self.running].add(str(BUILT) if built else name)
        elif event == "exec" and args[0].co_filename.endswith(".md"):
            self.opened[self.running].add(RUN + self.inside(args[0].co_filename))
        elif event == "subprocess.Popen":
            # `platform` asks the machine for its name with `uname`, which reads nothing here.
            here = args[0] != "uname" and self.inside(args[2] or os.getcwd())
            self.opened[self.running].update({EVERYTHING} if here else ())

    def inside(self, path: Any) -> str:
        """The path below the root, or nothing."""
        absolute = os.path.abspath(os.fspath(path))
        root = f"{self.root}{os.sep}"
        return os.path.relpath(absolute, root) if f"{absolute}{os.sep}".startswith(root) else ""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        """A file may read others as it is imported."""
        self.running = self.inside(collector.path) if isinstance(collector, pytest.File) else ""
        self.collects = True
        try:
            return (yield)
        finally:
            self.running, self.collects = "", False

    @pytest.hookimpl(trylast=True)  # when others have left out theirs
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        units = Counter(unit(item.nodeid) for item in items)
        self.left_out = Counter({one: n for one, n in units.items() if self.is_same(one)})
        self.expected = units - self.left_out
        same = [item for item in items if unit(item.nodeid) in self.left_out]
        config.hook.pytest_deselected(items=same)
        items[:] = [item for item in items if unit(item.nodeid) not in self.left_out]

    def is_same(self, one: str) -> bool:
        noted = self.passed.get(one)
        return noted is not None and noted["digest"] == digest(one, tuple(noted["opened"]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.running = item.location[0]
        try:
            return (yield)
        finally:
            self.running = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """The browser and its server are not those of the file that happens to come first."""
        running = self.running
        self.running = "" if fixturedef.scope == "session" else running
        try:
            return (yield)
        finally:
            self.running = running

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown" and report.passed:
            self.ended[unit(report.nodeid)] += 1
        if report.failed:
            self.ended[unit(report.nodeid)] -= 10**9

    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        self.expected = Counter(output.get("expected", {}))
        self.left_out = Counter(output.get("left_out", {}))
        for file, names in output.get("opened", {}).items():
            self.opened[file].update(names)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.worker is not None:
            self.worker["expected"] = dict(self.expected)
            self.worker["left_out"] = dict(self.left_out)
            self.worker["opened"] = {file: sorted(names) for file, names in self.opened.items()}
            return
        state = {one: noted for one, noted in self.passed.items() if _file(one).exists()}
        for one in self.expected:
            state.pop(one, None)
            if self.ended[one] == self.expected[one]:
                opened = tuple(sorted(filter(_is_known, self.opened[str(_file(one))])))
                # What was changed meanwhile was perhaps not what was tested. A folder changes when
                # Python caches a module in it, so that its names are compared instead.
                found = [p for p in inputs(one, opened) if p == BUILT or not p.is_dir()]
                if all(path.lstat().st_ctime_ns < self.began for path in found):
                    state[one] = {"opened": opened, "digest": digest(one, opened)}
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.left_out:
            session.exitstatus = pytest.ExitCode.OK
        self.state.parent.mkdir(exist_ok=True)
        write_text(self.state, json.dumps(state, indent=0, sort_keys=True) + "\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.left_out:
            terminalreporter.write_line(
                f"{self.left_out.total()} tests passed before, and nothing that they depend on "
                f"has changed since: left out (delete {self.state.name} to run all)"
            )


def _read(state: Path) -> dict[str, Any]:
    try:
        found = json.loads(state.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def unit(test: str) -> str:
    """What a test is noted with: the rest of its file, or of those with the same page."""
    file, _, name = test.partition("::")
    page = OF_PAGE.search(name) if SITE_TESTS in beside(Path(file)) else None
    return f"{file} {page[1]}" if page else file


def _file(one: str) -> Path:
    return Path(one.partition(" ")[0])


@cache
def beside(file: Path) -> frozenset[Path]:
    """A file of tests, with what it and its programs import from the folders of the tests."""
    found: set[Path] = set()
    waiting = [file, Path("tests/conftest.py")]
    while waiting:
        path = waiting.pop()
        if path not in found and path.is_file():
            found.add(path)
            for name in BESIDE.findall(path.read_text("utf-8")):
                waiting += [path.with_name(f"{name}.py"), Path(f"tests/{name}.py")]
    return frozenset(found)


@cache
def _own(file: Path) -> frozenset[Path]:
    """A file of tests with those beside it, and all that the modules depend on that they name."""
    tests = beside(file)
    return tests | {*files_of(*tests, *(name for path in tests for name in _named(path)))}


@cache
def _named(file: Path) -> frozenset[str]:
    """The modules and scripts that a file names."""
    names = NAMED.findall(file.read_text("utf-8"))
    return frozenset(name.replace("/", ".") for name in names)


def inputs(one: str, opened: tuple[str, ...]) -> list[Path]:
    """All that a unit depends on."""
    file, _, page = one.partition(" ")
    paths = {*_own(Path(file)), Path("pyproject.toml")}
    if EVERYTHING in opened:
        paths.update(tracked())
    for name in opened:
        paths.add(path := Path(name.removeprefix(RUN)))
        if name.startswith(RUN) and path.exists():
            paths.update(files_of_chapter(path.read_text("utf-8")), files_of(*_named(path)))
    if page and page != SEARCH:
        shared = {*(BUILT / "_static").rglob("*")} - {INDEX}
        paths = paths - {BUILT} | shared | {BUILT / page}
    elif SITE_TESTS in beside(Path(file)):
        paths.add(BUILT)
    return sorted(path for path in paths if path.exists())


def digest(one: str, opened: tuple[str, ...]) -> str:
    """One hash of all that a unit depends on."""
    found = hashlib.sha256(machine().encode())
    for path in inputs(one, opened):
        found.update(f"{path}\0{content(path)}\0".encode())
    return found.hexdigest()


@cache
def tracked() -> tuple[Path, ...]:
    """All files that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return tuple(map(Path, filter(None, names.split("\0"))))


@cache
def known() -> frozenset[str]:
    """What may be noted as opened: files that git knows with their folders, and the built site."""
    folders = {str(folder) for path in tracked() for folder in path.parents}
    return frozenset({EVERYTHING, str(BUILT), *map(str, tracked()), *folders} - {"."})


def _is_known(opened: str) -> bool:
    return opened.removeprefix(RUN) in known()


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
