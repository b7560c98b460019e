"""The figures that compute in the browser, against the module, and their tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from calib_utils.metrics import (
    brier_score,
    expected_calibration_error,
    maximum_calibration_error,
)
from tests.book.script_page import script_page
from tools.finishing.browser import PHONE

MIDDLES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
SET = """(stage, states) => states.map((values) => {
  [...stage.querySelectorAll("input")].forEach((input, i) => {
    input.value = values[i];
    input.dispatchEvent(new Event("input"));
  });
  const lines = [...stage.querySelectorAll("dl div")];
  return lines.map((line) => [...line.children].map((one) => one.textContent));
})"""


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    body = '<div class="playground-bars"></div>'
    with script_page(browser, body, "playground.js", viewport=PHONE) as tab:
        yield tab


def hold(tab: Any, stage: str, states: list[list[float]]) -> list[dict[str, str]]:
    """The numbers that are shown once all sliders stand at the values of each state."""
    return [dict(found) for found in tab.locator(stage).evaluate(SET, states)]


def percent(text: str) -> float:
    return float(text.removesuffix("\u00a0%")) / 100


def test_the_bars_are_measured_as_the_module_does(tab: Any) -> None:
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(200):
        counts = rng.choice([0, 20, 40, 100], size=5)
        counts[rng.integers(5)] = 20
        hits = rng.binomial(20, rng.random(5))  # of twenty, so that each is a whole number
        drawn.append((counts, hits))
    states = [np.stack([hits / 20, counts], axis=1).ravel().tolist() for counts, hits in drawn]
    shown = hold(tab, ".playground-bars", states)
    for (counts, hits), found in zip(drawn, shown, strict=True):
        confidence = np.repeat(MIDDLES, counts)
        correct = np.concatenate(
            [np.arange(n) < n * k // 20 for n, k in zip(counts, hits, strict=True)]
        ).astype(int)
        for name, metric in (
            ("ECE", expected_calibration_error),
            ("MCE", maximum_calibration_error),
        ):
            assert percent(found[name]) == pytest.approx(
                metric(confidence, correct, n_bins=5), abs=6e-4
            )
        assert float(found["Brier score"]) == pytest.approx(
            brier_score(confidence, correct), abs=6e-4
        )
        assert percent(found["accuracy"]) == pytest.approx(correct.mean(), abs=6e-4)
        assert percent(found["mean confidence"]) == pytest.approx(confidence.mean(), abs=6e-4)


BARS = {
    0: [[0.5, 0], [0.5, 0], [0.5, 60], [0.5, 0], [0.5, 0]],
    1: [[0.0, 100], [0.3, 20], [0.5, 0], [0.7, 0], [0.0, 2]],
    2: [[0.1, 100], [0.5, 0], [0.5, 0], [0.5, 0], [0.9, 100]],
}


def test_each_task_can_be_done_and_says_so(tab: Any) -> None:
    start = tab.locator(".playground-bars input").evaluate_all("all => all.map(i => +i.value)")
    items = tab.locator(".playground-bars li")
    for nth, values in BARS.items():
        reason = items.nth(nth).locator("p").last
        hold(tab, ".playground-bars", [np.ravel(values).tolist()])
        # The answer waits for a guess.
        assert "Done. What would you have guessed?" in items.nth(nth).text_content()
        assert not reason.is_visible()
        items.nth(nth).get_by_role("button", name="No").press("Enter")
        assert reason.is_visible()
        assert items.nth(nth).locator(".playground-state").text_content() == "Done."
    hold(tab, ".playground-bars", [start])
    assert items.nth(0).locator("p").last.is_visible()


def test_a_guess_is_marked(tab: Any) -> None:
    yes = tab.locator(".playground-bars li").first.get_by_role("button", name="Yes")
    yes.press("Enter")
    assert yes.get_attribute("aria-pressed") == "true"


def test_a_bar_follows_the_pointer(tab: Any) -> None:
    drawn = tab.locator(".playground-bars svg")
    drawn.scroll_into_view_if_needed()
    box = drawn.bounding_box()
    scale = box["width"] / 340

    def drag(x: float, start: float, end: float) -> None:
        tab.mouse.move(box["x"] + x * scale, box["y"] + start * scale)
        tab.mouse.down()
        tab.mouse.move(box["x"] + x * scale, box["y"] + end * scale, steps=3)
        tab.mouse.up()

    third = 40 + 288 * 0.5
    drag(third, 250, 300 - 220 * 0.9)
    drag(third, 52, 40)
    values = tab.locator(".playground-bars input").evaluate_all("all => all.map(i => +i.value)")
    assert values[4] == pytest.approx(0.9, abs=0.02)
    assert values[5] == pytest.approx(50, abs=4)
