"""Make forecasts of trained networks: averages of them, temperatures, corrupted images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp
from torch import nn

from calib_utils._numerics import log_losses
from calib_utils.experiments.grids import Run
from calib_utils.experiments.one_run import (
    checkpoint_path,
    epochs_done,
    load_images,
    trained,
)
from calib_utils.metrics import baseline_calibration_error, expected_calibration_error
from calib_utils.metrics.bins import sums, uniform_index
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records.forecasts import (
    Forecast,
    forecasts_path,
    load_forecasts,
    save_forecasts,
)
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.corruptions import CORRUPTIONS, corrupt
from calib_utils.training.data import ImageSet
from calib_utils.training.loop import predict_logits
from calib_utils.training.progress import progress_bars

__all__ = ["average", "make_forecasts"]


def average(
    logits: Sequence[np.ndarray], temperatures: Sequence[float] | None = None
) -> np.ndarray:
    """The logarithm of the mean of several networks' probabilities, which are logits again.

    Args:
        logits: of each network, shape (N, K).
        temperatures: of each network; all 1 by default.

    Source: Lakshminarayanan, Pritzel and Blundell 2017, "Simple and Scalable Predictive
    Uncertainty Estimation using Deep Ensembles", section 2.4.
    """
    scaled = zip(logits, temperatures or [1.0] * len(logits), strict=True)
    log_probs = [log_softmax(z.astype(np.float64) / t, axis=1) for z, t in scaled]
    return logsumexp(log_probs, axis=0) - np.log(len(log_probs))


def make_forecasts(
    ordinary: Sequence[Run],
    smoothed: Sequence[Run],
    folder: Path | str,
    records: Path | str | None = None,
    *,
    device: str | None = None,
    progress: bool = True,
) -> Path:
    """Make and store the forecasts for the comparisons of the grid "ensembles".

    On clean test images there is one of each network alone and of the average of each subset of the
    ordinary ones; on corrupted images, one of each network, of the average of all of them, and of
    all but one. Temperatures come before or after the average, as in Rahaman and Thiery 2021,
    "Uncertainty Quantification and Deep Ensembles"; the corruptions are those of
    `calib_utils.training.corrupt`.

    The results on each set of images are kept next to the checkpoints until all are done, so that a
    call that was stopped continues with the next set.

    Args:
        ordinary: trained runs that differ only in their seed.
        smoothed: the same, trained with smoothed labels.
        folder: of the checkpoints.
        records: the forecasts are written to the folder "forecasts" there; by default, to the
            course's own.
        device: "cpu" or "cuda".
        progress: whether to show a progress bar.

    Returns:
        The path of the file.

    Raises:
        ValueError: if a run is not trained.
    """
    both = {"ordinary": ordinary, "smoothed": smoothed}
    groups = {name: _networks(runs, folder, device) for name, runs in both.items()}
    run = ordinary[0]
    _, validation, test = load_images(run.dataset, run.training_images)
    environment = read_facts(checkpoint_path(run, folder))["environment"]
    made = environment | {"networks": {name: runs[0].settings for name, runs in both.items()}}
    sets = [("", 0), *((name, severity) for name in CORRUPTIONS for severity in range(1, 6))]
    temperatures: dict[Members, float] = {}
    found: list[Forecast] = []
    begun: list[Path] = []
    for corruption, severity in progress_bars(progress)(sets, desc="images", unit="set"):
        place = (run.grid, f"{run.protocol}.{corruption or 'clean'}-{severity}", Path(folder))
        new = _kept(*place, made)
        if new is None:
            images = replace(test, images=corrupt(test.images, corruption or "noise", severity))
            predicted = _predicted(groups, images, device, mirrored=not severity)
            if not severity:
                fitted = _predicted(groups, validation, device, mirrored=True)
                temperatures = _temperatures(fitted, validation.labels)
            new = [
                Forecast(corruption=corruption, severity=severity, **one)
                for one in _forecasts(predicted, temperatures, test.labels, severity)
            ]
            save_forecasts(new, *place[:2], made, place[2])
        if not severity:  # they are fitted once, on clean images
            temperatures = {
                (one.networks, one.members): one.temperature for one in new if one.scaled == "after"
            }
        found += new
        begun.append(forecasts_path(*place))
    path = save_forecasts(
        found, run.grid, run.protocol, made, Path(records) / "forecasts" if records else None
    )
    for part in begun:
        part.unlink()
    return path


def _kept(grid: str, protocol: str, folder: Path, made: dict[str, Any]) -> list[Forecast] | None:
    """An earlier call's result on one set of images, if it was made from the same networks."""
    try:
        found, of_networks = load_forecasts(grid, protocol, folder)
    except ValueError:  # there is none, or it is damaged
        return None
    return found if of_networks == made else None


