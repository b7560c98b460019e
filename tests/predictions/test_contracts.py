"""What holds of everything that takes predictions: a newcomer keeps it, or fails here."""

import importlib
import inspect
import pkgutil
import re
import warnings
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import calib_utils
from benchmarks.recalibrators import METHODS as benchmarked
from calib_audit.recalibrators import candidates
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import OneVersusRest, base
from calib_utils.recalibration.module import _ARITHMETIC
from calib_utils.recalibration.multiclass import MulticlassRecalibrator
from tests.predictions.bad_input_cases import BAD_LABELS, BAD_PROBS, with_value
from tests.predictions.bad_input_cases import LABELS as MANY_LABELS
from tests.predictions.contract_cases import (
    EXCUSED,
    INPUTS,
    LEFT_OUT,
    METHODS,
    NO_REPEATED_FITS,
    NO_REPEATS,
    OF_BOTH_OUTCOMES,
    OF_PREDICTIONS,
    UNLABELLED,
)
from tests.recalibration.recalibration_cases import binary, multiclass

N = 300
LOGITS, LABELS = multiclass(N, 4, dtype=np.float64)
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
ODDS, BINARY = binary(N)
POSITIVE = 1 / (1 + np.exp(-ODDS))
DATA = {
    "probs": (PROBS, LABELS),
    "positive": (POSITIVE, BINARY),
    "logits": (LOGITS, LABELS),
    "odds": (ODDS, BINARY),
}
TIMES = np.random.default_rng(0).integers(0, 4, N)
USES = {name: use for room in OF_PREDICTIONS.values() for name, use in room.items()}
OF_PROBS = {name: use for name, use in USES.items() if name not in INPUTS}
PER_CLASS = {"ConformalSets", "adjust_priors", "estimate_priors"}
every_use = pytest.mark.parametrize("name", USES)
every_use_of_probs = pytest.mark.parametrize("name", OF_PROBS)
every_method = pytest.mark.parametrize("name", METHODS)


def data_of(name):
    """What a use takes, by its kind."""
    kinds = ["probs"] if name in PER_CLASS else ["probs", "positive"]
    kinds = [INPUTS[name]] if name in INPUTS else kinds
    return {kind: DATA[kind] for kind in kinds}


def gate(kind, scores, labels, **more):
    of_logits = {"logits": scores} if kind in ("logits", "odds") else {"probs": scores}
    return as_predictions(labels=labels, **of_logits, **more)


# ---------------------------------------------------------------- everything is in a list


def not_listed(room, names):
    listed = {*OF_PREDICTIONS.get(room, {}), *" ".join(EXCUSED[room].values()).split()}
    if room == "recalibration":
        listed |= {type(make()).__name__ for make, _ in METHODS.values()}
    return listed ^ set(names)


def rooms():
    found = [f.name for f in pkgutil.iter_modules(calib_utils.__path__) if f.name[0] != "_"]
    return {name: importlib.import_module(f"calib_utils.{name}").__all__ for name in found}


def test_everything_public_is_in_a_list():
    assert rooms().keys() == EXCUSED.keys()
    for room, names in rooms().items():
        left = not_listed(room, names)
        assert not left, (
            f"{sorted(left)}: give each a use or an excuse in tests/predictions/contract_cases.py"
        )
    assert not_listed("metrics", [*rooms()["metrics"], "newcomer"]) == {"newcomer"}
    assert not_listed("plots", rooms()["plots"][1:]) == {rooms()["plots"][0]}


def unlisted_methods():
    made = {type(make()) for make, _ in METHODS.values()}
    return {one for one in base.CLASSES.values() if not inspect.isabstract(one)} - made


def test_every_concrete_recalibrator_is_in_a_list():
    left = unlisted_methods()
    assert not left, f"{left}: add each to METHODS in tests/predictions/contract_cases.py"


def offered_by(makers):
    """The classes that some makers use, those for each class included."""
    made = [make() for make in makers]
    return {type(one) for one in [*made, *(one.base for one in made if hasattr(one, "base"))]}


def not_offered(where, offered):
    """The recalibrators that somebody neither offers nor leaves out by a reason, or both."""
    left_out = {name for names in LEFT_OUT[where].values() for name in names.split()}
    concrete = {name for name, one in base.CLASSES.items() if not inspect.isabstract(one)}
    return concrete ^ {one.__name__ for one in offered} ^ left_out


