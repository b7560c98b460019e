"""Controlled experiments: which choices make a network overconfident?

``grids.toml`` defines the networks. ``python -m calib_utils.experiments`` trains them, and each run
leaves a small record, which `calib_utils.records` reads without PyTorch.
"""

from calib_utils.experiments.grids import (
    Comparison,
    Run,
    plan_grid,
    planned_comparisons,
)

__all__ = ["Comparison", "Run", "plan_grid", "planned_comparisons"]
