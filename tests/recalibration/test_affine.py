"""Vector scaling to Dirichlet calibration, against plain optimisers and known maps."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from calib_utils.recalibration import (
    DirichletCalibration,
    MatrixScaling,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.recalibration.recalibration_cases import (
    multiclass,
    nll,
)


def centred(logits):
    z = np.asarray(logits, np.float64)
    return z - z.mean(axis=1, keepdims=True)


def plain_fit(features, labels, start, penalty):
    """W and b of lowest mean NLL plus penalty(W, b), from the textbook gradient."""
    n, k = features.shape
    one_hot = np.eye(k)[labels]

    def objective(x):
        w, b = x[: k * k].reshape(k, k), x[k * k :]
        scores = features @ w.T + b
        value, w_part, b_part = penalty(w, b)
        errors = softmax(scores, axis=1) - one_hot
        gradient = np.concatenate(
            [(errors.T @ features / n + w_part).ravel(), errors.mean(axis=0) + b_part]
        )
        return nll(scores, labels) + value, gradient

    found = minimize(
        objective,
        np.concatenate([start * np.eye(k).ravel(), np.zeros(k)]),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-8, "maxiter": 5_000},
    )
    return found.x[: k * k].reshape(k, k), found.x[k * k :], found.fun, objective


def ridge(off_diagonal, diagonal, intercept, start=1.0):
    def penalty(w, b):
        k = len(b)
        factor = np.full((k, k), off_diagonal)
        np.fill_diagonal(factor, diagonal)
        change = w - start * np.eye(k)
        value = (factor * change**2).sum() + intercept * (b**2).sum()
        return value, 2 * factor * change, 2 * intercept * b

    return penalty


def test_vector_scaling_against_a_plain_optimiser():
    logits, labels = multiclass(800, 6)
    z = centred(logits)
    found = minimize(
        lambda x: nll(z * x[:6] + x[6:], labels), np.repeat([0.5, 0.0], 6), method="BFGS"
    )
    fitted = VectorScaling().fit(logits, labels)
    ours = nll(z * fitted.weights_ + fitted.intercept_, labels)
    assert ours <= found.fun + 1e-9
    np.testing.assert_allclose(fitted.weights_, found.x[:6], atol=2e-3)
    np.testing.assert_allclose(
        fitted.predict_proba(logits),
        softmax(z * fitted.weights_ + fitted.intercept_, axis=1),
        rtol=1e-5,
    )


@pytest.mark.parametrize("strength", [0.0, 0.3])
def test_matrix_scaling_against_a_plain_optimiser(strength):
    logits, labels = multiclass(500, 4)
    temperature = TemperatureScaling().fit(logits, labels).temperature_
    factor = strength * 4 / 500
    _, _, lowest, objective = plain_fit(
        centred(logits) / temperature, labels, 1.0, ridge(3 * factor, 0, factor)
    )
    fitted = MatrixScaling(strength).fit(logits, labels)
    x = np.concatenate([(fitted.weights_ * temperature).ravel(), fitted.intercept_])
    assert objective(x)[0] == pytest.approx(lowest, abs=1e-8)


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_dirichlet_against_a_plain_optimiser(strength):
    """ODIR as published: lambda times the mean squared off-diagonal, mu times that of b."""
    logits, labels = multiclass(500, 4)
    temperature = TemperatureScaling().fit(logits, labels).temperature_
    lam, mu = strength * (4 * 3) ** 2 / 500, strength * 4**2 / 500
    _, _, lowest, objective = plain_fit(
        log_softmax(logits.astype(float), axis=1),
        labels,
        1 / temperature,
        ridge(lam / (4 * 3), 0, mu / 4, 1 / temperature),
    )
    fitted = DirichletCalibration(strength).fit(logits, labels)
    x = np.concatenate([fitted.weights_.ravel(), fitted.intercept_])
    assert objective(x)[0] == pytest.approx(lowest, abs=1e-8)


def test_structured_matrix_scaling_against_a_plain_optimiser():
    logits, labels = multiclass(500, 4)
    temperature = TemperatureScaling().fit(logits, labels).temperature_
    unit = 4 / 500
    w, b, lowest, objective = plain_fit(
        log_softmax(logits / temperature, axis=1), labels, 1.0, ridge(3 * unit, unit, unit)
    )
    fitted = StructuredMatrixScaling().fit(logits, labels)
    x = np.concatenate([fitted.weights_.ravel(), fitted.intercept_])
    assert objective(x)[0] == pytest.approx(lowest, abs=1e-9)
    np.testing.assert_allclose(fitted.weights_, w, atol=1e-3)
    np.testing.assert_allclose(fitted.intercept_, b, atol=1e-3)


def test_matrix_scaling_against_scikit_learn():
    """Without regularisation both are multinomial logistic regression."""
    logits, labels = multiclass(4_000, 5)
    reference = LogisticRegression(C=np.inf, tol=1e-8, max_iter=2_000).fit(centred(logits), labels)
    ours = MatrixScaling().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(ours, reference.predict_proba(centred(logits)), atol=1e-3)


def test_strong_regularisation_is_temperature_scaling():
    logits, labels = multiclass(500, 5)
    expected = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    found = StructuredMatrixScaling(regularization=1e8).fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(found, expected, atol=1e-6)
