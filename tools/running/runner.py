"""How `dodo.py` is run: what a step is, when it is done, and what is said of it.

A run may be ended at any moment, and the next one must not take its unfinished work for done. So a
step is done only while its files have the content that it read and wrote, and the state is
written, at once or not at all, as each step ends.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn, TextIO

import psutil
from doit.action import CmdAction
from doit.dependency import FileChangedChecker, JsonDB
from doit.globals import Globals
from doit.reporter import ConsoleReporter

from tools.running import ORIGIN
from tools.running.kernel import plain_environment
from tools.running.packages import require_locked
from tools.running.snapshot import BUILD
from tools.sources.errors import MystError
from tools.sources.opened_records import OPENED

STATE = BUILD / ".doit.json"
LAST = "The last good one, if any, is still in build/html."


def begin() -> None:
    """Be ready to run steps. From now on, whatever ends this process ends its steps, too."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup lets a process ignore one.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: stop("Stopped.", 128 + number))
    if ORIGIN not in os.environ:
        raise MystError(
            "The steps run on a snapshot of the sources: `make book`, or of some tasks "
            "`.venv/bin/python -m tools.running doit TASK …`."
        )
    warnings.simplefilter("ignore")  # doit's, that a person's PYTHONWARNINGS would show
    require_locked()


def stop(why: str, code: int) -> NoReturn:
    """End all steps at once, then this process."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(children, timeout=5)
    with suppress(OSError):  # the terminal may be gone
        print(f"\n{why} What was done is kept. {LAST}", flush=True)
    # No thread is waited for, and nothing is written any more.
    os._exit(code)


class Step(CmdAction):
    """A command that keeps which of the stored records it has opened."""

    def execute(self, out: Any = None, err: Any = None) -> Any:
        with TemporaryDirectory() as folder:
            opened = Path(folder, "opened")
            opened.touch()
            self.pkwargs["env"][OPENED] = str(opened)
            failed = super().execute(out, err)
            self.values["opened"] = sorted({*opened.read_text("utf-8").splitlines()})
        return failed


def action(command: Sequence[str]) -> Step:
    """What runs a step: it keeps the lock while it lives, and leaves Ctrl-C to this process."""
    return Step(
        [sys.executable, "-m", "tools.sources.errors", *command],
        shell=False,
        env=plain_environment(),
        start_new_session=True,
        close_fds=False,  # the lock is all that is inherited
    )


class ByContent(FileChangedChecker):
    """A file has changed when its content has."""

    def get_state(self, dep: str, current_state: str | None) -> str:
        return digest([dep])

    def check_modified(self, file_path: str, file_stat: os.stat_result, state: str) -> bool:
        return digest([file_path]) != state


def unchanged(task: Any, values: dict[str, Any]) -> bool:
    """Whether the records that a step has opened, and what it has made, are as they were."""

    def state(of: dict[str, Any]) -> str:
        return digest([*task.targets, *of["opened"]])

    task.value_savers.append(lambda: {"state": state(task.values)})
    return "state" in values and values["state"] == state(values)


def digest(paths: Iterable[str]) -> str:
    """One hash of the names and contents of files, and of all files in folders."""
    found = hashlib.sha256()
    for path in sorted(map(Path, paths)):
        files = path.rglob("*") if path.is_dir() else [path]
        for file in sorted(file for file in files if file.is_file()):
            now = file.stat()
            content = _content(file, now.st_ino, now.st_size, now.st_mtime_ns)
            found.update(f"{file}\0{content}\0".encode())
    return found.hexdigest()


@cache
def _content(path: Path, *written: int) -> str:
    """The hash of a file, which many steps may read."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Reporter(ConsoleReporter):
    """One line as a step begins and ends; at the end, what failed, in its own words."""

    desc = "steps with their times, failures last"

    def __init__(self, outstream: TextIO, options: dict[str, Any]) -> None:
        super().__init__(outstream or StringIO(), options)
        self.started: dict[str, float] = {}

    def initialize(self, tasks: Any, selected_tasks: Any) -> None:
        """Let doit write its state as we do; its own way is in place, when all has ended."""
        self.state = Globals.dep_manager.backend
        self.state.dump = self.keep

    def keep(self) -> None:
        """Write what has been done."""
        unfinished = STATE.with_suffix(".part")
        self.state.name = str(unfinished)
        JsonDB.dump(self.state)
        unfinished.replace(STATE)

    def say(self, line: str) -> None:
        self.write(line + "\n")
        self.outstream.flush()

    def execute_task(self, task: Any) -> None:
        if task.actions:
            self.started[task.name] = time.monotonic()
            self.say(f"{task.title()} …")

    def add_success(self, task: Any) -> None:
        if task.actions:
            self.say(f"{task.title()}: {time.monotonic() - self.started[task.name]:.0f} s")
            self.keep()

    def add_failure(self, task: Any, fail: Any) -> None:
        self.say(f"{task.title()}: failed")
        self.failures.append((task, fail))
        self.keep()

    def skip_uptodate(self, task: Any) -> None:
        pass

    def complete_run(self) -> None:
        for task, fail in self.failures:
            said = "".join(action.out for action in task.actions if action.out)
            self.say("\n" + (said.strip() or fail.get_msg()))
        for message in self.runtime_errors:
            self.say(message)
        if self.failures or self.runtime_errors:
            self.say(f"\nThe book was not built. {LAST}")
