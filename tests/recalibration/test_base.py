"""What all recalibrators have in common: bad input, files, kinds of arrays, absent classes."""

import copy
import datetime
import math
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.special
import torch
from sklearn.linear_model import LogisticRegression

import calib_audit
import calib_utils
from calib_utils import recalibration
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    HistogramBinning,
    OneVersusRest,
    PlattScaling,
    TemperatureScaling,
    load,
)
from calib_utils.records.npz import read_npz, write_npz
from tests.recalibration.recalibration_cases import (
    ALL_BINARY,
    ALL_MULTICLASS,
    BINARY,
    MULTICLASS,
    binary,
    multiclass,
)

BY_NAME = {
    **{name: (make, multiclass(200, 4)) for name, make in ALL_MULTICLASS.items()},
    **{f"binary {name}": (make, binary(200)) for name, make in ALL_BINARY.items()},
}
every_method = pytest.mark.parametrize(("make", "data"), BY_NAME.values(), ids=BY_NAME)


# ---------------------------------------------------------------- the interface


@every_method
def test_fit_returns_itself_and_learns_names_ending_in_an_underscore(make, data):
    method = make()
    before = set(vars(method))
    assert method.fit(*data) is method
    learned = set(vars(method)) - before
    assert "n_classes_" in learned
    assert all(name.endswith("_") and not name.startswith("_") for name in learned)
    assert repr(make()) == repr(method)


def bad_fits(logits, labels):
    """What a fit refuses, sooner or later."""
    yield logits, labels + 100
    yield np.append(logits[:-1], np.full_like(logits[:1], np.nan), axis=0), labels
    yield logits, labels, np.full(len(labels), -1.0)
    yield logits, np.full_like(labels, -1)


@every_method
def test_a_refused_fit_leaves_the_method_as_it_was(make, data):
    logits, labels = data
    names = list("abcd") if logits.ndim == 2 else None
    given = pd.DataFrame(logits, columns=names) if names else logits
    fresh, method = make(), make().fit(given, labels)
    before, expected = copy.deepcopy(vars(method)), method.predict_proba(given)
    for bad in bad_fits(logits, labels):
        other = pd.DataFrame(bad[0], columns=names[::-1]) if names else bad[0]
        for one in (method, fresh):
            with pytest.raises(ValueError, match=r"expected|found"):
                one.fit(other, *bad[1:])
    assert not [name for name in vars(fresh) if name.endswith("_")]
    assert repr(vars(method)) == repr(before)
    np.testing.assert_array_equal(method.predict_proba(given), expected)


