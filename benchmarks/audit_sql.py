"""The sums of `calib_audit.sql` from other databases beside those of DuckDB, once.

Postgres has to run, with a database that ``psql`` reaches by the variables of its environment
(``PGHOST``, ``PGUSER``, ``PGDATABASE``). Then

    python -m benchmarks.audit_sql

writes how many of the sums are equal to ``benchmarks/results/audit_sql.json``.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.measured import facts, store
from calib_audit import report
from calib_audit.sql import query

ROWS = 100_000
COLUMNS = (
    "score double precision, logit_score double precision, label bigint, region text, "
    "day timestamp, weight double precision"
)
CASES: dict[str, dict[str, Any]] = {
    "groups and days": {"score": "score", "group": ["region"], "time": "day:D"},
    "log-odds": {"score": "logit_score"},
    "weights": {"score": "score", "weight": "weight", "group": ["region"]},
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows, sums = Path(folder) / "rows.csv", Path(folder) / "sums.csv"
        duckdb.sql(f"CREATE TABLE log ({COLUMNS.replace('precision', '')})")
        write(rows)
        duckdb.sql(f"COPY log FROM '{rows}' (HEADER)")
        psql(f"DROP TABLE IF EXISTS log; CREATE TABLE log ({COLUMNS});")
        psql(f"\\copy log FROM '{rows}' CSV HEADER")
        outcomes = {}
        for name, options in CASES.items():
            relation = duckdb.sql(query(label="label", table="log", **options))
            assert relation is not None
            own = relation.to_arrow_table()
            asked = query(label="label", table="log", dialect="postgres", **options)
            sums.write_text(psql(f"COPY ({asked}) TO STDOUT CSV HEADER"), "utf-8")
            one, two = report(own), report(sums)
            outcomes[name] = {
                "sums": len(own),
                "bins_equal": bool((one.bins.array == two.bins.array).all()),
                "groups_equal": one.groups.keys() == two.groups.keys()
                and all(
                    (a.bins.array == b.bins.array).all()
                    for key in one.groups
                    for a, b in zip(one.groups[key], two.groups[key], strict=True)
                ),
                "days_equal": one.times == two.times,
                "cells_that_differ": int((one.cells.array != two.cells.array).any(axis=0).sum()),
                "nll_differs_by": abs(one.measures.nll - two.measures.nll),
                "same_verdict": one.verdict.outcome == two.verdict.outcome,
            }
            print(name, outcomes[name])
        about = {"rows": ROWS, "postgres": psql("SHOW server_version").strip()}
        store("audit_sql", {"facts": about | facts("duckdb"), "outcomes": outcomes})


def write(path: Path) -> None:
    """Scores of one regime, with some at the ends and on edges of bins."""
    rng = np.random.default_rng(0)
    score = rng.beta(1, 4, ROWS)
    score[:60] = np.repeat([0.0, 1.0, 0.2, 3 / 5, 1e-12, 2 / 3], 10)
    kept = np.clip(score, 1e-12, 1 - 1e-12)
    label = (rng.random(ROWS) < score).astype(int)
    columns = {
        **{"score": score, "logit_score": np.log(kept / (1 - kept)), "label": label},
        "region": rng.choice(["north", "south", "abroad"], ROWS),
        "day": np.datetime64("2026-06-01", "s") + rng.integers(0, 30 * 24, ROWS) * 3600,
        "weight": np.where(label == 1, 1.0, 20.0),
    }
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    text = "\n".join(",".join(map(str, line)) for line in lines)
    path.write_text(",".join(columns) + "\n" + text + "\n", "utf-8")


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
