"""The benchmark of blocks: what the course says of it, and what it draws."""

import numpy as np

from benchmarks import blocks as benchmark
from benchmarks.tables import stored
from calib_utils.metrics import cox_line
from calib_utils.records import load_outcomes

WAYS = ("with blocks", "as if independent")


def test_the_stored_results_say_what_docstrings_say():
    found = stored("blocks")["false_findings"]
    of_slope = [f"{max(rates[f'slope, {way}'] for rates in found):.0%}" for way in WAYS]
    said = " ".join(str(cox_line.__doc__).split())
    assert "up to {} of the sets, and without blocks in up to {}.".format(*of_slope) in (
        said.replace(" %", "%")
    )


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
