"""The measures, against the library, scikit-learn and code written out here."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, roc_auc_score

from calib_audit import report
from calib_audit.exact_sums import ExactSums
from calib_audit.lots import Lots
from calib_audit.measures import auroc_of, binnings_of, calibration_line, larger_error
from calib_audit.totals import Totals
from calib_utils import metrics
from calib_utils.comparing.pairs import paired_difference
from calib_utils.metrics import (
    calibration_error_interval,
    calibration_test,
    cox_line,
    debiased_calibration_error_interval,
    expected_calibration_error,
)
from calib_utils.metrics.bins import tally, uniform_index
from calib_utils.metrics.blocks import block_noise
from calib_utils.metrics.intervals import error_ends, root_ends_of_noise
from calib_utils.predictions import as_predictions
from tests.calib_audit import DECIDED, bare, judged, points_of, taken
from tests.calib_audit.samples import LABEL, SCORE, calibrated, copies, drawn, of_patients, too_high


def test_measure_finds_what_the_library_does() -> None:
    score, label = drawn(3_000, 0, 0.7, -0.4)
    found = judged(score, label, n_bins=10).measures
    assert found.ece == pytest.approx(
        metrics.expected_calibration_error(score, label, 10), abs=1e-9
    )
    # Of the largest of three errors: it lies above all lower ends, if all hold.
    line = metrics.cox_line(score, label)
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


def test_measure_finds_what_scikit_learn_does() -> None:
    score, label = drawn(3_000, 0, 0.7, -0.4)
    found = judged(score, label).measures
    assert found.nll == pytest.approx(log_loss(label, score))
    assert found.brier == pytest.approx(brier_score_loss(label, score))
    assert found.accuracy == pytest.approx(accuracy_score(label, score > 0.5))
    assert found.ratio == pytest.approx(label.sum() / score.sum())


def test_measure_of_several_classes() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(3_000, 4)) * 2
    truth = np.exp(logits / 2) / np.exp(logits / 2).sum(axis=1, keepdims=True)
    label = (truth.cumsum(axis=1) < rng.random((3_000, 1))).sum(axis=1)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = report({"logits": logits, "labels": label}, cross_fit=0)
    ms = found.measures
    assert ms.ece == pytest.approx(metrics.expected_calibration_error(probs, label))
    assert ms.nll == pytest.approx(metrics.negative_log_likelihood(logits, label, inputs="logits"))
    assert ms.brier == pytest.approx(metrics.brier_score(probs, label))
    assert ms.accuracy == pytest.approx(metrics.accuracy(probs, label))
    assert found.verdict.exit_code == 1
    assert "its mean confidence is" in found.verdict.sentence
    for k, part in enumerate(found.classes):
        assert part.gap == pytest.approx((label == k).mean() - probs[:, k].mean())


def test_measure_makes_no_prediction_of_a_confidence() -> None:
    """It is not the probability of a class, so no prediction is made at one half."""
    data = {"confidence": SCORE, "correct": LABEL}
    found = report(data, **DECIDED)
    assert found.measures.accuracy == LABEL.mean()
    assert "its mean confidence is" in found.verdict.sentence
    assert "at one half" not in found.text()


def test_measure_finds_no_line_where_all_labels_are_one() -> None:
    found = judged(np.linspace(0.9, 0.99, 50), np.ones(50, int))
    assert found.measures.line is None
    assert "unknown" in found.text()
    json.loads(found.json())


def test_measure_sees_gaps_that_cancel_in_a_bin_of_equal_width() -> None:
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


def test_measure_sees_scores_in_one_bin_that_rank_the_wrong_way_round() -> None:
    rng = np.random.default_rng(0)
    score = rng.uniform(0, 0.02, 50_000)
    label = (rng.random(50_000) < 0.02 - score).astype(int)  # the true error is 1 point
    found = judged(score, label)
    assert found.measures.error[0] < 0.01 < found.measures.error[1]
    assert judged(score, label, tolerance=0.005).verdict.outcome == "beyond"
    assert found.verdict.sentence.startswith("Is this the score of the other class? ")


def test_measure_learns_little_where_one_row_is_heavy() -> None:
    data = too_high(20_000)
    data["label"] = (np.random.default_rng(2).random(20_000) < data["score"]).astype(int)
    plain = report(data, cross_fit=0)
    assert plain.verdict.outcome == "within"
    data["w"] = np.append(np.ones(19_999), 1_000.0)
    turned = {name: values[::-1] for name, values in data.items()}
    found, other = (report(each, weight="w", cross_fit=0) for each in (data, turned))
    assert found.measures.n == 20_000
    effective = 20_999**2 / (19_999 + 1e6)
    assert found.measures.effective == pytest.approx(effective)
    assert "On 20,000 rows, worth 432 of equal weight," in found.verdict.sentence
    assert found.verdict.outcome == other.verdict.outcome == "undecided"
    assert points_of(found) == pytest.approx(points_of(other), rel=1e-12)  # of rows in any order
    assert found.verdict.rows_needed > 20_000
    assert np.diff(found.measures.error) > 2 * np.diff(plain.measures.error)


def test_measure_finds_what_is_wrong_where_the_weight_lies() -> None:
    """One row in ten has most of the weight, and its score is ten points too high."""
    rng = np.random.default_rng(3)
    heavy = rng.random(20_000) < 0.1
    score = rng.uniform(0.2, 0.8, 20_000)
    label = (rng.random(20_000) < score - 0.1 * heavy).astype(int)
    data = {"score": score, "label": label, "w": np.where(heavy, 90.0, 1.0)}
    plain = report(data | {"kind": heavy.astype(str)}, tolerance=0.03, cross_fit=0)
    assert plain.verdict.outcome == "within"
    found = report(data, weight="w", tolerance=0.03, cross_fit=3)
    assert found.verdict.outcome == "beyond"
    low, high = found.measures.error
    assert low < 0.1 * 9 / (9 + 0.1 * 9) < 0.1 < high + 0.02
    after = found.recalibrators.best.predict_proba(score)
    gap = np.average(after - label, weights=data["w"])
    assert abs(gap) < 0.01


def test_binnings_of_a_line_find_what_bins_alone_leave_open() -> None:
    """Of 1,000 rows, 7.7 points too far from one half; and without a fault it finds nothing."""
    rates = {}
    for slope in (0.6, 1.0):
        beyond = np.zeros((20, 2), bool)
        for seed, row in enumerate(beyond):
            rng = np.random.default_rng(seed)
            z = rng.normal(0, 1.8, 1_000)
            labels = (rng.random(1_000) < expit(slope * z)).astype(np.int64)
            sums = ExactSums(15, lots=Lots(0, True))
            sums.add(bare(expit(z), labels, z))
            totals = Totals(sums)
            line = calibration_line(*totals.confidences)
            row[:] = [
                larger_error(binnings)[0] > 0.02
                for binnings in (totals.binnings, binnings_of(totals, line))
            ]
        rates[slope] = beyond.mean(axis=0)
    assert (rates[1.0] == 0).all()
    assert rates[0.6][1] > rates[0.6][0] + 0.3


def test_auroc_of_scores_with_ties_is_that_of_scikit_learn() -> None:
    data = calibrated(2_000)
    score, label = data["score"].round(1), data["label"]
    area, _ = auroc_of(score, label == 1)
    assert area == pytest.approx(roc_auc_score(label, score), abs=1e-12)


def test_auroc_of_scores_has_the_interval_of_delong() -> None:
    rng = np.random.default_rng(0)
    order = rng.permutation(60) / 60
    happened = rng.random(60) < order
    above = order[happened][:, None] > order[~happened]
    shares = above.mean(axis=1), above.mean(axis=0)
    spread = sum(share.var(ddof=1) / len(share) for share in shares) ** 0.5
    area, interval = auroc_of(order, happened)
    assert area == above.mean()
    assert interval[0] == pytest.approx(above.mean() - norm.ppf(0.975) * spread)
    # Of few it would be far too short: of one positive it has no length at all.
    few = happened & (np.cumsum(happened) <= 19)
    area, interval = auroc_of(order, few)
    assert 0 < area < 1
    assert np.isnan(interval).all()


def misses(sets: int, make: Callable[[np.random.Generator], dict[str, Any]]) -> float:
    """How often the interval of observed over expected misses 1 in sets of a calibrated model."""
    found = []
    for seed in range(sets):
        data = make(np.random.default_rng(seed))
        named = {name: name for name in ("weight", "blocks") if name in data}
        low, high = report(data, cross_fit=0, **named).measures.ratio_interval
        found.append(not low <= 1 <= high)
    return float(np.mean(found))


def test_observed_over_expected_allows_for_few_events_in_few_blocks() -> None:
    def make(rng: np.random.Generator) -> dict[str, Any]:
        blocks, chance = np.repeat(np.arange(20), 10), np.repeat(rng.beta(1, 15, 20), 10)
        return {"score": chance, "label": rng.random(20)[blocks] < chance, "blocks": blocks}

    assert misses(20, make) <= 0.05


def test_observed_over_expected_allows_for_the_predictions_of_weighted_rows() -> None:
    def make(rng: np.random.Generator) -> dict[str, Any]:
        score = rng.beta(1, 75, 20_000)
        label = rng.random(20_000) < score
        kept = label | (rng.random(20_000) < 1 / 50)
        weight = np.where(label, 1.0, 50.0)
        return {"score": score[kept], "label": label[kept], "weight": weight[kept]}

    assert misses(20, make) <= 0.1


class TestBlocks:
    data = of_patients()
    found = report(data, blocks="patient", group="ward", cross_fit=0)
    pair = data["score"], data["label"]

    def test_they_are_those_of_the_metrics_with_blocks(self) -> None:
        m = self.found.measures
        blocks = self.data["patient"]
        line = cox_line(*self.pair, blocks=blocks)
        assert (m.line.slope, m.line.intercept) == pytest.approx(line[:2], rel=1e-6)
        assert m.line.slope_interval == pytest.approx(line.slope_interval, rel=1e-6)
        assert m.z == pytest.approx(
            calibration_test(*self.pair, draws=9, blocks=blocks).z, rel=1e-6
        )
        assert m.ece == pytest.approx(expected_calibration_error(*self.pair), rel=1e-9)
        sizes = np.unique(blocks, return_counts=True)[1]
        assert m.blocks == len(sizes)
        assert m.effective == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum())

    def test_the_interval_of_the_error_is_not_narrower_than_that_of_one_binning(self) -> None:
        """Of three binnings, of which the lower ends are stricter and the largest ends count."""
        blocks = self.data["patient"]
        found = self.found.measures.error
        for strategy in ("uniform", "quantile"):
            one = calibration_error_interval(*self.pair, blocks=blocks, strategy=strategy)
            assert found[1] > one[1] - 0.002
        independent = report(self.data, cross_fit=0).measures.error
        assert found[1] - found[0] > 1.3 * (independent[1] - independent[0])

    def test_the_gap_of_all_and_of_a_group_is_as_wide_as_the_jackknife_says(self) -> None:
        m = self.found.measures
        apart = paired_difference(*self.pair, blocks=self.data["patient"])
        ends = [(m.predicted + end) / m.predicted for end in apart.interval()]
        assert m.ratio_interval == pytest.approx(ends, rel=1e-9)
        for part in self.found.groups["ward"]:
            here = self.data["ward"] == part.name
            pair = (each[here] for each in self.pair)
            ours = paired_difference(*pair, blocks=self.data["patient"][here])
            half = (part.interval[1] - part.interval[0]) / 2
            wanted = student.ppf(0.975, ours.freedom) * ours.standard_error
            assert part.gap == pytest.approx(ours.mean, abs=1e-9)
            assert half == pytest.approx(wanted, rel=0.15)

    def test_the_auroc_is_as_wide_as_a_bootstrap_of_patients_finds(self) -> None:
        rng = np.random.default_rng(0)
        names = np.unique(self.data["patient"])
        rows = [np.flatnonzero(self.data["patient"] == name) for name in names]
        drawn = []
        for _ in range(300):
            some = np.concatenate([rows[k] for k in rng.integers(len(names), size=len(names))])
            drawn.append(auroc_of(self.pair[0][some], self.pair[1][some] == 1)[0])
        low, high = self.found.measures.auroc_interval
        assert high - low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.15)


def test_measure_of_a_few_rows_in_blocks_finds_what_the_library_does() -> None:
    """They have no line, so there are two binnings, and each lower end fails half as often."""
    data = of_patients(20, 2)
    data = taken(data, np.arange(len(data["label"])) < 38)
    found = report(data, blocks="patient", cross_fit=0).measures
    assert found.line is None
    ends = [
        calibration_error_interval(
            data["score"], data["label"], level=level, strategy=strategy, blocks=data["patient"]
        )
        for level in (0.975, 0.95)
        for strategy in ("uniform", "quantile")
    ]
    expected = max(low for low, _ in ends[:2]), max(high for _, high in ends[2:])
    assert found.error == pytest.approx(expected, abs=1e-9)


def test_measure_knows_that_a_hard_patient_is_hard_in_all_bins() -> None:
    """Where all scores are too high, the error is the mean gap, and so is its noise."""
    rng = np.random.default_rng(2)
    patient = np.repeat(np.arange(40), 60)
    odds = rng.normal(0, 2, 2_400)
    luck = rng.normal(0, 1, 40)[patient]
    label = (rng.random(2_400) < expit(odds + luck)).astype(int)
    score = expit(odds + 1.5)
    found = report({"score": score, "label": label, "p": patient}, blocks="p", cross_fit=0)
    of_gap = np.ptp(paired_difference(score, label, blocks=patient).interval())
    assert np.ptp(found.measures.error) > 0.9 * of_gap
    index = uniform_index(score, 15, "float64")
    noise = block_noise(score, label == 1, index, patient, np.random.default_rng(0), 2_000)
    ends = root_ends_of_noise(noise, 0.95)
    assert found.measures.debiased_interval == pytest.approx(ends, abs=1e-4)


def test_measure_has_a_baseline_of_calibrated_blocks() -> None:
    drawn = [copies(400, 5, seed=k) for k in range(100)]
    eces = [expected_calibration_error(each["score"], each["label"]) for each in drawn]
    found = report(drawn[0], blocks="race", cross_fit=0).measures.baseline_ece
    assert found.mean == pytest.approx(np.mean(eces), rel=0.15)
    assert found.high == pytest.approx(np.quantile(eces, 0.95), rel=0.15)


def test_measure_has_a_baseline_of_calibrated_rows_with_weights() -> None:
    score = np.random.default_rng(0).beta(2, 3, 2_000)
    rng, weight = np.random.default_rng(1), np.arange(2_000) % 4 + 1.0
    labels = [(rng.random(2_000) < score).astype(int) for _ in range(200)]
    weighed = [as_predictions(score, each, sample_weight=weight) for each in labels]
    eces = [expected_calibration_error(each) for each in weighed]
    data = {"score": score, "label": labels[0], "w": weight}
    found = report(data, weight="w", cross_fit=0).measures.baseline_ece
    assert found.mean == pytest.approx(np.mean(eces), rel=0.1)
    assert found.high == pytest.approx(np.quantile(eces, 0.95), rel=0.1)


def test_measure_takes_blocks_of_one_row_for_none() -> None:
    data = of_patients(400, 1)
    alone = data | {"row": np.arange(len(data["label"]))}
    found, none = (
        report(alone, group="ward", cross_fit=3, **more) for more in ({"blocks": "row"}, {})
    )
    for name in ("predicted", "happened", "effective", "auroc", "ece", "debiased", "nll", "brier"):
        expected = getattr(none.measures, name)
        assert getattr(found.measures, name) == pytest.approx(expected, rel=1e-6, abs=1e-6), name
    for name in ("error", "auroc_interval", "debiased_interval"):
        expected = getattr(none.measures, name)
        assert getattr(found.measures, name) == pytest.approx(expected, abs=0.012), name
    for one, other in zip(found.groups["ward"], none.groups["ward"], strict=True):
        # Without blocks the error is that of a calibrated model at least.
        assert one.interval == pytest.approx(other.interval, abs=3e-3)
    assert found.recalibrators is not None
    assert none.recalibrators is not None
    platt = [
        next(one.gain for one in tried.recalibrators.found if one.name == "PlattScaling")
        for tried in (found, none)
    ]
    assert platt[0] == pytest.approx(platt[1], abs=0.02)


def test_measure_takes_copies_for_no_evidence() -> None:
    """Without blocks each of these reports finds an error, where there is none."""
    alone, in_blocks = (
        [report(copies(seed=k), cross_fit=0, **more).verdict.overall for k in range(5)]
        for more in ({}, {"blocks": "race"})
    )
    assert alone.count("beyond") == 5
    assert in_blocks.count("beyond") == 0


def test_measure_debiases_by_pairs_of_different_blocks() -> None:
    """Of copies it is that of the races; the interval is not that of the rows."""
    data = copies(200, 10)
    found = report(data, blocks="race", cross_fit=0).measures
    single = report(taken(data, slice(None, None, 10)), cross_fit=0).measures
    assert found.debiased == pytest.approx(single.debiased, abs=1e-6)
    rows = debiased_calibration_error_interval(data["score"], data["label"])
    assert np.ptp(found.debiased_interval) > 1.5 * np.ptp(rows)
