"""The findings about a model, which a report then presents, and their numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils.audit.bin_sums import CORRECT, COUNT, EXPECTED, BinSums
from calib_utils.audit.columns import Columns
from calib_utils.audit.costs import Costs
from calib_utils.audit.measures import Measures
from calib_utils.audit.parts import Part, Span
from calib_utils.audit.recalibrators import TriedRecalibrators
from calib_utils.audit.verdict import Verdict
from calib_utils.metrics.intervals import squared_sums
from calib_utils.recalibration import Recalibrator

__all__ = ["FORMAT", "Findings", "as_json", "bins_of_baseline", "bins_of_json"]

FORMAT = 2  # of the JSON
_SUMS = "count", "correct", "predicted", "squares", "spread"  # the rows of `BinSums.array`
_OF_WEIGHTS = "weights_squared", "correct_squared", "predicted_squared", "rows"  # further ones


@dataclass(frozen=True)
class Findings:
    """The fields of a `Report`, where each of them is described."""

    verdict: Verdict
    measures: Measures
    bins: BinSums
    cells: BinSums
    classes: list[Part]
    groups: dict[str, list[Part]]
    times: list[Span]
    recalibrators: TriedRecalibrators | None
    costs: Costs | None
    columns: Columns
    read: list[str]
    facts: dict[str, str]

    @property
    def calibrator(self) -> Recalibrator | None:
        """The recalibrator that helps most, fitted; None if none helps.

        It is a `PlattPerGroup` if one map for all rows leaves a group beyond the tolerance, and a
        map for each group lowers the NLL further.
        """
        return None if self.recalibrators is None else self.recalibrators.most_helpful


def as_json(report: Findings) -> str:
    """All numbers; unknown ones are null."""
    known = {
        "format": FORMAT,
        "verdict": vars(report.verdict) | {"exit_code": report.verdict.exit_code},
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


def bins_of_baseline(baseline: Any, n_bins: int) -> np.ndarray:
    """The counts, correct predictions and summed predictions of an earlier report; of weighted rows
    those of Kish's effective number in each bin.
    """
    blocks = None
    if hasattr(baseline, "bins"):
        found, blocks = baseline.bins.array, baseline.measures.blocks
    else:
        if not isinstance(baseline, (str, Path)):
            raise ValueError(f"baseline: expected a report or a path, found {baseline!r}")
        path = Path(baseline)
        try:
            known = json.loads(path.read_text("utf-8"))
            if known["format"] != FORMAT:
                raise ValueError(f"format {known['format']!r}")
            blocks = known["measures"].get("blocks")
            found = np.zeros(0) if blocks else bins_of_json(known["bins"]).array
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}: expected the JSON of an earlier report, as json=... writes it, found "
                "something else"
            ) from error
    if blocks:
        raise ValueError("baseline: expected a report of independent rows, found one with blocks")
    if found.shape[-1] != n_bins:
        raise ValueError(f"baseline: expected {n_bins} bins, found {found.shape[-1]}")
    masses, squared = found[COUNT], squared_sums(found)[0]
    scale = np.divide(masses, squared, out=np.ones_like(masses), where=squared > 0)
    return np.asarray(found[[COUNT, CORRECT, EXPECTED]] * scale)


def bins_of_json(known: Mapping[str, Any]) -> BinSums:
    """The sums of an earlier report.

    Raises:
        KeyError: if some of them are missing.
        TypeError: if they are not lists of numbers.
        ValueError: if they are impossible.
    """
    names = _SUMS + (_OF_WEIGHTS if _OF_WEIGHTS[0] in known else ())
    found = np.array([known[name] for name in names], np.float64)
    most = found[8] if len(names) > len(_SUMS) else found[0]  # weights are at most 1
    if found.ndim != 2 or not (np.isfinite(found) & (found >= 0) & (found <= most)).all():
        raise ValueError("impossible counts")
    return BinSums(found)


def _of_tried(recalibrators: TriedRecalibrators) -> dict[str, Any]:
    best = None if recalibrators.best is None else recalibrators.found[0].name
    return {
        "nll": recalibrators.nll,
        "ece": recalibrators.ece,
        "auroc": recalibrators.auroc,
        "how": recalibrators.how,
        "best": best,
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
