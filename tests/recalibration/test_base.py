"""What all recalibrators have in common: refusals, files, masked classes, zeros, absent classes."""

import copy
import datetime
import math
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

import calib_audit
import calib_utils
from calib_utils import recalibration
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    BetaCalibration,
    CalibratedModule,
    HistogramBinning,
    OneVersusRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    load,
)
from calib_utils.records import load_record
from calib_utils.records.npz import read_npz, write_npz
from tests.recalibration.recalibration_cases import (
    ALL_BINARY,
    ALL_MULTICLASS,
    BINARY,
    MULTICLASS,
    binary,
    fitted,
    masked,
    multiclass,
    sure,
)

BY_NAME = {
    **{name: (make, multiclass(200, 4)) for name, make in ALL_MULTICLASS.items()},
    **{f"binary {name}": (make, binary(200)) for name, make in ALL_BINARY.items()},
}
every_multiclass_method = pytest.mark.parametrize(
    "make", ALL_MULTICLASS.values(), ids=ALL_MULTICLASS
)


def test_fit_that_fails_leaves_the_method_as_it_was(monkeypatch):
    logits, labels = multiclass(200, 4)
    probs = softmax(logits, axis=1).round(2)
    fresh, method = TemperatureScaling(inputs="probs"), TemperatureScaling(inputs="probs")
    with pytest.warns(UserWarning, match="exactly 0"):
        method.fit(as_predictions(probs, labels, rescale=True))
    before = dict(vars(method))
    monkeypatch.setattr(TemperatureScaling, "_fit", lambda *_: 1 / 0)
    for one in (method, fresh):
        with pytest.raises(ZeroDivisionError):
            one.fit(softmax(logits, axis=1), labels)
    assert vars(method) == before
    assert not [name for name in vars(fresh) if name.endswith("_")]