def test_whoever_offers_several_methods_offers_every_one_or_says_why_not():
    assert not_offered("CalibratedModule in torch", _ARITHMETIC) == set()
    rows = [SimpleNamespace(probs=probs) for probs in (PROBS, POSITIVE)]
    tried = offered_by(make for one in rows for make in candidates(one, from_logits=True))
    assert not_offered("the report of an audit", tried) == set()
    assert not_offered("the report of an audit", tried - {OneVersusRest}) == {"OneVersusRest"}
    compared = offered_by(benchmarked.values())
    assert not_offered("the benchmark of recalibrators", compared) == set()


# ---------------------------------------------------------------- the contracts


def found_or_said(call):
    """What it returned; or None, and what its ValueError says."""
    try:
        return call(), ""
    except ValueError as error:
        return None, str(error)


def numbers_or_said(call):
    """The same, if the error names an argument; no library underneath warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        found, said = found_or_said(call)
    assert re.match(r"\w+( \(inputs='\w+'\))?: ", said) or found is not None
    return found


def check_shape(use):
    """Probabilities (N,) give numbers, or an error that says which shape there must be."""
    found, said = found_or_said(lambda: use(POSITIVE, BINARY))
    if said:
        assert re.match(r"probs: expected .*\(N, K\)|probs: expected those of all classes", said)
    else:
        assert np.isfinite(found).any()


def check_weights(kind, use, scores, labels, repeats=True):
    """Weights count rows, or are refused by name."""

    def weighted(weights):
        return use(gate(kind, scores, labels, sample_weight=weights))

    found, said = found_or_said(lambda: weighted(np.minimum(TIMES, 1)))
    if said:
        assert said.startswith("sample_weight: ")
        return
    rows = np.flatnonzero(TIMES)
    np.testing.assert_allclose(found, use(scores[rows], labels[rows]), rtol=1e-9, atol=1e-12)
    if repeats:
        rows = np.repeat(np.arange(N), TIMES)
        expected = use(scores[rows], labels[rows])
        np.testing.assert_allclose(weighted(TIMES), expected, rtol=1e-9, atol=1e-12)
        assert not np.allclose(expected, use(scores, labels), rtol=1e-5, equal_nan=True)


def check_kinds(kind, use, scores, labels):
    """Arrays, tensors, lists and the gate agree; and nothing that is given is changed."""
    scores, labels = scores.copy(), labels.copy()
    scores.flags.writeable = labels.flags.writeable = False
    expected = use(scores, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tensors that are not to be written to
        tensors = torch.from_numpy(scores), torch.from_numpy(labels)
    for given in (tensors, (scores.tolist(), labels.tolist()), (gate(kind, scores, labels),)):
        np.testing.assert_array_equal(use(*given), expected)


def refused(use, message, *given):
    with pytest.raises(ValueError, match=message):
        use(*given)
    assert plt.get_fignums() == []


@every_use_of_probs
def test_probabilities_of_the_positive_class_work_or_are_refused(name):
    check_shape(OF_PROBS[name])


@every_use_of_probs
def test_of_rows_the_confidence_counts_or_the_probability_of_each_class(name):
    answers = {"confidence": PROBS.max(axis=1), "correct": PROBS.argmax(axis=1) == LABELS}
    found, said = found_or_said(lambda: OF_PROBS[name](as_predictions(**answers)))
    if said:
        assert re.match(r"probs: .*(\(N, K\)|all classes)", said)
    elif name not in OF_BOTH_OUTCOMES:
        np.testing.assert_array_equal(OF_PROBS[name](PROBS, LABELS), found)


@every_use
@pytest.mark.parametrize("right", [True, False])
def test_a_single_row(name, right):
    """Also one that is certain; only a test may then be without an answer."""
    for kind, (scores, _) in data_of(name).items():
        for top in (0.7, 1.0, 0.25):
            row = np.array([top, *[(1 - top) / 3] * 3]) if scores.ndim == 2 else np.array(top)
            if kind in ("logits", "odds"):
                row = np.log(np.maximum(row, 1e-9)) - (kind == "odds") * np.log(1 - 0.9 * row)
            found = numbers_or_said(lambda row=row: USES[name](row[None], [int(not right)]))
            sure = top == 1 and name == "spiegelhalter_test"
            assert found is None or sure or not np.isnan(found).all()


@every_use
def test_weights(name):
    for kind, (scores, labels) in data_of(name).items():
        if name in ("top_label", "adjust_priors"):
            given = gate(kind, scores, labels, sample_weight=TIMES)
            np.testing.assert_array_equal(USES[name](given), USES[name](scores, labels))
        else:
            check_weights(kind, USES[name], scores, labels, name not in NO_REPEATS)


@every_use
def test_kinds_of_arrays(name):
    for kind, (scores, labels) in data_of(name).items():
        check_kinds(kind, USES[name], scores, labels)


@every_use_of_probs
@pytest.mark.parametrize("bad", BAD_PROBS)
def test_bad_probabilities(name, bad):
    probs, message = BAD_PROBS[bad]
    message = f"^probs.*: .*{message}"
    if name.endswith("CalibrationError") and bad in ("no rows", "nothing"):  # a batch may be empty
        message = "^labels: expected 0, one for each prediction, found 3000"
    refused(OF_PROBS[name], message, probs, MANY_LABELS)
    if isinstance(probs, np.ndarray) and probs.dtype == float and not np.ma.isMA(probs):
        refused(OF_PROBS[name], message, torch.from_numpy(probs), torch.from_numpy(MANY_LABELS))


@every_use_of_probs
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "found nan at row 250; remove"),
        (-0.1, "found -0.1 at row 250; apply a sigmoid"),
        (1.01, "found 1.01 at row 250"),
        (np.inf, "found inf"),
    ],
)
def test_bad_probabilities_of_the_positive_class(name, value, message):
    if name in PER_CLASS:
        message = r"expected shape \(N, K\)|" + message
    refused(OF_PROBS[name], f"^probs.*: .*({message})", with_value(POSITIVE, 250, value), BINARY)


@pytest.mark.parametrize("name", sorted(set(OF_PROBS) - UNLABELLED))
@pytest.mark.parametrize("bad", BAD_LABELS)
def test_bad_labels(name, bad):
    labels, message = BAD_LABELS[bad]
    probs = np.full((len(MANY_LABELS), 4), 0.25)
    if name == "labels_first" and bad in ("booleans", "text"):
        # They are names here: too few, or of other classes than the columns.
        refused(OF_PROBS[name], "^(labels|classes): expected", probs, labels[:-1])
        return
    refused(OF_PROBS[name], f"^labels: .*{message}", probs, labels)


@pytest.mark.parametrize("name", sorted(set(OF_PROBS) - UNLABELLED - PER_CLASS))
def test_bad_labels_of_two_classes(name):
    for value in (2, -1):
        labels = with_value(BINARY, 0, value)
        refused(OF_PROBS[name], f"^labels: expected 0 to 1, found {value} at", POSITIVE, labels)


# In the cases' uses of these, labels beside Predictions do not reach the function.
GIVEN_WHOLE = {
    *("ReliabilityDisplay", "labels_first", "reliability_bins"),
    *("risk_coverage", "selection_threshold"),
}


@pytest.mark.parametrize("name", sorted(set(USES) - UNLABELLED))
def test_labels_are_given_once(name):
    for kind, (scores, labels) in data_of(name).items():
        refused(USES[name], "^labels: expected one for each", gate(kind, scores, None))
        if name not in GIVEN_WHOLE:
            whole = gate(kind, scores, labels)
            refused(USES[name], "^labels: expected none with Predictions", whole, labels)


# ---------------------------------------------------------------- recalibrators


def predicted(make):
    """A use: fit, and predict what it was fitted on, or the probe."""

    def use(scores, *labels, probe=None):
        fitted = make().fit(scores, *labels)
        return np.ravel(fitted.predict_proba(scores if probe is None else probe))

    return use


@every_method
def test_weights_of_fits(name):
    make, kind = METHODS[name]
    scores, labels = DATA[kind]
    check_fit_weights(make, scores, labels, name not in NO_REPEATED_FITS)


def check_fit_weights(make, scores, labels, repeats=True):
    probe = scores[:50]
    held, often = np.flatnonzero(TIMES), np.repeat(np.arange(N), TIMES)
    for weights, rows in [(np.minimum(TIMES, 1), held), (TIMES, often)][: 2 if repeats else 1]:
        found = make().fit(scores, labels, weights).predict_proba(probe)
        expected = make().fit(scores[rows], labels[rows]).predict_proba(probe)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        plain = make().fit(scores, labels).predict_proba(probe)
        assert not np.allclose(found, plain, atol=1e-5)


@every_method
def test_masked_classes_keep_probability_zero(name):
    make, kind = METHODS[name]
    if kind == "logits":
        check_masks(make)


def check_masks(make):
    for mask in (-np.inf, -1e4):
        logits = LOGITS.copy()
        masked = np.zeros(logits.shape, bool)
        masked[np.arange(N), (LABELS + 1) % 4] = np.arange(N) % 3 == 0
        logits[masked] = mask
        probs = make().fit(logits, LABELS).predict_proba(logits)
        assert (probs[masked] == 0).all()
        np.testing.assert_allclose(probs.sum(axis=1), 1)


SIGNS = np.where(np.arange(240).reshape(60, 4) % 7 % 2, 1.0, -1.0)
SOME = np.arange(60) % 4
ONES = np.ones(60)
# Logits, labels and weights of rows; of two classes, of the first column and of whether a label is.
EXTREMES = {
    "one row": (LOGITS[:1], SOME[:1], ONES[:1]),
    "two rows": (LOGITS[:2], SOME[:2], ONES[:2]),
    "two rows of a class": (LOGITS[:2], SOME[:2] * 0, ONES[:2]),
    "equal rows": (np.repeat(LOGITS[:1], 60, axis=0), SOME, ONES),
    "equal rows of a class": (np.repeat(LOGITS[:1], 60, axis=0), SOME * 0, ONES),
    "all right": (9 * np.eye(4)[SOME], SOME, ONES),
    "all wrong": (-9 * np.eye(4)[SOME], SOME, ONES),
    "one class": (LOGITS[:60], SOME * 0 + 3, ONES),
    "large": (1e4 * SIGNS, SOME, ONES),
    "huge": (1.7e308 * SIGNS, SOME, ONES),
    "huge and small": (np.where(SIGNS > 0, 1e308, 1e-308), SOME, ONES),
    "small": (1e-308 * SIGNS, SOME, ONES),
    "light": (LOGITS[:60], SOME, 1e-150 * ONES),
    "heavy": (LOGITS[:60], SOME, 1e150 * ONES),
    "light and heavy": (LOGITS[:60], SOME, np.where(SOME == 1, 1e150, 1e-150)),
    "too light": (LOGITS[:60], SOME, 1e-300 * ONES),
    "too heavy": (LOGITS[:60], SOME, 1e300 * ONES),
}


@every_method
@pytest.mark.parametrize("extreme", EXTREMES)
def test_extreme_fits(name, extreme):
    make, kind = METHODS[name]
    scores, labels, weights = EXTREMES[extreme]
    if kind == "odds":
        scores, labels = scores[:, 0], (labels == 0).astype(int)
    found = numbers_or_said(lambda: make().fit(scores, labels, weights).predict_proba(scores))
    if extreme.startswith("too "):
        assert found is None
    if found is not None:
        assert ((found >= 0) & (found <= 1)).all()
        np.testing.assert_allclose(found.sum(axis=1) if found.ndim == 2 else 1, 1)


@every_method
def test_kinds_of_arrays_in_fits(name):
    make, kind = METHODS[name]
    check_kinds(kind, predicted(make), *DATA[kind])


@every_method
def test_fits_of_probabilities(name):
    """From the gate as from arrays; an error says that logits are not what is taken."""
    make, kind = METHODS[name]
    scores, labels = DATA["probs" if kind == "logits" else "positive"]

    def of_probs():
        return make().set_params(inputs="probs")

    check_kinds("probs", predicted(of_probs), scores, labels)
    with pytest.raises(ValueError, match=r"^logits: expected logits, found Predictions of 300"):
        make().fit(as_predictions(scores, labels))
    with pytest.raises(ValueError, match=r"^logits \(inputs='probs'\): expected probs, found Pred"):
        of_probs().fit(gate(kind, *DATA[kind]))


@every_method
def test_the_other_shape_is_taken_or_refused(name):
    make, kind = METHODS[name]
    scores, labels = DATA["odds" if kind == "logits" else "logits"]
    found, said = found_or_said(lambda: make().fit(scores, labels).predict_proba(scores))
    if said:
        assert re.match(r"logits: \w+ takes shape \(N", said)
    else:
        assert found.shape == scores.shape


# ---------------------------------------------------------------- newcomers that break them


def of_label(probs, labels=None):
    """A metric without a thought of (N,): the mean probability of the label."""
    return np.asarray(probs)[np.arange(len(labels)), labels].mean()


class Careless(MulticlassRecalibrator):
    """A recalibrator that counts all rows alike, and gives a masked class its share."""

    def _fit(self, logits, labels, weights):
        self.shares_ = np.bincount(labels, minlength=logits.shape[1]) / len(labels)
        return []

    def _predict(self, logits):
        return 0.0 * np.exp(np.minimum(logits, 0)) + self.shares_

    def _check_learned(self):
        pass

    def _n_parameters(self):
        return len(self.shares_)


CARELESS = base.CLASSES.pop("Careless")


def test_newcomers_that_break_a_contract_are_found(monkeypatch):
    with pytest.raises(IndexError):
        check_shape(of_label)
    with pytest.raises(AssertionError):
        check_fit_weights(CARELESS, LOGITS, LABELS)
    with pytest.raises(AssertionError):
        check_masks(CARELESS)
    monkeypatch.setitem(base.CLASSES, "Careless", CARELESS)
    assert unlisted_methods() == {CARELESS}
