"""Predictions that the tests of metrics share."""

import numpy as np
from hypothesis import strategies as st

DTYPES = ["float64", "float32", "float16", "bfloat16"]
BIN_COUNTS = [1, 2, 3, 5, 6, 8, 10, 14, 15, 24, 49, 100]


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def draw(n, n_classes, seed=0, scale=2.0, dtype=np.float64):
    """Predictions of which half of the labels come from the probabilities themselves."""
    rng = np.random.default_rng(seed)
    logits = scale * rng.standard_normal((n, n_classes))
    probs = softmax(logits)
    labels = (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    labels = np.where(rng.random(n) < 0.5, labels, rng.integers(n_classes, size=n))
    return probs.astype(dtype), labels, logits


@st.composite
def predictions(draw_, ties=True):
    """Probabilities in eighths and the like, so that ties and edges are common."""
    n, n_classes = draw_(st.integers(1, 25)), draw_(st.integers(2, 5))
    row = st.lists(st.integers(0, 8), min_size=n_classes, max_size=n_classes).filter(any)
    weights = np.array(draw_(st.lists(row, min_size=n, max_size=n)), float)
    if not ties:
        top = draw_(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
        weights[np.arange(n), top] += 9
    probs = weights / weights.sum(axis=1, keepdims=True)
    labels = draw_(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    return probs, np.array(labels)


n_bins_drawn = st.sampled_from(BIN_COUNTS)
