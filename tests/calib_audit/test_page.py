"""The page of a report, in a browser: it shows all parts, to everyone, and asks for nothing."""

from __future__ import annotations

import re
import sys
from dataclasses import make_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib_audit import Report, report, table_rows
from calib_audit.bin_sums import BinSums
from calib_audit.page import bars_of, is_rare
from calib_utils.metrics.bins import tally

pytest.importorskip("jinja2")

EVIL = "<script>alert(1)</script>"
HEADINGS = [
    "What was read",
    "How far predictions are from what happened",
    "Where they differ",
    "What recalibration does",
    "Classes and groups",
    "Over time",
    "What decisions cost",
    "Where this comes from",
]


@pytest.fixture(scope="module")
def everything() -> Report:
    rng = np.random.default_rng(0)
    data, other = (
        {
            "score": score,
            "label": (rng.random(3_000) < score**1.4).astype(int),
            "site & ward": np.array(["가", "b", EVIL])[rng.integers(3, size=3_000)],
            "date": np.datetime64("2026-01-01") + rng.integers(0, 12, 3_000),
        }
        for score in rng.beta(1, 2, (2, 3_000))
    )
    options: dict[str, Any] = {"group": "site & ward", "time": "date:D", "prices": (1, 5)}
    return report(data, **options, fit=other)


@cache
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
    expected = everything.calibrator.predict_proba(values)
    assert np.array_equal(load(tmp_path / "calibrator.npz").predict_proba(values), expected)


def test_what_comes_from_the_data_is_no_markup(everything: Report) -> None:
    page = everything.html()
    assert EVIL not in page
    assert "a <b>" not in page
    assert "&lt;script&gt;" in page
    # A picture refers to its own parts.
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)|src=|href=\"(?!#|data:)", page)


@pytest.mark.parametrize("name", ["PartRow", "SpanRow"])
def test_a_column_that_is_added_has_a_head_and_breaks_nothing(
    everything: Report, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As the next person adds it: last in the dataclass of its rows."""

    def tables(page: str) -> list[tuple[int, set[int]]]:
        """Of each table how many heads it has, and how many cells its rows have."""
        found = re.findall(r"<thead>(.*?)</thead>\s*<tbody>(.*?)</tbody>", page, re.DOTALL)
        return [
            (head.count("<th "), {len(re.findall(r"<t[hd]\b", row)) for row in rows})
            for head, body in found
            for rows in [body.split("<tr")[1:]]
        ]

    def marked(page: str) -> list[str]:
        return re.findall(r'<tr class="\w+">|<td class="state">\w+', page)

    before = everything.html()
    assert '<tr class="beyond">' in before
    column = table_rows._column("one more", default="7")
    more = make_dataclass(
        name, [("more", str, column)], bases=(getattr(table_rows, name),), frozen=True
    )
    monkeypatch.setattr(table_rows, name, more)
    after = everything.html()
    assert ">one more</th>" in after
    assert marked(after) == marked(before)
    assert [cells == {heads} for heads, cells in tables(after)] == [True] * len(tables(before))


def test_pictures_are_of_the_page(everything: Report) -> None:
    """In its colours and its font, with names that no other picture has, and described."""
    for page in (everything.html(), rare().html()):
        pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        drawn = "".join(pictures)
        assert not re.search(r"#[0-9a-fA-F]{6}|DejaVu|<style|<metadata|<\?xml", drawn)
        variables = set(re.findall(r"var\((--\w+)\)", drawn))
        assert {"--blue", "--orange", "--quiet", "--ink"} <= variables
        for variable in variables:
            assert len(re.findall(f"{variable}: ", page)) == 2  # in light, and in dark
        names = re.findall(r'\bid="([^"]+)"', page)
        assert len(names) == len(set(names))
        referred = set(re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', drawn))
        assert {one or other for one, other in referred} <= set(names)
        for picture in pictures:
            (title, text) = re.findall(r'aria-labelledby="(\S+) (\S+)"', picture)[0]
            assert {title, text} <= set(names)
            assert len(re.findall(r"<desc[^>]*>(.*?)</desc>", picture)[0]) > 40


def test_the_diagram_shows_the_bins() -> None:
    """Its bars end where rows are right, on the scale of its own axis."""
    data = {"score": np.repeat([0.1, 0.5, 0.9], 100), "label": np.arange(300) % 100 < 40}
    page = report(data, cross_fit=0, n_bins=3).html()
    top, bottom = 0.0, 0.0
    for y, text in re.findall(r'y="([\d.]+)" [^>]*>([\d.]+)</text>', page):
        top, bottom = (
            (float(y), bottom) if text == "1.0" else (top, float(y) if text == "0.0" else bottom)
        )
    (bars,) = re.findall(r'<path d="([^"]+)"[^>]*fill: var\(--blue\)', page)[:1]
    heights = {round(float(y), 3) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", bars)}
    assert len(heights) == 2  # the axis, and 40 of 100
    assert (max(heights) - min(heights)) / (bottom - top) == pytest.approx(0.4, abs=0.01)


def test_rare_events_are_seen() -> None:
    """Thirty in a hundred thousand: bins that differ, on axes that show them."""
    found = rare()
    assert is_rare(found.bins)
    bars = bars_of(found.bins, found.cells)
    assert len(bars) >= 4
    assert sum(bar.n for bar in bars) == 200_000
    assert sum(bar.n * bar.happened for bar in bars) == pytest.approx(
        found.measures.happened * found.measures.n
    )
    page = found.html()
    assert "logarithmic" in page
    dots = [mark for mark in re.findall("<use[^>]+>", page) if re.search("--(blue|orange)", mark)]
    places = [float(re.findall(r' x="([\d.]+)"', dot)[0]) for dot in dots]
    assert len(places) == len(bars)
    assert max(places) - min(places) > 80
    ece = page.partition("ECE, 15 bins")[2].partition("</td>")[0]
    assert "0.0 %" not in ece.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("score", "label"),
    [
        ([0.5], [1]),
        ([1.0, 1.0], [1, 1]),
        ([0.0, 0.0, 0.001], [0, 0, 1]),
        ([0.0] * 100, [0] * 99 + [1]),
        ([1e-9] * 100, [0] * 100),
    ],
)
def test_few_rows_and_extreme_ones_are_drawn(score: list[float], label: list[int]) -> None:
    data = {"score": score, "label": label, "date": ["2026-01-01"] * len(score)}
    page = report(data, cross_fit=0, time="date", prices=(1, 2)).html()
    assert page.count("<svg") == 3


def test_the_band_holds_what_is_calibrated() -> None:
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(40):
        score = rng.random(1_000)
        label = rng.random(1_000) < score
        bins = BinSums(tally(score, label, (15 * score).astype(int), 15))
        inside += [not bar.outside for bar in bars_of(bins, bins)]
    assert 0.93 < np.mean(inside) < 0.99


def test_without_jinja_there_is_text(everything: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"Jinja2.*pip install jinja2 "):
        everything.html()
    assert everything.text().startswith(everything.verdict.sentence)
