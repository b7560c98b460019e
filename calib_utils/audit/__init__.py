"""The report on the predictions of any model: a verdict, its reasons, and a page to hand on.

`report` takes a file or a data frame; so does ``python -m calib_utils.audit predictions.csv``.
"""

from calib_utils.audit.building import report
from calib_utils.audit.result import Report

__all__ = ["Report", "report"]
