"""The temperatures of the page of benchmarks, computed again, and beside scikit-learn's own."""

import numpy as np
import pytest

from benchmarks import rounding as benchmark
from benchmarks.tables import stored
from calib_utils.records import load_record
from tests.recalibration.recalibration_cases import multiclass


def test_both_libraries_agree_where_nothing_is_rounded():
    logits, labels = multiclass(2_000, 8, temperature=1.5, dtype=np.float64)
    rows = {row["form"]: row for row in benchmark.measure(logits, labels)}
    assert list(rows) == ["logits", "float64", "float32", "4 digits", "3 digits"]
    for form in ("logits", "float64"):
        assert rows[form]["zeros"] == 0
        assert rows[form]["ours"] == pytest.approx(rows[form]["scikit-learn"], rel=1e-3)
        assert rows[form]["ours"] == pytest.approx(1.5, rel=0.1)
    assert rows["3 digits"]["zeros"] > rows["4 digits"]["zeros"] > 0


def test_what_the_page_shows_is_what_the_records_give():
    results = stored("rounding")
    assert list(results["networks"]) == list(benchmark.RECORDS)
    for rows in results["networks"].values():
        of_logits, *others = (row["ours"] for row in rows if "digits" not in row["form"])
        assert others == pytest.approx([of_logits] * 2, rel=1e-3)
    name = "lenet5-cifar100"  # the others take longer
    record = load_record(name, "validation")
    found = benchmark.measure(record.logits, record.labels)
    for row, expected in zip(found, results["networks"][name], strict=True):
        assert row.pop("form") == expected.pop("form")
        assert row == pytest.approx(expected, rel=1e-3)


def test_rows_that_do_not_sum_to_one_are_no_logits():
    """Which scikit-learn would take them for, and find another temperature."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(500, 20)) * 3
    given = benchmark.forms(logits, np.zeros(500, int))["4 digits"]
    np.testing.assert_allclose(given.array.sum(axis=1), 1, rtol=1e-12)
