"""The rooms of `calib_utils`: no two know each other, and most run without PyTorch."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "calib_utils"
WITHOUT_TORCH = [
    *("metrics", "records", "recalibration", "decisions"),
    *("plots", "comparing", "experiments"),
]


def anew(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process that has imported nothing yet."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_two_modules_import_each_other() -> None:
    """Not by way of others either, nor in a function, nor for types alone."""
    files = {
        ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): file
        for file in PACKAGE.rglob("*.py")
    }
    graph = {}
    for module, file in files.items():
        graph[module] = found = set()
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module} imports from a relative place"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
                found |= {name if name in files else str(node.module) for name in names}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
    assert "calib_utils.recalibration.base" in graph["calib_utils.recalibration"]
    tuple(graphlib.TopologicalSorter(graph).static_order())  # which raises CycleError


def test_what_trains_nothing_runs_without_torch() -> None:
    """All but the extra: with an import of torch that fails, as where it is not installed."""
    program = f"""
import importlib, sys
NOT_INSTALLED = ("torch", "torchvision", "safetensors", "platformdirs", "tqdm")
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NOT_INSTALLED:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
for room in {WITHOUT_TORCH}:
    importlib.import_module("calib_utils." + room)
from calib_utils.records import by_level, load_grid
from calib_utils.experiments import plan_grid
from calib_utils.records import load_record
from calib_utils.recalibration import *
assert CalibratedClassifier and "CalibratedModule" not in globals()
assert len(by_level(load_grid("width", "core"))) == 3 and plan_grid("width", "core")
record = load_record("lenet5-cifar100", "validation")
print(TemperatureScaling().fit(record.logits, record.labels).temperature_ > 0)
"""
    done = anew(program)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("room", ["training", "experiments"])
def test_a_command_that_needs_torch_says_so_in_a_sentence(room: str) -> None:
    program = (
        "import runpy, sys\n"
        "sys.modules['torch'], sys.argv = None, ['-m', '--help']\n"
        f"runpy.run_module('calib_utils.{room}', run_name='__main__', alter_sys=True)"
    )
    done = anew(program)
    assert done.returncode == 1
    assert done.stderr == (
        "error: training needs PyTorch, which is not installed: "
        "in a copy of the repository, pip install '.[training]'\n"
    )


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = "import sys, calib_utils; print({'numpy', 'scipy', 'torch'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "set()\n"


def test_the_command_of_a_report_loads_only_what_every_report_needs() -> None:
    program = (
        "import sys, calib_audit.__main__\n"
        "lazy = 'scipy.stats scipy.optimize matplotlib pyarrow narwhals jinja2 sklearn torch'\n"
        "print(set(lazy.split()) & set(sys.modules))"
    )
    done = anew(program)
    assert done.stdout == "set()\n", done.stderr
