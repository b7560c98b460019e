"""A report on a folder of files beside what a user would write instead, in one run.

It needs packages that the course does not: ``pip install duckdb==1.3.2 pandas==2.3.1``; contenders
whose package is missing are left out. Then

    python -m benchmarks.audit_folder --data FOLDER

writes a month of 100 million rows of (score, label, region, day) in 50 Parquet files to FOLDER, and
a fifth as many rows of ten classes, 2.6 GB in all, unless they are there already. Each contender
runs in a process of its own, and the files are in the cache. They take turns, and the time is the
least of three runs; those that take longer than half a minute run once. It is wall time from the
start of the process to its end. Memory is the largest resident set of any process of
a contender. The table goes to ``benchmarks/results/audit_folder.json``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measured import facts, store

FILES, CLASSES, SEED = 50, 10, 0
RUNS, LONG = 3, 30.0  # seconds
REGIONS = ["north", "south", "east", "west", "abroad"]
SCAN = """
import pyarrow.dataset as ds
columns = {columns!r}
print(sum(len(b) for b in ds.dataset({folder!r}).to_batches(columns=columns)))
"""
DUCKDB = """
import duckdb
print(len(duckdb.sql('''
    SELECT least(floor(score * 15), 14) AS bin, region, day, count(*), sum(label), sum(score),
           sum((score - label) * (score - label)), sum(score * (1 - score))
    FROM '{folder}/*.parquet' GROUP BY ALL''').fetchall()))
"""
PANDAS = """
import pandas as pd
import pyarrow.dataset as ds
columns = ["score", "label", "region", "day"]
parts = []
for batch in ds.dataset({folder!r}).to_batches(columns=columns, batch_size=1_000_000):
    frame = batch.to_pandas()
    frame["bin"] = (frame.score * 15).astype(int).clip(upper=14)
    frame["square"] = (frame.score - frame.label) ** 2
    frame["spread"] = frame.score * (1 - frame.score)
    by = frame.groupby(["bin", "region", "day"])
    parts.append(by[["label", "score", "square", "spread"]].agg("sum").assign(n=by.size()))
print(len(pd.concat(parts).groupby(level=[0, 1, 2]).sum()))
"""
HERE = """
from calib_audit import report
print(report({folder!r}, **{options!r}).measures.ece)
"""
# At the end of each program. Not ru_maxrss, which begins with that of the process that started it.
PEAK = r"""
import pathlib, re, resource
own = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1])
print("peak", max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    args = parser.parse_args()
    tables = {}
    for name, n, make in (
        ("score, label, region, day", args.rows, month),
        (f"{CLASSES} classes", args.rows // 5, several_classes),
    ):
        folder = args.data / f"{make.__name__}-{n}"
        if not folder.exists():
            write(folder, n, make)
        tables[f"{n} rows of {name}"] = measured(contenders(str(folder), make is month))
    about = {"files": FILES, "seed": SEED, "runs": RUNS, "cores": len(os.sched_getaffinity(0))}
    about |= facts("numpy", "pyarrow", "duckdb", "pandas")
    store("audit_folder", {"facts": about, "tables": tables})


def contenders(folder: str, binary: bool) -> dict[str, str]:
    """The program of each; first the bare scan, to compare with."""
    columns = ["label", *(f"prob_{k}" for k in range(CLASSES))]
    options: dict[str, Any] = {}
    if binary:
        columns = ["score", "label", "region", "day"]
        options = {"group": "region", "time": "day:D"}
    programs = {"a bare scan by pyarrow.dataset": SCAN.format(folder=folder, columns=columns)}
    if binary and find_spec("duckdb"):
        programs["a query by DuckDB"] = DUCKDB.format(folder=folder)
    if binary and find_spec("pandas"):
        programs["pandas, chunk by chunk"] = PANDAS.format(folder=folder)
    programs["a report"] = HERE.format(folder=folder, options=options | {"cross_fit": 0})
    programs["a report, with recalibrators"] = HERE.format(folder=folder, options=options)
    return programs


def measured(programs: dict[str, str]) -> list[dict[str, Any]]:
    """Seconds, the ratio to the first, and memory of each."""
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    run(next(iter(programs.values())))  # brings the files into the cache
    for _ in range(RUNS):
        for name, program in programs.items():
            if not runs[name] or runs[name][0][0] < LONG:
                runs[name].append(run(program))
    rows: list[dict[str, Any]] = []
    for name, found in runs.items():
        seconds, mb = min(each[0] for each in found), max(each[1] for each in found)
        ratio = seconds / rows[0]["seconds"] if rows else 1.0
        rows.append({"name": name, "seconds": seconds, "ratio": ratio, "mb": mb})
    return rows


def run(program: str) -> tuple[float, float]:
    """Seconds, and the memory of the largest process in MB."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program + PEAK], stdout=subprocess.PIPE, text=True, check=True
    )
    seconds = time.perf_counter() - start
    return seconds, int(done.stdout.split()[-1]) * 1024 / 1e6


def month(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Calibrated scores."""
    import pyarrow as pa

    score = rng.beta(0.5, 3, n)
    codes = rng.integers(len(REGIONS), size=n, dtype=np.int32)
    return {
        "score": score,
        "label": (rng.random(n) < score).astype(np.int8),
        "region": pa.DictionaryArray.from_arrays(codes, REGIONS).cast(pa.string()),
        "day": np.datetime64("2026-06-01") + rng.integers(30, size=n),
    }


def several_classes(n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Calibrated probabilities of several classes."""
    logits = 2 * rng.normal(size=(n, CLASSES))
    label = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    return {"label": label} | {f"prob_{k}": probs[:, k] for k in range(CLASSES)}


def write(folder: Path, n: int, make: Any) -> None:
    """So many rows in files of equal length."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    unfinished = folder.with_suffix(".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    for k in range(FILES):
        rows = make(n // FILES, np.random.default_rng([SEED, k]))
        parquet.write_table(pa.table(rows), unfinished / f"part-{k:02}.parquet")
    unfinished.rename(folder)


if __name__ == "__main__":
    main()
