"""Bad input to decisions, plots and reports: a ValueError that names the argument, no picture."""

from inspect import signature

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from calib_utils import comparing, decisions, plots
from calib_utils.predictions import as_predictions
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
    with_value,
)

EVEN = np.full(K, 1 / K)
FITTED = decisions.ConformalSets().fit(PROBS, LABELS)
SETS = FITTED.predict(PROBS)
PLATT = PlattScaling().fit(LOGITS[:, 0], BINARY)
CLAIM = ("width", 12, 48, "ece", "higher")


@pytest.fixture(autouse=True)
def _nothing_is_drawn():
    plt.close("all")  # what other tests of this process left
    yield
    drawn = plt.get_fignums()
    plt.close("all")
    assert drawn == []


# ---------------------------------------------------------------- arrays


@pytest.mark.parametrize("bad", BAD_LABELS)
def test_the_gate_refuses_labels(bad):
    labels, message = BAD_LABELS[bad]
    with pytest.raises(ValueError, match=f"^labels: .*{message}"):
        as_predictions(PROBS, labels)
    with pytest.raises(ValueError, match=f"^labels: .*{message}"):
        decisions.set_coverage(SETS, labels)


@pytest.mark.parametrize("bad", BAD_PROBS)
def test_the_gate_refuses_probs(bad):
    probs, message = BAD_PROBS[bad]
    with pytest.raises(ValueError, match=f"^probs: .*{message}"):
        as_predictions(probs, LABELS)
    if isinstance(probs, np.ndarray) and probs.dtype == float and not np.ma.isMA(probs):
        with pytest.raises(ValueError, match=f"^probs: .*{message}"):
            as_predictions(torch.from_numpy(probs), torch.from_numpy(LABELS))


@pytest.mark.parametrize(
    "logits",
    [with_value(LOGITS[:, 0], 5, np.nan), BINARY, LOGITS[None], "x", np.ma.masked_less(LOGITS, -1)],
    ids=["NaN", "integers", "three axes", "text", "masked"],
)
def test_logits(logits):
    with pytest.raises(ValueError, match=r"^logits: "):
        plots.temperature_curve(logits, BINARY, [1.0])
    with pytest.raises(ValueError, match=r"^logits: "):
        plots.calibration_map(PLATT, logits, BINARY)


BAD_NUMBERS = {
    "text": np.array(["a", "b"]),
    "nothing": None,
    "complex": np.array([0.5j, 0.5]),
    "masked": np.ma.masked_array([0.5, 0.5], [True, False]),
    "ragged": [[0.5], [0.5, 0.5]],
    "one number": 0.5,
    "two axes": [[0.5, 0.5]],
    "an iterator": iter([0.5, 0.5]),
}
FROM_NUMBERS = {
    "old": lambda x: decisions.adjust_priors(PROBS[:, :2] / PROBS[:, :2].sum(1)[:, None], x, x),
    "confidences": lambda x: decisions.risk_coverage(x, [1, 0]),
    "correct": lambda x: decisions.selection_threshold([0.5, 0.6], x, risk=0.1),
    "sets": lambda x: decisions.set_coverage(x, [0, 1]),
    "first": lambda x: comparing.mcnemar(x, [1, 0]),
    "second": lambda x: comparing.paired_difference([1, 0], x),
    "differences": lambda x: comparing.corrected_difference(x, 10, 10),
    "p_values": comparing.holm,
    "values": comparing.spread,
    "temperatures": lambda x: plots.temperature_curve(LOGITS, LABELS, x),
    "marks": lambda x: plots.temperature_curve(LOGITS, LABELS, [1.0], marks=x),
}


@pytest.mark.parametrize("named", FROM_NUMBERS)
@pytest.mark.parametrize("bad", BAD_NUMBERS)
def test_numbers(named, bad):
    with pytest.raises(ValueError, match=f"^{named}: "):
        FROM_NUMBERS[named](BAD_NUMBERS[bad])


# ---------------------------------------------------------------- settings

WORDS = ["x", None, np.nan, np.inf, -1, [1], 1j]
SETTINGS = {
    "coverage": lambda x: decisions.ConformalSets(x).fit(PROBS, LABELS),
    "adaptive": lambda x: decisions.ConformalSets(adaptive=x).fit(PROBS, LABELS),
    "seed": lambda x: decisions.ConformalSets(adaptive=True, seed=x).fit(PROBS, LABELS),
    "pseudo_count": lambda x: decisions.estimate_priors(PROBS, EVEN, pseudo_count=x),
    "risk": lambda x: decisions.selection_threshold(POSITIVE, BINARY, risk=x),
    "level": lambda x: decisions.selection_threshold(POSITIVE, BINARY, risk=0.1, level=x),
    "level of coverage": lambda x: decisions.set_coverage(SETS, LABELS, level=x),
    "level of a difference": lambda x: comparing.Difference(0.0, 1.0, 3).interval(x),
    "n_bins": lambda x: plots.reliability_diagram(PROBS, LABELS, n_bins=x),
    "n_bins of several": lambda x: plots.reliability_diagrams({"a": PROBS}, LABELS, n_bins=x),
    "n_bins of a histogram": lambda x: plots.confidence_histogram(PROBS, LABELS, n_bins=x),
    "n_bins of a map": lambda x: plots.calibration_map(PLATT, LOGITS[:, 0], BINARY, n_bins=x),
    "strategy": lambda x: plots.reliability_diagram(PROBS, LABELS, strategy=x),
    "min_count": lambda x: plots.reliability_diagram(PROBS, LABELS, min_count=x),
    "counts": lambda x: plots.reliability_diagram(PROBS, LABELS, counts=x),
    "columns": lambda x: plots.reliability_diagrams({"a": PROBS}, LABELS, columns=x),
    "temperatures": lambda x: plots.temperature_curve(LOGITS, LABELS, [1.0, x]),
    "marks": lambda x: plots.temperature_curve(LOGITS, LABELS, [1.0], marks=[1.0, x]),
    "recalibrator": lambda x: plots.calibration_map(x, LOGITS[:, 0], BINARY),
    "recalibrator by name": lambda x: plots.calibration_map({"a": x}, LOGITS[:, 0], BINARY),
    "probs side by side": lambda x: plots.reliability_diagrams(x, LABELS),
    "n_train": lambda x: comparing.corrected_difference([1.0, 2.0], x, 10),
}


