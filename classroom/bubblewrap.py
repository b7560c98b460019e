"""One bubblewrap command: what a submission's process sees of this machine, and as whom.

Inside are Python, NumPy and what else an assignment allows, the assignment's files, all of it
read-only, and three small folders in memory. There is no network, no other process, no user and
no variable of this machine. Whoever starts it as root does not stay root: a limit on processes
does not hold for root.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from matplotlib import get_cachedir
from packaging.requirements import Requirement

INSIDE = Path(__file__).with_name("inside.py")
HOME = "/home/student"
FOLDERS = ("/dev/shm", "/tmp", HOME)  # in memory, and small
PACKAGES = "/packages"
# What Colab has and the course's module needs; an assignment may allow more.
STACK = ("numpy", "scipy", "matplotlib", "scikit-learn")
MISSING = (
    "Grading runs students' code in bubblewrap, which is not installed: "
    "install the package bubblewrap, version 0.8 or newer (Linux only)."
)


class NotGraded(Exception):
    """Nothing can be said about a submission, through no proven fault of its own. Never a zero."""


@dataclass(frozen=True)
class Limits:
    """What a submission may use.

    Attributes:
        step_seconds: Processor time of one cell or one call.
        process_seconds: Processor time of all steps of one process.
        wall_seconds: By the clock, of a whole submission from its start, whatever it does.
        memory: Bytes, of one process and of all together.
        processes: Processes and threads.
        disk: Bytes of each folder that can be written, and of each file.
    """

    step_seconds: int = 10
    process_seconds: int = 600
    wall_seconds: float = 120.0
    memory: int = 3 * 2**29
    processes: int = 8
    disk: int = 2**25


def environment() -> dict[str, str]:
    """All variables that the student's code sees: the same on every machine."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        **dict.fromkeys(threads, "1"),
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": str(Path(sys.base_prefix, "lib")),  # of a Python built as a library
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": PACKAGES,
    }


@cache
def packages(allow: tuple[str, ...] = ()) -> dict[str, Path]:
    """Find what can be imported inside: each name in the folder of packages, and its source.

    Args:
        allow: Further packages, such as ``"calib_utils"``; all that they need comes along.

    Raises:
        NotGraded: One of them is not installed here.
    """
    found: dict[str, Path] = {}
    waiting, seen = [*STACK, *allow], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        distribution = _distribution(name)
        for text in distribution.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
        for file in distribution.files or ():
            top = file.parts[0]
            if top not in {"..", "__pycache__"} and not top.startswith("__editable__"):
                found[top] = Path(str(distribution.locate_file(top)))
    for name in allow:  # one that is installed in place has its files elsewhere
        spec = importlib.util.find_spec(name.replace("-", "_"))
        for place in (spec and spec.submodule_search_locations) or ():
            found[Path(place).name] = Path(place)
    return {top: source for top, source in sorted(found.items()) if source.exists()}


def _distribution(name: str) -> metadata.Distribution:
    """By its own name, or by that which one imports."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.distribution(name)
    # Which reads the list of files of every package.
    for known_as in metadata.packages_distributions().get(name, ()):
        return metadata.distribution(known_as)
    raise NotGraded(f"The package {name} is not installed here: install it.")


def _python() -> tuple[Path, list[Path]]:
    """The interpreter itself, not that of a virtual environment, and the folders it needs."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = Path(sys.base_prefix, "bin", name)
    folders = [Path(sys.base_prefix, "lib"), Path(sysconfig.get_path("stdlib")).parent]
    return (program if program.exists() else Path(sys.executable)).resolve(), folders


def _mounts(files: Path | None, allow: tuple[str, ...], limits: Limits) -> list[str]:
    """Bubblewrap's options for what is inside. Their order matters: later hides earlier."""
    sized = ["--perms", "1777", "--size", str(limits.disk), "--tmpfs"]
    program, folders = _python()
    libraries = [Path("/usr", name) for name in ("lib", "lib32", "lib64")]
    folders = [f for f in dict.fromkeys([*libraries, *folders]) if f.is_dir()]
    bound = {f: f for f in [*folders, program]}
    bound |= {Path(f): Path(f) for f in ("/etc/ld.so.cache", "/etc/alternatives")}
    bound |= {Path(PACKAGES, top): source for top, source in packages(allow).items()}
    bound[Path("/grader/inside.py")] = INSIDE
    if files is not None:
        bound |= {Path(HOME, f.name): f for f in files.iterdir() if f.suffix != ".ipynb"}
    # Else the first drawing would look for fonts, for seconds.
    bound |= {Path("/tmp", f.name): f for f in Path(get_cachedir()).glob("fontlist-*.json")}
    if os.geteuid() == 0:
        bound |= {Path(f): Path(f) for f in map(shutil.which, ("bwrap", "setpriv")) if f}

    options = ["--proc", "/proc", "--dev", "/dev"]
    for folder in FOLDERS:
        options += [*_parents(Path(folder)), *sized, folder]
    for name in ("lib", "lib32", "lib64", "libx32"):
        place = Path("/", name)
        if place.is_symlink():
            options += ["--symlink", os.readlink(place), str(place)]
        elif place.is_dir():
            bound[place] = place
    for place, source in bound.items():
        if source.exists():
            options += [*_parents(place), "--ro-bind", str(source.absolute()), str(place)]
    for library in folders:  # other packages of the system: the answer may be among them
        for hidden in library.glob("python3*/*-packages"):
            options += ["--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    return [*options, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME]


def _parents(place: Path) -> list[str]:
    """Make the folders above a place, for all to enter: bubblewrap's own are for root alone."""
    above = [p for p in reversed(place.parents) if str(p) not in {"/", "/dev", "/tmp", HOME}]
    return [text for p in above for text in ("--perms", "0755", "--dir", str(p))]


def command(files: Path | None, allow: tuple[str, ...], limits: Limits) -> list[str]:
    """One command that runs ``inside.py`` in the sandbox."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise NotGraded(MISSING)
    apart = ["--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"]
    apart += [text for pair in environment().items() for text in ("--setenv", *pair)]
    mounts = _mounts(files, allow, limits)
    python = [str(_python()[0]), "-P", "-s", "/grader/inside.py"]
    if os.geteuid() != 0:
        user = ["--unshare-all", "--unshare-user", "--disable-userns"]
        return [bwrap, *user, *apart, *mounts, "--", *python]
    # Root makes the mounts, becomes nobody in particular, and then may make no new namespace.
    nobody = str(40_000 + secrets.randbelow(20_000))
    spaces = ["ipc", "pid", "net", "uts", "cgroup-try"]
    outer = [f"--unshare-{space}" for space in spaces] + apart
    outer += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    drop = [shutil.which("setpriv") or "setpriv", "--reuid", nobody, "--regid", nobody]
    inner = ["--unshare-user", "--disable-userns", "--die-with-parent", "--cap-drop", "ALL"]
    inner += ["--dev-bind", "/", "/", "--chdir", HOME]
    return [bwrap, *outer, *mounts, *drop, "--clear-groups", "--", bwrap, *inner, "--", *python]
