"""What holds of everything that takes predictions, by enumeration: a newcomer keeps it, too."""

import importlib
import inspect
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from calib_utils import recalibration
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import base, load
from tests.contract_cases import (
    INPUTS,
    METHODS,
    NO_REPEATED_FITS,
    NO_REPEATS,
    OF_PREDICTIONS,
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
PER_CLASS = {"ConformalSets", "adjust_priors", "estimate_priors"}
every_use = pytest.mark.parametrize("name", USES)
every_method = pytest.mark.parametrize("name", METHODS)


def data_of(name):
    """What a use takes, by its kind."""
    kinds = ["probs"] if name in PER_CLASS else ["probs", "positive"]
    return {kind: DATA[kind] for kind in ([INPUTS[name]] if name in INPUTS else kinds)}


def gate(kind, scores, labels, **more):
    of_logits = {"logits": scores} if kind in ("logits", "odds") else {"probs": scores}
    return as_predictions(labels=labels, **of_logits, **more)


# ---------------------------------------------------------------- the lists are whole


def takers(room):
    """What a room offers that is given labels of samples: functions, and classes that learn."""
    for name in importlib.import_module(f"calib_utils.{room}").__all__:
        found = getattr(importlib.import_module(f"calib_utils.{room}"), name)
        steps = [getattr(found, step, None) for step in ("fit", "update", "from_predictions")]
        steps = [found] if inspect.isfunction(found) else [step for step in steps if step]
        if any("labels" in inspect.signature(step).parameters for step in steps):
            yield name


@pytest.mark.parametrize("room", OF_PREDICTIONS)
def test_everything_that_takes_labels_has_a_use(room):
    of_sets = {"set_coverage"}  # which `ConformalSets` gives
    assert set(takers(room)) - of_sets <= OF_PREDICTIONS[room].keys()


def test_every_concrete_recalibrator_is_made():
    made = {type(make()) for make, _ in METHODS.values()}
    assert {one for one in base.CLASSES.values() if not inspect.isabstract(one)} == made
    assert made <= {getattr(recalibration, name) for name in recalibration.__all__}


# ---------------------------------------------------------------- metrics, decisions, plots


def found_or_said(call):
    """What it returned; or None, and what its ValueError says."""
    try:
        return call(), ""
    except ValueError as error:
        return None, str(error)


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


@every_use
def test_kinds_of_arrays_agree_and_stay_as_they_were(name):
    for kind, (scores, labels) in data_of(name).items():
        check_kinds(kind, USES[name], scores, labels)


@every_use
def test_a_weight_counts_rows(name):
    for kind, (scores, labels) in data_of(name).items():
        if name in ("top_label", "adjust_priors"):
            given = gate(kind, scores, labels, sample_weight=TIMES)
            np.testing.assert_array_equal(USES[name](given), USES[name](scores, labels))
        else:
            check_weights(kind, USES[name], scores, labels, name not in NO_REPEATS)


@every_use
def test_a_single_row_gives_a_number_or_an_error_that_names_an_argument(name):
    """Also one that is certain."""
    for kind, (scores, _) in data_of(name).items():
        for top, right in ((0.7, True), (1.0, True), (1.0, False), (0.25, False)):
            row = np.array([top, *[(1 - top) / 3] * 3]) if scores.ndim == 2 else np.array(top)
            if kind in ("logits", "odds"):
                row = np.log(np.maximum(row, 1e-9)) - (kind == "odds") * np.log(1 - 0.9 * row)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, said = found_or_said(
                    lambda r=row, y=right: USES[name](r[None], [int(not y)])
                )
            named = re.match(r"\w+( \(inputs='\w+'\))?: ", said)
            assert named or not np.isnan(found).all()


UNLABELLED = {"baseline_calibration_error", "adjust_priors", "estimate_priors"}


@every_use
def test_bad_input_is_refused_at_the_gate(name):
    """One of each argument; `test_bad_input` has the others."""
    for scores, labels in data_of(name).values():
        bad = scores.copy()
        bad.flat[10] = np.nan
        with pytest.raises(ValueError, match=r"^(probs|logits).*: .*nan"):
            USES[name](bad, labels)
        if name not in UNLABELLED:
            with pytest.raises(ValueError, match=r"^labels: .*299"):
                USES[name](scores, labels[:-1])
    assert plt.get_fignums() == []


# What takes the classes one by one: the order of the columns is nothing to it.
OF_CLASSES = sorted(OF_PREDICTIONS["metrics"])


@pytest.mark.parametrize("name", OF_CLASSES)
def test_the_order_of_the_classes_is_nothing_to_a_metric(name):
    order = np.array([2, 0, 3, 1])
    found = USES[name](PROBS[:, order], np.argsort(order)[LABELS])
    expected = USES[name](PROBS, LABELS)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted({*OF_CLASSES} - {"top_label"}))
