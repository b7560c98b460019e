"""Fitted recalibrators from the files that `Recalibrator.save` wrote."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils.recalibration.base import CLASSES, Recalibrator
from calib_utils.recalibration.saving import ANSWERS, answers_of
from calib_utils.records.npz import explain_damage

__all__ = ["load"]

_MOST_BYTES, _MOST_OF_FACTS = 1 << 28, 1 << 25  # unpacked: far more than any fit on ImageNet has


def load(path: Path | str) -> Recalibrator:
    """Read a recalibrator that `Recalibrator.save` wrote.

    Args:
        path: of the file.

    Returns:
        An object of the class that was saved, which predicts the same bits.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, was not written by `Recalibrator.save`, or holds
            numbers that no fit gives, such as a temperature of -1, or others than were saved, such
            as a matrix that was transposed. Sizes are looked at before anything is unpacked,
            and only what is named is: a few megabytes may hold gigabytes of zeros.

    Example:
        >>> import tempfile
        >>> from calib_utils.recalibration import TemperatureScaling
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     TemperatureScaling(1.5).save(f"{folder}/scaling.npz")
        ...     load(f"{folder}/scaling.npz")
        TemperatureScaling(temperature=1.5)
    """
    path = Path(path)
    path.stat()  # a missing file is not a damaged one
    with explain_damage(f"path: {path} holds no recalibrator, or", "fit and save it again"):
        arrays, facts = _read(path)
        result = _decode(facts, arrays)
        if not isinstance(result, Recalibrator):
            raise TypeError("its facts name no recalibrator")
        result._check_fit()
        known = arrays[ANSWERS]
        if known.ndim == 2 and known.shape[1] != vars(result).get("n_classes_", known.shape[1]):
            raise ValueError("it says another number of classes than it gives probabilities of")
        if not np.allclose(known, answers_of(result), atol=1e-6):
            raise ValueError("its numbers do not give the probabilities that it says they give")
    return result


def _read(path: Path) -> tuple[dict[str, np.ndarray], Any]:
    """Only the arrays that the facts speak of, and the facts, if all is no larger than can be."""
    with zipfile.ZipFile(path) as file:
        sizes = {info.filename.removesuffix(".npy"): info.file_size for info in file.infolist()}
    size = sum(sizes.values())
    if size > _MOST_BYTES or sizes["facts"] > _MOST_OF_FACTS:
        raise ValueError(f"it unpacks to {size:,} bytes, and no recalibrator is as large")
    with np.load(path, allow_pickle=False) as file:
        facts = json.loads(str(file["facts"]))
        names = {ANSWERS, *_arrays_of(facts)}
        return {name: file[name] for name in names}, facts


def _arrays_of(facts: Any) -> Iterator[str]:
    """The names of the arrays that facts speak of."""
    if isinstance(facts, dict) and "array" in facts:
        yield facts["array"]
    elif isinstance(facts, (dict, list)):
        for value in facts.values() if isinstance(facts, dict) else facts:
            yield from _arrays_of(value)


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """From what `save` makes of it."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    arguments = {name: _decode(item, arrays) for name, item in value["arguments"].items()}
    result = CLASSES[value["class"]](**arguments)
    for name, item in value["learned"].items():
        setattr(result, name, _decode(item, arrays))
    return result
