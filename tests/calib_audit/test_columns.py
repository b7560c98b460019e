"""The role of each column: what is guessed, from names and from labels, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from calib_audit import report
from calib_audit.columns import choose_columns
from calib_audit.words import roles
from calib_utils import metrics
from tests.calib_audit import DECIDED, rows_of, written
from tests.calib_audit.months import write
from tests.calib_audit.samples import CLASS, LABEL, NAMES, PROBS, SCORE


@pytest.mark.parametrize(
    ("head", "kind", "label"),
    [
        ("id,label,score", "score", "label"),
        ("Label,Score", "score", "Label"),
        ("label,logit", "logit", "label"),
        ("label,prob_a,prob_b", "probs", "label"),
        ("label,logit_0,logit_1,logit_2", "logits", "label"),
        ("correct,confidence", "confidence", "correct"),
        ("labels,prob", "score", "labels"),
        ("correct,score", "confidence", "correct"),
    ],
)
def test_choose_columns_guesses_from_the_names(head: str, kind: str, label: str) -> None:
    found = choose_columns(head.split(","))
    assert (found.kind, found.label) == (kind, label)
    assert any("(guessed)" in line for line in roles(found))


def test_choose_columns_does_not_guess_what_is_said() -> None:
    head = ["y", "p_cat", "p_dog", "w", "site", "when"]
    found = choose_columns(head, label="y", score="p_*", weight="w", group=["site"], time="when:M")
    assert found.classes == ("cat", "dog")
    assert (found.unit, found.time, found.groups) == ("M", "when", ("site",))
    assert not any("guessed" in line for line in roles(found))


def test_choose_columns_takes_one_class_of_several() -> None:
    found = choose_columns(["label", "prob_cat", "prob_dog"], positive="dog")
    assert (found.kind, found.scores) == ("score", ("prob_dog",))
    rows = rows_of(
        {"label": NAMES[CLASS], "prob_cat": PROBS[:, 0], "prob_dog": PROBS[:, 1]},
        positive="dog",
    )
    assert rows.labels.tolist() == (CLASS == 1).astype(int).tolist()


def test_choose_columns_leaves_shared_digits_and_letters_to_the_names() -> None:
    head = ["label", "p_10", "p_11", "p_12"]
    assert choose_columns(head, score="p_*").classes == ("10", "11", "12")
    head = ["label", "p_cat", "p_cow"]
    assert choose_columns(head, score="p_*").classes == ("cat", "cow")


@pytest.mark.parametrize(
    ("head", "named", "message"),
    [
        ("a,b", {}, "label, score: expected a column .label..*found 'a', 'b'.*score="),
        ("score,y", {}, "label: expected a column 'label', found 'score', 'y'.*label="),
        ("score,label", {"score": "scor"}, "scor: there is no such column.*mean 'score'"),
        ("label,prob_a", {}, "two columns prob_… or more, found 'prob_a' alone"),
        ("score,label,date", {"time": "date:Q"}, "time: expected a unit"),
        ("label,prob_a,prob_b", {"classes": ["x"]}, "classes: expected 2 names"),
        (
            "label,prob_cat,prob_dog",
            {"classes": ["dog", "cat"]},
            "classes: expected the order of the columns, 'cat', 'dog', found 'dog' for 'prob_c",
        ),
        ("label,prob_a,prob_b,prob_c", {"classes": ["x", "c", "y"]}, "found 'c' for 'prob_b'"),
        ("label,prob_a,prob_b", {"positive": "c"}, "positive: expected one of 'a', 'b'"),
        ("label,score", {"classes": ["a", "b"]}, "classes: expected columns of several"),
        ("label,prob_a,prob_b", {"classes": ["x", "x"]}, "classes: expected different names"),
        ("label,logit_a,logit_b", {"positive": "a"}, "expected probabilities, found logits of"),
    ],
)
def test_choose_columns_refuses_what_cannot_be_guessed(
    head: str, named: dict, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        choose_columns(head.split(","), **named)


@pytest.mark.parametrize("kind", ["prob", "logit"])
@pytest.mark.parametrize("name", ["{kind}_cal_{k}", "{kind}_{k}_cal"])
def test_choose_columns_tells_two_sets_apart(kind: str, name: str) -> None:
    scores = PROBS if kind == "prob" else np.log(PROBS)
    raw = {f"{kind}_{each}": scores[:, k] for k, each in enumerate(NAMES)}
    second = {name.format(kind=kind, k=each): scores[:, k] for k, each in enumerate(NAMES)}
    data = {**raw, **second, "label": NAMES[CLASS]}
    with pytest.raises(ValueError, match="score: found two sets of columns") as caught:
        report(data, **DECIDED)
    (pattern,) = {each for each in str(caught.value).split("'") if "*" in each}
    found = report(data, score=pattern, **DECIDED)
    assert found.columns.classes == tuple(NAMES)
    pairs = {f"prob_{a}_{b}": PROBS[:, 0] / 4 for a in ("red", "blue") for b in ("car", "bus")}
    assert choose_columns([*pairs, "label"]).classes[0] == "red_car"


def test_choose_columns_takes_any_score_beside_correct_for_a_confidence() -> None:
    """Of language models nothing else is known; and truth values are no labels of a class."""
    known = report({"confidence": SCORE, "correct": LABEL}, **DECIDED)
    for data, named in (
        ({"score": SCORE, "correct": LABEL == 1}, {}),
        ({"p": SCORE, "Correct": LABEL == 1}, {"score": "p", "label": "Correct"}),
    ):
        found = report(data, **DECIDED, **named)
        assert found.measures == known.measures
        assert found.verdict == known.verdict


def called_as_labels(names: list) -> dict[str, np.ndarray]:
    """As ``DataFrame(predict_proba(x), columns=clf.classes_)`` has them."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(len(names)), 300)
    k = (probs.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    return dict(zip(map(str, names), probs.T, strict=True)) | {"label": np.array(names)[k]}


@pytest.mark.parametrize("names", [["cat", "cow", "dog"], [3, 5, 8], ["no", "yes"]])
def test_columns_called_as_the_labels_give_the_report_of_named_ones(
    names: list, tmp_path: Path
) -> None:
    data = called_as_labels(names)
    usual = {f"prob_{key}" if key != "label" else key: data[key] for key in data}
    expected = report(usual, **DECIDED)
    others = {"age": np.arange(300), "half": np.full(300, 0.5)}  # which are not of the model
    path = written(tmp_path / "a.csv", **{"": np.arange(300)}, **data, **others)
    for source in (data, path, write(tmp_path / "files", data, 3)):
        found = report(source, **DECIDED)
        assert found.measures == expected.measures
        assert found.columns.classes == tuple(map(str, names))
        assert f"order of the columns: {', '.join(map(str, names))}" in "".join(found.read)
    assert any("(guessed)" in line for line in found.read)


def test_columns_called_as_the_labels_may_be_numbers() -> None:
    """As pandas names them for integer classes."""
    pandas = pytest.importorskip("pandas")
    for classes in ([0, 1, 2], [3, 1, 2]):
        label = np.array(classes)[CLASS]
        found = report(pandas.DataFrame(PROBS, columns=classes).assign(label=label))
        assert found.columns.classes == tuple(map(str, classes))
        assert found.measures.accuracy == metrics.accuracy(PROBS, CLASS)


def test_columns_called_as_the_labels_may_be_of_a_class_that_the_first_rows_lack() -> None:
    data = called_as_labels(["a", "b", "c"])
    data["label"] = np.where(data["label"] == "c", "a", data["label"])
    assert report(data, **DECIDED).columns.classes == ("a", "b", "c")


def test_columns_called_as_the_labels_may_be_one_less_all_others() -> None:
    first, second = np.array([0.7, 0.5, 0.8] * 99), np.array([0.3, 0.2, 0.2] * 99)
    data = {"cat": first, "dog": second, "hen": 1 - first - second, "label": ["cat", "dog"] * 148}
    assert data["hen"].min() < 0
    found = report({name: column[:296] for name, column in data.items()}, **DECIDED)
    assert found.columns.classes == ("cat", "dog", "hen")


def test_columns_called_as_the_labels_are_one_for_each() -> None:
    data = called_as_labels(["a", "b"])
    with pytest.raises(ValueError, match="one named after each label, found 'a'"):
        report(data | {"label": np.array(["a", "z"] * 150)})


def test_columns_called_as_the_labels_need_the_name_of_the_label() -> None:
    columns = {"truth": ["cat", "dog"] * 30, "cat": [0.9, 0.2] * 30, "dog": [0.1, 0.8] * 30}
    with pytest.raises(ValueError, match="name the column of what happened with label=") as caught:
        report(columns)
    assert "score=..., unless there is one named after each label" in str(caught.value)
    assert json.dumps(report(columns, label="truth", cross_fit=0).columns.classes)


def test_a_column_of_lists_that_nobody_reads_does_no_harm() -> None:
    pl = pytest.importorskip("polars")
    known = {"0": 1 - SCORE, "1": SCORE, "label": LABEL, "embedding": pl.Series(PROBS)}
    found = report(pl.DataFrame(known), **DECIDED)
    assert found.columns.scores == ("0", "1")
