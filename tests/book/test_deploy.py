"""The page on deployment: its code runs in its order, and its comparison finds what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from calib_audit import report
from calib_audit.__main__ import main
from calib_utils.recalibration import CalibratedModule, TemperatureScaling, VectorScaling
from tests.book.page_code import blocks_of
from tests.calib_audit import written

PAGE = (Path(__file__).parents[2] / "book/deploy.md").read_text("utf-8")
CODE = blocks_of("python", PAGE)
ONNX = [code for code in CODE if "onnx" in code]
COMPARISON = next(code for code in CODE if code.startswith("expected = "))
N, K = 900, 4


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The files and the arrays that the page speaks of."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, K)).eval()
    inputs = 4 * torch.randn(N, 1, 4, 4)
    logits = network(inputs).detach()
    labels = torch.distributions.Categorical(logits=logits / 2).sample()
    VectorScaling().fit(logits, labels).save("calibrator.npz")
    written(Path("new.csv"), **{f"logit_{k}": logits[:5, k].tolist() for k in range(K)})
    for name, factor in (("old", 2.0), ("new_model", 1.0)):
        probs = (factor * logits / 2).softmax(dim=1).double()
        probs = (probs / probs.sum(dim=1, keepdim=True)).numpy()
        written(
            Path(f"{name}.csv"),
            **{f"prob_{k}": probs[:, k] for k in range(K)},
            label=labels.numpy(),
        )
    rng = np.random.default_rng(0)
    for month in ("05", "06"):
        score = rng.random(N)
        written(
            Path("june.csv" if month == "06" else "may.csv"),
            score=score,
            label=(rng.random(N) < score).astype(int),
            region=rng.choice(["n", "s"], N),
            date=[f"2026-{month}-{day:02d}" for day in rng.integers(1, 31, N)],
        )
    assert main(["may.csv", "--group", "region", "--json", "may.json"]) in (0, 3)
    return {
        **{"network": network, "inputs": inputs[:8]},
        **{"new_network": network, "new_val_logits": logits, "val_labels": labels},
        **{"report": report, "mlflow": Mock()},
    }


def run(codes: list[str], names: dict[str, Any]) -> dict[str, Any]:
    for code in codes:
        exec(code, names)
    return names


def test_its_code_runs_and_takes_any_number_of_rows(given: dict[str, Any]) -> None:
    names = run([code for code in CODE if code not in ONNX], given)
    for n in (1, 3):
        some = given["inputs"][:n]
        torch.testing.assert_close(names["served"](some), names["model"](some))
    assert names["new_model"](given["inputs"]).shape == (8, K)


@pytest.mark.filterwarnings("ignore")
def test_its_code_for_onnx_runs(given: dict[str, Any]) -> None:
    for package in ("onnxscript", "onnxruntime"):
        pytest.importorskip(package)
    names = run(CODE, given)
    one = given["inputs"][:1]
    (found,) = names["session"].run(None, {names["session"].get_inputs()[0].name: one.numpy()})
    torch.testing.assert_close(torch.tensor(found), names["model"](one))


@pytest.mark.filterwarnings("ignore:network.*like probabilities")
@pytest.mark.parametrize("fault", ["no map", "another map", "a softmax too many"])
def test_its_comparison_finds_what_was_exported_wrongly(given: dict[str, Any], fault: str) -> None:
    names = run(CODE[:2], given)
    wrong = {
        "no map": given["network"],
        "another map": CalibratedModule(given["network"], TemperatureScaling(1.1)),
        "a softmax too many": torch.nn.Sequential(names["model"], torch.nn.Softmax(dim=1)),
    }[fault]
    exported = torch.export.export(wrong, (given["inputs"],))
    torch.export.save(exported, "model.pt2")
    with pytest.raises(AssertionError, match="not close"):
        run(["import torch", COMPARISON], names)


@pytest.mark.filterwarnings("ignore")
def test_its_commands_run(given: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    statuses = []
    for line in "".join(blocks_of("bash", PAGE)).splitlines():
        python, dash_m, module, *arguments = line.split()
        assert (python, dash_m, module) == ("python", "-m", "calib_audit")
        statuses.append(main(arguments))
        said = capsys.readouterr()
        assert statuses[-1] in (0, 3), f"{line}\n{said.out}{said.err}"
    assert len(Path("recalibrated.csv").read_text("utf-8").splitlines()) == 6
    assert statuses[-1] == 0  # the new pair has the lower NLL
