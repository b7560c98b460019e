"""The table of all points."""

from __future__ import annotations

from pathlib import Path

from tests.classroom.results_on_disk import scores


def test_write_scores_leaves_who_is_not_graded_empty(folder: Path) -> None:
    rows = scores(folder)
    for student in ("m-3", "m-4"):
        assert (rows[student]["points"], rows[student]["status"]) == ("", "not graded")
        assert rows[student]["q1"] == rows[student]["q4"] == ""


def test_write_scores_is_safe_in_a_spreadsheet(folder: Path) -> None:
    rows = scores(folder)
    assert rows["m-1"]["name"] == "'=HYPERLINK(1)"
    assert rows["m-2"]["name"] == "홍길동"
    assert [rows[s]["late"] for s in ("m-1", "m-2", "m-3")] == ["yes", "no", ""]
