"""Recalibrate a file of predictions with a saved calibrator."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TextIO

import numpy as np

from calib_utils.audit.atomic_files import replacing
from calib_utils.audit.class_columns import scores_of
from calib_utils.audit.column_types import numbers_of
from calib_utils.audit.reading import open_source
from calib_utils.audit.rows import log_probs_of, probabilities
from calib_utils.recalibration import load

__all__ = ["apply_calibrator"]


def apply_calibrator(
    calibrator: Path | str,
    data: str,
    output: Path | None = None,
    *,
    score: str | None = None,
    rescale: bool = False,
) -> int:
    """Write a copy of a file as CSV with recalibrated predictions; all other columns are kept.

    Columns of logits become columns of probabilities and are renamed accordingly.

    Args:
        calibrator: the path of a saved calibrator.
        data: predictions in any form that a report takes; labels are not needed.
        output: the path of the new file; the standard output by default.
        score: the columns of predictions, as for a report.
        rescale: whether rows of probabilities are divided by their sum.

    Returns:
        The number of rows.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: for bad input, or a calibrator that was fitted on a different kind of
            predictions.
    """
    if output is not None:
        with replacing(output) as file:
            return _write(calibrator, data, file, score, rescale)
    return _write(calibrator, data, sys.stdout, score, rescale)


def _write(
    calibrator: Path | str, data: str, file: TextIO, score: str | None, rescale: bool
) -> int:
    recalibrator = load(calibrator)
    source = open_source(data)
    scores, kind = scores_of(source, score, vars(recalibrator).get("n_classes_"))
    fitted = list(recalibrator.columns_)
    scores = fitted if sorted(fitted) == sorted(scores) else scores  # in the order of the fit
    new_names = {name: name for name in source.columns}
    if kind in ("logit", "logits"):
        new_names |= {name: _as_prob(name) for name in scores}
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(new_names.values())
    n = 0
    for raw in source.blocks(source.columns):
        places = np.arange(n + 1, n + 1 + len(raw[scores[0]]))
        values = np.stack([numbers_of(raw[name], name, places) for name in scores], axis=1)
        probs, logits, _ = probabilities(values, kind, scores, places, rescale)
        given = log_probs_of(probs, logits) if recalibrator.inputs == "logits" else probs
        recalibrated = np.asarray(recalibrator.predict_proba(given)).reshape(len(places), -1)
        columns = raw | dict(zip(scores, recalibrated.T.tolist(), strict=True))
        writer.writerows(zip(*(columns[name] for name in source.columns), strict=True))
        n += len(places)
    return n


def _as_prob(name: str) -> str:
    """The name of a column of logits once it contains probabilities."""
    return "score" if name.lower() in ("logit", "logits") else f"prob{name[len('logit') :]}"
