"""Attacks on the machine and on other students' work: files, network, processes, memory."""

from __future__ import annotations

import os

from tests.classroom.hostile import Case, attack

SPY = """
import os, socket, sys
found = []
for place in ("/proc/self/environ", "/proc/1/environ", "/proc/1/cmdline", "/proc/mounts"):
    try:
        text = open(place, "rb").read()
    except OSError:
        continue
    found += [place for word in (b"{secret}", b"CANARY") if word in text]
found += [name for name in os.environ if "CANARY" in name]
for root, folders, files in os.walk("/"):
    if root in ("/usr/lib", "/packages", "{python}/lib", "/proc", "/sys", "/dev"):
        folders.clear()
        continue
    for name in files:
        path = os.path.join(root, name)
        try:
            if os.path.getsize(path) < 10**6:
                text = open(path, "rb").read()
                if b"{secret}" in text or b"Check(" in text or b"hand_in" in text:
                    found.append(path)
        except OSError:
            pass
        if name in ("checks.py", "reference.py", "solution.toml", "secret", "facts.json"):
            found.append(path)
        if name.endswith(".ipynb"):
            found.append(path)
import importlib.util
for name in ("calib_utils", "tools", "pytest", "torch", "netcal"):
    if importlib.util.find_spec(name):
        found.append(name)
assert not found, found
raise Warning("nothing to see")
"""
WRITER = """
import os, subprocess
done = []
for place in ("{folder}", "{folder}/graded/tiny", "{folder}/collected/tiny/full", "/", "/usr",
              "/usr/lib", "/packages", "/packages/numpy", "/grader", "/dev", "/etc", "/proc",
              "/proc/sys/kernel", "/sys", "{python}/lib", "/root", "/home", "/var/tmp"):
    try:
        open(place + "/written.json", "w").write('{{"status": "graded", "points": 6}}')
        done.append(place)
    except OSError:
        pass
    try:
        os.symlink("/tmp", place + "/link")
        done.append(place)
    except OSError:
        pass
for path in ("squares.npz", "/grader/inside.py", "/packages/numpy/__init__.py", "/dev/sda",
             "/dev/vda", "/proc/sysrq-trigger", "/proc/sys/vm/drop_caches"):
    try:
        open(path, "r+b").write(b"x")
        done.append(path)
    except OSError:
        pass
assert not done, done
raise Warning("nothing to write")
"""
NETWORK = """
import socket
done = []
for family, address in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_INET, ("1.1.1.1", 53)),
                        (socket.AF_INET6, ("::1", {port})), (socket.AF_UNIX, "\\0canary-{port}")):
    try:
        s = socket.socket(family)
        s.settimeout(1)
        s.connect(address)
        done.append(address)
    except OSError:
        pass
try:
    done.append(socket.getaddrinfo("example.org", 80))
except OSError:
    pass
assert not done, done
raise Warning("nobody there")
"""
PRIVILEGE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
done = []
for name, call in {{
    "user namespace": lambda: libc.unshare(0x10000000),
    "mount namespace": lambda: libc.unshare(0x00020000),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "remount": lambda: libc.mount(None, b"/", None, 32, None),
    "root": lambda: libc.setuid(0),
    "chroot": lambda: libc.chroot(b"/tmp"),
    "nice": lambda: libc.setpriority(0, 0, -5),
    "limit": lambda: __import__("resource").setrlimit(6, (10**6, 10**6)) or 0,
}}.items():
    try:
        if call() == 0:
            done.append(name)
    except (OSError, ValueError):
        pass
try:
    os.kill(1, 9)
    os.kill(-1, 0)
except OSError:
    pass
assert not done, done
assert os.getuid() != 0
raise Warning("still nobody")
"""
MARKER = f"a-child-that-survives-{os.getpid()}"
CHILD = f"""
import os, subprocess, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600) #{MARKER}"])
    os._exit(0)
"""
FORK_BOMB = """
import os
while True:
    os.fork()
