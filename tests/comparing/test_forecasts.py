"""Forecasts of the same networks compared, against formulas written out."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit

from calib_utils.comparing import compare_forecasts, holm, judge
from calib_utils.metrics.bins import mean_excess, sums, uniform_index
from calib_utils.records import Forecast

N = 500
IMAGES = np.random.default_rng(1).exponential(size=N)  # what is hard is so for all


def forecast(networks, members, scaled, corruption="", severity=0, *, higher=0.0):
    """The forecast of these networks; their losses are ``higher`` than those of others."""
    seed = [ord(networks[0]), *members, ord((corruption or "-")[0]), severity]
    rng = np.random.default_rng(seed)
    losses = (IMAGES + rng.normal(0, 0.2, N) + 0.1 * rng.normal() + higher).clip(0).round(2)
    correct = losses < 0.8
    confidences = rng.random(N).astype(np.float16)
    bins = sums(uniform_index(confidences, 15, "float16"), confidences, correct, 15)
    return Forecast(
        networks=networks,
        members=members,
        scaled=scaled,
        corruption=corruption,
        severity=severity,
        temperature=1.0,
        error=float(1 - correct.mean()),
        nll=float(losses.mean()),
        nll_error=0.0,
        ece=mean_excess(bins[2] - bins[1], N),
        baseline=0.0,
        confidence=float(confidences.mean()),
        bins=bins,
        losses=losses,
        confidences=confidences,
        correct=correct,
    )


@pytest.fixture(scope="module")
def made():
    found = []
    for corruption, severity in [("", 0), ("blur", 5), ("noise", 5)]:
        place = corruption, severity
        found += [forecast("ordinary", (s,), "after", *place) for s in range(5)]
        found += [forecast("smoothed", (s,), "after", *place, higher=0.2) for s in range(3)]
        for size in (4, 5):
            for members in combinations(range(5), size):
                found += [forecast("ordinary", members, x, *place) for x in ("before", "after")]
    return found


def of(made, networks, size, severity=0, scaled="after"):
    return [
        x
        for x in made
        if (x.networks, len(x.members), x.severity, x.scaled) == (networks, size, severity, scaled)
    ]


def test_of_single_networks_the_jackknife_is_the_t_test_of_pairs(made):
    """Of the seeds that both have: there are five ordinary networks, and three smoothed ones."""
    first, second = of(made, "ordinary", 1)[:3], of(made, "smoothed", 1)
    assert [x.members for x in first] == [x.members for x in second]
    found = compare_forecasts(made, "single-at-T", "smoothed-at-T", "nll")
    apart = np.array([y.nll - x.nll for x, y in zip(first, second, strict=True)])
    assert found.mean == pytest.approx(apart.mean())
    assert found.of_seeds == pytest.approx(apart.std(ddof=1) / 3**0.5)
    losses = [np.mean([x.losses for x in group], axis=0) for group in (first, second)]
    of_images = np.std(losses[1] - losses[0], ddof=1) / N**0.5
    assert found.of_images == pytest.approx(of_images, rel=0.1)
    assert found.standard_error == pytest.approx(np.hypot(found.of_seeds, found.of_images))
    assert found.freedom == pytest.approx(2)


def test_one_seed_in_common(made):
    alone = [x for x in made if x.networks != "smoothed" or x.members == (0,)]
    with pytest.raises(ValueError, match=r"second: expected at least two seeds .* found \[0\]"):
        compare_forecasts(alone, "single-at-T", "smoothed-at-T", "nll")


@pytest.mark.parametrize("metric", ["nll", "error", "ece"])
def test_of_an_average_each_member_is_left_out_of_both(made, metric):
    found = compare_forecasts(made, "single-at-T", "average-of-scaled", metric, repeats=100)
    value = {
        (x.members, x.scaled): getattr(x, metric)
        for x in made
        if not x.severity and x.networks == "ordinary"
    }
    changed = []
    for left in range(5):
        others = [s for s in range(5) if s != left]
        alone = np.mean([value[(s,), "after"] for s in others])
        changed.append(value[tuple(others), "before"] - alone)
    spread = sum((x - np.mean(changed)) ** 2 for x in changed)
    assert found.of_seeds == pytest.approx((4 / 5 * spread) ** 0.5)
    alone = np.mean([value[(s,), "after"] for s in range(5)])
    assert found.mean == pytest.approx(value[tuple(range(5)), "before"] - alone)


def test_at_a_severity_it_is_the_mean_over_what_was_done(made):
    name = "average-at-T, severity 5"
    found = compare_forecasts(made, "single-at-T", name, "nll", repeats=100)
    averages = of(made, "ordinary", 5, severity=5)
    assert len(averages) == 2
    alone = np.mean([x.nll for x in of(made, "ordinary", 1)])
    assert found.mean == pytest.approx(np.mean([x.nll for x in averages]) - alone)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("single", "average-at-T"), "first: expected one of single-at-T, .* found 'single'"),
        (("single-at-T", "average-at-T, severity 7"), "second: expected one of"),
        (("single-at-T", "mirrored-at-T"), "second: there is no forecast 'mirrored-at-T'"),
        (("single-at-T", "smoothed-at-T, severity 4"), "second: there is no forecast"),
    ],
)
def test_forecasts_that_are_not_there(made, names, message):
    with pytest.raises(ValueError, match=message):
        compare_forecasts(made, *names)


def test_what_is_needed_and_was_not_kept(made):
    with pytest.raises(ValueError, match="metric: expected one of error, nll, ece, found 'T'"):
        compare_forecasts(made, "single-at-T", "average-at-T", "T")
    fewer = [x for x in made if x.members != (0, 1, 2, 3)]
    with pytest.raises(ValueError, match=r"needs the seeds \(0, 1, 2, 3\), scaled after, of clean"):
        compare_forecasts(fewer, "single-at-T", "average-at-T")
    others = [x for x in made if x.severity] + [
        Forecast(**vars(x) | {"losses": None}) for x in made if not x.severity
    ]
    with pytest.raises(ValueError, match="'single-at-T' has no losses of each image"):
        compare_forecasts(others, "single-at-T", "average-at-T")


def test_they_are_judged_with_all_others(made):
    claims = [
        ("ensembles", "single-at-T", "smoothed-at-T", "nll", "lower"),
        ("ensembles", "single-at-T", "average-at-T", "nll", "lower"),
    ]
    found = judge([], claims, {"ensembles": made})
    apart = [compare_forecasts(made, *claim[1:4]) for claim in claims]
    assert [x.adjusted for x in found] == holm([x.p_value for x in apart])
    assert found[0].change == "single at T to smoothed at T"
    with pytest.raises(ValueError, match="expected runs of the grid 'ensembles', found none"):
        judge([], claims)


def test_the_interval_holds_the_truth():
    """Drawn anew, networks and images: the interval of 95 % holds the mean of all differences."""
    rng = np.random.default_rng(0)
    for metric in ("nll", "ece"):
        drawn = []
        for _ in range(60):
            likely = rng.normal(0, 1.5, N)
            labels = rng.random(N) < expit(likely)
            noise = rng.normal(0, 0.8, (5, N)) + rng.normal(0, 0.1, (5, 1))
            probs = expit(1.3 * (likely + noise))
            made = [
                of_probs(members, probs[list(members)].mean(axis=0), labels)
                for size in (1, 4, 5)
                for members in combinations(range(5), size)
            ]
            names = "single-at-T", "average-at-T"
            found = compare_forecasts(made, *names, metric, repeats=100)
            drawn.append([found.mean, *found.interval()])
        mean, low, high = np.transpose(drawn)
        assert ((low < mean.mean()) & (mean.mean() < high)).mean() >= 0.9
        assert (high < 0).mean() > 0.5  # and it is short enough to find something


def of_probs(members, probs, labels):
    confidences = np.maximum(probs, 1 - probs)
    correct = (probs > 0.5) == labels
    losses = -np.log(np.where(labels, probs, 1 - probs))
    bins = sums(uniform_index(confidences, 15, "float64"), confidences, correct, 15)
    made = {"losses": losses, "confidences": confidences.astype(np.float16), "correct": correct}
    made |= {"nll": float(losses.mean()), "ece": mean_excess(bins[2] - bins[1], N), "bins": bins}
    return Forecast(**vars(forecast("ordinary", members, "after")) | made)


def test_one_draw_shows_no_spread(made):
    with pytest.raises(ValueError, match="repeats: expected at least 100, found 1"):
        compare_forecasts(made, "single-at-T", "average-of-scaled", "nll", repeats=1)