@pytest.mark.parametrize("name", ["temperature", "matrix", "one-versus-rest isotonic"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_predict_proba_gives_half_precision_back_as_it_came(dtype, name):
    logits, labels = multiclass(2_000, 4)
    logits = torch.tensor(logits).to(dtype)
    make = ALL_MULTICLASS[name]
    for own in (logits, logits[:, 1] - logits[:, 0])[: 2 if name == "temperature" else 1]:
        fitted = make().fit(own, np.minimum(labels, 2 * own.ndim - 1))
        probs, logs = fitted.predict_proba(own), fitted.predict_log_proba(own)
        assert probs.dtype == logs.dtype == dtype
        exact = fitted.predict_proba(own.double())
        step = torch.finfo(dtype).eps
        torch.testing.assert_close(probs.double(), exact, rtol=step, atol=1e-7)
        torch.testing.assert_close(logs.double(), exact.log(), rtol=step, atol=1e-7)
        if name == "temperature":
            assert_classes_stay(own, probs)
    if dtype == torch.float16:
        in_numpy = fitted.predict_proba(own.numpy())
        np.testing.assert_array_equal(in_numpy, probs.numpy())
        assert in_numpy.dtype == np.float16


def assert_classes_stay(logits, probs):
    if logits.ndim == 1:
        assert ((probs > 0.5) == (logits > 0)).all()
    else:
        assert (probs.argmax(dim=1) == logits.argmax(dim=1)).all()


def test_fit_says_what_to_do_with_wrong_shapes():
    with pytest.raises(ValueError, match=r"HistogramBinning takes shape \(N,\).*OneVersusRest"):
        HistogramBinning().fit(np.zeros((4, 3)), [0, 1, 2, 0])
    with pytest.raises(ValueError, match=r"VectorScaling takes shape \(N, K\), found \(4,\)"):
        VectorScaling().fit(np.zeros(4), [0, 1, 1, 0])


def test_predictions_have_the_shape_of_the_fit(tmp_path):
    for use in (
        lambda: VectorScaling().predict_proba(np.zeros((2, 3))),
        lambda: VectorScaling().save(tmp_path / "x.npz"),
        lambda: VectorScaling().n_parameters_,
    ):
        with pytest.raises(RuntimeError, match="VectorScaling is not fitted; call fit"):
            use()
    of_two = TemperatureScaling().fit(*binary(100))
    with pytest.raises(ValueError, match="expected 2 classes, as in fit, found 3"):
        of_two.predict_proba(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"expected shape \(N,\), as in fit, found \(5, 2\)"):
        of_two.predict_proba(np.zeros((5, 2)))
    for k in (2, 4):
        logits, labels = multiclass(200, k)
        fitted = TemperatureScaling().fit(logits, labels)
        with pytest.raises(ValueError, match=r"logits: .*for one row.* logits\[:1\]"):
            fitted.predict_proba(logits[0])
        assert fitted.predict_proba(logits[:1]).shape == (1, k)


@pytest.mark.parametrize(
    "method",
    [
        PlattScaling(inputs="probs"),
        VectorScaling("probs"),
        OneVersusRest(PlattScaling(), inputs="probs"),
    ],
    ids=repr,
)
def test_fit_refuses_scores_that_are_no_probabilities(method):
    scores = np.array([[0.2, 0.8], [1.3, -0.3]])
    scores = scores[:, 0] if isinstance(method, PlattScaling) else scores
    with pytest.raises(ValueError, match=r"logits \(inputs='probs'\): expected values from 0 to 1"):
        method.fit(scores, [0, 1])


@pytest.mark.parametrize(
    ("make", "name", "values"),
    [
        (HistogramBinning, "n_bins", [0, 2.5, True, "15"]),
        (HistogramBinning, "strategy", ["mass"]),
        (PlattScaling, "smooth_targets", ["no", 1, None]),
        (PlattScaling, "inputs", ["probabilities"]),
        (TemperatureScaling, "temperature", [0, -1.0, np.inf, np.nan, "1.5", True]),
        (recalibration.MatrixScaling, "max_steps", [0, -1, 1.5, True]),
        (recalibration.MatrixScaling, "regularization", [-1.0, np.nan, np.inf, "1"]),
        (recalibration.DirichletCalibration, "regularization", [-1.0, np.nan, np.inf, None]),
        (recalibration.StructuredMatrixScaling, "regularization", [-1.0, np.nan, np.inf]),
    ],
)
def test_fit_and_init_refuse_bad_arguments_by_name(make, name, values):
    data = binary(200) if make in (HistogramBinning, PlattScaling) else multiclass(200, 4)
    for value in values:
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            make(**{name: value})
        changed = make()
        setattr(changed, name, value)
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            changed.fit(*data)


@every_multiclass_method
def test_fit_names_an_absent_class_which_keeps_a_probability(make):
    logits, labels = multiclass(400, 5)
    kept = labels != 3
    with pytest.warns(UserWarning, match=r"1 of 5 classes have no sample \(3\)"):
        fitted = make().fit(logits[kept], labels[kept])
    new = 4 * np.eye(5)
    probs = fitted.predict_proba(new)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert probs[3].argmax() == 3
    assert probs[3, 3] > 0.3


def test_fit_warns_where_it_was_called():
    logits, _ = multiclass(100, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for make in ALL_MULTICLASS.values():
            make().fit(logits, np.minimum(logits.argmax(axis=1), 2))
    assert len(caught) > len(ALL_MULTICLASS)
    assert {warning.filename for warning in caught} == {__file__}


def test_weights_of_predictions_are_relative():
    z, labels = binary(60)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    slopes = [
        PlattScaling(smooth_targets=True)
        .fit(as_predictions(logits=z, labels=labels, sample_weight=times * weights))
        .slope_
        for times in (1, 10)
    ]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-9)


def test_save_keeps_a_fixed_temperature(tmp_path):
    TemperatureScaling(temperature=1.5).save(tmp_path / "fixed.npz")
    assert load(tmp_path / "fixed.npz").predict_proba(-np.eye(3)).shape == (3, 3)


def test_load_says_that_a_file_is_damaged(tmp_path):
    path = tmp_path / "fitted.npz"
    OneVersusRest(PlattScaling()).fit(*multiclass(100, 3)).save(path)
    for content in [path.read_bytes()[:-97], b"", b"not a file of arrays"]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"contains no recalibrator, or is damaged.* version"):
            load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.npz")


def rewritten(path, **changes):
    """Save the file again with other numbers, as nobody should."""
    arrays, facts = read_npz(path)
    for name, value in changes.items():
        if isinstance(value, np.ndarray):
            arrays |= {"changed": value}
            value = {"array": "changed"}
        facts["learned"][name] = value
    write_npz(path, arrays, facts)


NONSENSE = [
    ("temperature", {"temperature_": math.nan}),
    ("temperature", {"temperature_": "2"}),
    ("temperature", {"n_classes_": 0}),
    ("temperature", {"shape_": "(K,)"}),
    ("ensemble", {"weights_": np.ones(4)}),
    ("vector", {"weights_": np.ones((4, 1))}),
    ("vector", {"weights_": np.ones(3)}),
    ("vector", {"intercept_": np.array([0, np.nan, 0, 0])}),
    ("matrix", {"weights_": np.ones((4, 5))}),
    ("dirichlet", {"weights_": np.full((4, 4), np.inf)}),
    ("one-versus-rest platt", {"calibrators_": []}),
    ("binary platt", {"slope_": math.inf}),
    ("binary isotonic", {"thresholds_": np.arange(3.0)}),
    ("binary equal width", {"probabilities_": np.full(9, 0.5)}),
    ("binary bbq", {"thresholds_": np.arange(3.0)}),
]


@pytest.mark.parametrize(("name", "change"), NONSENSE)
def test_load_refuses_a_wrong_type_or_shape_and_what_is_not_finite(name, change, tmp_path):
    make, data = BY_NAME[name]
    path = tmp_path / "fitted.npz"
    make().fit(*data).save(path)
    rewritten(path, **change)
    with pytest.raises(ValueError, match=f"{next(iter(change))}: expected"):
        load(path)


def test_save_says_when_from_what_and_by_which_version(tmp_path):
    OneVersusRest(PlattScaling()).fit(*multiclass(200, 4)).save(tmp_path / "fitted.npz")
    again = load(tmp_path / "fitted.npz")
    today = datetime.datetime.now(datetime.UTC).date()
    assert today - datetime.date.fromisoformat(again.date_) <= datetime.timedelta(days=1)
    assert (again.n_samples_, again.version_) == (200, calib_utils.__version__)


def test_save_takes_numpy_scalars(tmp_path):
    logits, labels = multiclass(200, 4)
    fitted = recalibration.MatrixScaling(np.float32(0.5), max_steps=np.int64(300))
    fitted.fit(logits, labels).save(tmp_path / "fitted.npz")
    again = load(tmp_path / "fitted.npz")
    assert again.regularization == 0.5
    np.testing.assert_array_equal(again.predict_proba(logits), fitted.predict_proba(logits))


@pytest.mark.parametrize(
    ("method", "changes", "data"),
    [
        (HistogramBinning(10), {"n_bins": 20}, binary(200)),
        (TemperatureScaling(), {"temperature": 3.0}, multiclass(200, 4)),
        (OneVersusRest(HistogramBinning()), {"base": PlattScaling()}, multiclass(200, 4)),
    ],
)
def test_predict_proba_asks_for_another_fit_after_changes(method, changes, data, tmp_path):
    method = copy.deepcopy(method).fit(*data)
    for name, value in changes.items():
        setattr(method, name, value)
    for use in (lambda: method.predict_proba(data[0]), lambda: method.save(tmp_path / "x.npz")):
        with pytest.raises(RuntimeError, match="changed since; call fit again"):
            use()
    assert method.fit(*data).predict_proba(data[0]).shape == data[0].shape


def test_fit_doubts_probabilities_where_logits_belong():
    logits, labels = multiclass(300, 4)
    probs = softmax(logits, axis=1)
    with pytest.warns(UserWarning, match="all are from 0 to 1, like probabilities"):
        VectorScaling().fit(probs, labels)
    fitted = VectorScaling().fit(logits, labels)
    with pytest.warns(UserWarning, match="all are from 0 to 1, like probabilities"):
        fitted.predict_proba(probs)
    z, labels = binary()
    with pytest.warns(UserWarning, match="all are from 0 to 1, .* inputs='probs'"):
        PlattScaling().fit(expit(z), labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PlattScaling().fit(z, labels).predict_proba([0.4])


@pytest.mark.parametrize(
    "header", ['{"class": "Path", "arguments": {}, "learned": {}}', "3", {"a": 1}]
)
def test_load_refuses_files_of_something_else(tmp_path, header):
    np.savez(tmp_path / "other.npz", facts=np.array(header), allow_pickle=True)
    with pytest.raises(ValueError, match="contains no recalibrator"):
        load(tmp_path / "other.npz")
    np.savez(tmp_path / "other.npz", array=np.zeros(3))
    with pytest.raises(ValueError, match="contains no recalibrator"):
        load(tmp_path / "other.npz")


ALONE = '''
import os
import sys

class OnlyNumPyAndSciPy:
    """Finds nothing else that is not in the standard library, as if it were not installed."""

    def find_spec(self, name, path=None, target=None):
        known = {*sys.stdlib_module_names, "numpy", "scipy", "calib_audit", "calib_utils"}
        first = name.partition(".")[0]
        if first not in known and not first.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyNumPyAndSciPy())
import numpy as np
from calib_utils import metrics, recalibration
from calib_utils.recalibration import *
metrics.expected_calibration_error([[0.7, 0.3]], [0])
metrics.classwise_calibration_error([[0.7, 0.3]], [0])
assert "scipy" not in sys.modules  # which takes long to import
import calib_audit
from calib_utils import comparing, decisions, predictions, records

rng = np.random.default_rng(0)
logits = rng.normal(size=(400, 4))
labels = (logits + 0.5 * rng.gumbel(size=(400, 4))).argmax(axis=1)
binary = recalibration.HistogramBinning(5)
for name in recalibration.__all__:
    method = getattr(recalibration, name, None) if not name.startswith("Calibrated") else None
    if not isinstance(method, type) or name == "Recalibrator":
        continue
    method = method(binary) if name == "OneVersusRest" else method()
    two = method._shapes == ("(N,)",)
    scores, given = (logits[:, 1] - logits[:, 0], labels % 2) if two else (logits, labels)
    method.fit(scores, given).save(sys.argv[1])
    again = recalibration.load(sys.argv[1])
    assert (again.predict_proba(scores) == method.predict_proba(scores)).all()
    print(name)
probs = recalibration.TemperatureScaling(2.0).predict_proba(logits)
given = predictions.as_predictions(probs, labels)
metrics.expected_calibration_error(given)
metrics.calibration_error_interval(given), metrics.baseline_calibration_error(given)
metrics.brier_score(given), metrics.cox_line(given)
decisions.ConformalSets().fit(given).predict(given), decisions.risk_coverage(given)
columns = {"confidence": probs.max(axis=1), "correct": probs.argmax(axis=1) == labels}
assert "ECE" in calib_audit.report(columns).text()
assert not {"torch", "sklearn", "matplotlib"} & {*sys.modules}
assert sys.modules["calib_utils"].__file__.startswith(os.getcwd())
def draw():
    import calib_utils.plots
for use in (draw, lambda: recalibration.CalibratedClassifier):
    try:
        use()
    except ModuleNotFoundError as error:
        print(error)
'''


def test_numpy_and_scipy_are_all_that_is_needed_without_pictures_and_training(tmp_path):
    """To fit, save, load, predict, measure and report, without the records of the course either."""
    for package in (calib_audit, calib_utils):
        folder = Path(package.__file__).parent
        litter = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(folder, tmp_path / folder.name, ignore=litter)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, "fitted.npz"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    *names, no_plots, no_classifier = done.stdout.splitlines()
    assert set(names) == {type(make()).__name__ for make, _ in BY_NAME.values()}
    assert no_plots == ("plots need matplotlib, which is not installed: pip install matplotlib")
    assert "sklearn" in no_classifier


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("temperature", 1),
        ("ensemble", 3),  # T and two weights
        ("vector", 8),  # w and b
        ("matrix", 20),  # W and b
        ("matrix, regularised", 20),
        ("dirichlet", 20),
        ("structured matrix", 21),  # T, W and b
        ("beta on confidence", 4),
        ("one-versus-rest platt", 8),
        ("one-versus-rest beta", 12),
        ("one-versus-rest equal width", 40),
        ("binary temperature", 1),
        ("binary platt", 2),
        ("binary platt, smooth", 2),
        ("binary beta", 3),
    ],
)
def test_n_parameters_of_four_classes_and_of_curves(name, expected):
    make, data = BY_NAME[name]
    assert make().fit(*data).n_parameters_ == expected


