"""The benchmark of blocks: what the course says of it, and what it draws."""

import numpy as np

from benchmarks import blocks as benchmark
from benchmarks.tables import stored
from calib_utils.records import load_outcomes


def test_the_stored_results_say_what_the_course_says():
    results = stored("blocks")
    assert len(results["cases"]) == len(benchmark.CASES)
    by_name = {
        name: [row["coverage"] for row in results["rows"] if row["name"] == name]
        for name in (benchmark.WITH, benchmark.WITHOUT, benchmark.PERCENTILE)
    }
    assert min(by_name[benchmark.WITH]) > 0.93  # of 200 sets each: some are lower by chance
    assert min(by_name[benchmark.WITHOUT]) == min(by_name[benchmark.PERCENTILE]) == 0
    rates = results["false_findings"]
    assert max(rate["ECE, with blocks"] for rate in rates) < 0.05
    assert max(rate["z, with blocks"] for rate in rates) <= 0.08  # as the docstrings say
    assert max(rate["slope, with blocks"] for rate in rates) < 0.07
    assert max(rate["slope, as if independent"] for rate in rates) == 0.95
    assert max(rate["paired difference, with blocks"] for rate in rates) < 0.09
    assert min(rate["ECE, as if independent"] for rate in rates[1:2]) > 0.9


def test_the_benchmark_draws_what_it_says():
    probs, labels, blocks = benchmark.draw_set(
        (200, 30, 1.0, True, 0.0), 0.07, np.linspace(0.05, 0.99, 999), np.random.default_rng(0)
    )
    assert len(probs) == len(labels) == 6_000
    assert np.bincount(blocks).tolist() == [30] * 200
    means = np.bincount(blocks, labels) / 30
    assert set(means) == {0, 1}  # surprising as a whole
    sizes = np.bincount(benchmark.blocks_of_sizes(96, 156, None, np.random.default_rng(0)))
    assert len(sizes) == 96
    assert sizes.sum() == len(load_outcomes("senate").prob)
    found = benchmark.measure(benchmark.CASES[0], 0.0, 3)
    assert [row["coverage"] for row in found][::2] == [1, 0]
    rates = benchmark.false_findings(benchmark.CASES[0], 3)
    assert all(0 <= rate <= 1 for rate in rates.values())
