"""Measure and improve the calibration of neural networks.

Import the module you need, for example ``from calib_utils import metrics``.
"""

__version__ = "0.1.0"
