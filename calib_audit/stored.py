"""A report's numbers as JSON, and what a later report reads of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calib_audit.bin_sums import CORRECT, COUNT, EXPECTED, BinSums
from calib_audit.columns import Columns
from calib_audit.findings import Findings
from calib_audit.recalibrators import TriedRecalibrators
from calib_utils.metrics.noise import squared_sums

__all__ = ["ALL_ROWS", "Stored", "as_json", "bins_of_baseline", "check_predicted", "read_stored"]

ALL_ROWS = "all rows"
FORMAT = 3  # of the JSON, as in report.schema.json
_SUMS = "count", "correct", "predicted", "squares", "spread"  # the rows of `BinSums.array`
_PREDICTED = "top_label", "classes", "positive"  # what `Columns` knows of it
_OF_WEIGHTS = "weights_squared", "correct_squared", "predicted_squared", "rows"  # further ones


class Stored(NamedTuple):
    """What a later report takes of an earlier one.

    Attributes:
        error: the interval of the population ECE.
        sums: of all rows, and of each group, by column and value.
        predicted: what was predicted, as `Columns` says by ``top_label``, ``classes`` and
            ``positive``; empty if the report does not know it.
    """

    error: tuple[float, float]
    sums: dict[str, BinSums]
    predicted: dict[str, Any]


def as_json(report: Findings) -> str:
    """All numbers; unknown ones are null."""
    known = {
        "format": FORMAT,
        "verdict": vars(report.verdict) | {"exit_code": report.verdict.exit_code},
        "predicted": _predicted(report.columns),
        "measures": report.measures,
        "bins": report.bins,
        "classes": report.classes,
        "groups": report.groups,
        "times": report.times,
        "recalibrators": report.recalibrators and _of_tried(report.recalibrators),
        "costs": report.costs,
        "read": report.read,
        "facts": report.facts,
    }
    return json.dumps(_plain(known), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def read_stored(given: Any, name: str) -> Stored:
    """What a report found, or the one whose JSON is in a file.

    Args:
        given: a report, or the path of its JSON.
        name: of the argument, for messages.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if it is no such JSON, or the report is of rows in blocks.
    """
    if isinstance(given, (str, Path)):
        where, text = str(given), Path(given).read_text("utf-8")
    elif hasattr(given, "json"):
        where, text = name, given.json()
    else:
        raise ValueError(f"{name}: expected a report or the path of its JSON, found {given!r}")
    try:
        known = json.loads(text)
        if known["format"] != FORMAT:
            raise ValueError(f"format {known['format']!r}")
        found = None if known["measures"].get("blocks") else _stored(known)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{where}: expected the JSON of a report in format {FORMAT}, as json=... writes it, "
            "found something else; make the report again"
        ) from error
    if found is None:
        raise ValueError(
            f"{where}: expected a report of independent rows, found one of rows in blocks; compare "
            "the intervals of the two reports"
        )
    return found


def _stored(known: Mapping[str, Any]) -> Stored:
    low, high = known["measures"]["error"]
    sums = {ALL_ROWS: _bins_in(known["bins"])}
    for column, parts in known["groups"].items():
        sums |= {f"{column} {part['name']}": _bins_in(part["bins"]) for part in parts}
    told = known.get("predicted")
    predicted = {key: told[key] for key in _PREDICTED} if told else {}
    return Stored((float(low), float(high)), sums, predicted)


def check_predicted(name: str, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """That two reports are about the same event; what one of them does not know is no objection.

    Args:
        name: of the argument that is checked, for messages.
        found, expected: as `Stored.predicted`.

    Raises:
        ValueError: if one is about the confidence in the predicted class, and the other about the
            probability of a class; or if the classes or the positive labels differ.
    """
    if not found or not expected:
        return
    kinds, classes, positive = [(found[key], expected[key]) for key in _PREDICTED]
    if (
        kinds[0] != kinds[1]
        or (all(classes) and sorted(classes[0]) != sorted(classes[1]))
        or (all(positive) and positive[0] != positive[1])
    ):
        raise ValueError(
            f"{name}: expected a report on {_written(expected)}, found one on {_written(found)}; "
            "give one on the same predictions"
        )


def _written(predicted: Mapping[str, Any]) -> str:
    if not predicted["top_label"]:
        label = predicted["positive"]
        return "the probability of " + ("the positive class" if label is None else repr(label))
    classes = predicted["classes"]
    more = ", …" if len(classes) > 4 else ""
    which = f", with the classes {', '.join(classes[:4])}{more}" if classes else ""
    return f"the confidence in the predicted class{which}"


def _predicted(columns: Columns) -> dict[str, Any]:
    return {name: getattr(columns, name) for name in _PREDICTED}


def _bins_in(known: Mapping[str, Any]) -> BinSums:
    names = _SUMS + (_OF_WEIGHTS if _OF_WEIGHTS[0] in known else ())
    found = np.array([known[name] for name in names], np.float64)
    most = found[8] if len(names) > len(_SUMS) else found[0]  # weights are at most 1
    if found.ndim != 2 or not (np.isfinite(found) & (found >= 0) & (found <= most)).all():
        raise ValueError("impossible counts")
    return BinSums(found)


def bins_of_baseline(baseline: Any, n_bins: int, columns: Columns | None = None) -> np.ndarray:
    """The counts, correct predictions and summed predictions of an earlier report; of weighted rows
    those of Kish's effective number in each bin.

    Raises:
        ValueError: for other bins, or a report on something else than the ``columns`` predict.
    """
    stored = read_stored(baseline, "baseline")
    if columns is not None:
        check_predicted("baseline", stored.predicted, _predicted(columns))
    found = stored.sums[ALL_ROWS].array
    if found.shape[-1] != n_bins:
        raise ValueError(f"baseline: expected {n_bins} bins, found {found.shape[-1]}")
    masses, squared = found[COUNT], squared_sums(found)[0]
    scale = np.divide(masses, squared, out=np.ones_like(masses), where=squared > 0)
    return np.asarray(found[[COUNT, CORRECT, EXPECTED]] * scale)


def _of_tried(recalibrators: TriedRecalibrators) -> dict[str, Any]:
    best = recalibrators.best_found
    return {
        "nll": recalibrators.nll,
        "ece": recalibrators.ece,
        "auroc": recalibrators.auroc,
        "how": recalibrators.how,
        "best": None if best is None else best.name,
        "found": recalibrators.found,
        "groups": recalibrators.groups,
        "per_group": {
            name: {
                "nll": maps.nll,
                "gain": maps.gain,
                "interval": maps.interval,
                "helps": maps.best is not None,
                "parts": maps.parts,
            }
            for name, maps in recalibrators.per_group.items()
        },
    }


def _plain(value: Any) -> Any:
    """The value in types that JSON has; of an object its fields, by name."""
    if isinstance(value, BinSums):
        return dict(zip(_SUMS + _OF_WEIGHTS, value.array.tolist(), strict=False))
    if is_dataclass(value):
        value = vars(value)
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(each) for each in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if isinstance(value, np.generic):
        return value.item()
    return value
