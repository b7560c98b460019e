"""Corners of a report in which a mistake would change a number and look like one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from calib_audit import report
from calib_audit.exact_sums import ExactSums
from calib_audit.lots import Lots
from calib_audit.parts import Gap, judge_gaps
from calib_audit.rows import Rows
from calib_audit.totals import Totals, shared_rows
from calib_utils.metrics import accuracy
from tests.calib_audit.test_types import every_form, in_form

RNG = np.random.default_rng(7)


def bare(probs: np.ndarray, labels: np.ndarray) -> Rows:
    return Rows(probs, None, labels, {}, None, None)


@every_form
def test_of_tied_classes_the_first_is_predicted(form: str, tmp_path: Path) -> None:
    """Half of the rows are tied; in all of these the second of the two is true."""
    probs = np.tile([[0.4, 0.4, 0.2], [0.1, 0.3, 0.6]], (100, 1))
    label = np.tile([1, 2], 100)
    columns = {f"prob_{k}": probs[:, k] for k in range(3)} | {"label": label}
    found = report(in_form(form, columns, tmp_path), cross_fit=0)
    assert found.measures.accuracy == accuracy(probs, label) == 0.5


@every_form
def test_one_half_is_not_positive(form: str, tmp_path: Path) -> None:
    score, label = np.repeat([0.2, 0.5, 0.9], [40, 50, 60]), np.zeros(150, int)
    label[[0, 1, 50, 51, 52, *range(90, 140)]] = 1
    found = report(in_form(form, {"score": score, "label": label}, tmp_path), cross_fit=0)
    assert found.measures.accuracy == accuracy(score, label) == (38 + 47 + 50) / 150


@every_form
@pytest.mark.parametrize("weights", [(1.0, 10.0), (0.1, 1.0), (300.0, 3000.0)])
def test_weights_of_any_size_count(weights: tuple[float, float], form: str, tmp_path: Path) -> None:
    """Rows that weigh ten times as much are always right, the others never are."""
    heavy = np.arange(8_000) % 2
    columns = {"score": 0.1 + 0.8 * heavy, "label": np.ones(8_000, int)}
    columns["weight"] = np.array(weights)[heavy]
    found = report(in_form(form, columns, tmp_path), weight="weight", cross_fit=0)
    assert found.measures.accuracy == pytest.approx(10 / 11)


@every_form
def test_impossible_rows_are_told(form: str, tmp_path: Path) -> None:
    score, label = np.repeat([0.0, 0.3, 1.0], 50), np.zeros(150, int)
    label[[0, 1, 2, 60, 70]] = 1
    label[100:143] = 1  # so that seven at a score of 1 did not happen
    found = report(in_form(form, {"score": score, "label": label}, tmp_path), cross_fit=0)
    assert any(line.startswith("10 rows gave a probability of 0 to what ") for line in found.read)
    columns = {"label": 1 - label, "prob_0": 1 - score, "prob_1": score}
    found = report(in_form(form, columns, tmp_path), cross_fit=0)
    assert any(line.startswith("90 rows gave a probability of 0 to what ") for line in found.read)


def test_of_a_long_file_rows_of_all_of_it_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first half of the rows has another slope than the second, as if sorted by date.

    The scores are random numbers of the report's own seed, which must not draw the lots as well.
    """
    for module in ("lots", "totals"):
        monkeypatch.setattr(f"calib_audit.{module}.MOST_DRAWN", 2_000)
    monkeypatch.setattr("calib_audit.source._CELLS", 3_000)  # in blocks
    rng = np.random.default_rng(0)
    score = rng.random(20_000).round(4).clip(1e-4, 1 - 1e-4)
    slope = np.repeat([0.2, 1.8], 10_000)
    label = (rng.random(20_000) < expit(slope * logit(score))).astype(int)
    found = report({"score": score, "label": label}, cross_fit=0)
    assert "a random sample of 2,000 rows" in "".join(found.read)
    whole = report({"score": score[::20], "label": label[::20]}, cross_fit=0)
    assert found.measures.line.slope == pytest.approx(whole.measures.line.slope, abs=0.2)


def test_sets_that_differ_in_one_row_are_not_equal() -> None:
    rng = np.random.default_rng(0)
    score, label = rng.random(5_000), rng.integers(2, size=5_000)
    other = score.copy()
    other[17] += 1e-3 * (0.5 - other[17])  # in the same bin
    moved = score[::-1].copy(), label[::-1].copy()
    found = []
    for rows in ((score, label), moved, (other, label)):
        sums = ExactSums(15)
        sums.add(bare(*rows))
        found.append(Totals(sums))
    one, same, two = found
    assert shared_rows(one, same) == 5_000
    assert shared_rows(one, two) == 0


def test_a_digest_is_of_all_sums() -> None:
    score, label = np.array([0.2, 0.7]), np.array([0, 1])

    def sums() -> ExactSums:
        found = ExactSums(5)
        found.add(bare(score, label))
        return found

    assert sums().digest() == sums().digest()
    for place in range(3):
        other = sums()
        other.losses[place] += 1
        assert other.digest() != sums().digest()
    for name in ("bins", "cells"):
        other = sums()
        getattr(other, name).ravel()[-1] += 1
        assert other.digest() != sums().digest()


