"""The tables of the benchmark page: `python benchmarks/tables.py TARGET`.

Reads the results of the scripts next to it and writes them as Markdown, each table with the machine
on which it was measured and a sentence that sums it up.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from calib_utils.report import Markdown, paired_difference, table

RESULTS = Path("benchmarks/results")
OURS = "calib_utils"
SAME_NLL = 1e-4  # fits whose NLLs differ by less are called equally good
REPORT = "a report"
ON_DASK = f"{REPORT}, one Dask worker", f"{REPORT}, two Dask workers"
# What was aimed at before the measurement: of the time of each, of one worker, and of memory.
AIMS = {
    "a bare scan by pyarrow.dataset": 1.5,
    "a query by DuckDB": 1.0,
    "pandas, chunk by chunk": 0.2,
}
ON_TWO, MOST_MB = 1.7, 1000
DEVICES = {"cpu": "On a CPU", "cuda": "On a GPU"}


def short(number: float) -> str:
    """Two or three significant digits, with commas and without an exponent."""
    digits = max(0, 2 - len(f"{abs(number):.0f}")) if abs(number) >= 1 else 2
    return f"{float(f'{number:.3g}'):,.{digits}f}"


def milliseconds(value: float) -> str:
    return f"{short(value / 1000)} s" if value >= 10_000 else f"{short(value)} ms"


def times(peer: float, ours: float) -> str:
    """How a peer's time compares with ours, in words."""
    if peer >= ours:
        return f"{short(peer / ours)} times as long as"
    return f"{short(peer / ours)} of the time of"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def captioned(name: str, caption: str, made: Markdown) -> str:
    """The table with a caption and, through its label, a number on the page."""
    label = re.sub("[^a-z0-9]+", "-", f"tab-benchmark {name}".lower()).strip("-")
    return f":::{{table}} {caption}\n:name: {label}\n\n{made}\n:::"


def machine(results: dict[str, Any], *facts: str) -> str:
    versions = ", ".join(f"{name} {text}" for name, text in results["versions"].items())
    hardware = results.get("hardware") or results["cpu"]
    threads = results.get("threads", 0)
    threads = "" if "thread" in hardware or not threads else count(threads, "thread")
    return f"Measured on: {', '.join(filter(None, [hardware, threads, *facts]))}. {versions}."


def ece(results: dict[str, Any]) -> str:
    """Time, memory and error of the ECE, by number of predictions."""
    parts = [machine(results["facts"])]
    for size, rows in results["tables"].items():
        title = re.sub("[0-9]+", lambda n: f"{int(n[0]):,}", size).replace(" x ", " by ")
        caption = f"The ECE of predictions, {title}: time, memory, and error of the sums."
        parts += [f"### {title}", captioned(f"ece {size}", caption, ece_table(rows))]
        mine = [row for row in rows if row["name"].startswith(OURS)]
        ours = min(mine, key=lambda row: row["ms"])
        peers = [row for row in rows if row not in mine and row["error"] is not None]
        read = [f"{row['name']} takes {times(row['ms'], ours['ms'])} {OURS}" for row in peers]
        parts.append(f"{'; '.join(read)}.")
    return "\n\n".join(parts)


def ece_table(rows: list[dict[str, Any]]) -> Markdown:
    cells = (
        [
            row["name"],
            milliseconds(row["ms"]),
            short(row["ratio"]),
            "?" if row["extra_mb"] is None else short(row["extra_mb"]),
            "" if row["error"] is None else f"{row['error']:.0e}",
        ]
        for row in rows
    )
    return table(["library", "time", "ratio", "extra MB", "error"], cells, numbers=4)


def audit_folder(results: dict[str, Any]) -> str:
    """Time and memory of a report on a folder, and of what a user would write instead."""
    facts = results["facts"]
    parts = [machine(facts, count(facts["cores"], "core"), count(facts["files"], "file"))]
    for title, rows in results["tables"].items():
        n, _, what = title.partition(" ")
        caption = f"{int(n):,} {what}. Time and memory."
        parts += [
            f"### {int(n):,} {what}",
            captioned(f"folder {title}", caption, folder_table(rows)),
            read_folder(rows),
        ]
    return "\n\n".join(parts)


