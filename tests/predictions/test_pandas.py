"""Series and data frames: taken by position, whatever their index, or refused; never misread."""

import numpy as np
import pytest

import calib_audit
from calib_utils import comparing, decisions, metrics
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    PlattPerGroup,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    load,
)

pd = pytest.importorskip("pandas")

N = 200
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), N)
LABELS = (PROBS.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
BINARY = (PROBS[:, 0] > RNG.random(N)).astype(int)
INDEX = RNG.permutation(N)
NAMES = np.array(["cat", "dog", "owl"])
FRAME = pd.DataFrame(PROBS, columns=list(NAMES), index=INDEX)
SCORES = pd.Series(PROBS[:, 0], index=INDEX[::-1] + N)  # the names of other rows
SERIES = pd.Series(LABELS, index=np.sort(INDEX)[::-1] + 2 * N)

USES = {
    "ECE": metrics.expected_calibration_error,
    "temperature": lambda *given: TemperatureScaling(inputs="probs").fit(*given).temperature_,
}
EVEN = [1 / 3] * 3
NUMBERS = {
    "int64": SERIES,
    "Int64": SERIES.astype("Int64"),
    "category": SERIES.astype("category"),
    "index": pd.Index(LABELS),
}
TEXTS = {
    "text": pd.Series(NAMES[LABELS], index=INDEX),
    "string": pd.Series(NAMES[LABELS], index=INDEX).astype("string"),
    "category": pd.Series(NAMES[LABELS], index=INDEX).astype("category"),
    "other order": pd.Series(pd.Categorical(NAMES[LABELS], NAMES[::-1]), index=INDEX),
}


@pytest.mark.parametrize("labels", NUMBERS)
@pytest.mark.parametrize("use", USES)
def test_rows_count_by_position(use, labels):
    found = USES[use](FRAME, NUMBERS[labels])
    expected = USES[use](PROBS, LABELS)
    np.testing.assert_allclose(found, expected, rtol=1e-6)  # columns lie otherwise in memory


@pytest.mark.parametrize("kind", ["Float64", "Float32", "float32[pyarrow]", "mixed"])
def test_numbers_that_could_be_missing(kind):
    types = kind if kind != "mixed" else {"cat": "Float64", "dog": "float64", "owl": "float32"}
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    frame = FRAME.astype(types)
    given = as_predictions(frame, SERIES.astype("Int64"))
    expected = np.float32(PROBS) if "32" in kind else PROBS.astype(np.float64)
    assert given.array.dtype == expected.dtype
    np.testing.assert_allclose(given.array, expected, rtol=1e-6)
    np.testing.assert_array_equal(given.labels, LABELS)
    if kind != "mixed":
        with pytest.raises(ValueError, match=r"^probs: (found values that are missing|.*nan)"):
            as_predictions(frame.where(FRAME > 0.1), LABELS)
    missing = SERIES.astype("Int64").where(SERIES > 0)
    with pytest.raises(ValueError, match=r"^labels: .*(missing|leave out samples without a label)"):
        as_predictions(frame, missing)


@pytest.mark.parametrize("labels", TEXTS)
def test_labels_by_name(labels):
    """Codes of categories are in the order of the alphabet, or any other: they never count."""
    given = as_predictions(FRAME, TEXTS[labels], classes=FRAME.columns)
    np.testing.assert_array_equal(given.labels, LABELS)
    with pytest.raises(ValueError, match=r"^labels: expected real numbers"):
        as_predictions(FRAME, TEXTS[labels])


@pytest.mark.parametrize("kind", ["bool", "boolean", "category"])
def test_the_positive_class(kind):
    labels = pd.Series(BINARY == 1, index=INDEX).astype(kind)
    given = as_predictions(SCORES, labels, positive=True)
    found = metrics.expected_calibration_error(given)
    assert found == metrics.expected_calibration_error(PROBS[:, 0], BINARY)
    fitted = PlattScaling(inputs="probs").fit(given)
    expected = PlattScaling(inputs="probs").fit(PROBS[:, 0], BINARY)
    np.testing.assert_array_equal(fitted.predict_proba(SCORES), expected.predict_proba(PROBS[:, 0]))


PLATT = PlattPerGroup(inputs="probs").fit(SCORES, BINARY, groups=np.arange(N) % 10)
OF_ROWS = {
    "label of a report": lambda y: calib_audit.report({"score": SCORES, "label": y}, cross_fit=0),
    "labels of predictions": lambda y: as_predictions(SCORES, y),
    "labels of a metric": lambda y: metrics.expected_calibration_error(SCORES, y),
    "labels of a batch": lambda y: metrics.CalibrationError().update(SCORES, y),
    "labels of a fit": lambda y: PlattScaling(inputs="probs").fit(SCORES, y),
    "labels of sets": lambda y: decisions.set_coverage(FRAME.set_axis(SCORES.index) > 0.3, y),
    "correct of bins": lambda y: metrics.reliability_bins(SCORES, y),
    "correct of a curve": lambda y: decisions.risk_coverage(SCORES, y),
    "second": lambda y: comparing.paired_difference(SCORES, y),
    "sample_weight": lambda w: as_predictions(SCORES, BINARY, sample_weight=w),
    "sample_weight of a fit": lambda w: PlattScaling(inputs="probs").fit(SCORES, BINARY, w),
    "sample_weight of a pair": lambda w: comparing.paired_difference(
        SCORES, BINARY, sample_weight=w
    ),
    "blocks of an interval": lambda b: metrics.calibration_error_interval(SCORES, BINARY, blocks=b),
    "blocks of a test": lambda b: metrics.calibration_test(SCORES, BINARY, draws=9, blocks=b),
    "blocks of a line": lambda b: metrics.cox_line(SCORES, BINARY, blocks=b),
    "blocks of a pair": lambda b: comparing.paired_difference(SCORES, BINARY, blocks=b),
    "groups of a fit": lambda g: PLATT.fit(SCORES, BINARY, groups=g),
    "groups": lambda g: PLATT.predict_proba(SCORES, groups=g),
}


@pytest.mark.parametrize("named", OF_ROWS)
def test_rows_in_another_order_are_refused(named):
    """The same index in the same order, or none of these rows, is taken by position."""
    numbers = np.arange(N) % 10 if named.startswith(("blocks", "groups")) else BINARY
    of_rows = pd.Series(numbers, index=SCORES.index)
    OF_ROWS[named](of_rows)
    OF_ROWS[named](of_rows.set_axis(of_rows.index + N))
    message = f"^{named.split()[0]}: expected the rows of .* order, found the index in another"
    with pytest.raises(ValueError, match=message):
        OF_ROWS[named](of_rows.sample(frac=1, random_state=0))


def test_weights_pairs_and_sets():
    weights = pd.Series(PROBS[:, 1], index=INDEX).astype("Float64")
    found = metrics.brier_score(as_predictions(FRAME, SERIES, sample_weight=weights))
    expected = as_predictions(PROBS, LABELS, sample_weight=PROBS[:, 1])
    assert found == metrics.brier_score(expected)
    right = pd.Series(BINARY == 1, index=INDEX).astype("boolean")
    area = decisions.risk_coverage(SCORES, right).area
    assert area == decisions.risk_coverage(PROBS[:, 0], BINARY).area
    given = as_predictions(confidence=SCORES, correct=right)
    assert area == decisions.risk_coverage(given).area
    other = (~right[::-1]).set_axis(right.index + N)
    assert comparing.mcnemar(right, other) == comparing.mcnemar(BINARY, 1 - BINARY[::-1])
    sets = decisions.set_coverage(FRAME > 0.3, SERIES)
    assert sets == decisions.set_coverage(PROBS > 0.3, LABELS)
    assert comparing.holm(pd.Series([0.01, 0.5], [1, 0])) == comparing.holm([0.01, 0.5])


@pytest.mark.parametrize(
    ("probs", "labels", "named"),
    [
        (FRAME.where(FRAME > 0.1), LABELS, "probs"),
        (FRAME.astype(str), LABELS, "probs"),
        (FRAME.assign(name="a"), LABELS, "probs"),
        (FRAME, SERIES.where(SERIES > 0), "labels"),
        (FRAME, SERIES.astype(float), "labels"),
        (FRAME, SERIES.to_frame(), "labels"),
        (FRAME, SERIES[1:], "labels"),
    ],
)
def test_what_is_missing_or_no_number_is_refused(probs, labels, named):
    with pytest.raises(ValueError, match=f"^{named}: "):
        as_predictions(probs, labels)


def test_missing_names_are_refused():
    missing = TEXTS["string"].where(SERIES.to_numpy() > 0)
    for labels in (missing, missing.astype("category"), missing.astype(object)):
        with pytest.raises(ValueError, match=r"^labels: found .*, which is missing"):
            as_predictions(FRAME, labels, classes=NAMES)


@pytest.mark.parametrize("kind", ["category", "string", "object"])
def test_a_report_of_a_frame(kind):
    pytest.importorskip("narwhals")
    labels = NAMES[BINARY]
    frame = pd.DataFrame({"label": labels, "score": PROBS[:, 0]}, index=INDEX)
    frame = frame.astype({"label": kind, "score": "Float64"})
    found = calib_audit.report(frame, positive="dog")
    expected = calib_audit.report({"label": labels, "score": PROBS[:, 0]}, positive="dog")
    np.testing.assert_array_equal(found.bins.array, expected.bins.array)
    gaps = frame.assign(score=frame["score"].where(frame["score"] > 0.1))
    with pytest.raises(ValueError, match=r"score: "):
        calib_audit.report(gaps, positive="dog")


CAT_AND_DOG = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]


