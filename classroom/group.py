"""A control group for one sandbox: memory and processes of all its processes together.

Linux has two layouts of control groups, and often neither may be written. Then a group limits
nothing: the limits of each process hold, and the sandbox looks at the memory of all (`memory_of`).
"""

from __future__ import annotations

import os
import secrets
import shlex
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

FILE = 1024  # bytes that Linux needs for a file in memory beside its content


@cache
def places() -> tuple[Path, ...]:
    """Where groups can be made: one folder (version 2), two (version 1), or none."""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        own = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return ()
    found = []
    for _, controllers, path in own:
        for _, mount, kind, options, *_ in mounts:
            here = Path(mount) / path.lstrip("/")
            if kind == "cgroup2" and not controllers:
                # Beside our own group: a group with processes in it may have no limited children.
                above = here if path == "/" else here.parent
                with suppress(OSError):
                    granted = (above / "cgroup.subtree_control").read_text().split()
                    if {"memory", "pids"} <= set(granted) and _writable(above):
                        return (above,)
            wanted = {"memory", "pids"} & set(controllers.split(","))
            if kind == "cgroup" and wanted and wanted <= set(options.split(",")):
                found.append(here if here.is_dir() else Path(mount))
    return tuple(found) if len(found) == 2 and all(map(_writable, found)) else ()


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)


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


def seconds_of(parent: int) -> float:
    """Processor time that a process and its descendants have used, as far as they are alive."""
    ticks = [sum(map(int, words[11:15])) for words in _family(parent).values()]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")  # with the time of children that ended


def _family(parent: int) -> dict[Path, list[str]]:
    """The folder of a process and of each descendant, with what its stat says behind the name."""
    known: dict[Path, list[str]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            known[file.parent] = file.read_text().rpartition(")")[2].split()
    found = [process for process in known if process.name == str(parent)]
    for process in found:  # and those that come to it
        found += [child for child, words in known.items() if words[1] == process.name]
    return {process: known[process] for process in found}


class Group:
    """A group, while its sandbox lives.

    Args:
        memory: Bytes.
        processes: Processes and threads, bubblewrap's own among them.
    """

    def __init__(self, memory: int, processes: int) -> None:
        name = f"classroom-{os.getpid()}-{secrets.token_hex(6)}"
        self.folders = [place / name for place in places()]
        settings = {
            **{"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
            **{"memory.max": memory, "memory.swap.max": 0, "pids.max": processes},
        }
        try:
            for folder in self.folders:
                folder.mkdir()
                for setting, most in settings.items():
                    if (folder / setting).exists():
                        (folder / setting).write_text(str(most))
        except OSError:
            self.close()
            self.folders = []

    def join(self, line: list[str]) -> list[str]:
        """A command that runs this one in the group."""
        if not self.folders:
            return line
        steps = [f"echo 0 > {shlex.quote(str(f / 'cgroup.procs'))}" for f in self.folders]
        return ["/bin/sh", "-c", " && ".join([*steps, 'exec "$@"']), "sh", *line]

    def out_of_memory(self) -> bool:
        """Whether the kernel killed one of its processes for memory."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    words = (folder / name).read_text().split()
                    if "oom_kill" in words and words[words.index("oom_kill") + 1] != "0":
                        return True
        return False

    def close(self) -> None:
        """Remove the group, once its last process is gone."""
        for folder in self.folders:
            for _ in range(100):
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)
