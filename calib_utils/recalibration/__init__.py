"""Recalibrators: maps from a network's logits to calibrated probabilities.

All have ``fit(logits, labels)``, on a validation set, and ``predict_proba(logits)``; ``save``
writes one to a file and `load` reads it. They take torch tensors or NumPy arrays, and return the
same kind in the type of the logits, including half precision. Labels are integers from 0.

For K classes and logits of shape (N, K): `TemperatureScaling`, `EnsembleTemperatureScaling`,
`VectorScaling`, `MatrixScaling`, `DirichletCalibration`, `StructuredMatrixScaling`,
`BetaOnConfidence`.

For two classes and one logit or score for each sample, shape (N,): `HistogramBinning`,
`IsotonicRegression`, `VennAbers`, `PlattScaling`, `BetaCalibration`,
`BayesianBinningIntoQuantiles`, and `TemperatureScaling` again. `OneVersusRest` extends them to K
classes. `PlattPerGroup` also takes the group of each sample, and gives each group a map of its own.

Logits of many gigabytes may stay in a file, as ``np.load(path, mmap_mode="r")``. The fits of
`TemperatureScaling` and `EnsembleTemperatureScaling` read it in blocks and make no copy: 50,000 by
32,000 in float16 took 21 and 40 seconds on one core, and less than 50 MB. ``predict_proba`` treats
each row separately, so predict such logits in parts, ``predict_proba(logits[start:stop])``, and
give each part to ``calib_utils.metrics.CalibrationError``, or write it to a file of its own.

`CalibratedModule` appends any of them to a network, and `CalibratedClassifier` to a classifier in
the style of scikit-learn. A logit of -inf masks a class that a sample cannot have.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from calib_utils.recalibration.affine import (
    DirichletCalibration,
    MatrixScaling,
    StructuredMatrixScaling,
    VectorScaling,
)
from calib_utils.recalibration.base import Recalibrator, load
from calib_utils.recalibration.bbq import BayesianBinningIntoQuantiles
from calib_utils.recalibration.binary import (
    BetaCalibration,
    HistogramBinning,
    IsotonicRegression,
    PlattScaling,
)
from calib_utils.recalibration.confidence import BetaOnConfidence
from calib_utils.recalibration.one_versus_rest import OneVersusRest
from calib_utils.recalibration.per_group import PlattPerGroup
from calib_utils.recalibration.temperature import EnsembleTemperatureScaling, TemperatureScaling
from calib_utils.recalibration.venn_abers import VennAbers

if TYPE_CHECKING:
    from calib_utils.recalibration.classifier import CalibratedClassifier
    from calib_utils.recalibration.module import CalibratedModule

__all__ = [
    "BayesianBinningIntoQuantiles",
    "BetaCalibration",
    "BetaOnConfidence",
    "CalibratedClassifier",
    "CalibratedModule",
    "DirichletCalibration",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "IsotonicRegression",
    "MatrixScaling",
    "OneVersusRest",
    "PlattPerGroup",
    "PlattScaling",
    "Recalibrator",
    "StructuredMatrixScaling",
    "TemperatureScaling",
    "VectorScaling",
    "VennAbers",
    "load",
]
# These need scikit-learn or torch as soon as they are imported.
_LATER = {"CalibratedClassifier": "classifier", "CalibratedModule": "module"}
for _name, _package in (("CalibratedClassifier", "sklearn"), ("CalibratedModule", "torch")):
    try:
        _found = importlib.util.find_spec(_package) is not None
    except ModuleNotFoundError:
        _found = False
    if not _found:  # so that "import *" works without them
        __all__.remove(_name)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
