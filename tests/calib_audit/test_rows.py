"""Rows of predictions: what a label may be, and which rows need attention."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.column_types import as_array
from tests.calib_audit import DECIDED, every_form, in_form, rows_of, written
from tests.calib_audit.samples import CLASS, LABEL, NAMES, PROBS, SCORE, of_patients


def test_labels_are_classes_by_name_by_number_and_as_told(tmp_path: Path) -> None:
    named = dict(zip(("prob_cat", "prob_dog", "prob_고양이"), PROBS.T, strict=True))
    bare = {f"prob_{k}": column for k, column in enumerate(PROBS.T)}
    by_name = written(tmp_path / "a.csv", **named, label=NAMES[CLASS])
    by_number = written(tmp_path / "b.csv", **named, label=CLASS)
    told = written(tmp_path / "c.csv", **bare, label=NAMES[CLASS])
    for found in (rows_of(by_name), rows_of(by_number), rows_of(told, classes=list(NAMES))):
        assert found.labels.tolist() == CLASS.tolist()


def test_labels_may_be_written_in_any_way() -> None:
    for labels in (
        ["0.000", "1."],
        [0.0, 1.0],
        np.array([0, 1.0], object),
        ["False", " TRUE "],
        ["no", "Yes"],
    ):
        rows = rows_of({"score": [0.5, 0.5], "label": labels})
        assert rows.labels.tolist() == [0, 1]


def test_labels_are_places_only_of_columns_in_alphabetical_order() -> None:
    sorted_names = {"prob_cat": PROBS[:, 0], "prob_dog": PROBS[:, 1], "prob_owl": PROBS[:, 2]}
    expected = report(sorted_names | {"label": CLASS}, **DECIDED)
    assert "0 is 'cat', and 2 is 'owl'" in " ".join(expected.read)
    turned = {name: sorted_names[name] for name in ("prob_dog", "prob_cat", "prob_owl")}
    with pytest.raises(
        ValueError, match=r"label: found numbers, such as '0', .* as classes=\.\.\."
    ):
        report(turned | {"label": CLASS}, **DECIDED)
    declared = report(turned | {"label": CLASS}, classes=["1", "0", "2"], **DECIDED)
    assert declared.measures.happened == expected.measures.happened


@pytest.mark.parametrize("name", ["none", "NA"])
def test_labels_and_groups_may_have_the_name_of_nothing(name: str, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    names = np.array([name, "mild", "severe"])
    frame = pd.DataFrame(PROBS, columns=[f"prob_{each}" for each in names])
    frame = frame.assign(label=names[CLASS])
    bare = frame.rename(columns=lambda column: column.removeprefix("prob_"))
    for i, each in enumerate((frame, bare)):
        each.to_csv(tmp_path / f"{i}.csv", index=False)
        for form in (each, tmp_path / f"{i}.csv"):
            assert [part.n for part in report(form, **DECIDED).classes] == [300] * 3
    groups = report({"score": SCORE, "label": LABEL, "g": names[CLASS]}, group="g", **DECIDED)
    assert {part.name for part in groups.groups["g"]} == set(names)
    positive = {"score": SCORE, "label": np.array(["other", name])[LABEL]}
    assert report(positive, positive=name, **DECIDED).measures.happened == LABEL.mean()


def test_rows_lack_a_value_where_a_text_file_or_a_column_of_numbers_has_a_word_for_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data.csv"
    rows = [f"{s},{y},{g}" for s, y, g in zip(SCORE, LABEL, "ab" * 150, strict=True)]
    path.write_text("\n".join(["score,label,g", *rows, "0.5,1,", "null,1,a", "0.5,None,a"]))
    assert report(path, group="g", drop=True, **DECIDED).measures.n == 300
    with pytest.raises(
        ValueError, match=r"^label: expected a value in each row, found 'None' in row 303; fill"
    ):
        report(path, group="g", **DECIDED)
    texts = np.array([*SCORE.astype(str), "NA"], object)
    labels = np.array([*LABEL.tolist(), 1, None], object)
    typed = {"score": texts[[*range(301), 0]], "label": labels}
    assert report(typed, drop=True, **DECIDED).measures.n == 300


def test_rows_may_be_of_a_group_or_a_block_called_na(tmp_path: Path) -> None:
    """It is Namibia's code, and North America's; only an empty cell says nothing."""
    country = np.repeat(["NA", "null", "DE"], 100)
    path = written(tmp_path / "a.csv", score=SCORE, label=LABEL, country=[*country[:-1], ""])
    rows = rows_of(path, drop=True, group=["country"], blocks="country")
    for names in (as_array(rows.groups["country"]), rows.names_of_blocks):
        np.testing.assert_array_equal(names, country[:-1])
    for role in ("group", "blocks"):
        with pytest.raises(ValueError, match=r"^country: .* found none in row 300; fill them"):
            report(path, **DECIDED, **{role: "country"})


def test_rows_need_the_name_of_their_block() -> None:
    data = of_patients()
    patient = data["patient"].astype(object)
    patient[5] = None
    with pytest.raises(ValueError, match=r"^patient: expected a value in each row, found none"):
        report(data | {"patient": patient}, blocks="patient")


def test_counts_are_of_rows_that_were_dropped(tmp_path: Path) -> None:
    labels = [*LABEL[:-2].tolist(), "", "n/a"]
    path = written(tmp_path / "a.csv", score=SCORE, label=labels)
    found = report(path, drop=True, **DECIDED)
    assert found.measures.n == 298
    assert "2 rows were dropped because a value was missing" in found.read
    every = written(tmp_path / "b.csv", score=SCORE, label=[""] * 300)
    with pytest.raises(ValueError, match="there are no rows; all 300 were dropped"):
        report(every, drop=True)
    none = {"score": [0.5, 0.5], "label": [np.nan, np.nan], "weight": [1, 2]}
    with pytest.raises(ValueError, match="there are no rows; all 2 were dropped"):
        report(none, weight="weight", drop=True)


@every_form
def test_counts_are_of_rows_that_were_impossible(form: str, tmp_path: Path) -> None:
    score, label = np.repeat([0.0, 0.3, 1.0], 50), np.zeros(150, int)
    label[[0, 1, 2, 60, 70]] = 1
    label[100:143] = 1  # so that seven at a score of 1 did not happen
    found = report(in_form(form, {"score": score, "label": label}, tmp_path), cross_fit=0)
    assert any(line.startswith("10 rows gave a probability of 0 to what ") for line in found.read)
    columns = {"label": 1 - label, "prob_0": 1 - score, "prob_1": score}
    found = report(in_form(form, columns, tmp_path), cross_fit=0)
    assert any(line.startswith("90 rows gave a probability of 0 to what ") for line in found.read)


def test_counts_doubt_logits_that_look_like_probabilities(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    doubt = r"score: because of their name, the values of '{}' are taken for logits, but they look"
    data: Any
    for data in (
        {"logit": SCORE, "label": LABEL},
        {"logit": SCORE, "label": LABEL, "w": SCORE + 0.1},
        {"logits": PROBS.round(2), "label": CLASS},
    ):
        name = "logit" if "logit" in data else "logit_0"
        weight = {"weight": "w"} if "w" in data else {}
        with pytest.warns(UserWarning, match=doubt.format(name)):
            found = report(data, **DECIDED, **weight)
        assert any(re.match(doubt.format(name), line) for line in found.read)
    path = written(tmp_path / "a.csv", logit=SCORE, label=LABEL)
    main([path, "--cross-fit", "0"])
    out, err = capsys.readouterr()
    assert err == ""
    assert "look like probabilities" in out
    recwarn.clear()
    last = np.append(SCORE[:-1], 1.01)
    few = {"logit": SCORE[:19], "label": LABEL[:19]}
    for data in ({"logit": last, "label": LABEL}, {"score": SCORE, "label": LABEL}, few):
        assert not any("look like" in line for line in report(data, **DECIDED).read)
    assert not recwarn.list


@pytest.mark.parametrize("positive", ["Yes", "1", "true"])
def test_counts_refuse_a_positive_label_that_never_occurs(positive: str, tmp_path: Path) -> None:
    """All else would be negative, and the verdict wrong without a word."""
    path = written(tmp_path / "a.csv", score=SCORE, label=np.where(LABEL, "yes", "no"))
    with pytest.raises(ValueError, match=r"positive: expected a label that occurs.*'no', 'yes'"):
        rows_of(path, positive=positive)


@pytest.mark.parametrize("place", [0, 1_999])
def test_counts_refuse_a_positive_label_that_is_spelt_in_two_ways(place: int) -> None:
    """One of the two would be negative, even where it is rare among many other labels."""
    label = np.array(["yes", *(f"no {k}" for k in range(1_999))], object)
    label[[place, -1 - place]] = "YES", "yes"
    with pytest.raises(ValueError, match=r"^positive: expected one spelling of 'yes', found 'YES'"):
        report({"score": np.full(2_000, 0.3), "label": label}, positive="yes", **DECIDED)


def test_counts_take_a_positive_label_that_may_be_rare(tmp_path: Path) -> None:
    none = written(tmp_path / "b.csv", score=SCORE, label=["no"] * 300)
    found = report(none, positive="yes", **DECIDED)
    assert "no row has the label 'yes'" in found.read
