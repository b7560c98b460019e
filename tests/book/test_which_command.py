"""The page of questions: each command and each line of Python on it runs, in its order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from calib_audit.__main__ import main
from calib_utils.recalibration import BetaOnConfidence, VectorScaling
from tests.book.page_code import blocks_of
from tests.calib_audit import written

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book/which-command.md").read_text("utf-8")
QUESTIONS = [part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE) if part[:1].isdigit()]
WITHOUT_COMMAND = {"7"}
N, K = 1_200, 4


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The files and the arrays that the page speaks of."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    true = 1 / (1 + np.exp(-2 * rng.normal(size=N)))
    score = true**2 / (true**2 + (1 - true) ** 2)
    label = (rng.random(N) < true).astype(int)
    columns = {
        **{"score": score, "label": label, "amount": rng.lognormal(size=N)},
        **{"plan": rng.choice(["a", "b"], N), "region": rng.choice(["n", "s"], N)},
        **{"one_in": np.where(label == 1, 1, 20), "patient": np.arange(N) // 6},
    }
    days = [f"2026-06-{day:02d}" for day in rng.integers(1, 31, N)]
    written(Path("predictions.csv"), **columns, date=days)
    again = (rng.random(N) < true).astype(int)
    written(Path("last.csv"), **columns | {"label": again}, date=days)
    written(Path("new.csv"), score=score[:5])
    logits = 2 * rng.normal(size=(2 * N, K))
    classes = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    np.savez("test.npz", logits=logits[:N], labels=classes[:N])
    np.savez("validation.npz", logits=logits[N:], labels=classes[N:])
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    logs = np.where(probs < 0.01, np.nan, np.log(probs))
    texts = np.where(np.isnan(logs), "", logs.astype(str))
    options = {f"logprob_{letter}": texts[:, k] for k, letter in enumerate("ABCD")}
    written(Path("answers.csv"), **options, label=np.array(list("ABCD"))[classes])
    X, y = load_iris(return_X_y=True)
    species = np.array(["setosa", "versicolor", "virginica"])[y]
    named = GaussianNB().fit(X[::2], species[::2]).predict_proba(X[1::2])
    written(
        Path("iris.csv"),
        **dict(zip(["setosa", "versicolor", "virginica"], named.T, strict=True)),
        species=species[1::2],
    )
    written(Path("scenes.csv"), prob_beach=score, prob_city=1 - score, beach=label, city=1 - label)
    return {
        **{name: columns[name] for name in ("score", "label", "amount", "plan", "patient")},
        **{"probs": probs[:N], "labels": classes[:N]},
        **{"val_logits": logits[N:], "val_labels": classes[N:]},
        **{"token_logits": torch.randn(3, 8, 5), "tokens": torch.randint(5, (3, 8))},
        **{"network": torch.nn.Identity(), "classifier": GaussianNB(), "X": X, "y": species},
        **{"many": np.stack([score, 1 - score], 1), "happened": np.stack([label, 1 - label], 1)},
    }


def test_there_are_twelve_questions_each_with_a_way_and_a_link() -> None:
    assert [part.split(".")[0] for part in QUESTIONS] == [str(n) for n in range(1, 13)]
    for part in QUESTIONS:
        assert part.split("\n")[0] != ""
        assert bool(blocks_of("bash", part)) == (part.split(".")[0] not in WITHOUT_COMMAND)
        assert len(blocks_of("python", part)) == 1
        assert re.search(r"^More (in|on) .*\[", part, re.MULTILINE)
        assert len(part.split()) < 250  # less than two minutes of reading


@pytest.mark.filterwarnings("ignore")
def test_all_of_it_runs(given: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    names = dict(given)
    (others,) = re.findall(r"^## My file .*?(?=^## )", PAGE, re.DOTALL | re.MULTILINE)
    for part in [*QUESTIONS, others]:
        for line in "".join(blocks_of("bash", part)).splitlines():
            python, dash_m, module, *arguments = shlex.split(line)
            assert (python, dash_m, module) == ("python", "-m", "calib_audit")
            status = main(arguments)
            said = capsys.readouterr()
            assert status in (0, 1, 3, 5), f"{line}\n{said.out}{said.err}"
        for code in blocks_of("python", part):
            exec(code, names)
    assert names["needed"] is None or names["needed"] > N
    assert 0 < names["by_chance"] < names["high"]
    assert isinstance(names["with_map"], BetaOnConfidence)
    assert set(names["gaps"]) == {"a", "b"}
    assert names["recalibrated"].shape == (N,)
    assert len(names["days"]) == 30
    assert 0 < names["ece"] < 1
    assert names["threshold"] > 0.5  # or infinite, where none can be let through
    assert isinstance(names["calibrated"].recalibrator_, VectorScaling)
    assert names["calibrated"].predict(given["X"][:1]).tolist() == ["setosa"]
    assert names["model"](torch.zeros(2, K)).shape == (2, K)
    assert 0 < float(names["error"].compute()) < 1
    assert len(names["maps"]) == 2
    assert len(Path("recalibrated.csv").read_text("utf-8").splitlines()) == 6
