"""A use of everything that takes predictions, which `test_contracts` holds to the same rules.

`OF_PREDICTIONS` has, by room and name, a use of each: it is given probabilities (or what `INPUTS`
says) and labels, or ``Predictions``, and returns numbers. `METHODS` makes the recalibrators.
"""

import matplotlib.pyplot as plt
import numpy as np

from calib_utils import decisions, metrics, plots, recalibration
from calib_utils.predictions import Predictions, as_predictions
from tests.recalibration.recalibration_cases import ALL_BINARY, ALL_MULTICLASS

EVEN = np.full(4, 1 / 4)


def numbers(found):
    """What a function returned, as a flat array: of what was drawn, its numbers."""
    parts = found if isinstance(found, (tuple, list)) else [found]
    flat = [numbers(x) if isinstance(x, (tuple, list)) else np.ravel(x) for x in parts]
    return np.concatenate([x.astype(float) for x in flat]) if flat else np.empty(0)


def of(function, **settings):
    return lambda *given: numbers(function(*given, **settings))


def of_arrays(function):
    """Of one whose arrays are confidences, and whether they are right."""

    def use(probs, *labels):
        whole = probs if isinstance(probs, Predictions) else as_predictions(probs, *labels)
        return numbers(function(whole))

    return use


def unlabelled(function, *settings):
    return lambda probs, *_: numbers(function(probs, *settings))


def drawn(function, *names):
    """The numbers in what was drawn."""

    def use(*given):
        found = function(*given)
        plt.close("all")
        return numbers([getattr(found, name) for name in names])

    return use


def streamed(*given):
    metric = metrics.CalibrationError()
    metric.update(*given)
    return numbers(metric.compute())


def in_sets(*given):
    fitted = decisions.ConformalSets(0.6).fit(*given)
    return np.append(fitted.threshold_, numbers(fitted.predict(given[0])))


def several(probs, *labels):
    return plots.reliability_diagrams({"a": probs}, *labels)["a"]


def at_temperatures(*given):
    first, *labels = given
    return plots.temperature_curve(first, *labels, temperatures=[0.7, 1.5])


def mapped(*given):
    warm = recalibration.TemperatureScaling(2.0).fit([-1.0, 1.0], [0, 1])
    return plots.calibration_map(warm, *given)


BINS = ("bins", "ece", "baseline")
OF_PREDICTIONS = {
    "metrics": {
        "CalibrationError": streamed,
        "accuracy": of(metrics.accuracy),
        "adaptive_calibration_error": of(metrics.adaptive_calibration_error),
        "brier_decomposition": of(metrics.brier_decomposition),
        "brier_score": of(metrics.brier_score),
        "baseline_calibration_error": unlabelled(metrics.baseline_calibration_error),
        "calibration_error_interval": of(metrics.calibration_error_interval),
        "calibration_in_the_large": of(metrics.calibration_in_the_large),
        "calibration_test": of(metrics.calibration_test, draws=50),
        "classwise_calibration_error": of(metrics.classwise_calibration_error),
        "confidence_auroc": of(metrics.confidence_auroc),
        "cox_line": of(metrics.cox_line),
        "debiased_calibration_error": of(metrics.debiased_calibration_error),
        "debiased_calibration_error_interval": of(metrics.debiased_calibration_error_interval),
        "decision_curve": of(metrics.decision_curve),
        "expected_calibration_error": of(metrics.expected_calibration_error),
        "maximum_calibration_error": of(metrics.maximum_calibration_error, n_bins=5),
        "negative_log_likelihood": of(metrics.negative_log_likelihood),
        "reliability_bins": of_arrays(metrics.reliability_bins),
        "smooth_calibration_error": of(metrics.smooth_calibration_error),
        "top_label": of(metrics.top_label),
    },
    "decisions": {
        "ConformalSets": in_sets,
        "adjust_priors": unlabelled(decisions.adjust_priors, EVEN, EVEN),
        "estimate_priors": unlabelled(decisions.estimate_priors, EVEN),
        "risk_coverage": of_arrays(lambda p: decisions.risk_coverage(p)[:4]),
        "selection_threshold": of_arrays(lambda p: decisions.selection_threshold(p, risk=0.6)),
    },
    "plots": {
        "calibration_map": drawn(mapped, "bins"),
        "confidence_histogram": drawn(
            plots.confidence_histogram, "share", "mean_confidence", "accuracy"
        ),
        "reliability_diagram": drawn(plots.reliability_diagram, *BINS),
        "reliability_diagrams": drawn(several, *BINS),
        "temperature_curve": drawn(at_temperatures, "eces"),
    },
}
INPUTS = {"calibration_map": "odds", "temperature_curve": "logits"}
# A weight counts the row more often in all others that take weights.
NO_REPEATS = {
    # Two rows are less noise than one of weight two.
    *("calibration_error_interval", "calibration_in_the_large", "cox_line"),
    *("debiased_calibration_error", "debiased_calibration_error_interval"),
    # Their bins of equal mass have other edges.
    *("adaptive_calibration_error", "calibration_map"),
    # They give numbers for each row, and leave the weights alone.
    *("top_label", "adjust_priors"),
}

METHODS = {
    **{name: (make, "logits") for name, make in ALL_MULTICLASS.items()},
    **{f"binary {name}": (make, "odds") for name, make in ALL_BINARY.items()},
}
# Of these a weight of two is not quite two rows.
NO_REPEATED_FITS = {
    name: "bins of equal mass have other edges" for name in METHODS if "equal mass" in name
}
