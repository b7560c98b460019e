"""A map for each group of samples, drawn towards the map that all groups share."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from calib_utils._numerics import softplus
from calib_utils.metrics.logistic_fit import targets
from calib_utils.predictions.arrays import like
from calib_utils.predictions.checks import check_rows
from calib_utils.predictions.labels import check_groups
from calib_utils.recalibration.base import check_array, in_kind, learn
from calib_utils.recalibration.binary import PlattScaling

_SPREADS = 1 / 128, 4.0  # in log-odds: hardly any difference, and more than groups ever have
_CLOSE = 0.1  # of the logarithm of the spread, which need not be known better
_MOST_STEPS = 100
_SURE, _ENOUGH = 1e-2, 1e-8  # nats, of the sum over a group


class PlattPerGroup(PlattScaling):
    """Platt scaling for each group, shrunk towards the Platt scaling of all samples.

    One map for everybody cannot repair groups that are wrong in opposite directions, while a
    separate map for each overfits those with few samples. Here, the log-odds of group g are
    :math:`(a + a_g) z + b + b_g`, where a and b are `PlattScaling`'s for all samples. A normal
    prior of mean 0 draws :math:`a_g` and :math:`b_g` to 0, which hardly moves a group of thousands
    and leaves one of five samples near the common map. How far groups differ, the prior's standard
    deviation, is learned from the same samples by maximising their marginal likelihood (empirical
    Bayes, in Laplace's approximation). If groups do not differ more than chance explains, it is
    0 and all have the common map.

    A group without samples in the fit gets the common map, with a warning. After a fit with groups,
    predictions need them as well; a fit without any is `PlattScaling`.

    Groups must be known before the outcome. It takes two classes; for more, give the confidence
    in the predicted class as the score, and whether it is correct as the label.

    Args:
        smooth_targets: as in `PlattScaling`.
        inputs: "logits" or "probs", as in `PlattScaling`.

    Attributes:
        slope_, intercept_: a and b, of the common map.
        groups_: text, shape (G,), the names of the groups in alphabetical order.
        slopes_, intercepts_: float64, shape (G,), :math:`a + a_g` and :math:`b + b_g`.
        spread_: the prior's standard deviation, in log-odds: of the group's shift at the mean
            logit, and of its change over the logits' mean distance from that.
        group_column_: the name of the column of groups in a file, if a report fitted the maps;
            else empty.

    Source: the shrinkage is that of Efron, Morris 1975, "Data analysis using Stein's estimator and
    its generalizations", for logistic regression; the approximation is that of MacKay 1992, "The
    evidence framework applied to classification networks".

    Example:
        >>> scores = [0.5] * 400
        >>> groups = ["a", "b"] * 200
        >>> labels = [1, 0] * 100 + [1, 1, 0, 0] * 50
        >>> platt = PlattPerGroup(inputs="probs").fit(scores, labels, groups=groups)
        >>> platt.predict_proba([0.5, 0.5], groups=["a", "b"]).round(2).tolist()
        [0.75, 0.25]
    """

    groups_: np.ndarray
    slopes_: np.ndarray
    intercepts_: np.ndarray
    spread_: float
    group_column_: str = ""

    _numbers: ClassVar[tuple[str, ...]] = ("slope_", "intercept_", "spread_")
    _of_groups: ClassVar[bool] = True
    _for_more_classes: ClassVar[str] = (
        "or, for more, the confidence in the predicted class, and whether it is correct as labels"
    )

    def fit(
        self, logits: Any, labels: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Fit the common map and that of each group.

        Args:
            logits: (N,), as for `PlattScaling`.
            labels: (N,), 0 or 1.
            sample_weight: (N,), how often each sample counts.
            groups: (N,), texts, integers or booleans, which are compared as text, without the
                spaces around it; None for none.

        Returns:
            Itself.

        Raises:
            ValueError: for bad input.

        Warns:
            UserWarning: as `PlattScaling` does.
        """
        learn(self, logits, labels, sample_weight, groups)
        return self

    def predict_proba(self, logits: Any, groups: Any = None) -> Any:
        """Calibrated probabilities of the positive class.

        Args:
            logits: (N,), as in `fit`.
            groups: (N,), as in `fit`.

        Returns:
            (N,), of the kind and type of ``logits``.

        Raises:
            ValueError: for bad input, or if only one of fit and prediction has groups.
            RuntimeError: if it is not fitted, or was changed since.

        Warns:
            UserWarning: if a group was not in the fit; its samples get the common map.
        """
        from scipy.special import expit

        odds, array, given = self._odds_of(logits, groups)
        for doubt in self._doubts(array):
            warnings.warn(doubt, stacklevel=2)
        return in_kind(expit(odds), array, given)

    def predict_log_proba(self, logits: Any, groups: Any = None) -> Any:
        """The logarithms of the probabilities of `predict_proba`, even if these round to 0."""
        from scipy.special import log_expit

        odds, array, given = self._odds_of(logits, groups)
        return in_kind(log_expit(odds), array, given)

    def predict(self, logits: Any, groups: Any = None) -> Any:
        """1 where the probability of `predict_proba` is above one half, else 0; int64, (N,)."""
        odds, _, given = self._odds_of(logits, groups)
        return like((odds > 0).astype(np.int64), given)

    def _odds_of(self, logits: Any, groups: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        """Calibrated log-odds; the checked logits, and those that were given."""
        array, given = self._checked_to_predict(logits)
        check_rows(logits, groups, "groups", "logits")
        return self._odds(array, self._places(groups, len(array))), array, given

    def _odds(self, logits: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Log-odds by the maps at these places in ``groups_``; the common one is at -1."""
        slopes = np.append(self.slopes_, self.slope_)
        intercepts = np.append(self.intercepts_, self.intercept_)
        return slopes[places] * self._as_logits(logits) + intercepts[places]

    def _places(self, groups: Any, n: int) -> np.ndarray:
        """The place of each sample's group in ``groups_``; -1 for the common map."""
        if groups is None and len(self.groups_):
            raise ValueError(
                f"groups: expected one for each of {n:,} samples, as in fit, found none; for one "
                "map for all, fit PlattScaling"
            )
        if groups is None:
            return np.full(n, -1)
        if not len(self.groups_):
            raise ValueError("groups: expected none, as in fit, found some; fit with groups=...")
        names, codes = np.unique(check_groups(groups, n), return_inverse=True)
        places = np.searchsorted(self.groups_, names).clip(max=len(self.groups_) - 1)
        new = self.groups_[places] != names
        if new.any():
            shown = ", ".join(map(repr, names[new][:3].tolist())) + (
                ", ..." if new.sum() > 3 else ""
            )
            warnings.warn(
                f"groups: {new.sum():,} of {len(names):,} were not in the fit ({shown}); their "
                "samples get the common map",
                stacklevel=4,
            )
        return np.where(new, -1, places)[codes]

    def _learn(self, logits: Any, labels: Any, sample_weight: Any, groups: Any = None) -> list[str]:
        problems = super()._learn(logits, labels, sample_weight)
        self.groups_ = np.empty(0, "U1")
        self.slopes_, self.intercepts_, self.spread_ = np.empty(0), np.empty(0), 0.0
        self.group_column_ = ""
        if groups is None:
            return problems
        check_rows(logits, groups, "groups", "logits")
        given = self._taken(logits, labels, sample_weight)
        z = self._as_logits(self._checked(given))
        names, weights, known = check_groups(groups, len(z)), given.sample_weight, given.labels
        if weights is not None:
            kept = weights > 0
            z, known, names, weights = z[kept], known[kept], names[kept], weights[kept]
        self.groups_, codes = np.unique(names, return_inverse=True)
        target, _ = targets(z, known, bool(self.smooth_targets), weights)
        middle = float(np.average(z, weights=weights))
        size = float(np.average(np.abs(z - middle), weights=weights)) or 1.0
        rows = _Rows(
            odds=self.slope_ * z + self.intercept_,
            x=(z - middle) / size,
            target=np.asarray(target, np.float64),
            weights=np.ones(len(z)) if weights is None else weights,
            codes=codes,
            n_groups=len(self.groups_),
        )
        self.spread_, shifts = _shrunk(rows)
        self.slopes_ = self.slope_ + shifts[:, 1] / size
        self.intercepts_ = self.intercept_ + shifts[:, 0] - shifts[:, 1] * middle / size
        return problems

    def _check_learned(self) -> None:
        super()._check_learned()
        names = self.groups_
        if not isinstance(self.group_column_, str):
            raise ValueError(f"group_column_: expected a text, found {self.group_column_!r}")
        if not (isinstance(names, np.ndarray) and names.dtype.kind == "U" and names.ndim == 1):
            raise ValueError(f"groups_: expected an array of texts, found {names!r}")
        for name in ("slopes_", "intercepts_"):
            if len(names) or len(getattr(self, name)):
                check_array(getattr(self, name), name, names.shape)

    def _n_parameters(self) -> int:
        return 2 + 2 * len(self.groups_)


class _Rows(NamedTuple):
    """Samples: their log-odds by the common map, standardised logit, target, weight and group."""

    odds: np.ndarray
    x: np.ndarray
    target: np.ndarray
    weights: np.ndarray
    codes: np.ndarray
    n_groups: int

    def summed(self, values: np.ndarray) -> np.ndarray:
        """The sum over each group's samples, (G,)."""
        return np.bincount(self.codes, values, minlength=self.n_groups)

    def margins(self, shifts: np.ndarray) -> np.ndarray:
        """Log-odds with each group's shift and its change with x, (G, 2)."""
        return self.odds + shifts[self.codes, 0] + shifts[self.codes, 1] * self.x

    def losses(self, shifts: np.ndarray, spread: float) -> np.ndarray:
        """The NLL of each group and its penalty, (G,)."""
        margins = self.margins(shifts)
        nll = self.weights * (softplus(margins) - self.target * margins)
        return self.summed(nll) + (shifts**2).sum(axis=1) / (2 * spread**2)


def _shrunk(rows: _Rows) -> tuple[float, np.ndarray]:
    """The spread of largest marginal likelihood, and the shifts of the groups that it gives."""
    from scipy.optimize import minimize_scalar

    shifts = np.zeros((rows.n_groups, 2))

    def surprise(log_spread: float) -> float:
        nonlocal shifts  # the next fit starts at the last one
        shifts, curvature = _penalised(rows, math.exp(log_spread), shifts)
        volume = np.linalg.slogdet(curvature)[1] / 2 + 2 * log_spread
        return float((rows.losses(shifts, math.exp(log_spread)) + volume).sum())

    found = minimize_scalar(
        surprise, bounds=np.log(_SPREADS), method="bounded", options={"xatol": _CLOSE}
    )
    none = np.zeros_like(shifts)
    if not found.fun < rows.losses(none, 1.0).sum():
        return 0.0, none
    spread = math.exp(found.x)
    return spread, _penalised(rows, spread, shifts)[0]


def _penalised(rows: _Rows, spread: float, shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shifts of lowest loss (G, 2), by Newton's method, and its curvature (G, 2, 2)."""
    from scipy.special import expit

    curvature = np.empty((rows.n_groups, 2, 2))
    for _ in range(_MOST_STEPS):
        probs = expit(rows.margins(shifts))
        errors = rows.weights * (probs - rows.target)
        gradient = np.stack([rows.summed(errors), rows.summed(errors * rows.x)], axis=1)
        gradient += shifts / spread**2
        mass = rows.weights * probs * (1 - probs)
        curvature[:, 0, 0] = rows.summed(mass) + 1 / spread**2
        curvature[:, 0, 1] = curvature[:, 1, 0] = rows.summed(mass * rows.x)
        curvature[:, 1, 1] = rows.summed(mass * rows.x**2) + 1 / spread**2
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        gain = (gradient * step).sum(axis=1)
        if gain.max() > _SURE:  # shorter steps are right, because the loss is nearly quadratic
            loss = rows.losses(shifts, spread)
            while (
                worse := (rows.losses(shifts - step, spread) > loss - gain / 1e4) & (gain > _ENOUGH)
            ).any():
                step[worse] /= 2
                gain[worse] /= 2
        shifts = shifts - step
        if gain.max() < _ENOUGH:
            break
    return shifts, curvature
