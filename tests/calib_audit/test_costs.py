"""The cost of wrong decisions, written out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calib_audit.costs import cost_curve
from tests.calib_audit import judged
from tests.calib_audit.samples import drawn


def test_cost_curve_written_out() -> None:
    score, label = drawn(500, 0)
    found = cost_curve(score, label, (1.0, 5.0))
    for threshold, cost in zip(found.thresholds, found.curve, strict=True):
        acts = score >= threshold
        assert cost == pytest.approx(
            ((acts & (label == 0)).sum() + 5 * (~acts & (label == 1)).sum()) / 500
        )
    assert found.planned[0] == pytest.approx(1 / 6)
    assert found.always == pytest.approx((label == 0).mean())
    assert found.never == pytest.approx(5 * label.mean())
    assert found.lowest[1] <= found.curve.min()


@pytest.mark.parametrize("highest", [1.0, 0.9])
def test_cost_curve_has_its_lowest_cost_at_the_lowest_threshold(highest: float) -> None:
    """Of 100 rows, ten have the highest score, and one of these and one other are positive."""
    score = np.repeat([0.1, highest], [90, 10])
    label = np.isin(np.arange(100), [0, 95]).astype(int)
    found = judged(score, label, prices=(5.0, 1.0), cross_fit=0)
    threshold, cost = found.costs.lowest
    assert cost == pytest.approx(0.02) == found.costs.never
    acts = score >= threshold
    assert (5 * (acts & (label == 0)) + (~acts & (label == 1))).mean() == pytest.approx(cost)
    never = "never acting, best on these rows: 0.020 a row"
    assert (never in found.text()) == (highest == 1)
    at = json.loads(found.json())["costs"]["lowest"][0]
    assert at is None if highest == 1 else at == 1


def test_cost_curve_refuses_prices_that_are_none() -> None:
    with pytest.raises(ValueError, match="prices: expected two numbers above 0"):
        cost_curve(*drawn(50, 0), prices=(0, 1))
