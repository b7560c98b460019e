"""What is in the cells of a column: numbers of each type, texts, dates, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib_audit import report
from calib_audit.column_types import Coded, as_array, as_coded, name_of
from calib_audit.measures import ece_of
from calib_utils.metrics import classwise_calibration_error, expected_calibration_error
from tests.calib_audit import DECIDED, every_form, in_form, rows_of
from tests.calib_audit.samples import CLASS, LABEL, NAMES, PROBS, SCORE, tenths

NARROW = ["float32", "float16"]


@every_form
@pytest.mark.parametrize("dtype", ["float64", *NARROW])
def test_float_type_puts_a_score_on_an_edge_into_the_bin_below(
    dtype: str, form: str, tmp_path: Path
) -> None:
    score, label = tenths(dtype)
    of_day = np.full(len(label), "2026-01-01")
    columns = {"score": score, "label": label, "side": of_day, "day": of_day}
    found = report(in_form(form, columns, tmp_path), group="side", time="day:D", n_bins=10)
    assert found.measures.ece == pytest.approx(0.1, abs=5e-4)
    assert found.measures.ece == pytest.approx(expected_calibration_error(score, label, 10))
    assert found.bins.array[0].nonzero()[0].tolist() == [5, 6, 7, 8]
    assert found.recalibrators.ece == pytest.approx(0.1, abs=5e-4)
    alike = report(
        in_form(form, columns | {"score": score.astype(float).round(1)}, tmp_path), n_bins=10
    )
    assert found.measures.error == pytest.approx(alike.measures.error, abs=5e-4)
    assert found.measures.baseline_ece == pytest.approx(alike.measures.baseline_ece, abs=5e-4)
    (group,) = found.groups["side"]
    assert ece_of(group.bins) == pytest.approx(found.measures.ece)


@every_form
@pytest.mark.parametrize("dtype", NARROW)
def test_float_type_puts_one_of_several_classes_into_the_bin_below(
    dtype: str, form: str, tmp_path: Path
) -> None:
    score, label = tenths(dtype)
    probs = np.stack([1 - score, score], axis=1)
    columns = {"label": label, "prob_0": probs[:, 0], "prob_1": probs[:, 1]}
    found = report(in_form(form, columns, tmp_path), n_bins=10, cross_fit=0)
    assert found.measures.ece == pytest.approx(expected_calibration_error(probs, label, 10))
    by_class = np.mean([ece_of(part.bins) for part in found.classes])
    assert by_class == pytest.approx(classwise_calibration_error(probs, label, 10))


def test_float_type_of_columns_of_two_types_is_double() -> None:
    score, label = tenths("float32")
    mixed = {"prob_0": 1 - score.astype(float), "prob_1": score, "label": label}
    expected = {"prob_0": 1 - score.astype(float), "prob_1": score.astype(float), "label": label}
    both = [report(each, n_bins=10, cross_fit=0).measures.ece for each in (mixed, expected)]
    assert both[0] == both[1]


def test_numbers_of_takes_only_real_numbers_that_are_there() -> None:
    with pytest.raises(ValueError, match="expected numbers, found complex128"):
        rows_of({"score": SCORE + 1j, "label": LABEL})
    hidden = np.ma.masked_where(SCORE > 0.9, SCORE)
    with pytest.raises(ValueError, match="score: expected a value in each row"):
        rows_of({"score": hidden, "label": LABEL})
    rows = rows_of({"score": hidden, "label": LABEL}, drop=True)
    assert rows.probs.tolist() == SCORE[SCORE <= 0.9].tolist()


def test_numbers_of_takes_mixed_types_of_a_frame() -> None:
    mixed = np.array([0.5, "0.25", 1], object)
    assert rows_of({"score": mixed, "label": [1, 0, 1]}).probs.tolist() == [0.5, 0.25, 1]
    mixed[1] = "low"
    with pytest.raises(ValueError, match="found 'low' in row 2"):
        rows_of({"score": mixed, "label": [1, 0, 1]})


def test_times_of_takes_dates_with_hours_and_zones() -> None:
    for stamps in (["2026-01-31T23:00:00Z", "2026-02-01 01:00"], ["2026-01-31", "2026-02-01"]):
        data = {"score": [0.5, 0.5], "label": [0, 1], "when": stamps}
        for unit, expected in (
            ("D", ["2026-01-31", "2026-02-01"]),
            ("M", ["2026-01", "2026-02"]),
        ):
            rows = rows_of(data, time=f"when:{unit}")
            assert as_array(rows.times).astype(str).tolist() == expected


def test_in_spans_begins_a_week_on_its_monday() -> None:
    """NumPy's begins on a Thursday."""
    days = np.datetime64("2026-06-01") + np.arange(28)  # from a Monday to a Sunday
    data = {"score": np.full(28, 0.5), "label": np.arange(28) % 2, "day": days}
    found = report(data, time="day:W", cross_fit=0)
    assert [(span.name, span.n) for span in found.times] == [
        (f"2026-06-{day:02}", 7) for day in (1, 8, 15, 22)
    ]