def test_the_order_of_the_rows_is_nothing_to_a_metric(name):
    order = np.random.default_rng(1).permutation(N)
    for scores, labels in data_of(name).values():
        found, expected = USES[name](scores[order], labels[order]), USES[name](scores, labels)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------- recalibrators


def check_probabilities(probs):
    assert ((probs >= 0) & (probs <= 1)).all()
    np.testing.assert_allclose(probs.sum(axis=1) if probs.ndim == 2 else 1, 1)


@every_method
def test_predictions_are_probabilities_saved_and_loaded_and_given_back_in_kind(name, tmp_path):
    make, kind = METHODS[name]
    scores, labels = DATA[kind]
    fitted = make().fit(scores, labels)
    probs = fitted.predict_proba(scores)
    assert probs.shape == scores.shape
    check_probabilities(probs)
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
    np.testing.assert_allclose(fitted.predict_log_proba(scores), logs, atol=1e-9)
    classes = probs > 0.5 if probs.ndim == 1 else probs.argmax(axis=1)
    np.testing.assert_array_equal(fitted.predict(scores), classes)
    fitted.save(tmp_path / "fitted.npz")
    again = load(tmp_path / "fitted.npz")
    assert (type(again), repr(again)) == (type(fitted), repr(fitted))
    np.testing.assert_array_equal(again.predict_proba(scores), probs)
    tensor = torch.from_numpy(scores.astype(np.float32))
    in_torch = fitted.predict_proba(tensor.requires_grad_())
    assert in_torch.dtype == torch.float32
    np.testing.assert_array_equal(in_torch.numpy(), fitted.predict_proba(tensor.detach().numpy()))


@every_method
def test_kinds_of_arrays_agree_in_fits(name):
    make, kind = METHODS[name]

    def use(scores, *labels):
        return np.ravel(make().fit(scores, *labels).predict_proba(scores))

    check_kinds(kind, use, *DATA[kind])


@every_method
def test_a_weight_counts_rows_in_fits(name):
    make, kind = METHODS[name]
    scores, labels = DATA[kind]
    probe = scores[:50]
    plain = make().fit(scores, labels).predict_proba(probe)
    held, often = np.flatnonzero(TIMES), np.repeat(np.arange(N), TIMES)
    cases = [(np.minimum(TIMES, 1), held), (TIMES, often)]
    for weights, rows in cases[: 1 if name in NO_REPEATED_FITS else 2]:
        found = make().fit(scores, labels, weights).predict_proba(probe)
        expected = make().fit(scores[rows], labels[rows]).predict_proba(probe)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert not np.allclose(found, plain, atol=1e-5)


@every_method
def test_the_order_of_rows_and_classes_is_nothing_to_a_fit(name):
    make, kind = METHODS[name]
    scores, labels = DATA[kind]
    rows, order = np.random.default_rng(1).permutation(N), np.array([2, 0, 3, 1])
    turned, names = scores[rows], labels[rows]
    if scores.ndim == 2:
        turned, names = turned[:, order], np.argsort(order)[names]
    found = make().fit(turned, names).predict_proba(turned)
    expected = make().fit(scores, labels).predict_proba(scores)[rows]
    expected = expected[:, order] if scores.ndim == 2 else expected
    np.testing.assert_allclose(found, expected, atol=1e-5)


