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
from classroom.group import Group, memory_of, seconds_of
from classroom.inside import MAX_BYTES

BUSY = 0.1  # of a processor: who uses as much computes, however slow a machine under load is
SLOWEST = 5  # times what there is of `Limits.wall_seconds`, for one that computes so slowly
LOOK = 0.25  # seconds between two looks at the memory, where no control group limits it


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
        self.began = time.monotonic()
        self.until = until or time.monotonic() + self.limits.wall_seconds
        line = command(files, allow, self.limits)
        self.memory = self.limits.memory + 3 * self.limits.disk
        self.group = Group(self.memory, self.limits.processes + 8)
        _forget_keys()
        self.process = subprocess.Popen(
            self.group.join(line),
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
            NotGraded: There was no answer in time, or somebody else killed the process.
        """
        token = secrets.token_hex(8)
        waiting = json.dumps({**request, "id": token}).encode() + b"\n"
        received = 0
        into, out = (stream.fileno() for stream in self.streams[:2])
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(into, selectors.EVENT_WRITE)
            look = time.monotonic() + LOOK
            while (left := self._left()) > 0:
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
        raise NotGraded(
            f"The notebook took more than {self.limits.wall_seconds:.0f} s without using them: "
            "it waits for something, or this machine is too busy. Grade it again, or look at it."
        )

    def _left(self) -> float:
        """Seconds until it must have answered; more of them for a process that computes.

        The limit of processor time ends that one, later on a machine that has much else to do.
        """
        now = time.monotonic()
        since = now - self.began
        late = self.until <= now < self.began + SLOWEST * self.limits.wall_seconds
        if late and seconds_of(self.process.pid) >= BUSY * since:
            self.until = now + self.limits.step_seconds
        return self.until - now

    def _too_large(self) -> bool:
        """Whether all processes together hold more than they may, and no control group saw it."""
        return not self.group.folders and memory_of(self.process.pid, FOLDERS) > self.memory

    def _ended(self) -> Exception:
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it only closed its pipe
            self.process.kill()
            return Ended("exit")
        if self.group.out_of_memory():
            return Ended("memory")
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
        self.group.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
