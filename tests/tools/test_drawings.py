"""A drawing in a page: the page's colours, names of its own, and the same lines in fewer bytes."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from calib_utils import plots
from tools.finishing.drawings import COLOURS, draw, drawing
from tools.sources.myst import MystError
from tools.sources.plot_settings import DRAWING, svg_of

HEX = re.compile(r"#[0-9a-f]{6}\b")
COURSE = Path("book/assets/course.css").read_text("utf-8")
PALETTE = {colour.lower() for colour in (plots.BLUE, plots.ORANGE, plots.GREY)}


@pytest.fixture(scope="module")
def diagram() -> str:
    with mpl.rc_context(DRAWING):
        drawn = plots.reliability_diagram([[0.8, 0.2]] * 9 + [[0.6, 0.4]], [0] * 6 + [1] * 4)
        return svg_of(drawn.ax.figure)


def line(x, y) -> str:
    """The path of a line that was plotted, as the page has it."""
    with mpl.rc_context(DRAWING):
        fig, ax = plt.subplots()
        ax.plot(x, y, color=plots.BLUE)
        ax.set_axis_off()
        (path,) = re.findall(r'<path d="([^"]*)"[^>]*stroke="var', drawing(svg_of(fig), "", "a"))
    return path


def test_a_drawing_has_the_colours_and_the_font_of_its_page(diagram: str) -> None:
    assert plots.ORANGE.lower() in diagram
    drawn = drawing(diagram, "Bars &lt; 1", "a")
    assert 'class="drawing" role="img" aria-label="Bars &lt; 1"' in drawn
    assert "#" not in re.sub(r"url\(#a-\d+\)|href=\"#a-\d+\"", "", drawn)
    assert re.findall(r"DejaVu|<metadata|<style|matplotlib", drawn) == []
    assert "fill:" not in drawn
    names = set(re.findall(r"var\((--[\w-]+)\)", " ".join(COLOURS.values())))
    for name in names:
        assert len(re.findall(rf"^  {name}: ", COURSE, re.M)) == 2 or name == "--ground"


def test_the_page_is_drawn_in_the_colours_of_the_module() -> None:
    """But for the orange, in which words could not be read."""
    on_white, _ = re.findall(r"\{([^{}]*--blue: #[^{}]*)\}", COURSE)
    colours = dict(re.findall(r"--([a-z]+): (#\w+);", on_white))
    assert (colours["blue"], colours["grey"]) == (plots.BLUE.lower(), plots.GREY.lower())
    audit = Path("calib_audit/page.html").read_text("utf-8")
    assert not PALETTE & {*HEX.findall(audit)}  # which its code sets


def test_what_draws_for_the_book_has_no_colours_of_its_own() -> None:
    """Greys apart, and those near to one, which are the theme's; none that has a name."""
    files = (path for folder in ("book", "tools", "notebooks") for path in Path(folder).rglob("*"))
    for path in files:
        if path.suffix not in (".py", ".js", ".md") or path.parent.name == "katex":
            continue
        for colour in HEX.findall(path.read_text("utf-8").lower()):
            parts = bytes.fromhex(colour[1:])
            assert colour not in PALETTE | {*HEX.findall(COURSE)}, (path, colour)
            assert max(parts) - min(parts) < 0x20 or colour in COLOURS, (path, colour)


def test_a_drawing_that_the_words_beside_it_tell_of_is_not_read_aloud(diagram: str) -> None:
    assert drawing(diagram, None, "a").startswith('<svg class="drawing" aria-hidden="true" width')
    assert 'role="img" aria-label=""' in drawing(
        diagram, "", "a"
    )  # forgotten: the site's test finds it


@pytest.mark.parametrize(("panels", "marked"), [(1, 0), (2, 2)])
def test_panels_beside_each_other_can_be_shown_one_by_one(panels: int, marked: int) -> None:
    """Without what is drawn within them."""
    with mpl.rc_context(DRAWING):
        fig, axes = plt.subplots(1, panels, squeeze=False)
        for ax in axes.flat:
            ax.inset_axes((0, 1.1, 1, 0.2))
    assert drawing(svg_of(fig), "", "a").count('<g class="panel">') == marked


