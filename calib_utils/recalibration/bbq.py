"""Bayesian binning into quantiles."""

from __future__ import annotations

import numpy as np

from calib_utils.recalibration._learned import check_array, check_steps
from calib_utils.recalibration.binary import BinaryRecalibrator

__all__ = ["BayesianBinningIntoQuantiles"]

_RANGE = 10  # C of the paper: the numbers of bins reach from N^(1/3) / C to C N^(1/3)
_MOST_SAMPLES = 1e8  # for these there are some ten million bins
_PRIOR_SAMPLES = 2.0  # N' of the paper: how many samples the prior of all bins is worth


class BayesianBinningIntoQuantiles(BinaryRecalibrator):
    r"""BBQ: the mean of many histogram binnings, each weighted by how probable it is.

    There is one model for each number of bins B from :math:`\lfloor N^{1/3} / 10 \rfloor` to
    :math:`\lceil 10 N^{1/3} \rceil`, at least 1 and at most :math:`\lceil N / 5 \rceil`, with
    equally many samples in each bin; equal scores share one. Edges lie half-way between samples.
    In bin b, with :math:`N_b` samples of which :math:`m_b` are positive, the prior of the
    probability is :math:`\text{Beta}(\alpha_b, \beta_b)`, with :math:`\alpha_b = 2 p_b / B`,
    :math:`\beta_b = 2 (1 - p_b) / B` and :math:`p_b` the middle of the bin. A model's weight is
    its marginal likelihood, from a uniform prior:

    .. math::

        \prod_b \frac{\Gamma(2/B)}{\Gamma(N_b + 2/B)}
        \frac{\Gamma(m_b + \alpha_b)}{\Gamma(\alpha_b)}
        \frac{\Gamma(N_b - m_b + \beta_b)}{\Gamma(\beta_b)},

    and it gives :math:`(m_b + \alpha_b) / (N_b + 2/B)`, never quite 0 or 1. The weighted mean
    of step functions is one step function, so prediction is one search. It may break the
    order of samples. With a class that has no sample it stays close to 0 or 1.

    Args:
        inputs: "logits", whose sigmoid is the score, or "probs".

    Attributes:
        n_bins_: int64, shape (J,), how many bins each model has.
        weights_: float64, shape (J,), of the models; they sum to one.
        thresholds_: float64, rising scores, at which the steps are.
        probabilities_: float64, one more; a score on a threshold belongs to the step below.

    Source: Naeini, Cooper, Hauskrecht 2015, "Obtaining well calibrated probabilities using
    Bayesian binning". Some libraries weigh the models by AIC or BIC, or use bins of equal
    width, which is not the paper's method.

    Example:
        >>> scores = [0.2] * 40 + [0.9] * 40
        >>> labels = [0] * 30 + [1] * 10 + [0] * 10 + [1] * 30
        >>> bbq = BayesianBinningIntoQuantiles(inputs="probs").fit(scores, labels)
        >>> bbq.predict_proba([0.2, 0.9]).round(2).tolist()
        [0.25, 0.75]
    """

    n_bins_: np.ndarray
    weights_: np.ndarray
    thresholds_: np.ndarray
    probabilities_: np.ndarray

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        from scipy.special import gammaln

        scores = self._as_scores(logits).astype(np.float64)
        order = np.argsort(scores, kind="stable")
        scores, labels = scores[order], labels[order]
        weights = np.ones(len(order)) if weights is None else weights[order]
        totals = np.concatenate([[0.0], np.cumsum(weights)])
        positives = np.concatenate([[0.0], np.cumsum(weights * labels)])
        n = totals[-1]
        if n > _MOST_SAMPLES:
            raise ValueError(
                f"sample_weight: expected a sum of at most {_MOST_SAMPLES:g}, as weights count "
                f"samples here, found {n:.3g}; divide them by their mean"
            )
        cuts = _cuts(scores)

        root = np.cbrt(n)
        lowest = max(1, int(root / _RANGE))
        highest = max(lowest, min(int(np.ceil(n / 5)), int(np.ceil(_RANGE * root))))
        sizes = np.arange(lowest, highest + 1)
        # All bins of all models, one after the other: where they end in the sorted samples.
        model = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(model)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
        # The last sample of a bin, and all that equal it.
        last = np.searchsorted(totals[1:], np.maximum(place * n // sizes[model], 1))
        ends = np.searchsorted(scores, scores[np.minimum(last, len(scores) - 1)], side="right")
        fresh = np.append(True, (model[1:] != model[:-1]) | (ends[1:] != ends[:-1]))
        model, ends = model[fresh], ends[fresh]
        first = np.append(True, model[1:] != model[:-1])
        starts = np.where(first, 0, np.roll(ends, 1))
        n_bins = np.bincount(model)

        total = totals[ends] - totals[starts]
        positive = positives[ends] - positives[starts]
        middle = np.clip((cuts[starts] + cuts[ends]) / 2, 1e-12, 1 - 1e-12)
        prior = _PRIOR_SAMPLES / n_bins[model]
        alpha, beta = prior * middle, prior * (1 - middle)
        evidence = gammaln(prior) - gammaln(total + prior)
        evidence += gammaln(positive + alpha) - gammaln(alpha)
        evidence += gammaln(total - positive + beta) - gammaln(beta)
        log_weights = np.bincount(model, evidence)
        of_models = np.exp(log_weights - log_weights.max())
        of_models /= of_models.sum()

        # The weighted mean changes by this much where a bin of one model starts and ends.
        value = of_models[model] * (positive + alpha) / (total + prior)
        change = np.bincount(starts, value, minlength=len(cuts))
        change -= np.bincount(ends, value, minlength=len(cuts))
        steps = np.unique(starts)
        self.n_bins_, self.weights_ = n_bins, of_models
        self.thresholds_ = cuts[steps[1:]]
        self.probabilities_ = np.clip(np.cumsum(change[steps]), 0, 1)
        return []

    def _zeros_matter(self) -> bool:
        return False

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        scores = self._as_scores(logits)
        return self.probabilities_[np.searchsorted(self.thresholds_, scores, side="left")]

    def _check_learned(self) -> None:
        check_array(self.n_bins_, "n_bins_", (None,), 1)
        check_array(self.weights_, "weights_", self.n_bins_.shape, 0, 1)
        check_steps(self.thresholds_, "thresholds_", self.probabilities_, 1)

    def _n_parameters(self) -> int:
        return len(self.probabilities_)


def _cuts(scores: np.ndarray) -> np.ndarray:
    """Edges before, between and after the sorted scores: (N + 1,), from 0 to 1."""
    between = (scores[:-1] + scores[1:]) / 2
    between = np.where(between < scores[1:], between, scores[:-1])  # where rounding went up
    return np.concatenate([[0.0], between, [1.0]])
