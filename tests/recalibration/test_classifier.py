"""Calibrated classifiers, by hand and by the checks of scikit-learn."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from calib_utils._numerics import zero_of
from calib_utils.metrics import negative_log_likelihood
from calib_utils.recalibration import (
    CalibratedClassifier,
    HistogramBinning,
    MatrixScaling,
    OneVersusRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.recalibration.recalibration_cases import (
    ALL_BINARY,
    ALL_MULTICLASS,
    MULTICLASS,
    multiclass,
)


def test_clones_are_unfitted_and_alike():
    for make in (ALL_MULTICLASS | ALL_BINARY).values():
        method = make()
        copied = clone(method)
        assert type(copied) is type(method)
        assert repr(copied) == repr(method)
        assert is_classifier(method)
        with pytest.raises(NotFittedError):
            check_is_fitted(copied)


def test_parameters_are_read_and_set():
    method = OneVersusRest(HistogramBinning(10))
    assert method.get_params()["base__n_bins"] == 10
    assert method.set_params(base__n_bins=5, inputs="probs") is method
    assert repr(method) == "OneVersusRest(base=HistogramBinning(n_bins=5), inputs='probs')"
    for bad, message in [
        ({"bins": 3}, "bins: expected one of"),
        ({"base__n_bins": 0}, "n_bins: expected an integer"),
        ({"inputs": "scores"}, "inputs: expected 'probs' or 'logits'"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(method).set_params(**bad)
    check_is_fitted(TemperatureScaling(2.0))


def test_a_refused_fit_leaves_the_classifier_as_it_was():
    X, y = make_classification(300, random_state=0)
    model = CalibratedClassifier(GaussianNB()).fit(X, y)
    before, expected = vars(model).copy(), model.predict_proba(X)
    with pytest.raises(ValueError, match="classes"):
        model.fit(X, np.zeros(300, int))
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_search_and_pipeline():
    logits, labels = multiclass(400, 12)
    grid = {"regularization": [0.0, 1.0]}
    search = GridSearchCV(MatrixScaling(), grid, scoring="neg_log_loss", cv=3).fit(logits, labels)
    assert search.best_params_ == {"regularization": 1.0}
    np.testing.assert_array_equal(search.classes_, range(12))
    halved = make_pipeline(FunctionTransformer(lambda z: z / 2), TemperatureScaling())
    found = halved.fit(logits, labels).predict_proba(logits)
    expected = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_array_equal(halved.predict(logits), logits.argmax(axis=1))


# The checks feed features of their own. A recalibrator's features are logits, one a class, and its
# labels integers from 0, which it says in words of its own.
EXPECTED = {
    "features are no logits": [
        *("check_estimators_overwrite_params", "check_estimators_fit_returns_self"),
        *("check_readonly_memmap_input", "check_sample_weights_not_overwritten"),
        *("check_n_features_in_after_fitting", "check_n_features_in", "check_classifiers_train"),
        *("check_fit2d_1feature", "check_fit2d_predict1d", "check_classifiers_classes"),
    ],
    "integers and objects are no logits": [
        *("check_estimators_dtypes", "check_sample_weights_not_an_array", "check_dtype_object"),
        *("check_sample_weights_shape", "check_classifier_data_not_an_array"),
        "check_sample_weights_pandas_series",
    ],
    "labels are integers, not floats, columns or missing": [
        *("check_estimators_nan_inf", "check_supervised_y_2d", "check_requires_y_none"),
        "check_classifiers_regression_target",
    ],
    "errors in other words": [
        *("check_complex_data", "check_estimators_empty_data_messages"),
        *("check_all_zero_sample_weights_error", "check_estimator_sparse_tag"),
        *("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
        "check_estimators_unfitted",
    ],
    "arguments are logits and labels, checked at once": [
        *("check_fit_score_takes_y", "check_sample_weight_equivalence_on_dense_data"),
        "check_do_not_raise_errors_in_init_or_set_params",
    ],
}


def failed_checks(estimator):
    if "on_fail" not in inspect.signature(check_estimator).parameters:
        pytest.skip("before 1.6, scikit-learn stops at the first check that fails")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 40
    return {result["check_name"] for result in results if result["status"] == "failed"}


@pytest.mark.parametrize("name", ["temperature", "matrix, regularised"])
def test_checks_of_scikit_learn_on_recalibrators(name):
    assert failed_checks(MULTICLASS[name]()) <= {x for names in EXPECTED.values() for x in names}


def test_checks_of_scikit_learn_on_a_calibrated_classifier():
    assert failed_checks(CalibratedClassifier(LogisticRegression())) == set()


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize(
    ("model", "recalibrator"),
    [
        (GaussianNB(), None),
        (LinearSVC(random_state=0), VectorScaling()),
        (RandomForestClassifier(20, random_state=0), VectorScaling(inputs="probs")),
        (RandomForestClassifier(20, random_state=0), OneVersusRest(PlattScaling())),
    ],
    ids=["temperature", "vector", "vector of probs", "one versus rest"],
)
def test_a_classifier_is_cross_fitted(model, recalibrator, k):
    x, numbers = make_classification(
        600, n_informative=6, n_redundant=8, n_classes=k, random_state=0
    )
    names = np.array(["ash", "birch", "cedar", "douglas fir"])
    y = names[numbers]
    fitted = CalibratedClassifier(model, recalibrator).fit(x[:400], y[:400])
    np.testing.assert_array_equal(fitted.classes_, names[:k])
    probs = fitted.predict_proba(x[400:])
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict(x[400:]), names[probs.argmax(axis=1)])
    loss = negative_log_likelihood(np.maximum(probs, 1e-6), numbers[400:])
    assert loss < np.log(k) - 0.1
    if isinstance(model, GaussianNB):
        before = GaussianNB().fit(x[:400], y[:400]).predict_proba(x[400:])
        assert loss < negative_log_likelihood(np.maximum(before, 1e-6), numbers[400:])


def test_cross_fitting_by_hand():
    x, y = make_classification(300, random_state=0)
    fitted = CalibratedClassifier(LogisticRegression(), PlattScaling(), cv=3).fit(x, y)
    z = cross_val_predict(LogisticRegression(), x, y, cv=3, method="decision_function")
    assert fitted.recalibrator_.slope_ == PlattScaling().fit(z, y).slope_
    whole = LogisticRegression().fit(x, y)
    expected = fitted.recalibrator_.predict_proba(whole.decision_function(x))
    np.testing.assert_array_equal(fitted.predict_proba(x), np.stack([1 - expected, expected], 1))
    with pytest.raises(ValueError, match="recalibrator: expected one of calib_utils"):
        CalibratedClassifier(LogisticRegression(), "platt").fit(x, y)
    with pytest.raises(ValueError, match="y: expected at least two classes"):
        CalibratedClassifier(LogisticRegression()).fit(x, np.zeros(300, int))


def test_a_method_for_two_classes_is_fitted_on_the_log_odds_of_probabilities():
    x, y = make_classification(300, class_sep=0.5, random_state=0)
    probs = cross_val_predict(GaussianNB(), x, y, cv=3, method="predict_proba")
    expected = PlattScaling().fit(np.log(probs[:, 1]) - np.log(probs[:, 0]), y)
    found = CalibratedClassifier(GaussianNB(), PlattScaling(), cv=3).fit(x, y).recalibrator_
    assert found.slope_ == pytest.approx(expected.slope_)
    assert found.intercept_ == pytest.approx(expected.intercept_)


@pytest.mark.parametrize("names", [[0, 1], [1, 2], ["spam", "ham"]])
def test_arguments_of_the_classifier_name_the_classes_of_y(names):
    x, numbers = make_classification(300, random_state=0)
    weights = dict(zip(names, [1, 20], strict=True))
    fitted = CalibratedClassifier(LogisticRegression(class_weight=weights), PlattScaling(), cv=3)
    fitted.fit(x, np.array(names)[numbers])
    by_number = LogisticRegression(class_weight={0: 1, 1: 20})
    sign = 1 if sorted(names) == names else -1  # of the class that is the second by name
    expected = sign * by_number.fit(x, numbers).intercept_
    np.testing.assert_allclose(fitted.estimator_.intercept_, expected, rtol=1e-3)
    z = cross_val_predict(by_number, x, numbers, cv=3, method="decision_function")
    slope = PlattScaling().fit(z, numbers).slope_
    assert fitted.recalibrator_.slope_ == pytest.approx(slope, rel=1e-3)


def test_groups_stay_together():
    x, y = make_classification(300, random_state=0)
    groups, model = np.arange(300) // 10, CalibratedClassifier(GaussianNB(), cv=GroupKFold(3))
    with pytest.raises(ValueError, match="groups"):
        model.fit(x, y)
    arguments = {"cv": GroupKFold(3), "groups": groups, "method": "predict_proba"}
    probs = cross_val_predict(GaussianNB(), x, y, **arguments)
    expected = TemperatureScaling().fit(np.log(probs), y).temperature_
    found = model.fit(x, y, groups=groups).recalibrator_.temperature_
    assert found == pytest.approx(expected, rel=1e-6)


class OwnOrder(ClassifierMixin, BaseEstimator):
    """A classifier whose columns are in the order of its ``names``, as CatBoost's can be."""

    def __init__(self, names, off=1.0):
        self.names = names
        self.off = off

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = list(self.names)
        return self

    def predict_proba(self, X):
        order = [self.inner_.classes_.tolist().index(name) for name in self.names]
        return self.off * self.inner_.predict_proba(X)[:, order]


