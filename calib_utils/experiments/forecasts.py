"""Make forecasts of trained networks: averages of them, temperatures, damaged photographs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp
from torch import nn

from calib_utils.experiments.grids import Run
from calib_utils.experiments.one_run import (
    checkpoint_path,
    epochs_done,
    load_images,
    losses,
    trained,
)
from calib_utils.metrics import expected_calibration_error
from calib_utils.metrics.bins import sums, uniform_index
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records.forecasts import Forecast, save_forecasts
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
    """Make and store the forecasts that the grid "ensembles" is compared by.

    On clean test images, of each network alone and of the average of each subset of the ordinary
    ones; on damaged ones, of each network and of the averages of all. The order of average and
    temperature is that of Rahaman and Thiery 2021, "Uncertainty Quantification and Deep
    Ensembles": before or after; the damage that of `calib_utils.training.corrupt`.

    Args:
        ordinary: runs that differ in their seed only, and are trained.
        smoothed: the same, trained with smoothed labels.
        folder: of the checkpoints.
        records: the forecasts are written to the folder "forecasts" there; by default, to the
            package's own.
        device: "cpu" or "cuda".
        progress: whether to show a progress bar.

    Returns:
        The path of the file.

    Raises:
        ValueError: if a run is not trained.
    """
    both = {"ordinary": ordinary, "smoothed": smoothed}
    groups = {name: _networks(runs, folder, device) for name, runs in both.items()}
    _, validation, test = load_images(ordinary[0].dataset, ordinary[0].training_images)
    tqdm = progress_bars(progress)
    fitted = _predicted(groups, validation, device) | _mirrored(groups, validation, device)
    sets = [("", 0), *((name, severity) for name in CORRUPTIONS for severity in range(1, 6))]
    found: list[Forecast] = []
    temperatures: dict[tuple[str, tuple[int, ...]], float] = {}
    for corruption, severity in tqdm(sets, desc="photographs", unit="set"):
        images = test
        if severity:
            images = replace(test, images=corrupt(test.images, corruption, severity))
        predicted = _predicted(groups, images, device)
        if not severity:
            predicted |= _mirrored(groups, images, device)
        for forecast in _forecasts(
            predicted, fitted, validation.labels, temperatures, not severity
        ):
            networks, members, scaled, temperature, logits = forecast
            found.append(
                Forecast(
                    networks=networks,
                    members=members,
                    scaled=scaled,
                    corruption=corruption,
                    severity=severity,
                    temperature=temperature,
                    **_numbers(logits, test.labels),
                )
            )
    environment = read_facts(checkpoint_path(ordinary[0], folder))["environment"]
    made = environment | {"networks": {name: runs[0].settings for name, runs in both.items()}}
    run = ordinary[0]
    place = Path(records) / "forecasts" if records else None
    return save_forecasts(found, run.grid, run.protocol, made, place)


def _networks(runs: Sequence[Run], folder: Path | str, device: str | None) -> dict[int, nn.Module]:
    """The trained network of each seed."""
    for run in runs:
        if epochs_done(run, folder) < run.recipe.epochs:
            raise ValueError(
                f"folder: {run.grid}/{run.name} has {epochs_done(run, folder)} of "
                f"{run.recipe.epochs} epochs in {folder}; train it first"
            )
    return {run.seed: trained(run, device, False, checkpoint_path(run, folder))[0] for run in runs}


Logits = dict[str, dict[int, list[np.ndarray]]]


def _predicted(
    groups: dict[str, dict[int, nn.Module]], data: ImageSet, device: str | None
) -> Logits:
    """Of each group and seed the logits, as a list: what one network says of an image."""
    return {
        name: {seed: [predict_logits(x, data, device=device)] for seed, x in networks.items()}
        for name, networks in groups.items()
    }


def _mirrored(
    groups: dict[str, dict[int, nn.Module]], data: ImageSet, device: str | None
) -> Logits:
    """The same of an image and its mirror image, for the ordinary networks."""
    flipped = replace(data, images=np.ascontiguousarray(data.images[:, :, ::-1]))
    ordinary = {"mirrored": groups["ordinary"]}
    there, back = (_predicted(ordinary, x, device)["mirrored"] for x in (data, flipped))
    return {"mirrored": {seed: there[seed] + back[seed] for seed in there}}


def _forecasts(
    predicted: Logits,
    fitted: Logits,
    labels: np.ndarray,
    temperatures: dict[tuple[str, tuple[int, ...]], float],
    all_subsets: bool,
) -> Iterator[tuple[str, tuple[int, ...], str, float, np.ndarray]]:
    """Networks, members, where they are scaled, the temperature of the average, and its logits.

    Temperatures are fitted once, and kept in ``temperatures``.
    """

    def temperature(name: str, members: tuple[int, ...]) -> float:
        if (name, members) not in temperatures:
            logits = average([z for seed in members for z in fitted[name][seed]])
            scaling = TemperatureScaling().fit(logits, labels)
            temperatures[name, members] = scaling.temperature_
        return temperatures[name, members]

    for name, networks in predicted.items():
        seeds = tuple(networks)
        subsets: list[tuple[int, ...]] = [(seed,) for seed in seeds]
        if name != "mirrored":
            first = 2 if all_subsets and name == "ordinary" else max(len(seeds), 2)
            for size in range(first, len(seeds) + 1):
                subsets += combinations(seeds, size)
        for members in subsets:
            logits = [z for seed in members for z in networks[seed]]
            plain, t = average(logits), temperature(name, members)
            yield name, members, "none", 1.0, plain
            yield name, members, "after", t, plain / t
            if len(members) > 1:
                own = [temperature(name, (seed,)) for seed in members]
                yield name, members, "before", 1.0, average(logits, own)


def _numbers(logits: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    log_probs = log_softmax(logits, axis=1)
    probs = np.exp(log_probs)
    confidences, correct = probs.max(axis=1), probs.argmax(axis=1) == labels
    of_each = losses(logits, labels)
    index = uniform_index(confidences.clip(max=1), 15, "float64")
    return {
        "error": float(1 - correct.mean()),
        "nll": float(of_each.mean()),
        "nll_error": float(of_each.std(ddof=1) / len(labels) ** 0.5),
        "ece": expected_calibration_error(probs, labels),
        "confidence": float(confidences.mean()),
        "bins": sums(index, confidences, correct, 15),
    }
