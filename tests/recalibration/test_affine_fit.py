"""The fit of affine maps: that it ends at its optimum, or says that it did not."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calib_utils.recalibration import (
    DirichletCalibration,
    MatrixScaling,
    StructuredMatrixScaling,
    VectorScaling,
)
from tests.recalibration.recalibration_cases import (
    ALL_MULTICLASS,
    draw,
    multiclass,
    nll,
)


def test_many_classes_reach_a_small_gradient():
    """The coordinates of the solver do not change where the optimum is."""
    logits, labels = multiclass(3_000, 60, seed=2)
    fitted = StructuredMatrixScaling().fit(logits, labels)
    x = log_softmax(logits / fitted.temperature_, axis=1)
    errors = softmax(x @ fitted.weights_.T + fitted.intercept_, axis=1) - np.eye(60)[labels]
    pull = np.full((60, 60), 60 * 59 / 3_000)
    np.fill_diagonal(pull, 60 / 3_000)
    gradient = errors.T @ x / 3_000 + 2 * pull * (fitted.weights_ - np.eye(60))
    assert np.abs(gradient).max() < 1e-4
    vector = VectorScaling().fit(logits, labels)
    z = logits - logits.mean(axis=1, keepdims=True)
    errors = softmax(z * vector.weights_ + vector.intercept_, axis=1) - np.eye(60)[labels]
    assert np.abs((errors * z).mean(axis=0)).max() < 1e-4
    assert np.abs(errors.mean(axis=0)).max() < 1e-4


def test_a_validation_set_without_errors_leaves_good_probabilities():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 5_500)
    logits = 2 * rng.standard_normal((5_500, 10)) + 12 * np.eye(10)[labels]
    with pytest.warns(UserWarning, match="every label has the largest logit.*T is 1$"):
        fitted = StructuredMatrixScaling().fit(logits[:500], labels[:500])
    assert np.abs(fitted.predict_proba(logits) - softmax(logits, axis=1)).mean() < 1e-3
    with pytest.warns(UserWarning, match="labels have no larger logits"):
        against = StructuredMatrixScaling().fit(-logits[:500], labels[:500])
    distances = (-logits[:500]).max(axis=1, keepdims=True) + logits[:500]
    assert against.temperature_ == pytest.approx(distances.mean())


def test_a_fit_without_an_optimum_says_so():
    logits, labels = multiclass(400, 40)
    with pytest.warns(UserWarning, match="memorise the labels of all samples"):
        MatrixScaling().fit(logits, labels)
    with pytest.warns(UserWarning, match="after 3 steps"):
        MatrixScaling(regularization=1.0, max_steps=3).fit(logits, labels)


@pytest.mark.parametrize("name", ["vector", "matrix", "matrix, regularised", "dirichlet"])
@pytest.mark.parametrize("kind", ["rows of all scales", "classes of all scales", "outliers"])
def test_a_fit_is_at_its_optimum_or_says_that_it_is_not(name, kind, monkeypatch):
    """The same solver goes on with no bound on its steps, and finds nothing."""
    rng = np.random.default_rng(0)
    z = 2 * rng.standard_normal((900, 12))
    labels = draw(z, rng)
    if kind == "outliers":
        z[::90] *= 100
    else:
        z *= np.exp(2 * rng.standard_normal((900, 1) if kind.startswith("rows") else 12))
    gains = []

    def spy(objective, start, **settings):
        found = minimize(objective, start, **settings)
        tight = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 3_000, "maxcor": 30}
        best = minimize(objective, found.x, jac=True, method="L-BFGS-B", options=tight)
        gains.append(found.fun - best.fun)
        return found

    monkeypatch.setattr("scipy.optimize.minimize", spy)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ALL_MULTICLASS[name]().fit(z, labels)
    assert gains[-1] < 1e-5 or any(" steps" in str(w.message) for w in caught)


def dirichlet_objective(changes, logits, labels):
    """What `DirichletCalibration` says that it minimises, of W and b in one vector."""
    n, k = logits.shape
    w, b = changes.reshape(k, k + 1)[:, :k], changes.reshape(k, k + 1)[:, k]
    scores = log_softmax(logits, axis=1) @ w.T + b
    squares = (k - 1) * ((w**2).sum() - (w.diagonal() ** 2).sum()) + (b**2).sum()
    return nll(scores, labels) + k / n * squares


@pytest.mark.parametrize("seed", [32, 50])
def test_no_fit_ends_above_its_optimum_in_silence(seed):
    """Classes on scales from 0.001 to 1,000; these fits ended up to 0.05 too high."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((8, 3))
    labels = logits.argmax(axis=1)
    logits *= 10 ** rng.uniform(-3, 3, 3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = DirichletCalibration().fit(logits, labels)
    found = np.c_[fitted.weights_, fitted.intercept_].ravel()
    value = dirichlet_objective(found, logits, labels)
    plain = np.eye(3, 4).ravel()
    best = min(
        minimize(dirichlet_objective, start, (logits, labels), method="BFGS").fun
        for start in (found, plain)
    )
    said = any("optimum" in str(w.message) for w in caught)
    assert said or value < best * (1 + 1e-6)


def test_vector_scaling_of_many_classes_takes_memory_of_the_logits_only(monkeypatch):
    """A dense Hessian of 2 K by 2 K alone would take eight times the logits."""
    monkeypatch.setattr("calib_utils.recalibration.affine_fit.MAX_STEPS", 5)
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal((1_000, 2_000)).astype(np.float32)
    labels = draw(logits.astype(float), rng)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="have no sample"):
        VectorScaling().fit(logits, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * logits.astype(np.float64).nbytes
