"""What is refused or doubted says what to do, and following it helps."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import scipy.special
import torch
from scipy.special import expit, softmax

import calib_utils
from calib_audit import report
from calib_utils.comparing import paired_difference
from calib_utils.decisions import adjust_priors, estimate_priors
from calib_utils.metrics import expected_calibration_error
from calib_utils.recalibration import CalibratedModule, PlattScaling, TemperatureScaling
from tests.recalibration.recalibration_cases import binary, multiclass

RNG = np.random.default_rng(0)


def test_an_infinite_loss_is_not_to_be_removed():
    losses = np.append(RNG.random(20), [np.inf])
    with pytest.raises(ValueError, match=r"^second: .*found inf at index 20; .*must stay"):
        paired_difference(RNG.random(21), losses)
    with pytest.raises(ValueError, match=r"^first: .*found nan at index 0; remove such samples"):
        paired_difference(np.append([np.nan], losses[:-1]), RNG.random(21))


def test_two_columns_of_probabilities_lead_to_one_of_them():
    z, labels = binary()
    probs = np.stack([1 - expit(z), expit(z)], axis=1)
    with pytest.raises(ValueError, match=r"give the probability of .*, probs\[:, 1\] for two cl"):
        PlattScaling(inputs="probs").fit(probs, labels)
    PlattScaling(inputs="probs").fit(probs[:, 1], labels)
    with pytest.raises(ValueError, match=r"logits\[:, 1\] - logits\[:, 0\] for two classes"):
        PlattScaling().fit(np.log(probs), labels)


def test_means_of_float32_are_frequencies():
    probs = RNG.dirichlet(np.ones(10), 400).astype(np.float32)
    old = probs[:, ::-1].mean(axis=0) * np.float32(0.999998)
    assert abs(old.astype(float).sum() - 1) > 1.5e-6
    exact = old.astype(float) / old.astype(float).sum()
    np.testing.assert_allclose(estimate_priors(probs, old), estimate_priors(probs, exact))
    np.testing.assert_allclose(adjust_priors(probs, old, old), probs, atol=1e-7)
    with pytest.raises(ValueError, match=r"^old: expected numbers of 0 or more that sum to 1"):
        estimate_priors(probs, old * 1.001)


def test_percentages_are_to_be_divided():
    z, labels = binary(100)
    probs = np.stack([1 - expit(z), expit(z)], axis=1)
    for given in (100 * expit(z), 100 * probs):
        with pytest.raises(ValueError, match=r"^probs: .*or divide percentages by 100"):
            expected_calibration_error(given, labels)


@pytest.mark.parametrize("squash", ["rounded softmax", "sigmoid"])
def test_what_cannot_be_logits_of_many_rows(squash):
    """Rounded to two digits, 100 classes sum to anything; so do sigmoids."""
    logits, labels = multiclass(2_000, 100)
    given = softmax(logits, axis=1).round(2) if squash != "sigmoid" else expit(logits)
    with pytest.warns(UserWarning, match="all are from 0 to 1, like probabilities; give"):
        TemperatureScaling().fit(given, labels)
    torch = pytest.importorskip("torch")
    model = CalibratedModule(torch.nn.Identity(), TemperatureScaling(2.0))
    with pytest.warns(UserWarning, match="like probabilities"):
        model(torch.tensor(given))
    columns = {f"logit_{k}": given[:, k] for k in range(100)} | {"label": labels}
    with pytest.warns(UserWarning, match="they look like probabilities"):
        report(columns, cross_fit=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TemperatureScaling().fit(logits, labels)


def test_twenty_log_odds_from_0_to_1_are_no_accident_and_nineteen_may_be():
    z, labels = np.linspace(0, 1, 20), np.arange(20) % 2
    with pytest.warns(UserWarning, match="like probabilities"):
        TemperatureScaling().fit(z, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TemperatureScaling(1.5).fit(z[1:], labels[1:])


def test_a_weight_that_leaves_no_rows_is_told():
    score = RNG.random(3_000)
    columns = {"score": score, "label": (RNG.random(3_000) < score).astype(int)}
    weights = np.append(np.ones(2_999), 1e6)
    found = report(columns | {"weight": weights}, weight="weight", cross_fit=0)
    assert any("times the mean, so look whether it is right" in line for line in found.read)
    found = report(columns | {"weight": 1 + 9 * score}, weight="weight", cross_fit=0)
    assert not any("times the mean" in line for line in found.read)


def test_input_that_is_no_array_of_numbers_is_a_value_error():
    logits, labels = multiclass(20, 3)
    tensor = torch.tensor(logits)
    masked = np.ma.masked_array(logits[0], mask=[True, False, False])
    for bad in (
        tensor.to_sparse(),
        tensor.to("meta"),
        tensor.to(torch.float8_e4m3fn),
        [masked, *logits[1:]],
        [[str(x) for x in row] for row in logits],
        logits.astype(complex),
        "logits",
        None,
        scipy.sparse.csr_array(logits),
    ):
        with pytest.raises(ValueError, match="logits: "):
            TemperatureScaling().fit(bad, labels)


def test_several_labels_of_a_sample_are_questions_of_their_own():
    rng = np.random.default_rng(0)
    sigmoids, labels = rng.random((20, 4)), rng.integers(0, 2, (20, 4))
    ones = np.eye(4, dtype=int)[rng.integers(0, 4, 20)]
    own = "each label is a question of its own"
    for use in (calib_utils.metrics.brier_score, calib_utils.metrics.CalibrationError().update):
        with pytest.raises(ValueError, match=own):
            use(sigmoids, labels)
        with pytest.raises(ValueError, match=own):
            use(sigmoids, labels[:, 0])
        with pytest.raises(ValueError, match=r"labels\.argmax\(1\)"):
            use(sigmoids, ones)
    with pytest.raises(ValueError, match=own):
        TemperatureScaling().fit(4 * sigmoids, labels)


def test_of_an_ensemble_the_mean_of_its_members_counts():
    members = np.random.default_rng(0).dirichlet(np.ones(3), (5, 20))
    labels = np.arange(20) % 3
    for use in (
        *(calib_utils.metrics.brier_score, TemperatureScaling(inputs="probs").fit),
        calib_utils.metrics.CalibrationError().update,
    ):
        with pytest.raises(ValueError, match="the mean of the members' probabilities"):
            use(members, labels)
