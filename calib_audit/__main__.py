"""The command line of the report: ``python -m calib_audit --help``."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calib_audit.applying import apply_calibrator
from calib_audit.building import report
from calib_audit.formatting import printable
from calib_audit.pairing import Pair, pair
from calib_audit.parts import RELATIVE
from calib_audit.planning import rows_for
from calib_audit.source import EXTRA
from calib_audit.sql import DIALECTS, query
from calib_audit.stored import Changes, compare_reports
from calib_audit.words import about_calibrator
from calib_utils._files import write_text

_BAD_INPUT = 2
_STOPPED, _UNREAD = 130, 141  # a shell's codes for Ctrl-C, and for a reader that closed the pipe


def main(arguments: Sequence[str] | None = None) -> int:
    """Report on predictions, compare two models, or apply a calibrator.

    Returns:
        0 if the model is within the tolerance (of two models, if the second is better), 1 if it is
        beyond (or worse), 2 for bad input, 3 if there are too few rows to tell, 4 if it is beyond
        only for a group, 5 if only a span of time raises an alarm; 130 or 141 if it was stopped by
        Ctrl-C or because the reader of its output closed the pipe.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    commands = {"compare": _compare, "apply": _apply, "rows": _rows, "sql": _sql}
    command = commands.get(given[0]) if given else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the report repeats them
            status = _report(given) if command is None else command(given[1:])
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # as `| head` leaves
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _UNREAD
    except (ValueError, OSError, ModuleNotFoundError, MemoryError) as error:
        print(
            f"error: {as_options(printable(str(error))) or type(error).__name__}", file=sys.stderr
        )
        return _BAD_INPUT
    except KeyboardInterrupt as stop:
        print(f"\nStopped{f' {stop}' if str(stop) else ''}.", file=sys.stderr)
        return _STOPPED


def as_options(message: str) -> str:
    """An error's text with options in place of Python's arguments: ``--drop`` for ``drop=True``.

    Such words in quotation marks are left alone, because they are the user's data.
    """
    names = "|".join(vars(parser().parse_args(["file"])))

    def option(found: re.Match[str]) -> str:
        return "--" + found[1].replace("_", "-") + ("" if found[2] else " ")

    return re.sub(rf"(?<![\w'\"])({names})=(True)?", option, message)


def _report(given: Sequence[str]) -> int:
    args = parser().parse_args(given)
    if args.html:
        _check_page()
    found = report(
        args.predictions,
        **_columns(args),
        weight=args.weight,
        blocks=args.blocks,
        group=args.group,
        time=args.time,
        fit=args.fit,
        cross_fit=args.cross_fit,
        tolerance=args.tolerance,
        relative_tolerance=args.relative_tolerance,
        baseline=args.baseline,
        monitor=args.monitor,
        prices=None if args.prices is None else tuple(args.prices),
        n_bins=args.n_bins,
        drop=args.drop,
        rescale=args.rescale,
        skip_bad_files=args.skip_bad_files,
    )
    found.facts["command"] = printable(shlex.join(["python", "-m", "calib_audit", *given]))
    if args.json == "-":
        print(found.json(), end="")
    else:
        print(f"{found.verdict.sentence}\n" if args.monitor else found.text(), end="")
    found.write(html=args.html, json=None if args.json == "-" else args.json)
    if args.save_calibrator:
        if found.calibrator is not None:
            found.calibrator.save(args.save_calibrator)
        print(*about_calibrator(found, args.save_calibrator), sep="\n")
    return found.verdict.exit_code


def _check_page() -> None:
    """Before a long run, and not after it."""
    for package in ("jinja2", "matplotlib"):
        if importlib.util.find_spec(package) is None:
            raise ModuleNotFoundError(
                f"html: the page needs {package}, {EXTRA}; or leave out --html"
            )