class OwnOrderOfScores(OwnOrder):
    def decision_function(self, X):
        log_probs = np.log(self.predict_proba(X))
        return log_probs[:, 1] - log_probs[:, 0] if len(self.names) == 2 else log_probs


@pytest.mark.parametrize("kind", [OwnOrder, OwnOrderOfScores])
@pytest.mark.parametrize("names", [["low", "mid", "high", "top"], ["9", "10"], [2, 0, 1]])
def test_columns_are_those_of_the_names_of_the_classes(kind, names):
    x, numbers = make_classification(
        400, n_informative=6, n_classes=len(names), class_sep=2, random_state=0
    )
    y = np.array(names)[numbers]
    expected = CalibratedClassifier(kind(sorted(names)), cv=3).fit(x, y)
    found = CalibratedClassifier(kind(names), cv=3).fit(x, y)
    np.testing.assert_array_equal(found.classes_, sorted(names))
    np.testing.assert_allclose(found.predict_proba(x), expected.predict_proba(x), rtol=1e-6)
    assert found.score(x, y) > 0.7
    if len(names) == 2:
        platt = CalibratedClassifier(kind(names), PlattScaling(), cv=3).fit(x, y)
        assert platt.score(x, y) > 0.7


def test_what_predict_proba_gives_are_probabilities():
    x, y = make_classification(200, random_state=0)
    two = CalibratedClassifier(OwnOrder([0, 1], off=2.0), cv=3)
    with pytest.raises(ValueError, match="predict_proba: expected"):
        two.fit(x, y)

    class OfThePositive(OwnOrder):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, 1]

    one = CalibratedClassifier(OfThePositive([0, 1]), cv=3)
    with pytest.raises(ValueError, match="predict_proba to give a column for each of 2 classes"):
        one.fit(x, y)


