"""Recalibrate a file of predictions with a saved calibrator."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TextIO

import numpy as np

from calib_utils._files import replacing_text
from calib_utils.audit.class_columns import scores_of
from calib_utils.audit.column_types import numbers_of
from calib_utils.audit.log_probabilities import from_logs, log_probs_in
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

    Columns of logits or log-probabilities become columns of probabilities and are renamed
    accordingly.

    Args:
        calibrator: the path of a saved calibrator.
        data: predictions in any form that a report takes; labels are not needed.
        output: the path of the new file, which ends in .csv; the standard output by default.
        score: the columns of predictions, as for a report.
        rescale: whether rows of probabilities are divided by their sum.

    Returns:
        The number of rows.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: for bad input, a name that does not end in .csv, or a calibrator that was
            fitted on a different kind of predictions.
    """
    if output is not None:
        if output.suffix.lower() != ".csv":
            raise ValueError(
                f"output: expected a name that ends in .csv, found {output.name!r}, and the result "
                "is CSV"
            )
        with replacing_text(output) as file:
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
    if kind in ("logit", "logits", "logprobs"):
        new_names |= {name: _as_prob(name) for name in scores}
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(new_names.values())
    n = 0
    for raw in source.blocks(source.columns):
        places = np.arange(n + 1, n + 1 + len(raw[scores[0]]))
        read = log_probs_in if kind == "logprobs" else numbers_of
        values = np.stack([read(raw[name], name, places) for name in scores], axis=1)
        if kind == "logprobs":
            (probs, _), logits = from_logs(values, scores, places), None
        else:
            probs, logits, _ = probabilities(values, kind, scores, places, rescale)
        given = log_probs_of(probs, logits) if recalibrator.inputs == "logits" else probs
        recalibrated = np.asarray(recalibrator.predict_proba(given)).reshape(len(places), -1)
        columns = raw | dict(zip(scores, recalibrated.T.tolist(), strict=True))
        writer.writerows(zip(*(columns[name] for name in source.columns), strict=True))
        n += len(places)
    return n


def _as_prob(name: str) -> str:
    """The name of a column of logits, or of log-probabilities, once it contains probabilities."""
    if name.lower() in ("logit", "logits"):
        return "score"
    return f"prob{name[len('logprob' if name.lower().startswith('logprob') else 'logit') :]}"