@pytest.mark.parametrize("name", ["equal width", "equal mass", "isotonic"])
def test_n_parameters_of_a_map_of_steps_are_the_values_it_gives(name):
    z, labels = binary(2_000)
    fitted = BINARY[name]().fit(z, labels)
    # Isotonic regression is level at the samples only, and linear between them.
    asked = z if name == "isotonic" else np.linspace(-12, 12, 200_001)
    assert fitted.n_parameters_ == len(np.unique(fitted.predict_proba(asked)))


def test_a_class_without_samples_or_a_fixed_temperature_adds_no_parameter():
    logits, labels = multiclass(200, 4)
    with pytest.warns(UserWarning, match="1 of 4 classes"):
        fitted = OneVersusRest(PlattScaling()).fit(logits[labels < 3], labels[labels < 3])
    assert fitted.n_parameters_ == 6
    assert TemperatureScaling(2).n_parameters_ == 0


@pytest.mark.parametrize("missing", [{"n_classes_", "n_samples_", "shape_"}, {"temperature_"}])
def test_load_refuses_a_method_that_is_not_fitted(tmp_path, missing):
    path = tmp_path / "half.npz"
    TemperatureScaling().fit([[2.0, 0.0]] * 4, [0, 0, 0, 1]).save(path)
    arrays, facts = read_npz(path)
    facts["learned"] = {k: v for k, v in facts["learned"].items() if k not in missing}
    write_npz(path, arrays, facts)
    with pytest.raises(ValueError, match=r"half\.npz contains no recalibrator"):
        load(path)


