"""Platt scaling to Dirichlet calibration, against plain optimisers and known maps."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.calibration import _SigmoidCalibration
from sklearn.linear_model import LogisticRegression

from calib_utils.recalibration import (
    BetaCalibration,
    DirichletCalibration,
    IsotonicRegression,
    MatrixScaling,
    PlattScaling,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.recalibration.recalibration_cases import (
    ALL_MULTICLASS,
    BINARY,
    binary,
    draw,
    multiclass,
    nll,
)


def binary_nll(z, targets):
    return float(np.mean(np.logaddexp(0, z) - targets * z))


@pytest.mark.parametrize("scale", [1.0, 1e30])
@pytest.mark.parametrize("smooth", [False, True])
def test_platt_against_scikit_learn_and_its_gradient(smooth, scale):
    z, labels = binary(2_000)
    fitted = PlattScaling(smooth_targets=smooth).fit(z * scale, labels)
    n_positive, n = labels.sum(), len(labels)
    targets = labels.astype(float)
    if smooth:
        targets = np.where(labels, (n_positive + 1) / (n_positive + 2), 1 / (n - n_positive + 2))
        reference = _SigmoidCalibration().fit(z, labels)
        np.testing.assert_allclose(fitted.predict_proba(z * scale), reference.predict(z), atol=1e-4)
    error = fitted.predict_proba(z * scale) - targets
    assert abs(error.mean()) < 1e-8
    assert abs((error * z).mean()) < 1e-8


@pytest.mark.parametrize("kind", ["inside", "a is 0", "b is 0", "both are 0"])
def test_beta_against_a_bounded_solver(kind):
    rng = np.random.default_rng(5)
    scores = rng.random(3_000)
    probs = {
        "inside": scores**0.7,
        "a is 0": np.clip(0.9 - 0.8 * scores + 0.9 * scores**4, 0.02, 0.98),
        "b is 0": np.clip(0.02 + 2 * scores - 1.6 * scores**2, 0.02, 0.98),
        "both are 0": 1 - scores,
    }[kind]
    labels = (rng.random(3_000) < probs).astype(int)
    fitted = BetaCalibration(inputs="probs").fit(scores, labels)
    features = np.stack([np.log(scores), -np.log1p(-scores), np.ones(3_000)], axis=1)
    best = minimize(
        lambda w: binary_nll(features @ w, labels),
        np.zeros(3),
        method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-15, "gtol": 1e-9},
    )
    assert (best.x[0] < 1e-6) == (kind in ("a is 0", "both are 0"))
    assert (best.x[1] < 1e-6) == (kind in ("b is 0", "both are 0"))
    ours = np.array([fitted.a_, fitted.b_, fitted.c_])
    assert binary_nll(features @ ours, labels) <= best.fun + 1e-9
    np.testing.assert_allclose(ours, best.x, atol=2e-3)


def test_a_beta_fit_whose_free_slopes_are_infinite_ends_on_their_bound():
    """Both slopes together separate the classes, if one may be negative; a threshold does not."""
    z, labels = np.array([-6.0, -1.0, 0.5, 1.0, 4.0]), np.array([1, 0, 0, 1, 1])
    fitted = BetaCalibration().fit(z, labels)

    def loss(coefficients):
        a, b, c = coefficients
        odds = a * -np.logaddexp(0, -z) + b * np.logaddexp(0, z) + c
        return (np.logaddexp(0, odds) - labels * odds).mean()

    best = minimize(loss, [0.5, 0.5, 0], bounds=[(0, None), (0, None), (None, None)], tol=1e-14)
    assert min(fitted.a_, fitted.b_) == 0
    assert loss([fitted.a_, fitted.b_, fitted.c_]) <= best.fun + 1e-9


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_a_fit_that_does_not_reach_its_optimum_is_refused(make, monkeypatch):
    monkeypatch.setattr("calib_utils.metrics.logistic_fit._MAX_STEPS", 1)
    with pytest.raises(ValueError, match="did not reach its optimum in 1 steps"):
        make().fit(*binary(500))


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_of_a_rare_class_begins_near_its_optimum(make, weighted, monkeypatch):
    """Every n-th of these samples would hold one of the class, or none: a guess from nothing."""
    rng = np.random.default_rng(1)
    z = rng.normal(-8, 2.5, 50_000)
    labels = (rng.random(50_000) < expit(0.6 * z - 4)).astype(int)
    assert 10 < labels.sum() < 50
    weights = rng.uniform(0.5, 2, 50_000) if weighted else None
    fitted = make().fit(z, labels, sample_weight=weights)
    monkeypatch.setattr("calib_utils.metrics.logistic_fit._MAX_STEPS", 5)
    again = make().fit(z, labels, sample_weight=weights)
    np.testing.assert_array_equal(again.predict_proba(z), fitted.predict_proba(z))


def test_logits_and_scores_are_the_same_to_beta_and_platt():
    z, labels = binary(500)
    for make in (PlattScaling, BetaCalibration):
        of_scores = make(inputs="probs").fit(expit(z), labels).predict_proba(expit(z))
        np.testing.assert_allclose(make().fit(z, labels).predict_proba(z), of_scores, rtol=1e-6)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_separable_samples_get_smooth_targets(make):
    z = np.array([-3.0, -2, -1, 1, 2, 3])
    labels = (z > 0).astype(int)
    with pytest.warns(UserWarning, match="separates"):
        fitted = make().fit(z, labels)
    probs = fitted.predict_proba(z)
    assert (np.diff(probs) > 0).all()
    assert probs.min() > 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        smooth = PlattScaling(smooth_targets=True).fit(z, labels)
    if make is PlattScaling:
        assert fitted.slope_ == smooth.slope_


def test_constant_logits_give_the_base_rate():
    z, labels = np.full(10, 2.0), np.array([1] * 3 + [0] * 7)
    for name in ("platt", "beta", "isotonic", "equal width"):
        np.testing.assert_allclose(BINARY[name]().fit(z, labels).predict_proba(z), 0.3)


@pytest.mark.parametrize("outlier", [-1e6, -1e18])
@pytest.mark.parametrize("name", ["platt", "beta"])
def test_platt_and_beta_ignore_certain_negatives_far_away(name, outlier):
    """The NLL of such a sample is 0 wherever the slope is above 0."""
    z, labels = binary(2_000, slope=1.0)
    z[::40], labels[::40] = outlier, 0
    near = np.where(z == outlier, -2_000.0, z)
    expected = BINARY[name]().fit(near, labels)
    found = BINARY[name]().fit(z, labels)
    new = np.linspace(-9, 9, 99)
    np.testing.assert_allclose(found.predict_proba(new), expected.predict_proba(new), atol=1e-7)
    assert found.predict_proba(np.array([outlier]))[0] < 1e-300


@pytest.mark.parametrize("outlier", [-1e30, 1e300])
@pytest.mark.parametrize("name", ["platt", "beta"])
def test_platt_and_beta_refuse_outliers_beyond_what_they_can_see(name, outlier):
    z, labels = binary(200, slope=1.0)
    z[3] = outlier
    with pytest.raises(ValueError, match="logits: "):
        BINARY[name]().fit(z, labels)
    with pytest.raises(ValueError, match=r"^logits: expected differences of .* found inf"):
        BINARY[name]().fit(np.sign(z) * 1.7e308, labels)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration, IsotonicRegression])
@pytest.mark.parametrize("score", [0.123, 1e-300])
def test_equal_scores_tell_platt_beta_and_isotonic_nothing_of_others(make, score):
    """Where rounding tells two of them apart, a slope between these would be anything."""
    method = make(inputs="probs").fit(np.full(90, score), np.tile([0, 1, 1], 30))
    np.testing.assert_allclose(method.predict_proba([score, 0.01, 0.99]), 2 / 3)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_platt_and_beta_take_a_class_that_weighs_next_to_nothing(make):
    z, labels = binary(50, slope=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = make().fit(z, labels, np.where(labels == 1, 1e150, 1e-150)).predict_proba(z)
    assert found.min() > 1 - 1e-12


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_platt_and_beta_weigh_scores_of_zero_and_one_the_same(make):
    """What turns the scores and the labels round turns the probabilities round."""
    rng = np.random.default_rng(0)
    scores = expit(2 * rng.standard_normal(500))
    labels = (rng.random(500) < scores).astype(int)
    scores[:5], labels[:5] = 0.0, [0, 0, 0, 0, 1]
    one = make(inputs="probs").fit(scores, labels)
    other = make(inputs="probs").fit(1 - scores, 1 - labels)
    new = np.array([0, 0.1, 0.5, 0.8, 1])
    np.testing.assert_allclose(one.predict_proba(new), 1 - other.predict_proba(1 - new), atol=1e-6)
    # Within a calibrated set, five samples do not move a map far from the identity.
    np.testing.assert_allclose(one.predict_proba(new[1:4]), new[1:4], atol=0.15)


def test_platt_scaling_of_scores_at_the_ends_against_a_plain_search():
    scores, labels = np.array([0.0, 0, 0.3, 0.4, 0.7, 1, 1]), np.array([0, 1, 0, 1, 1, 1, 0])
    least = 1e-3  # which an exact end counts as, among so few
    z = np.clip(scores, least, 1 - least)
    z = np.log(z / (1 - z))
    with pytest.warns(UserWarning, match="57 % of the probabilities are exactly 0 or 1"):
        fitted = PlattScaling(inputs="probs").fit(scores, labels)

    def nll(slope, intercept=fitted.intercept_):
        return np.mean(np.logaddexp(0, slope * z + intercept) - labels * (slope * z + intercept))

    assert nll(fitted.slope_) <= minimize_scalar(nll).fun + 1e-12


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
    z = centred(logits)
    errors = softmax(z * vector.weights_ + vector.intercept_, axis=1) - np.eye(60)[labels]
    assert np.abs((errors * z).mean(axis=0)).max() < 1e-4
    assert np.abs(errors.mean(axis=0)).max() < 1e-4


def test_strong_regularisation_is_temperature_scaling():
    logits, labels = multiclass(500, 5)
    expected = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    found = StructuredMatrixScaling(regularization=1e8).fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(found, expected, atol=1e-6)


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
    monkeypatch.setattr("calib_utils.recalibration.affine.MAX_STEPS", 5)
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal((1_000, 2_000)).astype(np.float32)
    labels = draw(logits.astype(float), rng)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="have no sample"):
        VectorScaling().fit(logits, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * logits.astype(np.float64).nbytes


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_platt_and_beta_keep_the_log_odds_of_small_float32_scores(make):
    z, labels = binary(slope=0.1, intercept=-1.0)
    z = 6 * z - 40  # no score is near 1, where float32 has no digits
    of_logits = make().fit(z, labels).predict_proba(z)
    scores = expit(z).astype(np.float32)
    assert (scores[scores > 0] < 6e-8).mean() > 0.5
    of_scores = make(inputs="probs").fit(scores, labels).predict_proba(scores)
    held = scores > 1e-37
    np.testing.assert_allclose(of_scores[held], of_logits[held], atol=1e-3)
