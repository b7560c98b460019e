"""The bootstrap interval of the ECE, against the bootstrap written out and against theory."""

import numpy as np
import pytest
import torch

from calib_utils.metrics import expected_calibration_error, expected_calibration_interval


def predictions(n, overconfidence=0.0, seed=0):
    """Probabilities of three classes, and labels that are right less often than these say."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(3), n)
    top, hit = probs.max(axis=1) - overconfidence, rng.random(n)
    return probs, np.where(hit < top, probs.argmax(axis=1), probs.argmin(axis=1))


def test_is_what_drawing_rows_gives():
    probs, labels = predictions(200, 0.1)
    rng = np.random.default_rng(3)
    results = []
    for _ in range(50):
        rows = rng.integers(200, size=200)
        results.append(expected_calibration_error(probs[rows], labels[rows], 10))
    expected = np.quantile(results, [0.05, 0.95])
    found = expected_calibration_interval(probs, labels, 10, level=0.9, repeats=50, seed=3)
    assert found == pytest.approx(expected, abs=1e-12)


def test_of_one_bin_has_the_standard_error_of_a_mean():
    # With one bin and a large gap the ECE is a mean of n terms.
    probs, labels = predictions(5_000, 0.2)
    excess = probs.max(axis=1) - (probs.argmax(axis=1) == labels)
    error = excess.std() / np.sqrt(len(excess))
    low, high = expected_calibration_interval(probs, labels, 1, repeats=4_000)
    assert low == pytest.approx(excess.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(excess.mean() + 1.96 * error, abs=0.15 * error)


def test_holds_the_true_error_as_often_as_it_says():
    # All confidences in one bin are 0.3 too high: the true ECE is known.
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        probs = np.full(400, 0.9)
        low, high = expected_calibration_interval(probs, (rng.random(400) < 0.6) * 1, repeats=200)
        inside += low <= 0.3 <= high
    assert 180 <= inside <= 198


def test_is_the_same_for_one_seed_and_for_tensors():
    probs, labels = predictions(300)
    first = expected_calibration_interval(probs, labels, seed=1)
    assert first == expected_calibration_interval(probs, labels, seed=1)
    assert first != expected_calibration_interval(probs, labels, seed=2)
    tensors = torch.from_numpy(probs), torch.from_numpy(labels)
    assert first == expected_calibration_interval(*tensors, seed=1)
    columns = np.stack([1 - probs[:, 0], probs[:, 0]], axis=1)
    binary = expected_calibration_interval(probs[:, 0], (labels == 0) * 1)
    assert binary != expected_calibration_interval(columns, (labels == 0) * 1)


def test_a_higher_level_is_wider():
    probs, labels = predictions(300, 0.1)
    narrow = expected_calibration_interval(probs, labels, level=0.5)
    wide = expected_calibration_interval(probs, labels, level=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"level": 0}, "level"),
        ({"level": 95}, "level"),
        ({"level": float("nan")}, "level"),
        ({"repeats": 0}, "repeats"),
        ({"repeats": 10.5}, "repeats"),
        ({"repeats": True}, "repeats"),
        ({"repeats": 10**12}, "repeats"),
        ({"n_bins": 0}, "n_bins"),
    ],
)
def test_bad_arguments(arguments, name):
    probs, labels = predictions(10)
    with pytest.raises(ValueError, match=f"^{name}: "):
        expected_calibration_interval(probs, labels, **arguments)


def test_bad_probabilities():
    with pytest.raises(ValueError, match=r"^probs: "):
        expected_calibration_interval([[0.5, 0.6]], [0])