def test_a_map_of_each_group_is_no_part_of_what_knows_no_groups():
    with pytest.raises(ValueError, match=r"base: expected one that needs no groups"):
        OneVersusRest(recalibration.PlattPerGroup())
    model = recalibration.CalibratedClassifier(LogisticRegression(), recalibration.PlattPerGroup())
    with pytest.raises(ValueError, match=r"recalibrator: expected one that needs no groups"):
        model.fit(np.arange(20.0)[:, None], np.arange(20) % 2)


MASKS = [-1e4, -1e9, float(np.finfo(np.float32).min), -np.inf]


def loss(probs, labels):
    return -np.log(np.maximum(probs[np.arange(len(labels)), labels], 1e-6)).mean()


@every_multiclass_method
def test_masked_classes_get_nothing_and_the_others_nearly_what_they_had(make):
    fitted = make().fit(*multiclass(600, 6))
    logits, labels = multiclass(600, 6, seed=5, dtype=np.float64)
    new, hidden = masked(logits, labels, -np.inf)
    probs = fitted.predict_proba(new)
    assert (probs[hidden] == 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    # Without masks, and then without the masked classes: what the probabilities should be near.
    expected = np.where(hidden, 0, fitted.predict_proba(logits))
    expected /= np.maximum(expected.sum(axis=1, keepdims=True), 1e-12)
    assert loss(probs, labels) < loss(expected, labels) + 0.01
    untouched = ~hidden.any(axis=1)
    np.testing.assert_allclose(probs[untouched], expected[untouched], atol=1e-12)


@pytest.mark.parametrize("make", MULTICLASS.values(), ids=MULTICLASS)
def test_masks_are_one_mask(make):
    fitted = make().fit(*multiclass(400, 6))
    logits, labels = multiclass(100, 6, seed=5)
    found = [fitted.predict_proba(masked(logits, labels, mask)[0]) for mask in MASKS]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)


