"""The report on the predictions of any model: a verdict, its reasons, and a page to share.

`report` takes a file, a folder of files or a data frame; so does
``python -m calib_utils.audit predictions.csv``. `compare_reports` compares two stored reports.
"""

from calib_utils.audit.building import report
from calib_utils.audit.changes import Changes, compare_reports
from calib_utils.audit.result import Report

__all__ = ["Changes", "Report", "compare_reports", "report"]
