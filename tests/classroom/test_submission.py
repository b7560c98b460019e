"""Written answers: wherever they stand in the notebook, a marker sees them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from classroom import submission
from classroom.bubblewrap import NotGraded
from classroom.submission import MAX_BYTES, Submission, defined, submission_of

PNG = "iVBORw0KGgo="


def text(source: str, question: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"question": question} if question else {}
    return {"cell_type": "markdown", "metadata": metadata, "source": source, **more}


def code(source: str, question: str = "", picture: str = "") -> dict[str, Any]:
    data = {"image/png": [PNG[:4] + "\n", PNG[4:]], "text/plain": "<Figure>"}
    outputs = [{"output_type": "display_data", "data": data}] if picture else []
    return {**text(source, question), "cell_type": "code", "outputs": outputs}


HEAD, ASK_1, ASK_2, ASK_3 = (
    text("# Three networks"),
    text("## Question 1: three numbers\n\nCompute."),
    text("## Question 2: the evidence\n\nFor each network."),
    text("## Question 3: the doubt"),
)
EMPTY_2, EMPTY_3 = text("*Write here.*", "q2"), text("*Write here.*", "q3")
RELEASED = [HEAD, ASK_1, code("raise", "q1"), ASK_2, EMPTY_2, ASK_3, EMPTY_3]


def read(*cells: Any) -> Submission:
    return submission_of(json.dumps({"cells": cells}).encode())


def answers(*cells: dict[str, Any]) -> tuple[str, str]:
    released, handed_in = read(*RELEASED), read(*cells)
    return handed_in.written("q2", released), handed_in.written("q3", released)


def test_written_finds_no_answer_in_an_untouched_notebook() -> None:
    assert answers(*RELEASED) == ("", "")


def test_written_finds_the_answer_in_its_own_cell() -> None:
    cells = [*RELEASED[:4], text("A is bold.", "q2"), ASK_3, text("One seed.", "q3")]
    assert answers(*cells) == ("A is bold.", "One seed.")


@pytest.mark.parametrize("place", [4, 5])  # above the cell that was meant for it, and below
def test_written_sees_an_answer_in_a_new_cell(place: int) -> None:
    cells = [*RELEASED[:place], text("A is bold."), text("### B\n\nB is timid."), *RELEASED[place:]]
    assert answers(*cells) == ("A is bold.\n\n### B\n\nB is timid.", "")


def test_written_takes_a_changed_cell_and_a_new_one() -> None:
    cells = [*RELEASED[:4], text("See below.", "q2"), text("A is bold."), *RELEASED[5:]]
    assert answers(*cells) == ("See below.\n\nA is bold.", "")


def test_written_goes_by_headings_where_metadata_was_lost() -> None:
    cells = [HEAD, ASK_1, code("1"), ASK_2, text("A is bold."), ASK_3, text("One seed.")]
    assert answers(*cells) == ("A is bold.", "One seed.")


def test_written_takes_all_new_text_where_nothing_tells() -> None:
    assert answers(code("1"), text("A is bold.")) == ("A is bold.", "A is bold.")
    # Also what stands in the part of a question that a computer grades.
    cells = [HEAD, ASK_1, text("A is bold."), *RELEASED[2:]]
    assert answers(*cells) == ("A is bold.", "A is bold.")


def test_written_has_the_pictures_of_the_answer() -> None:
    attached = text("![mine](attachment:a%20b.png)", attachments={"a b.png": {"image/png": PNG}})
    cells = [*RELEASED[:4], code("plt.show()", picture="yes"), attached, *RELEASED[4:]]
    picture = f"data:image/png;base64,{PNG}"
    assert answers(*cells)[0] == f"![Code cell 2]({picture})\n\n![mine]({picture})"


def test_written_finds_text_beside_a_picture_elsewhere() -> None:
    cells = [HEAD, text("A is bold."), *RELEASED[1:4], code("plt.show()", picture="yes"), EMPTY_2]
    assert answers(*cells)[0].endswith(")\n\nA is bold.")


def test_written_has_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MAX_ANSWER", 14)
    monkeypatch.setattr(submission, "MAX_PICTURES", 50)
    picture = f"![m](data:image/png;base64,{PNG})"
    cells = [*RELEASED[:4], text(picture, "q2"), text(picture), text("12345678"), ASK_3, EMPTY_3]
    assert answers(*cells)[0] == f"{picture}\n\n![m](left-out)\n\n12"


@pytest.mark.parametrize("bad", ["x)<script>", ["a", ")"], ""])
def test_submission_of_leaves_out_what_is_no_picture(bad: Any) -> None:
    strange = code("plt.show()")
    strange["outputs"] = [{"data": {"image/png": bad}}, {"data": 3}, {}]
    [cell] = read(strange).cells
    assert cell.pictures == ()


@pytest.mark.parametrize("bad", [{"data": {"image/png": 3}}, 3, {"data": {"image/png": ["a", 1]}}])
def test_submission_of_reads_on_after_outputs_that_are_none(bad: Any) -> None:
    [cell] = read({**code("1"), "outputs": [bad]}).cells
    assert cell.source == "1"


def test_submission_of_reads_on_after_a_damaged_cell() -> None:
    damaged = [
        {"cell_type": "code"},
        "no cell",
        {"cell_type": "code", "source": 3},
        {"source": "a"},
    ]
    found = read(code("x = 1"), *damaged, text("Why.")).cells
    assert [cell.source for cell in found] == ["x = 1", "", "", "a", "Why."]


def test_submission_of_takes_the_longer_value_of_a_key_that_is_there_twice() -> None:
    """As a merge of two versions leaves it."""
    cell = '{"cell_type": "code", "source": ["x = 1"], "source": [], "outputs": []}'
    whole = f'"cells": [{cell}]'
    for cells in (
        f'{whole}, "cells": []',
        f'"cells": [], {whole}',
        f'{whole}, "cells": null, {whole}',
    ):
        [found] = submission_of(f"{{{cells}}}".encode()).cells
        assert found.source == "x = 1"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a notebook"),
        (b"%PDF-1.7 \xff", "is a PDF"),
        (b"PK\x03\x04 and so on", "a zip file, not a notebook"),
        (b'{"cells": [{"cell_type": "code", "sou', "or is damaged"),
        (b'{"cells": 3}', "or is damaged"),
        (b"[" * 1_000_000, "or is damaged"),
        (b"\xff\xfe", "or is damaged"),
        (b'{"cells": []}', "has no cells"),
        (json.dumps({"cells": [{}] * 2_001}).encode(), "more than 2000 cells"),
        (b" " * (MAX_BYTES + 1), "larger than 20 MB"),
    ],
)
def test_submission_of_names_what_is_no_notebook(content: bytes, message: str) -> None:
    with pytest.raises(NotGraded, match=message):
        submission_of(content)


def test_submission_of_reads_a_mark_of_bytes_and_signs_that_are_none() -> None:
    content = json.dumps({"cells": [text("\ud800 because")]}).encode("utf-8-sig")
    assert submission_of(content).cells[0].source == "? because"


def test_submission_of_has_a_picture_once_that_is_asked_for_often() -> None:
    """Else a short text would fill the memory."""
    attached = {"a.png": {"image/png": PNG}}
    [cell] = read(text("![](attachment:a.png)" * 9, attachments=attached)).cells
    assert cell.source.count(PNG) == 1


def test_defined_finds_functions_classes_and_values() -> None:
    assert defined("def f(x):\n    y = 1\nclass C: pass\na = b = 3; 1 == 2") == {"f", "C", "a", "b"}
    assert defined("f == 3\nprint(x=1)\n(" + "(" * 100_000) == set()
    assert {"f", "z"} <= defined("def f(x):\n  return (\nz = 3\n")
    assert defined("print(") == set()
