"""Figures to play with, as data and as text of a page; tests/site/test_play.py drives them."""

from __future__ import annotations

import gzip
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib_utils.metrics import ReliabilityBins, baseline_calibration_error, reliability_bins
from calib_utils.records import load_grid
from tests.book.play_anew import ANEW, LEARNED, SUSPECTS, all_frames
from tools.finishing import interactive as play
from tools.sources.book import Book
from tools.sources.generated import parts

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((ROOT / "book/play").glob("*.py"))


@pytest.fixture(scope="module")
def plays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the scripts write."""
    folder = tmp_path_factory.mktemp("play")
    with pytest.MonkeyPatch.context() as patch:
        for script in SCRIPTS:
            patch.setattr("sys.argv", [str(script), str(folder / f"{script.stem}.json")])
            runpy.run_path(str(script), run_name="__main__")
    return play.plays_in(folder)


def entry(table: Any, controls: Any, setting: tuple[int, ...]) -> Any:
    """The entry of a table: the last control runs fastest."""
    sizes = [len(controls[c]["stops"]) for c in table["by"]]
    chosen = tuple(setting[c] for c in table["by"])
    return table["of"][int(np.ravel_multi_index(chosen, sizes)) if sizes else 0]


def check(frame: Any, bins: ReliabilityBins) -> None:
    """The frame of a diagram has what the bins have."""
    counts, right, summed, *edges = frame
    full = bins.counts > 0
    assert counts == bins.counts.tolist()
    np.testing.assert_array_equal(
        np.array(right)[full], (bins.counts * bins.accuracy)[full].round()
    )
    off = np.array(summed)[full] - (bins.counts * bins.confidence)[full]
    assert (np.abs(off) < np.where(bins.counts[full] < 100, 0.0051, 0.051)).all()
    expected = edges[0] if edges else np.arange(len(counts) + 1) / len(counts)
    np.testing.assert_allclose(expected, bins.edges, atol=1e-3)


@pytest.mark.parametrize("figure", ANEW)
@pytest.mark.filterwarnings("ignore")  # some methods say that ten samples are few
def test_every_frame_is_what_calib_utils_computes(figure: str, plays: dict[str, Any]) -> None:
    one, count = plays[figure], 0
    controls = one["controls"]
    for setting, numbers, bins in all_frames(figure):
        count += 1
        shown = [entry(number, controls, setting) for number in one["numbers"]]
        assert shown == numbers, (figure, setting)
        diagrams = bins if isinstance(bins, list) else [bins]
        of_bins = [panel for panel in one["panels"] if panel["kind"] == "bins"]
        for panel, drawn in zip(of_bins, diagrams, strict=False):
            if drawn is not None:
                check(entry(panel["frames"], controls, setting), drawn)
    assert count == np.prod([len(control["stops"]) for control in controls])


@pytest.mark.parametrize("figure", LEARNED)
@pytest.mark.filterwarnings("ignore")
def test_what_a_guess_was_worth_is_what_the_numbers_say(figure: str, plays: dict[str, Any]) -> None:
    one, count = plays[figure], 0
    words = one["guess"]["words"]
    for setting, expected in LEARNED[figure]():
        count += 1
        said = entry(words, one["controls"], setting)
        apart = one["guess"]["anew"] is not None  # then there is more room for it
        assert len(said) < (220 if apart else 150)  # so that it fits a phone
        for part in expected:
            assert part in said, (setting, said)
    assert count == len(words["of"])


def test_every_guess_is_checked(plays: dict[str, Any]) -> None:
    """Of the plays that show the same, one is enough."""
    asking = {tuple(one["figures"]) for one in plays.values() if one.get("guess")}
    assert asking == {tuple(plays[figure]["figures"]) for figure in LEARNED}


@pytest.mark.filterwarnings("ignore")
def test_maps_are_drawn_as_they_are(plays: dict[str, Any]) -> None:
    """Steps as steps: between the drawn points, a line is never a pixel from the map."""
    from book.play import maps

    val_logits, y_val, *_ = maps.sets()
    scores = np.linspace(0.002, 0.998, 997)
    of = plays["fig-all-maps"]["panels"][0]["curves"][1]
    for k, method in enumerate(maps.METHODS.values()):
        for j, n in enumerate(maps.SIZES):
            fitted = method().fit(val_logits[:n], y_val[:n])
            real = fitted.predict_proba(np.log(scores / (1 - scores)))
            x, y = (of[side]["of"][k * len(maps.SIZES) + j] for side in "xy")
            off = np.abs(np.interp(scores, x, y) - real)
            # A jump is as wide as the grid at most: a seventh of a pixel.
            assert (off > 0.005).mean() < 0.03, (method, n)
            assert np.median(off) < 0.003


def test_every_play_is_checked_and_has_its_figure(plays: dict[str, Any]) -> None:
    assert plays.keys() == {*ANEW, "fig-images-to-bars"}  # test_story.py has that one
    assert plays.keys() <= Book(ROOT).labels.keys()


def test_the_captions_are_true(plays: dict[str, Any]) -> None:
    held_out = plays["fig-nll-and-ece-against-temperature"]
    numbers = {number["label"]: number["of"] for number in held_out["numbers"]}
    assert len(set(numbers["accuracy"])) == 1
    fitted = held_out["controls"][0]["marks"][1][0]
    (nll,) = held_out["panels"][2]["curves"][0]["y"]["of"]
    assert nll[fitted] == min(nll)
    lowest = plays["fig-one-draw"]["numbers"][2]["of"]
    assert min(float(share.split("\xa0")[0]) for share in lowest) > 0
    for of_epochs, rise in zip(plays["fig-nll"]["panels"][1:], (1.1, 0.95, 1.5), strict=True):
        (values,) = of_epochs["curves"][-1]["y"]["of"]
        drop = int(of_epochs["marks"][0][0])
        assert values[drop] < 0.8 * values[drop - 1]
        assert rise < values[-1] / values[drop] < rise + 0.5


def test_what_a_suspect_does_is_drawn_from_its_runs(plays: dict[str, Any]) -> None:
    """Each run that there is at its level, on one axis from 0, with the baseline of its ECE."""
    one = plays["fig-suspects"]
    runs = {grid: load_grid(grid, "core") for grid, *_ in SUSPECTS}
    paired = [
        (grid, ends)
        for grid, *ends in SUSPECTS
        if len({(run.value, run.seed) for run in runs[grid] if run.value in ends})
        > len({run.seed for run in runs[grid] if run.value in ends})
    ]
    assert len(paired) == len(one["controls"][0]["stops"])
    for panel, metric in zip(one["panels"], ("error", "ece"), strict=True):
        assert panel["y"]["low"] == 0
        *of_seeds, last = panel["curves"]
        if metric == "error":
            of_seeds.append(last)
        for i, (grid, ends) in enumerate(paired):
            words = [word for _, word in panel["x"]["of"][i]["ticks"]]
            assert [words[0], words[-1]] == [shown_level(end) for end in ends]
            found = [
                (words[round(at)], y)
                for curve in of_seeds
                for at, y in zip(curve["x"]["of"][i], curve["y"]["of"][i], strict=True)
            ]
            expected = [
                (shown_level(run.value), round(100 * getattr(run, metric), 2))
                for run in runs[grid]
                if shown_level(run.value) in words
            ]
            assert sorted(found) == sorted(expected), (grid, metric)
            assert max(y for _, y in found) < panel["y"]["high"]
        if metric == "ece":
            assert last["name"] == "baseline"
            shown = dict(zip(last["x"]["of"][0], last["y"]["of"][0], strict=True))
            first = [run for run in runs["depth"] if run.value == 1]
            baselines = [baseline_calibration_error(run.confidences).mean for run in first]
            assert shown[0] == pytest.approx(100 * np.mean(baselines), abs=0.006)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([1.0, 2.0, 3.0], "rises in each of the three seeds, by 2.0 points on average"),
        ([-1.0, -3.0, 0.5], "falls in two of the three seeds, by 1.2 points on average"),
        ([0.2, 0.1, -0.6], "stays (\u22120.1 points on average, higher in two of the three seeds)"),
        ([-0.2, -0.2], "stays (\u22120.2 points on average, lower in each of the two seeds)"),
        ([-0.5], "falls in the one seed, by 0.5 points"),
    ],
)
def test_what_is_told_of_seeds_is_what_they_did(changes: list[float], said: str) -> None:
    from book.play import suspects

    assert suspects.told("The ECE", np.array(changes)) == f"The ECE {said}"


def shown_level(value: Any) -> str:
    words = {"crops-and-flips": "crops and flips", 0.0: "0", "5000": "5,000", "45000": "45,000"}
    return words.get(value, str(value))


def test_no_curve_leaves_its_panel(plays: dict[str, Any]) -> None:
    """What stands above the axis is left out, so a record that grows would lose its curve."""
    panels = [panel for one in plays.values() for panel in one.get("panels", ())]
    for panel in (panel for panel in panels if panel["kind"] == "lines"):
        for curve in panel["curves"]:
            values = np.concatenate(curve["y"]["of"])
            assert panel["y"]["low"] <= values.min(), panel["title"]
            assert values.max() <= panel["y"]["high"], panel["title"]


def test_a_play_is_light(plays: dict[str, Any]) -> None:
    """In bytes as a server sends them; titles fit a phone."""
    for one in plays.values():
        photograph = any(panel["kind"] == "picture" for panel in one.get("panels", []))
        most = 17_000 + 7_000 * photograph
        assert len(gzip.compress(json.dumps(one).encode())) < most
        assert len(one["title"]) < 40
    assert len(gzip.compress((ROOT / "book/assets/play.js").read_bytes())) < 5_000


def test_the_scripts_are_parts_of_the_book(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert {path.name for path in SCRIPTS} == {
        script.name for script, made in parts().items() if made.parent == Path("play")
    }


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


def test_a_frame_has_counts_right_answers_and_summed_confidence() -> None:
    assert small()["panels"][0]["frames"] == {"by": [], "of": [[[1, 2], [1, 1], [0.2, 1.85]]]}


def test_a_table_needs_an_entry_for_each_setting() -> None:
    with pytest.raises(ValueError, match="Small: 1 entries for 2 settings"):
        small(numbers=[play.number("n", ["a"], [0])])


def test_a_figure_has_one_play(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.json").write_text(json.dumps([small()]))
    with pytest.raises(ValueError, match=r"b\.json: there is another play for fig-a"):
        play.plays_in(tmp_path)


FIGURE = (
    '<figure class="align-default" id="fig-{}">\n<img src="a.svg"/>\n'
    '<figcaption>\n<span class="caption-text">A</span></figcaption>\n</figure>'
)


def test_a_play_stands_in_its_figure_and_no_word_of_it_ends_the_script() -> None:
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


def test_a_caption_keeps_its_finding_and_says_what_is_seen() -> None:
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
