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
from calib_utils.plots.side_by_side import reliability_diagrams
from calib_utils.plots.temperatures import TemperatureCurve, temperature_curve

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "ConfidenceHistogram",
    "FactorPlot",
    "ReliabilityDiagram",
    "TemperatureCurve",
    "confidence_histogram",
    "factor_plot",
    "reliability_diagram",
    "reliability_diagrams",
    "temperature_curve",
]
