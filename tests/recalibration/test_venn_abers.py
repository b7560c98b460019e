"""Venn-Abers, against isotonic regression with each sample added."""

import numpy as np
import pytest
import torch
from sklearn.isotonic import IsotonicRegression as Isotonic

from calib_utils.recalibration import VennAbers
from tests.recalibration.recalibration_cases import binary


def joined(z, labels, weights, x, label):
    """Isotonic regression of all samples and one more, at that one."""
    fit = Isotonic().fit(np.append(z, x), np.append(labels, label), np.append(weights, 1))
    return fit.predict([x])[0]


@pytest.mark.parametrize("seed", range(12))
def test_venn_abers_joins_each_sample_with_both_labels(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 50))
    z = rng.normal(size=n).round(seed % 3)  # with ties
    labels = np.append(rng.random(n - 2) < 1 / (1 + np.exp(-z[2:])), [0, 1]).astype(int)
    weights = rng.integers(1, 4, n) if seed % 2 else np.ones(n)
    fitted = VennAbers().fit(z, labels, weights)
    new = np.concatenate([z, rng.normal(size=5), [-99.0, 99.0]])
    expected = [[joined(z, labels, weights, x, label) for label in (0, 1)] for x in new]
    np.testing.assert_allclose(fitted.predict_interval(new), expected, atol=1e-12)
    p0, p1 = np.transpose(expected)
    np.testing.assert_allclose(fitted.predict_proba(new), p1 / (1 - p0 + p1), atol=1e-12)


def test_venn_abers_by_hand():
    """A new sample at .2: with labels 0, 0 and 1, 0 the four to its right or left are pooled."""
    fitted = VennAbers(inputs="probs").fit([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1])
    assert fitted.predict_interval([0.2])[0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert fitted.predict_interval([0.05])[0].tolist() == pytest.approx([0, 1 / 2])
    assert fitted.predict_interval([0.95])[0].tolist() == pytest.approx([1 / 2, 1])


def test_venn_abers_keeps_kinds_and_the_interval_holds_the_probability():
    z, labels = binary(500)
    fitted = VennAbers().fit(z, labels)
    ends = fitted.predict_interval(torch.tensor(z, dtype=torch.float32))
    assert isinstance(ends, torch.Tensor)
    assert ends.dtype == torch.float32
    p = fitted.predict_proba(z)
    low, high = fitted.predict_interval(z).T
    assert ((low <= p) & (p <= high)).all()
    assert ((p > 0) & (p < 1)).all()