def test_masks_of_all_classes_but_one_leave_it_certain():
    for make in ALL_MULTICLASS.values():
        fitted = make().fit(*multiclass(400, 3))
        probs = fitted.predict_proba([[0.0, -np.inf, -np.inf]])
        np.testing.assert_allclose(probs, [[1, 0, 0]], rtol=1e-15)


@every_multiclass_method
def test_fit_on_masked_logits_is_as_good_as_one_without(make):
    logits, labels = multiclass(1_500, 6)
    new_logits, new_labels = multiclass(1_500, 6, seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = make().fit(masked(logits, labels, -np.inf)[0], labels)
    plain = make().fit(logits, labels)
    found = loss(fitted.predict_proba(new_logits), new_labels)
    assert found < loss(plain.predict_proba(new_logits), new_labels) + 0.02


@pytest.mark.parametrize("mask", [-1e4, -np.inf])
@pytest.mark.parametrize("name", ["temperature", "vector", "matrix", "dirichlet", "ensemble"])
def test_fit_takes_classes_masked_everywhere_for_absent(name, mask):
    logits, labels = multiclass(2_000, 4, dtype=np.float64)
    wide = np.concatenate([logits, np.full((2_000, 3), mask)], axis=1)
    expected = ALL_MULTICLASS[name]().fit(logits, labels).predict_proba(logits)
    with pytest.warns(UserWarning, match="3 of 7 classes have no sample"):
        fitted = ALL_MULTICLASS[name]().fit(wide, labels)
    found = fitted.predict_proba(wide)
    # The penalties of Dirichlet calibration depend on the number of classes.
    atol = 0.02 if name == "dirichlet" else 1e-4
    np.testing.assert_allclose(found[:, :4], expected, atol=atol)
    assert (found[:, 4:] == 0).all()


def test_fit_refuses_a_label_that_is_masked():
    logits, labels = multiclass(100, 4)
    logits[7, labels[7]] = -np.inf
    with pytest.raises(ValueError, match=r"labels: sample 7 has class \d, which is masked"):
        VectorScaling().fit(logits, labels)


@pytest.mark.parametrize("name", ALL_MULTICLASS)
def test_multiclass_methods_see_only_what_softmax_sees(name):
    """A constant added to all logits of a sample changes nothing."""
    logits, labels = multiclass(300, 4, dtype=np.float64)
    logits = np.round(logits, 3)
    moved = logits + np.round(100 * np.random.default_rng(0).standard_normal((300, 1)))
    expected = ALL_MULTICLASS[name]().fit(logits, labels).predict_proba(logits)
    found = ALL_MULTICLASS[name]().fit(moved, labels).predict_proba(moved)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("name", ["temperature", "vector", "matrix", "structured matrix"])
def test_predict_log_proba_does_not_underflow(name):
    fitted = ALL_MULTICLASS[name]().fit(*multiclass(400, 4))
    logits = np.array([[0.0, -4_000.0, 10.0, 0.0]], np.float32)
    assert fitted.predict_proba(logits)[0, 1] == 0
    assert -10_000 < fitted.predict_log_proba(logits)[0, 1] < -500


def mean_below(step, probs):
    """The mean of values that go on below half a step as densely, by logarithm, as in the step."""
    in_step = np.count_nonzero((probs > step / 2) & (probs < 1.5 * step))
    depth = np.count_nonzero(probs == 0) / (in_step / np.log(3))
    return np.exp(np.linspace(np.log(step / 2) - depth, np.log(step / 2), 200_001)).mean()


@pytest.mark.parametrize(("digits", "within"), [(4, 0.015), (3, 0.05)])
@pytest.mark.parametrize("name", ["resnet34-cifar100", "lenet5-cifar100"])
def test_zeros_of_rounded_probabilities_of_networks(name, digits, within):
    record = load_record(name, "validation")
    probs = softmax(record.logits.astype(float), axis=1).round(digits)
    share = f"{100 * (probs == 0).mean():.2g} % of the probabilities are exactly 0"
    with pytest.warns(UserWarning, match=f"{share}.* give logits, or probabilities with more"):
        scaling = TemperatureScaling(inputs="probs").fit(
            as_predictions(probs, record.labels, rescale=True)
        )
    assert scaling.zero_ == pytest.approx(mean_below(10.0**-digits, probs), rel=0.05)
    assert scaling.temperature_ == pytest.approx(fitted(record.logits, record.labels), rel=within)


@pytest.fixture(scope="module")
def rounded():
    """Probabilities of the ResNet-34 in thousandths; one row that was not rounded; the labels."""
    record = load_record("resnet34-cifar100", "validation")
    whole = softmax(record.logits.astype(float), axis=1)
    probs = whole.round(3)
    return probs / probs.sum(axis=1, keepdims=True), whole[7], record.labels


def of_probs(probs, *labels_and_weights):
    with pytest.warns(UserWarning, match="are exactly 0"):
        return TemperatureScaling(inputs="probs").fit(probs, *labels_and_weights)


def test_zeros_do_not_depend_on_an_odd_row(rounded):
    probs, odd_row, labels = rounded
    odd = probs.copy()
    odd[7] = odd_row
    expected, found = of_probs(probs, labels), of_probs(odd, labels)
    assert found.zero_ == pytest.approx(expected.zero_, rel=0.01)
    assert found.temperature_ == pytest.approx(expected.temperature_, rel=1e-3)


def test_zeros_do_not_depend_on_a_row_of_weight_zero(rounded):
    probs, odd_row, labels = rounded
    odd, weights = probs[:60].copy(), np.ones(60)  # of 60 one row is more than a few
    odd[7], weights[7] = odd_row, 0
    expected = of_probs(np.delete(odd, 7, axis=0), np.delete(labels[:60], 7))
    found = of_probs(odd, labels[:60], weights)
    assert (found.zero_, found.temperature_) == (expected.zero_, expected.temperature_)


def test_zeros_take_weights_for_repeated_rows(rounded):
    probs, _, labels = rounded
    times = np.random.default_rng(0).integers(0, 6, len(labels))
    repeated = np.repeat(np.arange(len(labels)), times)
    expected = of_probs(probs[repeated], labels[repeated])
    found = of_probs(probs, labels, times.astype(float))
    assert found.zero_ == pytest.approx(expected.zero_, rel=1e-9)
    assert found.temperature_ == pytest.approx(expected.temperature_, rel=1e-7)


@pytest.mark.parametrize(("digits", "within"), [(4, 0.1), (3, 0.15)])
def test_zeros_of_rounded_probabilities_with_long_tails(digits, within):
    """Four in five are 0. A tenth of the step, which suits our networks, is too much here."""
    rng = np.random.default_rng(0)
    calibrated = rng.standard_t(4, (2_000, 16)) @ rng.normal(0, 0.7, (16, 100))
    labels = (calibrated + rng.gumbel(size=calibrated.shape)).argmax(axis=1)
    probs = softmax(2 * calibrated, axis=1).round(digits)
    with pytest.warns(UserWarning, match="are exactly 0"):
        found = fitted(as_predictions(probs, labels, rescale=True), inputs="probs")
    tenth = fitted(np.log(np.maximum(probs, 10.0 ** -(digits + 1))), labels)
    expected = fitted(2 * calibrated, labels)
    assert found == pytest.approx(expected, rel=within)
    assert expected - found < 0.6 * (expected - tenth)


def test_zeros_of_rounded_scores_are_alike_at_both_ends():
    z, labels = binary(4_000, slope=0.5)
    scores = expit(z).round(3)
    assert (scores == 0).any()
    assert (scores == 1).any()
    with pytest.warns(UserWarning, match=r"exactly 0 or 1, and count as 0.0004 from there"):
        one = PlattScaling(inputs="probs").fit(scores, labels)
    with pytest.warns(UserWarning, match="exactly 0 or 1"):
        other = PlattScaling(inputs="probs").fit(1 - scores, 1 - labels)
    assert one.slope_ == pytest.approx(PlattScaling().fit(z, labels).slope_, rel=0.02)
    assert one.slope_ == pytest.approx(other.slope_, rel=1e-9)


def test_zeros_of_a_few_certain_answers_are_fitted_and_said():
    """Of a language model, 56 of 5,999 answers were exactly 1."""
    z, labels = binary(5_000, slope=0.5)
    scores = expit(z)
    scores[:50] = 1.0
    labels[:50] = 1
    for make in (PlattScaling, BetaCalibration, TemperatureScaling):
        with pytest.warns(UserWarning, match="1 % of the probabilities are exactly 1, and count"):
            method = make(inputs="probs").fit(scores, labels)
        assert 0.9 < method.predict_proba(np.array([1.0]))[0] < 1


def test_zeros_go_with_the_fit(tmp_path):
    logits, labels = sure()
    probs = softmax(logits, axis=1)
    probs = np.where(probs < 1e-3, 0, probs)
    probs /= probs.sum(axis=1, keepdims=True)
    with pytest.warns(UserWarning, match="exactly 0"):
        method = TemperatureScaling(inputs="probs").fit(probs, labels)
    expected = method.predict_proba(probs)
    np.testing.assert_array_equal(method.predict_proba(probs[:1]), expected[:1])
    method.save(tmp_path / "method.npz")
    np.testing.assert_array_equal(load(tmp_path / "method.npz").predict_proba(probs), expected)
    module = CalibratedModule(torch.nn.Identity(), method)
    other = CalibratedModule(torch.nn.Identity(), TemperatureScaling(3.0, inputs="probs"))
    other.load_state_dict(module.state_dict())
    for model in (module, other):
        found = model.predict_proba(torch.tensor(probs))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_zeros_are_nothing_to_steps():
    logits, labels = sure()
    probs = softmax(logits, axis=1)
    probs = np.where(probs < probs.max(axis=1, keepdims=True), 0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneVersusRest(HistogramBinning(inputs="probs"), inputs="probs").fit(probs, labels)
        HistogramBinning(inputs="probs").fit(probs[:, 0], (labels == 0).astype(int))


def test_fit_refuses_rows_without_a_possible_class():
    logits, labels = multiclass(100, 4)
    for row in ([-np.inf] * 4, [0, np.nan, 0, 0], [0, np.inf, 0, 0]):
        logits[7] = row
        with pytest.raises(ValueError, match=r"logits: expected finite values.* in row 7"):
            TemperatureScaling().fit(logits, labels)
    z, labels = binary(100)
    for value, advice in ((np.nan, "rows$"), (-np.inf, r"rows, or .*\(inputs='probs'\)")):
        z[40] = value
        with pytest.raises(ValueError, match=f"found {value} at row 40; remove such {advice}"):
            PlattScaling().fit(z, labels)


@pytest.mark.parametrize("name", MULTICLASS)
def test_probabilities_do_what_their_logits_do(name):
    logits, labels = multiclass(400, 4, dtype=np.float64)
    probs = softmax(logits, axis=1)
    of_logits = MULTICLASS[name]().fit(logits, labels)
    of_probs = MULTICLASS[name]().set_params(inputs="probs").fit(probs, labels)
    np.testing.assert_allclose(
        of_probs.predict_proba(probs), of_logits.predict_proba(logits), atol=1e-4
    )


@every_multiclass_method
def test_probabilities_of_zero_are_taken(make):
    rng = np.random.default_rng(0)
    probs = rng.multinomial(20, [0.5, 0.3, 0.2], 500) / 20
    probs[::50] = [1.0, 0.0, 0.0]
    labels = np.where(rng.random(500) < 0.5, probs.argmax(axis=1), rng.integers(0, 3, 500))
    method = make().set_params(inputs="probs")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = method.fit(probs, labels).predict_proba(probs)
    (warning,) = told
    assert "1.8 % of the probabilities are exactly 0, and count as 0.001" in str(warning.message)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_binary_probabilities_of_zero_and_one():
    scores = np.array([0.0, 0.2, 0.6, 0.5, 1.0, 1.0], np.float32)
    with pytest.warns(UserWarning, match="50 % of the probabilities are exactly 0 or 1"):
        fitted = TemperatureScaling(inputs="probs").fit(scores, [0, 0, 1, 1, 1, 0])
    with pytest.warns(UserWarning, match="^logits: 100 % of the probabilities are exactly 0 or 1"):
        TemperatureScaling(inputs="probs").fit(scores.round(), [0, 0, 1, 1, 1, 0])
    probs = fitted.predict_proba(scores)
    assert ((probs > 0) & (probs < 1)).all()
    np.testing.assert_allclose(probs[0], 1 - probs[-1], rtol=1e-3)
