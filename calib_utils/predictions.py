"""Predictions with named labels, rounded rows or weights, or with known correctness only.

Metrics, decisions, plots and recalibrators take arrays, ``metric(probs, labels)``. Anything more is
given once to `as_predictions`, whose result takes the place of the arrays::

    predictions = as_predictions(probs, ["cat", "dog", "cat"], classes=["cat", "dog", "owl"])
    expected_calibration_error(predictions, n_bins=10)

Labels may be **names**: ``classes`` names the class of each column, and with probabilities (N,)
``positive`` names the positive class, such as ``True`` or ``"yes"``; without either they are
integers from 0. The sum of **rounded rows**, for example to four digits, may differ from one by
more than the checks allow. ``rescale=True`` divides such rows by their sum if it is within 10 % of
one, and a warning tells how many there were and how far off. **Weights** set how much each sample
counts relative to the others; `calib_utils.metrics` explains their effect, and what takes none. A
recalibrator divides them by their mean; the ``sample_weight`` of its own ``fit`` tells how often
each sample counts.

For a language model, a detector or a ranker, often only the confidence of each prediction and its
correctness are known: ``as_predictions(confidence=c, correct=y)``. A metric then compares the two,
as it does with the confidence in the predicted class. Scores are those of the two outcomes, correct
and incorrect; the accuracy is the mean of ``correct``, however low the confidence. A recalibrator
for probabilities (N,), with ``inputs="probs"``, recalibrates ``c``. Functions that need the
probabilities of all classes raise an error.

**Logits** are taken by recalibrators, and by the NLL and the accuracy: ``as_predictions(logits=z,
labels=y)``. These functions check the values themselves, because they differ in what is masked.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from calib_utils._numerics import HUGE, row_blocks, widen

__all__ = ["Predictions", "as_predictions"]

_MOST_ROUNDING = 0.1  # of a sum; rounding does not explain more
# How far from one a row of probabilities may sum, and how far above one a probability may be. A
# softmax in float32 is off by about 1e-6, and float64 often comes from float32. Rounding to
# float16 and bfloat16 changes a probability, and so the sum, by up to 2^-11 and 2^-8 of it.
_TOLERANCE = {"bfloat16": 6e-3, "float16": 2e-3}
_TOLERANCE_SINGLE = 1e-4
_MULTI_LABEL = (
    "if several labels of a sample may be true, each label is a question of its own: give "
    "probs[:, k] and labels[:, k] for each k"
)
_NAMED = "if they are names, use as_predictions(probs, labels, classes=[...])"
# A column's number: all of its name, or what follows a prefix such as "p_".
_NUMBER = re.compile(r"(?:.*(?:_|[^\w-]))?(-?\d+)")
# Bins, draws or steps; a larger number is a typing error that would exhaust memory.
_MOST = 1_000_000
MANY = 20  # so many log-odds do not all lie between 0 and 1 by chance
_ROUNDING = 0.1  # of the sum of a row that was rounded to two digits
_ONE = 1.001  # the largest probability, as rounding in half precision leaves it
# The warnings about log-odds (N,) and logits (N, K).
LIKE_PROBS = {
    1: "logits: all are from 0 to 1, like probabilities; give the log-odds, or set inputs='probs'",
    2: "logits: all are from 0 to 1, like probabilities; give the logits, or for rows that sum to "
    "one set inputs='probs'",
}


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


# Arrays of any kind, and the way back.


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a torch tensor. Where there is a tensor, torch has been imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def plain_array(x: Any, name: str) -> np.ndarray:
    """The numbers, texts or other values of ``x`` as a NumPy array, without a copy if possible.

    Args:
        x: a NumPy array, a list, or a torch tensor on any device, with or without a
            gradient. bfloat16, which NumPy does not have, becomes float32.
        name: the name of ``x`` in the error.

    Raises:
        ValueError: if ``x`` is not a rectangle, is masked, or can be read only once; or is a tensor
            that NumPy cannot represent, such as a sparse one or one of 8-bit floats.
    """
    if is_tensor(x):
        try:
            x = x.detach().cpu().resolve_conj().resolve_neg()
            x = (x.float() if dtype_name(x) == "bfloat16" else x).numpy()
        except (NotImplementedError, RuntimeError, TypeError) as error:
            raise ValueError(
                f"{name}: found a tensor of {dtype_name(x)} in layout {x.layout} on "
                f"{x.device.type}; convert it with to_dense() and float()"
            ) from error
    if isinstance(x, Iterator):
        raise ValueError(
            f"{name}: found {type(x).__name__}, which can be read only once; give an array, or if "
            "it does not fit in memory np.load(path, mmap_mode='r'), which is read in blocks"
        )
    parts = x if isinstance(x, (list, tuple)) else [x]
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name}: found masked entries; leave them out, e.g. with compressed()")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name}: found rows of unequal length; make them equally long") from error
    except (RuntimeError, TypeError) as error:  # such as from a list of tensors on a GPU
        raise ValueError(f"{name}: found {type(x).__name__}, {error}; give an array") from error
    if array.dtype.name == "bfloat16":  # of ml_dtypes
        return array.astype(np.float32)
    return array.astype(object) if array.dtype.kind == "T" else array  # StringDType


def to_numpy(x: Any, name: str, advice: str = "convert them first") -> np.ndarray:
    """The numbers of ``x`` as a NumPy array.

    Args:
        x: as `plain_array` takes it.
        name: the name of ``x`` in the error.
        advice: what to do about values that are not numbers.

    Raises:
        ValueError: as `plain_array` does, or if ``x`` has anything but numbers or booleans.
    """
    array = plain_array(x, name)
    if array.dtype == object and hasattr(x, "iloc"):
        array = _of_nullable(x, array, name)
    if array.dtype.kind not in "biuf":
        found = type(x).__name__ if array.ndim == 0 else array.dtype
        raise ValueError(f"{name}: expected real numbers, found {found}; {advice}")
    return array


def _of_nullable(x: Any, array: np.ndarray, name: str) -> np.ndarray:
    """The numbers of pandas' types that allow missing values, such as Float32."""
    types = [getattr(each, "numpy_dtype", each) for each in np.ravel(np.array(x.dtypes, object))]
    if not all(isinstance(each, np.dtype) and each.kind in "biuf" for each in types):
        return array
    if np.asarray(x.isna()).any():
        raise ValueError(f"{name}: found values that are missing; leave such samples out")
    return np.asarray(x.to_numpy(np.result_type(*types)))


