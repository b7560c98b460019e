"""The record of one run of an experiment: small, but with everything that its figures need."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from calib_utils.predictions.labels import check_correct
from calib_utils.predictions.scores import check_confidences
from calib_utils.records.installed import folder_of
from calib_utils.records.names import training_set_name
from calib_utils.records.npz import fields_from, reading, stored_facts, write_npz
from calib_utils.records.recipe import completed_recipe

_OF_EACH = ("losses", "losses_scaled", "confidences_scaled")  # as float16, in newer records
_ARRAYS = ("confidences", "correct", "epoch_correct", *_OF_EACH)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One network of a grid: what is trained, and on what.

    Attributes:
        grid: such as "depth".
        protocol: such as "core".
        name: of the run within its grid and protocol, such as "fast_resnet.blocks-1.seed-0".
        network: the name of the network, and its options, for `calib_utils.training.build_model`.
        factor: what differs between the runs of the grid; empty if nothing does.
        value: of the factor in this run.
        level: the options of the network and the settings of the recipe for this value, such as
            {"blocks": 1}.
        seed: of the weights, the order of the images, the crops and the flips.
        dataset: "cifar100" or "digits".
        training_images: how many of the training images are used, the same in every run.

    Example:
        >>> from calib_utils.records import load_grid
        >>> run = load_grid("depth", "core")[0]
        >>> isinstance(run, Experiment), run.factor, run.value, run.seed
        (True, 'blocks', 1, 0)
    """

    grid: str
    protocol: str
    name: str
    network: dict[str, Any]
    factor: str
    value: float | bool | str | None
    level: dict[str, Any] = field(default_factory=dict)
    seed: int
    dataset: str
    training_images: int


@dataclass(frozen=True, kw_only=True)
class ExperimentRecord(Experiment):
    """The results of an experiment on the test images, and the facts of its run.

    Attributes:
        recipe: the settings of `calib_utils.training.Recipe`.
        confidences: float32, shape (N,): the largest probability for each test image. As
            stored, they give the ECE in ``ece`` again.
        correct: bool, shape (N,): whether that class is the image's.
        history: of each epoch, as `calib_utils.training.train` returns it. If the grid asks for
            it, with "test_error", "test_nll" and "test_ece"; the "temperature" of lowest NLL on
            the validation images; and "test_bins", for each of 15 bins the number of test images,
            the number of correct predictions, and their summed confidence. If the grid asks for
            that, with "validation_error" and "validation_nll". With early stopping it ends with
            the epoch whose weights the network has. The last entry of newer records has
            "fitted_accuracy" and "fitted_nll" on the training images, without crops and flips.
        epoch_correct: bool, shape (epochs, N): which test images were predicted correctly after
            each epoch; None unless the grid asks for it.
        losses: float16, shape (N,): the negative log-likelihood of each test image, in nats,
            rounded to 1/128; like the next two, None in older records.
        losses_scaled: the same after division of the logits by the temperature.
        confidences_scaled: float16, shape (N,): the largest probabilities after it.
        error: share of the test images whose class was not predicted, 0 to 1.
        nll: negative log-likelihood of the test images, in nats.
        ece: expected calibration error with 15 bins, 0 to 1.
        temperature: of lowest NLL on the validation images.
        nll_scaled: NLL of the test images after division of the logits by the temperature.
        ece_scaled: their ECE after it.
        versions: of Python and of the libraries.
        hardware: the processor, the number of threads and the arithmetic.
        date: of the last epoch, such as "2026-11-20".

    Example:
        >>> from calib_utils.records import load_grid
        >>> record = load_grid("depth", "core")[0]
        >>> len(record.confidences), len(record.history)
        (10000, 10)
    """

    recipe: dict[str, Any]
    confidences: np.ndarray
    correct: np.ndarray
    history: list[dict[str, Any]]
    error: float
    nll: float
    ece: float
    temperature: float
    nll_scaled: float
    ece_scaled: float
    versions: dict[str, str]
    hardware: str
    date: str
    epoch_correct: np.ndarray | None = None
    losses: np.ndarray | None = None
    losses_scaled: np.ndarray | None = None
    confidences_scaled: np.ndarray | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """How the record was made, and its numbers, as in its file."""
        return stored_facts(self, _ARRAYS)

    @property
    def train_accuracy(self) -> float:
        """Share of the training images whose class was predicted in the last epoch."""
        return self.history[-1]["train_accuracy"]

    @property
    def fitted_accuracy(self) -> float:
        """Share of the training images that the trained network classifies correctly.

        They are neither cropped nor flipped, and the network no longer changes. Older records do
        not have it, so there it is `train_accuracy`.
        """
        return self.history[-1].get("fitted_accuracy", self.train_accuracy)

    @property
    def overconfidence(self) -> float:
        """Mean confidence minus accuracy on the test images, -1 to 1; underconfident if below 0."""
        return float(self.confidences.mean(dtype=np.float64) - self.correct.mean())

    @property
    def generalization_gap(self) -> float:
        """`fitted_accuracy` minus the accuracy on the test images, -1 to 1."""
        return float(self.fitted_accuracy - self.correct.mean())

    @property
    def provenance(self) -> str:
        """One line for below a figure, with the run, its data, epochs, hardware and date."""
        seconds = median(entry["seconds"] for entry in self.history)
        return (
            f"{self.grid}/{self.name}: {training_set_name(self.dataset, self.training_images)}, "
            f"{len(self.history)} epochs of {seconds:.1f} s; "
            f"{self.hardware}; {self.date}"
        )


