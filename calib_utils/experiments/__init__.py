"""Controlled experiments: which choices make a network overconfident?

What is trained stands in ``grids.toml``. ``python -m calib_utils.experiments`` trains it, and
each run leaves a small record, which `load_experiment` reads.
"""

from calib_utils.experiments.grids import Run, grid_names, plan_grid
from calib_utils.experiments.records import (
    ExperimentRecord,
    list_experiments,
    load_experiment,
    save_experiment,
)

__all__ = [
    "ExperimentRecord",
    "Run",
    "grid_names",
    "list_experiments",
    "load_experiment",
    "plan_grid",
    "save_experiment",
]