def frames(columns):
    """The same rows in each library that is installed."""
    yield pd.DataFrame(CAT_AND_DOG, columns=list(columns))
    for name in ("polars", "pyarrow"):
        library = pytest.importorskip(name)
        table = library.DataFrame if name == "polars" else library.table
        yield table(dict(zip(map(str, columns), zip(*CAT_AND_DOG, strict=True), strict=True)))


@pytest.mark.parametrize("columns", [["cat", "dog"], ["p_cat", "p_dog"], ["prob cat", "prob dog"]])
@pytest.mark.parametrize("kind", [list, np.array, pd.Index, pd.Series, iter])
def test_classes_against_the_names_of_columns(columns, kind):
    for frame in frames(columns):
        named = as_predictions(frame, ["cat", "dog", "cat"], classes=kind(["cat", "dog"]))
        assert named.labels.tolist() == [0, 1, 0]
        with pytest.raises(ValueError, match=r"^classes: expected the order of the columns"):
            as_predictions(frame, ["cat", "dog", "cat"], classes=kind(["dog", "cat"]))


def test_a_set_of_classes_has_no_order():
    with pytest.raises(ValueError, match=r"classes: expected a list, .* found a set"):
        as_predictions(CAT_AND_DOG, ["cat", "dog", "cat"], classes={"cat", "dog"})