def save_experiment(record: ExperimentRecord, folder: Path | str | None = None) -> Path:
    """Write ``record``, completely or not at all, replacing an older one of its name.

    Args:
        record: see `ExperimentRecord`.
        folder: where to write; the course's own experiments by default.

    Returns:
        The path of the file.

    Raises:
        ValueError: if a name, the confidences, the losses or ``correct`` are not valid.

    Example:
        >>> import tempfile
        >>> from dataclasses import replace
        >>> record = load_experiment("depth", "core", "fast_resnet.blocks-1.seed-0")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(save_experiment(replace(record, name="my-run"), folder).name)
        my-run.npz
    """
    path = experiment_path(record.grid, record.protocol, record.name, folder)
    confidences = check_confidences(record.confidences).astype(np.float32)
    arrays: dict[str, np.ndarray] = {
        "confidences": confidences,
        "correct": check_correct(record.correct, len(confidences)),
    }
    if record.epoch_correct is not None:
        epochs = [check_correct(row, len(confidences)) for row in record.epoch_correct]
        arrays["epoch_correct"] = np.packbits(epochs, axis=1)
    for name in _OF_EACH:
        if (values := getattr(record, name)) is not None:
            arrays[name] = _of_each(values, len(confidences), name)
    write_npz(path, arrays, record.facts)
    return path


def load_experiment(
    grid: str, protocol: str, name: str, folder: Path | str | None = None
) -> ExperimentRecord:
    """Read the record of one run.

    Args:
        grid: such as "depth".
        protocol: such as "core".
        name: of the run; `list_experiments` lists all of them.
        folder: where to look; the course's own experiments by default.

    Raises:
        ValueError: if there is no such record, or if its file is damaged.

    Example:
        >>> record = load_experiment("depth", "core", "fast_resnet.blocks-1.seed-0")
        >>> record.network["blocks"], record.recipe["epochs"]
        (1, 10)
    """
    path = experiment_path(grid, protocol, name, folder)
    if not path.exists():
        known = ", ".join(list_experiments(grid, protocol, folder)) or "none"
        raise ValueError(f"name: there is no run {name!r} in {grid}/{protocol}; there are: {known}")
    what = f"name: the file of run {name!r} in {grid}/{protocol}"
    with reading(path, what) as (arrays, facts):
        if "epoch_correct" in arrays:
            n = len(arrays["correct"])
            arrays["epoch_correct"] = np.unpackbits(arrays["epoch_correct"], axis=1, count=n) == 1
        facts |= {"recipe": completed_recipe(facts["recipe"])} | arrays
        record = ExperimentRecord(**fields_from(ExperimentRecord, facts))
        n = len(check_correct(record.correct, len(check_confidences(record.confidences))))
        for array in _OF_EACH:
            if (values := getattr(record, array)) is not None:
                _of_each(values, n, array)
    return record


def _of_each(values: np.ndarray, n: int, name: str) -> np.ndarray:
    """A loss or a confidence of each test image, in its stored form."""
    if name == "confidences_scaled":
        values = check_confidences(values)
    if np.shape(values) != (n,) or not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"{name}: expected {n} finite numbers of at least 0, found {values}")
    if name != "confidences_scaled":
        values = np.round(np.asarray(values, np.float64) * 128) / 128
    return values.astype(np.float16)


def list_experiments(grid: str, protocol: str, folder: Path | str | None = None) -> list[str]:
    """The names of the runs of a grid that have a record, sorted.

    Example:
        >>> list_experiments("depth", "core")[0]
        'fast_resnet.blocks-1.seed-0'
    """
    folder = Path(folder or folder_of("experiments"))
    return sorted(path.stem for path in (folder / grid / protocol).glob("*.npz"))


def experiment_path(grid: str, protocol: str, name: str, folder: Path | str | None) -> Path:
    """Where the record of a run is stored, whether it exists or not.

    Raises:
        ValueError: if a name is not valid.
    """
    for what, text in (("grid", grid), ("protocol", protocol), ("name", name)):
        if not re.fullmatch(r"[a-z0-9][a-z0-9._+-]*", text):
            raise ValueError(
                f"{what}: expected lower-case letters, digits, '.', '_', '+' and '-', "
                f"found {text!r}"
            )
    return Path(folder or folder_of("experiments")) / grid / protocol / f"{name}.npz"
