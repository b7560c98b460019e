"""The report on the predictions of any model: a verdict, its reasons, and a page to share.

`report` takes a file, a folder of files or a data frame; so does
``python -m calib_audit predictions.csv``. `compare_reports` compares two stored reports.
"""

# The modules in the order in which data flow through them:
#   column_types, source, folder              rows with named columns, in memory or in files
#   columns                                   what each column is
#   probabilities, rows                       predictions that were checked
#   bin_sums, exact_sums, lots, totals        sums over rows, and the rows that are kept
#   sql                                       the same sums, made by a database
#   gathering                                 the sums of all data
#   measures, costs                           what the sums say of all rows, and of decisions
#   parts                                     what is within the tolerance, and what beyond
#   recalibrators                             which recalibrator helps
#   planning                                  how many rows it takes
#   findings, stored                          all that was found, and its numbers as JSON
#   words, table_rows, page, result           the report in words, tables, on a page, as a whole
#   building                                  how a report is made
#   applying, pairing, __main__               a saved calibrator, two models; the commands

from calib_audit.building import report
from calib_audit.planning import rows_for
from calib_audit.result import Report
from calib_audit.stored import Changes, compare_reports

__version__ = "0.1.0"
__all__ = ["Changes", "Report", "compare_reports", "report", "rows_for"]
