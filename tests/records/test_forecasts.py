"""The stored forecasts of networks, against sums written out."""

import numpy as np
import pytest

from calib_utils.records import load_forecasts


def test_the_numbers_of_each_forecast_are_those_of_its_bins_and_images():
    forecasts, made = load_forecasts("ensembles", "core")
    assert made["networks"].keys() == {"ordinary", "smoothed"}
    kept = 0
    for one in forecasts:
        counts, right, confidence = one.bins
        assert counts.sum() == 10_000
        assert one.error == pytest.approx(1 - right.sum() / 10_000)
        assert one.confidence == pytest.approx(confidence.sum() / 10_000)
        assert one.ece == pytest.approx(np.abs(confidence - right).sum() / 10_000, abs=1e-6)
        assert isinstance(one.members, tuple)
        if one.correct is not None:
            kept += 1
            assert one.correct.sum() == right.sum()
            assert one.losses.mean(dtype=float) == pytest.approx(one.nll, abs=1e-3)
            assert one.confidences.mean(dtype=float) == pytest.approx(one.confidence, abs=1e-3)
    assert 0 < kept < len(forecasts)


def test_there_are_none():
    with pytest.raises(ValueError, match="grid: there are no forecasts of 'depth' in the protoc"):
        load_forecasts("depth", "core")
