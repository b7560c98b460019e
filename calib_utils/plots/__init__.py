"""Pictures of calibration. Each function draws on ``ax`` and returns what it drew.

The colours are told apart by colour-blind readers, and the gaps are hatched for print.
"""

from calib_utils.plots.diagrams import (
    BLUE,
    GREY,
    ORANGE,
    ConfidenceHistogram,
    ReliabilityDiagram,
    confidence_histogram,
    reliability_diagram,
)
from calib_utils.plots.factors import FactorPlot, factor_plot

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "ConfidenceHistogram",
    "FactorPlot",
    "ReliabilityDiagram",
    "confidence_histogram",
    "factor_plot",
    "reliability_diagram",
]