def _compare(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m calib_audit compare",
        description="Compare two models on the same rows, in the same order or joined by --key: "
        "is the second better? "
        "Or compare two reports that --json wrote, such as those of two months: has the gap "
        "between predicted and observed frequency changed, in all rows or in a group?",
        epilog="Exit status: 0 if the second has the lower NLL, 1 if it has the higher one, 2 for "
        "bad input, 3 if there are too few rows to tell. With two reports: 0 if all changes are "
        "within the tolerance, 1 if any is beyond, 3 if there are too few rows to tell.",
    )
    parser.add_argument("first", metavar="A")
    parser.add_argument("second", metavar="B")
    _add_columns(parser)
    add = parser.add_argument
    add("--key", metavar="COLUMN", help="by which the rows of two models are joined")
    add("--tolerance", type=float, default=0.02, help="of two reports: the largest change allowed")
    add(
        "--relative-tolerance",
        type=float,
        default=RELATIVE,
        help="of two reports: the largest change beside the rate of the rarer outcome",
    )
    add("--json", type=Path, metavar="FILE", help="write the numbers")
    args = parser.parse_args(given)
    found: Changes | Pair
    if args.first.endswith(".json") and args.second.endswith(".json"):
        found = compare_reports(args.first, args.second, args.tolerance, args.relative_tolerance)
    else:
        found = pair(
            args.first,
            args.second,
            _columns(args),
            key=args.key,
            drop=args.drop,
            rescale=args.rescale,
        )
    print(found.text(), end="")
    if args.json:
        write_text(args.json, json.dumps(found.numbers(), indent=1) + "\n")
    return found.exit_code


def _apply(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m calib_audit apply",
        description="Recalibrate a file, which need not have labels, with a saved calibrator; the "
        "result is CSV, and all other columns are kept.",
    )
    parser.add_argument("calibrator", metavar="CALIBRATOR.npz")
    parser.add_argument("predictions", metavar="FILE", help=".csv, .parquet, .npz; - for input")
    add = parser.add_argument
    add("--output", type=Path, metavar="FILE.csv", help="default: the standard output")
    add("--score", metavar="COLUMN", help="as for a report")
    add("--group", metavar="COLUMN", help="of a map for each group (default: the report's)")
    add("--rescale", action="store_true", help="divide rows of probabilities by their sum")
    args = parser.parse_args(given)
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always", UserWarning)
        apply_calibrator(
            args.calibrator,
            args.predictions,
            args.output,
            score=args.score,
            group=args.group,
            rescale=args.rescale,
        )
    for text in dict.fromkeys(str(doubt.message) for doubt in doubts):
        print(f"warning: {as_options(text)}", file=sys.stderr)
    return 0


def _rows(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m calib_audit rows",
        description="How many rows show, with a probability of 80 %%, that a calibrated model is "
        "within a tolerance?",
    )
    add = parser.add_argument
    add("--tolerance", type=float, default=0.02, help="the largest error allowed (default: 0.02)")
    add("--rate", type=float, required=True, help="how often the event happens, 0 to 1")
    add("--groups", type=int, default=1, help="that are judged as well (default: 1, all rows)")
    args = parser.parse_args(given)
    print(f"about {rows_for(args.tolerance, args.rate, args.groups):,} rows")
    return 0


def _sql(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m calib_audit sql",
        description="Print a query that adds up the rows where they are, in a database. Its "
        "result, stored as Parquet or CSV, is what a report takes in place of the rows.",
    )
    add = parser.add_argument
    add("--label", metavar="COLUMN", required=True, help="what happened")
    add("--score", metavar="COLUMN", required=True, help="the prediction, or logit_...")
    add("--positive", metavar="VALUE", help="the label that counts as positive")
    add("--weight", metavar="COLUMN", help="how much each row counts")
    add("--group", metavar="COLUMN", action="append", default=[], help="may be given again")
    add("--time", metavar="COLUMN:UNIT", help="such as date:D, as for a report")
    add("--classes", metavar="NAMES", help="for the * of a --score 'prob_*', with commas between")
    add("--blocks", metavar="COLUMN", help="whose equal values mark rows that belong together")
    add("--table", default="predictions", help="what stands after FROM (default: predictions)")
    add(
        "--dialect",
        choices=DIALECTS,
        default="duckdb",
        help="of the database (run on duckdb, postgres and spark)",
    )
    args = vars(parser.parse_args(given))
    print(query(**args | {"classes": _class_names(args["classes"])}), end="")
    return 0


