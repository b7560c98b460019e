"""Controlled experiments: which choices make a network overconfident?

``grids.toml`` defines the networks. ``python -m calib_utils.experiments`` trains them, and each run
leaves a small record. Reading records needs no PyTorch: these functions are in
`calib_utils.records`, and can be imported from here as well.
"""

from calib_utils.experiments.grids import (
    Comparison,
    Run,
    grid_names,
    plan_grid,
    planned_comparisons,
)
from calib_utils.records import (
    ExperimentRecord,
    by_level,
    describe_protocol,
    list_experiments,
    load_experiment,
    load_grid,
    save_experiment,
)

__all__ = [
    "Comparison",
    "ExperimentRecord",
    "Run",
    "by_level",
    "describe_protocol",
    "grid_names",
    "list_experiments",
    "load_experiment",
    "load_grid",
    "plan_grid",
    "planned_comparisons",
    "save_experiment",
]