def read_folder(rows: list[dict[str, Any]]) -> str:
    """How the report compares, and which of the aims that were set beforehand were missed."""
    seconds = {row["name"]: row["seconds"] for row in rows}
    ours, peers = seconds[REPORT], [name for name in AIMS if name in seconds]
    read = [f"{times(ours, seconds[name])} {name}" for name in peers]
    one, two = (seconds[name] for name in ON_DASK)
    memory = max(row["mb"] for row in rows if row["name"].startswith(REPORT))
    missed = [
        f"at most {AIMS[name]:g} times the time of {name}"
        for name in peers
        if ours > AIMS[name] * seconds[name]
    ]
    missed += [f"two workers {ON_TWO:g} times as fast as one"] if one < ON_TWO * two else []
    missed += [f"at most {short(MOST_MB)} MB"] if memory > MOST_MB else []
    return (
        f"The report takes {', '.join(read)}. Two Dask workers are {short(one / two)} times as "
        f"fast as one, and no process of a report needs more than {short(memory)} MB. "
        + (f"Aims that we missed: {'; '.join(missed)}." if missed else "All our aims are met.")
    )


def folder_table(rows: list[dict[str, Any]]) -> Markdown:
    cells = (
        [row["name"], f"{short(row['seconds'])} s", short(row["ratio"]), short(row["mb"])]
        for row in rows
    )
    return table(["contender", "time", "ratio", "MB"], cells, numbers=3)


def uncertainty(results: dict[str, Any]) -> str:
    """Time and result of interval, baseline and smooth error, each compared with alternatives."""
    parts = [machine(results["facts"])]
    for number, (title, rows) in enumerate(results["tables"].items(), start=1):
        heading = title.replace(" %", "\N{NO-BREAK SPACE}%")
        caption = f"{heading}. Time and result."
        parts += [
            f"### {heading}",
            captioned(f"uncertainty {number}", caption, uncertainty_table(rows)),
        ]
        ours, *others = rows
        peers = [row for row in others if not row["name"].startswith(OURS)]
        read = [f"{row['name']} takes {times(row['ms'], ours['ms'])} {OURS}" for row in peers]
        parts += [f"{'; '.join(read)}."] if read else []
    return "\n\n".join(parts)


def uncertainty_table(rows: list[dict[str, Any]]) -> Markdown:
    cells = (
        [
            row["name"],
            milliseconds(row["ms"]),
            short(row["ratio"]),
            ", ".join(f"{100 * value:.2f}\N{NO-BREAK SPACE}%" for value in row["result"]),
        ]
        for row in rows
    )
    return table(["method", "time", "ratio", "result"], cells, numbers=3)


def training(results: dict[str, Any]) -> str:
    """The course's training and the tutorial script's, on each device that was measured."""
    return "\n\n".join(
        f"### {title}\n\n{training_on(title, results[kind])}"
        for kind, title in DEVICES.items()
        if kind in results
    )


def training_on(device: str, results: dict[str, Any]) -> str:
    rows, images = results["rows"], results["training_images"]
    script, ours = rows
    seconds = [median(chain(*row["seconds"])) for row in rows]
    drops = " and ".join(str(epoch) for epoch in results["milestones"])
    parts = [
        machine(results, count(results["workers"], "worker")),
        f"{count(len(ours['seconds']), 'seed')}, {results['epochs']} epochs each on {images:,} "
        f"images; the learning rate drops after epochs {drops}. The accuracy is that on "
        f"{results['test_images']:,} test images.",
        captioned(
            f"training {device}",
            f"{device}: the time of an epoch, and the accuracy after the last one.",
            training_table(results),
        ),
        f"An epoch of {script['name']} takes {times(*seconds)} one of {OURS}. "
        + read_accuracies(script["test_accuracies"], ours["test_accuracies"]),
    ]
    return "\n\n".join(parts)


def training_table(results: dict[str, Any]) -> Markdown:
    seconds = [median(chain(*row["seconds"])) for row in results["rows"]]
    images = results["training_images"]
    cells = (
        [
            row["name"],
            short(time),
            short(images / time),
            short(seconds[0] / time),
            over_seeds([100 * accuracy for accuracy in row["test_accuracies"]]),
        ]
        for row, time in zip(results["rows"], seconds, strict=True)
    )
    head = ["code", "seconds per epoch", "images per second", "ratio", "test accuracy, %"]
    return table(head, cells, numbers=4)


