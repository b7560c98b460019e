"""Train on a large GPU what takes a CPU a day: `python -m tools.running.on_a_gpu FOLDER`.

Runs the lab with the profile `gpu` through papermill, and then the seeds of its ResNet-34 that have
no record yet. FOLDER gets the lab's notebook with its outputs, a record of each seed, and the
checkpoints, from which the same command goes on if `timeout` stopped it. With --trial, each network
sees two batches, so a CPU will do.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import papermill

from calib_utils.experiments.grids import plan_grid
from calib_utils.experiments.one_run import has_record, run_experiment
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook, write_if_changed

LAB = "notebooks/resnet34-lab"


def run_lab(folder: Path, trial: bool) -> None:
    book = Book()
    parameters = book.parameters(LAB, "gpu") | {"checkpoint_folder": str(folder / "checkpoints")}
    if trial:  # the digits' 197 training images are two batches
        parameters |= {"dataset": "digits", "epochs": 1, "learning_rate": 0.001}
    source, target = folder / "lab-source.ipynb", folder / "lab.ipynb"
    write_if_changed(page_notebook(book, LAB), source)
    papermill.execute_notebook(
        source, target, parameters, kernel_name="python3", cwd="notebooks", progress_bar=False
    )


def run_seeds(folder: Path, trial: bool) -> Iterator[str]:
    """Train the seeds without a record, and say what each has taken."""
    plan = plan_grid("resnet34", "ladder")
    runs = [run for run in plan if not has_record(run)]
    if trial:
        run = plan[0]
        share = 2 * run.recipe.batch_size / run.training_images
        runs = [replace(run, name="trial", recipe=replace(run.recipe, epochs=1, share=share))]
    for run in runs:
        start = time.monotonic()
        run_experiment(run, folder / "checkpoints", folder / "records", progress=False)
        yield f"{run.name}: {time.monotonic() - start:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trial", action="store_true", help="two batches of each network")
    arguments = parser.parse_args()
    folder, start = arguments.folder.absolute(), time.monotonic()
    for name in ("checkpoints", "records"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    said = []
    try:
        run_lab(folder, arguments.trial)
        said.append(f"lab: {time.monotonic() - start:.0f} s")
        print(said[-1], flush=True)
        for line in run_seeds(folder, arguments.trial):
            said.append(line)
            print(line, flush=True)
    finally:
        (folder / "times.json").write_text(json.dumps(said, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
