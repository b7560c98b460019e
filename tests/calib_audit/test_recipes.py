"""A job of the chapter on one's own model, and recipes for predictions in batches, run here."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from calib_audit.__main__ import parser
from calib_utils.metrics import expected_calibration_error

ROOT = Path(__file__).parents[2]
CHAPTER = (ROOT / "notebooks/your-own-model.md").read_text("utf-8")
RECIPES = (ROOT / "book/api/metrics.md").read_text("utf-8")


def shown(language: str, word: str) -> str:
    """The one example of a language that has a word."""
    text = RECIPES if language == "python" else CHAPTER
    found = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (code,) = (each for each in found if word in each)
    return code


def test_tokens_of_a_language_model() -> None:
    names: dict[str, Any] = {}
    exec(shown("python", "compute_metrics"), names)
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
    exec(shown("python", "memmap"), names)
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
    exec(shown("python", "MetricCollection"), names)
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


@pytest.mark.parametrize(("status", "code"), [(0, 0), (2, 2), (3, 0), (5, 5)])
def test_the_job_warns_of_few_rows_and_fails_on_a_bad_model(
    status: int, code: int, tmp_path: Path
) -> None:
    """A stand-in for Python notes the arguments, which the real command line takes."""
    job = yaml.safe_load(shown("yaml", "calib_audit"))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > given\nexit {status}\n')
    python.chmod(0o755)
    done = subprocess.run(
        ["bash", "-e", "-c", job[0]["run"]],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("::warning::" in done.stdout) == (status == 3)
    module, name, *arguments = (tmp_path / "given").read_text("utf-8").splitlines()
    assert (module, name) == ("-m", "calib_audit")
    args = parser().parse_args(arguments)
    assert (args.html, args.json) == (Path("report.html"), "report.json")
