"""The plan of tiny grids, and what their records have in common."""

import dataclasses
from pathlib import Path

import numpy as np

from calib_utils.metrics import reliability_bins
from calib_utils.records import ExperimentRecord, experiments
from calib_utils.records.experiments import list_experiments, load_experiment

TINY = """
seeds = [0, 1]

[protocols.cpu]
dataset = "digits"
training_images = 150

[protocols.cpu.recipe]
epochs = 8
milestones = [5]
batch_size = 32
learning_rate = 0.02
crop_padding = 0
flip = false

[grids.weight-decay]
network = { name = "lenet5" }
factor = "weight_decay"
values = [0.0, 1e-2]

[grids.nll]
network = { name = "lenet5" }
test_every_epoch = true
cpu = { seeds = [2], recipe = { epochs = 3 } }

[grids.long]
network = { name = "lenet5" }
factor = "weight_decay"
values = [0.0, 1e-2]
cpu = { seeds = [0], recipe = { epochs = 6 } }

[grids.broken]
network = { name = "lenet5" }
factor = "learning_rate"
values = [0.01, 1e30, 0.02]
cpu = { seeds = [0], recipe = { epochs = 1 } }

[grids.hopeless]
network = { name = "lenet5" }
factor = "learning_rate"
values = [1e30, 0.01]
cpu = { seeds = [0], recipe = { epochs = 1 } }
"""
FAILED = "broken/lenet5.learning_rate-1e+30.seed-0"


def same_numbers(grid: str, folder: Path, expected: Path) -> None:
    """Check all but the times and what else says when and where."""
    names = list_experiments(grid, "cpu", expected)
    assert names
    assert list_experiments(grid, "cpu", folder) == names
    for name in names:
        found, wanted = (
            dataclasses.asdict(load_experiment(grid, "cpu", name, f)) for f in (folder, expected)
        )
        for record in (found, wanted):
            del record["hardware"], record["date"]
            for entry in record["history"]:
                del entry["seconds"]
            for array in experiments._ARRAYS:
                record[array] = None if record[array] is None else record[array].tolist()
        assert found == wanted


def ece(record: ExperimentRecord) -> float:
    bins = reliability_bins(record.confidences, record.correct)
    gaps = np.abs(bins.accuracy - bins.confidence)
    return float(np.nansum(bins.counts * gaps) / bins.counts.sum())


def options(tiny: Path, folder: Path, grid: str) -> list[str]:
    given = {"--grid": grid, "--grids": tiny, "--folder": folder, "--records": folder}
    return [str(x) for pair in given.items() for x in pair]
