"""Bad input: a ValueError that names the argument, at the gate; and that each argument gets there.

Each kind of bad input is tried where it is checked. Of a function's arguments one bad value shows
that they are checked at all, before anything is drawn.
"""

from inspect import signature

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse
import torch

from calib_utils import comparing, decisions, metrics, plots
from calib_utils.predictions import as_predictions, checks
from calib_utils.predictions.arrays import plain_array, to_numpy
from calib_utils.recalibration import PlattScaling, VectorScaling
from calib_utils.records import by_level, load_grid
from tests.predictions.bad_input_cases import (
    BAD_LABELS,
    BAD_PROBS,
    BINARY,
    LABELS,
    LOGITS,
    POSITIVE,
    PROBS,
    K,
)

EVEN = np.full(K, 1 / K)
SETS = decisions.ConformalSets().fit(PROBS, LABELS).predict(PROBS)
PLATT = PlattScaling().fit(LOGITS[:, 0], BINARY)
CLAIM = ("width", 12, 48, "ece", "higher")


@pytest.fixture(autouse=True)
def _nothing_is_drawn():
    plt.close("all")  # what other tests of this process left
    yield
    drawn = plt.get_fignums()
    plt.close("all")
    assert drawn == []


# ---------------------------------------------------------------- kinds of bad input


@pytest.mark.parametrize("bad", BAD_LABELS)
def test_the_gate_refuses_labels(bad):
    labels, message = BAD_LABELS[bad]
    with pytest.raises(ValueError, match=f"^labels: .*{message}"):
        as_predictions(PROBS, labels)


@pytest.mark.parametrize("bad", BAD_PROBS)
def test_the_gate_refuses_probs(bad):
    probs, message = BAD_PROBS[bad]
    with pytest.raises(ValueError, match=f"^probs: .*{message}"):
        as_predictions(probs, LABELS)