"""
FORKED_MEMORY = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        hoard = b"x" * 10**9
        time.sleep(600)
        os._exit(0)
os.waitpid(-1, 0)
raise Warning("one of them is no more")
"""
FILE_BOMB = """
import os
for folder in ("/tmp", "/dev/shm", "."):
    try:
        for k in range(10**6):
            with open(f"{folder}/{k}", "wb") as file:
                file.write(b"x" * 10**7)
    except OSError as error:
        full = error
raise full
"""
TRACER = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
done = []
for pid in {1, os.getppid()} - {0}:
    for name in ("mem", "environ"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                done += [name] * bool(file.read(1))
        except (OSError, ValueError, OverflowError):
            pass
    if libc.ptrace(16, pid, None, None) == 0:
        done.append(pid)
assert not done, done
raise Warning("nobody to trace")
"""
DESCRIPTORS = """
import os
found = set()
for name in os.listdir("/proc/self/fd"):
    try:
        found.add(os.readlink(f"/proc/self/fd/{name}").split(":")[0])
    except OSError:
        pass
assert found <= {"pipe", "/dev/null", "/proc/1/fd", f"/proc/{os.getpid()}/fd"}, found
raise Warning("pipes alone")
"""
LINKS = """
import os
names, done = {{"secret", "collected", "graded"}}, []
for number, place in enumerate(("{folder}/secret", "/proc/1/root{folder}", "/proc/1/cwd",
                                "../../../../..{folder}/secret", "/proc/self/root/..{folder}")):
    os.symlink(place, f"link{{number}}")
    try:
        done += names & set(os.listdir(f"link{{number}}"))
    except OSError:
        pass
    try:
        done.append(open(f"link{{number}}", "rb").read())
    except OSError:
        pass
try:
    os.link("squares.npz", "/tmp/hard")
    done.append("hard link")
except OSError:
    pass
assert not done, done
raise Warning("links lead nowhere")
"""
DEVICES = """
import os, stat
done = []
for path in ("/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/fuse", "/dev/kvm"):
    try:
        done.append(open(path, "rb"))
    except OSError:
        pass
try:
    os.mknod("/tmp/null", stat.S_IFBLK | 0o600, os.makedev(8, 0))
    done.append(open("/tmp/null", "rb"))
except OSError:
    pass
assert not done, done
raise Warning("no devices")
"""
PROGRAMS = """
import os, subprocess
done = []
for program in ("/bin/sh", "/bin/bash", "/usr/bin/curl", "/usr/bin/sudo", "/usr/bin/git"):
    try:
        done.append(subprocess.run([program, "-c", "id"], capture_output=True).stdout)
    except OSError:
        pass
assert not done, done
assert os.system("id") != 0
raise Warning("no programs")
"""


def on_the_machine(folder: str, port: int, secret: str, python: str) -> dict[str, Case]:
    """Attacks; they are told where the class is, on which port of this machine somebody listens,
    what the secret is, and where Python is: more than a student knows.
    """
    known = {"folder": folder, "port": port, "secret": secret, "python": python}
    return {
        "spy": attack(SPY.format(**known), "nothing to see"),
        "writer": attack(WRITER.format(**known), "nothing to write"),
        "network": attack(NETWORK.format(**known).replace("\\\\", "\\"), "nobody there"),
        "privilege": attack(PRIVILEGE.format(**known), "still nobody"),
        "child": attack(CHILD),
        "fork-bomb": attack(FORK_BOMB, "BlockingIOError"),
        "file-bomb": attack(FILE_BOMB, "No space left"),
        "tracer": attack(TRACER, "nobody to trace"),
        "descriptors": attack(DESCRIPTORS, "pipes alone"),
        "links": attack(LINKS.format(**known), "links lead nowhere"),
        "devices": attack(DEVICES, "no devices"),
        "programs": attack(PROGRAMS, "no programs"),
        "forked-memory": attack(FORKED_MEMORY, "more memory than"),
    }
