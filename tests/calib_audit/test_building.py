"""A report as a whole: what it is asked for goes together, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from calib_audit import report
from tests.calib_audit.samples import BENT, HAPPENED, LABEL, SCORE, cells, of_patients


def test_report_takes_cells_for_groups_if_asked_and_names_them_otherwise() -> None:
    data = cells()
    found = report(data, group=["region", "product"], cross_fit=0)
    assert found.verdict.outcome == "within"
    assert "Cells of `region` and `product`" in found.verdict.sentence
    crossed = report(data, group="region*product", cross_fit=0)
    assert crossed.verdict.outcome == "groups"
    parts = {part.name: part for part in crossed.groups["region*product"]}
    assert sorted(parts) == ["N, A", "N, B", "S, A", "S, B"]
    for name, part in parts.items():
        here = (data["region"] == name[0]) & (data["product"] == name[-1])
        assert part.n == here.sum()
        assert part.gap == pytest.approx((data["label"] - data["score"])[here].mean(), abs=1e-6)
    with pytest.raises(ValueError, match="plan: there is no such column"):
        report(data, group="region*plan")


def test_report_tries_recalibrators_of_an_unproven_score() -> None:
    rng = np.random.default_rng(0)
    score = rng.uniform(0.04, 0.08, 1_500)
    found = report({"score": score, "label": (rng.random(1_500) < score).astype(int)})
    assert "these rows do not show" in found.verdict.sentence
    assert found.recalibrators is not None


def test_report_needs_no_blocks_in_other_rows_for_the_fit() -> None:
    others = {name: of_patients(200, seed=9)[name] for name in ("score", "label")}
    found = report(of_patients(), blocks="patient", fit=others)
    assert found.recalibrators.how.startswith(f"fitted on {len(others['label']):,} other rows")


def test_report_refuses_a_fit_of_another_kind() -> None:
    with pytest.raises(ValueError, match="fit: expected score"):
        report(
            {"score": BENT, "label": HAPPENED},
            fit={"prob_a": [1.0, 0.0], "prob_b": [0.0, 1.0], "label": [0, 1]},
        )


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"score": "label"}, "found 'label' for both"),
        ({"tolerance": 0}, "^tolerance: expected above 0"),
        ({"relative_tolerance": 0}, "^relative_tolerance: expected above 0"),
        ({"prices": (1, 2, 3)}, "prices: expected two numbers"),
        ({"monitor": True}, "monitor: expected together with"),
        ({"classes": "ab"}, "classes: expected several in a list"),
        ({"group": 3}, "3: there is no such column"),
        ({"cross_fit": 1}, "cross_fit: expected 0, or 2 folds or more"),
        ({"baseline": "base.json"}, "baseline: expected together with time="),
    ],
)
def test_report_refuses_what_cannot_be_asked_for(named: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        report({"score": SCORE, "label": LABEL}, **({"cross_fit": 0} | named))


def test_report_refuses_prices_of_several_classes() -> None:
    with pytest.raises(ValueError, match="prices: expected one score in a row"):
        report({"probs": np.eye(3), "labels": [0, 1, 2]}, prices=(1, 1))


def test_report_refuses_more_rows_in_blocks_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calib_audit.lots._MOST_CELLS", 100)
    with pytest.raises(ValueError, match=r"^blocks: expected so few rows that all can be kept"):
        report(of_patients(), blocks="patient")
