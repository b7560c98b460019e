"""What a visit on a slow line measures, on a page that we made, and how the page tells it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from benchmarks.pages import ROUND_TRIP_MS, TARGET, visit
from benchmarks.tables import pages
from tools.finishing.browser import served

STYLE = "p { color: black }"


def test_a_visit_counts_bytes_and_requests_and_waits_for_the_line(
    browser: Any, tmp_path: Path
) -> None:
    noise = "".join(f"{k * k * 7919 % 100_003:x}" for k in range(40_000))  # packs badly
    text = f'<!DOCTYPE html><link rel="stylesheet" href="a.css"><p>Read me.<!-- {noise} -->'
    (tmp_path / "a.html").write_text(text, "utf-8")
    (tmp_path / "a.css").write_text(STYLE, "utf-8")
    with served(tmp_path) as address:
        found = visit(browser, f"{address}a.html")
    sent = len(gzip.compress(text.encode())) + len(gzip.compress(STYLE.encode()))
    # Beside what is sent there are heads, and an icon that a browser asks for.
    assert sent < found["bytes"] < sent + 2000
    assert found["requests"] in (2, 3)
    assert found["shift"] == 0
    # The page and its style sheet come one after the other.
    assert found["first_text_ms"] > 2 * ROUND_TRIP_MS


def test_the_table_names_the_slowest_page() -> None:
    row = {
        "first_text_ms": 900.0,
        "shift": 0.0,
        "bytes": 99_600.0,
        "requests": 4.0,
        "lighthouse": 97,
    }
    said = pages(
        {
            "cpu": "A processor",
            "cores": 2,
            "date": "2026-05-01",
            "versions": {"Chromium": "150"},
            "rows": [
                {"page": "book/intro", **row},
                {"page": "notebooks/ece-and-mce", **row, "first_text_ms": 1249.0, "shift": 0.02},
            ],
        }
    )
    assert "A processor, 2 cores, 2026-05-01. Chromium 150." in said
    assert "| ece-and-mce | 1.2 s | 0.020 | 100 | 4 | 97 |" in said
    assert "after 1.2 s; the largest shift of any page is 0.020." in said


def test_no_page_is_heavy_or_below_95_of_lighthouses_points() -> None:
    rows = json.loads(TARGET.read_text("utf-8"))["rows"]
    assert {row["page"]: row["bytes"] for row in rows if row["bytes"] > 350_000} == {}
    assert {row["page"]: row["lighthouse"] for row in rows if row["lighthouse"] < 95} == {}
