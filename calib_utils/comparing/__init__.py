"""Comparing networks and runs: differences with a verdict, claims that are checked, tables."""

from calib_utils.comparing.beyond_gap import compare_beyond_gap
from calib_utils.comparing.claims import ClaimError, claim
from calib_utils.comparing.comparison import RunDifference, compare
from calib_utils.comparing.forecasts import compare_forecasts
from calib_utils.comparing.levels import level_table
from calib_utils.comparing.pairs import (
    Difference,
    McNemar,
    corrected_difference,
    mcnemar,
    paired_difference,
    paired_ece_difference,
)
from calib_utils.comparing.seeds import Spread, by_training, pooled_spread
from calib_utils.comparing.tables import Markdown, signed, spread, table
from calib_utils.comparing.verdicts import Verdict, Verdicts, holm, judge

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
