"""Train the networks of a grid, and leave a record of each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed, parallel_config
from torch import nn

from calib_utils.experiments.grids import Run
from calib_utils.metrics import expected_calibration_error, negative_log_likelihood, top_label
from calib_utils.metrics.bins import sums, uniform_index
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import ExperimentRecord, load_experiment, save_experiment
from calib_utils.records.experiments import experiment_path
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.data import ImageSet, load_splits, train_validation_split
from calib_utils.training.distributed import from_first, rank, world_size
from calib_utils.training.loop import predict_logits, train
from calib_utils.training.networks import build_model
from calib_utils.training.progress import progress_bars

__all__ = ["checkpoint_path", "epochs_done", "has_record", "run_experiment", "run_grid", "time_run"]


def run_grid(
    runs: Sequence[Run],
    folder: Path | str,
    records: Path | str | None = None,
    *,
    jobs: int = 1,
    scheduler: str | None = None,
    device: str | None = None,
    progress: bool = True,
) -> dict[str, str]:
    """Make the records of ``runs`` that are not there yet.

    A run that fails does not stop the others. Runs that train the same network do it once.

    Args:
        runs: as `grids.plan_grid` gives them.
        folder: for the checkpoints, from which a run that was stopped goes on.
        records: for the records; the package's own by default.
        jobs: runs at a time on this machine, by joblib. They take turns with its GPUs.
        scheduler: address of a Dask scheduler, such as "tcp://10.0.0.1:8786": its workers make
            the runs instead. They need ``folder`` and ``records`` at the same paths, and one
            thread each.
        device: "cpu" or "cuda"; the GPUs if there are any, by default.
        progress: whether to show a bar for the grid, and one for the run if there is one at
            a time.

    Returns:
        For each run that failed, its name and the error.

    Raises:
        ValueError: if a record is there already that was made with other settings.
    """
    folder = Path(folder).absolute()
    records = Path(records).absolute() if records else None
    missing = from_first([run for run in runs if not has_record(run, records)])
    first = {run.training: run for run in reversed(missing)}
    repeats = [run for run in missing if run is not first[run.training]]
    # No two may train one network at the same time: its second run waits for the first runs.
    passes = [run for run in missing if run is first[run.training]], repeats
    missing = list(chain(*passes))
    alone = jobs == 1 and not scheduler
    tqdm = progress_bars(progress and rank() == 0)
    failed = {}
    with (
        _workers(scheduler),
        tqdm(desc="grid", initial=len(runs) - len(missing), total=len(runs), unit="run") as bar,
    ):
        if alone and missing:
            bar.set_postfix_str(missing[0].name)
        parallel = Parallel(
            n_jobs=-1 if scheduler else jobs, return_as="generator_unordered", batch_size=1
        )
        results = (
            parallel(
                delayed(_attempt)(run, folder, records, device, place, progress and alone)
                for place, run in enumerate(some)
            )
            for some in passes
        )
        for done, (name, problem) in enumerate(chain.from_iterable(results), start=1):
            if problem:
                failed[name] = problem
            bar.set_postfix_str(missing[done].name if alone and done < len(missing) else name)
            bar.update()
    return failed


def run_experiment(
    run: Run,
    folder: Path | str,
    records: Path | str | None = None,
    *,
    device: str | None = None,
    progress: bool = True,
) -> None:
    """Train one network, or go on with it, and write its record.

    Args:
        run: what to train.
        folder: for the checkpoint.
        records: for the record; the package's own by default.
        device: "cpu" or "cuda".
        progress: whether to show progress bars.
    """
    checkpoint = checkpoint_path(run, folder)
    model, history = _train(run, device, progress, checkpoint)
    if rank() > 0:
        return
    _, validation, test = load_images(run.dataset, run.training_images)
    logits = predict_logits(model, test, device=device)
    scaling = TemperatureScaling().fit(
        predict_logits(model, validation, device=device), validation.labels
    )
    before, confidences, correct = _test_metrics(logits, test.labels)
    after, *_ = _test_metrics(logits / scaling.temperature_, test.labels)
    made = read_facts(checkpoint)["environment"]
    tracked = [entry.pop("test_correct") for entry in history] if run.test_every_epoch else None
    record = ExperimentRecord(
        **run.settings,
        confidences=confidences,
        correct=correct,
        history=history,
        epoch_correct=None if tracked is None else np.stack([_unpacked(x) for x in tracked]),
        **before,
        temperature=scaling.temperature_,
        nll_scaled=after["nll"],
        ece_scaled=after["ece"],
        versions=made["versions"],
        hardware=made["hardware"],
        date=made["date"],
    )
    save_experiment(record, records)


def time_run(run: Run, device: str | None = None) -> float:
    """Seconds for one epoch of ``run``, its metrics on the test images included if it has any."""
    load_images(run.dataset, run.training_images)  # once for all runs, so not counted
    start = time.perf_counter()
    _train(replace(run, recipe=replace(run.recipe, epochs=1)), device, progress=False)
    return time.perf_counter() - start


def checkpoint_path(run: Run, folder: Path | str) -> Path:
    """Where a run keeps its state while it trains, with the runs that train the same."""
    return Path(folder) / f"{run.training}.safetensors"


def epochs_done(run: Run, folder: Path | str) -> int:
    """How many epochs of a run are in its checkpoint."""
    path = checkpoint_path(run, folder)
    return len(read_facts(path)["history"]) if path.exists() else 0


def has_record(run: Run, records: Path | str | None = None) -> bool:
    """Whether the record of ``run`` is there.

    Raises:
        ValueError: if there is one that was made with other settings, or that is damaged.
    """
    path = experiment_path(run.grid, run.protocol, run.name, records)
    if not path.exists():
        return False
    facts = load_experiment(run.grid, run.protocol, run.name, records).facts
    wanted = run.settings
    if found := {k: facts[k] for k in wanted if facts[k] != wanted[k]}:
        raise ValueError(
            f"records: {path} was made with {found}, the grid asks for "
            f"{ {k: wanted[k] for k in found} }; delete it, or name another folder"
        )
    return True


@cache
def load_images(dataset: str, training_images: int) -> tuple[ImageSet, ImageSet, ImageSet]:
    """The training images of the experiments, the same in every run; validation; and test.

    Raises:
        ValueError: if the data set has fewer training images.
    """
    training, validation, test = load_splits(dataset)
    if training_images > len(training):
        raise ValueError(
            f"training_images: {dataset} has {len(training):,}, found {training_images:,}"
        )
    if training_images < len(training):
        _, chosen = train_validation_split(len(training), training_images)
        training = training.subset(chosen)
    return training, validation, test


def _train(
    run: Run, device: str | None, progress: bool, checkpoint: Path | None = None
) -> tuple[nn.Module, list[dict[str, Any]]]:
    training, validation, test = load_images(run.dataset, run.training_images)

    def after_epoch(model: nn.Module) -> dict[str, Any]:
        logits = predict_logits(model, test, device=device)
        metrics, confidences, correct = _test_metrics(logits, test.labels)
        scaling = TemperatureScaling().fit(
            predict_logits(model, validation, device=device), validation.labels
        )
        index = uniform_index(confidences, 15, "float32")
        return {f"test_{name}": value for name, value in metrics.items()} | {
            "temperature": scaling.temperature_,
            "test_bins": sums(index, confidences, correct, 15).tolist(),
            "test_correct": _packed(correct),
        }

    torch.manual_seed(run.seed)
    model = build_model(**run.network, n_classes=int(training.labels.max()) + 1)
    history = train(
        model,
        training,
        run.recipe,
        seed=run.seed,
        device=device,
        checkpoint=checkpoint,
        after_epoch=after_epoch if run.test_every_epoch else None,
        progress=progress,
    )
    return model, history


def _test_metrics(
    logits: np.ndarray, labels: np.ndarray
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Error, NLL and ECE; and the confidences, as a record stores them, and which are right."""
    probs = TemperatureScaling(1.0).predict_proba(logits)
    confidences, correct = top_label(probs, labels)
    metrics = {
        "error": float(1 - correct.mean()),
        "nll": negative_log_likelihood(logits, labels),
        "ece": expected_calibration_error(probs, labels),
    }
    return metrics, confidences, correct