def dtype_name(x: Any) -> str:
    """The original type of the numbers in ``x``: "float64", "bfloat16", "int32", ..."""
    if is_tensor(x):
        return str(x.dtype).removeprefix("torch.")
    return np.asarray(x).dtype.name


def in_type(values: np.ndarray, dtype: str) -> Any:
    """The numbers in a type; of bfloat16 a tensor, because NumPy has it only with ml_dtypes."""
    if dtype != "bfloat16" or "torch" not in sys.modules:
        return values.astype(dtype)
    return sys.modules["torch"].from_numpy(values.astype(np.float32)).bfloat16()


def like(result: np.ndarray, template: Any, cast: bool = False) -> Any:
    """``result`` as the same kind of array as ``template``.

    Args:
        result: any NumPy array.
        template: a torch tensor, a NumPy array or a list.
        cast: whether the numbers are also cast to the type of those in ``template``.

    Returns:
        A torch tensor on the template's device if that is a tensor, else a NumPy array.
    """
    if not is_tensor(template):
        return result.astype(np.asarray(template).dtype, copy=False) if cast else result
    tensor = sys.modules["torch"].from_numpy(np.asarray(result, order="C"))
    if cast:
        tensor = tensor.to(template.dtype)
    elif template.device.type == "mps" and result.dtype == np.float64:
        tensor = tensor.float()  # Apple's GPUs have no float64
    return tensor.to(template.device)


# Scores.


def float_scores(x: Any, name: str) -> np.ndarray:
    """``x`` as floats of shape (N, K) or (N,) with N >= 1 and K >= 2."""
    array = to_numpy(x, name)
    if array.ndim == 2 and array.shape[1] == 1:
        raise ValueError(
            f"{name}: expected shape (N, K) with at least two classes, or (N,) for two classes, "
            f"found {array.shape}; flatten it with {name.split()[0]}[:, 0]"
        )
    if array.ndim not in (1, 2) or array.size == 0:
        given = name.split()[0]
        maps = (
            f": of (batch, token, class) {given}.reshape(-1, K), and of (N, K, ...) "
            f"np.moveaxis({given}, 1, -1).reshape(-1, K), with labels.ravel(); of an ensemble "
            "(member, N, K) the mean of the members' probabilities"
        )
        raise ValueError(
            f"{name}: expected a non-empty array of shape (N, K), or (N,) for two classes, "
            f"found {array.shape}; give one row for each sample" + (maps if array.ndim > 2 else "")
        )
    if array.dtype.kind != "f":
        raise ValueError(
            f"{name}: expected floating-point numbers, found {dtype_name(x)}; "
            f"give {name.split()[0]} as the model computes them, not labels or predicted classes"
        )
    return array