def _columns(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments on how rows are read."""
    return {
        "label": args.label,
        "score": args.score,
        "positive": args.positive,
        "classes": _class_names(args.classes),
    }


def _class_names(given: str | None) -> list[str]:
    return [] if given is None else [name.strip() for name in given.split(",")]


def parser() -> argparse.ArgumentParser:
    """The arguments of a report."""
    parser = argparse.ArgumentParser(
        prog="python -m calib_audit",
        description="Is a model calibrated? A report on its predictions and what happened, from "
        "CSV, Parquet or NPZ. Columns are guessed, and named in the output: label with score, "
        "logit, prob_..., logit_... or columns named after the labels; or confidence with correct. "
        "'compare A B' compares two models, or two reports if A and B were written by --json, and "
        "'apply CALIBRATOR FILE' recalibrates a file, 'rows' says how many it takes, "
        "and 'sql' prints a query for a database; each has a --help of its own.",
        epilog="Exit status: 0 if the calibration error is within the tolerance, 1 if it is "
        "beyond, 2 for bad input, 3 if there are too few rows to tell, of all or of a --group. "
        "If that of all rows is not beyond: 4 if that of a --group is, 5 if a span of --time "
        "raises an alarm. With --monitor: 0 without an alarm, 5 with one, 3 if in the last span a "
        "change of the size of the tolerance could not have raised one.",
    )
    parser.add_argument(
        "predictions",
        metavar="FILE",
        help=".csv, .parquet, .npz; - for input; or a folder or a 'pattern*' of Parquet files",
    )
    _add_columns(parser)
    add = parser.add_argument
    add("--weight", metavar="COLUMN", help="how much each row counts")
    add("--blocks", metavar="COLUMN", help="whose equal values mark rows that belong together")
    add(
        "--group",
        metavar="COLUMN",
        action="append",
        default=[],
        help="known before the outcome: grouped by the true class, even a perfect model is off; "
        "may be given again",
    )
    add(
        "--time", metavar="COLUMN:UNIT", help="such as date:D, by day (also h, W from Monday, M, Y)"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--fit", metavar="FILE", help="fit calibration maps on these rows")
    how.add_argument(
        "--cross-fit",
        type=int,
        default=5,
        metavar="FOLDS",
        help="0: no calibration methods (default: 5)",
    )
    add("--tolerance", type=float, default=0.02, help="the largest error allowed (default: 0.02)")
    add(
        "--relative-tolerance",
        type=float,
        default=RELATIVE,
        help="the largest error beside the rate of the rarer outcome (default: 0.25)",
    )
    add("--baseline", type=Path, metavar="JSON", help="of an earlier report, for --time")
    add(
        "--monitor",
        action="store_true",
        help="with --time and --baseline: one line, on alarms alone",
    )
    add("--prices", type=float, nargs=2, metavar=("FALSE_ALARM", "MISS"), help="of an error")
    add("--n-bins", type=int, default=15, help="bins of equal width (default: 15)")
    add("--html", type=Path, metavar="FILE", help="write a page")
    add(
        "--json",
        metavar="FILE",
        help="write the numbers; - to the standard output, in place of text",
    )
    add("--skip-bad-files", action="store_true", help="of a folder: leave them out and list them")
    add(
        "--save-calibrator",
        type=Path,
        metavar="FILE.npz",
        help="the best calibration map, if one clearly helps",
    )
    return parser


def _add_columns(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--label", metavar="COLUMN", help="what happened")
    add("--score", metavar="COLUMN", help="the prediction; or 'p_*' for a column for each class")
    add("--positive", metavar="VALUE", help="the label that counts as positive")
    add("--classes", metavar="A,B,...", help="the classes, in the order of the columns")
    add("--drop", action="store_true", help="leave out rows where a value is missing")
    add("--rescale", action="store_true", help="divide rows of probabilities by their sum")


if __name__ == "__main__":
    sys.exit(main())