def _packed(correct: np.ndarray) -> str:
    """Booleans as text, which the history of a checkpoint can hold."""
    return f"{len(correct)}:{np.packbits(correct).tobytes().hex()}"


def _unpacked(text: str) -> np.ndarray:
    n, _, bits = text.partition(":")
    return np.unpackbits(np.frombuffer(bytes.fromhex(bits), np.uint8), count=int(n)) == 1


def _attempt(
    run: Run,
    folder: Path,
    records: Path | None,
    device: str | None,
    place: int,
    progress: bool,
) -> tuple[str, str]:
    """Make one record; returns the run's name, and the error if there was one."""
    if device != "cpu" and world_size() == 1 and torch.cuda.device_count() > 1:
        torch.cuda.set_device(place % torch.cuda.device_count())
    try:
        run_experiment(run, folder, records, device=device, progress=progress)
    except (ValueError, OSError, FloatingPointError) as error:
        return run.name, str(error)
    return run.name, ""


@contextmanager
def _workers(scheduler: str | None) -> Iterator[Any]:
    """Where joblib sends the runs: to a Dask cluster, or to processes of this machine."""
    if not scheduler:
        with parallel_config(backend="loky") as config:
            yield config
        return
    from distributed import Client

    with Client(scheduler), parallel_config(backend="dask") as config:
        yield config
