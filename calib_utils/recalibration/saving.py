"""The file of a fitted recalibrator: arrays and facts in one ``.npz``, without pickles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from calib_utils._numerics import softmax
from calib_utils.recalibration.estimator import Estimator
from calib_utils.records.npz import write_npz

__all__ = ["PREDICTED", "predicted_by", "save"]

PREDICTED = "predicted"  # the array in the file with its predictions for a few inputs


def save(recalibrator: Estimator, path: Path | str) -> None:
    """The function behind `Recalibrator.save`."""
    arrays: dict[str, np.ndarray] = {}
    facts = _encode(recalibrator, arrays)
    write_npz(Path(path), arrays | {PREDICTED: predicted_by(recalibrator)}, facts)


def predicted_by(recalibrator: Any) -> np.ndarray:
    """Its predictions for a few inputs, with which `load` detects a file that was changed."""
    k = vars(recalibrator).get("n_classes_", 3)
    if vars(recalibrator).get("shape_") == "(N,)":
        inputs = np.linspace(-3, 3, 7)
        inputs = inputs if recalibrator.inputs == "logits" else (inputs + 3) / 6
    else:
        rows = np.arange(4)[:, None]
        inputs = 3 * np.sin((rows + 1) * np.arange(1, k + 1))
        inputs = inputs if recalibrator.inputs == "logits" else softmax(inputs)
    return np.asarray(recalibrator._probed(inputs))


def _encode(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """``value`` as JSON; arrays go to ``arrays``, and JSON keeps their name."""
    if isinstance(value, Estimator):
        arguments = value.get_params(deep=False)
        return {
            "class": type(value).__name__,
            "arguments": {k: _encode(v, arrays) for k, v in arguments.items()},
            "learned": {
                name: _encode(item, arrays)
                for name, item in vars(value).items()
                if name.endswith("_")
            },
        }
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    return value  # None, a text, or a number, which Python's JSON keeps exactly
