"""The snapshot of the sources that everything runs on.

A build takes minutes, and meanwhile its sources may be edited, renamed or checked out. So all that
it reads is copied into `build/sources` first, and every step runs there: what happens to the
working tree belongs to the next build. The copy holds no compiled code, which Python takes for
that of any file with the same size and date.

What is stored for good, such as the outputs of a chapter, is given back to the working tree.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

from tools.running import ORIGIN
from tools.sources.atomic import write_bytes
from tools.sources.errors import MystError, plainly

BUILD = Path("build")
LOCK, SOURCES = BUILD / ".lock", BUILD / "sources"
FOLDERS = (
    *("benchmarks", "book", "calib_audit", "calib_records", "calib_utils"),
    *("classroom", "notebooks", "tools"),
)
FILES = ("CHANGELOG.md", "README.md", "_config.yml", "_toc.yml", "dodo.py", "requirements.lock")
# What is compiled, unfinished, a checkpoint or hidden.
LEFT_OUT = (".*", "__pycache__", "*.part", "*.pt", "runs")
# What chapters train, for hours, is where they would leave it without a snapshot.
TRAINED = Path("notebooks/runs")
TRIES = 30


def run(*command: str) -> None:
    """Become the process that runs a module on a snapshot; it keeps the lock until it has ended."""
    with plainly():
        take_lock()
        write(snapshot())
    origin = os.getcwd()
    os.chdir(SOURCES)
    environment = os.environ | {ORIGIN: origin, "PYTHONPATH": os.getcwd()}
    # Somebody's folder of compiled code would be that of all that has ever run at this place.
    environment.pop("PYTHONPYCACHEPREFIX", None)
    os.execve(sys.executable, [sys.executable, "-m", "tools.running", *command], environment)


def take_lock() -> None:
    """Wait until no other run, and no step that one has left, is at work here."""
    BUILD.mkdir(exist_ok=True)
    lock = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    os.set_inheritable(lock, True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"Waiting for {LOCK.read_text('utf-8')}, or a step that it has left …", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    since = time.strftime("%H:%M")
    LOCK.write_text(f"process {os.getpid()}, at work here since {since}", "utf-8")


def snapshot() -> dict[Path, bytes]:
    """Every source as it was at one moment: at the end it is what it was at the beginning.

    Raises:
        MystError: they never are.
    """
    for _ in range(TRIES):
        found = sources()
        if found == sources():
            return found
        time.sleep(1)
    raise MystError("The sources change all the time: wait until nothing writes to them.")


def sources() -> dict[Path, bytes]:
    """The content of all files that a build may read."""
    paths = [Path(name) for name in FILES]
    for start in FOLDERS:
        for folder, folders, files in os.walk(start):
            folders[:] = filter(is_source, folders)
            paths += [Path(folder, name) for name in filter(is_source, files)]
    found = {}
    for path in paths:
        with suppress(FileNotFoundError):  # deleted meanwhile, or a link to nothing
            found[path] = path.read_bytes()
    return found


def is_source(name: str) -> bool:
    return not any(fnmatch(name, pattern) for pattern in LEFT_OUT)


def write(found: dict[Path, bytes]) -> None:
    """Make the snapshot anew, in which `build` is the folder that all builds share."""
    if SOURCES.exists():
        # What a killed run has left may write there until it ends, too.
        old = SOURCES.rename(SOURCES.with_name(f".sources-{os.getpid()}"))
        shutil.rmtree(old, ignore_errors=True)
    for folder in {path.parent for path in found}:
        (SOURCES / folder).mkdir(parents=True, exist_ok=True)
    for path, content in found.items():
        (SOURCES / path).write_bytes(content)
    (SOURCES / BUILD).symlink_to("..")
    TRAINED.mkdir(parents=True, exist_ok=True)
    (SOURCES / TRAINED).parent.mkdir(exist_ok=True)
    (SOURCES / TRAINED).symlink_to(os.path.relpath(TRAINED, (SOURCES / TRAINED).parent))


@contextmanager
def given_back(*paths: Path) -> Iterator[None]:
    """Bring those of some files that are made meanwhile to the working tree.

    Unless one of them has changed there since it was copied: that belongs to the next build.
    """
    before = {path: _content(path) for path in paths}
    yield
    origin = Path(os.environ[ORIGIN]) if ORIGIN in os.environ else None
    made = {path: now for path in paths if (now := _content(path)) != before[path]}
    if origin is None or not made:
        return
    if changed := [path for path in paths if _content(origin / path) != before[path]]:
        print(f"{changed[0]} has changed meanwhile: {', '.join(map(str, made))} not stored.")
        return
    for path, content in made.items():
        if content is None:
            (origin / path).unlink()
        else:
            write_bytes(origin / path, content)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
