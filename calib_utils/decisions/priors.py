"""Label shift: the same classes, but more or less frequent than in training."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from calib_utils.predictions.arrays import like, to_numpy
from calib_utils.predictions.checks import check_number
from calib_utils.predictions.gate import probs_of, taken, unweighted
from calib_utils.predictions.labels import check_order
from calib_utils.predictions.scores import tolerance

_STEPS = 20_000
_GAP = 1e-5  # nats a sample: how far the likelihood may be below the highest


def adjust_priors(probs: Any, old: Any, new: Any) -> Any:
    """Probabilities adjusted for label shift, where the classes have new frequencies.

    Each probability is multiplied by the ratio of the new frequency of its class to the old one,
    and each row is divided by its sum. This is Bayes' rule, which is exact if the probabilities are
    correct and the samples of a class look the same in both places.

    Args:
        probs: (N, K), rows that sum to one; for two classes give both columns.
        old: (K,), the frequencies of the classes in training or recalibration; above 0.
        new: (K,), those where the model is used; 0 or more. Both sum to one.

    Returns:
        (N, K), of the kind of array that ``probs`` is, in float64; rows that sum to one.

    Raises:
        ValueError: for bad input, or if a row's classes with a probability above 0 are all missing
            in the new place.

    Source: Saerens, Latinne, Decaestecker 2002, "Adjusting the outputs of a classifier to new a
    priori probabilities", equation 2.4; Elkan 2001, "The foundations of cost-sensitive learning",
    theorem 2, for two classes.

    Example:
        >>> adjusted = adjust_priors([[0.5, 0.5]], old=[0.5, 0.5], new=[0.9, 0.1])
        >>> adjusted.round(2).tolist()
        [[0.9, 0.1]]
    """
    predictions = taken(probs, labelled=False, columns=True)
    array = probs_of(predictions).astype(np.float64)
    columns = predictions.columns
    old, new = (
        _frequencies(p, name, array.shape[1], columns) for p, name in ((old, "old"), (new, "new"))
    )
    _require_positive(old)
    result = array * (new / old)
    sums = result.sum(axis=1, keepdims=True)
    if (sums == 0).any():
        row = int((sums == 0).argmax())
        raise ValueError(
            f"new: found 0 for every class that has a probability above 0 in row {row} of probs; "
            "give each class that may occur a frequency above 0"
        )
    return like(result / sums, predictions.scores)


def estimate_priors(probs: Any, old: Any, *, pseudo_count: float = 0.0) -> np.ndarray:
    """How frequent the classes are where ``probs`` come from, estimated without labels.

    The frequencies maximise the likelihood. The EM algorithm adjusts the probabilities to the
    current frequencies, takes the means of the columns as the next ones, and so on. It stops when
    the likelihood is within 1e-5 a sample of the highest, for which the derivatives give a bound,
    or after 20,000 steps, with a warning.

    The estimate relies on the probabilities. If they are overconfident, or the samples of a class
    look different here, the frequencies are wrong. With few samples for each class, some become 0
    although the class occurs, and adjusted probabilities then rule it out. ``pseudo_count``
    prevents that: it counts every class as seen that many times more, and 1 is usual.

    Args:
        probs: (N, K), rows that sum to one, of samples in the new place.
        old: (K,), the frequencies in training or recalibration; above 0, with sum one.
        pseudo_count: 0 for the highest likelihood alone, or more.

    Returns:
        (K,), 0 to 1, with sum one, in float64.

    Raises:
        ValueError: for bad input.

    Warns:
        UserWarning: if the likelihood is still rising after the last step. Where it is so flat that
            ``old`` passes at once, as it is if all probabilities are close to ``old``, there is no
            warning: the result is then near ``old``, and tells nothing.

    Source: Saerens, Latinne, Decaestecker 2002, "Adjusting the outputs of a classifier to new a
    priori probabilities", equations 2.9; Šulc and Matas 2019, "Improving CNN classifiers by
    estimating test-time priors", for the counts: the mode of a Dirichlet prior.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> labels = (rng.random(4_000) < 0.2).astype(int)
        >>> x = rng.normal(2 * labels)  # 0 or 2, and noise: the log-odds are 2x - 2 at even odds
        >>> p = 1 / (1 + np.exp(2 - 2 * x))
        >>> estimate_priors(np.stack([1 - p, p], axis=1), old=[0.5, 0.5]).round(2).tolist()
        [0.79, 0.21]
    """
    predictions = unweighted(taken(probs, labelled=False, columns=True))
    array = probs_of(predictions).astype(np.float64)
    old = _frequencies(old, "old", array.shape[1], predictions.columns)
    _require_positive(old)
    check_number(pseudo_count, "pseudo_count", 0, advice="; 1 is usual")
    ratios = array / old
    n, n_classes = ratios.shape
    new = old.copy()
    for _ in range(_STEPS):
        gains = (1 / (ratios @ new)) @ ratios  # the derivatives of the log-likelihood
        if pseudo_count:
            gains += pseudo_count / new
        # The log-likelihood is concave, so its highest value is no farther away than this.
        total = n + n_classes * pseudo_count
        if gains.max() - total < _GAP * total:
            break
        new = new * gains / total
    else:
        warnings.warn(
            f"probs: the likelihood was still rising after {_STEPS:,} steps, because it hardly "
            "depends on the frequencies; do not rely on them, or give a pseudo_count",
            stacklevel=2,
        )
    return new / new.sum()


def _require_positive(old: np.ndarray) -> None:
    if (old == 0).any():
        raise ValueError(
            f"old: expected numbers above 0, found 0 for class {int(old.argmin())}; leave out "
            "classes that the model has never seen"
        )


def _frequencies(values: Any, name: str, n_classes: int, columns: list[str]) -> np.ndarray:
    """Frequencies of the classes as float64 of shape (K,), in the order of the columns."""
    check_order(values, columns, name)
    array = to_numpy(values, name).astype(np.float64)
    if array.shape != (n_classes,):
        raise ValueError(
            f"{name}: expected shape ({n_classes},), one frequency for each class, found "
            f"{array.shape}; count the labels with np.bincount and divide by their number"
        )
    if not ((array >= 0).all() and abs(array.sum() - 1) <= tolerance(array)):
        raise ValueError(
            f"{name}: expected numbers of 0 or more that sum to 1, found a sum of "
            f"{array.sum():.6g} and a smallest of {array.min():.6g}; divide counts by their sum"
        )
    return array / array.sum()