ORDERED = ("temperature", "ensemble")
RISING = ("temperature", "isotonic", "venn-abers", "platt", "platt, smooth", "beta")


@pytest.mark.parametrize("name", ORDERED)
def test_the_predicted_class_is_kept(name):
    probs = METHODS[name][0]().fit(LOGITS, LABELS).predict_proba(LOGITS)
    np.testing.assert_array_equal(probs.argmax(axis=1), LOGITS.argmax(axis=1))


@pytest.mark.parametrize("name", RISING)
def test_a_larger_score_gives_no_smaller_probability(name):
    fitted = METHODS[f"binary {name}"][0]().fit(ODDS, BINARY)
    assert (np.diff(fitted.predict_proba(np.sort(ODDS))) >= 0).all()


@pytest.mark.parametrize("name", [name for name, (_, kind) in METHODS.items() if kind == "logits"])
def test_masked_classes_keep_probability_zero(name):
    make, _ = METHODS[name]
    for mask in (-np.inf, -1e4):
        logits = LOGITS.copy()
        masked = np.zeros(logits.shape, bool)
        masked[np.arange(N), (LABELS + 1) % 4] = np.arange(N) % 3 == 0
        logits[masked] = mask
        logits.flags.writeable = False
        probs = make().fit(logits, LABELS).predict_proba(logits)
        assert (probs[masked] == 0).all()
        check_probabilities(probs)


SIGNS = np.where(np.arange(240).reshape(60, 4) % 7 % 2, 1.0, -1.0)
SOME, ONES = np.arange(60) % 4, np.ones(60)
# Logits, labels and weights of rows; of two classes, of the first column and of whether a label is.
EXTREMES = {
    "one row": (LOGITS[:1], SOME[:1], ONES[:1]),
    "two rows of a class": (LOGITS[:2], SOME[:2] * 0, ONES[:2]),
    "equal rows": (np.repeat(LOGITS[:1], 60, axis=0), SOME, ONES),
    "all right": (9 * np.eye(4)[SOME], SOME, ONES),
    "all wrong": (-9 * np.eye(4)[SOME], SOME, ONES),
    "huge": (1.7e308 * SIGNS, SOME, ONES),
    "small": (1e-308 * SIGNS, SOME, ONES),
    "light and heavy": (LOGITS[:60], SOME, np.where(SOME == 1, 1e150, 1e-150)),
    "too light": (LOGITS[:60], SOME, 1e-300 * ONES),
    "too heavy": (LOGITS[:60], SOME, 1e300 * ONES),
}


@every_method
def test_extreme_fits_give_probabilities_or_an_error_that_names_an_argument(name):
    make, kind = METHODS[name]
    for extreme, (scores, labels, weights) in EXTREMES.items():
        if kind == "odds":
            scores, labels = scores[:, 0], (labels == 0).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of a library underneath
            warnings.simplefilter("ignore", UserWarning)
            found, said = found_or_said(
                lambda z=scores, y=labels, w=weights: make().fit(z, y, w).predict_proba(z)
            )
        if extreme.startswith("too "):
            assert found is None
        if found is None:
            assert re.match(r"\w+( \(inputs='\w+'\))?: ", said)
        else:
            check_probabilities(found)


@every_method
def test_probabilities_and_the_other_shape_are_taken_or_refused_by_name(name):
    make, kind = METHODS[name]
    scores, labels = DATA["probs" if kind == "logits" else "positive"]
    make().set_params(inputs="probs").fit(as_predictions(scores, labels))
    with pytest.raises(ValueError, match=r"^logits: expected logits, found Predictions of 300"):
        make().fit(as_predictions(scores, labels))
    scores, labels = DATA["odds" if kind == "logits" else "logits"]
    found, said = found_or_said(lambda: make().fit(scores, labels).predict_proba(scores))
    assert re.match(r"logits: \w+ takes shape \(N", said) or found.shape == scores.shape
