"""Every recalibrator on 38 networks that others trained, and on the course's own.

    python -m calib_records.made_by.recalibrators                           # our own: half a minute
    python -m calib_records.made_by.recalibrators cifar100.npz cifar10.npz  # public: ten minutes

write the records ``calib_records/recalibrated/*.npz``, on one thread.

The public networks are those of github.com/chenyaofo/pytorch-cifar-models (BSD-3-Clause), one
training each, with one recipe as far as its logs say: 200 epochs of SGD, batches of 256, a
learning rate that falls from 0.1 along a cosine, weight decay 0.0005, crops and mirroring. The
makers kept the epoch that was best on the images that are our test images. Their logits on these
10,000 are at github.com/kwekuka/wasscal, commit df4f463, in ``data/pretrained_logits``: pickles of
(logits, labels), which run code when they are opened, so this script takes ``cifar10.npz`` and
``cifar100.npz`` instead, with ``labels`` (10000,) and for each key of `FAMILIES` the logits
(10000, K). That repository has no licence, so the logits are not part of the course, and what is
computed from them is.

There is no validation set. Each method is fitted on the images of even number and predicts those
of odd number, and the other way round. The course's networks have a validation set to fit on.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.measured import facts
from calib_utils.comparing import paired_difference
from calib_utils.metrics import (
    baseline_calibration_error,
    brier_score,
    expected_calibration_error,
)
from calib_utils.metrics.bins import sums, uniform_index
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    BayesianBinningIntoQuantiles,
    BetaCalibration,
    BetaOnConfidence,
    DirichletCalibration,
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicRegression,
    MatrixScaling,
    OneVersusRest,
    PlattScaling,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from calib_utils.records import Recalibrated, list_records, load_record
from calib_utils.records.installed import folder_of
from calib_utils.records.npz import write_npz

# Name: (what differs, {network: (name in the file, layers or relative width)}).
FAMILIES: dict[str, tuple[str, dict[str, tuple[str, float]]]] = {
    "ResNet": ("layers", {f"ResNet-{n}": (f"resnet{n}", n) for n in (20, 32, 44, 56)}),
    "VGG": ("layers", {f"VGG-{n}": (f"vgg{n}-bn", n) for n in (11, 13, 16, 19)}),
    "MobileNetV2": (
        "width",
        {
            f"MobileNetV2 x{w}": (f"mobilenetv2-x{w.replace('.', '-')}", float(w))
            for w in ("0.5", "0.75", "1.0", "1.4")
        },
    ),
    "ShuffleNetV2": (
        "width",
        {
            f"ShuffleNetV2 x{w}": (f"shufflenetv2-x{w.replace('.', '-')}", float(w))
            for w in ("0.5", "1.0", "1.5", "2.0")
        },
    ),
    "RepVGG": (
        "width",
        {
            f"RepVGG-{a}": (f"repvgg-{a.lower()}", w)
            for a, w in (("A0", 0.75), ("A1", 1.0), ("A2", 1.5))
        },
    ),
}
# Written down when only the accuracies, the ECEs and the temperatures on CIFAR-100 had been seen,
# and nothing on CIFAR-10. In each family and on both data sets the largest network is compared
# with the smallest, with the claims of Guo et al. 2017, figure 2: a lower error, a higher ECE.
# Paired over images; Holm's correction for all twenty.
PLANNED = [
    [family, *[list(networks)[end] for end in (0, -1)], metric, claimed]
    for family, (_, networks) in FAMILIES.items()
    for metric, claimed in (("error", "lower"), ("ece", "higher"))
]
# Also beforehand: the mean NLL of each method over the networks of a data set is compared with
# that of "temperature", paired over images, with Holm's correction for all methods and both data
# sets. Methods that gave a true class the probability 0 have no such difference: they are worse.
# One came later: what the first twelve left of VGG and RepVGG on CIFAR-100 suggested it, and it was
# fixed before it was tried on CIFAR-10 or on the course's networks.
LATER = "beta on confidence"


METHODS: dict[str, Callable[[], Any]] = {
    "none": lambda: TemperatureScaling(temperature=1),
    "temperature": TemperatureScaling,
    "ensemble temperature": EnsembleTemperatureScaling,
    "vector": VectorScaling,
    "matrix": MatrixScaling,
    "matrix, ODIR": lambda: MatrixScaling(regularization=1),
    "Dirichlet": DirichletCalibration,
    "structured matrix": StructuredMatrixScaling,
    "histogram": lambda: OneVersusRest(HistogramBinning(15, inputs="probs")),
    "isotonic": lambda: OneVersusRest(IsotonicRegression("probs")),
    "BBQ": lambda: OneVersusRest(BayesianBinningIntoQuantiles("probs")),
    "Platt": lambda: OneVersusRest(PlattScaling()),
    "beta": lambda: OneVersusRest(BetaCalibration()),
    LATER: BetaOnConfidence,
}
TEMPERATURES = np.linspace(0.5, 4, 141)
KEPT = ("none", "temperature")  # of these each image's confidence is stored


class Samples(NamedTuple):
    logits: np.ndarray
    labels: np.ndarray


class Network(NamedTuple):
    """A network on test samples, and for each fit the samples to fit on and the rows to predict."""

    name: str
    family: str
    size: float | None
    test: Samples
    fits: list[tuple[Samples, slice]]


TITLES = {
    "resnet34-cifar100": "ResNet-34",
    "resnet34-224-cifar100": "ResNet-34 (224)",
    "lenet5-cifar100": "LeNet-5",
}


def public(path: Path) -> Iterator[Network]:
    """The networks of a file of logits; each half of the images is predicted by the other."""
    even, odd = slice(0, None, 2), slice(1, None, 2)
    with np.load(path, allow_pickle=False) as file:
        labels = file["labels"].astype(np.int64)
        for family, (_, networks) in FAMILIES.items():
            for name, (key, size) in networks.items():
                test = Samples(file[key].astype(np.float64), labels)
                fits = [
                    (Samples(test.logits[half], labels[half]), other)
                    for half, other in ((even, odd), (odd, even))
                ]
                yield Network(name, family, size, test, fits)


def course() -> Iterator[Network]:
    """The networks that the course has trained and keeps the logits of."""
    for name, split in list_records():
        if split == "validation":
            records = (load_record(name, one) for one in (split, "test"))
            title = TITLES.get(name, f"ResNet-8, seed {name.rpartition('-')[2]}")
            fit, test = (Samples(one.logits.astype(np.float64), one.labels) for one in records)
            yield Network(title, title.partition(",")[0], None, test, [(fit, slice(None))])


def recalibrate(network: Network, method: str) -> tuple[dict[str, Any], np.ndarray]:
    """What the fits were, and the probabilities of the test samples."""
    probs, temperatures, warned = np.empty(network.test.logits.shape), [], False
    for fit, rows in network.fits:
        recalibrator = METHODS[method]()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            recalibrator.fit(*fit)
        warned |= bool(caught)
        if isinstance(recalibrator, TemperatureScaling):
            temperatures.append(float(recalibrator.temperature_))
        probs[rows] = recalibrator.predict_proba(network.test.logits[rows])
    return {"temperatures": tuple(temperatures), "warned": warned}, probs


def what_a_temperature_can(network: Network) -> dict[str, float]:
    """The best temperature for each of two questions, and the lowest ECE that any one leaves.

    "right" is that for "is the predicted class right?", "which" that for "if not, which is it?".
    Chosen on all samples that are predicted: this describes the network, and predicts nothing.
    """
    logits, labels = network.test
    logits = logits - logits.max(axis=1, keepdims=True)
    predicted = logits.argmax(axis=1)
    correct = predicted == labels

    def confidences(temperature: float) -> np.ndarray:
        return np.asarray(1 / np.exp(logits / temperature).sum(axis=1))

    def loss(temperature: float) -> float:
        sure = confidences(temperature)
        return float(-np.log(np.maximum(np.where(correct, sure, 1 - sure), 1e-300)).mean())

    right = minimize_scalar(loss, bounds=(TEMPERATURES[0], TEMPERATURES[-1]), method="bounded").x
    others = logits[~correct]
    others[np.arange(len(others)), predicted[~correct]] = -np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a class that is always right
        which = TemperatureScaling().fit(others, labels[~correct]).temperature_
    answers = [as_predictions(confidence=confidences(t), correct=correct) for t in TEMPERATURES]
    lowest = min(map(expected_calibration_error, answers))
    return {"right": float(right), "which": float(which), "lowest_ece": lowest}


def rows_of(network: Network) -> tuple[list[Recalibrated], dict[str, np.ndarray]]:
    """A row for each method, and the loss on each image."""
    rows, losses, labels = [], {}, network.test.labels
    for method in METHODS:
        how, probs = recalibrate(network, method)
        confidences, correct = probs.max(axis=1), probs.argmax(axis=1) == labels
        with np.errstate(divide="ignore"):
            losses[method] = -np.log(probs[np.arange(len(labels)), labels])
        kept = network.size is not None and method in KEPT  # of our own there are the logits
        rows.append(
            Recalibrated(
                network=network.name,
                family=network.family,
                size=network.size,
                method=method,
                nll=float(losses[method].mean()),
                nll_error=0.0,
                brier=brier_score(probs, labels),
                baseline=baseline_calibration_error(probs).mean,
                bins=sums(uniform_index(confidences, 15, "float64"), confidences, correct, 15),
                confidences=confidences if kept else None,
                correct=correct if kept else None,
                **how,
            )
        )
    return [replace(row, nll_error=paired_error(losses, row.method)) for row in rows], losses


def paired_error(losses: dict[str, np.ndarray], method: str) -> float:
    """The standard error of the mean difference from the losses at the temperature."""
    if not np.isfinite(losses[method]).all():
        return float("nan")
    return paired_difference(losses["temperature"], losses[method]).standard_error


def make(source: str, dataset: str, networks: Iterator[Network], made: dict[str, Any]) -> None:
    """Write the rows of all networks; where they share their images, the errors of the means."""
    rows: list[Recalibrated] = []
    losses: list[dict[str, np.ndarray]] = []
    made = made | {"temperatures": {}, "later": LATER}
    for network in networks:
        made["temperatures"][network.name] = what_a_temperature_can(network)
        found, of_each = rows_of(network)
        rows, losses = [*rows, *found], [*losses, of_each]
        print(network.name, *(f"{row.method} {row.nll:.3f}" for row in found), sep=", ", flush=True)
    if len({len(of_each["none"]) for of_each in losses}) == 1:
        mean = {name: np.mean([of_each[name] for of_each in losses], axis=0) for name in METHODS}
        made = made | {"errors_of_mean": {name: paired_error(mean, name) for name in METHODS}}
    print(save(rows, source, dataset, made))


def save(rows: list[Recalibrated], source: str, dataset: str, made: dict[str, Any]) -> Path:
    """Write the results for the networks of one source on one data set, replacing an older file."""
    kept = [row for row in rows if row.confidences is not None]
    arrays = {
        "bins": np.array([row.bins for row in rows], np.float32),
        "confidences": np.array([row.confidences for row in kept], np.float16),
        "correct": np.array([row.correct for row in kept], np.bool_),
    }
    names = [field.name for field in fields(Recalibrated) if field.name not in arrays]
    facts = [
        {name: getattr(row, name) for name in names} | {"of_each": row.confidences is not None}
        for row in rows
    ]
    path = folder_of("recalibrated") / f"{source}.{dataset}.npz"
    write_npz(path, arrays, {"made": made, "rows": facts})
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("logits", type=Path, nargs="*", help="cifar10.npz, cifar100.npz")
    made = facts("numpy", "scipy", "scikit-learn")
    made["hardware"] = f"{made.pop('cpu')}, 1 thread"
    paths = parser.parse_args().logits
    if not paths:
        make("course", "cifar100", course(), made | {"fits": "on the validation set"})
    for path in paths:
        about = {
            "networks": "github.com/chenyaofo/pytorch-cifar-models",
            "logits": "github.com/kwekuka/wasscal, commit df4f463",
            "fits": "on one half of the test images, for the other",
            "planned": PLANNED,
        }
        make("public", path.stem, public(path), made | about)


if __name__ == "__main__":
    main()
