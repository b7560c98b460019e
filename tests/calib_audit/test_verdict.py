"""The verdict of a report on data with planted faults: in groups, on days, of rare events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from calib_audit import Report, report
from calib_audit.bin_sums import BinSums, tally
from calib_audit.exact_sums import ExactSums
from calib_audit.lots import Lots
from calib_audit.measures import auroc_of, binnings_of, calibration_line, larger_error
from calib_audit.parts import Span, allowed, begins, control
from calib_audit.rows import Rows
from calib_audit.totals import Totals
from calib_audit.words import written
from tests.calib_audit import DECIDED


def calibrated(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 3, n)
    return {"score": score, "label": (rng.random(n) < score).astype(int)}


def happening(score: np.ndarray, gaps: np.ndarray, seed: int = 0) -> np.ndarray:
    """Labels of which more happen than is predicted, by the gap of each row."""
    chances = np.clip(score + gaps, 0, 1)
    return (np.random.default_rng(seed + 1).random(len(score)) < chances).astype(int)


def judged(data: dict[str, Any], **options: Any) -> Report:
    return report(data, **{"cross_fit": 0} | options)


class TestGroups:
    def test_two_that_cancel(self) -> None:
        data = calibrated(40_000)
        data["score"] = 0.1 + 0.8 * data["score"]
        plan = np.array(["a", "b"])[np.arange(40_000) % 2]
        data["label"] = happening(data["score"], np.where(plan == "a", 0.05, -0.05))
        found = judged(data | {"plan": plan}, group="plan").verdict
        assert (found.outcome, found.overall, found.exit_code) == ("groups", "within", 4)
        start, _, more = found.sentence.partition(": ")
        assert start.startswith("Trustworthy on average, but not for `")
        (a, b) = (part.gap for part in judged(data | {"plan": plan}, group="plan").groups["plan"])
        named = [f"`a` ({100 * a:.1f}{{}} too low)", f"`b` ({-100 * b:.1f}{{}} too high)"]
        first, second = named if a > -b else named[::-1]
        assert start.endswith(f"{first.format(' points')} and {second.format('')}")
        assert more.startswith("it predicts ")

    def test_one_too_small_is_undecided(self) -> None:
        data = calibrated(40_000) | {"plan": np.where(np.arange(40_000) < 20, "few", "many")}
        found = judged(data, group="plan").verdict
        assert (found.outcome, found.overall, found.exit_code) == ("undecided", "within", 3)
        assert "Trustworthy on average, but too few rows to tell for `few`: it" in found.sentence

    def test_a_group_is_beyond_while_all_rows_are_undecided(self) -> None:
        data = calibrated(1_500)
        plan = np.where(np.arange(1_500) < 300, "a", "b")
        data["label"] = happening(data["score"], np.where(plan == "a", 0.2, -0.05))
        found = judged(data | {"plan": plan}, group="plan").verdict
        assert (found.outcome, found.overall, found.exit_code) == ("groups", "undecided", 4)
        assert found.sentence.startswith(
            "Too few rows to tell on average, but not trustworthy for `a` ("
        )

    def test_a_map_for_all_is_not_sold_to_groups_that_it_harms(self) -> None:
        """One plan is exact and the other too low; a map between the two is wrong for both."""
        data = calibrated(8_000)
        plan = np.array(["exact", "low"])[np.arange(8_000) % 2]
        chances = expit(logit(data["score"]) + 0.8 * (plan == "low"))
        data["label"] = (np.random.default_rng(1).random(8_000) < chances).astype(int)
        found = report(data | {"plan": plan}, group="plan", cross_fit=2)
        tried = found.recalibrators
        assert tried is not None
        after = {part.name: part for part in tried.groups["plan"]}
        before = {part.name: part for part in found.groups["plan"]}
        assert before["exact"].outcome != "beyond"
        assert {part.outcome for part in after.values()} == {"beyond"}
        assert after["exact"].gap < -0.04 < 0.04 < after["low"].gap
        assert "That does not make it right for `" in found.verdict.sentence
        assert f"+{100 * after['low'].gap:.1f} after recalibration" in found.text()
        # As computed by hand from the recalibrated rows, in folds that are other ones.
        assert tried.best is not None
        mean = tried.best.predict_proba(data["score"])[plan == "low"].mean()
        assert after["low"].gap == pytest.approx(
            data["label"][plan == "low"].mean() - mean, abs=0.005
        )

    def test_the_rest_of_many_are_counted(self) -> None:
        data = calibrated(60_000)
        plan = np.arange(60_000) % 12
        data["label"] = happening(data["score"], np.where(plan < 6, 0.1, -0.1))
        sentence = judged(data | {"plan": plan, "one": "x"}, group=["plan"]).verdict.sentence
        assert " and 9 more: it predicts" in sentence


def days_of(rates: list[float], happened: list[float], n: int) -> dict[str, BinSums]:
    """Sums of days on which all rows have one score."""
    found = {}
    for day, (rate, share) in enumerate(zip(rates, happened, strict=True)):
        right, c = round(n * share), n * rate
        squares = right * (1 - rate) ** 2 + (n - right) * rate**2
        array = np.array([n, right, c, squares, n * rate * (1 - rate)], float)[:, None]
        found[str(np.datetime64("2026-06-01") + day)] = BinSums(array)
    return found


class TestDays:
    def test_the_last_two_are_off(self) -> None:
        data = calibrated(45_000)
        day = np.repeat(np.datetime64("2026-06-01") + np.arange(30), 1_500)
        late = np.isin(day, day[-1] - np.arange(2))
        data["label"] = happening(data["score"], np.where(late, -0.1, 0.0))
        found = judged(data | {"day": day}, time="day:D")
        assert [span.name for span in found.times if span.alarm] == ["2026-06-29", "2026-06-30"]
        assert (found.verdict.outcome, found.verdict.exit_code) == ("times", 5)
        assert found.verdict.sentence.startswith(
            "Trustworthy on average, but with alarms since 29 June 2026: it predicts "
        )

    def test_one_in_the_middle_is_off(self) -> None:
        data = calibrated(15_000)
        day = np.repeat(np.datetime64("2026-06-01") + np.arange(10), 1_500)
        data["label"] = happening(data["score"], np.where(day == day[6_000], 0.15, 0.0))
        found = judged(data | {"day": day}, time="day:D").verdict
        assert found.exit_code == 5
        assert "but with an alarm on 5 June 2026: " in found.sentence

    def test_alarms_are_told_also_where_all_rows_are_beyond(self) -> None:
        data = calibrated(15_000)
        day = np.repeat(np.datetime64("2026-06-01") + np.arange(10), 1_500)
        data["label"] = happening(data["score"], np.where(day >= day[9_000], -0.3, 0.0))
        found = judged(data | {"day": day}, time="day:D").verdict
        assert found.overall == "beyond"
        assert "too high by 1" in found.sentence
        assert " Over time there are alarms since 7 June 2026. " in found.sentence

    def test_the_tolerance_is_for_days_too(self) -> None:
        """Two million rows a day, off by a tenth of a point: clear, and of no account."""
        days = days_of([0.2] * 3, [0.2, 0.2, 0.201], 2_000_000)
        for tolerance, alarms in ((0.02, [False] * 3), (0.0005, [False, False, True])):
            found = control(days, tolerance=tolerance, relative=0.25)
            assert found[-1].z > 3
            assert [span.alarm for span in found] == alarms

    def test_the_number_of_days_is_corrected_for(self) -> None:
        """Without a tolerance, a hundred calibrated days alarm in one report of twenty."""
        rng = np.random.default_rng(0)
        alarms, beyond = [], []
        for _ in range(100):
            shares = rng.binomial(2_000, 0.3, 100) / 2_000
            days = days_of([0.3] * 100, list(shares), 2_000)
            found = control(days)
            alarms.append(any(span.alarm for span in found))
            beyond.append(any(abs(span.z) > 3 for span in found))
        assert np.mean(alarms) <= 0.09
        assert np.mean(beyond) > 0.2

    def test_a_day_beyond_the_limits_is_not_called_calm(self) -> None:
        """Off by half a point, which the tolerance allows, and by seven standard deviations."""
        n = 90_000
        day = np.repeat(np.datetime64("2026-06-01") + np.arange(3), n // 3)
        score = np.full(n, 0.05)
        happened = np.tile(np.arange(n // 3) < n // 3 * 0.05, 3)
        happened[: n // 3] = np.arange(n // 3) < n // 3 * 0.058
        found = judged({"score": score, "label": happened.astype(int), "day": day}, time="day:D")
        assert [span.z > 3 for span in found.times] == [True, False, False]
        assert not any(span.alarm for span in found.times)
        states = [line.rpartition(": ")[2] for line in found.text().splitlines()[-3:]]
        assert states == ["no alarm, although beyond the limits", "no alarm", "no alarm"]
        described = found.html().partition('id="control-text">')[2].partition("<")[0]
        assert described == (
            "3 values of z with limits at 3 and -3, of which 1 lies beyond the limits. "
            "Alarms: none."
        )

    def test_how_they_are_written(self) -> None:
        assert written("2026-06-09") == "9 June 2026"
        assert written("2026-06") == "2026-06"


class TestRareEvents:
    def test_twice_as_many_as_predicted(self) -> None:
        rng = np.random.default_rng(0)
        score = rng.beta(0.66, 99.34, 100_000)
        label = (rng.random(100_000) < np.minimum(2 * score, 1)).astype(int)
        found = judged({"score": score, "label": label}).verdict
        assert (found.outcome, found.exit_code) == ("beyond", 1)
        assert found.tolerance == pytest.approx(score.mean() / 4)
        assert "of the rate of 0.66" in found.sentence
        loose = judged({"score": score, "label": label}, relative_tolerance=1).verdict
        assert loose.tolerance == pytest.approx(score.mean())

    @pytest.mark.parametrize("n", [200, 40_000])
    def test_no_positive_is_no_pass(self, n: int) -> None:
        score = np.random.default_rng(0).beta(1, 99, n)
        found = judged({"score": score, "label": np.zeros(n, int)}).verdict
        assert found.exit_code == (3 if n == 200 else 1)
        if n == 200:
            assert "points: no row is positive." in found.sentence

    def test_the_limit(self) -> None:
        assert allowed(0.02, 0.25, 0.3) == 0.02
        assert allowed(0.02, 0.25, 0.01) == pytest.approx(0.0025)
        assert allowed(0.02, 0.25, 0.99) == pytest.approx(0.0025)

    @pytest.mark.parametrize("value", [0, -1, 1.5, "a"])
    def test_a_relative_tolerance_that_is_none(self, value: Any) -> None:
        with pytest.raises(ValueError, match=r"^relative_tolerance: expected above 0 and up to 1"):
            judged(calibrated(100), relative_tolerance=value)


class TestWhatItKnows:
    def test_the_score_of_the_other_class(self) -> None:
        data = calibrated(4_000)
        data["score"] = 1 - data["score"]
        found = report(data)
        assert found.verdict.exit_code == 1
        assert found.verdict.sentence.startswith(
            "Is this the score of the other class? Not trustworthy as it is: it predicts "
        )
        assert found.calibrator is None
        assert "falls where what happens rises" in found.text()

    def test_a_score_that_tells_nothing(self) -> None:
        rng = np.random.default_rng(0)
        found = report({"score": rng.random(4_000), "label": rng.integers(2, size=4_000)})
        assert found.verdict.exit_code == 1
        assert "the score tells next to nothing about what happens, with an AUROC of" in (
            found.verdict.sentence
        )
        assert found.calibrator is None

    def test_too_few_rows_call_no_score_blind(self) -> None:
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

    def test_of_an_unproven_score_recalibrators_are_tried(self) -> None:
        rng = np.random.default_rng(0)
        score = rng.uniform(0.04, 0.08, 1_500)
        found = report({"score": score, "label": (rng.random(1_500) < score).astype(int)})
        assert "these rows do not show" in found.verdict.sentence
        assert found.recalibrators is not None

    @pytest.mark.parametrize("digits", [1, 12])
    def test_the_auroc_is_that_of_scikit_learn(self, digits: int) -> None:
        data = calibrated(2_000)
        score, label = data["score"].round(digits), data["label"]
        area, _ = auroc_of(score, label == 1)
        assert area == pytest.approx(roc_auc_score(label, score), abs=1e-12)

    def test_a_mean_that_is_right_does_not_stand_alone(self) -> None:
        data = calibrated(6_000)
        z = 2 * logit(data["score"].clip(1e-6, 1 - 1e-6))
        z -= z.mean()
        rng = np.random.default_rng(1)
        label = (rng.random(6_000) < expit(z / 2)).astype(int)
        sentence = judged({"score": expit(z), "label": label}).verdict.sentence
        assert (
            "so it is calibrated on average, but it is overconfident, with a slope of 0."
            in sentence
        )

    def test_what_is_not_known_of_the_mean_is_not_claimed(self) -> None:
        """150 rows know the mean to eight points: a gap of four may be chance, or an error."""
        seen = set()
        for seed in range(8):
            rng = np.random.default_rng(seed)
            right = rng.random(150)
            score = expit(3 * logit(right.clip(0.01, 0.99)))
            label = (rng.random(150) < np.where(right > 0.5, 0.7, 0.3)).astype(int)
            found = judged({"score": score, "label": label})
            assert found.verdict.overall == "beyond"
            low, high = found.measures.ratio_interval
            if low <= 1 <= high:
                large = abs(score.mean() - label.mean()) > 0.02
                claim = "a difference that chance may explain"
                claim = claim if large else "so these rows show no error on average"
                assert f"happened, {claim}, but it is overconfident" in found.verdict.sentence
                seen.add(large)
        assert seen == {True, False}

    def test_classes_that_are_off_behind_a_confidence_that_is_not(self) -> None:
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
            found = judged(scores | {"label": np.array(list("abc"))[label]})
            beyond = {part.name: part.gap for part in found.classes if part.outcome == "beyond"}
            assert (found.verdict.outcome, "c" in beyond) == ("within", off)
            clause = "is about the confidence in the predicted class, while the mean prob"
            assert (clause in found.verdict.sentence) is off
            assert ("make a report on these" in found.text()) is off
            if off:
                assert f"of `c` ({100 * beyond['c']:.1f} points too low)" in found.verdict.sentence

    def test_an_ece_that_rises_is_said_to_rise(self) -> None:
        """Three of a hundred scores are almost 0 instead, which a map can only blur."""
        rng = np.random.default_rng(6)
        score = rng.beta(2, 3, 3_000)
        label = (rng.random(3_000) < score).astype(int)
        score = np.where(rng.random(3_000) < 0.03, 1e-4, score)
        found = report({"score": score, "label": label}, cross_fit=2)
        assert found.recalibrators is not None
        before, best = found.recalibrators.ece, found.recalibrators.best_found
        assert best is not None
        assert best.ece > before + 0.01
        sentence = found.verdict.sentence.replace("\N{NO-BREAK SPACE}", " ")
        assert (
            f" but raises its ECE from {100 * before:.1f} % to {100 * best.ece:.1f} %" in sentence
        )

    def test_the_line_finds_what_bins_alone_leave_open(self) -> None:
        """Of 1,000 rows, 7.7 points too far from one half; and without a fault it finds nothing."""
        rates = {}
        for slope in (0.6, 1.0):
            beyond = np.zeros((20, 2), bool)
            for seed, row in enumerate(beyond):
                rng = np.random.default_rng(seed)
                z = rng.normal(0, 1.8, 1_000)
                labels = (rng.random(1_000) < expit(slope * z)).astype(np.int64)
                sums = ExactSums(15, lots=Lots(0, True))
                sums.add(Rows(expit(z), z, labels, {}, None, None))
                totals = Totals(sums)
                line = calibration_line(*totals.confidences)
                row[:] = [
                    larger_error(binnings)[0] > 0.02
                    for binnings in (totals.binnings, binnings_of(totals, line))
                ]
            rates[slope] = beyond.mean(axis=0)
        assert (rates[1.0] == 0).all()
        assert rates[0.6][1] > rates[0.6][0] + 0.3


def test_the_auroc_takes_log_odds_where_they_are_at_hand() -> None:
    """Of several classes, see `test_corners`."""
    rng = np.random.default_rng(10)
    order = rng.normal(size=2_000) * 60 + 12
    happened = (rng.random(2_000) < expit(order / 30)).astype(int)
    assert (expit(order) == 1).sum() > 100
    found = report({"logit": order, "label": happened}, cross_fit=0).measures.auroc
    assert found == pytest.approx(roc_auc_score(happened, order), abs=1e-12)


def test_the_interval_of_the_auroc_is_that_of_delong() -> None:
    order = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    happened = np.array([False, False, True, False, True, True, True])
    above = order[happened][:, None] > order[~happened]
    shares = above.mean(axis=1), above.mean(axis=0)
    spread = sum(share.var(ddof=1) / len(share) for share in shares) ** 0.5
    area, interval = auroc_of(order, happened)
    assert area == above.mean()
    assert interval[0] == pytest.approx(above.mean() - norm.ppf(0.975) * spread)


def test_an_error_beyond_the_tolerance_is_so_at_any_rate() -> None:
    label = (np.random.default_rng(0).random(20_000) < 0.01).astype(int)
    found = report({"score": np.full(20_000, 0.06), "label": label}, cross_fit=0)
    assert found.verdict.tolerance == 0.02  # not a quarter of the rate


def small_days(seed: int, drop: float) -> list[Span]:
    """Days with too few rows for a verdict, the last of which have fewer positives."""
    rng, days, rows = np.random.default_rng(seed), 60, 40
    score = np.clip(rng.beta(1, 8, (days, rows)), 0.01, 0.9)
    late = np.arange(days)[:, None] >= 40
    label = rng.random((days, rows)) < np.where(late, score * (1 - drop), score)
    sums = {
        f"{day:02}": BinSums(tally(score[day], label[day], (score[day] * 15).astype(int), 15))
        for day in range(days)
    }
    return control(sums, None, 0.02, 0.25)


def test_a_break_that_is_spread_over_small_days_is_found() -> None:
    for seed in range(8):
        assert any(span.alarm for span in small_days(seed, 0.55))
    calm = sum(any(span.alarm for span in small_days(seed, 0.0)) for seed in range(20))
    assert calm <= 2


def test_one_early_false_alarm_does_not_date_a_break() -> None:
    since = [day >= 20 for day in range(30)]
    assert begins(since) == 20
    assert begins([alarm or day == 12 for day, alarm in enumerate(since)]) == 20
    assert begins([day >= 10 and day % 2 == 0 for day in range(30)]) == 10
    assert begins([day == 29 for day in range(30)]) == 29


def test_a_break_begins_where_its_alarms_are_likeliest() -> None:
    """Before it one alarm in 370, from it on as many as there are, with half a one added."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        alarms = rng.random(20) < np.where(np.arange(20) < rng.integers(20), 0.1, 0.6)
        likely = {}
        for day in np.flatnonzero(alarms):
            after = alarms[day:]
            rate = (after.sum() + 0.5) / (len(after) + 1)
            chances = np.where(np.arange(20) < day, 1 / 370, rate)
            likely[day] = np.log(np.where(alarms, chances, 1 - chances)).sum()
        if likely:
            assert begins(alarms) == max(likely, key=lambda day: likely[day])
