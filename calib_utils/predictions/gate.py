"""Where all predictions come in: checked, and brought into one form."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_utils._numerics import row_blocks, widen
from calib_utils.predictions.arrays import is_tensor, like
from calib_utils.predictions.checks import check_flag, check_rows
from calib_utils.predictions.labels import (
    check_correct,
    check_frames,
    check_labels,
    check_sample_weight,
    class_indices,
    class_names,
    column_names,
)
from calib_utils.predictions.scores import checked_blocks, float_scores, tolerance

_MOST_ROUNDING = 0.1  # of a sum; rounding does not explain more


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Checked predictions, as `as_predictions` makes them.

    The arrays are the original ones if their type allows, so do not change them afterwards.

    Attributes:
        scores: (N, K) or (N,), probabilities or logits, in the type in which they came; a torch
            tensor if they came as one, else a NumPy array.
        labels: (N,), int64, or None: the column of each sample's class; with scores (N,), 1 for
            the positive class, or for a correct prediction.
        sample_weight: (N,), float64, or None if all count alike.
        kind: "multi-class" for scores (N, K); for (N,) "binary", of the positive class, or
            "confidence", in a prediction that is correct or not.
        inputs: whether the scores are "probs" or "logits".
        array: the scores in NumPy, with bfloat16 as float32.
        columns: the names of the columns, if the scores came in a data frame; otherwise none.

    Example:
        >>> as_predictions(confidence=[0.9, 0.6], correct=[True, False])
        Predictions of 2 samples: confidence, probs
    """

    scores: Any
    labels: Any
    sample_weight: Any
    kind: str
    inputs: str
    array: np.ndarray
    columns: list[str]
    _checked: bool

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        weighted = "" if self.sample_weight is None else ", weighted"
        return f"Predictions of {len(self)} samples: {self.kind}, {self.inputs}{weighted}"


def as_predictions(
    probs: Any = None,
    labels: Any = None,
    *,
    logits: Any = None,
    confidence: Any = None,
    correct: Any = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    rescale: bool = False,
    sample_weight: Any = None,
) -> Predictions:
    """Check predictions once, for all functions that then use them.

    Args:
        probs: (N, K), rows that sum to one; or (N,), probabilities of the positive class.
        labels: (N,), integers from 0 to K - 1, or the names in ``classes`` or ``positive``.
            Functions of probabilities alone, such as the baseline, need none.
        logits: (N, K), where -inf masks a class; or (N,), log-odds. In place of ``probs``.
        confidence: (N,), 0 to 1, of each prediction. In place of ``probs``.
        correct: (N,), booleans, or 0 and 1, for each prediction. In place of ``labels``.
        classes: (K,), the name of each column's class; with (N,), those of the negative and the
            positive class.
        positive: with (N,), the name of the positive class; all other labels are negative.
        rescale: whether rows of ``probs`` whose sum rounding changed are divided by that sum.
        sample_weight: (N,), how much each sample counts relative to the others, 0 or more.

    Raises:
        ValueError: for bad input, or arguments that do not go together, such as ``classes`` and the
            names of a data frame's columns, or pandas objects with their rows in different orders.

    Warns:
        UserWarning: how many rows were divided by their sum, and by how much at most.

    Example:
        >>> from calib_utils.metrics import accuracy, expected_calibration_error
        >>> named = as_predictions([[0.9, 0.1], [0.4, 0.6]], ["cat", "cat"], classes=["cat", "dog"])
        >>> round(expected_calibration_error(named), 2)
        0.35
        >>> accuracy(as_predictions(confidence=[0.4, 0.3], correct=[True, False]))
        0.5
    """
    named = {"probs": probs, "logits": logits, "confidence": confidence}
    given = [name for name, values in named.items() if values is not None]
    if len(given) != 1:
        raise ValueError(
            f"probs: expected exactly one of probs, logits and confidence, found {given}"
        )
    (name,) = given
    classes = None if classes is None else class_names(classes)
    check_frames(named[name], correct if labels is None else labels, classes)
    check_rows(named[name], sample_weight, "sample_weight")
    check_flag(rescale, "rescale")
    if rescale and name != "probs":
        raise ValueError(f"rescale: expected with probs only, found {name}; leave it out")
    scores = _rescaled(probs) if rescale else named[name]
    array = float_scores(scores, name)
    if name == "confidence":
        if not (labels is None and classes is None and positive is None):
            raise ValueError(
                "labels: expected neither labels nor classes with confidence; give correct, "
                "whether each prediction is correct"
            )
        if array.ndim != 1:
            raise ValueError(
                f"confidence: expected shape (N,), found {array.shape}; give such rows as probs"
            )
        labels = None if correct is None else check_correct(correct, len(array)).astype(np.int64)
    elif correct is not None:
        raise ValueError(f"correct: expected with confidence only, found {name}; give labels")
    elif classes is not None or positive is not None:
        labels = class_indices(labels, array[:1].size, classes, positive)
    if name != "logits":
        for _ in checked_blocks(array, tolerance(scores), name):
            pass
    columns = column_names(named[name])
    return _predictions(scores, array, labels, sample_weight, name, columns, name != "logits")


