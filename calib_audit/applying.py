"""Recalibrate a file of predictions with a saved calibrator."""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from calib_audit.column_types import name_of, names_of
from calib_audit.columns import Columns, columns_of_group, scores_of, some, suffixes
from calib_audit.rows import RowsReader
from calib_audit.source import open_source
from calib_utils._files import replacing_text
from calib_utils.recalibration import Recalibrator, load

_OF_POSITIVE = "score", "logit", "logits", "prob", "probs"


def apply_calibrator(
    calibrator: Path | str,
    data: str,
    output: Path | str | None = None,
    *,
    score: str | None = None,
    group: str | None = None,
    rescale: bool = False,
) -> None:
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

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: for bad input, a name that does not end in .csv, a calibrator that was fitted
            on a different kind of predictions or on other classes, or a new name that another
            column already has.

    Warns:
        UserWarning: if a group was not in the fit; its rows get the common map.
    """
    if output is not None and Path(output).suffix.lower() != ".csv":
        raise ValueError(
            f"output: expected a name that ends in .csv, found {Path(output).name!r}, and the "
            "result is CSV"
        )
    recalibrator = load(calibrator)
    source = open_source(data)
    group = _group_of(recalibrator, group)
    scores, kind = scores_of(source, score, vars(recalibrator).get("n_classes_"))
    scores = _in_order_of_fit(recalibrator, scores)
    new_names = {name: name for name in source.columns}
    if kind in ("logit", "logits", "logprobs"):
        new_names |= {name: _as_prob(name) for name in scores}
        _check_new(new_names)
    columns = Columns("", tuple(scores), kind)
    if group is not None:
        crossed = () if columns_of_group(group, source.columns) == [group] else (group,)
        columns = replace(columns, groups=(group,), crossed=crossed)
    reader, new_groups = RowsReader(source, columns, rescale=rescale), set[str]()
    of_fit = np.asarray(vars(recalibrator).get("groups_", []), str)
    spelt = dict(zip(names_of(of_fit).tolist(), of_fit.tolist(), strict=True))
    with nullcontext(sys.stdout) if output is None else replacing_text(Path(output)) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(new_names.values())
        for raw in source.blocks(source.columns):
            rows = reader.rows_of({name: raw[name] for name in columns.names})
            given = rows.log_probs
            if recalibrator.inputs == "probs":  # bins have edges of the type that the file has
                given = rows.probs.astype(rows.dtype)
            if group is None:
                recalibrated = recalibrator.predict_proba(given)
            else:
                found = rows.groups[group]
                names = np.array(
                    [spelt.get(name_of(name), name) for name in found.values.tolist()], str
                )
                groups = names[found.codes]
                new_groups.update(np.setdiff1d(names, of_fit).tolist())
                recalibrated = _by_groups(recalibrator, given, groups)
            recalibrated = np.asarray(recalibrated).reshape(len(rows.labels), -1)
            cells = raw | dict(zip(scores, recalibrated.T, strict=True))
            writer.writerows(zip(*(cells[name] for name in source.columns), strict=True))
    if new_groups:
        warnings.warn(
            f"{group}: {len(new_groups):,} of its groups were not in the fit, such as "
            f"{min(new_groups)!r}; their rows get the common map",
            stacklevel=2,
        )


def _in_order_of_fit(recalibrator: Recalibrator, scores: list[str]) -> list[str]:
    """The columns of the classes in the order in which the calibrator has their parameters.

    Raises:
        ValueError: if there are several and it takes one, or they say to be of other classes.
    """
    fitted = list(recalibrator.columns_)
    then, now = _classes(fitted), _classes(scores)
    shape = vars(recalibrator).get("shape_")
    if len(scores) == 1 and shape == "(N, K)":
        raise ValueError(
            f"score: expected a column for each class, as in the fit, found {scores[0]!r}; name "
            "them with score=..., such as 'prob_*'"
        )
    if len(scores) > 1 and shape == "(N,)":
        of_fit = then or (["1"] if len(scores) == 2 else [])
        meant = [repr(score) for score, name in zip(scores, now, strict=True) if name in of_fit]
        raise ValueError(
            f"score: expected one column of predictions, as in the fit, found {some(scores)}; name "
            f"it with score={meant[0] if meant else '...'}"
        )
    if sorted(fitted) == sorted(scores):
        return fitted
    if len(fitted) != len(scores):
        return scores
    for fold in (str, str.casefold):
        keys, places = [[fold(name) for name in each] for each in (now, then)]
        if len(set(keys)) == len(scores) and sorted(keys) == sorted(places):
            return [scores[keys.index(key)] for key in places]
    numbers = [all(map(str.isdigit, each)) for each in (now, then)]
    other = bool(now and then) and (not any(numbers) or (len(scores) == 1 and all(numbers)))
    if [name.lower() for name in fitted] == ["confidence"]:  # in any class
        other = bool(now) or scores[0].lower() in _OF_POSITIVE
    if other:
        raise ValueError(
            f"score: expected the same predictions as in the fit, {some(fitted)}, found "
            f"{some(scores)}; if only the names differ, rename the columns"
        )
    return scores


def _classes(scores: list[str]) -> list[str]:
    """The names of the classes, if the columns have such; that of one alone may say nothing."""
    names = suffixes(scores)
    return names if len(scores) > 1 or names != scores else []


def _group_of(recalibrator: Recalibrator, named: str | None) -> str | None:
    """What says which map a row gets; None if all get the same."""
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
    return str(name)


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
