"""The sentences of a report, on data with planted faults."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit

from calib_audit import report
from calib_audit.__main__ import parser
from calib_audit.formatting import signed_points
from calib_audit.words import written
from calib_utils.recalibration import load
from calib_utils.records import load_identifier
from tests.calib_audit import DECIDED, judged
from tests.calib_audit.months import changed, cut, month, write
from tests.calib_audit.samples import (
    calibrated,
    fraud,
    happening,
    logits_of_many,
    of_patients,
    two_plans,
)


def test_headline_names_region_and_break_and_sells_no_map() -> None:
    found = report(fraud(), group="region", time="day:D")
    sentence = found.verdict.sentence
    assert found.verdict.outcome == "beyond"
    assert "`South` (" in sentence
    assert "alarms since 21 May 2026" in sentence
    assert "fit one on the rows since 21 May 2026" in sentence
    assert found.calibrator is None
    assert (
        "fit one on the rows since 21 May 2026" in found.text().partition("Calibration methods")[2]
    )


def test_headline_begins_with_what_to_do() -> None:
    """Of 1,000 predictions with confidence 0.7, 530 are correct."""
    data = {"confidence": np.full(1_000, 0.7), "correct": np.arange(1_000) < 530}
    found = report(data)
    sentence = found.verdict.sentence
    assert re.match(
        r"Not trustworthy as it is: its mean confidence is 70.0\s% and its accuracy 53.0\s%, "
        r"so it is overconfident by 17.0 points\. [A-Z][a-z]+ [a-z]+ lowers its NLL from "
        r"0.75\d to 0.69\d and its ECE from 17.0\s% to 0",
        sentence,
    )
    assert found.text().startswith(sentence)
    found = report(data | {"confidence": np.full(1_000, 0.4)})
    assert "underconfident by 13.0 points" in found.verdict.sentence
    found = judged(np.full(1_000, 0.7), np.arange(1_000) < 530)
    expected = "it predicts 70.0 % on average and 53.0 % happened, so it is too high by 17.0 "
    assert expected in found.verdict.sentence.replace("\N{NO-BREAK SPACE}", " ")


def test_headline_calls_no_model_calibrated_on_few_rows() -> None:
    sentence = report({"score": [0.7], "label": [1]}).verdict.sentence
    assert sentence.replace("\N{NO-BREAK SPACE}", " ").startswith(
        "Too few rows to tell: it predicts 70.0 % on average and 100.0 % happened, "
        "a difference that chance may explain. "
    )
    half = report({"score": np.full(100, 0.5), "label": np.arange(100) % 2}).verdict.sentence
    assert "so these rows show no error on average, which says nothing of single predic" in half


def test_headline_tells_gaps_that_cancel_on_average() -> None:
    """Those of four scores, on both sides of a line that is right."""
    score = np.repeat([0.2, 0.4, 0.6, 0.8], 2_000)
    label = np.concatenate([np.arange(2_000) < happened for happened in (478, 464, 1536, 1522)])
    sentence = judged(score, label).verdict.sentence
    assert "calibrated on average, but it is too high in some places and too low in" in sentence


def test_headline_leaves_no_mean_that_is_right_alone() -> None:
    data = calibrated(6_000)
    z = 2 * logit(data["score"].clip(1e-6, 1 - 1e-6))
    z -= z.mean()
    rng = np.random.default_rng(1)
    label = (rng.random(6_000) < expit(z / 2)).astype(int)
    sentence = report({"score": expit(z), "label": label}, cross_fit=0).verdict.sentence
    assert "so it is calibrated on average, but it is overconfident, with a slope of 0." in sentence


def test_headline_claims_nothing_of_a_mean_that_is_not_known() -> None:
    """150 rows know the mean to eight points: a gap of four may be chance, or an error."""
    seen = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        right = rng.random(150)
        score = expit(3 * logit(right.clip(0.01, 0.99)))
        label = (rng.random(150) < np.where(right > 0.5, 0.7, 0.3)).astype(int)
        found = report({"score": score, "label": label}, cross_fit=0)
        assert found.verdict.overall == "beyond"
        low, high = found.measures.ratio_interval
        if low <= 1 <= high:
            large = abs(score.mean() - label.mean()) > 0.02
            claim = "a difference that chance may explain"
            claim = claim if large else "so these rows show no error on average"
            assert f"happened, {claim}, but it is overconfident" in found.verdict.sentence
            seen.add(large)
    assert seen == {True, False}


def test_headline_asks_whether_it_is_the_score_of_the_other_class() -> None:
    data = calibrated(4_000)
    data["score"] = 1 - data["score"]
    found = report(data)
    assert found.verdict.exit_code == 1
    assert found.verdict.sentence.startswith(
        "Is this the score of the other class? Not trustworthy as it is: it predicts "
    )
    assert found.calibrator is None
    assert "falls where what happens rises" in found.text()


def test_headline_says_that_a_score_tells_nothing() -> None:
    rng = np.random.default_rng(0)
    found = report({"score": rng.random(4_000), "label": rng.integers(2, size=4_000)})
    assert found.verdict.exit_code == 1
    assert "the score tells next to nothing about what happens, with an AUROC of" in (
        found.verdict.sentence
    )
    assert found.calibrator is None


def test_headline_calls_no_score_blind_on_too_few_rows() -> None:
    """Calibrated scores with an AUROC of 0.69, of which few rows show nothing."""
    seen = set()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        score = rng.beta(4, 4, 80)
        label = (rng.random(80) < score).astype(int)
        found = report({"score": score, "label": label}, **DECIDED)
        assert "next to nothing" not in found.verdict.sentence
        seen.add("these rows do not show that the score tells" in found.verdict.sentence)
    assert seen == {True, False}


def test_headline_says_that_an_ece_rises() -> None:
    """Three of a hundred scores are almost 0 instead, which a map can only blur."""
    rng = np.random.default_rng(6)
    score = rng.beta(2, 3, 3_000)
    label = (rng.random(3_000) < score).astype(int)
    score = np.where(rng.random(3_000) < 0.03, 1e-4, score)
    found = report({"score": score, "label": label}, cross_fit=2)
    before, best = found.recalibrators.ece, found.recalibrators.best_found
    assert best.ece > before + 0.01
    sentence = found.verdict.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert f" but raises its ECE from {100 * before:.1f} % to {100 * best.ece:.1f} %" in sentence


def test_headline_names_two_groups_that_cancel() -> None:
    data = calibrated(40_000)
    data["score"] = 0.1 + 0.8 * data["score"]
    plan = np.array(["a", "b"])[np.arange(40_000) % 2]
    data["label"] = happening(data["score"], np.where(plan == "a", 0.05, -0.05))
    found = report(data | {"plan": plan}, group="plan", cross_fit=0).verdict
    assert (found.outcome, found.overall, found.exit_code) == ("groups", "within", 4)
    start, _, more = found.sentence.partition(": ")
    assert start.startswith("Trustworthy on average, but not for `")
    (a, b) = (
        part.gap for part in report(data | {"plan": plan}, group="plan", cross_fit=0).groups["plan"]
    )
    named = [f"`a` ({100 * a:.1f}{{}} too low)", f"`b` ({-100 * b:.1f}{{}} too high)"]
    first, second = named if a > -b else named[::-1]
    assert start.endswith(f"{first.format(' points')} and {second.format('')}")
    assert more.startswith("it predicts ")


def test_headline_names_a_group_that_is_too_small() -> None:
    data = calibrated(40_000) | {"plan": np.where(np.arange(40_000) < 20, "few", "many")}
    found = report(data, group="plan", cross_fit=0).verdict
    assert (found.outcome, found.overall, found.exit_code) == ("undecided", "within", 3)
    assert "Trustworthy on average, but too few rows to tell for `few`: it" in found.sentence


def test_headline_names_a_group_beyond_while_all_rows_are_undecided() -> None:
    data = calibrated(1_500)
    plan = np.where(np.arange(1_500) < 300, "a", "b")
    data["label"] = happening(data["score"], np.where(plan == "a", 0.2, -0.05))
    found = report(data | {"plan": plan}, group="plan", cross_fit=0).verdict
    assert (found.outcome, found.overall, found.exit_code) == ("groups", "undecided", 4)
    assert found.sentence.startswith(
        "Too few rows to tell on average, but not trustworthy for `a` ("
    )


def test_headline_counts_the_rest_of_many_groups() -> None:
    data = calibrated(60_000)
    plan = np.arange(60_000) % 12
    data["label"] = happening(data["score"], np.where(plan < 6, 0.1, -0.1))
    sentence = report(
        data | {"plan": plan, "one": "x"}, group=["plan"], cross_fit=0
    ).verdict.sentence
    assert " and 9 more: it predicts" in sentence


def test_headline_sells_no_map_to_groups_that_it_harms() -> None:
    """One plan is exact and the other too low; a map between the two is wrong for both."""
    data = calibrated(8_000)
    plan = np.array(["exact", "low"])[np.arange(8_000) % 2]
    chances = expit(logit(data["score"]) + 0.8 * (plan == "low"))
    data["label"] = (np.random.default_rng(1).random(8_000) < chances).astype(int)
    found = report(data | {"plan": plan}, group="plan", cross_fit=2)
    tried = found.recalibrators
    after = {part.name: part for part in tried.groups["plan"]}
    before = {part.name: part for part in found.groups["plan"]}
    assert before["exact"].outcome != "beyond"
    assert {part.outcome for part in after.values()} == {"beyond"}
    assert after["exact"].gap < -0.04 < 0.04 < after["low"].gap
    assert "That does not make it right for `" in found.verdict.sentence
    assert f"+{100 * after['low'].gap:.1f} after recalibration" in found.text()
    # As computed by hand from the recalibrated rows, in folds that are other ones.
    mean = tried.best.predict_proba(data["score"])[plan == "low"].mean()
    assert after["low"].gap == pytest.approx(data["label"][plan == "low"].mean() - mean, abs=0.005)


def test_headline_names_a_group_that_the_stored_map_leaves_wrong() -> None:
    """The South is 40 % too low and the others 12 %, as one map for all would mend best."""
    silent = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n = 20_000
        region = rng.choice(["North", "East", "South", "West"], n)
        score = rng.beta(1, 9, n)
        true = np.minimum(score / np.where(region == "South", 0.6, 0.88), 1)
        data = {"score": score, "label": (rng.random(n) < true).astype(int), "region": region}
        found = report(data, group="region", cross_fit=2)
        assert "South" in found.verdict.sentence
        after = found.recalibrators
        column = after.best_per_group
        parts = after.groups["region"] if column is None else column[1].parts
        (south,) = [part for part in parts if part.name == "South"]
        told = "`South` within the tolerance after it" in found.verdict.sentence
        silent += south.outcome != "within" and not told
    assert silent == 0


def test_headline_says_what_a_map_for_each_group_does(tmp_path: Path) -> None:
    data = two_plans()
    found = report(data, group="plan", cross_fit=2)
    assert found.verdict.outcome == "groups"
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
    maps.best.save(tmp_path / "plan.npz")
    again = load(tmp_path / "plan.npz").predict_proba(data["score"], groups=data["plan"])
    for name in "ab":
        rows = data["plan"] == name
        assert abs(data["label"][rows].mean() - again[rows].mean()) < 0.01


def test_headline_names_the_maps_that_help_where_none_for_all_does() -> None:
    rng = np.random.default_rng(0)
    score, plan = rng.beta(2, 3, 6_000), rng.choice(["basic", "pro"], 6_000)
    chances = expit(logit(score) + np.where(plan == "basic", 0.4, -0.4))
    data = {"score": score, "label": (rng.random(6_000) < chances).astype(int), "plan": plan}
    found = report(data, group="plan")
    tried = found.recalibrators
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


def test_headline_and_table_tell_the_blocks() -> None:
    found = report(of_patients(), blocks="patient", cross_fit=0)
    m = found.measures
    assert f"in {m.blocks} blocks, worth {m.effective:.0f} of equal size" in (
        found.verdict.sentence
    )
    assert "'patient': rows that belong together" in found.read
    assert f"blocks{m.blocks:>47}" in found.text()


def test_headline_asks_for_blocks_where_they_limit_it() -> None:
    """About 110,000 rows were asked for, as if more strings of 122 packages would do."""
    found = report(load_identifier("fastText"), blocks="package", cross_fit=0)
    assert found.verdict.overall == "undecided"
    ((fewest, most),) = re.findall(r"between (\d+) and ([\d,]+) blocks", found.verdict.sentence)
    assert 122 < int(fewest) < 1_000
    assert found.verdict.rows_needed_range is not None
    for blocks, rows in zip((fewest, most), found.verdict.rows_needed_range, strict=True):
        assert int(blocks.replace(",", "")) == pytest.approx(rows * 122 / 38_400, rel=0.05)


@pytest.mark.parametrize(
    ("days", "off", "gap", "exit_code", "said"),
    [
        (30, [28, 29], -0.1, 5, "Trustworthy on average, but with alarms since 29 June 2026: it"),
        (10, [4], 0.15, 5, "but with an alarm on 5 June 2026: "),
        (10, [6, 7, 8, 9], -0.3, 1, " Over time there are alarms since 7 June 2026. "),
    ],
    ids=["the last days", "one in the middle", "all rows are beyond"],
)
def test_headline_says_since_when_there_are_alarms(
    days: int, off: list[int], gap: float, exit_code: int, said: str
) -> None:
    data, place = calibrated(1_500 * days), np.repeat(np.arange(days), 1_500)
    data["label"] = happening(data["score"], np.where(np.isin(place, off), gap, 0.0))
    data["day"] = np.datetime64("2026-06-01") + place
    found = report(data, time="day:D", cross_fit=0)
    assert [k for k, span in enumerate(found.times) if span.alarm] == off
    assert found.verdict.exit_code == exit_code
    assert said in found.verdict.sentence


def test_written_spans_are_days_in_words() -> None:
    assert written("2026-06-09") == "9 June 2026"
    assert written("2026-06") == "2026-06"


def test_state_of_span_calls_no_day_beyond_the_limits_calm() -> None:
    """Off by half a point, which the tolerance allows, and by seven standard deviations."""
    n = 90_000
    day = np.repeat(np.datetime64("2026-06-01") + np.arange(3), n // 3)
    score = np.full(n, 0.05)
    happened = np.tile(np.arange(n // 3) < n // 3 * 0.05, 3)
    happened[: n // 3] = np.arange(n // 3) < n // 3 * 0.058
    found = report(
        {"score": score, "label": happened.astype(int), "day": day}, time="day:D", cross_fit=0
    )
    assert [span.z > 3 for span in found.times] == [True, False, False]
    assert not any(span.alarm for span in found.times)
    states = [line.rpartition(": ")[2] for line in found.text().splitlines()[-3:]]
    assert states == ["no alarm, although beyond the limits", "no alarm", "no alarm"]
    described = found.html().partition('id="control-text">')[2].partition("<")[0]
    assert described == (
        "3 values of z with limits at 3 and -3, of which 1 lies beyond the limits. Alarms: none."
    )


def test_class_note_explains_classes_within_and_the_whole_beyond() -> None:
    """Four classes with one temperature: each mean is calibrated, and no confidence is."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, 4))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    label = (chances.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    for scale, explained in ((3, True), (1, False)):
        found = report({"logits": scale * logits, "label": label}, cross_fit=0)
        assert {part.outcome for part in found.classes} == {"within"}
        assert (found.verdict.outcome == "beyond") is explained
        assert ("too high and too low cancel" in found.text()) is explained
        assert ("too high and too low cancel" in found.html()) is explained


