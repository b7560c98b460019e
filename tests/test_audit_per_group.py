"""A report on groups that one map for all rows leaves wrong, while a map for each does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from calib_utils.audit import report
from calib_utils.audit.column_types import as_coded
from calib_utils.audit.formatting import signed_points
from calib_utils.audit.lots import Lots
from calib_utils.audit.per_group import MapsPerGroup
from calib_utils.audit.rows import Rows
from calib_utils.recalibration import PlattPerGroup, load

N = 12_000


def data_of(seed: int = 0, gap: float = 0.05) -> dict[str, np.ndarray]:
    """Of plan a more happens than is predicted, and of b less, so that the mean is right."""
    rng = np.random.default_rng(seed)
    score = 0.1 + 0.8 * rng.beta(2, 3, N)
    plan = rng.choice(["a", "b"], N)
    chances = score + np.where(plan == "a", gap, -gap)
    return {"score": score, "label": (rng.random(N) < chances).astype(int), "plan": plan}


def maps_of(data: dict[str, Any], **options: Any) -> dict[str, MapsPerGroup]:
    tried = report(data, **{"group": "plan", "cross_fit": 2} | options).recalibrators
    assert tried is not None
    return tried.per_group


def test_the_report_says_what_a_map_for_each_group_does(tmp_path: Path) -> None:
    data = data_of()
    found = report(data, group="plan", cross_fit=2)
    assert found.verdict.outcome == "groups"
    assert found.recalibrators is not None
    maps = found.recalibrators.per_group["plan"]
    assert maps.interval[0] < maps.gain < maps.interval[1] < 0
    assert {part.outcome for part in maps.parts} == {"within"}
    a, b = (signed_points(part.gap) for part in maps.parts)
    assert (
        f"A map for each value of `plan` (`PlattPerGroup`) brings `a` to {a} and `b` to {b}, on "
        "rows that it was not fitted on."
    ) in found.verdict.sentence
    assert f"{a} with a map for each group" in found.text()
    assert '<th scope="col">with a map for each group</th>' in found.html()
    (in_json,) = json.loads(found.json())["recalibrators"]["per_group"].values()
    assert in_json["parts"][0]["gap"] == maps.parts[0].gap
    assert maps.best is not None
    maps.best.save(tmp_path / "plan.npz")
    again = load(tmp_path / "plan.npz").predict_proba(data["score"], groups=data["plan"])
    for name in "ab":
        rows = data["plan"] == name
        assert abs(data["label"][rows].mean() - again[rows].mean()) < 0.01


def test_the_numbers_are_of_rows_that_were_left_out() -> None:
    """As written out, in the same folds."""
    data = data_of()
    score, label, plan = data["score"], data["label"], data["plan"]
    maps = maps_of(data, cross_fit=3, seed=1)["plan"]
    rows = Rows(score, None, label, {"plan": as_coded(plan)}, None, None)
    fold = np.empty(N, int)
    order = np.argsort(Lots(1, from_logits=False).numbers_of(rows))
    fold[order] = np.random.default_rng(1).permutation(N) % 3
    probs = np.empty(N)
    for k in range(3):
        here = fold == k
        own = PlattPerGroup(inputs="probs").fit(score[~here], label[~here], groups=plan[~here])
        probs[here] = own.predict_proba(score[here], groups=plan[here])
    assert maps.nll == pytest.approx(-np.log(np.where(label == 1, probs, 1 - probs)).mean())
    for part in maps.parts:
        rows_of = plan == part.name
        assert part.gap == pytest.approx((label - probs)[rows_of].mean(), abs=1e-9)


def test_nothing_is_tried_where_one_map_will_do() -> None:
    """All groups are wrong in the same way."""
    data = data_of(gap=0.0)
    assert maps_of(data) == {}
    data["score"] = expit(logit(data["score"]) + 0.5)
    assert maps_of(data) == {}
    assert "PlattPerGroup" not in report(data, group="plan", cross_fit=2).verdict.sentence


def test_a_column_of_several_is_tried_alone() -> None:
    data = data_of() | {"other": np.arange(N) % 3}
    assert list(maps_of(data, group=["plan", "other"])) == ["plan"]


def test_several_classes_and_other_rows_have_none() -> None:
    data = data_of()
    fit = {name: data_of(1)[name] for name in ("score", "label")}
    assert maps_of(data, fit=fit) == {}
    both = {"prob_n": 1 - data["score"], "prob_y": data["score"], "plan": data["plan"]}
    assert maps_of(both | {"label": np.where(data["label"] == 1, "y", "n")}) == {}


def test_a_tiny_group_beside_them_stays_undecided() -> None:
    data = data_of()
    data["plan"] = np.where(np.arange(N) < 6, "tiny", data["plan"])
    parts = {part.name: part for part in maps_of(data)["plan"].parts}
    assert parts["tiny"].small
    assert parts["a"].outcome == parts["b"].outcome == "within"
