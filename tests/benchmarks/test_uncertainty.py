"""The benchmark of interval, baseline and smooth error, on a few predictions."""

import pytest

from benchmarks import uncertainty as benchmark
from calib_utils.metrics import expected_calibration_error


def test_its_plain_ece_is_the_ece():
    probs, labels = benchmark.predictions(500)
    expected = expected_calibration_error(probs, labels)
    assert benchmark.plain_ece(probs, labels) == pytest.approx(expected, abs=1e-12)


def test_measures_all_and_writes_what_the_page_reads():
    tables = benchmark.measure_all(samples=400, many=2_000, draws=200, rounds=1)
    interval, baseline, smooth, large, diagram = tables.values()
    by_name = {row["name"]: row["result"] for row in (*interval, *baseline)}
    bootstrap = by_name["scipy.stats.bootstrap, percentile"]
    assert by_name["NumPy loop, percentile bootstrap"] == pytest.approx(bootstrap, abs=0.01)
    low, high = by_name["calib_utils, an interval that covers"]
    assert low == 0 < high
    assert by_name["calib_utils"] == pytest.approx(by_name["NumPy loop"], abs=0.01)
    assert all(len(row["result"]) == 1 for row in smooth)
    assert [len(row["result"]) for row in large + diagram] == [
        *(2, len(baseline[0]["result"])),
        *(1, 1, 0, 0),
    ]
    for rows in tables.values():
        assert all(row["ms"] > 0 for row in rows)
        assert rows[0]["ratio"] == 1