def test_class_note_counts_undecided_classes() -> None:
    z = logits_of_many(1)
    labels = (z + np.random.default_rng(0).gumbel(size=z.shape)).argmax(axis=1)
    found = report({"logits": z, "labels": labels}, cross_fit=0)
    assert found.verdict.outcome == "within"
    outcomes = [each.outcome for each in found.classes]
    text = found.text()
    counted = f"0 within it, and {outcomes.count('undecided')} undecided. With about 30 rows"
    assert outcomes.count("within") == 0
    assert counted in text
    few = report({"logits": z[:, :20], "labels": labels % 20}, cross_fit=0)
    assert " undecided. With about" not in few.text()


def test_class_note_tells_classes_beyond_and_the_whole_within() -> None:
    """The two classes that are not predicted get each other's probability in half the rows."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1.5, 1, 1], 20_000)
    label = (probs.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
    order = np.argsort(probs, axis=1)
    given = probs.copy()
    rows, others = np.arange(20_000), np.sort(order[:, :2], axis=1)
    for place, of in ((0, 1), (1, 0)):  # the earlier of the two gets the larger one
        given[rows, others[:, place]] = probs[rows, order[:, of]]
    columns = dict(zip(("prob_a", "prob_b", "prob_c"), given.T, strict=True))
    for scores, off in ((columns, True), (dict(zip(columns, probs.T, strict=True)), False)):
        found = report(scores | {"label": np.array(list("abc"))[label]}, cross_fit=0)
        beyond = {part.name: part.gap for part in found.classes if part.outcome == "beyond"}
        assert (found.verdict.outcome, "c" in beyond) == ("within", off)
        clause = "is about the confidence in the predicted class, while the mean prob"
        assert (clause in found.verdict.sentence) is off
        assert ("make a report on these" in found.text()) is off
        if off:
            assert f"of `c` ({100 * beyond['c']:.1f} points too low)" in found.verdict.sentence


def test_what_was_read_warns_of_groups_that_the_outcome_parts() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 600)
    label = (probs.cumsum(axis=1) > rng.random((600, 1))).argmax(axis=1)
    columns = {f"prob_{k}": probs[:, k] for k in range(3)} | {"label": label}
    columns |= {"written": np.array(["a", "b", "c"])[label], "hall": rng.integers(0, 3, 600)}
    said = "\n".join(report(columns, group=["written", "hall"], cross_fit=0).read)
    assert "'written': all rows of each value have the same label" in said
    assert "'hall': all rows" not in said
    (help_of_group,) = (one.help for one in parser()._actions if "--group" in one.option_strings)
    assert "before the outcome" in str(help_of_group)


@pytest.mark.parametrize("folds", [0, 5])
@pytest.mark.parametrize("name", ["probs", "confidence"])
def test_what_was_read_says_what_a_rounded_zero_counts_as(name: str, folds: int) -> None:
    """Recalibrators see all probabilities, and the slope those of the predicted classes."""
    rng = np.random.default_rng(0)
    logits = 4 * rng.normal(size=(400, 3))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = (probs.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    rounded = probs.round(2) / probs.round(2).sum(axis=1, keepdims=True)
    label = "correct" if name == "confidence" else "label"
    for rows in (probs, rounded):
        top = rows.max(axis=1)
        scores = {"probs": rows, "score": rows[:, 0], "confidence": top}[name]
        right = {"score": truth == 0, "confidence": rows.argmax(axis=1) == truth}.get(name, truth)
        told = [
            line
            for line in report({name: scores, label: right}, cross_fit=folds).read
            if "of the probabilities are exactly" in line
        ]
        seen = top if name == "probs" and not folds else scores
        share = np.isin(seen, [0] if seen.ndim == 2 else [0, 1]).mean()
        assert (share > 0) == (rows is rounded)
        assert len(told) == (share > 0)
        if told:
            assert f": {100 * share:.2g} % of" in told[0]
            assert "what is fitted depends on that" in told[0]


def test_what_was_read_tells_a_weight_of_hundreds_of_rows() -> None:
    score = np.random.default_rng(0).random(3_000)
    columns = {"score": score, "label": (score > 0.4).astype(int)}
    weights = np.append(np.ones(2_999), 1e6)
    found = report(columns | {"weight": weights}, weight="weight", cross_fit=0)
    assert any("times the mean, so look whether it is right" in line for line in found.read)
    found = report(columns | {"weight": 1 + 9 * score}, weight="weight", cross_fit=0)
    assert not any("times the mean" in line for line in found.read)


def test_what_was_read_lists_files_that_are_left_out(tmp_path: Path) -> None:
    bad = write(tmp_path / "files", month(6_000), 6)
    cut(0.5)(bad / "part-01.parquet")
    changed("score", 45.0)(bad / "part-03.parquet")
    found = report(bad, cross_fit=0, skip_bad_files=True)
    assert "2 files were left out" in found.read
    for name in ("part-01.parquet: the file is cut", "part-03.parquet, row group 1: score: ex"):
        assert f"left out: {name}" in found.text()
        assert f"left out: {name}" in found.html()
