"""Rows of a report that belong together: what it says of them follows from their blocks."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy.special import expit
from scipy.stats import t as student

from calib_audit import Report, compare_reports, report
from calib_audit.bin_sums import sums_of_blocks
from calib_audit.measures import auroc_of
from calib_audit.parts import gap_of, judge_parts
from calib_audit.recalibrators import _folds_of
from calib_audit.rows import Rows
from calib_utils.comparing.pairs import paired_difference
from calib_utils.metrics import (
    calibration_error_interval,
    calibration_test,
    cox_line,
    debiased_calibration_error_interval,
    expected_calibration_error,
)
from calib_utils.metrics.bins import uniform_index
from calib_utils.metrics.noise import block_noise, root_ends_of_noise
from tests.calib_audit import taken


def of_patients(n: int = 60, visits: int = 12, seed: int = 0, shift: float = 0.0) -> dict[str, Any]:
    """Calibrated but for the shift; the visits of a patient have much in common."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n), rng.integers(1, 2 * visits, n))
    of_patient = rng.normal(0, 2, n)[patient]  # what the model knows
    luck = rng.normal(0, 1.5, n)[patient]  # and what it does not
    chances = expit(of_patient[:, None] + rng.normal(0, 1.5, (1, 2_000)))
    label = (rng.random(len(patient)) < expit(of_patient + luck)).astype(int)
    score = expit(np.log(chances.mean(axis=1) / (1 - chances.mean(axis=1))) + shift)
    return {
        "score": score,
        "label": label,
        "patient": np.char.add("p", patient.astype(str)),
        "ward": np.array(["east", "west"])[patient % 2],
    }


def copies(n: int = 100, times: int = 20, seed: int = 0) -> dict[str, Any]:
    """Calibrated forecasts, each repeated."""
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    label = (rng.random(n) < score).astype(int)
    race = np.repeat(np.arange(n), times)
    return {"score": score[race], "label": label[race], "race": race}


class TestMeasures:
    data = of_patients()
    found = report(data, blocks="patient", group="ward", cross_fit=0)
    pair = data["score"], data["label"]

    def test_they_are_those_of_the_metrics_with_blocks(self) -> None:
        m = self.found.measures
        blocks = self.data["patient"]
        assert m.line is not None
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

    def test_the_sentence_and_the_table_tell_the_blocks(self) -> None:
        m = self.found.measures
        assert f"in {m.blocks} blocks, worth {m.effective:.0f} of equal size" in (
            self.found.verdict.sentence
        )
        assert "'patient': rows that belong together" in self.found.read
        assert f"blocks{m.blocks:>47}" in self.found.text()


def test_the_gap_of_equal_blocks_is_as_noisy_as_a_bin_of_them() -> None:
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 4)
    score, one = rng.random(120), np.zeros(120, np.intp)
    correct = rng.random(120) < score
    found = gap_of(sums_of_blocks(score, correct, one, 1, patient), in_blocks=True)
    noise = block_noise(score, correct, one, patient, rng, 10)
    assert found.error == pytest.approx(noise.measured[0], rel=1e-9)


def test_of_few_rows_the_error_is_that_of_the_metrics() -> None:
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


def test_a_patient_that_is_hard_is_hard_in_all_bins() -> None:
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


def test_the_baseline_is_the_ece_of_calibrated_races() -> None:
    drawn = [copies(400, 5, seed=k) for k in range(100)]
    eces = [expected_calibration_error(each["score"], each["label"]) for each in drawn]
    found = report(drawn[0], blocks="race", cross_fit=0).measures.baseline_ece
    assert found.mean == pytest.approx(np.mean(eces), rel=0.15)
    assert found.high == pytest.approx(np.quantile(eces, 0.95), rel=0.15)


def test_blocks_of_one_row_are_none() -> None:
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


def test_copies_are_no_evidence() -> None:
    """Without blocks each of these reports finds an error, where there is none."""
    alone, in_blocks = (
        [report(copies(seed=k), cross_fit=0, **more).verdict.overall for k in range(5)]
        for more in ({}, {"blocks": "race"})
    )
    assert alone.count("beyond") == 5
    assert in_blocks.count("beyond") == 0


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_groups_of_calibrated_patients_are_rarely_beyond(share: float) -> None:
    """Of 300 reports with two wards each; the visits have nothing or everything in common."""
    beyond = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        patient = np.repeat(np.arange(40), 8)
        parts = {}
        for ward in ("east", "west"):
            score = rng.random(40)[patient]
            luck = np.where(
                rng.random(40)[patient] < share, rng.random(40)[patient], rng.random(320)
            )
            one = np.zeros(320, np.intp)
            parts[ward] = sums_of_blocks(score, luck < score, one, 1, patient)
        beyond += any(part.outcome == "beyond" for part in judge_parts(parts, 0.0))
    assert beyond / 300 < 0.08


def test_classes_are_judged_by_their_blocks() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 60)
    label = (probs.cumsum(axis=1) < rng.random((60, 1))).sum(axis=1)
    video = np.repeat(np.arange(60), 25)
    data = {"prob": probs[video], "label": label[video], "video": video}
    found, rows = report(data, blocks="video", cross_fit=0), report(data, cross_fit=0)
    for one, other, k in zip(found.classes, rows.classes, range(3), strict=True):
        apart = paired_difference(probs[:, k], label == k)
        half = (one.interval[1] - one.interval[0]) / 2
        assert one.gap == pytest.approx(other.gap, abs=1e-8)
        assert half == pytest.approx(student.ppf(0.975, 59) * apart.standard_error, rel=0.06)
    assert found.measures.accuracy == pytest.approx(rows.measures.accuracy)
    assert found.measures.error[0] == 0


