"""Weights of rows in a report: as repeated rows, as none, and as what they do to the noise."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy.special import expit

from calib_audit import Report, compare_reports, report
from calib_audit.bin_sums import BinSums, tally
from calib_audit.parts import control, gap_of
from calib_utils.comparing.pairs import paired_difference
from calib_utils.metrics import (
    calibration_error_interval,
    cox_line,
    debiased_calibration_error_interval,
)
from calib_utils.predictions import as_predictions
from tests.calib_audit import taken

N = 3_000
RNG = np.random.default_rng(0)
TIMES = RNG.integers(1, 5, N)
ASKED: dict[str, Any] = {"group": "plan", "time": "day:D"}


def columns(n: int = N, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    return {
        "score": score,
        "label": (rng.random(n) < score**1.3).astype(int),
        "plan": rng.choice(["a", "b", "c"], n),
        "day": np.datetime64("2026-06-01") + rng.integers(4, size=n),
    }


def of_classes() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), N)
    label = (probs.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1)
    classes = {f"prob_{k}": probs[:, k] for k in range(3)}
    return {**classes, "label": label, "plan": columns()["plan"], "day": columns()["day"]}


def in_folder(folder: Path, data: dict[str, np.ndarray]) -> Path:
    folder.mkdir()
    for k in range(3):
        parquet.write_table(pa.table(taken(data, np.arange(k, N, 3))), folder / f"{k}.parquet")
    return folder


def points_of(found: Report) -> list[float]:
    """All estimates that do not speak of chance."""
    m = found.measures
    line = [] if m.line is None else [m.line.slope, m.line.intercept]
    parts = [part for each in (found.classes, *found.groups.values()) for part in each]
    points = [m.predicted, m.happened, m.ratio, m.ece, m.auroc, m.nll, m.brier, m.accuracy]
    points += [*line, *m.decomposition]
    points += [number for part in parts for number in (part.predicted, part.happened, part.gap)]
    points += [number for span in found.times for number in (span.expected, span.happened)]
    return points if found.costs is None else [*points, *found.costs.curve, *found.costs.lowest]


@pytest.mark.parametrize("data", [columns(), of_classes()], ids=["score", "classes"])
def test_whole_weights_are_repeated_rows(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    options = ASKED | ({"prices": (1.0, 3.0)} if "score" in data else {})
    found = report(data | {"w": 3.7 * TIMES}, weight="w", cross_fit=0, **options)
    repeated = report(taken(data, np.repeat(np.arange(N), TIMES)), cross_fit=0, **options)
    assert points_of(found) == pytest.approx(points_of(repeated), rel=1e-8, abs=1e-10)
    m = found.measures
    assert m.n == N
    assert m.effective == pytest.approx(TIMES.sum() ** 2 / (TIMES**2).sum())
    low, high = m.error
    assert low < repeated.measures.error[0] < repeated.measures.error[1] < high
    data = data | {"w": 3.7 * TIMES}
    files = report(in_folder(tmp_path / "files", data), weight="w", cross_fit=0, **options)
    assert files.measures == m  # bit for bit
    assert files.times == found.times


@pytest.mark.parametrize("data", [columns(), of_classes()], ids=["score", "classes"])
def test_equal_weights_are_none(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    expected = json.loads(report(data, cross_fit=2, **ASKED).json())
    weighted = data | {"w": np.full(N, 0.3)}
    for given in (weighted, in_folder(tmp_path / "files", weighted)):
        found = json.loads(report(given, weight="w", cross_fit=2, **ASKED).json())
        assert "all weights are equal, so each row counts once" in found["read"]
        for numbers in (found, expected):
            for name in ("read", "facts"):
                numbers.pop(name, None)
        assert found == expected


def test_rows_of_weight_zero_do_not_count() -> None:
    data, weights = columns(), TIMES - 1.0
    found = report(data | {"w": weights}, weight="w", cross_fit=0)
    held = weights > 0
    expected = report(taken(data, held) | {"w": weights[held]}, weight="w", cross_fit=0)
    assert found.measures == expected.measures
    assert f"{(~held).sum():,} rows have a weight of 0 and do not count" in found.read


def test_one_heavy_row_leaves_the_others_and_tells_little() -> None:
    data = columns(20_000)
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


def test_what_is_wrong_where_the_weight_lies_is_found() -> None:
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
    assert found.recalibrators is not None
    assert found.recalibrators.best is not None
    after = found.recalibrators.best.predict_proba(score)
    gap = np.average(after - label, weights=data["w"])
    assert abs(gap) < 0.01


def test_of_many_rows_all_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calibration methods use whole rows that were kept, with their weights."""
    data = columns(8_000) | {"w": np.random.default_rng(1).lognormal(0, 1, 8_000)}
    whole = report(data, weight="w", cross_fit=2)
    for module in ("lots", "totals"):
        monkeypatch.setattr(f"calib_audit.{module}.MOST_DRAWN", 3_000)
    found = report(data, weight="w", cross_fit=2)
    assert any("a random sample of 3,000 whole rows" in line for line in found.read)
    for name in ("n", "effective", "ece", "nll", "brier", "accuracy", "z"):
        assert getattr(found.measures, name) == getattr(whole.measures, name)
    assert found.measures.error == pytest.approx(whole.measures.error, abs=0.004)
    assert whole.measures.line is not None
    assert found.measures.line is not None
    low, high = found.measures.line.slope_interval
    assert low < whole.measures.line.slope < high


