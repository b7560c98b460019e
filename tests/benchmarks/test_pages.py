"""What a visit on a slow line measures, on a page that we made."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from benchmarks.pages import ROUND_TRIP_MS, visit
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
