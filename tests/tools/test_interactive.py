"""The parts of figures to play with, and their place in a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calib_utils.metrics import reliability_bins
from tests.book.script_page import FIGURE
from tools.finishing import interactive as play


def small(**changes: Any) -> dict[str, Any]:
    knob = play.slider("Knob", ["1", "2"], marks={1: "two"})
    bins = reliability_bins([0.2, 0.9, 0.95], [True, True, False], n_bins=2)
    settings: dict[str, Any] = {
        "figures": ["fig-a"],
        "title": "Small",
        "caption": "To play & see.",
        "alt": "Two bars.",
        "controls": [knob],
        "numbers": [play.number("n", ["</script>&", "b"], [0])],
        "panels": [play.diagram(play.table([play.frame(bins)]))],
    }
    return play.play(**settings | changes)


def test_frame_has_counts_right_answers_and_summed_confidence() -> None:
    assert small()["panels"][0]["frames"] == {"by": [], "of": [[[1, 2], [1, 1], [0.2, 1.85]]]}


def test_play_refuses_a_table_without_an_entry_for_each_setting() -> None:
    with pytest.raises(ValueError, match="Small: 1 entries for 2 settings"):
        small(numbers=[play.number("n", ["a"], [0])])


def test_plays_in_refuse_two_plays_for_a_figure(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps([small()]))
    with pytest.raises(ValueError, match=r"b\.json: there is another play for fig-a"):
        play.plays_in(tmp_path)


def test_placed_puts_a_play_in_its_figure_and_no_word_ends_its_script() -> None:
    other = FIGURE.format("b")
    page = play.placed(f"<p>1</p>{other}{FIGURE.format('a')}<p>2</p>", {"fig-a": small()})
    head = '<figure class="align-default" id="fig-a"><div class="play-stage" style="'
    before, _, rest = page.partition(head)
    assert before == f"<p>1</p>{other}"
    _, begin, rest = rest.partition('</div><script type="application/json" data-play="fig-a">')
    assert begin
    text, _, after = rest.partition("</script>")
    assert after.startswith('\n<img src="a.svg"/>\n<figcaption>')
    data = json.loads(text)
    assert data["numbers"][0]["of"][0] == "</script>&"
    assert not {"figures", "caption"} & data.keys()


def test_captioned_keeps_the_finding_and_says_what_is_seen() -> None:
    """With the picture as with the play; names with a point in them end no sentence."""
    figure = FIGURE.format("a").replace(
        ">A</span>", ">At 90.5 % it falls. Each dot is a run.</span>"
    )
    page = play.placed(figure, {"fig-a": small()})
    assert (
        '<span class="caption-text">At 90.5 % it falls. '
        '<span class="play-still">Each dot is a run.</span>'
        '<span class="play-words">To play &amp; see.</span></span>'
    ) in page
    alone = play.placed(FIGURE.format("a").replace(">A<", ">It falls.<"), {"fig-a": small()})
    assert 'It falls. <span class="play-words">To play &amp; see.</span></span>' in alone
