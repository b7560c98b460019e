"""Fitted recalibrators from the files that `Recalibrator.save` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils import __version__
from calib_utils.recalibration.base import CLASSES, Recalibrator
from calib_utils.recalibration.saving import PREDICTED, predicted_by
from calib_utils.records.npz import check_unpacked, explain_damage

__all__ = ["load"]

_MOST_OF_FACTS = 1 << 25  # bytes


def load(path: Path | str) -> Recalibrator:
    """Read a recalibrator that `Recalibrator.save` wrote.

    Args:
        path: of the file.

    Returns:
        An object of the class that was saved, which predicts the same bits.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is damaged, was not written by `Recalibrator.save`, is of a version
            that this one cannot read, or contains numbers that no fit gives, such as a temperature
            of -1, or that differ from those that were saved, such as a transposed matrix. Sizes are
            checked before anything is unpacked, and only named arrays are, because a few megabytes
            may contain gigabytes of zeros.

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
    advice = (
        "fit and save it again, or load it with the version of calib_utils that saved it, because "
        f"this is {__version__}"
    )
    what = f"path: {path} contains no recalibrator, or"
    with explain_damage(what, advice):
        arrays, facts = _read(path)
    with _explain_version(path, facts), explain_damage(what, advice):
        result = _decode(facts, arrays)
        if not isinstance(result, Recalibrator):
            raise TypeError("its facts do not name a recalibrator")
        result._check_fit()
        known = arrays[PREDICTED]
        if known.ndim == 2 and known.shape[1] != vars(result).get("n_classes_", known.shape[1]):
            raise ValueError("its number of classes differs from that of its probabilities")
        if not np.allclose(known, predicted_by(result), atol=1e-6):
            raise ValueError(
                "its parameters do not give the probabilities that are stored with them"
            )
    return result


@contextmanager
def _explain_version(path: Path, facts: Any) -> Iterator[None]:
    """Say of an error that the file is of a different version, where it is."""
    try:
        yield
    except ValueError as error:
        learned = facts.get("learned") if isinstance(facts, dict) else None
        version = learned.get("version_") if isinstance(learned, dict) else None
        if not isinstance(version, str) or version == __version__:
            raise
        raise ValueError(
            f"path: {path} was saved by version {version} of calib_utils, and version "
            f"{__version__} cannot read it ({error.__cause__}); load it with that version, or fit "
            "and save it again"
        ) from error


def _read(path: Path) -> tuple[dict[str, np.ndarray], Any]:
    """The facts and the arrays that they name, after a check that these have a plausible size."""
    sizes = check_unpacked(path, "recalibrator")  # a fit on ImageNet has far fewer bytes
    if sizes["facts"] > _MOST_OF_FACTS:
        raise ValueError(f"its facts have {sizes['facts']:,} bytes, and those of no fit have")
    with np.load(path, allow_pickle=False) as file:
        facts = json.loads(str(file["facts"]))
        names = {PREDICTED, *_arrays_of(facts)}
        return {name: file[name] for name in names}, facts


def _arrays_of(facts: Any) -> Iterator[str]:
    """The names of the arrays in the facts."""
    if isinstance(facts, dict) and "array" in facts:
        yield facts["array"]
    elif isinstance(facts, (dict, list)):
        for value in facts.values() if isinstance(facts, dict) else facts:
            yield from _arrays_of(value)


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `save`'s encoding."""
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
