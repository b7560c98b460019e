"""Which of the stored records code may load, by the names in its strings.

Paths are relative to the folder that runs, which is the repository.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tools.sources.opened_records import STORED

# What reads records, and from which folder of them.
LOADERS = {
    "list_answers": "answers",
    "list_experiments": "experiments",
    "list_records": "predictions",
    "load_answers": "answers",
    "load_experiment": "experiments",
    "load_forecasts": "forecasts",
    "load_grid": "experiments",
    "load_imagenet": "imagenet",
    "load_outcomes": "fivethirtyeight",
    "load_recalibrated": "recalibrated",
    "load_record": "predictions",
    "load_samples": "answers",
}


def named_records(code: str, library: bool = False) -> set[Path]:
    """The stored records that code may load: those that its strings name.

    Where it loads some and names none, all there are, unless each call spells out what it loads, as
    `load_grid("mine", "cpu", folder)` does, and nothing stored is called so. A string of which only
    the start is known, as `f"ensembles.cpu.{run}"`, names every record that begins so. A library
    loads what its caller names, and what it names itself where it loads it.
    """
    try:
        loaders, strings, starts, spelled = _names(code, library)
    except SyntaxError:
        return set(STORED.rglob("*.npz"))
    found: set[Path] = set()
    for loader in loaders:
        stored = set((STORED / LOADERS[loader]).rglob("*.npz"))
        named = {
            path
            for path in stored
            if all(part in strings or part.startswith(starts) for part in _parts(path))
        }
        unknown = not named and loader not in spelled
        every = not library and (loader == "list_records" or unknown)
        found |= stored if every else named
    return found


def _parts(path: Path) -> tuple[str, ...]:
    """What is given to load a record: grid and protocol, name and split, or a set of questions."""
    if path.is_relative_to(STORED / "experiments"):
        return path.parts[-3:-1]
    return tuple(filter(None, path.stem.rpartition(".")[::2]))


@cache
def _names(code: str, library: bool) -> tuple[set[str], set[str], tuple[str, ...], set[str]]:
    """The functions of `LOADERS` that code mentions, its strings, and the starts of f-strings.

    The last are the functions whose every use is a call with strings for what it loads.
    """
    nodes = list(ast.walk(ast.parse(code)))
    if library:
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        loads = [call for call in calls if _mentioned([call.func]) & LOADERS.keys()]
        nodes = [node for call in loads for node in ast.walk(call)]
    joined = [node.values[0] for node in nodes if isinstance(node, ast.JoinedStr) and node.values]
    starts = tuple(str(node.value) for node in joined if isinstance(node, ast.Constant))
    # A key, as in `shape["depth"]`, is no name of a grid.
    keys = {node.slice for node in nodes if isinstance(node, ast.Subscript)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and node not in keys]
    strings = {str(node.value) for node in constants}
    spelled = {node.func for node in nodes if isinstance(node, ast.Call) and _is_spelled(node)}
    others = [node for node in nodes if not isinstance(node, ast.alias) and node not in spelled]
    loaders = _mentioned(nodes) & LOADERS.keys()
    return loaders, strings, starts, _mentioned(spelled) - _mentioned(others)


def _is_spelled(call: ast.Call) -> bool:
    """Whether the first two arguments, of a record's grid and protocol, are strings."""
    return len(call.args) > 1 and all(
        isinstance(one, ast.Constant) and isinstance(one.value, str) for one in call.args[:2]
    )


def _mentioned(nodes: Iterable[ast.AST]) -> set[str]:
    """The last part of each name: of a variable, of `module.function`, of what is imported."""
    found = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name"}
    return {getattr(node, found[type(node)]) for node in nodes if type(node) in found}
