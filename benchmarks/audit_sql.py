"""The sums of `calib_audit.sql` from other engines beside those of DuckDB, once.

Postgres has to run, with a database that ``psql`` reaches by the variables of its environment
(``PGHOST``, ``PGUSER``, ``PGDATABASE``); Spark takes Java, and a folder of its own. Then

    pip install --target build/spark pyspark
    PYTHONPATH=build/spark python -m benchmarks.audit_sql

writes how many of the sums are equal to ``benchmarks/results/audit_sql.json``.
"""

from __future__ import annotations

import importlib
import subprocess
import tempfile
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.measured import facts, store
from calib_audit import Report, report
from calib_audit.sql import query

ROWS = 100_000
ANIMALS = ["cat", "dog", "hen"]
COLUMNS = ", ".join(
    [
        "score double precision, logit_score double precision, label bigint, region text",
        "day timestamp, weight double precision, patient bigint, animal text",
        *(f"prob_{name} double precision" for name in ANIMALS),
        *(f"logit_of_{name} double precision" for name in ANIMALS),
    ]
)
CASES: dict[str, dict[str, Any]] = {
    "groups and days": {"score": "score", "group": ["region"], "time": "day:D"},
    "log-odds": {"score": "logit_score"},
    "weights": {"score": "score", "weight": "weight", "group": ["region"]},
    "classes": {"score": "prob_*", "label": "animal", "classes": ANIMALS, "group": ["region"]},
    "logits": {"score": "logit_of_*", "label": "animal", "classes": ANIMALS, "time": "day:W"},
    "blocks": {"score": "score", "blocks": "patient", "group": ["region"]},
    "blocks of classes": {
        "score": "prob_*",
        "label": "animal",
        "classes": ANIMALS,
        "blocks": "patient",
    },
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows, sums = Path(folder) / "rows.csv", Path(folder) / "sums.csv"
        duckdb.sql(f"CREATE TABLE log ({COLUMNS.replace('precision', '')})")
        write(rows)
        duckdb.sql(f"COPY log FROM '{rows}' (HEADER)")
        engines = {"postgres": postgres(rows), "spark": spark(rows)}
        outcomes: dict[str, dict[str, Any]] = {}
        for (name, options), (engine, (_, ask)) in product(CASES.items(), engines.items()):
            options = {"label": "label", "table": "log"} | options
            relation = duckdb.sql(query(**options))
            assert relation is not None
            own = relation.to_arrow_table()
            ask(query(dialect=engine, **options), sums)
            outcomes.setdefault(engine, {})[name] = found = beside(report(own), report(sums))
            found["sums"] = len(own)
            print(engine, name, found, flush=True)
        about = {"rows": ROWS} | {engine: version for engine, (version, _) in engines.items()}
        store("audit_sql", {"facts": about | facts("duckdb"), "outcomes": outcomes})


def beside(one: Report, two: Report) -> dict[str, Any]:
    """How the reports on both sums differ."""
    return {
        "bins_equal": bool((one.bins.array == two.bins.array).all()),
        "parts_equal": one.groups.keys() == two.groups.keys()
        and all(
            (a.bins.array == b.bins.array).all()
            for mine, theirs in ((one.groups, two.groups), ({"": one.classes}, {"": two.classes}))
            for key in mine
            for a, b in zip(mine[key], theirs[key], strict=True)
        ),
        "days_equal": one.times == two.times,
        "cells_that_differ": int((one.cells.array != two.cells.array).any(axis=0).sum()),
        "nll_differs_by": abs(one.measures.nll - two.measures.nll),
        "same_verdict": one.verdict.outcome == two.verdict.outcome,
    }


def write(path: Path) -> None:
    """Scores of one regime, with some at the ends and on edges of bins."""
    rng = np.random.default_rng(0)
    score = rng.beta(1, 4, ROWS)
    score[:60] = np.repeat([0.0, 1.0, 0.2, 3 / 5, 1e-12, 2 / 3], 10)
    kept = np.clip(score, 1e-12, 1 - 1e-12)
    label = (rng.random(ROWS) < score).astype(int)
    logits = 2 * rng.normal(size=(ROWS, 3))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    columns = {
        **{"score": score, "logit_score": np.log(kept / (1 - kept)), "label": label},
        "region": rng.choice(["north", "south", "abroad"], ROWS),
        "day": np.datetime64("2026-06-01", "s") + rng.integers(0, 30 * 24, ROWS) * 3600,
        "weight": np.where(label == 1, 1.0, 20.0),
        "patient": rng.integers(0, 200, ROWS),
        "animal": np.array(ANIMALS)[(logits / 1.5 + rng.gumbel(size=(ROWS, 3))).argmax(axis=1)],
        **{f"prob_{name}": probs[:, k] for k, name in enumerate(ANIMALS)},
        **{f"logit_of_{name}": logits[:, k] for k, name in enumerate(ANIMALS)},
    }
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    text = "\n".join(",".join(map(str, line)) for line in lines)
    path.write_text(",".join(columns) + "\n" + text + "\n", "utf-8")


def postgres(rows: Path) -> tuple[str, Callable[[str, Path], Any]]:
    """Its version, and what writes the answer to a query."""
    psql(f"DROP TABLE IF EXISTS log; CREATE TABLE log ({COLUMNS});")
    psql(f"\\copy log FROM '{rows}' CSV HEADER")

    def ask(asked: str, path: Path) -> None:
        path.write_text(psql(f"COPY ({asked}) TO STDOUT CSV HEADER"), "utf-8")

    return psql("SHOW server_version").strip(), ask


def spark(rows: Path) -> tuple[str, Callable[[str, Path], Any]]:
    """The same of Spark, on this machine alone."""
    builder = importlib.import_module("pyspark.sql").SparkSession.builder
    session = builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    kinds = COLUMNS.replace("double precision", "double").replace(" text", " string")
    session.read.csv(str(rows), schema=kinds, header=True).createOrReplaceTempView("log")

    def ask(asked: str, path: Path) -> None:
        session.sql(asked).toPandas().to_csv(path, index=False)

    return session.version, ask


def psql(asked: str) -> str:
    done = subprocess.run(
        ["psql", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"],
        input=asked,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
