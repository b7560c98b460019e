"""A class of two hundred, graded, fed back and scored in one run."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tiny_class import FULL, NONE, Q1, STUBS, answers, hand_in, make_class, need_sandbox, points

from classroom.feedback import write_feedback
from classroom.grade import grade_class
from classroom.scores import write_scores

KINDS = {
    "full": (answers(), FULL),
    "half": (answers(q2=STUBS[1], q3=STUBS[2]), {**NONE, "q1": 2.0}),
    "stub": (answers(*STUBS), NONE),
    "sign": (answers(q1=Q1.replace("np.mean(confidences) -", "-np.mean(confidences) +")), None),
}


@pytest.mark.thorough
def test_a_class_of_two_hundred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need_sandbox()
    folder = make_class(tmp_path, monkeypatch)
    kinds = [*KINDS] * 50
    for number, kind in enumerate(kinds):
        hand_in(folder, f"{number:03d}-{kind}", KINDS[kind][0])
    results = grade_class(folder, "tiny", jobs=2)
    said = capsys.readouterr().out
    with capsys.disabled():
        print("", *said.splitlines()[-1:], sep="\n")
    assert "tiny: 200 graded, 0 not graded" in said
    assert said.count(" s\n") >= 201  # seconds each
    for result in results:
        kind = str(result["student"]).partition("-")[2]
        # With the wrong sign the exception is still right.
        assert points(result) == (KINDS[kind][1] or {**FULL, "q1": 0.5}), result
    assert len(write_feedback(folder, "tiny")) == 200
    with write_scores(folder).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["student"] for row in rows] == [f"{n:03d}-{k}" for n, k in enumerate(kinds)]
