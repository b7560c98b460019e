"""Claims judged together, against Holm's steps."""

import dataclasses

import numpy as np
import pytest

from calib_utils.comparing import (
    Difference,
    Verdict,
    Verdicts,
    compare,
    holm,
    judge,
)
from tests.run_cases import CALIBRATED, CLAIMS, OVERCONFIDENT


class TestHolm:
    def test_by_hand(self):
        """Each p value times the number of those not smaller; never below the one before."""
        assert holm([0.2, 0.01, 0.04, 0.015]) == pytest.approx([0.2, 0.04, 0.08, 0.045])
        assert holm([0.03, 0.031]) == pytest.approx([0.06, 0.06])
        assert holm([0.7, 0.8, 0.001]) == pytest.approx([1, 1, 0.003])
        assert holm([]) == []

    def test_one_is_left_as_it_is(self):
        assert holm([0.04]) == [0.04]

    def test_what_could_not_be_tested_counts(self):
        first, second = holm([0.03, float("nan")])
        assert first == 0.06
        assert np.isnan(second)

    def test_rejects_as_the_steps_of_the_paper_do(self):
        """Smallest first, against 0.05 / m, 0.05 / (m - 1), ...; stop at the first that fails."""
        rng = np.random.default_rng(0)
        for _ in range(200):
            p_values = rng.random(5) ** 4
            rejected = set()
            for step, i in enumerate(np.argsort(p_values)):
                if p_values[i] > 0.05 / (5 - step):
                    break
                rejected.add(i)
            assert {i for i, p in enumerate(holm(p_values)) if p <= 0.05} == rejected

    def test_bad_input(self):
        with pytest.raises(ValueError, match="p_values: expected numbers from 0 to 1"):
            holm([0.1, 1.2])


class TestJudge:
    def test_each_claim_is_set_against_the_comparison(self):
        found = judge([*OVERCONFIDENT, *CALIBRATED], CLAIMS)
        assert [one.metric for one in found] == ["ece", "error"]
        alone = [compare(CALIBRATED, OVERCONFIDENT, metric) for metric in ("ece", "error")]
        assert [one.difference for one in found] == alone
        assert [one.adjusted for one in found] == holm([one.p_value for one in alone])
        assert {one.change for one in found} == {"layers: 8 to 56"}
        assert found.outcomes == ["holds", "undecided"]
        back = judge([*OVERCONFIDENT, *CALIBRATED], [("depth", 56, 8, "ece", "higher")])
        assert back.outcomes == ["does not hold"]

    def test_what_is_judged_together_is_corrected_together(self):
        runs = [*CALIBRATED, *OVERCONFIDENT]
        more = [dataclasses.replace(run, grid="width") for run in runs]
        both = judge([*runs, *more], [*CLAIMS, *(("width", *claim[1:]) for claim in CLAIMS)])
        alone = judge(runs, CLAIMS)
        assert both.of("depth")[0].adjusted == pytest.approx(2 * alone[0].adjusted)
        assert [one.grid for one in both.of("width")] == ["width"] * 2
        assert isinstance(both.of("width"), Verdicts)

    @pytest.mark.parametrize(
        ("mean", "adjusted", "claimed", "outcome"),
        [
            (0.1, 0.049, "higher", "holds"),
            (0.1, 0.049, "lower", "does not hold"),
            (-0.1, 0.001, "lower", "holds"),
            (-0.1, 0.001, "higher", "does not hold"),
            (0.1, 0.05, "higher", "undecided"),
            (-0.1, 1.0, "higher", "undecided"),
            (0.1, float("nan"), "higher", "undecided"),
        ],
    )
    def test_outcome(self, mean, adjusted, claimed, outcome):
        verdict = Verdict("a", "a: 1 to 2", "ece", claimed, Difference(mean, 0.1, 3), adjusted)
        assert verdict.outcome == outcome

    def test_shows_itself_as_a_table(self):
        inf, nan = float("inf"), float("nan")
        shown = Verdicts(
            [
                Verdict("a", "a: 1 to 2", "ece", "higher", Difference(0.012, 0.1, inf), 1.0),
                Verdict("a", "a: 1 to 2", "nll", "lower", Difference(-0.5, 0.1, inf), 1e-6),
                Verdict("a", "a: 1 to 2", "ece", "lower", Difference(0.02, nan, nan), nan),
            ]
        )
        ece = "\N{MINUS SIGN}18.4 to +20.8 | 1.000 | undecided |"
        nll = "\N{MINUS SIGN}0.696 to \N{MINUS SIGN}0.304 | below 0.001 | holds |"
        assert shown._repr_markdown_().splitlines()[2:] == [
            f"| a: 1 to 2 | ECE higher | +1.2 points | {ece}",
            f"| a: 1 to 2 | NLL lower | \N{MINUS SIGN}0.500 | {nll}",
            "| a: 1 to 2 | ECE lower | +2.0 points | unknown | unknown | undecided |",
        ]
        assert repr(shown) == shown._repr_markdown_()

    def test_bad_input(self):
        runs = [*CALIBRATED, *OVERCONFIDENT]

        def raises(message, *claim):
            with pytest.raises(ValueError, match=message):
                judge(runs, [claim])

        raises("expected one of the levels 8, 56, found 9", "depth", 9, 56, "ece", "lower")
        raises("expected one of the levels 8, 56, found 57", "depth", 8, 57, "ece", "lower")
        raises("comparisons: expected 'higher' or 'lower' for 'ece'", "depth", 8, 56, "ece", "up")
        raises("metric: expected one of error, ece", "depth", 8, 56, "loss", "higher")
        raises("expected runs of the grid 'width', found depth", "width", 8, 56, "ece", "lower")
        with pytest.raises(ValueError, match="comparisons: expected at least one, found none"):
            judge(runs, [])
