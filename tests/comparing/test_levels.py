"""The table of the levels of a factor."""

import numpy as np
import pytest

from calib_utils.comparing import level_table
from calib_utils.metrics import baseline_calibration_error
from tests.run_cases import record


class TestLevelTable:
    def history(self, accuracy: float) -> dict:
        return {"history": [{"train_accuracy": 0.1}, {"train_accuracy": accuracy}]}

    def test_mean_and_deviation_of_each_level(self):
        runs = [
            record(level, seed, 0.1, temperature=1.5 + seed / 10, **self.history(0.5 + seed / 10))
            for level in (56, 8)
            for seed in range(2)
        ]
        head, _, *rows = level_table(runs).splitlines()
        assert head.startswith(
            "| layers | test error, % | ECE, % | baseline, % | overconfidence, points | T |"
        )
        assert [row.split(" | ")[0] for row in rows] == ["| 8", "| 56"]
        cells = rows[0].removesuffix(" |").split(" | ")
        group = runs[2:]
        sure = [100 * np.mean(r.confidences - r.correct.astype(float)) for r in group]
        baselines = [baseline_calibration_error(r.confidences).mean for r in group]
        assert cells[3] == f"{100 * np.mean(baselines):.1f}"
        assert cells[4] == f"{np.mean(sure):.1f}\xa0±\xa0{abs(sure[0] - sure[1]) / 2**0.5:.1f}"
        assert cells[5] == "1.55\xa0±\xa00.07"
        assert cells[7] == "55.0\xa0±\xa07.1"

    def test_no_run(self):
        with pytest.raises(ValueError, match="records: expected at least one run, found none"):
            level_table([])
