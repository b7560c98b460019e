"""What to do with probabilities: answer or pass on, name several classes, meet other priors.

`risk_coverage` and `selection_threshold` are for a model that may stay silent where it is unsure.
`ConformalSets` names several classes for a sample, so that the true one is among them as often as
was promised, and `set_coverage` says how often it was. `adjust_priors` carries probabilities to a
place where the classes are more or less frequent, and `estimate_priors` finds out how frequent
they are there, without labels. The net benefit of acting on
probabilities is in `calib_utils.metrics.decision_curve`.

What is fitted here, a threshold or a temperature before it, needs samples that the model was not
trained on, and that do not test it afterwards. ``probs``, ``confidences`` and ``correct`` are those
of `calib_utils.metrics`: torch tensors, NumPy arrays or lists. Bad input raises a ValueError.
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