class TestLots:
    def test_zeros_of_both_signs_are_the_same_number(self) -> None:
        logits = np.array([[0.0, 1.0], [-0.0, 1.0]])
        rows = Rows(expit(logits), logits, np.array([1, 1]), {}, None, None)
        lots = Lots(0, from_logits=True)
        lots.add(rows)
        assert len(np.unique(lots.numbers_of(rows))) == 1
        assert len(lots.rows().labels) == 2

    @pytest.mark.parametrize("times", [2, 3])
    def test_equal_rows_count_however_late_they_come(
        self, times: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also those whose lot is the highest of the lots that are kept."""
        monkeypatch.setattr("calib_audit.lots.MOST_DRAWN", 10)
        probs = np.random.default_rng(0).dirichlet(np.ones(3), 200)
        lots = Lots(0, from_logits=False)
        for _ in range(times):
            lots.add(bare(probs, np.zeros(200, np.int64)))
            lots._shrink()
        ((_, counts, _),) = lots._parts
        assert counts.tolist() == [times] * 10


def test_with_no_tolerance_a_gap_may_lie_on_either_side() -> None:
    """A gap that is significant on one side alone, at 5 %, is undecided."""
    for gap in (0.1, -0.1):
        for level, expected in ((0.96, "undecided"), (0.98, "beyond")):
            error = 0.1 / t.ppf(level, 99)
            ((_, outcome),) = judge_gaps([Gap(gap, error, 100, False)], [0.0])
            assert outcome == expected


class TestOtherRows:
    """Of ``fit``, which has to differ from the rows that are judged."""

    @staticmethod
    def drawn(n: int, digits: int) -> dict[str, np.ndarray]:
        score = RNG.random(n).round(digits)
        return {"score": score, "label": (RNG.random(n) < score).astype(int)}

    @pytest.mark.parametrize("digits", [5, 17])
    @pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
    def test_rows_that_are_in_both_are_refused(self, share: float, digits: int) -> None:
        rows, others = self.drawn(1_000, digits), self.drawn(1_000, digits)
        some = RNG.permutation(1_000)[: int(1_000 * share)]
        mixed = {name: column.copy() for name, column in others.items()}
        for name, column in rows.items():
            mixed[name][: len(some)] = column[some]
        found = "the same ones" if share == 1 else r"\d+ of its 1,000 rows"
        with pytest.raises(
            ValueError, match=f"^fit: expected rows that .*, found {found} in a dic"
        ):
            report(rows, fit=mixed)

    @pytest.mark.parametrize("digits", [1, 3, 17])
    def test_other_rows_are_not(self, digits: int) -> None:
        report(self.drawn(1_000, digits), fit=self.drawn(1_500, digits))

    def test_of_few_levels_the_same_are_refused_in_any_order(self) -> None:
        rows = self.drawn(1_000, 1)
        moved = RNG.permutation(1_000)
        with pytest.raises(ValueError, match=r"^fit: .*found the same ones"):
            report(rows, fit={name: column[moved] for name, column in rows.items()})

    def test_equal_counts_of_two_kinds_may_be_an_accident(self) -> None:
        rows = {"score": np.full(200, 0.2), "label": np.repeat([0, 1], [160, 40])}
        report(rows, fit={name: column.copy() for name, column in rows.items()})


class TestWhatNeedsAWord:
    """Input that can be read in two ways is refused, with the way that the data suggest."""

    def test_columns_of_several_labels_are_questions_of_their_own(self) -> None:
        columns = {f"prob_{name}": RNG.random(50) for name in "abc"} | {"label": ["a"] * 50}
        with pytest.raises(ValueError, match="several labels of a row may be true, make a report"):
            report(columns, cross_fit=0)

    def test_members_of_an_ensemble_are_averaged_first(self) -> None:
        members = RNG.dirichlet(np.ones(3), (5, 40))
        with pytest.raises(ValueError, match=r"^probs: .*\(5, 40, 3\); .*mean of the members"):
            report({"probs": members, "label": np.arange(40) % 3}, cross_fit=0)

    @pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="since NumPy 2")
    def test_texts_of_any_length_are_texts(self) -> None:
        score, label = RNG.random(300), np.array(["no", "yes"])[RNG.integers(0, 2, 300)]
        group = np.array(["north", "south"])[RNG.integers(0, 2, 300)]
        columns = {"score": score, "label": label, "region": group}
        text = np.dtypes.StringDType()
        typed = columns | {"label": label.astype(text), "region": group.astype(text)}
        found, expected = (
            report(each, group="region", positive="yes", cross_fit=0) for each in (typed, columns)
        )
        assert found.verdict == expected.verdict
        assert [*found.groups] == [*expected.groups]


def test_of_several_classes_confidences_of_one_are_in_the_order_of_their_odds() -> None:
    """Their probabilities are equal after rounding; what the others have differs."""
    rng = np.random.default_rng(2)
    logits = 25 * rng.normal(size=(2_000, 3))
    chances = np.exp(logits / 20) / np.exp(logits / 20).sum(axis=1, keepdims=True)
    label = (chances.cumsum(axis=1) < rng.random((2_000, 1))).sum(axis=1)
    logs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    low, middle, top = np.sort(logits, axis=1).T
    expected = roc_auc_score(logits.argmax(axis=1) == label, top - np.logaddexp(low, middle))
    assert (np.exp(logs).max(axis=1) == 1).mean() > 0.1
    for kind, values in {"logit": logits, "logprob": logs, "prob": np.exp(logs)}.items():
        columns = {f"{kind}_{k}": values[:, k] for k in range(3)} | {"label": label}
        assert report(columns, cross_fit=0).measures.auroc == pytest.approx(expected, abs=1e-6)
