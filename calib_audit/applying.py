"""Recalibrate a file of predictions with a saved calibrator."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from calib_audit.class_columns import scores_of
from calib_audit.column_types import (
    as_array,
    as_coded,
    check_flat,
    crossed,
    float_type,
    is_missing,
    texts_of,
)
from calib_audit.columns import columns_of_group
from calib_audit.files import open_source
from calib_audit.probabilities import log_probs_of, probabilities, scores_in
from calib_audit.source import Source
from calib_utils._files import replacing_text
from calib_utils.recalibration import Recalibrator, load

__all__ = ["apply_calibrator"]


def apply_calibrator(
    calibrator: Path | str,
    data: str,
    output: Path | str | None = None,
    *,
    score: str | None = None,
    group: str | None = None,
    rescale: bool = False,
) -> int:
    """Write a copy of a file as CSV with recalibrated predictions; all other columns are kept.

    Columns of logits or log-probabilities become columns of probabilities and are renamed
    accordingly.

    Args:
        calibrator: the path of a saved calibrator.
        data: predictions in any form that a report takes; labels are not needed.
        output: the path of the new file, which ends in .csv; the standard output by default.
        score: the columns of predictions, as for a report.
        group: the column of groups, for a map for each; by default that of the report that fitted
            them.
        rescale: whether rows of probabilities are divided by their sum.

    Returns:
        The number of rows.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: for bad input, a name that does not end in .csv, a calibrator that was fitted
            on a different kind of predictions, or a new name that another column already has.

    Warns:
        UserWarning: if a group was not in the fit; its rows get the common map.
    """
    if output is not None:
        output = Path(output)
        if output.suffix.lower() != ".csv":
            raise ValueError(
                f"output: expected a name that ends in .csv, found {output.name!r}, and the result "
                "is CSV"
            )
        with replacing_text(output) as file:
            return _write(calibrator, data, file, score, group, rescale)
    return _write(calibrator, data, sys.stdout, score, group, rescale)


def _write(
    calibrator: Path | str,
    data: str,
    file: TextIO,
    score: str | None,
    group: str | None,
    rescale: bool,
) -> int:
    recalibrator = load(calibrator)
    source = open_source(data)
    of_group = _columns_of_group(recalibrator, group, source)
    scores, kind = scores_of(source, score, vars(recalibrator).get("n_classes_"))
    fitted = list(recalibrator.columns_)
    scores = fitted if sorted(fitted) == sorted(scores) else scores  # in the order of the fit
    new_names = {name: name for name in source.columns}
    if kind in ("logit", "logits", "logprobs"):
        new_names |= {name: _as_prob(name) for name in scores}
        _check_new(new_names)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(new_names.values())
    n, new_groups = 0, set[str]()
    for raw in source.blocks(source.columns):
        places = np.arange(n + 1, n + 1 + len(raw[scores[0]]))
        for name in scores:
            check_flat(raw[name], name)
        found = probabilities(scores_in(raw, scores, kind, places), kind, scores, places, rescale)
        logs = recalibrator.inputs == "logits"
        if logs:
            given = log_probs_of(found.probs, found.logits)
        else:  # bins have edges of the type that the file has
            given = found.probs.astype(float_type(raw[name] for name in scores))
        if of_group is None:
            recalibrated = recalibrator.predict_proba(given)
        else:
            parts = [_groups_in(raw[name], name, places, source.words) for name in of_group]
            groups = as_array(crossed([as_coded(part) for part in parts]))
            new_groups.update(np.setdiff1d(groups, vars(recalibrator)["groups_"]).tolist())
            recalibrated = _by_groups(recalibrator, given, groups)
        recalibrated = np.asarray(recalibrated).reshape(len(places), -1)
        columns = raw | dict(zip(scores, recalibrated.T, strict=True))
        writer.writerows(zip(*(columns[name] for name in source.columns), strict=True))
        n += len(places)
    if of_group and new_groups:
        warnings.warn(
            f"{'*'.join(of_group)}: {len(new_groups):,} of its groups were not in the fit, such as "
            f"{min(new_groups)!r}; their rows get the common map",
            stacklevel=3,
        )
    return n


def _columns_of_group(
    recalibrator: Recalibrator, named: str | None, source: Source
) -> list[str] | None:
    """The columns that say which map a row gets; None if all get the same."""
    if not len(getattr(recalibrator, "groups_", ())):
        if named is not None:
            raise ValueError(
                f"group: expected a map for each group, found one for all, {recalibrator!r}; "
                "leave out group=..."
            )
        return None
    name = named or getattr(recalibrator, "group_column_", "")
    if not name:
        raise ValueError(
            "group: the calibrator has a map for each group, and was not fitted by a report; name "
            "the column of groups with group=..."
        )
    return columns_of_group(name, source.columns)


def _groups_in(values: np.ndarray, name: str, places: np.ndarray, words: bool) -> np.ndarray:
    check_flat(values, name)
    missing = is_missing(values, words)
    if missing.any():
        raise ValueError(
            f"{name}: expected a group in each row, found none in row "
            f"{places[missing.argmax()]:,}; fill it, such as with 'unknown'"
        )
    return texts_of(values)


def _by_groups(maps: Any, given: np.ndarray, groups: np.ndarray) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one for all blocks follows
        return maps.predict_proba(given, groups=groups)


def _check_new(new_names: Mapping[str, str]) -> None:
    """That no column of the result would have the name of another one."""
    names = list(new_names.values())
    for old, new in new_names.items():
        if old != new and names.count(new) > 1:
            raise ValueError(
                f"{old}: once it contains probabilities it is called {new!r}, and the file already "
                "has such a column; rename that one, or leave it out"
            )


def _as_prob(name: str) -> str:
    """The name of a column of logits, or of log-probabilities, once it contains probabilities."""
    if name.lower() in ("logit", "logits"):
        return "score"
    return f"prob{name[len('logprob' if name.lower().startswith('logprob') else 'logit') :]}"
