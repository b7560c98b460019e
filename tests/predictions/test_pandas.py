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
    "NLL": metrics.negative_log_likelihood,
    "accuracy": metrics.accuracy,
    "top label": lambda *given: np.stack(metrics.top_label(*given)),
    "temperature": lambda *given: TemperatureScaling(inputs="probs").fit(*given).temperature_,
    "vector": lambda p, *y: VectorScaling("probs").fit(p, *y).predict_proba(p),
}
BY_NUMBER = USES | {
    "sets": lambda p, y: decisions.ConformalSets().fit(p, y).predict(p),
    "priors": lambda p, _: decisions.adjust_priors(p, pd.Series([0.2, 0.3, 0.5]), EVEN),
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
@pytest.mark.parametrize("use", BY_NUMBER)
def test_rows_count_by_position(use, labels):
    expected = BY_NUMBER[use](PROBS, LABELS)
    found = BY_NUMBER[use](FRAME, NUMBERS[labels])
    np.testing.assert_allclose(found, expected, rtol=1e-6)  # columns lie otherwise in memory


@pytest.mark.parametrize("kind", ["Float64", "Float32", "float32[pyarrow]", "mixed"])
@pytest.mark.parametrize("use", USES)
def test_numbers_that_could_be_missing(use, kind):
    types = kind if kind != "mixed" else {"cat": "Float64", "dog": "float64", "owl": "float32"}
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    frame = FRAME.astype(types)
    expected = np.float32(PROBS) if "32" in kind else PROBS.astype(np.float64)
    found = USES[use](frame, SERIES.astype("Int64"))
    np.testing.assert_allclose(found, USES[use](expected, LABELS), rtol=1e-6)
    assert as_predictions(frame).array.dtype == expected.dtype
    if kind != "mixed":
        gaps = frame.where(FRAME > 0.1)
        with pytest.raises(
            ValueError, match=r"^(probs|logits).*: (found values that are missing|.*nan)"
        ):
            USES[use](gaps, LABELS)
    missing = SERIES.astype("Int64").where(SERIES > 0)
    with pytest.raises(ValueError, match=r"^labels: .*(missing|leave out samples without a label)"):
        USES[use](frame, missing)


@pytest.mark.parametrize("labels", TEXTS)
@pytest.mark.parametrize("use", USES)
def test_labels_by_name(use, labels):
    """Codes of categories are in the order of the alphabet, or any other: they never count."""
    found = USES[use](as_predictions(FRAME, TEXTS[labels], classes=FRAME.columns))
    np.testing.assert_allclose(found, USES[use](PROBS, LABELS), rtol=1e-6)
    with pytest.raises(ValueError, match=r"^labels: expected real numbers"):
        USES[use](FRAME, TEXTS[labels])


@pytest.mark.parametrize("kind", ["bool", "boolean", "category"])
def test_the_positive_class(kind):
    labels = pd.Series(BINARY == 1, index=INDEX).astype(kind)
    given = as_predictions(SCORES, labels, positive=True)
    found = metrics.expected_calibration_error(given)
    assert found == metrics.expected_calibration_error(PROBS[:, 0], BINARY)
    fitted = PlattScaling(inputs="probs").fit(given)
    expected = PlattScaling(inputs="probs").fit(PROBS[:, 0], BINARY)
    np.testing.assert_array_equal(fitted.predict_proba(SCORES), expected.predict_proba(PROBS[:, 0]))


@pytest.mark.parametrize("use", ["report", "sets"])
def test_rows_in_another_order_are_refused(use):
    """The same index in the same order, or none of these rows, is taken by position."""
    labels = SCORES.copy() * 0 + BINARY
    moved = labels.sort_index()

    def of(labels):
        if use == "sets":
            sets = FRAME.set_axis(SCORES.index) > 0.3
            return decisions.set_coverage(sets, labels.astype(int))
        return calib_audit.report({"score": SCORES, "label": labels}, cross_fit=0).measures.ece

    assert of(labels) == of(labels.set_axis(labels.index + N))
    with pytest.raises(ValueError, match=r"^label.*in the same order, found the index in another"):
        of(moved)


PLATT = PlattPerGroup(inputs="probs").fit(SCORES, BINARY, groups=np.arange(N) % 10)


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("blocks", lambda b: metrics.calibration_error_interval(SCORES, BINARY, blocks=b)),
        ("blocks", lambda b: metrics.calibration_test(SCORES, BINARY, draws=9, blocks=b)),
        ("blocks", lambda b: metrics.cox_line(SCORES, BINARY, blocks=b)),
        ("blocks", lambda b: comparing.paired_difference(SCORES, BINARY, blocks=b)),
        ("sample_weight", lambda w: comparing.paired_difference(SCORES, BINARY, sample_weight=w)),
        ("groups", lambda g: PLATT.fit(SCORES, BINARY, groups=g)),
        ("groups", lambda g: PLATT.predict_proba(SCORES, groups=g)),
    ],
)
def test_blocks_and_groups_in_another_order_are_refused(name, use):
    of_rows = pd.Series(np.arange(N) % 10, index=SCORES.index)
    use(of_rows)
    with pytest.raises(ValueError, match=f"^{name}: expected the rows of .* the index in another"):
        use(of_rows.sample(frac=1, random_state=0))


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
        (FRAME.astype("Float64").where(FRAME > 0.1), LABELS, "probs"),
        (FRAME.where(FRAME > 0.1), LABELS, "probs"),
        (FRAME.astype(str), LABELS, "probs"),
        (FRAME.assign(name="a"), LABELS, "probs"),
        (FRAME, SERIES.astype("Int64").where(SERIES > 0), "labels"),
        (FRAME, SERIES.where(SERIES > 0), "labels"),
        (FRAME, SERIES.astype(float), "labels"),
        (FRAME, SERIES.to_frame(), "labels"),
        (FRAME, SERIES[1:], "labels"),
    ],
)
def test_what_is_missing_or_no_number_is_refused(probs, labels, named):
    for use in (metrics.expected_calibration_error, decisions.ConformalSets().fit):
        with pytest.raises(ValueError, match=f"^{named}: "):
            use(probs, labels)


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


