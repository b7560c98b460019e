"""What the tests of the two intervals share: samples of known truth, and noise bin by bin."""

import numpy as np

BINS = 15
# Probabilities, labels, and an error that both intervals hold.
FEW = [
    ([0.7], [1], 0.9),  # one sample tells next to nothing
    ([0.7], [0], 0.9),
    ([1.0] * 100, [1] * 100, 0.02),  # all right: two in a hundred may yet be wrong
    ([0.5] * 100, [0, 1] * 50, 0.08),
    ([0.2] * 50, [1] * 50, 0.8),
    ([0.0, 1.0], [1, 0], 1.0),
]


def binary(n, seed=0, gap=0.0):
    """Probabilities of the positive class, and labels that are positive less often by ``gap``."""
    rng = np.random.default_rng(seed)
    probs = rng.uniform(0.2, 1, n)
    return probs, (rng.random(n) < probs - gap).astype(int)


def noise_of_bins(probs, labels, n_bins):
    """Bin by bin: its share, its mean excess, and two variances of the excess of a sample."""
    index = np.array([sum(p > m / n_bins for m in range(1, n_bins)) for p in probs])
    for m in sorted(set(index)):
        p = probs[index == m]
        k, d = len(p), p - labels[index == m]
        ours = (k * d.var() + 2 * np.mean(p * (1 - p))) / (k - 1 + 2)
        at_least = (k * d.var() + 2) / (k + 4)
        share = k / len(probs)
        chance = d.mean() ** 2 * (1 - share)
        yield share, d.mean(), ours + chance, at_least + chance


def held(truth, strategy, error_of, interval, sets=100):
    """In how many of the sets the interval holds the true error.

    Args:
        truth: the chance of a positive, of each probability.
        strategy: of the bins.
        error_of: the true error, of the sums of the excess in each bin, and of its counts.
        interval: of probabilities and labels.
        sets: how many are drawn, of 600 samples each.
    """
    everyone = np.random.default_rng(7).uniform(0.1, 0.97, 20_000)
    chances = truth(everyone)
    inside = 0
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        rows = rng.integers(len(everyone), size=600)
        probs, labels = everyone[rows], (rng.random(600) < chances[rows]).astype(int)
        edges = np.quantile(probs, np.arange(BINS + 1) / BINS)
        inner = edges[1:-1] if strategy == "quantile" else np.arange(1, BINS) / BINS
        index = np.searchsorted(inner, everyone, side="left")
        sums = np.bincount(index, everyone - chances, BINS)
        low, high = interval(probs, labels, BINS, strategy=strategy, seed=seed)
        inside += low <= error_of(sums, np.bincount(index, minlength=BINS)) <= high
    return inside