def over_seeds(values: list[float]) -> str:
    """The mean, and the standard deviation if there is more than one seed."""
    return f"{mean(values):.1f}" + (f" ± {stdev(values):.1f}" if len(values) > 1 else "")


def read_accuracies(script: list[float], ours: list[float]) -> str:
    """The difference of the mean accuracies, and whether it is significant over seeds."""
    if len(ours) < 2:
        return "A single seed cannot show whether their test accuracies differ."
    found = paired_difference(script, ours)  # a seed gives both the same first weights
    points, error = 100 * found.mean, 100 * found.standard_error
    verdict = "is significant" if found.p_value < 0.05 else "may be chance"
    return (
        f"The mean test accuracy of {OURS} is {'higher' if points >= 0 else 'lower'} by "
        f"{abs(points):.2f} ± {error:.2f} points (± the standard error of the paired difference). "
        f"With {len(ours)} seeds, that {verdict} (Student's t-test, p = {found.p_value:.2g})."
    )


def recalibration(results: dict[str, Any]) -> str:
    """Every recalibrator and its peers, by number of samples and classes."""
    parts = [machine(results), f"Times are {results['clock']}."]
    sizes = dict.fromkeys((row["n"], row["k"]) for row in results["rows"])
    for n, k in sizes:
        rows = [row for row in results["rows"] if (row["n"], row["k"]) == (n, k)]
        best = results["true_map"][f"{n}x{k}"]
        methods = dict.fromkeys(row["method"] for row in rows)
        parts += [
            f"### {n:,} samples, {k:,} classes",
            f"The map from which the labels were drawn has an NLL of {best['nll']:.4f} on the "
            f"fitted samples and of {best['nll_new']:.4f} on new ones.",
            captioned(
                f"fits {n} {k}",
                f"One fit of each method to {n:,} samples of {k:,} classes: its time, and the NLL "
                "on these samples and on new ones.",
                fit_table(rows),
            ),
            "\n".join(filter(None, (read_method(rows, method) for method in methods))),
        ]
    return "\n\n".join(parts)


def fit_table(rows: list[dict[str, Any]]) -> Markdown:
    cells = (fit_row(row, ours_of(rows, row["method"]), first=row in firsts(rows)) for row in rows)
    head = ["method", "library", "time", "ratio", "NLL, fitted", "NLL, new"]
    return table(head, cells, numbers=4)


def firsts(rows: list[dict]) -> list[dict]:
    """The first row of each method, which names it."""
    return list({row["method"]: row for row in reversed(rows)}.values())


def ours_of(rows: list[dict], method: str) -> dict | None:
    found = (r for r in rows if (r["method"], r["library"]) == (method, OURS) and "ms" in r)
    return next(found, None)


def fit_row(row: dict, ours: dict | None, first: bool) -> list[str]:
    name = [row["method"] if first else "", row["library"]]
    if "ms" not in row:
        return [*name, row["note"], "", "", ""]
    losses = [x if isinstance(x, str) else f"{x:.4f}" for x in (row["nll"], row["nll_new"])]
    ratio = short(row["ms"] / ours["ms"]) if ours else ""
    return [*name, milliseconds(row["ms"]), ratio, *losses]


def read_method(rows: list[dict], method: str) -> str:
    """The table's result for one method: its fastest peer that fits as well."""
    ours = ours_of(rows, method)
    peers = [
        row
        for row in rows
        if row["method"] == method and not row["library"].startswith(OURS) and "ms" in row
    ]
    if not ours or not peers:
        return ""
    equal = [row for row in peers if as_good(row["nll"], ours["nll"])]
    if not equal:
        better = [row["library"] for row in peers if as_good(row["nll_new"], ours["nll_new"])]
        on_new = f" At least as good on new samples: {'; '.join(better)}." if better else ""
        return f"- {method}: no peer fits these samples as well as {OURS}.{on_new}"
    fastest = min(equal, key=lambda row: row["ms"])
    return (
        f"- {method}: {fastest['library']}, the fastest of the peers that fit as well, takes "
        f"{times(fastest['ms'], ours['ms'])} {OURS}."
    )


