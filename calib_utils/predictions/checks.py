"""Checks of single values and of arrays that are no predictions."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from calib_utils.predictions.arrays import to_numpy

# Bins, draws or steps; a larger number is a typing error that would exhaust memory.
_MOST = 1_000_000


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
