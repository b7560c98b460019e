"""Conformal sets: by the definition, and by what they promise."""

import math

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import beta, betabinom, kstest

from calib_utils.decisions import ConformalSets, set_coverage
from calib_utils.decisions.conformal import _shares


def samples(n, n_classes=5, seed=0, power=1.0):
    """Probabilities, and labels drawn from them after they were sharpened."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(n_classes), n)
    labels = (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(max=n_classes - 1)
    said = true**power
    return said / said.sum(axis=1, keepdims=True), labels


def test_the_plain_threshold_by_counting():
    probs, labels = samples(99)
    sets = ConformalSets(0.8).fit(probs, labels)
    own = 1 - probs[np.arange(99), labels]
    # Of the 100 places that a new score may have among these, 80 are at or below it.
    assert (own <= sets.threshold_).sum() == 80
    held = sets.predict(probs)
    for row, kept in zip(probs, held, strict=True):
        assert set(np.flatnonzero(kept)) == {
            k for k, p in enumerate(row) if 1 - p <= sets.threshold_
        }


def test_the_adaptive_sets_by_the_definition():
    """A class is in, if what stands above it and its random share do not pass the threshold."""
    sets = ConformalSets(0.7, adaptive=True, seed=3).fit(*samples(200))
    weights = np.random.default_rng(3).uniform(500, 1500, 5) * [1, -1, 1, -1, 1]
    new, _ = samples(200, seed=1)
    for row, kept in zip(new, sets.predict(new), strict=True):
        turns = math.fsum(w * math.log(p) for w, p in zip(weights, row, strict=True))
        share = abs(2 * (turns - math.floor(turns)) - 1)
        for k, p in enumerate(row):
            before = row[row > p].sum()
            assert kept[k] == (before + (1 - share) * p <= sets.threshold_)


@pytest.mark.parametrize(("n_classes", "power"), [(2, 8.0), (3, 1.0), (100, 8.0)])
def test_adaptive_shares_are_even_and_differ_by_seed(n_classes, power):
    """Also for rows alike: those of one prediction, with nearly the same confidence."""
    probs, _ = samples(20_000, n_classes, power=power)
    one, other = _shares(probs, 0), _shares(probs, 1)
    first = probs[:, 0]
    low, high = np.quantile(first, [0.9, 0.91])
    alike = (first >= low) & (first <= high)
    for shares in (one, other, one[alike]):
        assert kstest(shares, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03
    assert abs(np.corrcoef(one, first)[0, 1]) < 0.03


def test_rounding_errors_change_no_adaptive_set():
    """Those of a temperature in its thirteenth digit, and nearly those of float32."""
    rng = np.random.default_rng(0)
    logits = 4 * rng.normal(size=(20_000, 100))
    labels = (logits + rng.gumbel(size=logits.shape))[:10_000].argmax(axis=1)

    def predicted(probs):
        sets = ConformalSets(adaptive=True).fit(probs[:10_000], labels)
        return sets.predict(probs[10_000:])

    exact = predicted(softmax(logits / 1.3, axis=1))
    assert (predicted(softmax(logits / (1.3 + 1e-13), axis=1)) == exact).all()
    rounded = predicted(softmax((logits / 1.3).astype(np.float32), axis=1))
    assert (rounded != exact).mean() < 1e-3


def test_probabilities_of_zero_have_a_share():
    """Whatever their sign, and if only float32 makes them 0."""
    rows = np.array([[1, 0, 0], [1, -0.0, 0], [1, 1e-60, 1e-200]])
    shares = _shares(rows, 0)
    assert (shares == shares[0]).all()
    assert 0 <= shares[0] <= 1


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_batch_is_no_matter(adaptive):
    """The sets, and so the coverage, are those of all rows at once."""
    probs, labels = samples(4_200)
    sets = ConformalSets(0.9, adaptive=adaptive).fit(probs[:1_000], labels[:1_000])
    new = probs[1_000:]
    whole = sets.predict(new)
    for size in (1, 32):
        parts = [sets.predict(new[first : first + size]) for first in range(0, len(new), size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert abs(set_coverage(whole, labels[1_000:]).share - 0.9) < 0.03
    # Batches of 32 vary as those of 32 independent samples do, and no more.
    held = whole[np.arange(len(new)), labels[1_000:]].reshape(-1, 32).mean(axis=1)
    assert held.std() < 1.2 * np.sqrt(0.9 * 0.1 / 32)


def test_what_changed_since_the_fit_is_refused():
    probs, labels = samples(50)
    for name, value in (("coverage", 0.5), ("adaptive", True), ("seed", 1)):
        sets = ConformalSets(0.8).fit(probs, labels)
        setattr(sets, name, value)
        with pytest.raises(RuntimeError, match=f"{name}={value}|{value}, .* changed since"):
            sets.predict(probs)
        sets.fit(probs, labels).predict(probs)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("power", [1.0, 4.0])
def test_coverage_is_what_was_promised_whatever_the_model(adaptive, power):
    """With 19 samples held out and 0.8 promised, exactly 16 / 20 of new ones are covered."""
    hits = trials = 0
    for seed in range(300):
        probs, labels = samples(19 + 20, seed=seed, power=power)
        sets = ConformalSets(0.8, adaptive=adaptive, seed=seed).fit(probs[:19], labels[:19])
        hits += sets.predict(probs[19:])[np.arange(20), labels[19:]].sum()
        trials += 20
    spread = np.sqrt(betabinom.var(20, 16, 4) / 300) / 20
    assert abs(hits / trials - 0.8) < 3 * spread


def test_adaptive_sets_of_a_true_model_cover_at_every_difficulty():
    """The plain ones cover too few of the easy third, or of the hard one."""
    probs, labels = samples(20_000, seed=1)
    held_out, new = slice(10_000), slice(10_000, None)
    sure = probs[new].max(axis=1)
    third = np.searchsorted(np.quantile(sure, [1 / 3, 2 / 3]), sure)
    spread = {}
    for adaptive in (False, True):
        sets = ConformalSets(0.9, adaptive=adaptive).fit(probs[held_out], labels[held_out])
        held = sets.predict(probs[new])[np.arange(10_000), labels[new]]
        spread[adaptive] = np.ptp(np.bincount(third, held) / np.bincount(third))
    assert spread[True] < 0.015 < 0.03 < spread[False]


def test_too_few_samples_promise_nothing_and_name_every_class():
    probs, labels = samples(8)
    sets = ConformalSets(0.9).fit(probs, labels)
    assert sets.threshold_ == np.inf
    assert sets.predict(probs).all()
    # Nine samples can promise 0.9: the largest of their scores.
    probs, labels = samples(9)
    assert ConformalSets(0.9).fit(probs, labels).threshold_ < 1


def test_a_product_that_rounds_up_takes_no_place_more():
    """(99 + 1) * 0.07 is 7, but in floating point a little more."""
    probs, labels = samples(99)
    own = np.sort(1 - probs[np.arange(99), labels])
    assert 100 * 0.07 > 7
    for percent in range(1, 100):
        assert ConformalSets(percent / 100).fit(probs, labels).threshold_ == own[percent - 1]


def test_tensors_stay_tensors_and_seeds_repeat():
    probs, labels = samples(50)
    sets = ConformalSets(0.8, adaptive=True, seed=1).fit(probs, labels)
    again = ConformalSets(0.8, adaptive=True, seed=1).fit(probs.tolist(), labels.tolist())
    held = sets.predict(torch.tensor(probs))
    assert isinstance(held, torch.Tensor)
    assert held.dtype == torch.bool
    assert (held.numpy() == again.predict(probs)).all()
    assert set_coverage(held, torch.tensor(labels)) == set_coverage(held.numpy(), labels)


def test_the_interval_of_the_coverage_is_clopper_and_pearsons():
    held = np.zeros((40, 3), bool)
    held[:31, 0] = True
    held[:, 1] = True
    found = set_coverage(held, np.zeros(40, int), level=0.9)
    assert found.share == 31 / 40
    assert found.size == 71 / 40
    assert found.low == pytest.approx(beta.ppf(0.05, 31, 10))
    assert found.high == pytest.approx(beta.ppf(0.95, 32, 9))


PROBS, LABELS = samples(20)


@pytest.mark.parametrize(
    ("named", "call"),
    [
        ("fit", lambda: ConformalSets().predict(PROBS)),
        ("probs", lambda: ConformalSets().fit(PROBS, LABELS).predict(samples(9, 4)[0])),
        ("sets", lambda: set_coverage(PROBS, LABELS)),
        ("sets", lambda: set_coverage(PROBS[:, 0] > 0.5, LABELS)),
        ("sets", lambda: set_coverage(PROBS[:, :1] > 0.5, np.zeros(len(PROBS), int))),
    ],
)
def test_bad_input_is_named(named, call):
    with pytest.raises(ValueError, match=f"^{named}: "):
        call()