def as_good(loss: float | str, than: float | str) -> bool:
    if isinstance(loss, str) or isinstance(than, str):  # infinite
        return isinstance(than, str)
    return loss <= than + SAME_NLL


def rounding(results: dict[str, Any]) -> str:
    """The temperature by the form of the input, and how far rounding to four digits moves it."""

    def worst(library: str) -> float:
        found = []
        for rows in results["networks"].values():
            by_form = {row["form"]: row[library] for row in rows}
            found.append(abs(by_form["4 digits"] / by_form["logits"] - 1))
        return max(found)

    return "\n\n".join(
        [
            machine(results),
            captioned(
                "rounding",
                "The temperature of three networks by the form of their predictions, and the "
                "share of probabilities that are exactly 0.",
                rounding_table(results["networks"]),
            ),
            f"Four digits change the temperature of {OURS} by up to {percent(worst('ours'))} of "
            f"the one from logits, and that of scikit-learn by up to "
            f"{percent(worst('scikit-learn'))}.",
        ]
    )


def rounding_table(networks: dict[str, list[dict[str, Any]]]) -> Markdown:
    cells = (
        [
            name if row["form"] == "logits" else "",
            row["form"],
            percent(row["zeros"]),
            f"{row['ours']:.3f}",
            f"{row['scikit-learn']:.3f}",
        ]
        for name, rows in networks.items()
        for row in rows
    )
    return table(["network", "input", "zeros", f"T, {OURS}", "T, scikit-learn"], cells, numbers=3)


def coverage(results: dict[str, Any]) -> str:
    """The coverage of each interval, by number of samples and by bins."""
    rows = results["rows"]
    errors = list(dict.fromkeys(row["error"] for row in rows))
    names = list(dict.fromkeys(row["name"] for row in rows))
    parts = [
        machine(results, results["date"]),
        f"There are {results['sets']:,} sets in each cell (seed {results['seed']}), and "
        f"{results['repeats']:,} bootstrap samples; the confidences are those of "
        f"{results['predictions']}, rounded to a few numbers in each of {results['bins']} bins of "
        f"equal width. The nominal coverage is {100 * results['level']:g}\N{NO-BREAK SPACE}%; the "
        "mean width of an interval, in points, is in brackets.",
    ]
    for n in dict.fromkeys(row["n"] for row in rows):
        of = {(row["name"], row["error"]): row for row in rows if row["n"] == n}
        parts += [
            f"### {n:,} samples",
            captioned(
                f"coverage {n}",
                f"The coverage of each interval, with {n:,} samples.",
                table(
                    ["interval", *(f"error {100 * e:g}\N{NO-BREAK SPACE}%" for e in errors)],
                    ([name, *(coverage_cell(of[name, e]) for e in errors)] for name in names),
                ),
            ),
        ]
    parts.append(f"The lowest coverage of each in all these tables: {lowest_of_each(rows)}.")
    measured = results["libraries"]
    parts += [
        "### What other libraries offer",
        f"Two libraries have an interval of their own. They and {OURS} get the same sets, "
        f"{measured['sets']:,} in each cell, with unrounded confidences, and {results['bins']} "
        "bins of equal mass. uncertainty-calibration uses the basic bootstrap of 100 samples. "
        "relplot has no bins: it returns the smooth error, and to both sides the longer arm of "
        "such a bootstrap. Because all gaps have the same sign, the true error is the same for "
        "all. With so few sets, a coverage is uncertain by a few points. "
        + machine(measured, measured["date"]),
        captioned(
            "other libraries",
            "The coverage of the intervals of other libraries.",
            by_sets(measured["rows"], "interval", "error"),
        ),
        f"The lowest coverage of each: {lowest_of_each(measured['rows'])}.",
        "### Other bins",
        "The lowest coverage over the same errors, with unrounded confidences.",
        captioned(
            "other bins",
            "The lowest coverage of each interval, with these bins.",
            other_bins(results["other_bins"]),
        ),
        "### Rare positives",
        f"Here {percent(results['rare']['positives'])} of the samples are positive, with "
        f"{results['rare']['sets']:,} sets in each cell. The intervals still cover the error, but "
        "their width, in points in brackets, shows how much they are worth.",
        captioned(
            "rare positives",
            "The coverage of each interval with rare positives, and its width.",
            rare(results["rare"]["rows"]),
        ),
        "### Other shapes of the gaps",
        *hostile(results["hostile"]),
        "### Weighted samples",
        "Each sample has a log-normal weight, of which the logarithm has a standard deviation of "
        f"{results['weighted']['spread']:g}, times a number from 1 to "
        f"{results['weighted']['most_weight']} that is larger for lower confidences. The interval "
        f"should cover the weighted error; there are {results['weighted']['sets']:,} sets in each "
        "cell. The interval without the weights is about a different error. It may cover this one "
        "if the two are close, but there is no guarantee.",
        captioned(
            "weighted samples",
            "The coverage of each interval for the weighted error.",
            by_sets(results["weighted"]["rows"], "method", "weighted_error"),
        ),
    ]
    return "\n\n".join(parts)


