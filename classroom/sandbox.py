"""A sandbox for one submission: a process with limits, and a pipe for questions and answers."""

from __future__ import annotations

import ctypes
import json
import os
import secrets
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from classroom.bubblewrap import FOLDERS, Limits, NotGraded, command
from classroom.inside import MAX_BYTES

LOOK = 0.25  # seconds between two looks at the memory of all processes
FILE = 1024  # bytes that Linux needs for a file in memory beside its content


class Late(Exception):
    """The time of the submission is over."""


class Ended(Exception):
    """The student's process ended in a step; the message is a word: why.

    ``"time"``, ``"memory"``, ``"large"`` (it answered too much), ``"forged"`` (somebody wrote into
    the pipe of answers), or ``"exit"``.
    """


class Sandbox:
    """One process of a student's; ask it, then close it.

    Args:
        files: A folder whose files, except notebooks, the student's code finds where it runs.
        allow: Packages beyond the usual ones.
        limits: What it may use.
        until: When it must have answered everything, by `time.monotonic`.

    Raises:
        NotGraded: It does not start. The message says why.
    """

    def __init__(
        self,
        files: Path | None = None,
        allow: tuple[str, ...] = (),
        limits: Limits | None = None,
        until: float | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.until = until or time.monotonic() + self.limits.wall_seconds
        line = command(files, allow, self.limits)
        self.memory = self.limits.memory + 3 * self.limits.disk
        _forget_keys()
        self.process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,  # bubblewrap's own: the student's goes nowhere
            cwd="/",
            env={},
            start_new_session=True,  # an interrupt from the keyboard is for the grader alone
        )
        streams = (self.process.stdin, self.process.stdout, self.process.stderr)
        self.streams = [stream for stream in streams if stream is not None]
        for stream in self.streams:
            os.set_blocking(stream.fileno(), False)
        self.rest = b""
        bounds = {"RLIMIT_AS": self.limits.memory, "RLIMIT_NPROC": self.limits.processes}
        bounds |= {"RLIMIT_CPU": self.limits.process_seconds, "RLIMIT_FSIZE": self.limits.disk}
        bounds |= {"RLIMIT_NOFILE": 128, "RLIMIT_CORE": 0}
        try:
            self.ask({"limits": bounds, "seconds": self.limits.step_seconds})
        except Ended:
            said = (self.streams[2].read() or b"").decode(errors="replace").strip()
            self.close()
            raise NotGraded(
                f"The sandbox does not start: {said[-300:] or 'no reason given'}"
            ) from None
        except BaseException:
            self.close()
            raise

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            Ended: The process is no more.
            Late: There was no answer before the time was over.
            NotGraded: Somebody else killed the process.
        """
        token = secrets.token_hex(8)
        waiting = json.dumps({**request, "id": token}).encode() + b"\n"
        received = 0
        into, out = (stream.fileno() for stream in self.streams[:2])
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(into, selectors.EVENT_WRITE)
            look = time.monotonic() + LOOK
            while (left := self.until - time.monotonic()) > 0:
                ready = selector.select(min(left, LOOK))
                if time.monotonic() >= look:  # also while it goes on writing
                    look = time.monotonic() + LOOK
                    if self._too_large():
                        self.process.kill()
                        raise Ended("memory")
                for key, _ in ready:
                    if key.fd == into:
                        try:
                            waiting = waiting[os.write(into, waiting) :]
                        except BrokenPipeError:
                            waiting = b""
                        if not waiting:
                            selector.unregister(into)
                        continue
                    piece = os.read(out, 1 << 16)
                    received += len(piece)
                    if not piece:
                        raise self._ended()
                    if received > 2 * MAX_BYTES:
                        self.process.kill()
                        raise Ended("large")
                    *lines, self.rest = (self.rest + piece).split(b"\n")
                    for line in lines:
                        if (answer := _answer(line, token)) is not None:
                            return answer
                        self.process.kill()
                        raise Ended("forged")
        self.process.kill()
        raise Late

    def _too_large(self) -> bool:
        """Whether all processes together hold more than they may."""
        return memory_of(self.process.pid, FOLDERS) > self.memory

    def _ended(self) -> Exception:
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it only closed its pipe
            self.process.kill()
            return Ended("exit")
        if code == 128 + signal.SIGXCPU:
            return Ended("time")
        if code < 0 or code == 128 + signal.SIGKILL:  # and it was not us
            return NotGraded(
                "The process was killed from outside, perhaps since this machine has no memory "
                "left, or it killed itself. Grade it again, or look at it."
            )
        return Ended("exit")

    def close(self) -> None:
        """End the process and all its children: they live in a namespace that ends with it."""
        self.process.kill()
        self.process.wait()
        for stream in self.streams:
            with suppress(OSError):
                stream.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def memory_of(parent: int, folders: tuple[str, ...] = ()) -> int:
    """Bytes that a process and its descendants hold, each shared page once.

    Args:
        parent: The process.
        folders: Those of a sandbox that are in memory, whose files count by their number.
    """
    total, files = 0, dict.fromkeys(folders, 0)
    outside = os.readlink("/proc/self/ns/mnt")
    for process in _family(parent):
        with suppress(OSError):
            words = (process / "smaps_rollup").read_text().split()
            total += 1024 * int(words[words.index("Pss:") + 1])
            if os.readlink(process / "ns/mnt") == outside:
                continue
            for folder in folders:
                found = os.statvfs(f"{process}/root{folder}")
                files[folder] = max(files[folder], found.f_files - found.f_ffree)
    return total + FILE * sum(files.values())


def _family(parent: int) -> list[Path]:
    """The folder of a process in `/proc`, and that of each descendant."""
    parents: dict[Path, str] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            parents[file.parent] = file.read_text().rpartition(")")[2].split()[1]
    found = [process for process in parents if process.name == str(parent)]
    for process in found:  # and those that come to it
        found += [child for child, above in parents.items() if above == process.name]
    return found


def _forget_keys() -> None:
    """Take a new and empty keyring: Linux hands that of the session down, bubblewrap leaves it."""
    keyctl = {"x86_64": 250, "aarch64": 219, "riscv64": 219}.get(os.uname().machine)
    if keyctl is not None:
        ctypes.CDLL(None).syscall(keyctl, 1, None)


def _answer(line: bytes, token: str) -> dict[str, Any] | None:
    """A line that answers this request; students' code may have written anything else."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) and answer.get("id") == token else None


def check_sandbox() -> None:
    """Start a sandbox and end it.

    Raises:
        NotGraded: There is no bubblewrap, or it cannot make its namespaces here.
    """
    Sandbox().close()
