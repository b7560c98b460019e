"""How many rows two sets of predictions have in common, as far as their numbers can tell."""

from __future__ import annotations

import numpy as np
from scipy.special import bdtrc

from calib_utils.audit.lots import Lots
from calib_utils.audit.rows import Rows
from calib_utils.audit.totals import Totals

__all__ = ["shared_rows"]

_CHANCE, _FEW = 1e-6, 0.05  # of an accident; share of the smaller set that does no harm


def shared_rows(one: Totals, two: Totals) -> int:
    """The number of rows that are in both sets; 0 if that can be an accident, or they are few.

    Different rows may have the same numbers, in one set as across two. So we look at rows that
    come up exactly twice in both sets together. Where the sets have nothing in common, chance
    decides whether one of the two is in each set, and a row that is in both always is. Scores in
    tenths have no such rows: then only sets with as many rows of each kind are known to be the
    same. Of sets of which not all rows were kept only the sums are compared.

    Args:
        one, two: of each set.
    """
    equal = all(  # up to the rounding of logits to which a constant was added
        np.allclose(mine, theirs, rtol=1e-9, atol=1e-7)
        for mine, theirs in ((one.bins.array[:3], two.bins.array[:3]), (one.losses, two.losses))
    )
    if not (one.complete and two.complete):
        return one.bins.n if equal else 0
    first, second = (np.sort(_numbers_of(totals.rows)) for totals in (one, two))
    if np.array_equal(first, second) and _chance_of_equal(first) < _CHANCE:
        return len(first)
    if equal and 2 * len(np.unique(first)) > len(first):
        return len(first)
    found, which = np.unique(np.concatenate([first, second]), return_inverse=True)
    times = np.bincount(which, minlength=len(found))
    of_first = np.bincount(which[: len(first)], minlength=len(found))
    pairs = int((times == 2).sum())
    split = int(((times == 2) & (of_first == 1)).sum())
    n = len(which)
    share = 2 * len(first) * len(second) / (n * (n - 1))
    accident = bdtrc(split - 1, pairs, share)
    enough = split - share * pairs > _FEW * min(len(first), len(second))
    return split if enough and accident < _CHANCE else 0


def _chance_of_equal(numbers: np.ndarray) -> float:
    """About how likely another set has as many rows of each kind, where normal curves meet."""
    spreads = np.log(4 * np.pi * np.unique(numbers, return_counts=True)[1]) / 2
    return float(np.exp(spreads.max() - spreads.sum()))


def _numbers_of(rows: Rows) -> np.ndarray:
    """A number for each row, the same for equal ones."""
    given = rows.probs if rows.logits is None else rows.logits
    bare = rows._replace(probs=given, groups={}, weights=None, blocks=None)
    return Lots(0, from_logits=False).numbers_of(bare)