def hostile(results: dict[str, Any]) -> list[str]:
    """The coverage where the gaps have other shapes, and what it costs not to know the shape."""
    rows = results["rows"]
    ratios = [row["width"] / row["oracle_width"] for row in rows]
    cells = (
        [
            f"{row['name']}, {row['bins']} bins",
            f"{row['n']:,}",
            percent(row["error"]),
            coverage_cell(row),
            coverage_cell({of: row[f"oracle_{of}"] for of in ("coverage", "width")}),
        ]
        for row in rows
    )
    head = ["gaps", "samples", "error", OURS, "an oracle"]
    return [
        "Gaps whose sign changes from bin to bin, an error that lies in a single bin, predictions "
        "of which 99\N{NO-BREAK SPACE}% are correct in 50 bins, and predictions with only two "
        f"confidences; {results['sets']:,} sets in each row. An oracle knows the shape of the gaps "
        "and has to find only their size, by inverting the simulated distribution of the ECE.",
        captioned(
            "other shapes",
            "The coverage of the interval with gaps of other shapes, and its width beside that of "
            "an oracle.",
            table(head, cells),
        ),
        f"Not to know the shape makes the interval {short(min(ratios))} to {short(max(ratios))} "
        "times as wide as the oracle's, and most so where all error lies in one bin. We have not "
        "narrowed it, because the shape of a real network's gaps is unknown.",
    ]


def blocks(results: dict[str, Any]) -> str:
    """The coverage and the false findings where samples come in blocks."""
    cases, rows = results["cases"], results["rows"]
    names = list(dict.fromkeys(row["name"] for row in rows))
    cells = []
    for number, case in enumerate(cases):
        for name in names:
            own = [row for row in rows if (row["case"], row["name"]) == (number, name)]
            what = case_of_blocks(case) if name == names[0] else ""
            cells.append([what, name, *map(coverage_cell, own)])
    errors = dict.fromkeys(f"error {percent(row['error'])}" for row in rows)
    tests = list(results["false_findings"][0])
    found = zip(cases, results["false_findings"], strict=True)
    return "\n\n".join(
        [
            machine(results, results["date"]),
            f"There are {results['sets']:,} sets in each cell (seed {results['seed']}), with "
            f"{results['bins']} bins; the mean width of an interval, in points, is in brackets. "
            "The share in common is what the samples of a block have in common of what makes them "
            "correct or wrong; at 100\N{NO-BREAK SPACE}% a block is surprising as a whole.",
            captioned(
                "blocks",
                "The coverage of each interval where samples come in blocks.",
                table(["blocks", "interval", *errors], cells),
            ),
            f"The lowest coverage of each: {lowest_of_each(rows)}.",
            captioned(
                "blocks tests",
                "How often each test finds something at a level of 5\N{NO-BREAK SPACE}% where "
                "there is nothing.",
                table(
                    ["blocks", *tests],
                    (
                        [case_of_blocks(case), *(f"{100 * rates[name]:.1f}" for name in tests)]
                        for case, rates in found
                    ),
                    numbers=len(tests),
                ),
            ),
        ]
    )