def nested(kind: str, values: np.ndarray) -> Any:
    """Each row's values in one cell."""
    pl = pytest.importorskip("polars")
    if kind == "Array":
        return pl.Series(values)
    cells = [list(row) if kind == "List" else {"a": row[0], "b": row[1]} for row in values]
    return cells if kind == "objects" else pl.Series(cells)


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        *(("score", kind) for kind in ("Array", "List", "Struct")),
        *((role, "List") for role in ("confidence", "label", "w", "g", "b", "day")),
    ],
)
def test_check_flat_refuses_a_cell_of_several_values_whatever_its_role(
    role: str, kind: str, tmp_path: Path
) -> None:
    pl = pytest.importorskip("polars")
    score = role if role in ("logit", "confidence") else "score"
    label = "correct" if role == "confidence" else "label"
    data: dict[str, Any] = {score: SCORE, label: LABEL, "w": np.ones(300), "g": NAMES[CLASS]}
    data |= {"b": np.arange(300) // 3, "day": np.datetime64("2026-01-01") + np.arange(300) // 30}
    data[role] = nested(kind, PROBS if role == "day" else np.stack([data[role]] * 2, axis=1))
    asked: dict[str, Any] = {"blocks": "b"} if role == "b" else {"weight": "w", "group": "g"}
    asked |= {} if role == "b" else {"time": "day:D"}
    frame = pl.DataFrame(data)
    forms: list[Any] = [frame]
    if kind != "Array":
        frame.write_parquet(tmp_path / "data.parquet")
        forms.append(tmp_path / "data.parquet")
    for form in forms:
        with pytest.raises(ValueError, match=f"^{role}: .*give a column for each class"):
            report(form, **DECIDED, **asked)


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("True", ["True", "true"]),
        ("-1", ["-1", "-1.0", "-1.000"]),
        (
            "2026-01-31",
            ["2026-01-31T00:00:00.000000000", "2026-01-31 00:00", "2026-01-31 00:00:00Z"],
        ),
        ("2026-01-31 09:30:00", ["2026-01-31T09:30", "2026-01-31 09:30:00.000 +0900"]),
        ("2026-01-31 09:30:10.05", ["2026-01-31T09:30:10.050", "2026-01-31 09:30:10.05+09"]),
        *((name, [name]) for name in ("TRUE", "1.5", "1.0.0", "01.0 m", "2026-01-31 T", "NA")),
    ],
)
def test_name_of_a_group_is_one_for_all_spellings(name: str, spellings: list[str]) -> None:
    assert {name_of(each) for each in spellings} == {name}


def test_as_coded_holds_each_value_once() -> None:
    found = as_coded(Coded(np.array(["True", "a", "True"]), np.array([0, 1, 2, 2])))
    assert found.values.tolist() == ["True", "a"]
    assert as_array(found).tolist() == ["True", "a", "True", "True"]