def _networks(runs: Sequence[Run], folder: Path | str, device: str | None) -> dict[int, nn.Module]:
    """The trained network of each seed."""
    for run in runs:
        if epochs_done(run, folder) < run.recipe.epochs:
            raise ValueError(
                f"folder: {run.grid}/{run.name} has {epochs_done(run, folder)} of "
                f"{run.recipe.epochs} epochs in {folder}; train it first"
            )
    return {run.seed: trained(run, device, False, checkpoint_path(run, folder))[0] for run in runs}


Members = tuple[str, tuple[int, ...]]  # which networks, and the seeds of those that are averaged
Logits = dict[str, dict[int, list[np.ndarray]]]


def _predicted(
    groups: dict[str, dict[int, nn.Module]], data: ImageSet, device: str | None, mirrored: bool
) -> Logits:
    """The logits of each group and seed, as a list with one entry for each view of an image.

    If asked for, there is a group "mirrored", with the ordinary networks' logits of an image and of
    its mirror image (test-time augmentation).
    """

    def logits(networks: dict[int, nn.Module], data: ImageSet) -> dict[int, list[np.ndarray]]:
        return {seed: [predict_logits(x, data, device=device)] for seed, x in networks.items()}

    predicted = {name: logits(networks, data) for name, networks in groups.items()}
    if mirrored:
        flipped = replace(data, images=np.ascontiguousarray(data.images[:, :, ::-1]))
        back = logits(groups["ordinary"], flipped)
        predicted["mirrored"] = {
            seed: there + back[seed] for seed, there in predicted["ordinary"].items()
        }
    return predicted


def _subsets(name: str, seeds: Sequence[int], severity: int) -> list[tuple[int, ...]]:
    """Each network alone, and the subsets of the ordinary ones that are averaged."""
    n = len(seeds)
    fewest = (2 if severity == 0 else max(n - 1, 2)) if name == "ordinary" else n + 1
    return [m for size in (1, *range(fewest, n + 1)) for m in combinations(seeds, size)]


def _temperatures(fitted: Logits, labels: np.ndarray) -> dict[Members, float]:
    """The temperature of each network and of each average, from logits of validation images."""
    return {
        (name, members): TemperatureScaling()
        .fit(average([z for seed in members for z in networks[seed]]), labels)
        .temperature_
        for name, networks in fitted.items()
        for members in _subsets(name, list(networks), 0)
    }


def _forecasts(
    predicted: Logits, temperatures: dict[Members, float], labels: np.ndarray, severity: int
) -> Iterator[dict[str, Any]]:
    """The fields of each forecast, except for the corruption of the images."""
    for name, networks in predicted.items():
        for members in _subsets(name, list(networks), severity):
            logits = [z for seed in members for z in networks[seed]]
            plain, t = average(logits), temperatures[name, members]
            scaled = [("none", 1.0, plain), ("after", t, plain / t)]
            if len(members) > 1:
                own = [temperatures[name, (seed,)] for seed in members]
                scaled.append(("before", 1.0, average(logits, own)))
            compared = severity in (0, 5) and len(members) in (1, len(networks))
            for how, temperature, z in scaled:
                yield {
                    "networks": name,
                    "members": members,
                    "scaled": how,
                    "temperature": temperature,
                    **_numbers(z, labels, of_each=compared and how != "none"),
                }


def _numbers(logits: np.ndarray, labels: np.ndarray, of_each: bool) -> dict[str, Any]:
    probs = np.exp(log_softmax(logits, axis=1))
    confidences, correct = probs.max(axis=1).clip(max=1), probs.argmax(axis=1) == labels
    each = log_losses(logits, labels)
    index = uniform_index(confidences, 15, "float64")
    kept = {"losses": each, "confidences": confidences, "correct": correct} if of_each else {}
    return kept | {
        "error": float(1 - correct.mean()),
        "nll": float(each.mean()),
        "nll_error": float(each.std(ddof=1) / len(labels) ** 0.5),
        "ece": expected_calibration_error(probs, labels),
        "baseline": baseline_calibration_error(confidences).mean,
        "confidence": float(confidences.mean()),
        "bins": sums(index, confidences, correct, 15),
    }
