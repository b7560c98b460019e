"""How a report is built: rows are read, counted and judged, and calibration methods are tried."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from calib_audit.columns import Columns
from calib_audit.costs import cost_curve
from calib_audit.gathering import gather, gather_file
from calib_audit.lots import MOST_DRAWN
from calib_audit.measures import binnings_of, measure
from calib_audit.parts import RELATIVE, UNDECIDED, check_limits, control, judge, judge_parts
from calib_audit.planning import rows_needed
from calib_audit.recalibrators import try_recalibrators
from calib_audit.result import Report
from calib_audit.source import open_source
from calib_audit.stored import bins_of_baseline
from calib_audit.totals import shared_rows
from calib_audit.words import DOUBT, headline, watched, what_was_read
from calib_utils import __version__
from calib_utils.predictions.checks import check_count, check_n_bins
from calib_utils.predictions.labels import class_names


def report(
    frame: Any,
    *,
    label: str | None = None,
    score: str | None = None,
    positive: str | None = None,
    weight: str | None = None,
    blocks: str | None = None,
    group: Sequence[str] | str = (),
    time: str | None = None,
    classes: Sequence[str] = (),
    fit: Any = None,
    cross_fit: int = 5,
    tolerance: float = 0.02,
    relative_tolerance: float = RELATIVE,
    baseline: Any = None,
    monitor: bool = False,
    prices: tuple[float, float] | None = None,
    n_bins: int = 15,
    drop: bool = False,
    rescale: bool = False,
    skip_bad_files: bool = False,
) -> Report:
    """A report on the predictions of any model and what happened.

    Columns that are not named are guessed: ``label`` together with ``score`` (the probability of
    the positive class), ``logit`` (its log-odds), ``prob_…`` or ``logit_…`` (a column for each
    class), or columns named after the labels; or ``correct`` (whether the prediction is correct)
    together with ``confidence`` or any one score. With several classes, the confidence in the
    predicted class is judged. The verdict is about the error in bins of equal width, in bins of
    equal mass or on the two sides of Cox's line, whichever is largest. Gaps that cancel within a
    bin count in none, so the error is a lower bound. If groups or days are asked for, the verdict
    is about each of them as well.

    All rows are counted, in blocks, so that neither a file nor a folder of Parquet files need fit
    into memory. The same rows give the same report, bit for bit, in any order, as a data frame or
    as any number of files, because the sums are kept in whole
    numbers: each term is rounded to a multiple of 2^-32, so the mean of probabilities around 1e-8
    is exact to one percent. Processors of different kinds may differ in the last bit of a logarithm
    or an exponential; then the NLL, and all sums if logits were given, agree to 1e-12.
    Of more than 200,000 rows, bins of equal mass are made of cells of log-odds that are 1/128 wide,
    and whatever needs single rows uses a random sample of at most 200,000. With several classes,
    rows that agree in every column are either all in that sample or all out.

    Args:
        frame: the path of a .csv, .parquet or .npz file, "-" for CSV from the standard input, a
            data frame that narwhals supports, or a dictionary of arrays; of rows, or of the sums
            that the query of ``calib-audit sql`` makes of them in a database. Or a folder, or a
            pattern such as ``month/*.parquet``, of Parquet files with the same columns. Names of
            folders such as ``region=north`` count as columns.
        label: the column of what happened.
        score: the column of predictions, or a pattern such as ``p_*`` for a column a class.
        positive: the label that counts as positive; with several classes, the one to look at.
        weight: a column of weights, 0 or more: how much a row counts beside the others, such as
            its amount, or 20 where one in 20 was kept. Intervals and tests follow from the squared
            weights, so a few heavy rows make them wide. Equal weights are as good as none.
        blocks: a column whose equal values mark rows that belong together, such as the visits of a
            patient: at least 10 blocks of equal size, or more unequal ones, in up to 200,000 rows.
            Intervals and tests then follow from how blocks differ
            (`calib_utils.metrics.calibration_error_interval` says how), and no block is in two
            folds. Not together with ``weight`` or ``time``.
        group: a column, or several, whose values divide the rows into groups. They must be known
            before the outcome is: grouped by the true class, even a perfect model is off.
        time: a column of dates, and the unit: "date:D" (days), "date:W" (weeks from Monday),
            "date:M", "date:Y", "date:h".
        classes: the names of the classes, in the order of the columns.
        fit: other predictions of the same form, on which calibration maps are fitted; also a map
            for each group, if they have that column.
        cross_fit: the number of folds in which calibration maps are fitted without ``fit``; 0 to
            try none.
        tolerance: the largest calibration error that is acceptable, above 0 and below 1; for all
            rows, for each group and class, and for each day.
        relative_tolerance: the largest error beside the rate of the rarer outcome, above 0 and up
            to 1, which is what counts where events are rare. An error of 2 points is small for a
            rate of 30 %, and huge for one of 1 %, of which a quarter is 0.25 points.
        baseline: an earlier report on the same kind of predictions, or the path of its JSON, that
            days are compared with.
        monitor: whether the verdict is about alarms in spans of time alone: "times" if there is
            one, "within" if not, and "undecided" if in the last span a change of the size of the
            tolerance could not have raised one. Needs ``baseline``; tries no calibration methods.
        prices: of a false alarm and of a miss, for the cost against the threshold.
        n_bins: the number of bins of equal width.
        drop: whether rows with a missing value are left out; they are counted. Of a group or a
            block only an empty cell is missing, for NA may be a name.
        rescale: whether rows of probabilities are divided by their sum; they are counted.
        skip_bad_files: whether a file of a folder that cannot be read, or has an invalid row, is
            left out and listed.

    Returns:
        The report, with a verdict.

    Raises:
        FileNotFoundError: if there is no such file.
        ModuleNotFoundError: if the package that reads the file is not installed.
        ValueError: for bad input.

    Warns:
        UserWarning: if the values of columns named logits look like probabilities.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> score = rng.random(20_000)
        >>> label = (rng.random(20_000) < score).astype(int)
        >>> report({"score": score, "label": label}, tolerance=0.03).verdict.outcome
        'within'
    """
    n_bins = check_n_bins(n_bins)
    check_limits(tolerance, relative_tolerance)
    if cross_fit:
        check_count(cross_fit, "cross_fit", "5 is usual")
        if cross_fit == 1:
            raise ValueError("cross_fit: expected 0, or 2 folds or more, found 1")
    if baseline is not None and time is None:
        raise ValueError(
            "baseline: expected together with time=..., because days are compared with it"
        )
    if monitor and baseline is None:
        raise ValueError(
            "monitor: expected together with time=... and baseline=..., an earlier report in which "
            "all was well"
        )
    cross_fit, fit = (0, None) if monitor else (cross_fit, fit)
    given = {"label": label, "score": score, "positive": positive, "weight": weight, "time": time}
    given |= {"blocks": blocks}
    named = {
        **{name: None if value is None else str(value) for name, value in given.items()},
        "classes": tuple(map(str, class_names(classes))),
        "group": tuple(map(str, [group] if isinstance(group, (str, int)) else group)),
    }
    how = {"n_bins": n_bins, "drop": drop, "rescale": rescale}
    gathered = gather(
        frame,
        named,
        how | {"sample": bool(cross_fit) or fit is not None},
        lambda columns: _check_prices(columns, prices),
        skip_bad_files=skip_bad_files,
    )
    columns, totals, fit_rows = gathered.columns, gathered.totals, None
    if gathered.summed:
        if fit is not None:
            raise ValueError("fit: expected with rows, found it with sums; leave it out")
        cross_fit = 0
    if columns.blocks is not None and not totals.complete:
        raise ValueError(
            f"blocks: expected so few rows that all can be kept, found {totals.bins.n:,}; draw a "
            "few rows of each block, of which more tell little, or add the rows up in a database"
        )
    if fit is not None:
        of_fit = open_source(fit)
        groups_of_fit = tuple(
            name for name in columns.groups if {*columns.of_group(name)} <= {*of_fit.columns}
        )
        others = named | {"group": groups_of_fit, "time": None, "blocks": None}
        other = gather_file(of_fit, others, how)
        same = other.columns
        if (same.kind, same.classes) != (columns.kind, columns.classes):
            raise ValueError(
                f"fit: expected {columns.kind} as in {gathered.name}, found {same.kind}"
            )
        if shared := shared_rows(other.totals, totals):
            n = other.totals.bins.n
            found = "the same ones" if shared == n else f"{shared:,} of its {n:,} rows"
            raise ValueError(
                f"fit: expected rows that the report does not use, found {found} in "
                f"{other.name}; if you have no others, leave out fit and use cross_fit=..."
            )
        fit_rows = other.totals.rows
    if gathered.counts.doubtful:
        warnings.warn(DOUBT.format(repr(columns.scores[0])), stacklevel=2)
    measures = measure(totals, columns.top_label)
    recalibrators, limits = None, (tolerance, relative_tolerance)
    useless = columns.kind in ("score", "logit") and (measures.reversed or measures.blind)
    before = None if baseline is None else bins_of_baseline(baseline, n_bins, columns)
    times = control(totals.times, before, *limits)
    # A map fitted on days before and after a break is right for neither.
    changed = fit_rows is None and any(span.alarm for span in times)
    if (cross_fit or fit_rows is not None) and not useless and not changed:
        recalibrators = try_recalibrators(
            totals.rows.take(slice(0, MOST_DRAWN)),  # which are in the order of their lots
            fit_rows,
            folds=min(cross_fit, measures.n),
            from_logits=columns.kind in ("logit", "logits"),
            n_bins=n_bins,
            limits=limits,
        )
        if recalibrators is not None and recalibrators.best is not None:
            recalibrators.best.columns_ = list(columns.scores)
    of_classes = {columns.classes[k]: bins for k, bins in totals.classes.items()}
    groups = {
        name: {value: bins for (each, value), bins in totals.groups.items() if each == name}
        for name in columns.groups
    }
    costs = None
    if prices is not None:
        costs = cost_curve(totals.rows.probs, totals.rows.labels, prices, totals.rows.weights)
    judge_all = partial(judge_parts, in_blocks=columns.blocks is not None)
    judged = {name: judge_all(parts, *limits) for name, parts in groups.items()}
    verdict = judge(measures, *limits, judged, times, monitor=monitor)
    if verdict.overall == UNDECIDED:
        needed = rows_needed(binnings_of(totals, measures.line), verdict.tolerance)
        verdict = replace(verdict, rows_needed=needed[0], rows_needed_range=needed[1:])
    done = Report(
        verdict=verdict,
        measures=measures,
        bins=totals.bins,
        cells=totals.cells,
        classes=judge_all(of_classes, *limits),
        groups=judged,
        times=times,
        recalibrators=recalibrators,
        costs=costs,
        columns=columns,
        read=what_was_read(gathered, recalibrators is not None),
        facts={"data": gathered.name}
        | gathered.facts
        | {
            "calib_utils": __version__,
            "NumPy": np.__version__,
            "Python": platform.python_version(),
        },
    )
    sentence = watched(times) if monitor else headline(done, *limits)
    return replace(done, verdict=replace(verdict, sentence=sentence))


def _check_prices(columns: Columns, prices: Any) -> None:
    if prices is None:
        return
    if np.shape(prices) != (2,):
        raise ValueError(
            f"prices: expected two numbers, of a false alarm and of a miss, found {prices!r}"
        )
    if not columns.binary:
        raise ValueError(
            "prices: expected one score in a row, found several classes; look at one of them "
            f"with positive={columns.classes[0]!r}"
        )
