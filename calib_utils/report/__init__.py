"""What a report says of numbers: tables, claims that are checked, comparisons with a verdict."""

from calib_utils.report.bins import bin_table
from calib_utils.report.claims import ClaimError, claim
from calib_utils.report.comparison import Difference, compare
from calib_utils.report.tables import Markdown, signed, spread, table

__all__ = [
    "ClaimError",
    "Difference",
    "Markdown",
    "bin_table",
    "claim",
    "compare",
    "signed",
    "spread",
    "table",
]