class TestRecalibrators:
    def test_no_block_is_in_two_folds(self) -> None:
        blocks: Any = SimpleNamespace(codes=np.repeat(np.arange(30), 7))
        rows = Rows(np.zeros(210), None, np.zeros(210, np.int64), {}, None, None, blocks=blocks)
        fold_of = _folds_of(rows, 5)
        folds = {(int(block), int(fold)) for block, fold in zip(blocks.codes, fold_of, strict=True)}
        assert len(folds) == 30
        assert sorted(set(fold_of.tolist())) == [0, 1, 2, 3, 4]

    def test_what_is_learned_of_copies_helps_nobody(self) -> None:
        """An isotonic map learns the outcomes of the races by heart."""
        helped = [
            found.recalibrators is not None and found.recalibrators.best is not None
            for found in (report(copies(60), **more) for more in ({}, {"blocks": "race"}))
        ]
        assert helped == [True, False]

    def test_other_rows_for_the_fit_need_no_blocks(self) -> None:
        others = {name: of_patients(200, seed=9)[name] for name in ("score", "label")}
        found = report(of_patients(), blocks="patient", fit=others)
        assert found.recalibrators is not None
        assert found.recalibrators.how.startswith(f"fitted on {len(others['label']):,} other rows")

    def test_the_gain_is_judged_by_blocks(self) -> None:
        data = of_patients(200, 12, shift=0.4)
        rows, found = (report(data, **more) for more in ({}, {"blocks": "patient"}))
        assert found.recalibrators is not None
        assert rows.recalibrators is not None
        widths = [
            {one.name: one.interval[1] - one.interval[0] for one in each.recalibrators.found}
            for each in (found, rows)
        ]
        assert widths[0]["PlattScaling"] > 1.3 * widths[1]["PlattScaling"]


def numbers(found: Report) -> dict[str, Any]:
    known = json.loads(found.json())
    return {name: known[name] for name in known if name not in ("read", "facts")}


def test_any_order_and_any_files_give_the_same_report(tmp_path: Path) -> None:
    data = of_patients()
    order = np.random.default_rng(1).permutation(len(data["label"]))
    for k in range(3):
        parquet.write_table(pa.table(taken(data, order[k::3])), tmp_path / f"{k}.parquet")
    asked = {"blocks": "patient", "group": "ward", "cross_fit": 3}
    first = numbers(report(data, **asked))
    assert numbers(report(taken(data, order), **asked)) == first
    assert numbers(report(tmp_path, **asked)) == first


def test_rows_that_differ_in_their_block_alone_stay_apart() -> None:
    """What is kept of equal rows is one of them, and how often it came up."""
    label, video = np.tile([0, 1], 300), np.repeat(np.arange(30), 20)
    found = report({"score": np.full(600, 0.5), "label": label, "video": video}, blocks="video")
    assert found.measures.blocks == 30


class TestRefusals:
    data = of_patients()

    def test_too_few_blocks(self) -> None:
        with pytest.raises(
            ValueError, match=r"^blocks: expected at least 10 of equal size, found 2"
        ):
            report(self.data, blocks="ward")

    def test_a_missing_name(self) -> None:
        patient = self.data["patient"].astype(object)
        patient[5] = None
        with pytest.raises(ValueError, match=r"^patient: expected a value in each row, found none"):
            report(self.data | {"patient": patient}, blocks="patient")

    def test_too_many_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("calib_audit.lots._MOST_CELLS", 100)
        with pytest.raises(ValueError, match=r"^blocks: expected so few rows that all can be kept"):
            report(self.data, blocks="patient")

    def test_more_rows_than_are_kept_of_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Blocks are judged by all of their rows, and calibration methods fitted on some."""
        whole = report(self.data, blocks="patient", cross_fit=2)
        for module in ("lots", "totals", "building"):
            monkeypatch.setattr(f"calib_audit.{module}.MOST_DRAWN", 200)
        found = report(self.data, blocks="patient", cross_fit=2)
        assert found.measures == whole.measures
        assert found.recalibrators is not None
        assert found.recalibrators.how == "cross-fitted in 2 folds of 200 rows"

    def test_changes_from_month_to_month(self) -> None:
        found, other = (report(of_patients(seed=k), cross_fit=0) for k in range(2))
        in_blocks = report(self.data, blocks="patient", cross_fit=0)
        assert compare_reports(found, other).found
        with pytest.raises(ValueError, match="found one of rows in blocks"):
            compare_reports(found, in_blocks)


def test_the_debiased_error_takes_pairs_of_different_blocks() -> None:
    """Of copies it is that of the races; the interval is not that of the rows."""
    data = copies(200, 10)
    found = report(data, blocks="race", cross_fit=0).measures
    single = report(taken(data, slice(None, None, 10)), cross_fit=0).measures
    assert found.debiased == pytest.approx(single.debiased, abs=1e-6)
    rows = debiased_calibration_error_interval(data["score"], data["label"])
    assert np.ptp(found.debiased_interval) > 1.5 * np.ptp(rows)
