"""What the teacher is told of a sheet is true, and stays with the teacher."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from calib_utils.metrics import expected_calibration_error
from classroom.goals import ASSIGNMENTS, assignment_names, load
from classroom.known import asked, example, facts, for_teacher, known
from classroom.notebooks import rendered
from classroom.release import data_of
from classroom.variants import PUBLISHED, SHEETS, secret_of, variant_of
from tests.classroom.answering import answers

SECRET = b"of the tests of what is known"
SMALLEST = {"bits", "nats", "odds", "rarity", "distances"}  # is that of the predicted class


def in_percent(share: float) -> str:
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


@pytest.mark.parametrize("sheet", ["2", "7"])
def test_the_numbers_of_the_unknown_networks_are_those_of_the_file(sheet: str) -> None:
    arrays = data_of("diagnosing", SECRET, sheet)[f"networks-{sheet}.npz"]
    form = variant_of("diagnosing", SECRET, sheet)["form"]
    found = known("diagnosing", SECRET, sheet)
    for name, word in load("diagnosing").diagnoses(secret_of(SECRET, sheet)).items():
        scores, labels = arrays[f"{name}_scores"].astype(float), arrays[f"{name}_labels"]
        predicted = scores.argmin(1) if form in SMALLEST else scores.argmax(1)
        assert found[name] == word
        assert found[f"{name}_accuracy"] == in_percent((predicted == labels).mean())
        assert f"Network {name} is **{word}**" in "\n".join(facts("diagnosing", SECRET, sheet))
        if word != "class bias":  # which moves the confidences as well
            assert (float(found[f"{name}_gap"]) > 5) == (word != "calibrated")
        assert (float(found[f"{name}_largest"]) > 7) == (word == "class bias")
        too_high = "the probabilities of 3 of its 20 classes are too high"  # as many were pushed
        assert (too_high in found[f"{name}_evidence"]) == (word == "class bias")


@pytest.mark.parametrize("number", range(5))
def test_the_sample_answer_is_about_a_network_that_is_off(number: int) -> None:
    """Its reason, that confidence and accuracy are too far apart, fits no other word."""
    secret = str(number).encode()
    found = known("diagnosing", secret, PUBLISHED)
    words = load("diagnosing").diagnoses(secret_of(secret, PUBLISHED))
    text = rendered((ASSIGNMENTS / "diagnosing/sample.md").read_text("utf-8"), found)
    [(hardest, gap)] = re.findall(
        r"The hardest was ([ABC]), because its mean confidence of \S+\s% is (\S+) points", text
    )
    assert words[hardest] in ("overconfident", "underconfident")
    assert float(gap) > 2 * float(found[f"{hardest}_noise"])


@pytest.mark.parametrize("sheet", ["1", "6"])
def test_the_cameras_of_a_sheet_are_as_the_teacher_is_told(sheet: str) -> None:
    """From the file alone: two large ones are off, each its own way, and all together are not."""
    arrays = data_of("measuring", SECRET, sheet)[f"photographs-{sheet}.npz"]
    found, smallest = known("measuring", SECRET, sheet), variant_of("measuring", SECRET, sheet)
    probs, labels, weights = (arrays[key] for key in ("probs", "labels", "weights"))
    excess = weights * (probs.max(axis=1) - (probs.argmax(axis=1) == labels))
    gaps, rows = [], np.bincount(arrays["cameras"])
    for camera in range(6):
        of_it = arrays["cameras"] == camera
        gaps.append(excess[of_it].sum() / weights[of_it].sum())
    large = {camera: gap for camera, gap in enumerate(gaps) if rows[camera] >= 150}
    assert [found["over"], found["under"]] == [
        str(camera)
        for camera, gap in sorted(large.items(), key=lambda row: -row[1])
        if abs(gap) > 0.07
    ]
    assert abs(excess.sum() / weights.sum()) < 0.03
    assert np.flatnonzero(rows < smallest["min_size"]).tolist() == [int(found["small"])]
    assert found["sizes"] == ", ".join(map(str, rows))
    # What chance gives grows as the rows become fewer, so the errors say nothing without it.
    usual = [float(number) for number in found["usual_errors"].split(", ")]
    assert usual[int(found["few"])] > usual[int(found["some"])] > usual[int(found["many"])]


def test_the_answers_about_the_cameras_are_those_of_who_wrote_them_apart() -> None:
    for sheet in SHEETS:
        arrays = data_of("measuring", SECRET, sheet)[f"photographs-{sheet}.npz"]
        variant, found = variant_of("measuring", SECRET, sheet), known("measuring", SECRET, sheet)
        functions = answers("measuring", {**variant, "camera": "alone"})
        given = (arrays["probs"], arrays["labels"], arrays["weights"])
        right = given[0].argmax(axis=1) == given[1]
        tops = (given[0].max(axis=1), right, given[2])
        assert found["all_gap"] == f"{functions['signed_gap'](*tops):.3f}"
        assert found["gaps"] == listed(functions["signed_gaps"](*tops, arrays["cameras"], 6))
        assert found["all_error"] == f"{functions['classwise_error'](*given):.3f}"
        rows = [arrays["cameras"] == camera for camera in range(6)]
        errors = [functions["classwise_error"](*(c[of] for c in given)) for of in rows]
        assert found["errors"] == listed(errors)


def listed(numbers: list[float]) -> str:
    return ", ".join(f"{number:.3f}" for number in numbers)


@pytest.mark.parametrize("sheet", ["0", "5"])
def test_the_constant_has_the_lower_ece_and_the_higher_loss(sheet: str) -> None:
    found = known("recalibrating", SECRET, sheet)
    parts = load("recalibrating").network(secret_of(SECRET, sheet))
    logits, labels = parts["new_logits"], parts["new_labels"]
    probs = np.exp(logits - np.log(np.exp(logits).sum(1, keepdims=True)))
    assert found["before_ece"] == in_percent(expected_calibration_error(probs, labels, n_bins=15))
    assert found["accuracy"] == in_percent((logits.argmax(1) == labels).mean())
    ece, loss = (
        {name: float(found[f"{name}_{key}"].rstrip("\N{NO-BREAK SPACE}%")) for name in METHODS}
        for key in ("ece", "loss")
    )
    assert ece["constant"] < ece["yours"] < ece["before"]
    assert loss["yours"] < loss["constant"]


METHODS = ("before", "yours", "constant")


def test_the_report_of_the_reference_has_all_images() -> None:
    found = known("lab", SECRET, "4")
    assert sum(int(found[f"n_{part}"]) for part in ("train", "validation", "test")) == 1797
    assert 0.7 < float(found["accuracy"].split("\N{NO-BREAK SPACE}")[0]) / 100 < 1
    assert float(found["loss_after"]) <= float(found["loss_before"]) + 0.02


@pytest.mark.parametrize("name", assignment_names())
def test_known_has_the_values_of_every_text_for_the_teacher(name: str) -> None:
    """On two sheets; all of them ask for the same names of values."""
    values = known(name, SECRET, "4")
    checks = load(name).checks(SECRET, variant_of(name, SECRET, "4"))
    functions = {check.function for check in checks}
    assert len(for_teacher(name)["cards"]) >= 8
    for card in for_teacher(name)["cards"]:
        for text in (card["question"], card["good"]):
            assert "{{" not in rendered(text, values)
        assert card.keys() <= {"function", "question", "good"}
        assert card.get("function", "probabilities") in functions | {"probabilities", "report"}
    assert all("{{" not in line for line in facts(name, SECRET, "4"))
    for sheet in SHEETS:
        assert all("{" not in sentence for sentence in asked(name, SECRET, sheet).values())


def test_facts_are_none_of_an_assignment_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.classroom.tiny_class import make_class

    folder = make_class(tmp_path, monkeypatch)
    assert facts("tiny", SECRET, "0") == []
    assert known("tiny", SECRET, "0")["half"] == "0.5"
    assert example(folder, "tiny", "Question 4: why") == ""
