"""Matplotlib's drawings as pages show them."""

from __future__ import annotations

from pathlib import Path

from tools.finishing.pictures import show_pictures


def test_show_pictures_sizes_a_drawing_and_tells_a_photograph_apart(tmp_path: Path) -> None:
    (tmp_path / "_images").mkdir()
    for name, inside in (("a", "<path/>"), ("b", "<image/>")):
        svg = f'<svg width="72pt" viewBox="0 0 72 36">{inside}</svg>'
        (tmp_path / f"_images/{name}.svg").write_text(svg, "utf-8")
    (tmp_path / "p.html").write_text(
        '<img alt="A." src="_images/a.svg" /><img src="_images/b.svg">'
    )
    show_pictures(tmp_path)
    assert (tmp_path / "p.html").read_text("utf-8") == (
        '<img class="drawing" width="96" height="48" alt="A." src="_images/a.svg">'
        '<img class="drawing photograph" width="96" height="48" src="_images/b.svg">'
    )