def test_so_does_one_that_fails_within(monkeypatch):
    logits, labels = multiclass(200, 4)
    probs = scipy.special.softmax(logits, axis=1).round(2)
    method = TemperatureScaling(inputs="probs")
    with pytest.warns(UserWarning, match="exactly 0"):
        method.fit(as_predictions(probs, labels, rescale=True))
    before = dict(vars(method))
    monkeypatch.setattr(TemperatureScaling, "_fit", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        method.fit(scipy.special.softmax(logits, axis=1), labels)
    assert vars(method) == before


@pytest.mark.parametrize("name", ["temperature", "matrix", "one-versus-rest isotonic"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_comes_back_as_it_came(dtype, name):
    logits, labels = multiclass(2_000, 4)
    logits = torch.tensor(logits).to(dtype)
    make = ALL_MULTICLASS[name]
    for given in (logits, logits[:, 1] - logits[:, 0])[: 2 if name == "temperature" else 1]:
        fitted = make().fit(given, np.minimum(labels, 2 * given.ndim - 1))
        probs, logs = fitted.predict_proba(given), fitted.predict_log_proba(given)
        assert probs.dtype == logs.dtype == dtype
        exact = fitted.predict_proba(given.double())
        step = torch.finfo(dtype).eps
        torch.testing.assert_close(probs.double(), exact, rtol=step, atol=1e-7)
        torch.testing.assert_close(logs.double(), exact.log(), rtol=step, atol=1e-7)
        if name == "temperature":
            assert_classes_stay(given, probs)
    if dtype == torch.float16:
        in_numpy = fitted.predict_proba(given.numpy())
        np.testing.assert_array_equal(in_numpy, probs.numpy())
        assert in_numpy.dtype == np.float16


def assert_classes_stay(logits, probs):
    if logits.ndim == 1:
        assert ((probs > 0.5) == (logits > 0)).all()
    else:
        assert (probs.argmax(dim=1) == logits.argmax(dim=1)).all()


@every_method
def test_unfitted_use_is_an_error(make, data, tmp_path):
    with pytest.raises(RuntimeError, match="is not fitted; call fit"):
        make().predict_proba(data[0])
    with pytest.raises(RuntimeError, match="is not fitted"):
        make().save(tmp_path / "x.npz")


@pytest.mark.parametrize("make", ALL_MULTICLASS.values(), ids=ALL_MULTICLASS)
def test_another_number_of_classes_is_an_error(make):
    fitted = make().fit(*multiclass(200, 4))
    with pytest.raises(ValueError, match="expected 4 classes, as in fit, found 3"):
        fitted.predict_proba(np.zeros((5, 3)))


def test_wrong_shapes_say_what_to_do():
    with pytest.raises(ValueError, match=r"HistogramBinning takes shape \(N,\).*OneVersusRest"):
        HistogramBinning().fit(np.zeros((4, 3)), [0, 1, 2, 0])
    with pytest.raises(ValueError, match=r"VectorScaling takes shape \(N, K\), found \(4,\)"):
        recalibration.VectorScaling().fit(np.zeros(4), [0, 1, 1, 0])
    fitted = TemperatureScaling().fit(*binary(100))
    with pytest.raises(ValueError, match="expected 2 classes"):
        fitted.predict_proba(np.zeros((4, 3)))


@every_method
def test_bad_input_is_an_error_and_never_a_number(make, data):
    logits, labels = data
    with_nan, with_inf = logits.copy(), logits.copy()
    with_nan[3] = np.nan
    with_inf.flat[3] = np.inf
    for bad_logits, bad_labels, message in [
        (with_nan, labels, "logits: expected finite values"),
        (with_inf, labels, "logits: expected finite values"),
        (logits.astype(int), labels, "logits: expected floating-point"),
        (logits[:0], labels[:0], "logits: expected a non-empty"),
        (logits, labels[:-1], "labels: expected 200"),
        (logits, labels - 1, "labels: expected 0 to"),
        (logits, labels + 4, "labels: expected 0 to"),
        (logits, labels.astype(float), "labels: expected integers"),
        (logits, labels[:, None], "labels: expected shape"),
        (logits, np.eye(4, dtype=int)[labels], "labels: expected shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            make().fit(bad_logits, bad_labels)
    fitted = make().fit(logits, labels)
    with pytest.raises(ValueError, match="logits: expected finite values"):
        fitted.predict_proba(with_nan)


@pytest.mark.parametrize("make", BINARY.values(), ids=BINARY)
def test_scores_must_be_probabilities(make):
    with pytest.raises(ValueError, match=r"logits \(inputs='probs'\): expected values from 0 to 1"):
        make(inputs="probs").fit(np.array([0.2, 1.3]), [0, 1])
    with pytest.raises(ValueError, match="inputs: expected 'probs' or 'logits'"):
        make(inputs="probabilities")


@pytest.mark.parametrize(
    ("make", "name", "values"),
    [
        (HistogramBinning, "n_bins", [0, 2.5, True, "15"]),
        (HistogramBinning, "strategy", ["mass"]),
        (PlattScaling, "smooth_targets", ["no", 1, None]),
        (TemperatureScaling, "temperature", [0, -1.0, np.inf, np.nan, "1.5", True]),
        (recalibration.MatrixScaling, "max_steps", [0, -1, 1.5, True]),
        (recalibration.MatrixScaling, "regularization", [-1.0, np.nan, np.inf, "1"]),
        (recalibration.DirichletCalibration, "regularization", [-1.0, np.nan, np.inf, None]),
        (recalibration.StructuredMatrixScaling, "regularization", [-1.0, np.nan, np.inf]),
    ],
)
def test_bad_arguments_are_refused_by_name(make, name, values):
    data = binary(200) if make in (HistogramBinning, PlattScaling) else multiclass(200, 4)
    for value in values:
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            make(**{name: value})
        changed = make()
        setattr(changed, name, value)
        with pytest.raises(ValueError, match=f"^{name}: expected"):
            changed.fit(*data)


# ---------------------------------------------------------------- absent classes


@pytest.mark.parametrize("make", ALL_MULTICLASS.values(), ids=ALL_MULTICLASS)
def test_an_absent_class_is_named_and_keeps_a_probability(make):
    logits, labels = multiclass(400, 5)
    kept = labels != 3
    with pytest.warns(UserWarning, match=r"1 of 5 classes have no sample \(3\)"):
        fitted = make().fit(logits[kept], labels[kept])
    new = 4 * np.eye(5)
    probs = fitted.predict_proba(new)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert probs[3].argmax() == 3
    assert probs[3, 3] > 0.3


@pytest.mark.parametrize("make", ALL_BINARY.values(), ids=ALL_BINARY)
@pytest.mark.parametrize("only", [0, 1])
def test_a_single_class_in_binary_data(make, only):
    z, _ = binary(50)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = make().fit(z, np.full(50, only))
    assert f"1 of 2 classes have no sample ({1 - only})" in str(caught[0].message)
    probs = fitted.predict_proba(z)
    assert ((probs >= 0) & (probs <= 1)).all()


def test_warnings_point_to_the_caller():
    logits, _ = multiclass(100, 4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for make in ALL_MULTICLASS.values():
            make().fit(logits, np.minimum(logits.argmax(axis=1), 2))
    assert len(caught) > 2 * len(MULTICLASS)
    assert {warning.filename for warning in caught} == {__file__}


# ---------------------------------------------------------------- files


def test_fixed_temperature_is_saved(tmp_path):
    TemperatureScaling(temperature=1.5).save(tmp_path / "fixed.npz")
    assert load(tmp_path / "fixed.npz").predict_proba(-np.eye(3)).shape == (3, 3)


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "fitted.npz"
    TemperatureScaling(temperature=1.5).save(path)
    before = path.read_bytes()

    def fail(*args):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space"):
        TemperatureScaling(temperature=3.0).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["fitted.npz"]


def test_damaged_files_are_a_clear_error(tmp_path):
    path = tmp_path / "fitted.npz"
    OneVersusRest(PlattScaling()).fit(*multiclass(100, 3)).save(path)
    whole = path.read_bytes()
    assert load(path).n_classes_ == 3
    damaged = [whole[:size] for size in range(0, len(whole), 97)]
    for place in range(30, len(whole), 61):
        damaged.append(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
    messages = []
    for content in [*damaged, b"", b"not a file of arrays"]:
        path.write_bytes(content)
        try:
            assert load(path).n_classes_ == 3  # where nothing depends on the changed byte
        except ValueError as error:
            messages.append(str(error))
    assert len(messages) > len(damaged) / 2
    assert all("contains no recalibrator, or is damaged" in message for message in messages)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.npz")


@pytest.mark.parametrize("name", ["array0.npy", "facts.npy", "stranger.npy"])
def test_a_small_file_that_would_fill_the_memory_is_not_unpacked(name, tmp_path):
    import tracemalloc

    path = tmp_path / "bomb.npz"
    recalibration.VectorScaling().fit(*multiclass(100, 3)).save(path)
    with zipfile.ZipFile(path) as file:
        members = {each: file.read(each) for each in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for each, content in members.items():
            if each != name:
                file.writestr(each, content)
        with file.open(name, "w") as stream:
            for _ in range(300):
                stream.write(bytes(1 << 20))
    assert path.stat().st_size < 4e6
    tracemalloc.start()
    with pytest.raises(
        ValueError, match=r"bomb\.npz contains no recalibrator.*unpacks to 31\d,\d+,"
    ):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 4e6
    tracemalloc.stop()


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


@every_method
def test_a_file_says_when_from_what_and_by_which_version(make, data, tmp_path):
    make().fit(*data).save(tmp_path / "fitted.npz")
    _, facts = read_npz(tmp_path / "fitted.npz")
    assert facts["learned"]["n_samples_"] == 200
    assert facts["learned"]["version_"] == calib_utils.__version__
    assert load(tmp_path / "fitted.npz").date_ == facts["learned"]["date_"]
    assert abs(datetime.date.today() - datetime.date.fromisoformat(facts["learned"]["date_"])) <= (
        datetime.timedelta(days=1)
    )


def test_numpy_scalars_are_saved(tmp_path):
    logits, labels = multiclass(200, 4)
    fitted = recalibration.MatrixScaling(np.float32(0.5), max_steps=np.int64(300))
    fitted.fit(logits, labels).save(tmp_path / "fitted.npz")
    again = load(tmp_path / "fitted.npz")
    assert again.regularization == 0.5
    np.testing.assert_array_equal(again.predict_proba(logits), fitted.predict_proba(logits))
    z, labels = binary(200)
    fitted = HistogramBinning(np.int32(7)).fit(z, labels)
    fitted.save(tmp_path / "fitted.npz")
    assert load(tmp_path / "fitted.npz").n_bins == 7


# ---------------------------------------------------------------- what was silent


@pytest.mark.parametrize(
    ("method", "changes", "data"),
    [
        (HistogramBinning(10), {"n_bins": 20}, binary(200)),
        (PlattScaling(), {"smooth_targets": True}, binary(200)),
        (TemperatureScaling(), {"temperature": 3.0}, multiclass(200, 4)),
        (recalibration.MatrixScaling(), {"regularization": 1.0}, multiclass(200, 4)),
        (OneVersusRest(HistogramBinning()), {"base": PlattScaling()}, multiclass(200, 4)),
    ],
)
def test_arguments_changed_after_the_fit_ask_for_another_fit(method, changes, data, tmp_path):
    method = copy.deepcopy(method).fit(*data)
    for name, value in changes.items():
        setattr(method, name, value)
    for use in (lambda: method.predict_proba(data[0]), lambda: method.save(tmp_path / "x.npz")):
        with pytest.raises(RuntimeError, match="changed since; call fit again"):
            use()
    assert method.fit(*data).predict_proba(data[0]).shape == data[0].shape


def test_a_fixed_temperature_can_be_changed():
    fixed = TemperatureScaling(2.0)
    fixed.temperature = 4.0
    assert fixed.predict_proba([[0.0, 4.0]])[0, 1] == pytest.approx(1 / (1 + math.exp(-1)))
    fixed.temperature = -4.0
    with pytest.raises(ValueError, match="temperature: expected a finite number above 0"):
        fixed.predict_proba([[0.0, 4.0]])


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("name", MULTICLASS)
def test_one_row_is_not_taken_for_many_binary_samples(name, k):
    logits, labels = multiclass(200, k)
    fitted = MULTICLASS[name]().fit(logits, labels)
    with pytest.raises(ValueError, match=r"logits: .*logits\[:1\]|logits: .*give one for each"):
        fitted.predict_proba(logits[0])
    assert fitted.predict_proba(logits[:1]).shape == (1, k)


def test_a_fixed_temperature_takes_no_row_for_log_odds():
    fixed = TemperatureScaling(2.0)
    for use in (fixed.predict_proba, fixed.predict_log_proba, fixed.predict):
        with pytest.raises(ValueError, match=r"expected shape \(N, K\), found \(3,\), .*call fit"):
            use([1.0, 2.0, 3.0])
    assert fixed.predict_proba([[1.0, 2.0, 3.0]]).shape == (1, 3)
    fixed.fit([-1.0, 1.0], [0, 1])
    assert fixed.predict_proba([2.0])[0] == pytest.approx(1 / (1 + math.exp(-1)))
    with pytest.raises(ValueError, match="may be one row"):
        fixed.fit([[-1.0, 1.0], [1.0, 0.0]], [1, 0]).predict_proba([0.0, 1.0])


def test_two_columns_are_not_what_log_odds_were_fitted_on():
    fitted = TemperatureScaling().fit(*binary(200))
    with pytest.raises(ValueError, match=r"expected shape \(N,\), as in fit, found \(5, 2\)"):
        fitted.predict_proba(np.zeros((5, 2)))


@pytest.mark.parametrize("make", ALL_MULTICLASS.values(), ids=ALL_MULTICLASS)
def test_probabilities_where_logits_belong_are_doubted(make):
    logits, labels = multiclass(300, 4)
    probs = TemperatureScaling(1.0).predict_proba(logits)
    with pytest.warns(UserWarning, match="all are from 0 to 1, like probabilities"):
        make().fit(probs, labels)
    fitted = make().fit(logits, labels)
    with pytest.warns(UserWarning, match="all are from 0 to 1, like probabilities"):
        fitted.predict_proba(probs)


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


@pytest.mark.parametrize(
    "header", ['{"class": "Path", "arguments": {}, "learned": {}}', "3", "[]", "{"]
)
def test_files_of_something_else_are_a_clear_error(tmp_path, header):
    np.savez(tmp_path / "other.npz", facts=np.array(header))
    with pytest.raises(ValueError, match="contains no recalibrator"):
        load(tmp_path / "other.npz")
    np.savez(tmp_path / "other.npz", array=np.zeros(3))
    with pytest.raises(ValueError, match="contains no recalibrator"):
        load(tmp_path / "other.npz")


def test_pickles_are_refused(tmp_path):
    path = tmp_path / "pickle.npz"
    np.savez(path, facts=np.array({"a": 1}, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="contains no recalibrator"):
        load(path)
    assert zipfile.is_zipfile(path)


# ---------------------------------------------------------------- import


def test_importing_needs_no_heavy_library():
    code = """
import sys
from calib_utils import metrics, recalibration
metrics.expected_calibration_error([[0.7, 0.3]], [0])
metrics.classwise_calibration_error([[0.7, 0.3]], [0])
print({"torch", "sklearn", "scipy", "matplotlib"} & {*sys.modules})
"""
    found = subprocess.run(
        [sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True
    )
    assert found.stdout == "set()\n"


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
import calib_audit
from calib_utils import comparing, decisions, metrics, predictions, recalibration, records
from calib_utils.recalibration import *

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
for use in (
    lambda: PlattScaling().predict_proba([0.5]), draw, lambda: recalibration.CalibratedClassifier
):
    try:
        use()
    except (RuntimeError, ModuleNotFoundError) as error:
        print(f"{type(error).__name__}: {error}")
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
    *names, not_fitted, no_plots, no_classifier = done.stdout.splitlines()
    made = {type(make()).__name__ for make, _ in BY_NAME.values()}
    assert set(names) == made
    assert not_fitted == (
        "NotFittedError: PlattScaling is not fitted; call fit(logits, labels) first"
    )
    assert no_plots == (
        "ModuleNotFoundError: plots need matplotlib, which is not installed: pip install matplotlib"
    )
    assert "sklearn" in no_classifier


def test_every_public_name_is_there():
    for name in recalibration.__all__:
        assert getattr(recalibration, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        recalibration.Nothing  # noqa: B018
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TemperatureScaling().fit(*multiclass(200, 4))


# ---------------------------------------------------------------- how many numbers were learned


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


def test_n_parameters_of_bbq_are_the_bins_between_the_edges_of_all_its_models():
    n = 200
    numbers_of_bins = range(1, min(n // 5, math.ceil(10 * np.cbrt(n))) + 1)
    edges = {m * n // bins for bins in numbers_of_bins for m in range(1, bins)}
    assert BINARY["bbq"]().fit(*binary(n)).n_parameters_ == len(edges) + 1


@every_method
def test_n_parameters_stay_in_a_file_and_wait_for_the_fit(make, data, tmp_path):
    method = make()
    with pytest.raises(RuntimeError, match="is not fitted"):
        method.n_parameters_  # noqa: B018
    method.fit(*data).save(tmp_path / "x.npz")
    assert load(tmp_path / "x.npz").n_parameters_ == method.n_parameters_ > 0


def test_a_class_without_samples_or_a_fixed_temperature_adds_no_parameter():
    logits, labels = multiclass(200, 4)
    with pytest.warns(UserWarning, match="1 of 4 classes"):
        fitted = OneVersusRest(PlattScaling()).fit(logits[labels < 3], labels[labels < 3])
    assert fitted.n_parameters_ == 6
    assert TemperatureScaling(2).n_parameters_ == 0


@pytest.mark.parametrize("missing", [{"n_classes_", "n_samples_", "shape_"}, {"temperature_"}])
def test_a_file_of_a_method_that_is_not_fitted_is_refused(tmp_path, missing):
    path = tmp_path / "half.npz"
    TemperatureScaling().fit([[2.0, 0.0]] * 4, [0, 0, 0, 1]).save(path)
    arrays, facts = read_npz(path)
    facts["learned"] = {k: v for k, v in facts["learned"].items() if k not in missing}
    write_npz(path, arrays, facts)
    with pytest.raises(ValueError, match=r"half\.npz contains no recalibrator"):
        load(path)


def test_a_file_of_a_version_that_cannot_be_read_is_not_called_damaged(tmp_path):
    path = tmp_path / "scaling.npz"
    TemperatureScaling().fit(*multiclass(200, 4)).save(path)
    arrays, facts = read_npz(path)
    facts["learned"] |= {"version_": "0.0.1", "scale_": facts["learned"].pop("temperature_")}
    write_npz(path, arrays, facts)
    with pytest.raises(ValueError, match=r"saved by version 0\.0\.1 .*load it with that version"):
        load(path)


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
    with pytest.raises(ValueError, match=own):
        recalibration.CalibratedClassifier(LogisticRegression()).fit(sigmoids, labels)


def test_of_an_ensemble_the_mean_of_its_members_counts():
    members = np.random.default_rng(0).dirichlet(np.ones(3), (5, 20))
    labels = np.arange(20) % 3
    for use in (
        *(calib_utils.metrics.brier_score, TemperatureScaling(inputs="probs").fit),
        calib_utils.metrics.CalibrationError().update,
    ):
        with pytest.raises(ValueError, match="the mean of the members' probabilities"):
            use(members, labels)


def test_a_map_of_each_group_is_no_part_of_what_knows_no_groups():
    with pytest.raises(ValueError, match=r"base: expected one that needs no groups"):
        OneVersusRest(recalibration.PlattPerGroup())
    model = recalibration.CalibratedClassifier(LogisticRegression(), recalibration.PlattPerGroup())
    with pytest.raises(ValueError, match=r"recalibrator: expected one that needs no groups"):
        model.fit(np.arange(20.0)[:, None], np.arange(20) % 2)
