"""The numbers of the report, against the library and against code written out here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, t

from calib_audit import Report, report
from calib_audit.__main__ import main
from calib_audit.bin_sums import BinSums, tally
from calib_audit.costs import cost_curve
from calib_audit.parts import (
    _chance_of,
    allowed,
    control,
    gap_of,
    judge_gaps,
    judge_parts,
)
from calib_audit.planning import rows_needed
from calib_utils import metrics
from calib_utils.metrics.noise import error_ends
from tests.calib_audit import DECIDED


def drawn(
    n: int, seed: int, slope: float = 1.0, shift: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Scores, and labels of which logit(chance) = slope * logit(score) + shift."""
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 2, n).round(5).clip(1e-4, 1 - 1e-4)
    return score, (rng.random(n) < expit(slope * logit(score) + shift)).astype(int)


def of(score: np.ndarray, label: np.ndarray, **options: Any) -> Report:
    return report({"score": score, "label": label}, **{"cross_fit": 0} | options)


class TestMeasures:
    def test_are_the_librarys(self) -> None:
        score, label = drawn(3_000, 0, 0.7, -0.4)
        found = of(score, label, n_bins=10).measures
        assert found.ece == pytest.approx(
            metrics.expected_calibration_error(score, label, 10), abs=1e-9
        )
        # Of the largest of three errors: it lies above all lower ends, if all hold.
        line = metrics.cox_line(score, label)
        assert found.line is not None
        assert found.line.slope == pytest.approx(line.slope)
        assert found.line.intercept_interval == pytest.approx(line.intercept_interval, rel=1e-6)
        side = expit(line.slope * logit(score) + line.intercept) < score
        sides = tally(score, label == 1, side.astype(int), 2)
        ends = [
            [
                metrics.calibration_error_interval(score, label, 10, level=level, strategy=bins)
                for bins in ("uniform", "quantile")
            ]
            + [error_ends(sides, (level, level), 0)]
            for level in (1 - 0.05 / 3, 0.95)
        ]
        low, high = np.max(ends[0], axis=0)[0], np.max(ends[1], axis=0)[1]
        assert found.error == pytest.approx((low, high), abs=1e-8)
        assert found.debiased_interval == pytest.approx(
            metrics.debiased_calibration_error_interval(score, label, 10), abs=1e-8
        )
        assert found.debiased == pytest.approx(
            metrics.debiased_calibration_error(score, label, 10), abs=1e-9
        )
        # The rows come in the order of their lots, so that a calibrated model's labels are others.
        assert found.baseline_ece == pytest.approx(
            metrics.baseline_calibration_error(score, 10), rel=0.05
        )
        assert found.z == pytest.approx(metrics.calibration_test(score, label, 10).z)
        assert found.decomposition == pytest.approx(
            metrics.brier_decomposition(score, label), abs=1e-12
        )

    def test_are_those_of_scikit_learn(self) -> None:
        from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

        score, label = drawn(3_000, 0, 0.7, -0.4)
        found = of(score, label).measures
        assert found.nll == pytest.approx(log_loss(label, score))
        assert found.brier == pytest.approx(brier_score_loss(label, score))
        assert found.accuracy == pytest.approx(accuracy_score(label, score > 0.5))
        assert found.ratio == pytest.approx(label.sum() / score.sum())

    def test_of_several_classes(self) -> None:
        rng = np.random.default_rng(3)
        logits = rng.normal(size=(3_000, 4)) * 2
        truth = np.exp(logits / 2) / np.exp(logits / 2).sum(axis=1, keepdims=True)
        label = (truth.cumsum(axis=1) < rng.random((3_000, 1))).sum(axis=1)
        probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        found = report({"logits": logits, "labels": label}, cross_fit=0)
        ms = found.measures
        assert ms.ece == pytest.approx(metrics.expected_calibration_error(probs, label))
        assert ms.nll == pytest.approx(
            metrics.negative_log_likelihood(logits, label, inputs="logits")
        )
        assert ms.brier == pytest.approx(metrics.brier_score(probs, label))
        assert ms.accuracy == pytest.approx(metrics.accuracy(probs, label))
        assert found.verdict.exit_code == 1
        assert "its mean confidence is" in found.verdict.sentence
        for k, part in enumerate(found.classes):
            assert part.gap == pytest.approx((label == k).mean() - probs[:, k].mean())

    def test_the_loss_of_logits_whose_probabilities_are_zero(self) -> None:
        logits = np.array([[0.0, 2_000.0], [3_000.0, 0.0], [0.0, 1.0]])
        found = report({"logits": logits, "labels": [0, 1, 1]}, cross_fit=0)
        assert found.measures.nll == pytest.approx((2_000 + 3_000 + np.log1p(np.exp(-1))) / 3)

    def test_one_label_only(self) -> None:
        found = of(np.linspace(0.9, 0.99, 50), np.ones(50, int))
        assert found.measures.line is None
        assert "unknown" in found.text()
        json.loads(found.json())