def case_of_blocks(case: dict[str, Any]) -> str:
    """Such as "100 of 20, 30 % in common, unequal"."""
    parts = [
        f"{case['blocks']} of {case['size']}",
        f"{100 * case['alike']:g}\N{NO-BREAK SPACE}% in common",
    ]
    parts += ["one confidence each"] if case["one_confidence"] else []
    parts += {None: ["sizes of the Senate's races"], 0.0: []}.get(
        case["spread_of_sizes"], ["unequal sizes"]
    )
    return ", ".join(parts)


def rare(rows: list[dict]) -> Markdown:
    """The coverage by interval, bins, number of samples and error."""
    found: dict[tuple, list[str]] = {}
    for row in rows:
        width = "width" if row["strategy"] == "uniform" else "mass"
        key = (row["name"], f"{row['bins']} of equal {width}")
        found.setdefault(key, []).append(coverage_cell(row))
    head = dict.fromkeys(f"{row['n']:,}, error {percent(row['error'])}" for row in rows)
    return table(["interval", "bins", *head], ([*key, *cells] for key, cells in found.items()))


def by_sets(rows: list[dict], first: str, error: str) -> Markdown:
    """The coverage by name, number of samples and the error of this name."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(coverage_cell(row))
    head = dict.fromkeys(f"{row['n']:,}, error {percent(row[error])}" for row in rows)
    return table([first, *head], ([name, *cells] for name, cells in found.items()))


def lowest_of_each(rows: list[dict]) -> str:
    """The lowest coverage of each interval, in words."""
    lowest: dict[str, float] = {}
    for row in rows:
        lowest[row["name"]] = min(lowest.get(row["name"], 1.0), row["coverage"])
    read = (f"{name} {100 * found:.1f}\N{NO-BREAK SPACE}%" for name, found in lowest.items())
    return "; ".join(read)


def percent(part: float) -> str:
    return f"{100 * part:.2g}\N{NO-BREAK SPACE}%" if part > 1e-9 else "0\N{NO-BREAK SPACE}%"


def other_bins(rows: list[dict]) -> Markdown:
    """The lowest coverage over all errors, by interval, bins and number of samples."""
    lowest: dict[str, dict[tuple, float]] = {}
    for row in rows:
        bins = f"{row['bins']} of equal {'width' if row['strategy'] == 'uniform' else 'mass'}"
        found = lowest.setdefault(f"{row['n']:,} samples", {})
        key = (row["name"], bins)
        found[key] = min(found.get(key, 1.0), row["coverage"])
    cells = (
        [*key, *(f"{100 * found[key]:.1f}\N{NO-BREAK SPACE}%" for found in lowest.values())]
        for key in next(iter(lowest.values()))
    )
    return table(["interval", "bins", *lowest], cells)


def coverage_cell(row: dict) -> str:
    return f"{100 * row['coverage']:.1f}\N{NO-BREAK SPACE}% ({100 * row['width']:.1f})"


def false_findings(results: dict[str, Any]) -> str:
    """The false and the true findings of each way to compare."""
    rows = results["rows"]
    names = list(rows[0]["rates"])

    def rates(which: str) -> Markdown:
        return table(
            ["metric", "alike", "deviation by seed, points", "seeds", *names],
            (
                [
                    {"ece": "ECE"}.get(row["metric"], row["metric"]),
                    f"{100 * row['alike']:g}\N{NO-BREAK SPACE}%",
                    f"{100 * row['spread']:g}",
                    row["seeds"],
                    *(f"{100 * row[which][name]:.1f}\N{NO-BREAK SPACE}%" for name in names),
                ]
                for row in rows
            ),
            numbers=len(names),
        )

    most = {name: max(row["rates"][name] for row in rows) for name in names}
    read = (f"{name} {100 * found:.1f}\N{NO-BREAK SPACE}%" for name, found in most.items())
    return "\n\n".join(
        [
            machine(results, results["date"]),
            f"There are {results['sets']:,} pairs of groups in each row (seed {results['seed']}), "
            f"with {results['images']:,} test images and {results['repeats']:,} bootstrap samples "
            "of them.",
            captioned(
                "false findings",
                "How often each way to compare finds a difference although there is none, by how "
                "similar the two runs of a seed are.",
                rates("rates"),
            ),
            f"The highest rate of each in any row: {', '.join(read)}.",
            captioned(
                "true findings",
                "How often each finds that the second group is less accurate by "
                f"{100 * results['worse']:g} points, with unchanged confidences.",
                rates("of_worse"),
            ),
        ]
    )


def verdicts(results: dict[str, Any]) -> str:
    """How often each way to judge finds a model beyond the tolerance, and within it."""
    rows, tolerance = results["rows"], results["tolerance"]
    ways = list(rows[0]["rates"])
    cells = (
        [
            f"{row['rows']:,}",
            row["shape"],
            f"{100 * row['error']:g}",
            *(
                f"{100 * row['rates'][way][outcome]:.0f}\N{NO-BREAK SPACE}%"
                for outcome in ("beyond", "within")
                for way in ways
            ),
        ]
        for row in rows
    )
    wrong = {
        way: max(
            row["rates"][way][outcome]
            for row in rows
            for outcome, false in (
                ("beyond", row["error"] <= tolerance),
                ("within", row["error"] >= tolerance),
            )
            if false
        )
        for way in ways
    }
    read = (f"{way} {100 * most:.0f}\N{NO-BREAK SPACE}%" for way, most in wrong.items())
    head = [f"{outcome}, {way}" for outcome in ("beyond", "within") for way in ways]
    return "\n\n".join(
        [
            machine(results, results["date"]),
            captioned(
                "verdicts",
                f"How often a model is found beyond a tolerance of {100 * tolerance:g} points, and "
                f"within it, of {results['sets']:,} sets in each row.",
                table(["rows", "shape", "true error, points", *head], cells, numbers=len(head)),
            ),
            f"The highest rate of wrong verdicts in any row: {', '.join(read)}.",
        ]
    )


def pages(results: dict[str, Any]) -> str:
    """First text, layout shift, bytes, requests and score of each page, and the slowest of them."""
    rows = results["rows"]
    cells = (
        [
            row["page"].removeprefix("notebooks/"),
            f"{row['first_text_ms'] / 1000:.1f} s",
            f"{row['shift']:.3f}",
            f"{row['bytes'] / 1000:.0f}",
            f"{row['requests']:.0f}",
            row["lighthouse"],
        ]
        for row in rows
    )
    slowest = max(rows, key=lambda row: row["first_text_ms"])
    return "\n\n".join(
        [
            machine(results, count(results["cores"], "core"), results["date"]),
            captioned(
                "pages",
                "Each page on an emulated phone with a slow line.",
                table(
                    ["page", "first text", "shift", "kB", "requests", "Lighthouse"],
                    cells,
                    numbers=5,
                ),
            ),
            f"The slowest page shows its first text after {slowest['first_text_ms'] / 1000:.1f} s; "
            f"the largest shift of any page is {max(row['shift'] for row in rows):.3f}.",
        ]
    )


SECTIONS: dict[str, tuple[str, str, Callable[[dict[str, Any]], str]]] = {
    "ece": (
        "The expected calibration error",
        "The ECE of calibrated float32 predictions with 15 bins: CPU time, the memory used in "
        "addition to the data, and the difference from the ECE of exact sums. The ratio is to one "
        "pass over the array; for the stream in batches, where the metric is updated batch by "
        f"batch, it is to {OURS}.",
        ece,
    ),
    "audit_folder": (
        "A report on a folder of files",
        "A month of calibrated predictions in Parquet files, read as a stream: wall time, and the "
        "largest resident set of any process. The ratio is to a bare scan of the same columns. "
        "DuckDB and pandas compute the sums of bins by region and day, and nothing else.",
        audit_folder,
    ),
    "coverage": (
        "Intervals of the calibration error",
        "How often does an interval contain the calibration error of the network? Here the error "
        "is known: a prediction with confidence c is correct with probability c \N{MINUS SIGN} b c "
        "(1 \N{MINUS SIGN} c), and b sets the "
        f"error. {OURS} has `calibration_error_interval`. The percentile bootstrap takes the "
        "middle of the errors of bootstrap samples, the basic one mirrors it at the ECE, and BCa "
        "(Efron 1987) corrects it for bias and acceleration. The "
        "triangle inequality takes the ECE and, to both sides, the 95\N{NO-BREAK SPACE}% quantile "
        "of the noise summed over all bins. The last two are for the root mean square of the gaps "
        "of the same networks: `debiased_calibration_error_interval`, and the debiased square "
        "with a normal error to both sides.",
        coverage,
    ),
    "blocks": (
        "Samples that come in blocks",
        "How often does an interval contain the error if samples belong together, such as the days "
        f"of a race or the visits of a patient? {OURS} has `calibration_error_interval`, "
        "`calibration_test` and `paired_difference` with `blocks=`, and the same without it. The "
        "percentile bootstrap draws whole blocks, and fails for small errors as it does without "
        "blocks.",
        blocks,
    ),
    "uncertainty": (
        "Interval, baseline, smooth error and diagram",
        "The cost of judging an ECE, on calibrated predictions: CPU time, and the result. The "
        f"ratio is to {OURS}. It matters less that a bootstrap of the ECE is slower than that its "
        "intervals do not contain the true error, which is 0.",
        uncertainty,
    ),
    "false_findings": (
        "Comparing groups of runs",
        "How often is a difference found although there is none? Two groups of simulated networks "
        "of the same quality differ by their seeds and by which images are hard for them, and the "
        "two runs of a seed may be similar; a p-value below 0.05 should occur at most once in "
        f"twenty times. {OURS} is `compare`, which pairs the runs by their seed and combines both "
        "sources of randomness. The alternatives are the same without pairs; the pairs with one "
        "standard error for both sources and Satterthwaite's degrees of freedom, which finds too "
        "much with few seeds; the t-test of the pairs alone, without the choice of images; and "
        "the bootstrap of the test images alone. The findings in the second table count only for "
        "methods that do not find too much in the first.",
        false_findings,
    ),
    "verdicts": (
        "The verdict of a report",
        "How often is a model found to be beyond a tolerance, or within it, if its true error is "
        "known? The log-odds of the scores are normal, and the chances are off in one of three "
        "ways. `calib_utils.audit` judges by the largest error in bins of equal width, in bins of "
        "equal mass and on the two sides of Cox's line, with one error rate for all three. The "
        "alternative is to judge by bins alone. A model whose error is the tolerance should be "
        "found beyond it in one set of twenty at most, and as seldom within it.",
        verdicts,
    ),
    "recalibration": (
        "Fitting the recalibrators",
        "Each method of the {ref}`chapter on methods <methods-for-many-classes>` and the libraries "
        "that have it, on logits that are twice as large as they should be: CPU time of one fit, "
        f"and the NLL that it reaches. The ratio is to {OURS}. A lower NLL on the fitted samples "
        "means that the fit came closer to its optimum; on new samples it may mean the opposite.",
        recalibration,
    ),
    "rounding": (
        "The temperature from rounded probabilities",
        "Where only probabilities are known, rounding and underflow leave exact zeros, which have "
        "no logarithm, so the temperature depends on what they count as. scikit-learn's is that of "
        "`CalibratedClassifierCV`, which adds 1e-12 to each probability.",
        rounding,
    ),
    "training": (
        "Training a network",
        "ResNet-34 on CIFAR-100 with the recipe of the {ref}`lab <resnet34-lab>`, compared with "
        "the script that most tutorials use: the workers of a DataLoader prepare images one by "
        "one, and all arithmetic is in float32. Both train on the same images, and their epochs "
        "alternate. Times are medians over all epochs; ± is the standard deviation over the "
        "seeds.",
        training,
    ),
    "pages": (
        "The pages of the course",
        "How soon can a page be read on a phone with a slow connection? The phone is emulated "
        "with Lighthouse's constants: a round trip of 150 ms, 1.6 Mbit/s, and a processor four "
        "times as slow. The first text is the time until something can be read, the shift "
        "measures how far elements move while a page loads, and the bytes are as a server sends "
        "them. All numbers are medians of three visits. Lighthouse's score is the lowest of its "
        "four categories, each of 100.",
        pages,
    ),
}


def main(target: Path) -> None:
    parts = []
    for name, (title, about, section) in SECTIONS.items():
        path = RESULTS / f"{name}.json"
        if path.exists():  # measured
            results = json.loads(path.read_text("utf-8"))
            parts += [f"## {title}", f"{about} (`benchmarks/{name}.py`)", section(results)]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n\n".join(parts) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