def test_names_that_frames_carry_are_held_against_each_other():
    rows = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]
    frame = pd.DataFrame(rows, columns=["cat", "dog"])
    with pytest.raises(ValueError, match=r"classes: expected a list, .* found a set"):
        as_predictions(rows, ["cat", "dog", "cat"], classes={"cat", "dog"})
    with pytest.raises(
        ValueError, match=r"classes: expected the order of the columns, 'cat', 'dog'"
    ):
        as_predictions(frame, ["cat", "dog", "cat"], classes=["dog", "cat"])
    named = as_predictions(frame, ["cat", "dog", "cat"], classes=["cat", "dog"])
    assert named.labels.tolist() == [0, 1, 0]
    shuffled = pd.Series([0, 1, 0], index=[2, 1, 0])
    for call in (as_predictions, metrics.expected_calibration_error):
        with pytest.raises(ValueError, match=r"^labels: .* found the index in another"):
            call(frame, shuffled)


CAT_AND_DOG = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]]


def frames(columns):
    """The same rows in each library that is installed."""
    yield pd.DataFrame(CAT_AND_DOG, columns=list(columns))
    for name in ("polars", "pyarrow"):
        library = pytest.importorskip(name)
        table = library.DataFrame if name == "polars" else library.table
        yield table(dict(zip(map(str, columns), zip(*CAT_AND_DOG, strict=True), strict=True)))


@pytest.mark.parametrize("columns", [["cat", "dog"], ["p_cat", "p_dog"], ["prob cat", "prob dog"]])
@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Index, pd.Series, iter])
def test_classes_against_the_names_of_columns(columns, kind):
    for frame in frames(columns):
        named = as_predictions(frame, ["cat", "dog", "cat"], classes=kind(["cat", "dog"]))
        assert named.labels.tolist() == [0, 1, 0]
        with pytest.raises(ValueError, match=r"^classes: expected the order of the columns"):
            as_predictions(frame, ["cat", "dog", "cat"], classes=kind(["dog", "cat"]))


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


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("correct", lambda c, y: metrics.reliability_bins(c, y)),
        ("correct", lambda c, y: decisions.risk_coverage(c, y)),
        ("labels", lambda c, y: metrics.CalibrationError().update(c, y)),
        ("labels", lambda c, y: PlattScaling(inputs="probs").fit(c, y)),
        ("sample_weight", lambda c, y: as_predictions(c, BINARY, sample_weight=y)),
        ("sample_weight", lambda c, y: PlattScaling(inputs="probs").fit(c, BINARY, y)),
        ("second", lambda c, y: comparing.paired_difference(c, y)),
    ],
)
def test_rows_of_another_argument_in_another_order_are_refused(name, use):
    others = pd.Series(BINARY, index=SCORES.index[::-1])
    with pytest.raises(ValueError, match=f"^{name}: expected the rows of"):
        use(SCORES, others)
    use(SCORES, others.set_axis(SCORES.index))


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
