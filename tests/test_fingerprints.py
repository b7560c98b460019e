"""What a figure shows is compared: faults that change no printed text are seen, rounding is not."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from calib_utils.plots import diagrams, factor_panels, factors, reliability_diagram, temperatures
from calib_utils.records import load_grid, load_record
from tools.running import fingerprints
from tools.running.fingerprints import (
    differences,
    of_drawing,
    of_figures,
    of_table,
    of_text,
    store,
    stored,
)
from tools.sources.plot_settings import DRAWING

TEST = load_record("lenet5-cifar100", "test")


def drawn(draw: Callable[[], object]) -> fingerprints.Print:
    """The fingerprint of a figure, drawn as in a chapter."""
    with plt.rc_context(DRAWING):
        draw()
        svg = StringIO()
        plt.savefig(svg, format="svg")
        plt.close("all")
    return of_drawing(svg.getvalue())


def diagram() -> object:
    probs = np.exp(TEST.logits[:2000].astype(float))
    return reliability_diagram(probs / probs.sum(1, keepdims=True), TEST.labels[:2000])


def curve() -> object:
    return temperatures.temperature_curve(TEST.logits[:500], TEST.labels[:500], [0.5, 1, 2, 4])


def panels() -> object:
    return factor_panels(load_grid("width", "core"))


def times(by: float, number: Callable[..., float]) -> Callable[..., float]:
    return lambda *arguments, **options: by * number(*arguments, **options)


def test_bars_that_are_too_high_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right, bars = drawn(diagram), diagrams._bars
    assert differences({"fig": right}, {"fig": drawn(diagram)}) == []

    def higher(ax: Any, bins: Any, chosen: Any, low: Any, high: Any, **look: Any) -> None:
        bars(ax, bins, chosen, low, 1.02 * high, **look)

    monkeypatch.setattr(diagrams, "_bars", higher)
    wrong = drawn(diagram)
    assert wrong["texts"] == right["texts"]
    (said,) = differences({"fig": right}, {"fig": wrong})
    assert said.startswith("fig: path ")


@pytest.mark.parametrize(("factor", "seen"), [(1.001, True), (1 + 3e-5, False)])
def test_an_ece_that_is_too_high_is_seen_and_another_processor_is_not(
    factor: float, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = drawn(curve)
    ece = times(factor, temperatures.expected_calibration_error)
    monkeypatch.setattr(temperatures, "expected_calibration_error", ece)
    wrong = drawn(curve)
    assert wrong["texts"] == right["texts"]
    assert bool(differences({"fig": right}, {"fig": wrong})) == seen


def test_a_baseline_that_is_too_high_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = drawn(panels)
    monkeypatch.setattr(factors, "_baseline", times(1.05, factors._baseline))
    wrong = drawn(panels)
    assert wrong["texts"] == right["texts"]
    assert differences({"fig": right}, {"fig": wrong})


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">{}</svg>'
LINE, MARKS = '<path d="M 10 20 L 30 40"/>', '<use xlink:href="#m" x="1" y="2"/>'
OTHERS = {
    "text 1 is 'ECE 2 %'": ("<text>ECE 3 %</text>", "<text>ECE 2 %</text>"),
    "text 2 is 'b'": ("<text>a</text>", "<text>a</text><text>b</text>"),
    "path 1 is '2: 10 20 30 40.06": (LINE, '<path d="M 10 20 L 30 40.06"/>'),
    # The same ends, in another order.
    "path 1 is '2: 10 20 30 40 23.33 26.67'": (LINE, '<path d="M 10 40 L 30 20"/>'),
    "path 1 is 'nothing'": (LINE, ""),
    "path 1 is '3: 1 2 1 2": (2 * MARKS, 3 * MARKS),
    "path 1 is '2: 0 0 5 5": ('<rect width="5" height="6"/>', '<rect width="5" height="5"/>'),
}


@pytest.mark.parametrize("said", OTHERS)
def test_what_differs_is_said(said: str) -> None:
    before, after = (of_drawing(SVG.format(inside)) for inside in OTHERS[said])
    (found,) = differences({"fig": before}, {"fig": after})
    assert found.startswith(f"fig: {said}")
    assert found.endswith(" is stored")


def test_a_figure_more_or_less_is_said() -> None:
    one = {"fig-a": of_drawing(SVG.format(LINE))}
    assert differences(one, {}) == ["fig-a is stored only"]
    assert differences({}, one) == ["fig-a is made only"]


def test_of_a_figure_that_differs_between_machines_only_words_are_compared() -> None:
    def figures(number: str, word: str, tags: list[str]) -> dict[str, fingerprints.Print]:
        svg = SVG.format(f"<text>{number}</text><text>{word}</text>{LINE.replace('40', number)}")
        outputs = [new_output("display_data", data={"image/svg+xml": svg})]
        metadata = {"tags": tags, "mystnb": {"figure": {"name": "fig-a"}}}
        return of_figures(
            new_notebook(cells=[new_code_cell("f()", metadata=metadata, outputs=outputs)])
        )

    varies = ["varies"]
    assert differences(figures("40", "ECE", varies), figures("45", "ECE", varies)) == []
    assert differences(figures("40", "ECE", varies), figures("40", "MCE", varies))
    assert differences(figures("40", "ECE", []), figures("45", "ECE", []))


def test_a_photograph_in_a_figure_is_compared_by_its_brightness() -> None:
    def image(left: int) -> fingerprints.Print:
        file = BytesIO()
        pixels = np.repeat([left, 200], 4).astype(np.uint8)[None]
        Image.fromarray(pixels).save(file, "png")
        data = base64.b64encode(file.getvalue()).decode()
        return of_drawing(SVG.format(f'<image href="data:image/png;base64,{data}"/>'))

    assert differences({"a": image(100)}, {"a": image(100)}) == []
    (said,) = differences({"a": image(100)}, {"a": image(101)})
    assert "path 2 is '1: 101 200" in said


@pytest.mark.parametrize(
    ("after", "differs"),
    [
        ("ECE 31.7 %, baseline 1.2", False),
        ("ECE 32.4 %, baseline 1.2", True),
        ("ECE 31.7 %, baseline 1.3", True),
        ("ECE 31.7 %, limit 1.2", True),
        ("ECE 31.7 %, baseline 1.2, 1", True),
        ("baseline 31.7 %, ECE 1.2", True),
    ],
)
def test_data_are_compared_by_words_and_numbers(after: str, differs: bool) -> None:
    before = {"a": of_text("ECE 31.7 %, baseline 1.2")}
    assert bool(differences(before, {"a": of_text(after)})) == differs


def test_every_number_of_a_table_is_compared() -> None:
    rows = [f"| network {n} | {n / 3:.1f} | {n / 7:.2f} |" for n in range(200)]
    before = {"a": of_table("\n".join(rows))}
    assert differences(before, {"a": of_table("\n".join(rows))}) == []
    rows[150] = rows[150].replace("50.0", "50.1")
    (said,) = differences(before, {"a": of_table("\n".join(rows))})
    assert said.startswith("a: line 151 is '| network 150 | 50.1 |")


def test_one_rounding_in_many_numbers_is_no_difference() -> None:
    numbers = np.linspace(3, 50, 150)
    before, after = (" ".join(f"{n:.1f}" for n in [*numbers, last]) for last in (31.7, 31.8))
    assert differences({"a": of_text(before)}, {"a": of_text(after)}) == []
    high = " ".join(f"{n:.1f}" for n in 1.001 * numbers)
    assert differences({"a": of_text(before)}, {"a": of_text(f"{high} 31.7")})


def test_fingerprints_are_stored_only_where_there_are_figures(tmp_path: Path) -> None:
    path, made = tmp_path / "figures/a.json", {"fig-a": of_drawing(SVG.format(LINE))}
    assert stored(path) == {}
    assert [store(path, made), store(path, made)] == [True, False]
    assert stored(path) == made
    assert [store(path, {}), store(path, {}), path.exists()] == [True, False, False]