@pytest.mark.parametrize("value", WORDS, ids=repr)
@pytest.mark.parametrize("named", SETTINGS)
def test_settings(named, value):
    with pytest.raises(ValueError, match=f"^{named.split()[0]}: "):
        SETTINGS[named](value)


def test_settings_that_may_be_none_are_numbers_otherwise():
    for value in ("x", np.nan, -1, [1], 1j, 0, 1, 95):
        with pytest.raises(ValueError, match=r"^consistency: expected a number between 0 and 1"):
            plots.reliability_diagram(PROBS, LABELS, consistency=value)


def test_a_map_for_many_classes_is_none_for_two():
    with pytest.raises(ValueError, match=r"takes shape \(N, K\)"):
        plots.calibration_map(VectorScaling().fit(LOGITS, LABELS), LOGITS[:, 0], BINARY)


# ---------------------------------------------------------------- runs

GRID = load_grid("width", "core")
NARROW, _, WIDE = by_level(GRID).values()
FROM_RUNS = {
    "records of panels": plots.factor_panels,
    "records of gaps": plots.generalization_plot,
    "records of a table": comparing.level_table,
    "records of claims": lambda x: comparing.judge(x, [CLAIM]),
    "comparisons": lambda x: comparing.judge(GRID, x),
    "first": lambda x: comparing.compare(x, NARROW),
    "second": lambda x: comparing.compare(NARROW, x),
    "others": lambda x: comparing.compare_beyond_gap(NARROW, WIDE, x),
    "records of a spread": comparing.pooled_spread,
    "records of trainings": comparing.by_training,
    "verdicts": plots.verdict_plot,
    "forecasts": lambda x: comparing.compare_forecasts(x, "single-at-T", "average-at-T"),
    "history": lambda x: plots.history_panels(x, [["train_loss"]]),
    "panels": lambda x: plots.history_panels(GRID[0].history, x),
    "marks": lambda x: plots.history_panels(GRID[0].history, [["train_loss"]], marks=x),
}


@pytest.mark.parametrize("value", ["x", None, np.nan, ["x"], [None], [1j]], ids=repr)
@pytest.mark.parametrize("named", FROM_RUNS)
def test_runs(named, value):
    with pytest.raises(ValueError, match=f"^{named.split()[0]}: "):
        FROM_RUNS[named](value)


def test_a_history_is_drawn_on_its_axes():
    for panels in ([], [[]], "train_loss", [list("abcd")]):
        with pytest.raises(ValueError, match=r"^panels: expected one to three keys"):
            plots.history_panels(GRID[0].history, panels)
    with pytest.raises(ValueError, match=r"^axes: expected 1, one for each panel, found 0"):
        plots.history_panels(GRID[0].history, [["train_loss"]], axes=[])
    for axes in (3, [3], Figure()):
        with pytest.raises(ValueError, match=r"^axes: expected (several|axes of Matplotlib)"):
            plots.history_panels(GRID[0].history, [["train_loss"]], axes=axes)


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


@pytest.mark.parametrize("ax", [3, "x", (None, None), Figure()], ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("plot", ON_AXES, ids=lambda x: x.__name__)
def test_axes(plot, ax):
    """As `plt.subplots()` gives them, a figure and axes, they are not axes."""
    with pytest.raises(ValueError, match=r"^ax: expected axes of Matplotlib, found \w+; make them"):
        plot(*ON_AXES[plot], ax=ax)


def test_forecasts_by_words():
    for word in (None, 3, ["single-at-T"]):
        with pytest.raises(ValueError, match=r"^first: expected one of"):
            comparing.compare_forecasts([], word, "average-at-T")
    for count in (0, "x", 2.5, None):
        with pytest.raises(ValueError, match=r"^repeats: expected an integer"):
            comparing.compare_forecasts([], "single-at-T", "average-at-T", repeats=count)


def test_a_claim_has_five_words():
    for claim in (CLAIM[:4], (*CLAIM, "more"), "depth"):
        with pytest.raises(ValueError, match=r"^comparisons: expected"):
            comparing.judge(GRID, [claim])