def taken(
    probs: Any,
    labels: Any = None,
    sample_weight: Any = None,
    *,
    labelled: bool = True,
    columns: bool = False,
    padding: bool = False,
    inputs: str = "probs",
    name: str = "probs",
) -> Predictions:
    """The arguments of a function, as predictions.

    Args:
        probs: `Predictions`; or an array, whose values are checked when they are read.
        labels: of an array.
        sample_weight: of an array.
        labelled: whether labels are required.
        columns: whether a column for each class is required.
        padding: whether all weights may be 0, as in a batch that consists of padding.
        inputs: whether the function takes "probs" or "logits".
        name: the function's name for ``probs``.

    Raises:
        ValueError: for an array of a wrong shape or type, bad or missing labels or weights, weights
            that are all 0, or predictions of the wrong inputs.
    """
    given = probs if isinstance(probs, Predictions) else None
    if given is not None:
        for also, values in (("labels", labels), ("sample_weight", sample_weight)):
            if values is not None:
                raise ValueError(
                    f"{also}: expected none with Predictions, which have their own, found "
                    f"{type(values).__name__}; give other arguments by name"
                )
        if given.inputs != inputs:
            raise ValueError(
                f"{name}: expected {inputs}, found {given!r}; make them with "
                f"as_predictions({inputs}=...)"
            )
    array = float_scores(probs, name) if given is None else given.array
    if columns and array.ndim == 1:
        raise ValueError(
            f"{name}: expected shape (N, K), found (N,); give a column for each class, [1 - p, p] "
            "for two"
        )
    if given is None:
        check_frames(probs, labels)
        check_rows(probs, sample_weight, "sample_weight")
        given = _predictions(probs, array, labels, sample_weight, inputs, column_names(probs))
    if labelled and given.labels is None:
        raise ValueError(f"labels: expected one for each of {len(given)} samples, found none")
    if not padding and given.sample_weight is not None and not given.sample_weight.any():
        raise ValueError(
            f"sample_weight: expected a weight above 0, found only 0 for {len(given)} samples; "
            "leave out a batch of padding, or give it to a CalibrationError, to which it adds "
            "nothing"
        )
    return given


def unweighted(predictions: Predictions) -> Predictions:
    """The same predictions.

    Raises:
        ValueError: if they have weights.
    """
    if predictions.sample_weight is not None:
        raise ValueError(
            "sample_weight: expected none, because sampling noise depends on the number of "
            "samples, found weights; leave them out of as_predictions"
        )
    return predictions


def blocks_of(predictions: Predictions, name: str = "probs") -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows as from `row_blocks`, with a check of probabilities that were not checked yet.

    Raises:
        ValueError: at the first block with invalid probabilities.
    """
    if predictions._checked:
        return row_blocks(predictions.array)
    return checked_blocks(predictions.array, tolerance(predictions.scores), name)


def probs_of(predictions: Predictions, name: str = "probs") -> np.ndarray:
    """Checked probabilities, (N, K) or (N,), in float32 or float64."""
    for _ in () if predictions._checked else blocks_of(predictions, name):
        pass
    return widen(predictions.array)


def _predictions(
    scores: Any,
    array: np.ndarray,
    labels: Any,
    sample_weight: Any,
    name: str,
    columns: list[str],
    checked: bool = False,
) -> Predictions:
    """Predictions whose labels and weights are checked; ``array`` has the numbers of ``scores``."""
    n, n_classes = len(array), max(array[:1].size, 2)
    kind = "multi-class" if array.ndim == 2 else "confidence" if name == "confidence" else "binary"
    return Predictions(
        scores if is_tensor(scores) else array,
        None if labels is None else check_labels(labels, n, n_classes),
        None if sample_weight is None else check_sample_weight(sample_weight, n),
        kind,
        "logits" if name == "logits" else "probs",
        array,
        columns,
        checked,
    )


def _rescaled(probs: Any) -> Any:
    """Rows divided by their sum if it is farther from one than the checks allow.

    Probabilities (N,) have no sums and are left unchanged.
    """
    array = float_scores(probs, "probs")
    if array.ndim == 1:
        return probs
    sums = np.empty(len(array))
    for rows, block in row_blocks(array):
        sums[rows] = block.sum(axis=1, dtype=np.float64)
    off = np.abs(sums - 1)
    if not off.max() <= _MOST_ROUNDING:  # also for NaN
        row = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
        raise ValueError(
            f"probs: expected rows that sum to one up to rounding, within {_MOST_ROUNDING:g}, "
            f"found {sums[row]:.6g} in row {row}; apply a softmax to logits, or divide "
            "percentages by 100"
        )
    # A little less than the checks allow, because they sum in a different order.
    rescaled = np.flatnonzero(off > 0.99 * tolerance(probs))
    if not len(rescaled):
        return probs
    warnings.warn(
        f"probs: {len(rescaled)} of {len(sums)} rows did not sum to one, by up to "
        f"{off.max():.2g}, and were divided by their sum",
        stacklevel=3,
    )
    array = array.copy()
    array[rescaled] = array[rescaled] / sums[rescaled, None]
    return like(array, probs, cast=True)