def test_other_classes_than_those_of_the_labels_are_refused_by_name():
    frozen = pytest.importorskip("sklearn.frozen", reason="since scikit-learn 1.6").FrozenEstimator
    x, y = make_classification(300, n_informative=6, n_classes=4, random_state=0)
    model = frozen(LogisticRegression().fit(x[y < 3], y[y < 3]))
    for kept, message in [
        (y > 0, "estimator: found one that does not know class 3 of y"),
        (y < 2, "y: expected all classes of the classifier, found no sample of class 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(model).fit(x[kept], y[kept])
    fitted = CalibratedClassifier(model).fit(x[y < 3], y[y < 3])
    np.testing.assert_array_equal(fitted.predict(x), model.predict(x))


def test_a_way_of_splitting_that_cannot_be_used_says_what_can():
    x, y = make_classification(120, random_state=0)
    for cv, message in [
        (KFold(2), "if the samples of a fold lack it, give cv=StratifiedKFold"),
        (ShuffleSplit(2, random_state=0), "each sample in the test set of one fold"),
    ]:
        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(GaussianNB(), cv=cv).fit(x[np.argsort(y)], np.sort(y))


def test_weights_of_a_pipeline_reach_its_last_step():
    x, y = make_classification(200, random_state=0)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    inner, folds = LogisticRegression(), StratifiedKFold(3)
    expected = CalibratedClassifier(inner, cv=folds).fit(x, y, weights).predict_proba(x)
    unchanged = FunctionTransformer()
    for model in (make_pipeline(unchanged, inner), make_pipeline(make_pipeline(unchanged, inner))):
        found = CalibratedClassifier(model, cv=folds).fit(x, y, weights).predict_proba(x)
        np.testing.assert_allclose(found, expected)


def test_weightless_rows_do_not_say_what_a_zero_counts_as():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.5] * 3, 400).round(4)
    probs /= probs.sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(3, p=row) for row in probs])
    weights = np.where((probs == 0).any(axis=1), 0.05, 1.0)

    class Given(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            self.classes_ = np.unique(y)
            return self

        def predict_proba(self, X):
            return np.asarray(X)

    with pytest.warns(UserWarning, match="are exactly 0"):
        fitted = CalibratedClassifier(Given()).fit(probs, labels, weights)
    assert fitted.zero_ == zero_of(probs, weights=weights)[0] != zero_of(probs)[0]


@pytest.mark.parametrize("labels", [["10", "9", "1", "100"], [3, 1, 0, 2]])
def test_boosted_trees_are_calibrated(labels):
    catboost = pytest.importorskip("catboost", reason="in the weekly job")
    xgboost = pytest.importorskip("xgboost", reason="in the weekly job")
    x, numbers = make_classification(900, n_informative=6, n_classes=4, random_state=0)
    y = np.array(labels)[numbers]
    settings = {"iterations": 60, "depth": 3, "verbose": 0, "thread_count": 1}
    model = catboost.CatBoostClassifier(**settings, allow_writing_files=False)
    alone = (clone(model).fit(x, y).predict(x).ravel() == y).mean()
    assert CalibratedClassifier(model, cv=3).fit(x, y).score(x, y) == pytest.approx(alone, abs=0.05)
    if y.dtype.kind == "i":  # it takes nothing else
        model = xgboost.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1)
        alone = clone(model).fit(x, y).score(x, y)
        found = CalibratedClassifier(model, VectorScaling(), cv=3).fit(x, y).score(x, y)
        assert found == pytest.approx(alone, abs=0.05)


def test_a_forest_s_zeros_are_less_than_one_tree():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_500, 4))
    y = (X.sum(axis=1) + rng.standard_normal(1_500) > 0).astype(int)
    forest = RandomForestClassifier(50, random_state=0)
    with pytest.warns(UserWarning, match="the nearest others are 0.02 away"):
        model = CalibratedClassifier(forest).fit(X[:1_000], y[:1_000])
    assert model.zero_ == pytest.approx(0.001)
    found = negative_log_likelihood(model.predict_proba(X[1_000:]), y[1_000:])
    alone = forest.fit(X[:1_000], y[:1_000]).predict_proba(X[1_000:])
    assert found < negative_log_likelihood(alone, y[1_000:])


def test_decision_values_of_pairs_are_refused():
    X, y = load_iris(return_X_y=True)
    for svm in (SVC(decision_function_shape="ovo"), make_pipeline(StandardScaler(), SVC())):
        svm.set_params(**{k: "ovo" for k in svm.get_params() if k.endswith("function_shape")})
        with pytest.raises(ValueError, match=r"estimator: .*'ovo'.* set it to 'ovr'"):
            CalibratedClassifier(svm).fit(X, y)
    assert CalibratedClassifier(SVC()).fit(X, y).score(X, y) > 0.9
