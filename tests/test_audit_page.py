"""The page of a report, in a browser: it shows all parts, to everyone, and asks for nothing."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib_utils.audit import Report, report
from calib_utils.audit.bin_sums import BinSums, tally
from calib_utils.audit.drawings import bars_of, is_rare

pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"
HEADINGS = [
    "What was read",
    "How far promise and truth lie apart",
    "Where they lie apart",
    "What would repair it",
    "Classes and groups",
    "Over time",
    "What decisions cost",
    "Where this comes from",
]


@pytest.fixture(scope="module")
def everything() -> Report:
    rng = np.random.default_rng(0)
    score = rng.beta(1, 2, 3_000)
    data = {
        "score": score,
        "label": (rng.random(3_000) < score**1.4).astype(int),
        "site & ward": np.array(["가", "b", EVIL])[rng.integers(3, size=3_000)],
        "date": np.datetime64("2026-01-01") + rng.integers(0, 12, 3_000),
    }
    return report(data, group="site & ward", time="date:D", prices=(1, 5), command="a <b>")


def rare(n: int = 200_000) -> Report:
    rng = np.random.default_rng(0)
    score = np.minimum(rng.gamma(0.1, 0.003, n), 0.5)
    data = {"score": score, "label": (rng.random(n) < 2 * score).astype(int)}
    return report(data, cross_fit=0, tolerance=1e-4)


def test_all_parts_for_everyone_and_nothing_asked_for(
    everything: Report, browser: Any, tmp_path: Path
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    everything.write(html=tmp_path / "report.html")
    for scheme, width in (("light", 1000), ("dark", 375)):
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
        tab = context.new_page()
        asked: list[str] = []
        said: list[str] = []
        tab.on("request", lambda request, asked=asked: asked.append(request.url))
        tab.on("console", lambda line, said=said: said.append(line.text))
        tab.on("pageerror", lambda error, said=said: said.append(str(error)))
        tab.goto((tmp_path / "report.html").as_uri(), wait_until="load")
        assert tab.locator("h2").all_inner_texts() == HEADINGS
        assert everything.verdict.sentence in tab.locator(".verdict").inner_text()
        assert tab.locator("svg[role=img]").count() == 3
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        violations = Axe().run(tab).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in violations] == []
        tab.emulate_media(media="print", color_scheme=scheme)
        assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )
        context.close()
        assert asked == [(tmp_path / "report.html").as_uri()]
        assert said == []


def test_the_calibrator_is_in_the_page(everything: Report, browser: Any, tmp_path: Path) -> None:
    from calib_utils.recalibration import load

    everything.write(html=tmp_path / "report.html")
    context = browser.new_context(accept_downloads=True)
    tab = context.new_page()
    tab.goto((tmp_path / "report.html").as_uri())
    with tab.expect_download() as waiting:
        tab.get_by_text("Download calibrator.npz").click()
    waiting.value.save_as(tmp_path / "calibrator.npz")
    context.close()
    values = np.array([0.1, 0.6])
    assert everything.calibrator is not None
    expected = everything.calibrator.predict_proba(values)
    assert np.array_equal(load(tmp_path / "calibrator.npz").predict_proba(values), expected)


def test_what_comes_from_the_data_is_no_markup(everything: Report) -> None:
    page = everything.html()
    assert EVIL not in page
    assert "a <b>" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"<script|<link|<img|@import|url\(|src=", page)


def test_the_page_is_the_same_from_the_same_rows(everything: Report) -> None:
    assert everything.html() == everything.html()


def test_rare_events_are_seen() -> None:
    """Thirty in a hundred thousand: bins that differ, on axes that show them."""
    found = rare()
    assert is_rare(found.bins)
    bars = bars_of(found.bins, found.cells)
    assert len(bars) >= 4
    assert sum(bar[2] for bar in bars) == 200_000
    assert sum(bar[2] * bar[1] for bar in bars) == pytest.approx(
        found.measures.happened * found.measures.n
    )
    page = found.html()
    assert "logarithmic" in page
    places = [float(x) for x in re.findall(r'class="dot[^"]*" cx="([\d.]+)"', page)]
    assert max(places) - min(places) > 100
    ece = page.partition("ECE, 15 bins")[2].partition("</td>")[0]
    assert "0.0 %" not in ece.replace("\N{NO-BREAK SPACE}", " ")


def test_the_band_holds_what_is_calibrated() -> None:
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(40):
        score = rng.random(1_000)
        label = rng.random(1_000) < score
        bins = BinSums(tally(score, label, (15 * score).astype(int), 15))
        inside += [bar[3] <= bar[1] <= bar[4] for bar in bars_of(bins, bins)]
    assert 0.93 < np.mean(inside) < 0.99


def test_without_jinja_there_is_text(everything: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"Jinja2.*calib_utils\[report\]"):
        everything.html()
    assert everything.text().startswith(everything.verdict.sentence)
