"""Fitted recalibrators from the files that `Recalibrator.save` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calib_utils.recalibration.base import CLASSES, Recalibrator
from calib_utils.recalibration.saving import ANSWERS, answers_of
from calib_utils.records.npz import explain_damage, read_npz

__all__ = ["load"]


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
            as a matrix that was transposed.

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
        arrays, facts = read_npz(path)
        result = _decode(facts, arrays)
        if not isinstance(result, Recalibrator):
            raise TypeError("its facts name no recalibrator")
        result._check_fit()
        answers = answers_of(result)
        if ANSWERS not in arrays or not np.allclose(arrays[ANSWERS], answers, atol=1e-6):
            raise ValueError("its numbers do not give the probabilities that it says they give")
    return result


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
