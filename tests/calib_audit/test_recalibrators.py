"""Which recalibrator helps, for all rows or for each group, as written out here."""

from __future__ import annotations

import json
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from calib_audit import report
from calib_audit.column_types import as_coded
from calib_audit.lots import Lots
from calib_audit.recalibrators import MapsPerGroup, _folds_of
from calib_audit.rows import Rows
from calib_utils.metrics import negative_log_likelihood
from calib_utils.recalibration import (
    BetaOnConfidence,
    PlattPerGroup,
    PlattScaling,
    TemperatureScaling,
)
from calib_utils.records import load_record
from tests.calib_audit import bare, keep_at_most
from tests.calib_audit.samples import BENT, HAPPENED, copies, logits_of_many, of_patients, two_plans


def test_try_recalibrators_finds_the_map_that_was_bent() -> None:
    found = report({"score": BENT, "label": HAPPENED}).recalibrators
    names = [repair.name for repair in found.found]
    assert names[0] in ("PlattScaling", "BetaCalibration")  # which holds Platt's map
    assert [repair.nll for repair in found.found] == sorted(r.nll for r in found.found)
    assert found.found[0].interval[1] < 0


def test_try_recalibrators_says_which_fit_failed_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside those that were fitted, of which the best is still the one that was found."""
    whole = report({"score": BENT, "label": HAPPENED}).recalibrators

    def refuse(*_: Any) -> None:
        raise ValueError("there is no optimum")

    monkeypatch.setattr("calib_utils.recalibration.TemperatureScaling._fit", refuse)
    found = report({"score": BENT, "label": HAPPENED})
    (failed,) = (one for one in found.recalibrators.found if one.trouble)
    assert (failed.name, failed.trouble) == ("TemperatureScaling", "there is no optimum")
    assert failed.name in found.text()
    others = [one for one in whole.found if one.name != failed.name]
    assert [one for one in found.recalibrators.found if not one.trouble] == others
    assert type(found.recalibrators.best).__name__ == found.recalibrators.best_found.name


def folds_of(rows: Rows, folds: int) -> np.ndarray:
    """The fold of each row, in the order of their lots, which does not depend on how they come."""
    order = np.argsort(Lots(0, from_logits=False).numbers_of(rows))
    found = np.empty(len(order), int)
    found[order] = np.random.default_rng(0).permutation(len(order)) % folds
    return found


def test_try_recalibrators_cross_fits_as_written_out() -> None:
    found = report({"score": BENT, "label": HAPPENED}, cross_fit=4).recalibrators
    fold = folds_of(bare(BENT, HAPPENED), 4)
    losses = np.empty(3_000)
    for k in range(4):
        held = fold == k
        platt = PlattScaling(inputs="probs").fit(BENT[~held], HAPPENED[~held])
        p = platt.predict_proba(BENT[held])
        losses[held] = -np.log(np.where(HAPPENED[held] == 1, p, 1 - p))
    (mine,) = (repair for repair in found.found if repair.name == "PlattScaling")
    assert mine.nll == pytest.approx(losses.mean())
    # Four were tried, so that each interval fails in one of eighty.
    gain = losses + np.log(np.where(HAPPENED == 1, BENT, 1 - BENT))
    half = norm.ppf(1 - 0.05 / 4 / 2) * gain.std(ddof=1) / 3_000**0.5
    assert len(found.found) == 4
    assert mine.interval == pytest.approx((gain.mean() - half, gain.mean() + half), rel=2e-3)


def test_try_recalibrators_fits_on_other_rows() -> None:
    """On our records: the repair of the course's network, in its own way."""
    validation, test = (load_record("lenet5-cifar100", s) for s in ("validation", "test"))
    few = slice(0, 2_000)
    data = [{"logits": r.logits[few], "labels": r.labels[few]} for r in (test, validation)]
    found = report(data[0], fit=data[1]).recalibrators
    scaling = TemperatureScaling().fit(validation.logits[few], validation.labels[few])
    nll = negative_log_likelihood(
        np.float64(test.logits[few]) / scaling.temperature_, test.labels[few], inputs="logits"
    )
    (mine,) = (repair for repair in found.found if repair.name == "TemperatureScaling")
    assert mine.nll == pytest.approx(nll, abs=1e-4)
    assert "2,000 other rows" in found.how


def test_try_recalibrators_finds_none_for_what_is_calibrated() -> None:
    """By chance, one of four is called helpful in at most one of twenty such sets."""
    helped = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        label = (rng.random(400) < BENT[:400]).astype(int)
        found = report({"score": BENT[:400], "label": label})
        helped += found.calibrator is not None
        if found.calibrator is None:
            assert "None clearly helps" in found.text()
    assert helped <= 1


