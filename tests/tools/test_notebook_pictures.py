"""The pictures in committed notebooks: small, on white, and changed only with what they show."""

from __future__ import annotations

from base64 import b64decode, b64encode
from io import BytesIO
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_output
from PIL import Image

from calib_utils.plots import diagrams, reliability_diagram
from calib_utils.records import load_record
from tools.running.notebook_pictures import difference, kept, of_cell, show, small
from tools.sources.plot_settings import DRAWING


def png(colour: tuple[int, int, int, int]) -> str:
    written = BytesIO()
    Image.new("RGBA", (8, 4), colour).save(written, format="PNG")
    return b64encode(written.getvalue()).decode()


def pixels(picture: str) -> np.ndarray:
    with Image.open(BytesIO(b64decode(picture))) as opened:
        return np.asarray(opened.convert("RGBA"))


def test_small_makes_white_of_what_is_transparent() -> None:
    """Black letters on the dark page of a viewer would not be seen."""
    assert (pixels(small(png((0, 0, 0, 0)))) == 255).all()
    assert (pixels(small(png((0, 0, 0, 255))))[..., :3] == 0).all()


def test_small_makes_a_picture_much_smaller() -> None:
    rng = np.random.default_rng(0)
    grey = np.repeat(rng.integers(0, 16, (100, 100, 1)) * 17, 3, axis=2).astype(np.uint8)
    written = BytesIO()
    Image.fromarray(grey).save(written, format="PNG", compress_level=0)
    before = b64encode(written.getvalue()).decode()
    assert len(small(before)) < len(before) / 3
    assert np.abs(pixels(small(before))[..., :3].astype(int) - grey).max() <= 8


def test_kept_changes_a_picture_only_when_its_figure_does() -> None:
    cell = new_code_cell("plot()", outputs=[new_output("display_data", {"text/plain": "Figure"})])
    show(cell.outputs, small(png((0, 0, 0, 255))), "A black field.")
    stored = of_cell(cell)
    assert cell.outputs[0].metadata == {"image/png": {"alt": "A black field."}}
    near, far = png((2, 0, 0, 255)), png((255, 0, 0, 255))
    assert kept(stored, png((0, 0, 0, 255))) == stored
    assert kept(stored, far) == small(far)
    assert kept(None, near) == small(near)


def diagram(factor: float, monkeypatch: pytest.MonkeyPatch, title: str = "ECE") -> str:
    """A figure as a chapter stores it, its bars `factor` times as high as they should be."""
    record, bars = load_record("lenet5-cifar100", "test"), diagrams._bars
    probs = np.exp(record.logits[:2000].astype(float))
    probs /= probs.sum(axis=1, keepdims=True)

    def longer(ax: Any, bins: Any, chosen: Any, low: Any, high: Any, **look: Any) -> None:
        bars(ax, bins, chosen, low, factor * high, **look)

    with monkeypatch.context() as patch, plt.rc_context(DRAWING):
        patch.setattr(diagrams, "_bars", longer)
        reliability_diagram(probs, record.labels[:2000])
        plt.gcf().suptitle(title)
        written = BytesIO()
        plt.savefig(written, format="png")
        plt.close("all")
    return small(b64encode(written.getvalue()).decode())


def test_difference_sees_a_bar_two_per_cent_too_high_and_a_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = diagram(1, monkeypatch)
    assert difference(right, diagram(1 + 1e-9, monkeypatch)) == ""
    assert "it differs by" in difference(right, diagram(1.02, monkeypatch))
    assert "it differs by" in difference(right, diagram(1, monkeypatch, "MCE"))


def test_difference_says_a_picture_more_or_less_or_of_another_size() -> None:
    one = small(png((0, 0, 0, 255)))
    written = BytesIO()
    Image.new("RGBA", (9, 4), "black").save(written, format="PNG")
    assert difference(None, None) == ""
    assert difference(one, None) == "a picture is stored only"
    assert difference(None, one) == "a picture is drawn only"
    other = small(b64encode(written.getvalue()).decode())
    assert difference(one, other).startswith("it has another size")
