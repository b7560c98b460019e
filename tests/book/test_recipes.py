"""The recipes of the pages for predictions in batches, run here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calib_utils.metrics import expected_calibration_error
from tests.book.page_code import blocks_of

ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "book/api/metrics.md").read_text("utf-8")


def shown(word: str) -> str:
    """The one example that has a word."""
    (code,) = (each for each in blocks_of("python", RECIPES) if word in each)
    return code


def test_tokens_of_a_language_model() -> None:
    names: dict[str, Any] = {}
    exec(shown("compute_metrics"), names)
    rng = np.random.default_rng(0)
    logits = (3 * rng.normal(size=(3, 7, 5))).astype(np.float16)
    labels = rng.integers(5, size=(3, 7))
    labels[0, 3:] = labels[2, 1] = -100
    found = names["compute_metrics"](SimpleNamespace(predictions=logits, label_ids=labels), rows=2)[
        "ece"
    ]
    probs, told = [], []
    for text in range(3):
        for place in range(6):  # which predicts the token after it
            if labels[text, place + 1] != -100:
                powers = np.exp(logits[text, place].astype(np.float64))
                probs.append(powers / powers.sum())
                told.append(int(labels[text, place + 1]))
    assert found == pytest.approx(expected_calibration_error(np.array(probs), told), abs=1e-6)


def test_a_file_of_logits(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(shown("memmap"), names)
    rng = np.random.default_rng(0)
    logits = (3 * rng.normal(size=(50, 9))).astype(np.float16)
    labels = rng.integers(9, size=50)
    logits.tofile(tmp_path / "logits.f16")
    powers = np.exp(logits.astype(np.float64))
    expected = expected_calibration_error(powers / powers.sum(axis=1, keepdims=True), labels)
    found = names["ece_of_file"](tmp_path / "logits.f16", labels, 9, rows=16)
    assert found == pytest.approx(expected, abs=1e-6)
    assert np.asarray(names["CalibrationError"]().sums).size == 45  # as the text says
    assert f"{50_000 * 32_000 * 2 / 1e9:.1f}\N{NO-BREAK SPACE}GB" in RECIPES
    assert f"{256 * 32_000 * 4 / 1e6:.0f}\N{NO-BREAK SPACE}MB" in RECIPES


def test_a_collection_of_metrics() -> None:
    pytest.importorskip("torchmetrics")
    torch = pytest.importorskip("torch")
    names: dict[str, Any] = {}
    exec(shown("MetricCollection"), names)
    probs = torch.softmax(torch.randn(60, 3, generator=torch.Generator().manual_seed(0)), dim=1)
    labels = torch.arange(60) % 3
    metrics = names["collection"](3)
    for _ in range(2):  # epochs
        metrics.update(probs[:25], labels[:25])
        metrics.update(probs[25:], labels[25:])
        found = metrics.compute()
        assert float(found["val_ece"]) == pytest.approx(expected_calibration_error(probs, labels))
        right = (probs.argmax(dim=1) == labels).double().mean()
        assert float(found["val_accuracy"]) == pytest.approx(float(right))
        metrics.reset()
