"""How well calibrated, and how accurate, predictions are.

``probs`` is (N, K): rows of class probabilities that sum to one. The confidence of a prediction is
the probability of its predicted class, the first of tied maxima. Calibrated then means that
predictions with confidence 0.8 are correct four times in five.

With two classes ``probs`` may also be (N,): the probability of the positive class, label 1.
Calibrated then means that of the samples given 0.8, four in five are positive. The two questions
differ: a sample given 0.1 counts as 0.1 here, but the row [0.9, 0.1] is a prediction of class 0
with confidence 0.9.

Torch tensors on any device, NumPy arrays and lists are all accepted. The sum of a row may differ
from one by 1e-4 (float32, float64), 2e-3 (float16) or 6e-3 (bfloat16), as it does for a softmax
that was rounded to that type. Bad input raises a ValueError.

Labels by name, rounded rows, weights, and confidences with known correctness are given as the
result of `calib_utils.predictions.as_predictions`: ``metric(predictions)``.

Weights set how much each sample counts relative to the others, for example how much more often it
occurs in use than in the test set. Means become weighted means: multiplying all weights by ten
changes nothing, a weight of 0 leaves the sample out, and in a mean a weight of 2 counts as two such
samples. Weights are not numbers of samples, however, and more of the noise comes from a sample of
weight 2 than from two samples. Of the methods that depend on sampling noise, the two intervals,
`cox_line` and `calibration_in_the_large` take weights and measure their noise. The baseline,
`calibration_test`, and all with ``blocks`` take none.

Intervals and tests take samples for independent. Where several belong together, such as the visits
of one patient or the frames of one video, give `calibration_error_interval`, `calibration_test`,
`cox_line` and `calibration_in_the_large` the name of each sample's block: ``blocks=patient``.

Probabilities and logits may be in a file, as ``np.load(path, mmap_mode="r")``; they are read in
blocks of rows, and never copied as a whole. An ECE of 50,000 by 32,000 in float16 takes about
twenty seconds on one core, and a few megabytes.
"""

import importlib.util
from typing import TYPE_CHECKING, Any

from calib_utils.metrics.baseline import (
    CalibrationBaseline,
    CalibrationTest,
    baseline_calibration_error,
    calibration_test,
)
from calib_utils.metrics.bins import ReliabilityBins, reliability_bins, top_label
from calib_utils.metrics.errors import (
    adaptive_calibration_error,
    classwise_calibration_error,
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
)
from calib_utils.metrics.intervals import (
    calibration_error_interval,
    debiased_calibration_error_interval,
)
from calib_utils.metrics.scores import (
    BrierDecomposition,
    DecisionCurve,
    accuracy,
    brier_decomposition,
    brier_score,
    decision_curve,
    negative_log_likelihood,
)
from calib_utils.metrics.without_bins import (
    CalibrationInTheLarge,
    CoxLine,
    calibration_in_the_large,
    confidence_auroc,
    cox_line,
    smooth_calibration_error,
)

if TYPE_CHECKING:
    from calib_utils.metrics.streaming import CalibrationError

__all__ = [
    "BrierDecomposition",
    "CalibrationBaseline",
    "CalibrationError",
    "CalibrationInTheLarge",
    "CalibrationTest",
    "CoxLine",
    "DecisionCurve",
    "ReliabilityBins",
    "accuracy",
    "adaptive_calibration_error",
    "baseline_calibration_error",
    "brier_decomposition",
    "brier_score",
    "calibration_error_interval",
    "calibration_in_the_large",
    "calibration_test",
    "classwise_calibration_error",
    "confidence_auroc",
    "cox_line",
    "debiased_calibration_error",
    "debiased_calibration_error_interval",
    "decision_curve",
    "expected_calibration_error",
    "maximum_calibration_error",
    "negative_log_likelihood",
    "reliability_bins",
    "smooth_calibration_error",
    "top_label",
]


def __getattr__(name: str) -> Any:
    # Only this name asks for torch, and only where torchmetrics is installed.
    if name != "CalibrationError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where = "streaming" if importlib.util.find_spec("torchmetrics") is None else "torchmetric"
    return getattr(importlib.import_module(f"{__name__}.{where}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
