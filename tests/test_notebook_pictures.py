"""The pictures in committed notebooks: small, on white, and changed only with what they show."""

from __future__ import annotations

from base64 import b64decode, b64encode
from io import BytesIO

import numpy as np
from nbformat.v4 import new_code_cell, new_output
from PIL import Image

from tools.running.notebook_pictures import kept, of_cell, show, small


def png(colour: tuple[int, int, int, int]) -> str:
    written = BytesIO()
    Image.new("RGBA", (8, 4), colour).save(written, format="PNG")
    return b64encode(written.getvalue()).decode()


def pixels(picture: str) -> np.ndarray:
    with Image.open(BytesIO(b64decode(picture))) as opened:
        return np.asarray(opened.convert("RGBA"))


def test_what_is_transparent_becomes_white() -> None:
    """Black letters on the dark page of a viewer would not be seen."""
    assert (pixels(small(png((0, 0, 0, 0)))) == 255).all()
    assert (pixels(small(png((0, 0, 0, 255))))[..., :3] == 0).all()


def test_a_picture_is_much_smaller_than_it_was() -> None:
    rng = np.random.default_rng(0)
    grey = np.repeat(rng.integers(0, 16, (100, 100, 1)) * 17, 3, axis=2).astype(np.uint8)
    written = BytesIO()
    Image.fromarray(grey).save(written, format="PNG", compress_level=0)
    before = b64encode(written.getvalue()).decode()
    assert len(small(before)) < len(before) / 3
    assert np.abs(pixels(small(before))[..., :3].astype(int) - grey).max() <= 8


def test_a_picture_changes_only_when_its_figure_does() -> None:
    cell = new_code_cell("plot()", outputs=[new_output("display_data", {"text/plain": "Figure"})])
    show(cell.outputs, small(png((0, 0, 0, 255))), "A black field.")
    stored = of_cell(cell)
    assert cell.outputs[0].metadata == {"image/png": {"alt": "A black field."}}
    one, near, far = ({"fig": {"texts": ["a"], "paths": [f"2: {x} 1"]}} for x in (1, 1.01, 2))
    drawn, figure = png((255, 0, 0, 255)), {"name": "fig"}
    assert kept(figure, cell, drawn, (one, near)) == stored
    assert kept(figure, cell, drawn, (one, far)) == small(drawn)
    assert kept(figure, cell, drawn, ({}, one)) == small(drawn)
    assert kept(figure, None, drawn, (one, one)) == small(drawn)
