"""The predictions of trained networks, stored together with their origin.

A record is one ``.npz`` file without pickles: float16 logits, labels, and the facts as
JSON. The course computes its results from records, so a reader needs neither the images
nor the weeks of training.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils.predictions.labels import check_labels
from calib_utils.predictions.scores import check_logits
from calib_utils.records.installed import folder_of
from calib_utils.records.npz import fields_from, reading, stored_facts, write_npz
from calib_utils.records.recipe import FIRST_SETTINGS, completed_recipe

_SPLIT = r"[a-z0-9][a-z0-9_-]*"
_ARRAYS = ("logits", "labels")


@dataclass(frozen=True)
class PredictionRecord:
    """The logits of one network on one split, and the facts of the run.

    Attributes:
        name: of the network, such as "resnet34-cifar100".
        split: "validation" (to fit on) or "test" (to report on); or any other name, such as
            "hospital-2".
        logits: float32, shape (N, K). When they are stored, each row's largest is subtracted,
            and the rest rounded to float16.
        labels: int64, shape (N,), from 0 to K - 1.

    Facts, all of which are optional:

    Attributes:
        model: the name of the architecture, as `calib_utils.training.build_model` takes it.
        dataset: the data set, and what of it the network was trained on.
        recipe: the settings of the training run, as in `calib_utils.training.Recipe`.
        seed: of the initial weights and of the order of the images.
        epochs: passes over the training images.
        versions: of Python and of the libraries.
        hardware: the processor, the number of threads and the arithmetic.
        date: of the end of the run, such as "2026-11-20".
        test_accuracy: share of the test images whose class was predicted, 0 to 1, or None.
        seconds_per_epoch: median over the epochs; None if it was not measured.

    Example:
        >>> record = load_record("resnet34-cifar100", "test")
        >>> record.model, record.seed, record.logits.dtype.name
        ('resnet34', 0, 'float32')
    """

    name: str
    split: str
    logits: np.ndarray
    labels: np.ndarray
    model: str = ""
    dataset: str = ""
    recipe: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    epochs: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    hardware: str = ""
    date: str = ""
    test_accuracy: float | None = None
    seconds_per_epoch: float | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """How the record was made, as in its file (every field but the arrays)."""
        return stored_facts(self, _ARRAYS)

    @property
    def provenance(self) -> str:
        """One line for below a result, with network, data, epochs, seed, hardware and date."""
        epochs = "" if self.epochs is None else f"{self.epochs} epochs"
        seed = "" if self.seed is None else f"seed {self.seed}"
        seconds = self.seconds_per_epoch
        time = "" if seconds is None else f"{seconds:.1f} s an epoch"
        run = ", ".join(filter(None, (self.dataset, epochs, seed)))
        facts = filter(None, (run, ", ".join(filter(None, (self.hardware, time))), self.date))
        return ": ".join(filter(None, (self.name, "; ".join(facts))))


def save_record(record: PredictionRecord, folder: Path | str | None = None) -> Path:
    """Write ``record``, replacing an older one of its name and split at once or not at all.

    Args:
        record: its logits may be of any float type.
        folder: where to write; the current folder by default.

    Returns:
        The path of the file.

    Raises:
        ValueError: if the name, the split, the logits or the labels are not valid, or if
            the logits do not fit in float16 (65504 or more below the largest of their row).

    Example:
        >>> import tempfile
        >>> from dataclasses import replace
        >>> record = replace(load_record("lenet5-cifar100", "test"), name="my-network")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(save_record(record, folder).name)
        my-network.test.npz
    """
    path = record_path(record.name, record.split, folder or Path())
    logits = check_logits(record.logits)
    if logits.ndim != 2:
        raise ValueError(f"logits: expected shape (N, K), found {logits.shape}")
    labels = check_labels(record.labels, *logits.shape)
    limit = np.finfo(np.float16).max
    # Rounding is relative, so a common offset of a row's logits would cost digits.
    with np.errstate(over="ignore"):
        logits = np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float64)
    if logits.min() < -limit:
        raise ValueError(
            f"logits: float16 allows differences up to {limit}, found {-logits.min():g}; give a "
            "masked class a logit such as -1e4"
        )
    stored: dict[str, np.ndarray] = {
        "logits": logits.astype(np.float16),
        "labels": labels.astype(np.int32),
    }
    write_npz(path, stored, record.facts)
    return path


def load_record(name: str, split: str, folder: Path | str | None = None) -> PredictionRecord:
    """Read the record of network ``name`` on ``split``.

    Args:
        name: such as "resnet34-cifar100"; `list_records` lists all of them.
        split: "validation" or "test", or the record's own name for it.
        folder: where to look; by default the course's own records, then the current folder.

    Raises:
        ValueError: if there is no such record, or if its file is damaged or another record's.
        ModuleNotFoundError: if the course's records are not installed, and the current folder has
            no such record.

    Example:
        >>> record = load_record("resnet34-cifar100", "test")
        >>> record.logits.shape, record.labels.shape
        ((10000, 100), (10000,))
    """
    here = record_path(name, split, Path())
    try:
        path = record_path(name, split, folder)
    except ModuleNotFoundError:  # a record of one's own needs none of the course's
        if not here.exists():
            raise
        path = here
    if folder is None and not path.exists():
        path = here
    if not path.exists():
        known = ", ".join(f"{n} ({s})" for n, s in list_records(folder)) or "none"
        raise ValueError(f"name: there is no record {name!r} for {split!r}; there are: {known}")
    what = f"name: the file of record {name!r} for {split!r}"
    with reading(path, what) as (arrays, facts):
        logits = check_logits(arrays["logits"]).astype(np.float32)
        labels = check_labels(arrays["labels"], *logits.shape)
        facts = _current(facts) | {"logits": logits, "labels": labels}
        record = PredictionRecord(**fields_from(PredictionRecord, facts))
    if (record.name, record.split) != (name, split):
        raise ValueError(
            f"name: the file of record {name!r} for {split!r} contains {record.name!r} for "
            f"{record.split!r}; rename the file, or change the name in the record"
        )
    return record


def _current(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a file in this version's form."""
    # Records of other people's networks have their own recipes, to which nothing is added.
    if facts.get("recipe", {}).keys() >= FIRST_SETTINGS:
        facts = facts | {"recipe": completed_recipe(facts["recipe"])}
    # The first four records have the seconds of an epoch there.
    hardware = facts.get("hardware", "")
    old = re.fullmatch(r"(?P<hardware>.*), (?P<seconds>[0-9.]+) s an epoch", hardware)
    if old:
        facts |= {"hardware": old["hardware"], "seconds_per_epoch": float(old["seconds"])}
    return facts


def list_records(folder: Path | str | None = None) -> list[tuple[str, str]]:
    """The name and the split of every record, sorted.

    Example:
        >>> list_records()[-1]
        ('resnet34-cifar100', 'validation')
    """
    stems = [path.stem for path in Path(folder or folder_of("predictions")).glob("*.npz")]
    found = [tuple(stem.rpartition(".")[::2]) for stem in stems]
    return sorted((name, split) for name, split in found if name and re.fullmatch(_SPLIT, split))


def record_path(name: str, split: str, folder: Path | str | None) -> Path:
    """Where the record of network ``name`` on ``split`` is stored, whether it exists or not.

    Raises:
        ValueError: if the name or the split is not valid.
    """
    if not (isinstance(name, str) and re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name)):
        raise ValueError(
            f"name: expected lower-case letters, digits, '.', '_' and '-', found {name!r}"
        )
    if not (isinstance(split, str) and re.fullmatch(_SPLIT, split)):
        raise ValueError(
            f"split: expected lower-case letters, digits, '_' and '-', found {split!r}; such as "
            "'validation' or 'test'"
        )
    return Path(folder or folder_of("predictions")) / f"{name}.{split}.npz"