NO_NUMBERS = {
    "text": np.array(["a", "b"]),
    "nothing": None,
    "complex": np.array([0.5j, 0.5]),
    "masked": np.ma.masked_array([0.5, 0.5], [True, False]),
    "list of masked": [np.ma.masked_array([0.5, 0.5], [True, False]), np.array([0.5, 0.5])],
    "ragged": [[0.5], [0.5, 0.5]],
    "iterator": iter([0.5, 0.5]),
    "generator": (x for x in [0.5, 0.5]),
    "sparse": scipy.sparse.csr_array(np.eye(2)),
    "sparse tensor": torch.eye(2).to_sparse(),
    "meta": torch.empty(2, device="meta"),
    "float8": torch.eye(2).to(torch.float8_e4m3fn),
    "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(1)]),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_to_numpy_refuses_what_is_no_array_of_numbers(kind):
    with pytest.raises(ValueError, match=r"^values: (found|expected real numbers)"):
        to_numpy(NO_NUMBERS[kind], "values")


def test_plain_array_takes_views_of_tensors_for_their_numbers():
    assert plain_array(torch.tensor([-0.7, -0.3])._neg_view(), "x").tolist() == pytest.approx(
        [0.7, 0.3]
    )


WORDS = ["x", None, np.nan, np.inf, -1, [1], 1j]
OF_ONE_VALUE = {
    "check_count": lambda x: checks.check_count(x, "name", ""),
    "check_flag": lambda x: checks.check_flag(x, "name"),
    "check_number": lambda x: checks.check_number(x, "name", 0),
    "check_seed": checks.check_seed,
    "check_share": lambda x: checks.check_share(x, "name", 0.95),
}


@pytest.mark.parametrize("value", WORDS, ids=repr)
@pytest.mark.parametrize("check", OF_ONE_VALUE)
def test_checks_of_a_single_value(check, value):
    with pytest.raises(ValueError, match=r"^(name|seed): expected "):
        OF_ONE_VALUE[check](value)


def test_no_boolean_is_a_number_and_no_number_a_share():
    for check in ("check_count", "check_number", "check_seed", "check_share"):
        with pytest.raises(ValueError, match=r"^(name|seed): expected "):
            OF_ONE_VALUE[check](True)
    for value in (0, 1, 95):
        with pytest.raises(ValueError, match="between 0 and 1"):
            OF_ONE_VALUE["check_share"](value)


# ---------------------------------------------------------------- each argument is checked

GRID = load_grid("width", "core")
NARROW, _, WIDE = by_level(GRID).values()
HISTORY = GRID[0].history
ARGUMENTS = {
    "old": lambda x: decisions.adjust_priors(PROBS, x, EVEN),
    "confidences": lambda x: decisions.risk_coverage(x, [1, 0]),
    "correct": lambda x: decisions.selection_threshold([0.5, 0.6], x, risk=0.1),
    "sets": lambda x: decisions.set_coverage(x, [0, 1]),
    "labels": lambda x: decisions.set_coverage(SETS, x),
    "coverage": lambda x: decisions.ConformalSets(x).fit(PROBS, LABELS),
    "adaptive": lambda x: decisions.ConformalSets(adaptive=x).fit(PROBS, LABELS),
    "seed": lambda x: decisions.ConformalSets(adaptive=True, seed=x).fit(PROBS, LABELS),
    "pseudo_count": lambda x: decisions.estimate_priors(PROBS, EVEN, pseudo_count=x),
    "risk": lambda x: decisions.selection_threshold(POSITIVE, BINARY, risk=x),
    "level": lambda x: decisions.selection_threshold(POSITIVE, BINARY, risk=0.1, level=x),
    "level of coverage": lambda x: decisions.set_coverage(SETS, LABELS, level=x),
    "seed of a baseline": lambda x: metrics.baseline_calibration_error(PROBS, seed=x),
    "seed of an interval": lambda x: metrics.calibration_error_interval(PROBS, LABELS, seed=x),
    "draws": lambda x: metrics.baseline_calibration_error(PROBS, draws=x),
    "ignore_index": lambda x: metrics.CalibrationError(ignore_index=x),
    "first of a table": lambda x: comparing.mcnemar(x, [1, 0]),
    "second": lambda x: comparing.paired_difference([1, 0], x),
    "differences": lambda x: comparing.corrected_difference(x, 10, 10),
    "n_train": lambda x: comparing.corrected_difference([1.0, 2.0], x, 10),
    "p_values": comparing.holm,
    "values": comparing.spread,
    "level of a difference": lambda x: comparing.Difference(0.0, 1.0, 3).interval(x),
    "records of a table": comparing.level_table,
    "records of claims": lambda x: comparing.judge(x, [CLAIM]),
    "comparisons": lambda x: comparing.judge(GRID, x),
    "comparisons of a claim": lambda x: comparing.judge(GRID, [(*CLAIM, x)]),
    "first of groups": lambda x: comparing.compare(x, NARROW),
    "second of groups": lambda x: comparing.compare(NARROW, x),
    "others": lambda x: comparing.compare_beyond_gap(NARROW, WIDE, x),
    "records of a spread": comparing.pooled_spread,
    "records of trainings": comparing.by_training,
    "forecasts": lambda x: comparing.compare_forecasts(x, "single-at-T", "average-at-T"),
    "first of forecasts": lambda x: comparing.compare_forecasts([], x, "average-at-T"),
    "n_bins": lambda x: plots.reliability_diagram(PROBS, LABELS, n_bins=x),
    "n_bins of several": lambda x: plots.reliability_diagrams({"a": PROBS}, LABELS, n_bins=x),
    "n_bins of a histogram": lambda x: plots.confidence_histogram(PROBS, LABELS, n_bins=x),
    "n_bins of a map": lambda x: plots.calibration_map(PLATT, LOGITS[:, 0], BINARY, n_bins=x),
    "strategy": lambda x: plots.reliability_diagram(PROBS, LABELS, strategy=x),
    "min_count": lambda x: plots.reliability_diagram(PROBS, LABELS, min_count=x),
    "counts": lambda x: plots.reliability_diagram(PROBS, LABELS, counts=x),
    "consistency": lambda x: plots.reliability_diagram(PROBS, LABELS, consistency=x),
    "probs side by side": lambda x: plots.reliability_diagrams(x, LABELS),
    "temperatures": lambda x: plots.temperature_curve(LOGITS, LABELS, x),
    "marks": lambda x: plots.temperature_curve(LOGITS, LABELS, [1.0], marks=x),
    "recalibrator": lambda x: plots.calibration_map(x, LOGITS[:, 0], BINARY),
    "recalibrator by name": lambda x: plots.calibration_map({"a": x}, LOGITS[:, 0], BINARY),
    "records of panels": plots.factor_panels,
    "records of gaps": plots.generalization_plot,
    "verdicts": plots.verdict_plot,
    "history": lambda x: plots.history_panels(x, [["train_loss"]]),
    "panels": lambda x: plots.history_panels(HISTORY, x),
    "marks of a history": lambda x: plots.history_panels(HISTORY, [["train_loss"]], marks=x),
    "axes": lambda x: plots.history_panels(HISTORY, [["train_loss"]], axes=[x]),
}


@pytest.mark.parametrize("named", ARGUMENTS)
def test_an_argument_is_refused_by_name(named):
    with pytest.raises(ValueError, match=f"^{named.split()[0]}: "):
        ARGUMENTS[named]("x")


@pytest.mark.parametrize("named", [name for name in ARGUMENTS if name.startswith("records")])
def test_a_list_of_something_else_is_no_list_of_runs(named):
    with pytest.raises(ValueError, match=r"^records: "):
        ARGUMENTS[named](["x"])


def test_a_map_for_many_classes_is_none_for_two():
    with pytest.raises(ValueError, match=r"takes shape \(N, K\)"):
        plots.calibration_map(VectorScaling().fit(LOGITS, LABELS), LOGITS[:, 0], BINARY)


def test_a_history_is_drawn_on_its_axes():
    for panels in ([], [[]], [list("abcd")]):
        with pytest.raises(ValueError, match=r"^panels: expected one to three keys"):
            plots.history_panels(HISTORY, panels)
    with pytest.raises(ValueError, match=r"^axes: expected 1, one for each panel, found 0"):
        plots.history_panels(HISTORY, [["train_loss"]], axes=[])


ON_AXES = {
    plots.calibration_map: (PLATT, LOGITS[:, 0], BINARY),
    plots.confidence_histogram: (PROBS, LABELS),
    plots.generalization_plot: (GRID,),
    plots.reliability_diagram: (PROBS, LABELS),
    plots.temperature_curve: (LOGITS, LABELS, [1.0]),
}


def test_the_axes_of_each_plot_are_tried():
    functions = (getattr(plots, name) for name in plots.__all__)
    functions = (one for one in functions if callable(one) and not isinstance(one, type))
    assert {one for one in functions if "ax" in signature(one).parameters} == ON_AXES.keys()


@pytest.mark.parametrize("plot", ON_AXES, ids=lambda x: x.__name__)
def test_a_pair_of_figure_and_axes_is_no_axes(plot):
    """As `plt.subplots()` gives them."""
    with pytest.raises(ValueError, match=r"^ax: expected axes of Matplotlib, found tuple; make"):
        plot(*ON_AXES[plot], ax=(None, None))
