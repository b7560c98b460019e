"""Probabilities from scores and from logarithms, some of which are missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from calib_audit import report
from calib_audit.probabilities import from_logs
from tests.calib_audit import DECIDED, rows_of, written
from tests.calib_audit.months import write
from tests.calib_audit.samples import CLASS, PROBS, tenths


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (1.0002, "rounding does not explain that"),
        (2, "rounding does not explain that"),
        (2.01, "if these are percent"),
        (100, "if these are percent"),
        (100.01, "name columns of log-odds or logits logit"),
        (-2e-4, "name columns of log-odds or logits logit"),
    ],
)
def test_probabilities_say_what_a_number_beyond_them_may_be(score: float, message: str) -> None:
    for rounded in (0.5, 1.00009, -9e-5):
        with pytest.raises(ValueError, match=rf"found {score:g} in row 2; .*{message}"):
            rows_of({"score": [rounded, score], "label": [0, 1]})


def test_probabilities_take_the_rounding_of_a_softmax() -> None:
    rows = rows_of({"score": [1.00009, 0.5, -9e-5], "label": [0, 1, 1]})
    assert rows.probs.tolist() == [1, 0.5, 0]


def test_probabilities_take_a_class_that_is_one_less_all_others() -> None:
    first, second = np.array([0.7, 0.5, 0.8]), np.array([0.3, 0.2, 0.2])
    third = 1 - first - second
    assert third[2] < 0 < third[1]
    rows = rows_of({"prob_a": first, "prob_b": second, "prob_c": third, "label": ["a", "b", "a"]})
    assert rows.probs[:, 2].tolist() == third.clip(0).tolist()


@pytest.mark.parametrize("rescale", [False, True])
def test_probabilities_that_sum_to_one_are_not_rescaled(rescale: bool) -> None:
    score, label = tenths("float32")
    probs = np.stack([1 - score, score], axis=1)
    probs = np.concatenate([probs, np.float32([[0.5, 0.49]])])
    label = np.append(label, 1)
    columns = {"label": label, "prob_0": probs[:, 0], "prob_1": probs[:, 1]}
    if rescale:
        found = report(columns, n_bins=10, cross_fit=0, rescale=True)
        assert found.measures.ece == pytest.approx(0.1, abs=2e-3)
        assert "1 row was divided by its sum" in found.read
    else:
        with pytest.raises(ValueError, match="sum to 1"):
            report(columns, cross_fit=0)


def test_probabilities_are_divided_by_their_sum_and_counted() -> None:
    rounded = PROBS.round(2)
    off = int((np.abs(rounded.sum(axis=1) - 1) > 1e-4).sum())
    columns = dict(zip(("prob_a", "prob_b", "prob_c"), rounded.T, strict=True)) | {"label": CLASS}
    with pytest.raises(ValueError, match="sum to 1"):
        report(columns)
    found = report(columns, rescale=True, **DECIDED)
    assert f"{off:,} rows were divided by their sum" in found.read


def test_probabilities_that_sum_to_0_cannot_be_divided() -> None:
    rounded = PROBS.round(2)
    rounded[7] = 0
    columns = dict(zip(("prob_a", "prob_b", "prob_c"), rounded.T, strict=True))
    with pytest.raises(ValueError, match=r"above 0 to divide by, found 0 in row 8; leave such"):
        report(columns | {"label": CLASS}, rescale=True)


def test_probabilities_of_several_labels_are_questions_of_their_own() -> None:
    rng = np.random.default_rng(7)
    columns = {f"prob_{name}": rng.random(50) for name in "abc"} | {"label": ["a"] * 50}
    with pytest.raises(ValueError, match="several labels of a row may be true, make a report"):
        report(columns, cross_fit=0)


LETTERS = "ABCD"


def table(rows: list[list[object]]) -> dict[str, list[object]]:
    return {f"logprob_{x}": list(column) for x, column in zip(LETTERS, zip(*rows), strict=True)}  # noqa: B905


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([0.5, 0.2, 0.2, 0.1], [0.5, 0.2, 0.2, 0.1]),
        ([0.4, 0.2, 0.1, 0.1], [0.5, 0.25, 0.125, 0.125]),  # 0.2 belongs to other answers
        ([0.5, 0.2, 0, 0], [0.5, 0.2, 0.15, 0.15]),  # what is left of 1, in equal parts
        ([0.6, 0.1, 0.01, 0], [0.6 / 0.72, 0.1 / 0.72, 0.01 / 0.72, 0.01 / 0.72]),
        ([0.7, 0.3, 0, 0], [0.7, 0.3, 0, 0]),  # a masked class has nothing
        ([0, 0, 1e-4, 0], [0.25, 0.25, 0.25, 0.25]),
    ],
)
def test_from_logs_shares_what_the_listed_classes_leave(
    given: list[float], expected: list[float]
) -> None:
    with np.errstate(divide="ignore"):
        logs = np.log([given])
    found = from_logs(logs, LETTERS, np.array([1]))
    np.testing.assert_allclose(found.probs[0], expected, atol=1e-15)
    assert (found.filled, found.elsewhere) == (0 in given, sum(given) < 0.5)


@pytest.mark.parametrize("missing", ["", "-inf", "NaN", "-9999.0"])
def test_from_logs_says_what_a_file_lacks(missing: str, tmp_path: Path) -> None:
    rows = [["-0.3", "-1.9", missing, "-3"], ["-0.7", "-0.9", "-3", "-4"]] * 30
    columns = table(rows) | {"label": ["A", "B"] * 30}
    found = report(written(tmp_path / "a.csv", **columns), cross_fit=0)
    text = "\n".join(found.read)
    assert "log-probabilities of 4 classes (guessed)" in text
    assert "30 rows lacked a class: each such class got an equal part" in text
    first = np.exp([-0.3, -1.9, -3])
    whole = first.sum() + min(1 - first.sum(), first.min())
    second = np.exp([-0.7, -0.9, -3, -4])
    expected = (first[0] / whole + second[0] / second.sum()) / 2
    assert found.measures.predicted == pytest.approx(expected, rel=1e-9)  # sums in whole units


def test_from_logs_says_where_the_answer_is_none_of_the_classes() -> None:
    rows = [[-3.0, -4.0, -5.0, -np.inf]] * 40
    found = report(table(rows) | {"label": list("ABCD") * 10}, cross_fit=0)
    assert "in 40 rows the classes have less than half" in "\n".join(found.read)


def test_from_logs_refuses_rows_without_any_class() -> None:
    rows = [[-0.1, -3.0, -4.0, -5.0]] * 40 + [[np.nan] * 4, [-np.inf] * 4]
    columns = table(rows) | {"label": ["A"] * 42}
    with pytest.raises(ValueError, match=r"log-probability of one class at least.* row 41; leave"):
        report(columns)
    found = report(columns, drop=True, cross_fit=0)
    assert found.measures.n == 40
    assert "2 rows were dropped" in "\n".join(found.read)


@pytest.mark.parametrize("row", [[0.5, -1.0, -2.0, -3.0], [-0.1, -0.2, -3.0, -4.0]])
def test_from_logs_refuses_what_is_no_log_probability(row: list[float]) -> None:
    with pytest.raises(ValueError, match=r"natural logarithms .* row 1, whose sum is larger"):
        report(table([row] * 30) | {"label": ["A"] * 30})


def test_from_logs_finds_the_same_in_a_folder(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1, 1, 2], 3_000)
    label = np.array([*LETTERS])[(probs[:, :4] * rng.random((3_000, 4))).argmax(axis=1)]
    logs = np.log(np.where(probs[:, :4] < 0.05, np.nan, probs[:, :4]))
    columns = {f"logprob_{x}": logs[:, k] for k, x in enumerate(LETTERS)} | {"label": label}
    folder = write(tmp_path / "files", columns, 3)
    found = [report(data, cross_fit=0, drop=True) for data in (columns, folder)]
    lines = [[line for line in each.read if "rows l" in line] for each in found]
    assert lines[0] == lines[1] != []
    assert found[0].measures.ece == pytest.approx(found[1].measures.ece, rel=1e-6)
