"""The affine maps against their formulas, a plain optimiser, and known maps."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from calib_utils.recalibration import (
    DirichletCalibration,
    HistogramBinning,
    IsotonicRegression,
    MatrixScaling,
    OneVersusRest,
    PlattScaling,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
    load,
)
from tests.recalibration.recalibration_cases import ALL_MULTICLASS, draw, multiclass, nll


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


# ---------------------------------------------------------------- optima


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


# ---------------------------------------------------------------- known maps


def test_vector_scaling_recovers_a_known_map():
    rng = np.random.default_rng(0)
    z = centred(4 * rng.standard_normal((100_000, 5)))
    weights, intercept = np.array([0.3, 0.5, 0.6, 0.4, 0.5]), np.array([0.5, -0.5, 0.2, -0.2, 0.0])
    labels = draw(z * weights + intercept, rng)
    fitted = VectorScaling().fit(z, labels)
    np.testing.assert_allclose(fitted.weights_, weights, atol=0.02)
    np.testing.assert_allclose(fitted.intercept_ - fitted.intercept_.mean(), intercept, atol=0.04)


@pytest.mark.parametrize(
    "name", ["matrix", "matrix, regularised", "dirichlet", "structured matrix"]
)
def test_full_maps_recover_known_probabilities(name):
    rng = np.random.default_rng(0)
    z = 3 * rng.standard_normal((60_000, 4))
    true = log_softmax(z, axis=1) @ (0.5 * np.eye(4) + 0.1 * rng.standard_normal((4, 4)))
    labels = draw(true, rng)
    fitted = ALL_MULTICLASS[name]().fit(z, labels)
    error = np.abs(fitted.predict_proba(z) - softmax(true, axis=1)).mean()
    before = np.abs(softmax(z, axis=1) - softmax(true, axis=1)).mean()
    assert error < before / 10
    assert error < 0.01


def test_regularisation_makes_few_samples_do():
    logits, labels = multiclass(600, 25)
    test_logits, test_labels = multiclass(5_000, 25, seed=9)
    losses = {}
    for name in ("temperature", "matrix", "matrix, regularised", "dirichlet", "structured matrix"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            probs = (
                ALL_MULTICLASS[name]().fit(logits, labels).predict_proba(test_logits.astype(float))
            )
        losses[name] = -np.log(probs[np.arange(5_000), test_labels]).mean()
    assert losses["matrix"] > losses["temperature"] + 0.5
    for name in ("matrix, regularised", "dirichlet", "structured matrix"):
        assert losses[name] < losses["temperature"] + 0.1


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


# ---------------------------------------------------------------- one versus rest


def test_one_versus_rest_by_hand():
    """Each class alone on its softmax probability, then each row over its sum."""
    logits, labels = multiclass(400, 4)
    for make in (lambda: HistogramBinning(inputs="probs"), lambda: IsotonicRegression("probs")):
        scores = softmax(logits.astype(float), axis=1)
        columns = [
            make().fit(scores[:, k], (labels == k).astype(int)).predict_proba(scores[:, k])
            for k in range(4)
        ]
        expected = np.stack(columns, axis=1)
        expected /= expected.sum(axis=1, keepdims=True)
        found = OneVersusRest(make()).fit(logits, labels).predict_proba(logits)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make",
    [
        lambda: HistogramBinning(10, inputs="probs"),
        lambda: IsotonicRegression("probs"),
        lambda: PlattScaling(inputs="probs"),
    ],
)
def test_one_versus_rest_takes_probabilities_as_they_are(make, dtype):
    """Rows of tenths, as ten trees give them, have ties and lie on edges of bins."""
    rng = np.random.default_rng(0)
    tenths = rng.multinomial(9, [0.5, 0.2, 0.2, 0.1], 3_000) + np.eye(4, dtype=int)[0]
    labels = draw(np.log(tenths + 0.5), rng)
    probs = (tenths / 10).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the zeros
        fitted = OneVersusRest(make(), inputs="probs").fit(probs, labels)
        for k, calibrator in enumerate(fitted.calibrators_):
            alone = make().fit(probs[:, k], (labels == k).astype(int))
            if isinstance(alone, HistogramBinning):
                np.testing.assert_array_equal(calibrator.counts_, alone.counts_)
            atol = 0.02 if isinstance(alone, PlattScaling) else 0  # a zero counts as in all columns
            found = calibrator.predict_proba(probs[:, k])
            np.testing.assert_allclose(found, alone.predict_proba(probs[:, k]), atol=atol)
        each = [m.predict_proba(probs[:, k]) for k, m in enumerate(fitted.calibrators_)]
        expected = np.stack(each, axis=1).astype(float)
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(fitted.predict_proba(probs), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_versus_rest_keeps_ties_of_log_odds(dtype):
    ties = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1], [0.2, 0.2, 0.6]] * 20, dtype)
    fitted = OneVersusRest(IsotonicRegression(), inputs="probs").fit(ties, [0, 1, 2, 2, 0, 1] * 10)
    for k, calibrator in enumerate(fitted.calibrators_):
        p = np.unique(ties[:, k]).astype(float)
        assert set(calibrator.thresholds_) <= set(np.log(p) - np.log1p(-p))
    near = np.finfo(dtype).epsneg / np.array([100, 1_000])  # further from 1 than its type tells
    sure = np.stack([np.ones(40), np.tile(near, 20), np.full(40, near[1] / 10)], 1).astype(dtype)
    fitted = OneVersusRest(IsotonicRegression(), inputs="probs").fit(sure, [0, 1, 0, 2] * 10)
    expected = -np.log(near + near[1] / 10)
    np.testing.assert_allclose(fitted.calibrators_[0].thresholds_, expected, rtol=1e-5)


def test_the_maps_of_one_versus_rest_are_recalibrators_of_their_own(tmp_path):
    fitted = OneVersusRest(HistogramBinning(5)).fit(*multiclass(300, 3))
    first = fitted.calibrators_[0]
    first.save(tmp_path / "first.npz")
    z = np.linspace(-4, 4, 9)
    np.testing.assert_array_equal(
        load(tmp_path / "first.npz").predict_proba(z), first.predict_proba(z)
    )
    assert first.n_samples_ == 300


def test_one_versus_rest_on_log_odds():
    """The log-odds keep what probabilities in float64 lose."""
    logits = np.array([[100.0, 0, -50], [60, 0, 1], [0, 45, 2], [3, 2, 1], [1, 2, 3], [0, 90, 1]])
    labels = np.array([0, 0, 1, 1, 2, 1])
    fitted = OneVersusRest(IsotonicRegression()).fit(logits, labels)
    first = fitted.calibrators_[0].thresholds_
    assert first.max() == pytest.approx(100 - np.log(1 + np.exp(-50)), rel=1e-12)
    assert fitted.calibrators_[2].thresholds_.min() == pytest.approx(-150)


def test_rows_of_zeros_keep_their_probabilities():
    logits = np.log([[0.8, 0.15, 0.05], [0.75, 0.2, 0.05], [0.1, 0.1, 0.8], [0.05, 0.75, 0.2]])
    fitted = OneVersusRest(HistogramBinning(4)).fit(logits, [0, 0, 2, 1])
    for k, calibrator in enumerate(fitted.calibrators_):
        calibrator.probabilities_ = np.array([0.0, 0.0, 1.0, 1.0])
        assert fitted.classes_[k] == k
    new = np.log([[0.4, 0.3, 0.3], [0.7, 0.2, 0.1]])
    np.testing.assert_allclose(fitted.predict_proba(new), [[0.4, 0.3, 0.3], [1, 0, 0]], atol=1e-12)


def test_ties_after_binning_go_to_the_first_class():
    logits = np.log([[0.38, 0.34, 0.28], [0.34, 0.38, 0.28]] * 20)
    with pytest.warns(UserWarning, match="no sample"):
        fitted = OneVersusRest(HistogramBinning(2)).fit(logits, [0, 1] * 20)
    probs = fitted.predict_proba(logits)
    np.testing.assert_array_equal(probs[0], probs[1])
    assert (probs.argmax(axis=1) == 0).all()


def test_one_versus_rest_gathers_warnings():
    with pytest.warns(UserWarning, match=r"\(for 4 of 4 classes\)") as caught:
        OneVersusRest(PlattScaling()).fit(8 * np.eye(4), [0, 1, 2, 3])
    assert len(caught) == 1
    with pytest.raises(ValueError, match="base: expected a binary"):
        OneVersusRest(TemperatureScaling())


# ---------------------------------------------------------------- properties


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    k=st.integers(2, 6),
    scale=st.sampled_from([1e-30, 0.1, 1.0, 10.0, 1e30]),
    decimals=st.integers(0, 4),
)
@pytest.mark.parametrize("name", ALL_MULTICLASS)
def test_rows_of_probabilities_for_any_data(name, seed, n, k, scale, decimals):
    rng = np.random.default_rng(seed)
    logits = np.round(2 * rng.standard_normal((n, k)), decimals) * scale
    labels = rng.integers(k, size=n)
    if scale == 1e30 and name != "temperature":
        labels = logits.argmax(axis=1)  # to the others, all other classes are masked
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        probs = ALL_MULTICLASS[name]().fit(logits, labels).predict_proba(logits)
    assert probs.min() >= 0
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("name", ALL_MULTICLASS)
def test_only_what_softmax_sees(name):
    """A constant added to all logits of a sample changes nothing."""
    logits, labels = multiclass(300, 4, dtype=np.float64)
    logits = np.round(logits, 3)
    moved = logits + np.round(100 * np.random.default_rng(0).standard_normal((300, 1)))
    expected = ALL_MULTICLASS[name]().fit(logits, labels).predict_proba(logits)
    found = ALL_MULTICLASS[name]().fit(moved, labels).predict_proba(moved)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("name", ALL_MULTICLASS)
def test_order_of_samples_does_not_matter(name):
    logits, labels = multiclass(300, 4)
    order = np.random.default_rng(1).permutation(300)
    expected = ALL_MULTICLASS[name]().fit(logits, labels).predict_proba(logits)
    found = ALL_MULTICLASS[name]().fit(logits[order], labels[order]).predict_proba(logits)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("name", ["temperature", "ensemble", "vector", "structured matrix"])
def test_calibration_improves(name):
    logits, labels = multiclass(4_000, 10)
    new_logits, new_labels = multiclass(4_000, 10, seed=7)
    probs = ALL_MULTICLASS[name]().fit(logits, labels).predict_proba(new_logits)
    found = -np.log(probs[np.arange(4_000), new_labels]).mean()
    assert found < nll(new_logits, new_labels) - 0.1
    assert found < nll(new_logits / 2, new_labels) + 0.03


# ---------------------------------------------------------------- hard fits, large ones, weights


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


def test_bins_of_equal_mass_hold_equal_weight():
    scores, weights = np.arange(1, 100) / 100, np.where(np.arange(99) < 50, 3.0, 1.0)
    binning = HistogramBinning(4, "quantile", inputs="probs")
    binning.fit(scores, np.arange(99) % 2, sample_weight=weights)
    held = np.histogram(scores, binning.edges_, weights=weights)[0]
    np.testing.assert_allclose(held, weights.sum() / 4, atol=3)
    assert binning.counts_.sum() == 99


# ---------------------------------------------------------------- logarithms


@pytest.mark.parametrize("name", ALL_MULTICLASS)
def test_log_probabilities_are_those_of_the_probabilities(name):
    fitted = ALL_MULTICLASS[name]().fit(*multiclass(400, 4))
    logits, _ = multiclass(200, 4, seed=5, dtype=np.float64)
    with np.errstate(divide="ignore"):
        expected = np.log(fitted.predict_proba(logits))
    np.testing.assert_allclose(fitted.predict_log_proba(logits), expected, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(logits), expected.argmax(axis=1))


@pytest.mark.parametrize("name", ["temperature", "vector", "matrix", "structured matrix"])
def test_log_probabilities_do_not_underflow(name):
    fitted = ALL_MULTICLASS[name]().fit(*multiclass(400, 4))
    logits = np.array([[0.0, -4_000.0, 10.0, 0.0]], np.float32)
    assert fitted.predict_proba(logits)[0, 1] == 0
    assert -10_000 < fitted.predict_log_proba(logits)[0, 1] < -500