def test_try_recalibrators_takes_the_first_that_clearly_helps() -> None:
    """The one with the lowest NLL of all may only seem to help."""

    def odd_ones(n: int, seed: int) -> dict[str, np.ndarray]:
        """Overconfident, and a few rows that are almost certain happen as often as others."""
        rng = np.random.default_rng(seed)
        z = rng.normal(0, 1.5, n)
        odd = rng.random(n) < 0.02
        chances = np.where(odd, 0.7, expit(0.6 * z))
        score = expit(np.where(odd, 5 + rng.random(n), z))
        return {"score": score, "label": (rng.random(n) < chances).astype(int)}

    data, fit = odd_ones(400, 3), odd_ones(20_000, 999)
    found = report(data, fit=fit)
    first, second = found.recalibrators.found[:2]
    assert first.interval[1] > 0 > second.interval[1]
    assert second.name == "TemperatureScaling"
    own = TemperatureScaling(inputs="probs").fit(fit["score"], fit["label"])
    probs = own.predict_proba(data["score"])
    np.testing.assert_allclose(found.calibrator.predict_proba(data["score"]), probs)
    nll = -np.log(np.where(data["label"] == 1, probs, 1 - probs)).mean()
    assert second.nll == pytest.approx(nll)
    assert f"Temperature scaling lowers its NLL from 0.676 to {nll:.3f}" in (found.verdict.sentence)
    assert "TemperatureScaling has the lowest NLL of those that clearly help" in found.text()
    assert json.loads(found.json())["recalibrators"]["best"] == "TemperatureScaling"


def test_try_recalibrators_tries_none_on_too_few_rows() -> None:
    found = report({"score": BENT[:50], "label": HAPPENED[:50]})
    assert found.recalibrators is None
    assert "too few rows" in found.text()
    json.loads(found.json())
    alike = report({"score": BENT, "label": np.zeros(3_000, int)})
    assert "because there were too few rows, or none but their sums, all labels" in alike.text()


def test_try_recalibrators_finds_one_number_of_many_classes() -> None:
    rng = np.random.default_rng(0)
    data = [
        {
            "logits": (1.3 * (z := logits_of_many(seed))).astype(np.float16),
            "labels": (z + rng.gumbel(size=z.shape)).argmax(axis=1),
        }
        for seed in (1, 2)
    ]
    found = report(data[0], fit=data[1])
    assert "so it is overconfident by" in found.verdict.sentence
    tried = {one.name: one for one in found.recalibrators.found}
    first, scaling = found.recalibrators.found[0], tried["TemperatureScaling"]
    assert scaling.interval[1] < 0
    assert scaling.nll - first.nll < 0.002
    assert scaling.ece < 0.02 < found.measures.ece
    # A number for each class learns from 30 rows of it, and does worse.
    assert tried["VectorScaling"].nll > scaling.nll + 0.02
    assert "StructuredMatrixScaling" not in tried


def test_try_recalibrators_finds_a_map_of_the_confidence_where_gaps_change_their_sign() -> None:
    """Correct more often than said where the confidence is low, less where it is high."""
    rng, data = np.random.default_rng(0), []
    for seed in (1, 2):
        z = logits_of_many(seed)
        order = np.argsort(-z, axis=1)
        said = np.exp(-np.log(np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1)))
        right = rng.random(3_000) < 0.35 + 0.5 * said
        data.append({"logits": z, "labels": np.where(right, order[:, 0], order[:, 1])})
    found = report(data[0], fit=data[1])
    tried = {one.name: one for one in found.recalibrators.found}
    assert isinstance(found.calibrator, BetaOnConfidence)
    others = [one.ece for name, one in tried.items() if name != "BetaOnConfidence"]
    assert tried["BetaOnConfidence"].ece < min(others) / 2
    assert "Beta on confidence lowers its NLL" in found.verdict.sentence


def test_try_recalibrators_puts_no_block_into_two_folds() -> None:
    blocks: Any = SimpleNamespace(codes=np.repeat(np.arange(30), 7))
    rows = Rows(np.zeros(210), None, np.zeros(210, np.int64), {}, None, None, blocks=blocks)
    fold_of = _folds_of(rows, 5)
    folds = {(int(block), int(fold)) for block, fold in zip(blocks.codes, fold_of, strict=True)}
    assert len(folds) == 30
    assert sorted(set(fold_of.tolist())) == [0, 1, 2, 3, 4]


def test_try_recalibrators_knows_that_what_is_learned_of_copies_helps_nobody() -> None:
    """An isotonic map learns the outcomes of the races by heart."""
    helped = [
        found.recalibrators is not None and found.recalibrators.best is not None
        for found in (report(copies(60), **more) for more in ({}, {"blocks": "race"}))
    ]
    assert helped == [True, False]


def test_try_recalibrators_judges_the_gain_by_blocks() -> None:
    data = of_patients(200, 12, shift=0.4)
    rows, found = (report(data, **more) for more in ({}, {"blocks": "patient"}))
    assert found.recalibrators is not None
    assert rows.recalibrators is not None
    widths = [
        {one.name: one.interval[1] - one.interval[0] for one in each.recalibrators.found}
        for each in (found, rows)
    ]
    assert widths[0]["PlattScaling"] > 1.3 * widths[1]["PlattScaling"]