def tolerance(probs: Any) -> float:
    """How far from one a row of ``probs``, in the type that it came in, may sum."""
    return _TOLERANCE.get(dtype_name(probs), _TOLERANCE_SINGLE)


def check_probs(probs: Any, name: str = "probs") -> np.ndarray:
    """Probabilities as a NumPy array.

    Args:
        probs: (N, K) with K >= 2, rows that sum to one; or (N,), those of the positive class.
        name: the name of ``probs`` in the error.

    Returns:
        The same numbers, float32 (also for float16 and bfloat16) or float64.

    Raises:
        ValueError: for a wrong shape or type, no rows, NaN, values outside 0 to 1, or rows
            whose sum is further from one than `tolerance` allows.
    """
    array = float_scores(probs, name)
    for _ in checked_blocks(array, tolerance(probs), name):
        pass
    return widen(array)


def checked_blocks(
    array: np.ndarray, tol: float, name: str = "probs"
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows as from `row_blocks`, each checked while it is in cache.

    Raises:
        ValueError: at the first block with invalid probabilities.
    """
    ones = np.ones(array[:1].size, widen(array[:0]).dtype)
    for rows, block in row_blocks(array):
        # Written so that NaN fails. If none is negative, none exceeds the sum of its row.
        with np.errstate(invalid="ignore", over="ignore"):
            if block.ndim == 1:
                good = block.min() >= 0 and block.max() <= 1 + tol
            else:
                sums = block @ ones
                good = block.min() >= 0 and np.abs(sums - 1).max() <= tol
        if not good:
            _raise_for_probs(block, rows.start, tol, name)
        yield rows, block


def _raise_for_probs(block: np.ndarray, start: int, tol: float, name: str) -> NoReturn:
    """Raise the error about a block that failed its check."""
    bad = ~((block >= 0) & (block <= 1 + tol))
    if bad.any():
        where = np.argwhere(bad)[0]
        value = block[tuple(where)]
        squash = "sigmoid" if block.ndim == 1 else "softmax"
        finite = f"apply a {squash} to logits, or divide percentages by 100"
        if -tol < value < 0:
            finite = "cut such roundings off with probs.clip(0)"
        raise ValueError(
            f"{name}: expected values from 0 to 1, found {value} at {_place(where, start)}; "
            f"{finite if np.isfinite(value) else 'remove such rows'}"
        )
    sums = block.sum(axis=1, dtype=np.float64)
    row = int(np.abs(sums - 1).argmax())
    raise ValueError(
        f"{name}: expected rows that sum to 1 within {tol:g}, found {sums[row]:.6g} in row "
        f"{start + row}; divide each row by its sum if it was rounded, or apply a softmax in "
        f"float32 to logits; {_MULTI_LABEL}"
    )


def check_confidences(confidences: Any) -> np.ndarray:
    """Confidences (N,) as `check_probs` gives them.

    Raises:
        ValueError: as `check_probs` does, or for rows of probabilities.
    """
    array = check_probs(confidences, "confidences")
    if array.ndim != 1:
        raise ValueError(
            f"confidences: expected shape (N,), found {array.shape}; get them from probabilities "
            "with top_label(probs, labels)"
        )
    return array


def check_logits(logits: Any, name: str = "logits", far: float = HUGE) -> np.ndarray:
    """Logits as a NumPy array, with -inf where a class is masked.

    Args:
        logits: (N, K) with K >= 2, where -inf masks a class; or (N,), the log-odds of the positive
            class, which have no masks.
        name: the name of ``logits`` in the error.
        far: how far below the largest a finite logit is a mask as well.

    Returns:
        The same numbers: (N, K) in their type, bfloat16 as float32, and without a copy where no
        finite logit is a mask; (N,) as float32 or float64.

    Raises:
        ValueError: for a wrong shape or type, or no rows; for NaN or +inf, for -inf in (N,), or if
            a row has nothing but -inf.
    """
    array = float_scores(logits, name)
    if array.ndim == 1:
        return _finite(array, name)
    result = array
    for rows, block in row_blocks(array):
        low, high = float(block.min()), float(block.max())
        if np.isfinite(high) and high - low < far:
            continue
        top = block.max(axis=1, keepdims=True)
        if not np.isfinite(top).all():  # the largest of a row with NaN is NaN
            row = int(np.flatnonzero(~np.isfinite(top))[0])
            found = "only -inf" if np.isneginf(top[row]).all() else f"{top[row, 0]}"
            raise ValueError(
                f"{name}: expected finite values, or -inf for a masked class, found {found} in "
                f"row {rows.start + row}; remove such rows"
            )
        with np.errstate(over="ignore"):
            masked = np.isfinite(block) & (np.subtract(top, block, dtype=np.float64) >= far)
        if masked.any():
            result = result.copy() if np.shares_memory(result, array) else result
            result[rows][masked] = -np.inf
    return result


def _finite(odds: np.ndarray, name: str) -> np.ndarray:
    for rows, block in row_blocks(odds):
        if not (np.isfinite(block.min()) and np.isfinite(block.max())):
            where = int((~np.isfinite(block)).argmax())
            advice = "remove such rows"
            if np.isinf(block[where]):
                advice += ", or give probabilities (inputs='probs'), where 0 and 1 are allowed"
            raise ValueError(
                f"{name}: expected finite values, found {block[where]} at row "
                f"{rows.start + where}; {advice}"
            )
    return widen(odds)


def check_label_masks(logits: np.ndarray, labels: np.ndarray) -> None:
    """Refuse labels whose class is masked.

    Args:
        logits: (N, K) as `check_logits` gives them, or (N,).
        labels: (N,), checked.

    Raises:
        ValueError: if there is one.
    """
    if logits.ndim == 1:
        return
    bad = np.isneginf(logits[np.arange(len(labels)), labels])
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"labels: sample {row} has class {labels[row]}, which is masked: its logit is -inf, or "
            "far below the sample's largest; unmask it, leave the sample out, or divide all logits "
            "by a constant if they are on so large a scale"
        )


def look_like_probs(logits: np.ndarray) -> list[str]:
    """A warning, if all rows are of 0 to 1 and sum to one, or all of many numbers are 0 to 1."""
    many = len(logits) >= MANY
    if logits.ndim == 1 and not many:
        return []
    doubtful = all(like_probs(block, many) for _, block in row_blocks(logits))
    return [LIKE_PROBS[logits.ndim]] if doubtful else []


def like_probs(rows: Any, many: bool) -> Any:
    """Whether values (N,), or rows (N, K), of an array or a tensor can be probabilities.

    Args:
        rows: some of the values.
        many: whether there are many in all; of few rows each has to sum to one, up to rounding.

    Returns:
        A boolean, on the tensor's device if it is a tensor.
    """
    within = (rows.min() >= 0) & (rows.max() <= _ONE)  # -inf is below 0
    if rows.ndim == 1:
        return within
    if many:  # softmax rounded so far that it does not sum to one, or sigmoids
        return within
    with np.errstate(over="ignore", invalid="ignore"):  # of large logits
        return within & (abs(rows.sum(1) - 1).max() <= _ROUNDING)


def _place(where: np.ndarray, start: int) -> str:
    row = f"row {start + where[0]}"
    return row if len(where) == 1 else f"{row}, class {where[1]}"


# Labels, names and weights.


def in_rows(probs: Any, labels: Any, name: str) -> tuple[Any, Any]:
    """A row and a label for each position of (..., K) and (...), or of (N, K, ...) and (N, ...).

    A plain tensor stays on its device; all else becomes an array.
    """
    plain = is_tensor(probs) and str(probs.layout) == "torch.strided" and not probs.is_nested
    probs = probs if plain else to_numpy(probs, name)
    shape = tuple(probs.shape)
    if len(shape) < 3:
        return probs, labels
    of_places = to_numpy(labels, "labels")
    last, second = (of_places.shape == x for x in (shape[:-1], (shape[0], *shape[2:])))
    if last == second:
        how = "fit (..., K) and (N, K, ...) alike" if last else "fit neither"
        raise ValueError(
            f"{name}: expected (batch, token, class) with labels (batch, token), or (N, K, ...) "
            f"with labels (N, ...), found {shape} with labels {of_places.shape}, which {how}; give "
            "a row for each label, (N, K), and labels.flatten(), or of an ensemble (member, N, K) "
            "the mean of the members' probabilities"
        )
    if last:
        return probs.reshape(-1, shape[-1]), of_places.ravel()
    by_place = probs.reshape(*shape[:2], math.prod(shape[2:])).swapaxes(1, 2)
    return by_place.reshape(of_places.size, shape[1]), of_places.ravel()


def without_ignored(probs: Any, labels: Any, ignore_index: int) -> tuple[Any, Any]:
    """The rows whose label is another number, each array on its own device."""
    array = to_numpy(labels, "labels")
    if array.ndim != 1 or array.shape != probs.shape[:1]:
        raise ValueError(
            f"labels: expected shape (N,), one for each of probs {tuple(probs.shape)}, found "
            f"{array.shape}; give one label for each sample"
        )
    rows = np.flatnonzero(array != ignore_index)
    kept = [x[like(rows, x)] if is_tensor(x) else np.asarray(x)[rows] for x in (probs, labels)]
    return kept[0], kept[1]


def check_labels(labels: Any, n: int, n_classes: int) -> np.ndarray:
    """Labels as an int64 array of shape (n,).

    Raises:
        ValueError: unless they are n integers from 0 to ``n_classes`` - 1. Floats, booleans,
            one-hot rows and columns of shape (n, 1) are not converted silently.
    """
    array = to_numpy(labels, "labels", _NAMED)
    if array.ndim != 1:
        advice = "give one class index for each sample"
        if array.ndim == 2:
            advice = "flatten a column with labels[:, 0]"
            if array.shape[1] > 1:
                advice = f"turn one-hot rows into indices with labels.argmax(1); {_MULTI_LABEL}"
        raise ValueError(f"labels: expected shape ({n},), found {array.shape}; {advice}")
    if len(array) != n:
        raise ValueError(
            f"labels: expected {n}, one for each prediction, found {len(array)}; "
            "give as many labels as predictions"
        )
    if array.dtype.kind not in "iu":
        advice = "convert class indices with labels.astype(int), or labels.long() in torch; "
        missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(0, bool)
        if missing.any():
            advice = f"leave out samples without a label, as at index {missing.argmax()}; "
        raise ValueError(
            f"labels: expected integers, found {dtype_name(labels)}; " + advice + _NAMED
        )
    bad = (array < 0) | (array >= n_classes)
    if bad.any():
        where = int(bad.argmax())
        raise ValueError(
            f"labels: expected 0 to {n_classes - 1}, found {array[where]} at index {where}; "
            "number the classes from 0, or name them in as_predictions(classes=[...]), and leave "
            "out samples without a label"
        )
    return array.astype(np.int64, copy=False)


def check_correct(correct: Any, n: int) -> np.ndarray:
    """Whether each prediction is correct, as a boolean array of shape (n,).

    Raises:
        ValueError: unless they are n values that are all True or False, or 1 or 0.
    """
    array = to_numpy(correct, "correct")
    if array.shape != (n,):
        raise ValueError(
            f"correct: expected shape ({n},), as many as confidences, found {array.shape}; "
            "give one True or False for each prediction"
        )
    check_zeros_and_ones(array, "correct")
    return array.astype(bool, copy=False)


def check_zeros_and_ones(array: np.ndarray, name: str) -> None:
    """Raise a ValueError unless all values are True or False, or 1 or 0."""
    bad = (array != 0) & (array != 1)
    if bad.any():
        where = int(bad.argmax())
        raise ValueError(
            f"{name}: expected True or False (or 1 or 0), found {array[where]} at index {where}; "
            "compare predicted classes with labels first"
        )


def check_sample_weight(sample_weight: Any, n: int) -> np.ndarray:
    """Importance weights as a float64 array of shape (n,).

    Raises:
        ValueError: unless they are n finite numbers of 0, or of 1e-150 to 1e150.
    """
    array = to_numpy(sample_weight, "sample_weight").astype(np.float64)
    if array.shape != (n,):
        raise ValueError(
            f"sample_weight: expected shape ({n},), one for each prediction, found {array.shape}; "
            "give one weight for each sample"
        )
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        where = int(bad.argmax())
        raise ValueError(
            f"sample_weight: expected finite numbers of 0 or more, found {array[where]} at index "
            f"{where}; give the weight 0 to a sample that is not to count"
        )
    extreme = (array > 0) & ((array < 1e-150) | (array > 1e150))  # whose squares are 0 or infinite
    if extreme.any():
        where = int(extreme.argmax())
        raise ValueError(
            f"sample_weight: expected 0, or numbers from 1e-150 to 1e150, found {array[where]:g} "
            f"at index {where}; only their ratios matter, so divide all of them by the largest"
        )
    return array


def class_names(classes: Any) -> list[Any]:
    """The names of classes as a list.

    Raises:
        ValueError: if they have no order, or are not several.
    """
    if isinstance(classes, (set, frozenset, Mapping)):
        raise ValueError(
            f"classes: expected a list, in the order of the columns, found a "
            f"{type(classes).__name__}, which has no such order; give list(model.classes_)"
        )
    of_array = hasattr(classes, "__array__")
    several = plain_array(classes, "classes").tolist() if of_array else classes
    names = check_several(several, "classes")
    if any(isinstance(name, (list, Mapping, np.ndarray)) for name in names):
        raise ValueError(f"classes: expected one name for each column, found {names!r}")
    return names


def class_indices(
    labels: Any, columns: int, classes: Sequence[Any] | None, positive: Any
) -> np.ndarray:
    """Labels as the numbers of their columns, int64.

    Args:
        labels: (N,), integers, booleans or texts.
        columns: the number of columns of the predictions; 1 for those of the positive class.
        classes: (K,), as from `class_names`, the name of each column's class; with one column,
            those of the negative class and the positive one.
        positive: with one column, the name of the positive class; all other labels are negative.

    Raises:
        ValueError: if a label is not a class, ``classes`` are too few, too many or not distinct,
            or no label is ``positive``.
    """
    array = _names(labels)
    if positive is not None:
        if classes is not None or columns > 1:
            raise ValueError(
                "positive: expected only with probabilities (N,) and without classes; give "
                "classes=[...], the name of each column"
            )
        if np.ndim(positive):
            raise ValueError(
                f"positive: expected one label, such as 'yes', found {np.size(positive)}"
            )
        indices = (array == positive).astype(np.int64)
        if not indices.any():
            raise ValueError(
                f"positive: no label is {positive!r}, found {_some(array)}; if a class may have no "
                "samples, give classes=[negative, positive]"
            )
        return indices
    names, expected = list(classes or ()), max(columns, 2)
    if len(names) != expected or len(set(names)) != expected:
        raise ValueError(
            f"classes: expected {expected} different names, one for each column (for (N,) the "
            f"negative class, then the positive one), found {names!r}"
        )
    numbers = {name: k for k, name in enumerate(names)}
    found = array.tolist()
    try:
        unknown = [name for name in found if name not in numbers]
    except TypeError as error:
        raise ValueError(f"labels: expected one name a sample, found {error}") from error
    if unknown:
        raise ValueError(
            f"labels: expected the names in classes, {_some(names)}, found {_some(unknown)}"
        )
    return np.array([numbers[name] for name in found], np.int64)


def _names(labels: Any) -> np.ndarray:
    """Labels as an array of shape (N,), each of which names a class.

    Raises:
        ValueError: for a wrong shape, masked or missing labels, or values that are not names.
    """
    array = plain_array(labels, "labels")
    if array.ndim != 1:
        raise ValueError(
            f"labels: expected shape (N,), found {array.shape}; give one name a sample"
        )
    if array.dtype.kind not in "biufUSO":
        raise ValueError(
            f"labels: expected integers, booleans or texts, found {array.dtype}; convert them first"
        )
    missing = [False] * len(array)
    if array.dtype.kind in ("f", "O"):
        missing = [x is None or type(x).__name__ == "NAType" or x != x for x in array.tolist()]
    if any(missing):
        where = missing.index(True)
        raise ValueError(
            f"labels: found {array[where]!r} at index {where}, which is missing; leave out samples "
            "without a label"
        )
    return array


def check_blocks(blocks: Any, n: int, rows: Any, of: str) -> np.ndarray:
    """The name of each sample's block, (n,); ``rows`` are the samples, named ``of``."""
    check_rows(rows, blocks, "blocks", of)
    array = plain_array(blocks, "blocks")
    if array.shape != (n,):
        raise ValueError(
            f"blocks: expected shape ({n},), the block of each sample, found {array.shape}"
        )
    missing = np.array([is_none(name) for name in array.tolist()])
    if missing.any():
        where = int(missing.argmax())
        raise ValueError(
            f"blocks: expected the name of a block, found {array[where]} at index {where}; remove "
            "such samples, or give each a name of its own"
        )
    return array.astype(str) if array.dtype == object else array


def is_none(name: Any) -> bool:
    """Whether it is None, NaN, NaT, or pandas' NA, whose comparisons give NA."""
    same = name == name
    return name is None or not isinstance(same, (bool, np.bool_)) or not same


def check_groups(groups: Any, n: int) -> np.ndarray:
    """The name of each sample's group as text, (n,)."""
    array = plain_array(groups, "groups")
    if array.shape != (n,):
        raise ValueError(
            f"groups: expected one for each of {n:,} samples, found shape {array.shape}"
        )
    wrong = (
        [not isinstance(x, (str, int, np.integer, np.bool_)) for x in array]
        if array.dtype.kind == "O"
        else [array.dtype.kind not in "biuU"]
    )
    if any(wrong):
        raise ValueError(
            "groups: expected texts, integers or booleans, found "
            f"{array.tolist()[wrong.index(True)]!r}; "
            "name a missing group, such as 'unknown', and round numbers into ranges"
        )
    return np.char.strip(array.astype(str))


def check_pair(first: Any, second: Any) -> tuple[np.ndarray, np.ndarray]:
    """Finite numbers of the same samples, (N,) each."""
    arrays = check_finite(first, "first"), check_finite(second, "second")
    if len(arrays[0]) != len(arrays[1]):
        raise ValueError(
            f"second: expected {len(arrays[0])} values, one for each of first, found "
            f"{len(arrays[1])}; give the same samples in the same order"
        )
    check_rows(first, second, "second", "first")
    return arrays


def check_finite(values: Any, name: str) -> np.ndarray:
    """Two numbers or more, finite, as float64, (N,)."""
    array = to_numpy(values, name).astype(np.float64)
    if array.ndim != 1 or len(array) < 2:
        raise ValueError(
            f"{name}: expected shape (N,) with at least two values, found {array.shape}; one "
            "value does not show how much they vary"
        )
    if not np.isfinite(array).all():
        where = int((~np.isfinite(array)).argmax())
        advice = "remove such samples from both"
        if np.isinf(array).any():
            where = int(np.isinf(array).argmax())
            advice = (
                "such a loss is that of a fatal mistake, a probability of 0 for what happened, so "
                "the mean is infinite as well and the sample must stay; compare Brier scores, or "
                "which predictions are correct (mcnemar)"
            )
        raise ValueError(
            f"{name}: expected finite values, found {array[where]} at index {where}; {advice}"
        )
    return array


def check_frames(scores: Any, labels: Any, classes: Sequence[Any] | None = None) -> None:
    """Compare the names in data frames and series with each other, and with ``classes``.

    Raises:
        ValueError: if the name of a column is that of a different class, alone or after a prefix;
            if, without ``classes``, the labels may be the numbers in the columns' names, which are
            not those of their positions; or as `check_rows` does.
    """
    columns = column_names(scores)
    if columns and classes is not None:
        names = [str(name) for name in classes]
        for column, name in zip(columns, names, strict=False):
            if _class_of(column, names) not in (None, name):
                raise ValueError(
                    f"classes: expected the order of the columns, {_some(columns)}, found "
                    f"{_some(names)}; give the columns in the order of the classes, or the classes "
                    "in that of the columns"
                )
    elif columns:
        _check_positions(columns, labels)
    check_rows(scores, labels, "labels")


def check_rows(first: Any, second: Any, name: str, of: str = "probs") -> None:
    """Raise a ValueError if two pandas objects have the same rows in different orders."""
    if not (hasattr(first, "iloc") and hasattr(second, "iloc")):
        return
    one, other = list(first.index), list(second.index)
    if one != other and len(one) == len(other) and set(one) == set(other):
        raise ValueError(
            f"{name}: expected the rows of {of} in the same order, found the index in another; "
            f"give {name}.loc[{of}.index]"
        )


def check_order(values: Any, columns: Sequence[str], name: str) -> None:
    """Compare the index of numbers of the classes, if they are a pandas series, with the columns.

    ``value_counts``, for example, sorts the classes by how frequent they are.

    Raises:
        ValueError: if the classes are in a different order; where columns have other names or
            none, they are expected to be sorted.
    """
    if not (hasattr(values, "iloc") and getattr(values, "ndim", 1) == 1):
        return
    texts = [str(value) for value in values.index]
    own = [_class_of(column, texts) for column in columns]
    known = sorted(filter(None, own)) == sorted(texts)
    if not (own == texts if known else values.index.is_monotonic_increasing):
        raise ValueError(
            f"{name}: expected the classes in the order of the columns, found the index "
            f"{_some(texts)}; give {name}.loc[classes].to_numpy(), with the classes in that order"
        )


def column_names(frame: Any) -> list[str]:
    """The names of a data frame's columns; none of anything else."""
    of_arrow = hasattr(frame, "column_names") and not hasattr(frame, "iloc")
    names: Any = getattr(frame, "column_names" if of_arrow else "columns", None)
    named = np.iterable(names) and getattr(frame, "ndim", 2) == 2
    return [str(name) for name in names] if named else []


def _class_of(column: str, names: Sequence[str]) -> str | None:
    """The class after which a column is named."""
    ends = [
        name
        for name in filter(None, names)
        if column == name or (column.endswith(name) and not column[-len(name) - 1].isalnum())
    ]
    return max(ends, key=len, default=None)


def _check_positions(columns: Sequence[str], labels: Any) -> None:
    """Raise a ValueError if labels may be numbers in names, which are not those of positions."""
    found = [_NUMBER.fullmatch(column) for column in columns]
    numbers = [int(number[1]) for number in found if number]
    if len(numbers) < len(columns) or numbers == list(range(len(columns))) or labels is None:
        return
    try:
        array = to_numpy(labels, "labels")
    except ValueError:
        return  # which is refused where labels are checked
    if array.dtype.kind in "iu" and array.size and set(array.ravel().tolist()) <= set(numbers):
        raise ValueError(
            f"labels: expected the positions of the columns, 0 to {len(columns) - 1}, found "
            f"numbers that are all in the columns' names, {_some(list(columns))}; give these as "
            "classes=[...] to as_predictions, or probs without names"
        )


def _some(values: Any) -> str:
    """The first few different values, as text."""
    names = list(dict.fromkeys(values if isinstance(values, list) else values.tolist()))
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


# Single values.


def check_inputs(inputs: Any) -> None:
    """Raise a ValueError unless ``inputs`` is "probs" or "logits"."""
    if inputs not in ("probs", "logits"):
        raise ValueError(f"inputs: expected 'probs' or 'logits', found {inputs!r}")


def check_several(values: Any, name: str, kind: type = object, what: str = "") -> list[Any]:
    """An iterable as a list.

    Raises:
        ValueError: if it is a single value, or one of its values is not of the ``kind`` that
            ``what`` names.
    """
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise ValueError(f"{name}: expected several in a list, found {values!r}")
    several = list(values)
    for one in several:
        if not isinstance(one, kind):
            raise ValueError(f"{name}: expected {what}, found {one!r}")
    return several


def check_edges(n_bins: Any) -> np.ndarray:
    """Edges of bins that rise from 0 to 1, as float64, (M + 1,)."""
    edges = to_numpy(n_bins, "n_bins").astype(np.float64)
    rising = edges.ndim == 1 and len(edges) > 1 and (np.diff(edges) > 0).all()
    if not (rising and edges[0] == 0 and edges[-1] == 1):
        raise ValueError(
            f"n_bins: expected edges that rise from 0 to 1, found {edges.tolist()}; give a number, "
            "or edges such as [0, 0.5, 0.9, 1]"
        )
    return edges


def check_thresholds(thresholds: Any) -> np.ndarray:
    """Numbers above 0 and below 1, as float64, (M,)."""
    places = to_numpy(thresholds, "thresholds").astype(np.float64)
    bad = ~((places > 0) & (places < 1))
    if places.ndim != 1 or not places.size or bad.any():
        found = places[bad][0] if bad.any() else f"shape {places.shape}"
        raise ValueError(f"thresholds: expected (M,) above 0 and below 1, found {found}; try [0.2]")
    return places


def check_n_bins(n_bins: Any) -> int:
    """The number of bins as an int.

    Raises:
        ValueError: unless it is an integer from 1 to a million.
    """
    return check_count(n_bins, "n_bins", "15 is usual")


def check_count(value: Any, name: str, advice: str, most: int = _MOST) -> int:
    """A number of bins, draws or steps as an int.

    Raises:
        ValueError: unless it is an integer from 1 to ``most``, a million by default.
    """
    if not _is_whole(value) or not 1 <= value <= most:
        raise ValueError(f"{name}: expected an integer from 1 to {most}, found {value!r}; {advice}")
    return int(value)


def check_seed(value: Any) -> int:
    """A seed as an int.

    Raises:
        ValueError: unless it is an integer of 0 or more.
    """
    if not _is_whole(value) or value < 0:
        raise ValueError(f"seed: expected an integer of 0 or more, found {value!r}; try 0")
    return int(value)


def check_whole(value: Any, name: str) -> None:
    """Raise a ValueError unless ``value`` is an integer."""
    if not _is_whole(value):
        raise ValueError(f"{name}: expected an integer, found {value!r}")


def check_flag(value: Any, name: str) -> None:
    """Raise a ValueError unless ``value`` is True or False: any text would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: expected True or False, found {value!r}")


def check_share(value: Any, name: str, usual: float) -> None:
    """Raise a ValueError unless ``value`` is a number above 0 and below 1."""
    if not _is_real(value) or not 0 < value < 1:
        raise ValueError(
            f"{name}: expected a number between 0 and 1, found {value!r}; try {usual:g}"
        )


def check_number(
    value: Any, name: str, low: float = -math.inf, *, above: bool = False, advice: str = ""
) -> None:
    """Raise a ValueError unless ``value`` is a finite number of at least, or above, ``low``."""
    if _is_real(value) and math.isfinite(value) and (value > low if above else value >= low):
        return
    bound = "" if low == -math.inf else f" {'above' if above else 'of at least'} {low:g}"
    raise ValueError(f"{name}: expected a finite number{bound}, found {value!r}{advice}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
