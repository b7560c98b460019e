"""How `dodo.py` is run: one run at a time, and what it has done is kept as each step ends.

A run may be ended at any moment, and the next one must not take its unfinished work for done. So a
step is done only while its files have the content that it read and wrote, and the state is
written, at once or not at all, as each step ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TextIO

import psutil
from doit.action import CmdAction
from doit.dependency import JSONCodec, JsonDB
from doit.globals import Globals
from doit.reporter import ConsoleReporter

from tools.running.kernel import plain_environment
from tools.sources.errors import MystError, explained

BUILD = Path("build")
STATE, LOCK = BUILD / ".doit.json", BUILD / ".lock"
LOOPBACK = "127.0.0.1"
LAST = "The last good one, if any, is still in build/html."


def begin() -> TextIO:
    """Wait until no other run, and no step of one, is at work here; return the lock, to be kept.

    From then on, whatever ends this process ends its steps, too.
    """
    require_loopback()
    warnings.simplefilter("ignore")  # doit's, that a person's PYTHONWARNINGS would show
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup lets a process ignore one.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: stop("Stopped.", 128 + number))
    BUILD.mkdir(exist_ok=True)
    lock = LOCK.open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        print(f"Waiting for {lock.read()}, or a step that it has left …", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    lock.truncate(0)
    print(
        f"process {os.getpid()}, at work here since {time.strftime('%H:%M')}",
        end="",
        file=lock,
        flush=True,
    )
    return lock


def require_loopback() -> None:
    """Raise MystError where this machine cannot speak with itself, as with a notebook's kernel."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
            way.connect((LOOPBACK, 9))
    except OSError:
        raise MystError(
            f"This machine cannot reach itself at {LOOPBACK}, where a notebook speaks with its "
            "kernel: switch its loopback interface on (`ip link set lo up`)."
        ) from None


def stop(why: str, code: int) -> NoReturn:
    """End all steps at once, then this process."""
    children = psutil.Process().children(recursive=True)
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(children, timeout=5)
    print(f"\n{why} What was done is kept. {LAST}", flush=True)
    # No thread is waited for, and nothing is written any more.
    os._exit(code)


def action(command: Sequence[str], lock: TextIO) -> CmdAction:
    """What runs a step: it keeps the lock while it lives, and leaves Ctrl-C to this process."""
    return CmdAction(
        [sys.executable, "-m", "tools.sources.errors", *command],
        shell=False,
        env=plain_environment(),
        start_new_session=True,
        pass_fds=[lock.fileno()],
    )


def unchanged(task: Any, values: dict[str, Any]) -> bool:
    """Whether a step's files are what it read when it began, and what it wrote."""
    read = digest(task.file_dep)
    task.value_savers.append(lambda: {"read": read, "made": digest(task.targets)})
    return [values.get("read"), values.get("made")] == [read, digest(task.targets)]


def digest(paths: Iterable[str]) -> str:
    """One hash of the names and contents of files, and of all files in folders."""
    found = hashlib.sha256()
    for path in sorted(map(Path, paths)):
        files = path.rglob("*") if path.is_dir() else [path]
        for file in sorted(file for file in files if file.is_file()):
            state = file.stat()
            content = _content(file, state.st_ino, state.st_mtime_ns, state.st_size)
            found.update(f"{file}\0{content}\0".encode())
    return found.hexdigest()


@cache
def _content(path: Path, *state: int) -> str:
    """The hash of a file, which many steps may read."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Codec(JSONCodec):
    """A state that was cut off is none: all runs again."""

    def decode(self, data: str) -> Any:
        try:
            return super().decode(data)
        except ValueError:
            return {}


class Reporter(ConsoleReporter):
    """One line as a step begins and ends; at the end, what failed, in its own words."""

    desc = "steps with their times, failures last"

    def __init__(self, outstream: TextIO, options: dict[str, Any]) -> None:
        super().__init__(outstream, options)
        self.started: dict[str, float] = {}

    def initialize(self, tasks: Any, selected_tasks: Any) -> None:
        """Let doit write its state as we do; its own way is in place, when all has ended."""
        self.state = Globals.dep_manager.backend
        self.state.dump = self.keep

    def keep(self) -> None:
        """Write what has been done."""
        unfinished = STATE.with_suffix(".part")
        self.state.name = str(unfinished)
        try:
            JsonDB.dump(self.state)
            unfinished.replace(STATE)
        except OSError as error:
            stop(explained(error), 1)

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