def test_its_words_are_those_that_were_drawn(diagram: str) -> None:
    words = [" ".join(text.split()) for text in re.findall(r"<text[^>]*>([^<]*)<", diagram)]
    drawn = re.findall(r"<text[^>]*>([^<]*)<", drawing(diagram, "", "a"))
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in drawn] == words
    assert "Perfect calibration" in drawn
    assert "ECE\N{NO-BREAK SPACE}=" not in drawn  # only before the sign


def test_names_are_of_one_drawing_alone_and_each_is_asked_for(diagram: str) -> None:
    ids = [re.findall(r'\bid="([^"]+)"', drawing(diagram, "", name)) for name in "ab"]
    assert len(ids[0]) == len(set(ids[0])) > 3
    assert not set(ids[0]) & set(ids[1])
    asked = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', drawing(diagram, "", "a"))
    assert {a or b for a, b in asked} == set(ids[0])


def test_the_same_file_gives_the_same_bytes_and_fewer(diagram: str) -> None:
    drawn = drawing(diagram, "", "a")
    assert drawn == drawing(diagram, "", "a")
    assert len(drawn) < len(diagram) / 2


def test_a_long_line_keeps_its_shape() -> None:
    """Each point of the curve lies within a tenth of a point and a rounding of what is drawn."""
    x = np.linspace(0, 10, 2_000)
    points = np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+)", line(x, np.sin(x))), dtype=float)
    with mpl.rc_context(DRAWING | {"path.simplify": False}):
        fig, ax = plt.subplots()
        (curve,) = ax.plot(x, np.sin(x))
        ax.autoscale_view()
        whole = curve.get_path().transformed(curve.get_transform()).vertices
        whole = np.column_stack([whole[:, 0], fig.bbox.height - whole[:, 1]]) * 72 / fig.dpi
        plt.close(fig)
    assert 20 < len(points) < 200
    drawn = np.interp(whole[:, 0], *points.T)
    steepness = np.abs(np.gradient(whole[:, 1], whole[:, 0]))
    assert (np.abs(drawn - whole[:, 1]) < 0.2 * np.hypot(1, steepness)).all()


def test_a_line_with_a_gap_keeps_it() -> None:
    y = np.arange(40.0) % 3
    y[20] = np.nan
    assert line(np.arange(40), y).count("M") == 2


def test_a_colour_unknown_in_the_dark_is_refused() -> None:
    fig, ax = plt.subplots()
    ax.plot([0, 1], color="#123456")
    with pytest.raises(MystError, match="has the colour #123456"):
        drawing(svg_of(fig), "", "a")


def test_pixels_stay_pixels_in_what_a_checker_of_html_accepts() -> None:
    """SVG 1.1 has three values of the attribute, and CSS another one, which needs `style`."""
    with mpl.rc_context(DRAWING):
        fig, ax = plt.subplots()
        ax.imshow(np.eye(2), cmap="gray", interpolation="none")
        (image,) = re.findall(r"<image[^>]*>", drawing(svg_of(fig), "", "a"))
    assert re.findall(r' style="([^"]*)"', image) == ["image-rendering:pixelated"]
    assert "image-rendering=" not in image


def test_the_pictures_of_a_site_come_into_its_pages(tmp_path: Path, diagram: str) -> None:
    (tmp_path / "_images").mkdir()
    (tmp_path / "pages").mkdir()
    (tmp_path / "_images/one.svg").write_text(diagram, "utf-8")
    (tmp_path / "_images/other.png").write_text("", "utf-8")
    image = '<img alt="A &quot;b&quot;" src="../_images/one.svg" />'
    page = tmp_path / "pages/one.html"
    page.write_text(f"<p>{image}{image}<img src='../_images/other.png'></p>", "utf-8")
    next_page = tmp_path / "pages/two.html"
    next_page.write_text(image, "utf-8")
    draw(tmp_path)
    text = page.read_text("utf-8")
    assert text.count('aria-label="A &quot;b&quot;"') == 2
    assert 'id="d1-0"' in text
    assert 'id="d2-0"' in text
    # Slides join the drawings of two pages.
    assert 'id="d3-0"' in next_page.read_text("utf-8")
    assert [path.name for path in (tmp_path / "_images").iterdir()] == ["other.png"]
