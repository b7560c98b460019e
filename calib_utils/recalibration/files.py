"""Fitted recalibrators as files: arrays and facts in one ``.npz``, without pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calib_utils._arrays import softmax
from calib_utils.recalibration.base import CLASSES, Recalibrator
from calib_utils.records.npz import explain_damage, read_npz, write_npz

__all__ = ["load", "save"]

_ANSWERS = "answers"  # in the file, the name of what it gives for a few inputs


def save(recalibrator: Recalibrator, path: Path | str) -> None:
    """What `Recalibrator.save` does."""
    arrays: dict[str, np.ndarray] = {}
    facts = _encode(recalibrator, arrays)
    write_npz(Path(path), arrays | {_ANSWERS: _answers(recalibrator)}, facts)


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
        answers = _answers(result)
        if _ANSWERS not in arrays or not np.allclose(arrays[_ANSWERS], answers, atol=1e-6):
            raise ValueError("its numbers do not give the probabilities that it says they give")
    return result


def _answers(recalibrator: Recalibrator) -> np.ndarray:
    """What it gives for a few inputs; a file that holds them cannot change its mind in silence."""
    k = vars(recalibrator).get("n_classes_", 3)
    if vars(recalibrator).get("shape_") == "(N,)":
        inputs = np.linspace(-3, 3, 7)
        inputs = inputs if recalibrator.inputs == "logits" else (inputs + 3) / 6
    else:
        rows = np.arange(4)[:, None]
        inputs = 3 * np.sin((rows + 1) * np.arange(1, k + 1))
        inputs = inputs if recalibrator.inputs == "logits" else softmax(inputs)
    return np.asarray(recalibrator.predict_proba(inputs))


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """``value`` as JSON; arrays go to ``arrays``, and JSON keeps their name."""
    if isinstance(value, Recalibrator):
        arguments = value.get_params(deep=False)
        return {
            "class": type(value).__name__,
            "arguments": {k: _encode(v, arrays) for k, v in arguments.items()},
            "learned": {k: _encode(v, arrays) for k, v in value._learned().items()},
        }
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value  # None, a text, or a number, whose bits Python's JSON keeps


def _decode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The inverse of `_encode`."""
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
