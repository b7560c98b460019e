"""Series and data frames: taken by position, whatever their index, or refused; never misread."""

import numpy as np
import pytest

from calib_utils import audit, decisions, metrics, report
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import PlattScaling, TemperatureScaling, VectorScaling

pd = pytest.importorskip("pandas")

N = 200
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), N)
LABELS = (PROBS.cumsum(axis=1) < RNG.random((N, 1))).sum(axis=1)
BINARY = (PROBS[:, 0] > RNG.random(N)).astype(int)
INDEX = RNG.permutation(N)
NAMES = np.array(["cat", "dog", "owl"])
FRAME = pd.DataFrame(PROBS, columns=list(NAMES), index=INDEX)
SCORES = pd.Series(PROBS[:, 0], index=INDEX[::-1])
SERIES = pd.Series(LABELS, index=np.sort(INDEX)[::-1])

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
    "priors": lambda p, _: decisions.adjust_priors(p, pd.Series([0.2, 0.3, 0.5], [2, 1, 0]), EVEN),
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
    "other order": pd.Series(pd.Categorical(NAMES[LABELS], NAMES[::-1])),
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
    assert report.mcnemar(right, ~right[::-1]) == report.mcnemar(BINARY, 1 - BINARY[::-1])
    sets = decisions.set_coverage(FRAME > 0.3, SERIES)
    assert sets == decisions.set_coverage(PROBS > 0.3, LABELS)
    assert report.holm(pd.Series([0.01, 0.5], [1, 0])) == report.holm([0.01, 0.5])


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
    found = audit.report(frame, positive="dog")
    expected = audit.report({"label": labels, "score": PROBS[:, 0]}, positive="dog")
    np.testing.assert_array_equal(found.bins.array, expected.bins.array)
    gaps = frame.assign(score=frame["score"].where(frame["score"] > 0.1))
    with pytest.raises(ValueError, match=r"score: "):
        audit.report(gaps, positive="dog")


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
        with pytest.warns(UserWarning, match=r"labels: their index has .* a different order"):
            call(frame, shuffled)
