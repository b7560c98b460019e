"""The parts of the Brier score, against forecasters by hand and other isotonic regressions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib_utils._numerics import softmax
from calib_utils.metrics import brier_decomposition, brier_score
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import load_record


def pooled(confidences, correct):
    """Adjacent violators pooled, one block at a time; ties are a block from the start."""
    blocks = []  # confidences, sum of correct, count
    for value in sorted(set(confidences)):
        hits = [bool(y) for c, y in zip(confidences, correct, strict=True) if c == value]
        blocks.append(([value], sum(hits), len(hits)))
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            last, before = blocks.pop(), blocks.pop()
            blocks.append(tuple(x + y for x, y in zip(before, last, strict=True)))
    value_of = {value: hits / n for values, hits, n in blocks for value in values}
    return np.array([value_of[value] for value in confidences])


def by_forecasts(confidences, recalibrated, correct):
    """The parts by the scores of three forecasts."""
    own = np.mean((confidences - correct) ** 2)
    best = np.mean((recalibrated - correct) ** 2)
    flat = np.mean((np.mean(correct) - correct) ** 2)
    return own - best, flat - best, flat


def forecasts(n, seed=0, places=None):
    rng = np.random.default_rng(seed)
    confidences = rng.random(n)
    if places is not None:
        confidences = np.round(confidences, places)
    return confidences, (rng.random(n) < 0.2 + 0.5 * confidences).astype(int)


# Ten samples, seven of them positive; five could be told from the other five.
LABELS = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0, 0])
GROUP = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("forecast", "miscalibration", "resolution"),
    [
        (np.where(GROUP, 1.0, 0.4), 0, 0.09),  # calibrated: what each group has
        (np.full(10, 0.7), 0, 0),  # lazy: the base rate for all
        (np.full(10, 0.5), 0.04, 0),  # lazy and wrong about it
        (np.where(GROUP, 1.0, 0.0), 0.08, 0.09),  # bold: 0.4^2 too far in half of the samples
        (np.where(GROUP, 0.0, 1.0), 0.8 - 0.21, 0),  # upside down: no rising function tells
    ],
)
def test_forecasters_by_hand(forecast, miscalibration, resolution):
    found = brier_decomposition(forecast, LABELS)
    assert found == pytest.approx((miscalibration, resolution, 0.21), abs=1e-15)
    assert {type(part) for part in found} == {float}


@pytest.mark.parametrize("places", [None, 2, 1])
@pytest.mark.parametrize("n", [1, 2, 30, 300])
def test_against_pooling_written_out(n, places):
    confidences, labels = forecasts(n, seed=n, places=places)
    expected = by_forecasts(confidences, pooled(confidences.tolist(), labels), labels)
    assert brier_decomposition(confidences, labels) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("places", [None, 2])
def test_against_scikit_learn(places):
    confidences, labels = forecasts(5_000, places=places)
    recalibrated = IsotonicRegression().fit_transform(confidences, labels)
    expected = by_forecasts(confidences, recalibrated, labels)
    assert brier_decomposition(confidences, labels) == pytest.approx(expected, abs=1e-13)


def test_confidences_that_differ_little_are_not_tied():
    near = np.array([0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 0)])
    assert brier_decomposition(near, [0, 1, 0]).resolution == pytest.approx(2 / 9)
    single = near.astype(np.float32)  # where they are
    assert brier_decomposition(single, [0, 1, 0]).resolution == 0


def test_parts_add_up_to_the_score():
    confidences, labels = forecasts(2_000)
    miscalibration, resolution, uncertainty = brier_decomposition(confidences, labels)
    score = miscalibration - resolution + uncertainty
    assert score == pytest.approx(brier_score(confidences, labels) / 2, abs=1e-12)
    # The mean square by which the recalibrated forecasts differ from the base rate.
    recalibrated = pooled(confidences.tolist(), labels)
    assert resolution == pytest.approx(np.var(recalibrated), abs=1e-12)


def test_temperature_mends_the_miscalibration_of_the_resnet():
    validation, test = (load_record("resnet34-cifar100", split) for split in ("validation", "test"))
    scaling = TemperatureScaling().fit(validation.logits, validation.labels)
    for probs, score, parts in [
        (softmax(test.logits), 0.1410, (0.0164, 0.0647, 0.1893)),
        (scaling.predict_proba(test.logits), 0.1260, (0.0012, 0.0645, 0.1893)),
    ]:
        found = brier_decomposition(probs, test.labels)
        assert found == pytest.approx(parts, abs=5e-5)
        correct = probs.argmax(axis=1) == test.labels
        brier = np.mean((probs.max(axis=1).astype(float) - correct) ** 2)
        assert brier == pytest.approx(score, abs=5e-5)
        total = found.miscalibration - found.resolution + found.uncertainty
        assert total == pytest.approx(brier, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=40))
def test_no_part_is_negative_and_a_rising_function_leaves_the_resolution(samples):
    eighths, labels = np.array(samples).T
    confidences = eighths / 8
    found = brier_decomposition(confidences, labels.astype(int))
    assert min(found) >= 0
    assert found.resolution <= found.uncertainty + 1e-15
    score = found.miscalibration - found.resolution + found.uncertainty
    assert score == pytest.approx(np.mean((confidences - labels) ** 2), abs=1e-12)
    for rising in (confidences**2, (1 + confidences) / 3, np.sin(confidences)):
        changed = brier_decomposition(rising, labels.astype(int))
        assert changed[1:] == found[1:]
    recalibrated = pooled(confidences.tolist(), labels)
    assert brier_decomposition(recalibrated, labels.astype(int)).miscalibration < 1e-14
