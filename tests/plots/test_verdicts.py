"""Intervals of claims, one in each row."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from calib_utils.comparing import judge
from calib_utils.plots import (
    BLUE,
    GREY,
    verdict_plot,
)
from tests.run_cases import CALIBRATED, CLAIMS, OVERCONFIDENT


class TestVerdictPlot:
    def test_an_interval_a_row_in_points(self):
        verdicts = judge([*CALIBRATED, *OVERCONFIDENT], CLAIMS)
        axes = verdict_plot(verdicts)
        assert list(axes) == ["ece", "error"]
        for one in verdicts:
            ax = axes[one.metric]
            interval, middle, _ = ax.lines
            assert interval.get_xdata() == pytest.approx(100 * np.array(one.difference.interval()))
            assert middle.get_xdata() == pytest.approx(100 * one.difference.mean)
            assert middle.get_marker() == {"higher": ">", "lower": "<"}[one.claimed]
            assert middle.get_color() == {"holds": BLUE, "undecided": GREY}[one.outcome]
            assert [text.get_text() for text in ax.texts] == [one.outcome]
        assert [x.get_text() for x in axes["error"].get_yticklabels()] == ["layers: 8 to 56"]

    def test_what_is_no_percentage_is_left_out(self):
        runs = [*CALIBRATED, *OVERCONFIDENT]
        claims = [("depth", 8, 56, metric, "lower") for metric in ("nll", "ece")]
        assert list(verdict_plot(judge(runs, claims))) == ["ece"]
        plt.close("all")
        with pytest.raises(ValueError, match="verdicts: expected at least one on an error"):
            verdict_plot(judge(runs, claims[:1]))
        assert plt.get_fignums() == []
