"""What each row adds to a sum: its loss, and its place in the order of confidences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from calib_audit import report
from calib_utils import metrics
from tests.calib_audit import DECIDED
from tests.calib_audit.samples import CLASS, LABEL, PROBS, SCORE, drawn


def test_losses_are_those_of_the_metric() -> None:
    """Zeros and ones among them, which have one floor everywhere."""
    score = np.r_[0, 1, 0, 1, 1e-30, SCORE]
    label = np.r_[0, 1, 1, 0, 1, LABEL]
    found = report({"score": score, "label": label}, **DECIDED)
    assert found.measures.nll == pytest.approx(metrics.negative_log_likelihood(score, label))
    probs = np.vstack([[0, 0.5, 0.5], [1, 0, 0], PROBS])
    classes = np.r_[0, 2, CLASS]
    found = report({"probs": probs, "label": classes}, **DECIDED)
    expected = -np.log(np.maximum(probs[np.arange(302), classes], 5e-324)).mean()
    assert found.measures.nll == pytest.approx(expected)
    assert expected == pytest.approx(metrics.negative_log_likelihood(probs, classes))


def test_losses_of_logits_whose_probabilities_are_zero() -> None:
    logits = np.array([[0.0, 2_000.0], [3_000.0, 0.0], [0.0, 1.0]])
    found = report({"logits": logits, "labels": [0, 1, 1]}, cross_fit=0)
    assert found.measures.nll == pytest.approx((2_000 + 3_000 + np.log1p(np.exp(-1))) / 3)


def test_order_of_takes_log_odds_where_they_are_at_hand() -> None:
    rng = np.random.default_rng(10)
    order = rng.normal(size=2_000) * 60 + 12
    happened = (rng.random(2_000) < expit(order / 30)).astype(int)
    assert (expit(order) == 1).sum() > 100
    found = report({"logit": order, "label": happened}, cross_fit=0).measures.auroc
    assert found == pytest.approx(roc_auc_score(happened, order), abs=1e-12)


def test_order_of_several_classes_tells_confidences_of_one_apart() -> None:
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


def test_check_few_refuses_a_thousand_groups() -> None:
    score, label = drawn(1_500, 0)
    with pytest.raises(ValueError, match="at most 1,000 values"):
        report({"score": score, "label": label, "id": np.arange(1_500)}, group="id")
