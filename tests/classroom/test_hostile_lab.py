"""Hostile submissions to the lab, which trains: all graded in one run through the sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from classroom import grade
from classroom.bubblewrap import Limits
from classroom.feedback import write_feedback
from classroom.goals import read_goals
from classroom.grade import grade_class
from classroom.release import release
from classroom.results import read_json, write_json
from tests.classroom.hostile import selected
from tests.classroom.hostile_lab import ON_THE_LAB
from tests.classroom.tiny_class import SECRET, need_sandbox, points


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a class whose lab is graded and fed back."""
    need_sandbox()
    folder = tmp_path_factory.mktemp("lab") / "class"
    release("lab", folder, SECRET.decode())
    stub = (folder / "released/lab/sheet-0/lab-0.ipynb").read_text("utf-8")
    solved = json.loads((folder / "teacher/lab/lab-0.ipynb").read_text("utf-8"))
    reference = {c["metadata"].get("question"): c["source"] for c in solved["cells"]}
    for student in selected(request, "test_the_lab"):
        case, notebook = ON_THE_LAB[student], json.loads(stub)
        sources = {name: reference[name] for name in case.honest} | case.changed
        for cell in notebook["cells"]:
            question = cell["metadata"].get("question")
            cell["source"] = sources.get(question, cell["source"])
        cell = {"cell_type": "code", "metadata": {}, "outputs": []}
        notebook["cells"].insert(0, {**cell, "source": sources.get("first", "")})
        notebook["cells"].append({**cell, "source": sources.get("last", "")})
        place = folder / "collected/lab" / student
        place.mkdir(parents=True)
        (place / "submission.ipynb").write_text(json.dumps(notebook), "utf-8")
        write_json(place / "facts.json", {"id": student, "problem": None, "sheet": "0"})
    with pytest.MonkeyPatch.context() as patch:
        # A reference that trains needs a few seconds; one attack takes all that there are.
        patch.setattr(grade, "Limits", lambda **given: Limits(**{**given, "step_seconds": 10}))
        grade_class(folder, "lab", jobs=2)
    write_feedback(folder, "lab")
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("student", ON_THE_LAB)
def test_the_lab(lab: Path, student: str) -> None:
    case = ON_THE_LAB[student]
    result = read_json(lab / "graded/lab" / f"{student}.json")
    assert result["status"] == "graded", result["reason"]
    checked = {q.name: 0.0 for q in read_goals("lab").questions.values() if q.kind == "checked"}
    assert points(result) == checked | dict(case.points)
    assert case.said in (lab / "feedback/lab" / f"{student}.html").read_text("utf-8")
