"""Reporting numbers: tables, claims that are checked, comparisons with a verdict."""

from calib_utils.report.beyond_gap import compare_beyond_gap
from calib_utils.report.claims import ClaimError, claim
from calib_utils.report.comparison import RunDifference, compare
from calib_utils.report.forecasts import compare_forecasts
from calib_utils.report.levels import level_table
from calib_utils.report.pairs import (
    Difference,
    McNemar,
    corrected_difference,
    mcnemar,
    paired_difference,
    paired_ece_difference,
)
from calib_utils.report.seeds import Spread, by_training, pooled_spread
from calib_utils.report.tables import Markdown, signed, spread, table
from calib_utils.report.verdicts import Verdict, Verdicts, holm, judge

__all__ = [
    "ClaimError",
    "Difference",
    "Markdown",
    "McNemar",
    "RunDifference",
    "Spread",
    "Verdict",
    "Verdicts",
    "by_training",
    "claim",
    "compare",
    "compare_beyond_gap",
    "compare_forecasts",
    "corrected_difference",
    "holm",
    "judge",
    "level_table",
    "mcnemar",
    "paired_difference",
    "paired_ece_difference",
    "pooled_spread",
    "signed",
    "spread",
    "table",
]
