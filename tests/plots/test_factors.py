"""A panel for each metric, with a dot for each run."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from calib_utils.metrics import expected_calibration_error
from calib_utils.plots import factor_panels
from tests.run_cases import CALIBRATED, OVERCONFIDENT


class TestFactorPlot:
    def test_a_dot_for_each_seed_and_a_line_through_the_means(self):
        drawn, below = factor_panels([*OVERCONFIDENT, *CALIBRATED])
        assert drawn.levels == [8, 56]
        groups = [CALIBRATED, OVERCONFIDENT]
        expected = {
            (float(place), round(100 * r.error, 6))
            for place, runs in enumerate(groups)
            for r in runs
        }
        (line,) = [x for x in drawn.ax.lines if x.get_marker() == "None"]
        dots = {tuple(xy) for x in drawn.ax.lines if x is not line for xy in x.get_xydata()}
        assert {(place, round(dot, 6)) for place, dot in dots} == expected
        means = [100 * np.mean([r.error for r in runs]) for runs in groups]
        assert line.get_ydata() == pytest.approx(means)
        assert [x.get_text() for x in below.ax.get_xticklabels()] == ["8", "56"]

    def test_the_ece_has_its_baseline(self):
        drawn = factor_panels([*CALIBRATED, *OVERCONFIDENT])[1]
        _, baseline = [x for x in drawn.ax.lines if x.get_marker() == "None"]
        for found, runs in zip(baseline.get_ydata(), (CALIBRATED, OVERCONFIDENT), strict=True):
            rng, eces = np.random.default_rng(1), []
            for run in runs:
                said = run.confidences.astype(float)
                for _ in range(100):
                    right = (rng.random(len(said)) < said).astype(int)
                    eces.append(100 * expected_calibration_error(said, right))
            assert found == pytest.approx(np.mean(eces), rel=0.06)

    def test_a_grid_that_is_not_complete(self):
        drawn = factor_panels([*CALIBRATED, OVERCONFIDENT[0]])[0]
        assert [len(x) for x in drawn.dots.values()] == [3, 1]

    def test_panels_are_the_error_and_the_ece(self):
        error, ece = factor_panels([*CALIBRATED, *OVERCONFIDENT])
        assert error.ax.figure is ece.ax.figure
        assert ece.ax.get_ylim()[0] == 0
        assert ece.ax.get_xlabel() == "Layers"
        assert ece.ax.get_legend() is None

    def test_a_seed_has_the_same_sign_everywhere_which_the_legend_names(self):
        runs = [*CALIBRATED, *OVERCONFIDENT]
        error, ece = factor_panels(runs)
        (legend,) = error.ax.figure.legends
        names = [text.get_text() for text in legend.get_texts()]
        signs = [handle.get_marker() for handle in legend.legend_handles]
        seeds = sorted({run.seed for run in runs})
        assert names == [f"Seed {seed}" for seed in seeds]
        assert len(set(signs)) == len(seeds)
        for panel, metric in ((error, "error"), (ece, "ece")):
            for seed, sign in zip(seeds, signs, strict=True):
                drawn = [
                    x for x in panel.ax.lines if x.get_marker() == sign and x.get_xydata().size
                ]
                values = {round(float(x.get_ydata()[0]), 6) for x in drawn}
                assert values == {
                    round(100 * getattr(r, metric), 6) for r in runs if r.seed == seed
                }

    def test_nothing_is_drawn_of_no_runs(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            factor_panels([])
        assert plt.get_fignums() == []