def test_names_of_columns_that_say_nothing_of_the_classes():
    labels = ["cat", "dog", "cat"]
    for columns in (["a", "b"], ["bobcat", "p_cat"], ["0", "1"]):
        classes = ["dog", "cat"] if "bobcat" in columns else ["cat", "dog"]
        for frame in frames(columns):
            given = as_predictions(frame, labels, classes=classes)
            assert given.labels.tolist() == [classes.index(label) for label in labels]
    for frame in frames(["p_10", "p_0"]):
        assert as_predictions(frame, [10, 0, 10], classes=[10, 0]).labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize("columns", [[1, 0], [1, 2], ["p_1", "p_0"], ["class 7", "class 8"]])
def test_numbers_of_classes_are_no_positions(columns):
    """As ``DataFrame(predict_proba(X), columns=model.classes_)`` has them."""
    numbers = [int(str(name)[-1]) for name in columns]
    labels = np.array(numbers)[[0, 1, 0]]
    stream = metrics.CalibrationError()
    for frame in frames(columns):
        for use in (metrics.expected_calibration_error, stream.update, TemperatureScaling().fit):
            with pytest.raises(ValueError, match=r"^labels: .* are all in the columns' names"):
                use(frame, labels)
        named = as_predictions(frame, labels, classes=numbers)
        assert metrics.accuracy(named) == 1
    if 0 not in numbers:
        for frame in frames(columns):  # which are positions
            assert metrics.accuracy(frame, [0, 1, 0]) == 1


def test_columns_in_another_order_than_in_fit(tmp_path):
    fitted = VectorScaling("probs").fit(as_predictions(FRAME, LABELS))
    expected = fitted.predict_proba(PROBS)
    fitted.save(tmp_path / "fitted.npz")
    for method in (fitted, load(tmp_path / "fitted.npz")):
        turned = FRAME[["owl", "cat", "dog"]]
        with pytest.raises(ValueError, match=r"^logits \(inputs='probs'\): expected the columns"):
            method.predict_proba(turned)
        for same in (FRAME, turned[method.columns_], FRAME.set_axis(["a", "b", "c"], axis=1)):
            np.testing.assert_allclose(method.predict_proba(same), expected, rtol=1e-9)
    fitted.fit(PROBS, LABELS).predict_proba(turned)  # nothing is known of these


def test_frequencies_have_the_order_of_the_columns():
    """``value_counts`` sorts them by how frequent they are."""
    train = np.repeat(NAMES, [30, 20, 50])
    share = pd.Series(train).value_counts(normalize=True)
    assert share.index.tolist() == ["owl", "cat", "dog"]
    sums = decisions.adjust_priors(PROBS, EVEN, [0.3, 0.2, 0.5])
    for probs in (PROBS, FRAME, FRAME.add_prefix("p_")):
        for use in (
            lambda probs: decisions.adjust_priors(probs, EVEN, share),
            lambda probs: decisions.adjust_priors(probs, share, EVEN),
            lambda probs: decisions.estimate_priors(probs, share),
        ):
            with pytest.raises(ValueError, match=r"^(old|new): .* found the index 'owl', 'cat'"):
                use(probs)
        sorted_share = share.loc[NAMES]
        np.testing.assert_array_equal(decisions.adjust_priors(probs, EVEN, sorted_share), sums)
    turned = FRAME[["owl", "cat", "dog"]]
    found = decisions.adjust_priors(turned, EVEN, share)
    np.testing.assert_allclose(found[:, [1, 2, 0]], sums, rtol=1e-12)
    with pytest.raises(ValueError, match=r"^new: "):
        decisions.adjust_priors(turned, EVEN, sorted_share)
