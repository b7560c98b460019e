"""Platt scaling for each group, shrunk: planted groups, tiny ones, equal ones, files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from calib_utils.recalibration import PlattPerGroup, PlattScaling, load

N = 20_000


def planted(seed: int = 0, gap: float = 0.05, n: int = N) -> tuple[np.ndarray, ...]:
    """Scores, labels and groups: of a more happens than is predicted, of b less."""
    rng = np.random.default_rng(seed)
    score, group = 0.1 + 0.8 * rng.beta(2, 3, n), rng.choice(["a", "b"], n)
    chances = score + np.where(group == "a", gap, -gap)
    return score, (rng.random(n) < chances).astype(int), group


def gaps(probs: np.ndarray, labels: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.array([(labels - probs)[groups == name].mean() for name in np.unique(groups)])


def nll(odds: np.ndarray, labels: np.ndarray) -> float:
    return float(-log_expit(np.where(labels == 1, odds, -odds)).mean())


def test_groups_that_a_common_map_cannot_repair() -> None:
    score, label, group = planted()
    new_score, new_label, new_group = planted(1)
    common = PlattScaling(inputs="probs").fit(score, label)
    own = PlattPerGroup(inputs="probs").fit(score, label, groups=group)
    left = gaps(common.predict_proba(new_score), new_label, new_group)
    np.testing.assert_allclose(left, [0.05, -0.05], atol=0.012)
    probs = own.predict_proba(new_score, groups=new_group)
    np.testing.assert_allclose(gaps(probs, new_label, new_group), 0, atol=0.012)
    # Of so many samples the maps are those of each group alone.
    for name, slope, intercept in zip(own.groups_, own.slopes_, own.intercepts_, strict=True):
        alone = PlattScaling(inputs="probs").fit(score[group == name], label[group == name])
        assert (slope, intercept) == pytest.approx((alone.slope_, alone.intercept_), abs=0.05)
    assert own.n_parameters_ == 6


def test_the_common_map_is_that_of_all_samples() -> None:
    score, label, group = planted()
    own = PlattPerGroup(inputs="probs").fit(score, label, groups=group)
    common = PlattScaling(inputs="probs").fit(score, label)
    assert (own.slope_, own.intercept_) == (common.slope_, common.intercept_)
    with pytest.warns(UserWarning, match=r"groups: 1 of 2 were not in the fit \('c'\)") as seen:
        found = own.predict_proba(score[:2], groups=["c", "a"])
    assert seen[0].filename == __file__
    assert found[0] == pytest.approx(common.predict_proba(score[:1])[0], rel=1e-12)
    assert found[1] == own.predict_proba(score[1:2], groups=["a"])[0]


def test_a_tiny_group_is_safe() -> None:
    """Five samples beside groups that differ: on average, their map is no worse than the common
    one for what it will meet, while a map from these five alone is ruinous.
    """
    changes, alone = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        group = np.repeat([f"g{k}" for k in range(9)], [800] * 8 + [5])
        shift = np.repeat(rng.normal(0, 0.3, 9), [800] * 8 + [5])
        z = rng.normal(0, 1.5, len(group))
        label = (rng.random(len(z)) < expit(z + shift)).astype(int)
        own = PlattPerGroup().fit(z, label, groups=group)
        new = rng.normal(0, 1.5, 4_000)
        chances = expit(new + shift[-1])
        losses = [
            float(np.mean(-chances * log_expit(odds) - (1 - chances) * log_expit(-odds)))
            for odds in (
                own.slope_ * new + own.intercept_,
                own.slopes_[-1] * new + own.intercepts_[-1],
            )
        ]
        changes.append(losses[1] - losses[0])
        tail = label[-5:]
        if 0 < tail.sum() < 5:
            few = PlattScaling(smooth_targets=True).fit(z[-5:], tail)
            odds = few.slope_ * new + few.intercept_
            loss = float(np.mean(-chances * log_expit(odds) - (1 - chances) * log_expit(-odds)))
            alone.append(loss - losses[0])
    assert np.mean(changes) <= 0
    assert np.max(changes) < 0.03
    assert np.mean(alone) > 0.05


def test_equal_groups_have_about_the_common_map() -> None:
    spreads = []
    for seed in range(10):
        score, label, group = planted(seed, gap=0.0, n=4_000)
        own = PlattPerGroup(inputs="probs").fit(score, label, groups=group)
        spreads.append(own.spread_)
        common = PlattScaling(inputs="probs").fit(score, label)
        change = own.predict_proba(score, groups=group) - common.predict_proba(score)
        assert np.abs(change).mean() < 0.02
    assert np.median(spreads) == 0


def test_the_shifts_by_another_solver() -> None:
    """With the spread that was found, each group minimises its NLL and the penalty."""
    score, label, group = planted(n=600)
    group = np.where(np.arange(600) < 30, "few", group)
    z = logit(score)
    own = PlattPerGroup().fit(z, label, groups=group)
    middle = z.mean()
    x = (z - middle) / np.abs(z - middle).mean()
    assert own.spread_ > 0
    for k, name in enumerate(own.groups_):
        rows = group == name
        odds, inside, known = own.slope_ * z[rows] + own.intercept_, x[rows], label[rows]

        def loss(shift: np.ndarray, odds=odds, inside=inside, known=known) -> float:
            total = len(known) * nll(odds + shift[0] + shift[1] * inside, known)
            return total + float(shift @ shift) / (2 * own.spread_**2)

        best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-7}).x
        found = own.slopes_[k] * z[rows] + own.intercepts_[k]
        np.testing.assert_allclose(found, odds + best[0] + best[1] * inside, atol=1e-4)


def test_the_spread_is_near_the_one_that_was_drawn() -> None:
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 40, 12_000)
        shifts = rng.normal(0, 0.5, (40, 2))[group]
        z = rng.normal(0, 1, len(group))
        x = z / np.abs(z).mean()
        label = (rng.random(len(z)) < expit(z + shifts[:, 0] + shifts[:, 1] * x)).astype(int)
        found.append(PlattPerGroup().fit(z, label, groups=group).spread_)
    assert np.mean(found) == pytest.approx(0.5, rel=0.12)


def test_a_group_of_one_class_stays_finite() -> None:
    score, label, group = planted(n=2_000)
    group = np.where(label == 1, np.where(np.arange(2_000) % 4 == 0, "sure", group), group)
    own = PlattPerGroup(inputs="probs").fit(score, label, groups=group)
    assert np.isfinite(own.slopes_).all()
    assert own.predict_proba(score[:1], groups=["sure"])[0] > 0.8


def test_weights_count_samples() -> None:
    score, label, group = planted(n=900)
    times = np.random.default_rng(0).integers(0, 4, 900)
    group = np.where(np.arange(900) < 3, "none", group)
    times[:3] = 0
    often = np.repeat(np.arange(900), times)
    weighted = PlattPerGroup(inputs="probs").fit(score, label, times, groups=group)
    repeated = PlattPerGroup(inputs="probs").fit(score[often], label[often], groups=group[often])
    assert weighted.groups_.tolist() == repeated.groups_.tolist() == ["a", "b"]
    np.testing.assert_allclose(weighted.slopes_, repeated.slopes_, atol=1e-5)
    np.testing.assert_allclose(weighted.intercepts_, repeated.intercepts_, atol=1e-5)


def test_kinds_of_groups_and_scores() -> None:
    score, label, group = planted(n=2_000)
    own = PlattPerGroup(inputs="probs").fit(score, label, groups=group)
    expected = own.predict_proba(score, groups=group)
    codes = (group == "b").astype(int)
    for fitted, predicted in [
        (codes, codes),
        (codes.tolist(), codes.astype(np.int8)),
        (torch.from_numpy(codes), codes.astype(object)),
        (group.astype(object), group.tolist()),
    ]:
        again = PlattPerGroup(inputs="probs").fit(score, label, groups=fitted)
        np.testing.assert_array_equal(again.predict_proba(score, groups=predicted), expected)
    tensor = own.predict_proba(torch.from_numpy(score).half(), groups=group)
    assert tensor.dtype == torch.float16
    np.testing.assert_allclose(tensor.numpy(), expected, atol=2e-3)
    logs = own.predict_log_proba(score, groups=group)
    np.testing.assert_allclose(logs, np.log(expected), rtol=1e-12)
    assert own.predict(score, groups=group).tolist() == (expected > 0.5).astype(int).tolist()


def test_a_file_keeps_every_map(tmp_path: Path) -> None:
    score, label, group = planted(n=2_000)
    own = PlattPerGroup(inputs="probs").fit(score, label, groups=group)
    own.save(tmp_path / "own.npz")
    again = load(tmp_path / "own.npz")
    assert isinstance(again, PlattPerGroup)
    assert again.spread_ == own.spread_
    np.testing.assert_array_equal(
        again.predict_proba(score, groups=group), own.predict_proba(score, groups=group)
    )


def test_several_classes_are_refused_with_what_to_do() -> None:
    with pytest.raises(ValueError, match="or, for more, the confidence in the predicted class"):
        PlattPerGroup().fit(np.eye(3), [0, 1, 2], groups=["a", "a", "b"])


BAD = [
    (["a"] * 3, "expected one for each of 4 samples, found shape"),
    ([1.0, 2.0, 1.0, 2.0], "expected texts, integers or booleans, found 1.0"),
    (np.array(["a", None, "b", "a"], object), "found None; name a missing group"),
    (np.array(["a", float("nan"), "b", "a"], object), "found nan; name a missing group"),
]


@pytest.mark.parametrize(("groups", "message"), BAD)
def test_groups_that_are_none(groups: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^groups: .*{message}"):
        PlattPerGroup().fit([1.0, -1.0, 2.0, 0.5], [1, 0, 0, 1], groups=groups)


def test_groups_in_fit_and_in_predictions() -> None:
    score, label, group = planted(n=200)
    own = PlattPerGroup(inputs="probs").fit(score, label, groups=group)
    for call in (own.predict_proba, own.predict_log_proba, own.predict):
        with pytest.raises(ValueError, match=r"^groups: expected one for each of 200 samples, as"):
            call(score)
    without = PlattPerGroup(inputs="probs").fit(score, label)
    with pytest.raises(ValueError, match=r"^groups: expected none, as in fit"):
        without.predict_proba(score, groups=group)
    kept = dict(vars(own))
    with pytest.raises(ValueError, match=r"^groups: "):
        own.fit(score, label, groups=group[:-1])
    assert vars(own) == kept


def test_masked_groups_are_refused_and_texts_may_be_of_any_kind():
    rng = np.random.default_rng(0)
    z, labels = rng.normal(size=60), rng.integers(0, 2, 60)
    names = np.array(["a", "b"])[rng.integers(0, 2, 60)]
    fitted = PlattPerGroup().fit(z, labels, groups=names)
    hidden = np.ma.array(names, mask=np.arange(60) < 3)
    for use in (partial(fitted.fit, z, labels), partial(fitted.predict_proba, z)):
        with pytest.raises(ValueError, match="groups: found masked entries"):
            use(groups=hidden)
    expected = fitted.predict_proba(z, groups=names)
    np.testing.assert_array_equal(fitted.predict_proba(z, groups=names.astype(object)), expected)
    if hasattr(np.dtypes, "StringDType"):
        texts = names.astype(np.dtypes.StringDType())
        np.testing.assert_array_equal(fitted.predict_proba(z, groups=texts), expected)