def test_reports_with_weights_are_compared(tmp_path: Path) -> None:
    paths = []
    for seed in range(2):
        data = columns(20_000, seed) | {"w": np.random.default_rng(seed).lognormal(0, 1, 20_000)}
        found = report(data, weight="w", cross_fit=0, group="plan")
        paths.append(tmp_path / f"{seed}.json")
        found.write(json=paths[-1])
    changes = compare_reports(*paths)
    assert changes.found[0].n == (20_000, 20_000)
    assert {change.outcome for change in changes.found} <= {"within", "undecided"}
    later = report(data, weight="w", cross_fit=0, time="day:D", baseline=paths[0])
    assert not any(span.alarm for span in later.times)
    assert any(span.alarm for span in report(data, weight="w", cross_fit=0, time="day:D").times)


def lognormal(seed: int, n: int = 1_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions 0.15 too high in log-odds, and weights of which a few make up most."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(0, 1.5, n)
    chances = expit(log_odds - 0.15)
    return expit(log_odds), (rng.random(n) < chances).astype(int), rng.lognormal(0, 1, n)


def test_intervals_hold_the_truth_with_lognormal_weights() -> None:
    log_odds = np.linspace(-8, 8, 40_001)
    density = np.exp(-((log_odds / 1.5) ** 2) / 2)
    excess = density / density.sum() * (expit(log_odds) - expit(log_odds - 0.15))
    index = np.minimum(expit(log_odds) * 15, 14).astype(int)
    gaps, parts = np.bincount(index, excess), np.bincount(index, density / density.sum())
    error, root = np.abs(gaps).sum(), np.sqrt((gaps**2 / parts).sum())
    held = []
    for seed in range(200):
        probs, labels, weights = lognormal(seed)
        given = as_predictions(probs, labels, sample_weight=weights)
        line = cox_line(given)
        gap = gap_of(BinSums(tally(probs, labels == 1, np.zeros(1_000, int), 1, weights)))
        ends = [
            (line.slope_interval, 1.0),
            (line.intercept_interval, -0.15),
            ((gap.gap - 1.96 * gap.error, gap.gap + 1.96 * gap.error), -error),
        ]
        if seed < 40:  # which are slow, and cautious
            ends.append((calibration_error_interval(given), error))
            ends.append((debiased_calibration_error_interval(given), root))
        held.append([low <= truth <= high for (low, high), truth in ends])
    assert np.mean([each[:3] for each in held], axis=0).min() > 0.905  # three deviations below 95 %
    assert np.mean(held[:40], axis=0)[3:].min() > 0.9


def downsampled(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibrated scores, of whose negatives one in twenty was kept, with a weight of twenty."""
    rng = np.random.default_rng(seed)
    score = expit(rng.normal(-3, 1, 20_000))
    label = (rng.random(20_000) < score).astype(int)
    kept = (label == 1) | (rng.random(20_000) < 1 / 20)
    return score[kept], label[kept], np.where(label == 1, 1.0, 20.0)[kept]


def test_negatives_may_have_been_left_out() -> None:
    """What is wrong by chance is told by the positives, of which all are there."""
    of_days, slopes, ratios = [], [], []
    for seed in range(80):
        score, label, weights = downsampled(seed)
        given = as_predictions(score, label, sample_weight=weights)
        sums = tally(score, label == 1, (score * 15).astype(int), 15, weights / 20)
        of_days.append(control({"a": BinSums(sums)})[0].z)
        low, high = cox_line(given).slope_interval
        slopes.append(low <= 1 <= high)
        ratios.append((weights @ label) / (weights @ score))
    assert abs(np.mean(of_days)) < 0.35
    assert 0.8 < np.std(of_days) < 1.2
    assert np.mean(slopes) > 0.88
    score, label, weights = downsampled(0)
    found = report({"score": score, "label": label, "w": weights}, weight="w", cross_fit=0)
    low, high = found.measures.ratio_interval
    assert (high - low) / (2 * 1.96) == pytest.approx(np.std(ratios), rel=0.2)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(10, -1), "expected weights of 0 or more"),
        (np.zeros(10), "expected a weight above 0, found none"),
        (np.append(np.ones(9), 1e10), "of at least a billionth of the largest, 1e.10, found 1;"),
    ],
)
def test_weights_that_cannot_count(weights: np.ndarray, message: str) -> None:
    data = taken(columns(), np.arange(10))
    with pytest.raises(ValueError, match=f"^w: .*{message}"):
        report(data | {"w": weights}, weight="w")


@pytest.mark.parametrize("both", [cox_line, calibration_error_interval])
def test_weights_and_blocks_exclude_each_other(both: Any) -> None:
    probs, labels, weights = lognormal(0, 100)
    given = as_predictions(probs, labels, sample_weight=weights)
    with pytest.raises(ValueError, match=r"^sample_weight: expected none"):
        both(given, blocks=np.arange(100) // 5)
    with pytest.raises(ValueError, match=r"^sample_weight: expected without blocks"):
        paired_difference(probs, labels, sample_weight=weights, blocks=np.arange(100) // 5)


def test_reports_of_weighted_rows_of_others_and_in_other_bins_are_compared() -> None:
    rng = np.random.default_rng(5)
    scores = rng.random((2, N))
    labels = (rng.random((2, N)) < scores).astype(int)
    plain, other = ({"score": s, "label": y} for s, y in zip(scores, labels, strict=True))
    expected = compare_reports(report(plain, cross_fit=0), report(other, cross_fit=0))
    twos = report(
        plain | {"w": np.where(np.arange(N) < N // 2, 2.0, 2.000001)}, weight="w", cross_fit=0
    )
    for first in (twos, report(plain, n_bins=10, cross_fit=0)):
        (found,) = compare_reports(first, report(other, cross_fit=0)).found
        assert found.change == pytest.approx(expected.found[0].change, abs=1e-6)
        assert found.interval == pytest.approx(expected.found[0].interval, abs=1e-4)
        assert found.outcome == expected.found[0].outcome
