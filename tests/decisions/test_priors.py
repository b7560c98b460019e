"""Other priors: Bayes' rule where all is known, and the highest likelihood by another way."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import softmax
from scipy.stats import norm

from calib_utils.decisions import adjust_priors, estimate_priors

MEANS = np.array([-1.5, 0.0, 1.0])


def place(n, priors, seed=0):
    """Three classes on a line: where the samples lie, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n, p=priors)
    return rng.normal(MEANS[labels]), labels


def bayes(x, priors):
    joint = norm.pdf(x[:, None], MEANS) * priors
    return joint / joint.sum(axis=1, keepdims=True)


OLD, NEW = np.array([0.2, 0.5, 0.3]), np.array([0.7, 0.05, 0.25])


def log_likelihood(probs, old, new):
    return np.log((probs * new / old).sum(axis=1)).mean()


def test_the_closed_form_is_bayes_rule():
    x, _ = place(500, NEW)
    assert adjust_priors(bayes(x, OLD), OLD, NEW) == pytest.approx(bayes(x, NEW), abs=1e-12)
    assert adjust_priors(bayes(x, OLD), OLD, OLD) == pytest.approx(bayes(x, OLD), abs=1e-12)


def test_tensors_stay_tensors():
    x, _ = place(5, NEW)
    adjusted = adjust_priors(torch.tensor(bayes(x, OLD)), OLD.tolist(), torch.tensor(NEW))
    assert isinstance(adjusted, torch.Tensor)
    assert adjusted.numpy() == pytest.approx(bayes(x, NEW))


def test_a_class_that_is_not_there_gets_nothing():
    adjusted = adjust_priors([[0.2, 0.3, 0.5]], OLD, [0.5, 0.5, 0])
    assert adjusted[0, 2] == 0
    assert adjusted.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"^new: .* row 1 "):
        adjust_priors([[0.5, 0.5], [1.0, 0.0]], [0.5, 0.5], [0, 1])


def test_the_priors_are_found_without_labels():
    x, labels = place(20_000, NEW)
    found = estimate_priors(bayes(x, OLD), OLD)
    assert found == pytest.approx(np.bincount(labels) / len(labels), abs=0.02)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("pseudo_count", [0.0, 1.0, 30.0])
def test_the_likelihood_is_the_highest(pseudo_count):
    """Another optimizer, over numbers without bounds, climbs no higher."""
    x, _ = place(300, NEW, seed=1)
    probs = bayes(x, OLD)

    def value(priors):
        penalty = pseudo_count * np.log(np.maximum(priors, 1e-300)).sum() if pseudo_count else 0
        return log_likelihood(probs, OLD, priors) + penalty / len(probs)

    best = minimize(lambda z: -value(softmax(z)), np.zeros(3), tol=1e-12)
    found = estimate_priors(probs, OLD, pseudo_count=pseudo_count)
    assert value(found) > -best.fun - 3e-5
    if pseudo_count:
        assert found == pytest.approx(softmax(best.x), abs=0.01)


def test_counts_keep_a_class_that_the_likelihood_drops():
    # The last class is never the likeliest explanation: its probability is always below its prior.
    probs = np.tile([[0.6, 0.35, 0.05], [0.3, 0.65, 0.05]], (200, 1))
    alone = estimate_priors(probs, [0.4, 0.4, 0.2])
    held = estimate_priors(probs, [0.4, 0.4, 0.2], pseudo_count=1)
    assert alone[2] < 1e-3
    assert held[2] > 2e-3
    # An enormous count leaves equal priors.
    assert estimate_priors(probs, [0.4, 0.4, 0.2], pseudo_count=1e7) == pytest.approx(
        np.full(3, 1 / 3), abs=1e-3
    )


def test_frequencies_that_the_probabilities_do_not_tell_are_doubted():
    probs = np.tile([0.5 + 1.5e-5, 0.5 - 1.5e-5], (1_000, 1))
    with pytest.warns(UserWarning, match="still rising after 20,000 steps"):
        estimate_priors(probs, EVEN)
    assert estimate_priors(probs, EVEN, pseudo_count=1) == pytest.approx(EVEN, abs=0.01)


PROBS = np.array([[0.5, 0.5], [0.9, 0.1]])
EVEN = [0.5, 0.5]


@pytest.mark.parametrize(
    ("named", "call"),
    [
        ("old", lambda: adjust_priors(PROBS, [0, 1], EVEN)),
        ("old", lambda: adjust_priors(PROBS, [0.5, 0.4], EVEN)),
        ("old", lambda: estimate_priors(PROBS, [1 / 3] * 3)),
        ("old", lambda: estimate_priors(PROBS, [1.0, 0.0])),
        ("new", lambda: adjust_priors(PROBS, EVEN, [1.5, -0.5])),
        ("new", lambda: adjust_priors(PROBS, EVEN, [np.nan, 0.5])),
        ("new", lambda: adjust_priors(PROBS, EVEN, [10, 10])),
    ],
)
def test_bad_input_is_named(named, call):
    with pytest.raises(ValueError, match=f"^{named}: "):
        call()


def test_pseudo_counts_and_sums_that_were_rounded():
    probs, old = np.random.default_rng(0).dirichlet(np.ones(3), 40), np.full(3, 1 / 3)
    found = estimate_priors(probs, old, pseudo_count=5.0)
    # At the optimum the gradient is that of the multiplier, 40 + 3 * 5, in all classes.
    ratios = probs / old
    gradient = (ratios / (ratios @ found)[:, None]).sum(axis=0) + 5 / found
    assert gradient.max() - 55 <= 1.01e-5 * 55
    rounded = estimate_priors(probs, [0.33333] * 3)
    np.testing.assert_allclose(rounded, estimate_priors(probs, old), rtol=1e-12)


def test_estimate_priors_takes_means_of_float32():
    probs = np.random.default_rng(0).dirichlet(np.ones(10), 400).astype(np.float32)
    old = probs[:, ::-1].mean(axis=0) * np.float32(0.999998)
    assert abs(old.astype(float).sum() - 1) > 1.5e-6
    exact = old.astype(float) / old.astype(float).sum()
    np.testing.assert_allclose(estimate_priors(probs, old), estimate_priors(probs, exact))
    np.testing.assert_allclose(adjust_priors(probs, old, old), probs, atol=1e-7)
    with pytest.raises(ValueError, match=r"^old: expected numbers of 0 or more that sum to 1"):
        estimate_priors(probs, old * 1.001)
