"""The report on the predictions of any model: a verdict, its reasons, and a page to share.

`report` takes a file, a folder of files or a data frame; so does
``python -m calib_audit predictions.csv``. `compare_reports` compares two stored reports.
"""

# The modules in the order in which data flow through them:
#   source, files, folder                     rows with named columns: in memory, a file, a folder
#   columns, class_columns, column_types      what each column is, and what its cells contain
#   probabilities, rows                       predictions that were checked
#   bin_sums, exact_sums, lots, totals        sums over rows, and the rows that are kept
#   sql                                       the same sums, made by a database
#   file_sums, gathering                      the sums of one file, and of all data
#   measures, parts, costs                    what the sums say of all rows, of groups, of decisions
#   recalibrators, per_group                  which recalibrator helps
#   verdict, building, planning               the judgement, the report, and rows for one to come
#   findings, stored                          all that was found, and its numbers as JSON
#   table_rows, page, result                  the report in tables, on a page, and as a whole
#   applying, pairing, changes, __main__      a saved calibrator, two models, two reports; commands

from calib_audit.building import report
from calib_audit.changes import Changes, compare_reports
from calib_audit.planning import rows_for
from calib_audit.result import Report

__version__ = "0.1.0"
__all__ = ["Changes", "Report", "compare_reports", "report", "rows_for"]
