"""Data and references that the tests of recalibration share."""

import math

import numpy as np
from scipy.special import log_softmax, softmax

from calib_utils import recalibration as r

MULTICLASS = {
    "temperature": lambda: r.TemperatureScaling(),
    "ensemble": lambda: r.EnsembleTemperatureScaling(),
    "vector": lambda: r.VectorScaling(),
    "matrix": lambda: r.MatrixScaling(),
    "matrix, regularised": lambda: r.MatrixScaling(regularization=1.0),
    "dirichlet": lambda: r.DirichletCalibration(),
    "structured matrix": lambda: r.StructuredMatrixScaling(),
    "beta on confidence": lambda: r.BetaOnConfidence(),
}
BINARY = {
    "equal width": lambda **kw: r.HistogramBinning(n_bins=10, **kw),
    "equal mass": lambda **kw: r.HistogramBinning(n_bins=10, strategy="quantile", **kw),
    "isotonic": lambda **kw: r.IsotonicRegression(**kw),
    "venn-abers": lambda **kw: r.VennAbers(**kw),
    "platt": lambda **kw: r.PlattScaling(**kw),
    "platt, smooth": lambda **kw: r.PlattScaling(smooth_targets=True, **kw),
    "beta": lambda **kw: r.BetaCalibration(**kw),
    "bbq": lambda **kw: r.BayesianBinningIntoQuantiles(**kw),
}
ONE_VERSUS_REST = {
    f"one-versus-rest {name}": (lambda make=BINARY[name]: r.OneVersusRest(make()))
    for name in ("equal width", "isotonic", "platt", "beta")
}
ALL_MULTICLASS = MULTICLASS | ONE_VERSUS_REST
ALL_BINARY = BINARY | {
    "temperature": lambda: r.TemperatureScaling(),
    "platt per group": lambda: r.PlattPerGroup(),
}


def multiclass(n=600, k=5, temperature=2.0, seed=0, dtype=np.float32):
    """Logits that are right after division by ``temperature``, and their labels."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.standard_normal((n, k))
    return (temperature * z).astype(dtype), draw(z, rng)


def draw(z, rng):
    """Labels from softmax(z)."""
    probs = np.exp(log_softmax(z, axis=1))
    labels = (probs.cumsum(axis=1) < rng.random((len(z), 1))).sum(axis=1)
    return np.minimum(labels, z.shape[1] - 1)


def binary(n=1000, slope=0.5, intercept=0.3, seed=0):
    """Log-odds z and labels of probability sigmoid(slope z + intercept)."""
    rng = np.random.default_rng(seed)
    z = 3 * rng.standard_normal(n)
    return z, (rng.random(n) < 1 / (1 + np.exp(-slope * z - intercept))).astype(int)


def masked(logits, labels, mask, seed=3):
    """Half of the rows lose up to a third of the classes, never that of the label."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(logits.shape) < 0.3
    hidden[np.arange(len(labels)), labels] = False
    hidden[rng.random(len(labels)) < 0.5] = False
    return np.where(hidden, mask, logits.astype(np.float64)), hidden


def nll(scores, labels):
    """Mean negative log-likelihood of softmax(scores), in float64."""
    log_probs = log_softmax(np.asarray(scores, np.float64), axis=1)
    return -log_probs[np.arange(len(labels)), labels].mean()


def bbq_by_formula(scores, labels, new):
    """The paper's model average, one bin of one model after the other."""
    order = np.argsort(scores)
    scores, labels, n = scores[order], labels[order], len(scores)
    logs, values = [], []
    for bins in range(
        max(1, int(np.cbrt(n) / 10)), min(math.ceil(n / 5), math.ceil(10 * np.cbrt(n))) + 1
    ):
        ends = [m * n // bins for m in range(1, bins + 1)]
        ends = sorted({int(np.sum(scores <= scores[end - 1])) for end in ends})
        edges = [0.0, *[(scores[e - 1] + scores[e]) / 2 for e in ends[:-1]], 1.0]
        log, value, count = 0.0, np.empty(len(new)), len(ends)
        for b, end in enumerate(ends):
            start = ends[b - 1] if b else 0
            total, positive = end - start, int(labels[start:end].sum())
            middle = (edges[b] + edges[b + 1]) / 2
            alpha, beta = 2 / count * middle, 2 / count * (1 - middle)
            log += math.lgamma(2 / count) - math.lgamma(total + 2 / count)
            log += math.lgamma(positive + alpha) - math.lgamma(alpha)
            log += math.lgamma(total - positive + beta) - math.lgamma(beta)
            inside = (new > edges[b]) & (new <= edges[b + 1])
            value[inside] = (positive + alpha) / (total + 2 / count)
        logs.append(log)
        values.append(value)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    return weights @ np.array(values), weights


def sure(seed=0):
    """Logits of a network that is so sure of itself that its softmax falls far below 6e-8."""
    logits, labels = multiclass(4_000, 10, temperature=8.0, seed=seed, dtype=np.float64)
    assert (softmax(logits, axis=1) < 6e-8).mean() > 0.3
    return logits, labels


def fitted(scores, *labels, **arguments):
    return r.TemperatureScaling(**arguments).fit(scores, *labels).temperature_
