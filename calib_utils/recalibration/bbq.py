"""Bayesian binning into quantiles."""

from __future__ import annotations

import numpy as np

from calib_utils.recalibration.base import check_array
from calib_utils.recalibration.binary import BinaryRecalibrator

_RANGE = 10  # C of the paper: the numbers of bins reach from N^(1/3) / C to C N^(1/3)
_MOST_SAMPLES = 1e8  # for which there are about ten million bins
_LEAST_BINS = 50_000  # in one step
_PRIOR_SAMPLES = 2.0  # N' of the paper: the number of samples that the prior counts as


class BayesianBinningIntoQuantiles(BinaryRecalibrator):
    r"""BBQ: the mean of many histogram binnings, each weighted by how probable it is.

    There is one model for each number of bins B from :math:`\lfloor N^{1/3} / 10 \rfloor` to
    :math:`\lceil 10 N^{1/3} \rceil`, at least 1 and at most :math:`\lceil N / 5 \rceil`, with
    equally many samples in each bin; equal scores share one. Edges lie halfway between samples.
    In bin b, with :math:`N_b` samples of which :math:`m_b` are positive, the prior of the
    probability is :math:`\text{Beta}(\alpha_b, \beta_b)`, with :math:`\alpha_b = 2 p_b / B`,
    :math:`\beta_b = 2 (1 - p_b) / B` and :math:`p_b` the middle of the bin. A model's weight is
    its marginal likelihood, from a uniform prior:

    .. math::

        \prod_b \frac{\Gamma(2/B)}{\Gamma(N_b + 2/B)}
        \frac{\Gamma(m_b + \alpha_b)}{\Gamma(\alpha_b)}
        \frac{\Gamma(N_b - m_b + \beta_b)}{\Gamma(\beta_b)},

    and it gives :math:`(m_b + \alpha_b) / (N_b + 2/B)`, never quite 0 or 1. The weighted mean
    of step functions is one step function, so prediction is one search. It may change the
    order of samples. If a class has no sample it stays close to 0 or 1.

    Args:
        inputs: "logits", whose sigmoid is the score, or "probs".

    Attributes:
        n_bins_: int64, shape (J,), the number of bins of each model.
        weights_: float64, shape (J,), of the models; they sum to one.
        thresholds_: float64, the rising scores between the steps.
        probabilities_: float64, one more; a score on a threshold belongs to the step below.

    Source: Naeini, Cooper, Hauskrecht 2015, "Obtaining well calibrated probabilities using
    Bayesian binning". Some libraries weight the models by AIC or BIC, or use bins of equal
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

        scores = self._as_scores(logits).astype(np.float64, copy=False)
        order = np.argsort(scores, kind="stable")
        scores, labels = scores[order], labels[order]
        if weights is None:
            totals = np.arange(len(order) + 1)
            positives = np.append(0, np.cumsum(labels))
        else:
            weights = weights[order]
            totals = np.append(0.0, np.cumsum(weights))
            positives = np.append(0.0, np.cumsum(weights * labels))
        del order, labels
        n = float(totals[-1])
        if n > _MOST_SAMPLES:
            raise ValueError(
                f"sample_weight: expected a sum of at most {_MOST_SAMPLES:g}, because weights "
                f"count samples here, found {n:.3g}; divide them by their mean"
            )
        root = np.cbrt(n)
        lowest = max(1, int(root / _RANGE))
        highest = max(lowest, min(int(np.ceil(n / 5)), int(np.ceil(_RANGE * root))))
        sizes = np.arange(lowest, highest + 1)
        # Some models at a time. The weighted mean changes where a bin of one starts and ends.
        change, step = np.zeros(len(totals)), np.zeros(len(totals), bool)
        n_bins, log_weights, largest = [], [], -np.inf
        group = np.cumsum(sizes) // max(_LEAST_BINS, len(scores) // 20)
        for some in np.split(sizes, np.flatnonzero(np.diff(group)) + 1):
            model, starts, ends = _bins(some, scores, totals)
            n_bins.append(np.bincount(model))
            total = totals[ends] - totals[starts]
            positive = positives[ends] - positives[starts]
            middle = np.clip((_cuts(scores, starts) + _cuts(scores, ends)) / 2, 1e-12, 1 - 1e-12)
            prior = _PRIOR_SAMPLES / n_bins[-1][model]
            alpha, beta = prior * middle, prior * (1 - middle)
            evidence = gammaln(prior) - gammaln(total + prior)
            evidence += gammaln(positive + alpha) - gammaln(alpha)
            evidence += gammaln(total - positive + beta) - gammaln(beta)
            log_weights.append(np.bincount(model, evidence))
            before, largest = largest, max(largest, log_weights[-1].max())
            change *= np.exp(before - largest)
            value = np.exp(log_weights[-1] - largest)[model] * (positive + alpha) / (total + prior)
            np.add.at(change, starts, value)
            np.subtract.at(change, ends, value)
            step[starts] = True
        of_models = np.exp(np.concatenate(log_weights) - largest)
        steps = np.flatnonzero(step)
        self.n_bins_, self.weights_ = np.concatenate(n_bins), of_models / of_models.sum()
        self.thresholds_ = _cuts(scores, steps[1:])
        self.probabilities_ = np.clip(np.cumsum(change[steps]) / of_models.sum(), 0, 1)
        return []

    def _zeros_matter(self) -> bool:
        return False

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        scores = self._as_scores(logits)
        return self.probabilities_[np.searchsorted(self.thresholds_, scores, side="left")]

    def _check_learned(self) -> None:
        check_array(self.n_bins_, "n_bins_", (None,))
        check_array(self.weights_, "weights_", self.n_bins_.shape)
        check_array(self.probabilities_, "probabilities_", (None,))
        check_array(self.thresholds_, "thresholds_", (len(self.probabilities_) - 1,))

    def _n_parameters(self) -> int:
        return len(self.probabilities_)


def _bins(
    sizes: np.ndarray, scores: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All bins of some models: the model of each, and where in the samples it starts and ends.

    Args:
        sizes: the number of bins of each model.
        scores: (N,), sorted.
        totals: (N + 1,), the weight of the samples before each position.
    """
    n = totals[-1]
    model = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(model)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    # The last sample of a bin, and all samples equal to it.
    last = np.searchsorted(totals[1:], np.maximum(place * n // sizes[model], 1))
    ends = np.searchsorted(scores, scores[np.minimum(last, len(scores) - 1)], side="right")
    fresh = np.append(True, (model[1:] != model[:-1]) | (ends[1:] != ends[:-1]))
    model, ends = model[fresh], ends[fresh]
    first = np.append(True, model[1:] != model[:-1])
    return model, np.where(first, 0, np.roll(ends, 1)), ends


def _cuts(scores: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Edges before, between and after the sorted scores, at some of the positions 0 to N."""
    below = scores[np.maximum(places - 1, 0)]
    above = scores[np.minimum(places, len(scores) - 1)]
    between = (below + above) / 2
    between = np.where(between < above, between, below)  # where rounding went up
    return np.where(places == 0, 0.0, np.where(places == len(scores), 1.0, between))