class TestVerdict:
    def test_each_outcome(self) -> None:
        within = of(*drawn(40_000, 0)).verdict
        assert (within.outcome, within.exit_code) == ("within", 0)
        assert within.sentence.startswith("Trustworthy, as far as these rows show: it predicts 33.")
        assert (
            "On 40,000 rows its population ECE, a lower bound of its true calibration error"
            in within.sentence
        )
        beyond = of(*drawn(4_000, 0, 1, -1)).verdict
        assert (beyond.outcome, beyond.exit_code) == ("beyond", 1)
        undecided = of(*drawn(400, 0)).verdict
        assert (undecided.outcome, undecided.exit_code) == ("undecided", 3)
        fewest, most = undecided.rows_needed_range
        assert f"between {fewest:,} and {most:,} rows" in undecided.sentence
        assert fewest <= undecided.rows_needed <= most

    def test_it_follows_the_interval(self) -> None:
        score, label = drawn(3_000, 2, 1, -0.6)
        low, high = of(score, label).measures.error
        for tolerance, outcome in (
            (low * 0.99, "beyond"),
            (low * 1.05, "undecided"),
            ((low + high) / 2, "undecided"),
            (high * 0.99, "undecided"),
            (high * 1.01, "within"),
        ):
            found = of(score, label, tolerance=tolerance, relative_tolerance=1).verdict
            assert found.outcome == outcome

    def test_many_rows_are_not_rejected(self) -> None:
        """Their error is so small that it does not matter, and so clear that a test finds it."""
        score, label = drawn(400_000, 0, 1, -0.03)
        found = of(score, label)
        assert found.verdict.outcome == "within"
        assert abs(found.measures.z) > 3 or found.measures.ratio_interval[1] < 1

    @pytest.mark.parametrize(("shift", "tolerance"), [(0.0, 0.02), (-0.3, 0.03)])
    def test_so_many_rows_decide(self, shift: float, tolerance: float) -> None:
        """Of samples of the size that small samples ask for, a good part decides, and of half
        that size fewer.
        """
        asked = []
        for seed in range(9):
            score, label = drawn(600, seed, 1, shift)
            bins = BinSums(tally(score, label == 1, (score * 15).astype(int), 15))
            asked.append(rows_needed([bins], tolerance)[0] or 10**9)
        needed = int(np.median(asked))
        assert 1_000 < needed < 20_000
        decided = []
        for n in (needed, needed // 3):
            ends = [
                metrics.calibration_error_interval(*drawn(n, seed, 1, shift))
                for seed in range(100, 112)
            ]
            decided.append(np.mean([high <= tolerance or low > tolerance for low, high in ends]))
        assert decided[0] >= 0.3
        assert decided[1] < decided[0]

    def test_it_begins_with_what_to_do(self) -> None:
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
        found = of(np.full(1_000, 0.7), np.arange(1_000) < 530)
        expected = "it predicts 70.0 % on average and 53.0 % happened, so it is too high by 17.0 "
        assert expected in found.verdict.sentence.replace("\N{NO-BREAK SPACE}", " ")

    def test_classes_within_and_the_whole_beyond_is_explained(self) -> None:
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

    def test_few_rows_call_no_model_calibrated(self) -> None:
        sentence = report({"score": [0.7], "label": [1]}).verdict.sentence
        assert sentence.replace("\N{NO-BREAK SPACE}", " ").startswith(
            "Too few rows to tell: it predicts 70.0 % on average and 100.0 % happened, "
            "a difference that chance may explain. "
        )
        half = report({"score": np.full(100, 0.5), "label": np.arange(100) % 2}).verdict.sentence
        assert "so these rows show no error on average, which says nothing of single predic" in half

    def test_gaps_that_cancel_on_average_are_told(self) -> None:
        """Those of four scores, on both sides of a line that is right."""
        score = np.repeat([0.2, 0.4, 0.6, 0.8], 2_000)
        label = np.concatenate([np.arange(2_000) < happened for happened in (478, 464, 1536, 1522)])
        sentence = of(score, label).verdict.sentence
        assert "calibrated on average, but it is too high in some places and too low in" in sentence

    def test_gaps_that_cancel_in_a_bin_of_equal_width(self) -> None:
        """The last bin has 83 % of the predictions. Half of them are correct 2.4 points less often
        than predicted and the others more often, so the true error is 2 points.
        """
        held, alone, n = 0, 0, 20_000
        for seed in range(10):
            rng = np.random.default_rng(seed)
            last = rng.random(n) < 0.83
            c = np.where(last, rng.uniform(0.935, 0.975, n), rng.uniform(0.4, 0.9, n))
            chance = c + np.where(last, np.where(c < 0.955, -0.0241, 0.0241), 0)
            data = {"confidence": c, "correct": rng.random(n) < chance}
            low, high = report(data, **DECIDED).measures.error
            held += low <= 0.02 <= high
            alone += metrics.calibration_error_interval(c, data["correct"].astype(int))[1] > 0.02
        assert held >= 9
        assert alone == 0

    def test_scores_in_one_bin_that_rank_the_wrong_way_round(self) -> None:
        rng = np.random.default_rng(0)
        score = rng.uniform(0, 0.02, 50_000)
        label = (rng.random(50_000) < 0.02 - score).astype(int)  # the true error is 1 point
        found = of(score, label)
        assert found.measures.error[0] < 0.01 < found.measures.error[1]
        assert of(score, label, tolerance=0.005).verdict.outcome == "beyond"
        assert found.verdict.sentence.startswith("Is this the score of the other class? ")

    @pytest.mark.parametrize("value", [0, 1, -1, 2])
    def test_a_tolerance_that_is_none(self, value: float) -> None:
        with pytest.raises(ValueError, match="tolerance: expected above 0"):
            of(*drawn(100, 0), tolerance=value)


def parts_of(gaps: list[float], n: int, seed: int) -> dict[str, BinSums]:
    rng = np.random.default_rng(seed)
    found = {}
    for name, gap in enumerate(gaps):
        c = rng.uniform(0.2, 0.6, n)
        right = rng.random(n) < c + gap
        found[str(name)] = BinSums(tally(c, right, np.zeros(n, int), 1))
    return found


class TestParts:
    def test_wrong_verdicts_are_rare_in_all_parts_together(self) -> None:
        """Ten groups whose true gap is the tolerance: neither verdict may be given often."""
        outcomes = [
            {part.outcome for part in judge_parts(parts_of([0.02] * 10, 500, seed), 0.02)}
            for seed in range(120)
        ]
        assert np.mean(["beyond" in found for found in outcomes]) < 0.09
        assert np.mean(["within" in found for found in outcomes]) < 0.09

    def test_what_is_clear_is_found(self) -> None:
        found = judge_parts(parts_of([0.0, 0.1, -0.1, 0.02], 50_000, 0), 0.02)
        assert [part.outcome for part in found[:3]] == ["within", "beyond", "beyond"]
        assert found[1].interval[0] < 0.1 < found[1].interval[1]

    def test_small_parts_are_undecided(self) -> None:
        (part,) = judge_parts(parts_of([0.39], 20, 0), 0.02)
        assert part.small
        assert part.outcome == "undecided"

    def test_too_many_values(self) -> None:
        score, label = drawn(1_500, 0)
        with pytest.raises(ValueError, match="at most 1,000 values"):
            report({"score": score, "label": label, "id": np.arange(1_500)}, group="id")

    def test_the_interval_of_a_part_written_out(self) -> None:
        """With two more rows, which spread as those of a calibrated model; and with no less noise
        than a model has whose gap is at the tolerance.
        """
        array = np.zeros((5, 2))
        array[:, 0] = 30, 10, 18, 8, 3
        array[:, 1] = 20, 10, 12, 4, 2
        calm = array.copy()
        calm[4] = 7, 4
        within = (12 - 50 * 0.2**2 + 2 * 5 / 50) / (50 - 1 + 2)
        at_the_edge = 11 / 50 * (0.58 * 0.42) / (0.6 * 0.4)
        for sums, variance in ((array, within), (calm, at_the_edge)):
            (found,) = judge_parts({"a": BinSums(sums)}, 0.02)
            half = t.ppf(0.975, 49) * (variance / 50) ** 0.5
            assert found.gap == pytest.approx(-0.2)
            assert found.interval == pytest.approx((-0.2 - half, -0.2 + half))

    @pytest.mark.parametrize("n", [10_000, 50_000])
    @pytest.mark.parametrize("sign", [-1, 0, 1])
    def test_of_many_rare_groups_none_is_wrongly_beyond(self, n: int, sign: int) -> None:
        """Exact, of 100 groups; with the noise that each shows, 24 to 87 reports of 100 had one."""
        rate, limit = 0.001, allowed(0.02, 0.25, 0.001)
        events = np.arange(3 * n // 1_000)
        chances = []
        for x in events:
            sums = [n, x, n * rate, x * (1 - rate) ** 2 + (n - x) * rate**2, n * rate * (1 - rate)]
            gap = gap_of(BinSums(np.array(sums)[:, None]), limit)
            outcomes = judge_gaps([gap] * 100, [limit] * 100)
            chances.append(outcomes[0][1] == "beyond")
        alone = binom.pmf(events, n, rate + sign * limit)[chances].sum()
        assert 1 - (1 - alone) ** 100 < 0.05


class TestTimes:
    @staticmethod
    def days(
        count: int, n: int, seed: int, shift: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        score, label = drawn(count * n, seed, 1, shift)
        return score, label, np.repeat(np.arange(count), n)

    def test_calibrated_days_seldom_alarm_and_drift_does(self) -> None:
        alarms = {}
        for shift in (0.0, -0.6):
            score, label, day = self.days(400, 300, 0, shift)
            dates = np.datetime64("2026-01-01") + day
            data = {"score": score, "label": label, "date": dates}
            found = report(data, time="date:D", cross_fit=0).times
            assert len(found) == 400
            alarms[shift] = np.mean([span.alarm for span in found])
        assert alarms[0.0] <= 0.01
        assert alarms[-0.6] > 0.5

    def test_an_old_error_does_not_alarm_but_a_new_one_does(self, tmp_path: Path) -> None:
        old = of(*drawn(20_000, 1, 1, -0.6))
        old.write(json=tmp_path / "base.json")
        score, label, day = self.days(100, 300, 2, -0.6)
        dates = np.datetime64("2026-01-01") + day
        label[day >= 90] = drawn(100 * 300, 2, 1, 0.4)[1][day >= 90]
        data = {"score": score, "label": label, "date": dates}
        for baseline in (old, tmp_path / "base.json"):
            found = report(data, time="date", baseline=baseline, cross_fit=0).times
            assert not any(span.alarm for span in found[:90])
            assert all(span.alarm for span in found[90:])

    def test_z_against_the_baseline_is_standard_normal(self) -> None:
        """Also where the baseline is small, and its own chance counts."""
        z = []
        for seed in range(150):
            score, label = drawn(500, 1_000 + seed)
            base = BinSums(tally(score, label == 1, (score * 15).astype(int), 15))
            score, label = drawn(500, 5_000 + seed)
            new = BinSums(tally(score, label == 1, (score * 15).astype(int), 15))
            z.append(control({"a": new}, base.array[:3])[0].z)
        assert abs(np.mean(z)) < 0.3
        assert 0.8 < np.std(z) < 1.2

    @pytest.mark.parametrize(("n", "rate"), [(5_100, 0.001), (60, 0.9), (200, 0.5)])
    def test_the_chance_of_few_events_is_binomial(self, n: int, rate: float) -> None:
        variance = n * rate * (1 - rate)
        for x in range(0, n + 1, 5):
            tails = binom.sf(x - 1, n, rate), binom.cdf(x, n, rate)
            found = _chance_of(x, n * rate, variance, variance)
            assert found == pytest.approx(min(1, 2 * min(tails)), rel=1e-6, abs=1e-12)
            # Weights that are all one half change nothing.
            halved = _chance_of(x / 2, n * rate / 2, variance / 2, variance / 4)
            assert halved == pytest.approx(found, rel=1e-6, abs=1e-12)

    def test_a_week_begins_on_its_monday(self) -> None:
        """NumPy's begins on a Thursday."""
        days = np.datetime64("2026-06-01") + np.arange(28)  # from a Monday to a Sunday
        data = {"score": np.full(28, 0.5), "label": np.arange(28) % 2, "day": days}
        found = report(data, time="day:W", cross_fit=0)
        assert [(span.name, span.n) for span in found.times] == [
            (f"2026-06-{day:02}", 7) for day in (1, 8, 15, 22)
        ]

    def test_z_against_a_few_rows_written_out(self) -> None:
        """Two calibrated rows are added to the eight of the baseline."""
        new, old = np.zeros((5, 1)), np.array([[8.0], [2], [4]])
        new[:3, 0] = 100, 50, 60
        (found,) = control({"a": BinSums(new)}, old)
        assert found.expected == pytest.approx(0.6 + (2 - 4) / 10)
        variance = 100 * 0.4 * 0.6 + 100**2 * 0.4 * 0.6 / 10
        assert found.z == pytest.approx((50 - 40) / variance**0.5)

    def test_a_baseline_of_something_else(self, tmp_path: Path) -> None:
        score, label = drawn(300, 0)
        other = 1 - score
        words = np.where(label == 1, "yes", "no")
        binary = {"score": score, "label": label}
        dated = binary | {"day": np.datetime64("2026-06-01") + np.arange(300) % 3}
        both = {"prob_no": other, "prob_yes": score, "label": words}
        three = both | {"prob_so": np.zeros(300)}

        def told(data: dict[str, Any], baseline: Any, **options: Any) -> Any:
            return report(data, time="day:D", baseline=baseline, **DECIDED, **options).times

        several = report(both, **DECIDED)
        several.write(json=tmp_path / "several.json")
        for baseline in (several, tmp_path / "several.json"):
            with pytest.raises(ValueError, match=r"baseline: expected a report on the probability"):
                told(dated, baseline)
        day = {"day": dated["day"]}
        with pytest.raises(ValueError, match=r"classes no, yes, so, found .* no, yes; give one"):
            told(three | day, several)
        no, yes = (report(both, positive=name, **DECIDED) for name in ("no", "yes"))
        with pytest.raises(ValueError, match=r"probability of 'yes', found one on .* of 'no'"):
            told(both | day, no, positive="yes")
        # What is known of only one of the two is no objection.
        assert told(dated, yes) == told(dated, report(binary, **DECIDED))
        top = {"confidence": np.maximum(score, other), "correct": (score > 0.5) == label}
        assert len(told(top | day, several)) == 3


class TestCosts:
    def test_written_out(self) -> None:
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
    def test_the_lowest_cost_is_the_one_at_the_lowest_threshold(self, highest: float) -> None:
        """Of 100 rows, ten have the highest score, and one of these and one other are positive."""
        score = np.repeat([0.1, highest], [90, 10])
        label = np.isin(np.arange(100), [0, 95]).astype(int)
        found = of(score, label, prices=(5.0, 1.0), cross_fit=0)
        threshold, cost = found.costs.lowest
        assert cost == pytest.approx(0.02) == found.costs.never
        acts = score >= threshold
        assert (5 * (acts & (label == 0)) + (~acts & (label == 1))).mean() == pytest.approx(cost)
        never = "never acting, best on these rows: 0.020 a row"
        assert (never in found.text()) == (highest == 1)
        at = json.loads(found.json())["costs"]["lowest"][0]
        assert at is None if highest == 1 else at == 1

    def test_prices_that_are_none(self) -> None:
        with pytest.raises(ValueError, match="prices: expected two numbers above 0"):
            of(*drawn(50, 0), prices=(0, 1))
        with pytest.raises(ValueError, match="prices: expected one score in a row"):
            report({"probs": np.eye(3), "labels": [0, 1, 2]}, prices=(1, 1))


class TestCommandLine:
    def test_says_what_it_read_and_ends_with_the_verdict(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for n, shift, code in ((40_000, 0, 0), (4_000, -1, 1), (300, 0, 3)):
            score, label = drawn(n, 0, 1, shift)
            rows = "".join(f"{s},{y}\n" for s, y in zip(score, label, strict=True))
            (tmp_path / "a.csv").write_text("score,label\n" + rows)
            out_file = tmp_path / "a.json"
            arguments = [str(tmp_path / "a.csv"), "--cross-fit", "0", "--json", str(out_file)]
            assert main(arguments) == code
            out = capsys.readouterr().out
            found = json.loads(out_file.read_text("utf-8"))
            assert out.startswith(found["verdict"]["sentence"])
            assert "'score': the probability of the positive class (guessed)" in out
            assert found["verdict"]["exit_code"] == code
            assert "--cross-fit 0" in found["facts"]["command"]
            assert len(found["facts"]["SHA-256"]) == 64


def test_who_reads_only_the_beginning_sees_no_error(tmp_path: Path) -> None:
    """As `| head` does: status 141, which says nothing of the model."""
    file = tmp_path / "p.csv"
    file.write_text("label,score\n" + "1,0.9\n0,0.2\n" * 50)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "calib_audit", str(file), "--cross-fit", "0"],
        cwd=tmp_path,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")
