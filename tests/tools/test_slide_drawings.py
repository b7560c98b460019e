"""Panels in three rows stand in two on a slide, as Matplotlib would have labelled them there."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pytest
from bs4 import BeautifulSoup, Tag

from tools.finishing.drawings import drawing
from tools.finishing.slide_drawings import in_two_rows
from tools.sources.plot_settings import DRAWING, svg_of


def drawn(rows: int, columns: int, **options: Any) -> Tag:
    """A drawing whose panels have their numbers as titles."""
    with plt.rc_context(DRAWING):
        fig, axes = plt.subplots(
            rows, columns, figsize=(4.8, 6), squeeze=False, layout="constrained", **options
        )
        for k, ax in enumerate(axes.flat):
            ax.plot([0, 1], [0, 1], color="black")
            ax.set_title(f"Panel {k}")
            ax.set(xlabel="x", ylabel="y")
            ax.label_outer()
        svg = svg_of(fig)
    found = BeautifulSoup(drawing(svg, "Panels.", "d"), "html.parser").svg
    assert isinstance(found, Tag)
    return found


def moved(words: Tag) -> tuple[float, float]:
    """Where words stand in the drawing, by their own place and what moves it."""
    x, y = float(str(words["x"])), float(str(words["y"]))
    for group in words.find_parents("g"):
        if "transform" in group.attrs:
            right, down = str(group["transform"])[len("translate(") : -1].split()
            x, y = x + float(right), y + float(down)
    return x, y


def places(svg: Tag, text: str) -> list[tuple[float, float]]:
    """Where certain words stand, rounded to ten points."""
    found = [moved(words) for words in svg.select("text[x]") if words.get_text() == text]
    return sorted((round(x, -1), round(y, -1)) for x, y in found)


@pytest.mark.parametrize(
    ("rows", "columns", "across", "spare"), [(3, 1, 2, True), (3, 2, 3, False), (4, 1, 2, False)]
)
def test_three_rows_become_two_in_the_order_of_reading(
    rows: int, columns: int, across: int, spare: bool
) -> None:
    svg = drawn(rows, columns, sharex=True, sharey=columns > 1)
    before = float(str(svg["width"])) / float(str(svg["height"]))
    assert in_two_rows(svg) is spare
    width, height = (float(side) for side in str(svg["viewbox"]).split()[2:])
    assert width / height == pytest.approx(
        float(str(svg["width"])) / float(str(svg["height"])), rel=0.01
    )
    assert width / height > 1.4 * before
    titles = [places(svg, f"Panel {k}")[0] for k in range(rows * columns)]
    assert sorted(range(len(titles)), key=lambda k: titles[k][::-1]) == [*range(len(titles))]
    assert len({y for _, y in titles}) == 2
    assert len({x for x, _ in titles}) == across
    for words in svg.select("text[x]"):
        x, y = moved(words)
        assert 0 <= x <= width
        assert 0 <= y <= height


def test_shared_labels_stand_at_the_edges_and_own_ones_stay() -> None:
    svg = drawn(3, 2, sharex=True, sharey=True)
    in_two_rows(svg)
    # At the left of both rows, and below each of the three columns.
    assert len({x for x, _ in places(svg, "y")}) == 1
    assert len(places(svg, "y")) == 2
    assert len({y for _, y in places(svg, "x")}) == 1
    assert len(places(svg, "x")) == 3
    single = drawn(3, 1, sharex=True)
    in_two_rows(single)
    assert len(places(single, "y")) == 3
    # Below the third panel, and below the second, which has none under it.
    (left, bottom), (right, top) = places(single, "x")
    assert left < right
    assert top < bottom


def test_other_drawings_stay_as_they_are() -> None:
    for rows, columns in ((1, 1), (2, 2), (1, 3)):
        svg = drawn(rows, columns)
        before = str(svg)
        assert in_two_rows(svg) is False
        assert str(svg) == before
    # Words of the whole figure would belong to no panel.
    svg = drawn(3, 1)
    svg.append(Tag(name="text", attrs={"x": "10", "y": "10"}))
    before = str(svg)
    assert in_two_rows(svg) is False
    assert str(svg) == before
    unequal = drawn(3, 1, height_ratios=[1, 2, 1])
    before = str(unequal)
    assert in_two_rows(unequal) is False
    assert str(unequal) == before
