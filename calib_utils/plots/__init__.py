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
from calib_utils.plots.maps import CalibrationMap, calibration_map

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "CalibrationMap",
    "ConfidenceHistogram",
    "FactorPlot",
    "ReliabilityDiagram",
    "calibration_map",
    "confidence_histogram",
    "factor_plot",
    "reliability_diagram",
]
