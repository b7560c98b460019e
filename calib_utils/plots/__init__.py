"""Plots of calibration. Each function draws on ``ax`` and returns what it drew.

Colour-blind readers can tell the colours apart, and the gaps are hatched for print.
"""

try:
    import matplotlib  # noqa: F401  each module needs it
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "plots need matplotlib, which is not installed: pip install matplotlib",
        name="matplotlib",
    ) from error

from calib_utils.plots.diagrams import (
    BLUE,
    GREY,
    ORANGE,
    ReliabilityDiagram,
    reliability_diagram,
)
from calib_utils.plots.factors import FactorPlot, factor_panels
from calib_utils.plots.generalization import GeneralizationPlot, generalization_plot
from calib_utils.plots.histograms import ConfidenceHistogram, confidence_histogram
from calib_utils.plots.histories import history_panels
from calib_utils.plots.maps import CalibrationMap, calibration_map
from calib_utils.plots.side_by_side import reliability_diagrams
from calib_utils.plots.temperatures import TemperatureCurve, temperature_curve
from calib_utils.plots.verdicts import verdict_plot

__all__ = [
    "BLUE",
    "GREY",
    "ORANGE",
    "CalibrationMap",
    "ConfidenceHistogram",
    "FactorPlot",
    "GeneralizationPlot",
    "ReliabilityDiagram",
    "TemperatureCurve",
    "calibration_map",
    "confidence_histogram",
    "factor_panels",
    "generalization_plot",
    "history_panels",
    "reliability_diagram",
    "reliability_diagrams",
    "temperature_curve",
    "verdict_plot",
]
