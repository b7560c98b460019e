"""Decisions with probabilities: selective prediction, conformal sets and label shift.

`risk_coverage` and `selection_threshold` are for a model that may abstain when it is unsure.
`ConformalSets` predicts a set of classes for each sample, so that the true class is in the set at
a chosen rate, and `set_coverage` measures that rate. `adjust_priors` adjusts probabilities for
label shift, where the classes are more or less frequent than in training, and `estimate_priors`
estimates how frequent they are, without labels. The net benefit of acting on probabilities is
`calib_utils.metrics.decision_curve`.

Anything that is fitted, here or in a temperature before it, needs a calibration set: samples that
the model was not trained on and that do not test it afterwards. ``probs``, ``confidences`` and
``correct`` are as in `calib_utils.metrics`: torch tensors, NumPy arrays or lists. Bad input raises
a ValueError.
"""

from calib_utils.decisions.conformal import ConformalSets, SetCoverage, set_coverage
from calib_utils.decisions.priors import adjust_priors, estimate_priors
from calib_utils.decisions.selective import RiskCoverage, risk_coverage, selection_threshold

__all__ = [
    "ConformalSets",
    "RiskCoverage",
    "SetCoverage",
    "adjust_priors",
    "estimate_priors",
    "risk_coverage",
    "selection_threshold",
    "set_coverage",
]
