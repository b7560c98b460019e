"""A report on groups that one map for all rows leaves wrong, while a map for each does not."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.column_types import as_coded
from calib_audit.formatting import signed_points
from calib_audit.lots import Lots
from calib_audit.recalibrators import MapsPerGroup
from calib_audit.rows import Rows
from calib_utils.recalibration import PlattPerGroup, load
from tests.calib_audit import written

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
    offs = [a[1:], b[1:]]
    ways = ["low" if sign == "+" else "high" for sign in (a[0], b[0])]
    assert (
        f"A map for each value of `plan` (`PlattPerGroup`) leaves `a` {offs[0]} points too "
        f"{ways[0]} and `b` {offs[1]} too {ways[1]}, on rows that it was not fitted on."
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


def test_where_no_map_for_all_helps_the_one_that_does_is_named() -> None:
    rng = np.random.default_rng(0)
    score, plan = rng.beta(2, 3, 6_000), rng.choice(["basic", "pro"], 6_000)
    chances = expit(logit(score) + np.where(plan == "basic", 0.4, -0.4))
    data = {"score": score, "label": (rng.random(6_000) < chances).astype(int), "plan": plan}
    found = report(data, group="plan")
    tried = found.recalibrators
    assert tried is not None
    assert tried.best is None
    gain = -tried.per_group["plan"].gain
    assert found.verdict.overall != "within"
    assert ". No single map for all rows clearly helps. A map for each value of `plan`" in (
        found.verdict.sentence
    )
    for text in (found.text(), found.html()):
        assert "No single map for all rows clearly helps (cross-fitted" in text
        assert " (PlattPerGroup) does in the groups that are wrong without it: " in text
        assert f"it lowers their NLL by {gain:.3f}, and by at least" in text
        assert "None" not in text.partition("What recalibration does")[2][:200]
    data["label"] = (rng.random(6_000) < expit(logit(chances) - 0.5)).astype(int)
    text = report(data, group="plan").text()
    assert (
        "(PlattPerGroup) lowers it in the groups that are wrong without it by a further 0.0" in text
    )


def test_the_numbers_are_of_rows_that_were_left_out() -> None:
    """As written out, in the same folds."""
    data = data_of()
    score, label, plan = data["score"], data["label"], data["plan"]
    maps = maps_of(data, cross_fit=3)["plan"]
    rows = Rows(score, None, label, {"plan": as_coded(plan)}, None, None)
    fold = np.empty(N, int)
    order = np.argsort(Lots(0, from_logits=False).numbers_of(rows))
    fold[order] = np.random.default_rng(0).permutation(N) % 3
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


def test_a_group_that_one_map_only_halves_and_one_that_it_spoils() -> None:
    """`a` happens five points less often than is predicted, and `b` just as often."""
    data = data_of(gap=0)
    rng = np.random.default_rng(1)
    chances = data["score"] - np.where(data["plan"] == "a", 0.052, 0)
    data["label"] = (rng.random(N) < chances).astype(int)
    found = report(data, group="plan", cross_fit=2)
    assert found.recalibrators is not None
    common = [part.gap for part in found.recalibrators.groups["plan"]]
    assert max(map(abs, common)) > 0.02
    maps = found.recalibrators.per_group["plan"]
    assert max(abs(part.gap) for part in maps.parts) < 0.01
    assert maps.best is not None
    assert "A map for each value of `plan` (`PlattPerGroup`) leaves `" in found.verdict.sentence


def test_a_column_of_several_is_tried_alone() -> None:
    data = data_of() | {"other": np.arange(N) % 3}
    assert list(maps_of(data, group=["plan", "other"])) == ["plan"]


def test_maps_fitted_on_other_rows() -> None:
    """On all of these, and judged on all rows of the report; a group that they lack is safe."""
    data, fit = data_of(), data_of(1)
    data["plan"] = np.where(np.arange(N) < 600, "new", data["plan"])
    found = report(data, group="plan", fit=fit)
    assert found.recalibrators is not None
    maps = found.recalibrators.per_group["plan"]
    own = PlattPerGroup(inputs="probs").fit(fit["score"], fit["label"], groups=fit["plan"])
    with pytest.warns(UserWarning, match="1 of 3 were not in the fit"):
        probs = own.predict_proba(data["score"], groups=data["plan"])
    for part in maps.parts:
        rows = data["plan"] == part.name
        assert part.gap == pytest.approx((data["label"] - probs)[rows].mean(), abs=1e-9)
        assert part.name == "new" or abs(part.gap) < 0.02
    best = found.calibrator
    assert isinstance(best, PlattPerGroup)
    assert best is maps.best
    np.testing.assert_allclose(best.slopes_, own.slopes_)


def test_maps_beyond_the_rows_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more rows the groups are known of a sample, in which each row is whole."""
    for module in ("lots", "totals"):
        monkeypatch.setattr(f"calib_audit.{module}.MOST_DRAWN", 4_000)
    data = data_of(gap=0.08)
    found = report(data, group="plan", cross_fit=2)
    assert found.recalibrators is not None
    maps = found.recalibrators.per_group["plan"]
    assert sum(part.n for part in maps.parts) == 4_000
    assert "calibration methods use a random sample of 4,000 whole rows" in found.text()
    assert isinstance(found.calibrator, PlattPerGroup)
    probs = found.calibrator.predict_proba(data["score"], groups=data["plan"])
    for name in "ab":
        assert abs((data["label"] - probs)[data["plan"] == name].mean()) < 0.03


