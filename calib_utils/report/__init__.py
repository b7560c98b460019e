"""What a report says of numbers: tables, claims that are checked, comparisons with a verdict."""

from calib_utils.report.bins import bin_table
from calib_utils.report.claims import ClaimError, claim
from calib_utils.report.comparison import Difference, compare
from calib_utils.report.levels import level_table
from calib_utils.report.tables import Markdown, signed, spread, table
from calib_utils.report.verdicts import ClaimedDifference, Verdicts, judge

__all__ = [
    "ClaimError",
    "ClaimedDifference",
    "Difference",
    "Markdown",
    "Verdicts",
    "bin_table",
    "claim",
    "compare",
    "judge",
    "level_table",
    "signed",
    "spread",
    "table",
]
