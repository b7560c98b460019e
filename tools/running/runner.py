"""How `dodo.py` is run: one run at a time, and what it has done is kept as each step ends.

A run may be ended at any moment, and the next one must not take its unfinished work for done. So a
step is done only while its files have the content that it read and wrote, and the state is
written, at once or not at all, as each step ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, NoReturn, TextIO

import psutil
from doit.action import CmdAction
from doit.dependency import JsonDB
from doit.exceptions import TaskFailed
from doit.globals import Globals
from doit.reporter import ConsoleReporter

from tools.running.build_lock import take_lock
from tools.running.kernel import plain_environment
from tools.running.limits import require_limits
from tools.sources.errors import MystError, explained, tell
from tools.sources.opened_records import OPENED

BUILD = Path("build")
STATE = BUILD / ".doit.json"
LOOPBACK = "127.0.0.1"
Stamp = tuple[int, ...] | None
LAST = "The last good one, if any, is still in build/html."


def begin() -> TextIO:
    """Wait until no other run, and no step of one, is at work here; return the lock, to be kept.

    From then on, whatever ends this process ends its steps, too.
    """
    keep_standard_files()
    require_limits()
    require_loopback()
    warnings.simplefilter("ignore")  # doit's, that a person's PYTHONWARNINGS would show
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # nohup lets a process ignore one.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: stop("Stopped.", 128 + number))
    lock = take_lock()
    forget_damaged_state()
    return lock


def keep_standard_files() -> None:
    """Open what is closed, as `>&-` leaves it: else the next file is taken for the output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def forget_damaged_state() -> None:
    """Delete a state that was cut off, or is none: then all runs again."""
    try:
        state = json.loads(STATE.read_bytes())
    except FileNotFoundError:
        return
    except (RecursionError, ValueError):
        state = None
    if not isinstance(state, dict) or not all(isinstance(step, dict) for step in state.values()):
        STATE.unlink()


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
    tell(f"\n{why} What was done is kept. {LAST}")
    # No thread is waited for, and nothing is written any more.
    os._exit(code)


class Step(CmdAction):
    """A command that fails where a file that it may have read changed while it ran.

    And where it opened a record that it is not known to depend on.
    """

    also: Sequence[Path] = ()
    begun: Mapping[Path, Stamp] = MappingProxyType({})

    def begin(self) -> None:
        """Look at its files before anything is read."""
        paths = {*map(Path, self.task.file_dep), *self.also}
        self.begun = {path: stamp(path) for path in sorted(paths)}

    def execute(self, out: Any = None, err: Any = None) -> Any:
        """Run it, then compare what it has read with what it was known to read, and when."""
        with TemporaryDirectory() as folder:
            opened = Path(folder, "opened")
            opened.touch()
            self.pkwargs["env"][OPENED] = str(opened)
            failed = super().execute(out, err)
            unseen = {*opened.read_text("utf-8").splitlines()} - self.task.file_dep
        changed = [path for path, was in self.begun.items() if stamp(path) != was]
        for path in changed:
            # Python takes compiled code for that of a file of the same second and size.
            Path(cache_from_source(path)).unlink(missing_ok=True)
        if failed or not (changed or unseen):
            return failed
        title, more = self.task.title(), f" and {len(changed) - 1} more" if changed[1:] else ""
        self.out = (
            f"{changed[0]}{more} changed while `{title}` ran: run `make book` again."
            if changed
            else f"`{title}` opened {min(unseen)}, which its code does not name: give the name as "
            'a string, as in `load_record("lenet5-cifar100", "test")`.'
        )
        return TaskFailed(self.out)


def action(command: Sequence[str], lock: TextIO, also: Sequence[Path] = ()) -> Step:
    """What runs a step: it keeps the lock while it lives, and leaves Ctrl-C to this process.

    It reads the files that doit knows, and `also` some whose changes do not run it again.
    """
    step = Step(
        [sys.executable, "-m", "tools.sources.errors", *command],
        shell=False,
        env=plain_environment(),
        start_new_session=True,
        pass_fds=[lock.fileno()],
    )
    step.also = also
    return step


def unchanged(task: Any, values: dict[str, Any]) -> bool:
    """Whether a step's files are what it read when it began, and what it wrote.

    A file that is changed and put back while the step runs has the same content again, so the
    step compares more than that at its end.
    """
    for step in task.actions:
        step.begin()
    read = digest(task.file_dep)
    task.value_savers.append(lambda: {"read": read, "made": digest(task.targets)})
    return [values.get("read"), values.get("made")] == [read, digest(task.targets)]


def stamp(path: Path) -> Stamp:
    """What differs once a file was written, even when it was put back with its old dates."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def digest(paths: Iterable[str]) -> str:
    """One hash of the names and contents of files, and of all files in folders."""
    found = hashlib.sha256()
    for path in sorted(map(Path, paths)):
        files = path.rglob("*") if path.is_dir() else [path]
        for file in sorted(file for file in files if file.is_file()):
            content = _content(file, stamp(file))
            found.update(f"{file}\0{content}\0".encode())
    return found.hexdigest()


@cache
def _content(path: Path, stamp: Stamp) -> str:
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
        try:
            JsonDB.dump(self.state)
            unfinished.replace(STATE)
        except OSError as error:
            stop(explained(error), 1)

    def say(self, line: str) -> None:
        try:
            self.write(line + "\n")
            self.outstream.flush()
        except OSError as error:
            stop(f"The output cannot be written ({error.strerror}).", 1)

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