class TestSaved:
    """The command line writes the maps, and puts each over the rows of its group."""

    @pytest.fixture
    def saved(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
        file, saved = written(tmp_path / "a.csv", **data_of()), str(tmp_path / "plan.npz")
        assert main([file, "--group", "plan", "--save-calibrator", saved]) == 4
        said = capsys.readouterr().out.splitlines()[-1]
        assert said.endswith(
            "contains PlattPerGroup(inputs='probs'), with a map for each value of 'plan'"
        )
        return saved

    def test_each_row_gets_the_map_of_its_group(
        self, saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = data_of(2)
        new = written(tmp_path / "new.csv", **data)
        assert main(["apply", saved, new, "--output", str(tmp_path / "out.csv")]) == 0
        assert capsys.readouterr().err == ""
        before, after = (
            report(path, group="plan", cross_fit=0).groups["plan"]
            for path in (new, tmp_path / "out.csv")
        )
        assert min(abs(part.gap) for part in before) > 0.04
        assert max(abs(part.gap) for part in after) < 0.015
        with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as out:
            scores = [float(row["score"]) for row in csv.DictReader(out)]
        own = load(saved).predict_proba(data["score"], groups=data["plan"])
        np.testing.assert_array_equal(scores, own)

    def test_a_new_group_gets_the_common_map(
        self, saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        new = written(tmp_path / "new.csv", score=[0.3, 0.3, 0.3], kind=["x", "a", "y"])
        assert main(["apply", saved, new, "--group", "kind"]) == 0
        said = capsys.readouterr()
        assert said.err == (
            "warning: kind: 2 of its groups were not in the fit, such as 'x'; their rows get the "
            "common map\n"
        )
        first, second, third = (float(line.split(",")[0]) for line in said.out.split()[1:])
        maps = load(saved)
        assert isinstance(maps, PlattPerGroup)
        common = expit(maps.slope_ * logit(0.3) + maps.intercept_)
        assert first == third == pytest.approx(common, rel=1e-12)
        assert second > common

    @pytest.mark.parametrize(
        ("columns", "options", "message"),
        [
            ({}, [], "plan: there is no such column, only 'score'"),
            (
                {"plan": ["a", ""]},
                [],
                "plan: expected a value in each row, found none in row 2; fill",
            ),
            ({"plan": ["a", "b"]}, ["--group", "plam"], "did you mean 'plan'?"),
        ],
    )
    def test_rows_without_a_group(
        self,
        saved: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        columns: dict[str, Any],
        options: list[str],
        message: str,
    ) -> None:
        new = written(tmp_path / "new.csv", score=[0.3, 0.4], **columns)
        assert main(["apply", saved, new, "--output", str(tmp_path / "o.csv"), *options]) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "o.csv").exists()

    def test_which_column_and_which_calibrator(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = data_of()
        score, label, plan = data["score"], data["label"], data["plan"]
        own, one = str(tmp_path / "own.npz"), str(tmp_path / "one.npz")
        PlattPerGroup(inputs="probs").fit(score, label, groups=plan).save(own)
        PlattPerGroup(inputs="probs").fit(score, label).save(one)
        new = written(tmp_path / "new.csv", score=score[:9], plan=plan[:9])
        assert main(["apply", own, new]) == 2
        assert "name the column of groups with --group" in capsys.readouterr().err
        assert main(["apply", own, new, "--group", "plan"]) == 0
        assert main(["apply", one, new]) == 0
        capsys.readouterr()
        assert main(["apply", one, new, "--group", "plan"]) == 2
        assert "found one for all, PlattPerGroup(inputs='probs')" in capsys.readouterr().err


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


@pytest.mark.parametrize("names", [["1.0", "2.0"], [" a", "b "], ["none", "some"]])
def test_a_map_for_each_group_knows_the_names_in_the_data(names: list[str]) -> None:
    rng = np.random.default_rng(7)
    group = np.array(names)[rng.integers(0, 2, 8_000)]
    score = np.clip(expit(rng.normal(-0.2, 1.3, 8_000)), 0.15, 0.85)
    off = np.where(group == names[1], 0.12, -0.12)
    label = (rng.random(8_000) < score + off).astype(int)
    found = report({"score": score, "label": label, "g": group}, group="g").recalibrators
    assert found is not None
    maps = found.most_helpful
    assert isinstance(maps, PlattPerGroup)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # which a group that was not in the fit would give
        probs = maps.predict_proba(score, groups=group)
    for name in names:
        gap = (probs - label)[group == name].mean()
        assert abs(gap) < 0.02
