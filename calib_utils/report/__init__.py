"""What a report says of numbers: tables, claims that are checked, comparisons with a verdict."""

from calib_utils.report.claims import ClaimError, claim
from calib_utils.report.comparison import Difference, compare
from calib_utils.report.tables import Markdown, signed, spread, table

__all__ = [
    "ClaimError",
    "Difference",
    "Markdown",
    "claim",
    "compare",
    "signed",
    "spread",
    "table",
]
