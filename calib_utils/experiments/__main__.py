"""The command line of the experiments: ``python -m calib_utils.experiments --help``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import calib_utils.training  # noqa: F401  explains what to do without PyTorch
from calib_utils.experiments.grids import Run, grid_names, plan_grid
from calib_utils.experiments.one_run import epochs_done, has_record
from calib_utils.experiments.runner import run_grid
from calib_utils.records.experiments import load_experiment
from calib_utils.training.networks import check_options


def main(arguments: Sequence[str] | None = None) -> None:
    """List or make the runs of one or more grids."""
    parser = _parser()
    args = parser.parse_args(arguments)
    try:
        names = args.grid or grid_names(args.grids)
        runs = [run for name in names for run in plan_grid(name, args.protocol, args.grids)]
        runs.sort(key=lambda run: run.seed)  # the first seed of every grid comes early
        for run in runs:
            check_options(**run.network)
        if args.list:
            _list(runs, args)
        else:
            _make(runs, args)
    except (ValueError, OSError, ImportError, ArithmeticError, RuntimeError, MemoryError) as error:
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", []))
        parser.exit(1, f"error: {str(error) or type(error).__name__}{notes}\n")
    except KeyboardInterrupt:
        parser.exit(130, "\nStopped. The same command continues after the last complete epochs.\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m calib_utils.experiments",
        description="Train the networks of the experiments and store a record of each. Runs that "
        "have a record are left out; one that was stopped continues from its checkpoint when the "
        "same command is given again.",
    )
    add = parser.add_argument
    add("--grid", action="append", metavar="NAME", help="may be given again (default: all)")
    add("--protocol", default="cpu", help="such as core: how many images and epochs (default: cpu)")
    add("--folder", type=Path, default=Path("runs"), help="for the checkpoints (default: runs)")
    add("--records", type=Path, help="folder for the records (default: inside calib_records)")
    add("--device", choices=("cpu", "cuda"), help="default: the GPUs if there are any")
    add("--grids", type=Path, metavar="FILE", help="other grids than the course's")
    add("--list", action="store_true", help="only list what is there and missing")
    return parser


def _list(runs: Sequence[Run], args: argparse.Namespace) -> None:
    for run in runs:
        if has_record(run, args.records):
            record = load_experiment(run.grid, run.protocol, run.name, args.records)
            state = f"error {record.error:.1%}, NLL {record.nll:.3f}, ECE {record.ece:.1%}"
        else:
            state = f"{epochs_done(run, args.folder)} of {run.recipe.epochs} epochs"
        print(f"{run.grid + '/' + run.name:<45} {state}")


def _make(runs: Sequence[Run], args: argparse.Namespace) -> None:
    failed = run_grid(runs, args.folder, args.records, device=args.device)
    if failed:
        raise ValueError("\n  ".join(["these runs failed:", *map(": ".join, failed.items())]))


if __name__ == "__main__":
    main()
