"""Overconfidence against the generalisation gap."""

import dataclasses

import numpy as np
import pytest

from calib_utils.plots import generalization_plot
from tests.run_cases import CALIBRATED, OVERCONFIDENT


class TestGeneralizationPlot:
    def test_a_dot_for_each_run_and_a_sign_for_each_grid(self):
        history = {"history": [{"train_accuracy": 0.95}]}
        runs = [dataclasses.replace(run, **history) for run in (*CALIBRATED, *OVERCONFIDENT)]
        runs[3:] = [dataclasses.replace(run, grid="width") for run in runs[3:]]
        drawn = generalization_plot(runs)
        assert {grid: len(dots) for grid, dots in drawn.dots.items()} == {"depth": 3, "width": 3}
        marked = [line for line in drawn.ax.lines if line.get_marker() != "None"]
        assert len({line.get_marker() for line in marked}) == 2
        for line, group in zip(marked, (runs[:3], runs[3:]), strict=True):
            expected = [
                [95 - 100 * r.correct.mean(), 100 * (r.confidences.mean() - r.correct.mean())]
                for r in group
            ]
            assert line.get_xydata() == pytest.approx(np.array(expected), abs=1e-4)
        assert [x.get_text() for x in drawn.ax.get_legend().get_texts()] == ["depth", "width"]

    def test_no_run(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            generalization_plot([])
