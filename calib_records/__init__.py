"""The records of the course on calibration, which `calib_utils.records` reads."""

__version__ = "0.1.0"
