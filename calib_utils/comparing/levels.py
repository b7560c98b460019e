"""The results at each level of a factor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from calib_utils.comparing.tables import Markdown, spread, table
from calib_utils.metrics import baseline_calibration_error
from calib_utils.records import ExperimentRecord, by_level
from calib_utils.records.grids import check_records
from calib_utils.records.names import factor_name, level_name

# Attribute of the record, heading, number of units in 1, digits.
_BEFORE = (("error", "test error, %", 100, 1), ("ece", "ECE, %", 100, 1))
_AFTER = (
    ("overconfidence", "overconfidence, points", 100, 1),
    ("temperature", "T", 1, 2),
    ("ece_scaled", "ECE at T, %", 100, 1),
    ("fitted_accuracy", "training accuracy, %", 100, 1),
)


def level_table(records: Iterable[ExperimentRecord]) -> Markdown:
    """Mean and standard deviation over the seeds, at each level of the factor.

    Args:
        records: of one grid and protocol.

    Returns:
        Test error, ECE, its baseline, the mean ECE of calibrated networks with the same confidences
        (`calib_utils.metrics.baseline_calibration_error`), overconfidence, temperature, the ECE
        with that temperature, and the accuracy on the training images.

    Raises:
        ValueError: if there is no run, or they have different protocols.

    Example:
        >>> from calib_utils.records import load_grid
        >>> rows = level_table(load_grid("width", "core")).splitlines()
        >>> [row.split(" | ")[0] for row in rows[2:]]
        ['| 12', '| 24', '| 48']
    """
    records = check_records(records, "records")
    groups = by_level(records)
    rows = []
    for value, runs in groups.items():
        baselines = [baseline_calibration_error(run.confidences).mean for run in runs]
        rows.append(
            [
                level_name(value),
                *_spreads(runs, _BEFORE),
                f"{100 * np.mean(baselines):.1f}",
                *_spreads(runs, _AFTER),
            ]
        )
    before, after = ([heading for _, heading, *_ in columns] for columns in (_BEFORE, _AFTER))
    head = [factor_name(records[0].factor), *before, "baseline, %", *after]
    return table(head, rows)


def _spreads(
    runs: Sequence[ExperimentRecord], columns: Sequence[tuple[str, str, int, int]]
) -> list[str]:
    return [
        spread([unit * getattr(run, name) for run in runs], digits)
        for name, _, unit, digits in columns
    ]
