"""Controlled experiments: which choices make a network overconfident?

What is trained stands in ``grids.toml``. ``python -m calib_utils.experiments`` trains it, and
each run leaves a small record. What reads records needs no PyTorch: it is in
`calib_utils.records`, and its names can be imported from here too.
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
