"""Train one network of a grid, and leave its record."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from calib_utils._numerics import log_losses
from calib_utils.experiments.grids import Run
from calib_utils.metrics import expected_calibration_error, negative_log_likelihood, top_label
from calib_utils.metrics.bins import sums, uniform_index
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import ExperimentRecord
from calib_utils.records.experiments import experiment_path, load_experiment, save_experiment
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.data import load_splits, train_validation_split
from calib_utils.training.loop import predict_logits, train
from calib_utils.training.networks import build_model
from calib_utils.training.progress import plain_warnings


@plain_warnings()
def run_experiment(
    run: Run,
    folder: Path | str,
    records: Path | str | None = None,
    *,
    device: str | None = None,
    progress: bool = True,
) -> None:
    """Train one network, or continue its training, and write its record.

    Args:
        run: what to train.
        folder: for the checkpoint.
        records: for the record; the course's own by default.
        device: "cpu" or "cuda".
        progress: whether to show progress bars.
    """
    checkpoint = checkpoint_path(run, folder)
    model, history = trained(run, device, progress, checkpoint)
    _, validation, test = load_images(run.dataset, run.training_images)
    logits = predict_logits(model, test, device=device)
    on_validation = predict_logits(model, validation, device=device)
    history[-1] |= _fit(model, _training_set(run), device)
    scaling = TemperatureScaling().fit(on_validation, validation.labels)
    before, confidences, correct = _test_metrics(logits, test.labels)
    scaled = logits / scaling.temperature_
    after, confidences_scaled, _ = _test_metrics(scaled, test.labels)
    made = read_facts(checkpoint)["environment"]
    tracked = [entry.pop("test_correct") for entry in history] if run.test_every_epoch else None
    record = ExperimentRecord(
        **run.settings,
        confidences=confidences,
        correct=correct,
        history=history,
        epoch_correct=None if tracked is None else np.stack([_unpacked(x) for x in tracked]),
        losses=log_losses(logits, test.labels),
        losses_scaled=log_losses(scaled, test.labels),
        confidences_scaled=confidences_scaled,
        **before,
        temperature=scaling.temperature_,
        nll_scaled=after["nll"],
        ece_scaled=after["ece"],
        versions=made["versions"],
        hardware=made["hardware"],
        date=made["date"],
    )
    save_experiment(record, records)


def _fit(model: nn.Module, training: Any, device: str | None) -> dict[str, float]:
    """How well the network fits what it was trained on, without crops and flips."""
    logits = predict_logits(model, training, device=device)
    labels = training.labels
    return {
        "fitted_accuracy": float((logits.argmax(axis=1) == labels).mean()),
        "fitted_nll": negative_log_likelihood(logits, labels, inputs="logits"),
    }


def checkpoint_path(run: Run, folder: Path | str) -> Path:
    """The path of a run's state while it trains; runs of the same training share it."""
    return Path(folder) / f"{run.training}.safetensors"


def epochs_done(run: Run, folder: Path | str) -> int:
    """The number of epochs in a run's checkpoint."""
    path = checkpoint_path(run, folder)
    return len(read_facts(path)["history"]) if path.exists() else 0


def has_record(run: Run, records: Path | str | None = None) -> bool:
    """Whether the record of ``run`` exists.

    Raises:
        ValueError: if it was made with different settings, or is damaged.
    """
    path = experiment_path(run.grid, run.protocol, run.name, records)
    if not path.exists():
        return False
    facts = load_experiment(run.grid, run.protocol, run.name, records).facts
    wanted = run.settings
    if found := {k: facts[k] for k in wanted if facts[k] != wanted[k]}:
        raise ValueError(
            f"records: {path} was made with {found}, the grid asks for "
            f"{ {k: wanted[k] for k in found} }; delete it, or name a different folder"
        )
    return True


@cache
def load_images(dataset: str, training_images: int) -> tuple[Any, Any, Any]:
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


def trained(
    run: Run, device: str | None, progress: bool, checkpoint: Path
) -> tuple[nn.Module, list[dict[str, Any]]]:
    """The network of a run and its history; epochs that the checkpoint lacks are trained."""
    model = _network(run)
    history = train(
        model,
        _training_set(run),
        run.recipe,
        seed=run.seed,
        device=device,
        checkpoint=checkpoint,
        after_epoch=_after_epoch(run, device),
        progress=progress,
    )
    return model, history


def _training_set(run: Run) -> Any:
    """The training data of a run: all training images of its grid, or its share of them."""
    training, _, _ = load_images(run.dataset, run.training_images)
    return training.subset(slice(round(run.recipe.share * len(training))))


def _network(run: Run) -> nn.Module:
    """The untrained network of a run, whose weights come from the seed."""
    training, _, _ = load_images(run.dataset, run.training_images)
    torch.manual_seed(run.seed)
    return build_model(**run.network, n_classes=int(training.labels.max()) + 1)


def _after_epoch(run: Run, device: str | None) -> Callable[[nn.Module], dict[str, Any]] | None:
    """A function with further entries of the history, if the run is tested at every epoch."""
    if not run.test_every_epoch:
        return None
    _, validation, test = load_images(run.dataset, run.training_images)

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

    return after_epoch


def _test_metrics(
    logits: np.ndarray, labels: np.ndarray
) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    """Error, NLL and ECE; the confidences, as a record stores them; and which are correct."""
    probs = TemperatureScaling(1.0).predict_proba(logits)
    confidences, correct = top_label(probs, labels)
    metrics = {
        "error": float(1 - correct.mean()),
        "nll": negative_log_likelihood(logits, labels, inputs="logits"),
        "ece": expected_calibration_error(probs, labels),
    }
    return metrics, confidences, correct


def _packed(correct: np.ndarray) -> str:
    """Booleans as text, for the history of a checkpoint."""
    return f"{len(correct)}:{np.packbits(correct).tobytes().hex()}"


def _unpacked(text: str) -> np.ndarray:
    n, _, bits = text.partition(":")
    return np.unpackbits(np.frombuffer(bytes.fromhex(bits), np.uint8), count=int(n)) == 1