def maps_of(data: dict[str, Any], **options: Any) -> dict[str, MapsPerGroup]:
    tried = report(data, **{"group": "plan", "cross_fit": 2} | options).recalibrators
    return tried.per_group


def test_maps_per_group_cross_fit_as_written_out() -> None:
    """As written out, in the same folds."""
    data = two_plans()
    score, label, plan = data["score"], data["label"], data["plan"]
    maps = maps_of(data, cross_fit=3)["plan"]
    fold = folds_of(bare(score, label)._replace(groups={"plan": as_coded(plan)}), 3)
    probs = np.empty(12_000)
    for k in range(3):
        here = fold == k
        own = PlattPerGroup(inputs="probs").fit(score[~here], label[~here], groups=plan[~here])
        probs[here] = own.predict_proba(score[here], groups=plan[here])
    assert maps.nll == pytest.approx(-np.log(np.where(label == 1, probs, 1 - probs)).mean())
    for part in maps.parts:
        rows_of = plan == part.name
        assert part.gap == pytest.approx((label - probs)[rows_of].mean(), abs=1e-9)


def test_maps_per_group_fit_on_other_rows() -> None:
    """On all of these, and judged on all rows of the report; a group that they lack is safe."""
    data, fit = two_plans(), two_plans(1)
    data["plan"] = np.where(np.arange(12_000) < 600, "new", data["plan"])
    found = report(data, group="plan", fit=fit)
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


def test_maps_per_group_fit_on_a_sample_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more rows the groups are known of a sample, in which each row is whole."""
    keep_at_most(4_000, monkeypatch)
    data = two_plans(gap=0.08)
    found = report(data, group="plan", cross_fit=2)
    maps = found.recalibrators.per_group["plan"]
    assert sum(part.n for part in maps.parts) == 4_000
    assert "calibration methods use a random sample of 4,000 whole rows" in found.text()
    assert isinstance(found.calibrator, PlattPerGroup)
    probs = found.calibrator.predict_proba(data["score"], groups=data["plan"])
    for name in "ab":
        assert abs((data["label"] - probs)[data["plan"] == name].mean()) < 0.03


def test_maps_per_group_are_not_tried_where_one_will_do() -> None:
    """All groups are wrong in the same way."""
    data = two_plans(gap=0.0)
    assert maps_of(data) == {}
    data["score"] = expit(logit(data["score"]) + 0.5)
    assert maps_of(data) == {}
    assert "PlattPerGroup" not in report(data, group="plan", cross_fit=2).verdict.sentence


def test_maps_per_group_help_where_one_map_halves_a_gap_and_spoils_another() -> None:
    """`a` happens five points less often than is predicted, and `b` just as often."""
    data = two_plans(gap=0)
    rng = np.random.default_rng(1)
    chances = data["score"] - np.where(data["plan"] == "a", 0.052, 0)
    data["label"] = (rng.random(12_000) < chances).astype(int)
    found = report(data, group="plan", cross_fit=2)
    common = [part.gap for part in found.recalibrators.groups["plan"]]
    assert max(map(abs, common)) > 0.02
    maps = found.recalibrators.per_group["plan"]
    assert max(abs(part.gap) for part in maps.parts) < 0.01
    assert maps.best is not None
    assert "A map for each value of `plan` (`PlattPerGroup`) leaves `" in found.verdict.sentence


def test_maps_per_group_are_tried_of_the_column_that_is_wrong() -> None:
    data = two_plans() | {"other": np.arange(12_000) % 3}
    assert list(maps_of(data, group=["plan", "other"])) == ["plan"]


def test_maps_per_group_are_none_of_several_classes_and_other_rows() -> None:
    data = two_plans()
    fit = {name: two_plans(1)[name] for name in ("score", "label")}
    assert maps_of(data, fit=fit) == {}
    both = {"prob_n": 1 - data["score"], "prob_y": data["score"], "plan": data["plan"]}
    assert maps_of(both | {"label": np.where(data["label"] == 1, "y", "n")}) == {}


@pytest.mark.parametrize("names", [["1.0", "2.0"], [" a", "b "], ["none", "some"]])
def test_maps_per_group_know_the_names_in_the_data(names: list[str]) -> None:
    rng = np.random.default_rng(7)
    group = np.array(names)[rng.integers(0, 2, 8_000)]
    score = np.clip(expit(rng.normal(-0.2, 1.3, 8_000)), 0.15, 0.85)
    off = np.where(group == names[1], 0.12, -0.12)
    label = (rng.random(8_000) < score + off).astype(int)
    found = report({"score": score, "label": label, "g": group}, group="g").recalibrators
    maps = found.most_helpful
    assert isinstance(maps, PlattPerGroup)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # which a group that was not in the fit would give
        probs = maps.predict_proba(score, groups=group)
    for name in names:
        gap = (probs - label)[group == name].mean()
        assert abs(gap) < 0.02
