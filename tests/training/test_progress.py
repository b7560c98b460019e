"""What a training says while it runs: its bars, also in a file, and its warnings."""

import re
import subprocess
import sys
import warnings

import pytest
import torch
from torch import nn

from calib_utils.training import predict_logits, train
from calib_utils.training.progress import plain_warnings, progress_bars
from tests.training.small import ENVIRONMENT, SHORT, network, random_images


@pytest.fixture
def line(tmp_path, monkeypatch):
    """The file that the bars are kept in, where tqdm itself is switched off."""
    path = tmp_path / "line"
    monkeypatch.setenv("CALIB_PROGRESS_FILE", str(path))
    monkeypatch.setenv("TQDM_DISABLE", "1")
    return path


class TestBarsInAFile:
    def test_training_is_told_in_one_line(self, line, capfd):
        seen = []

        def after_epoch(model: nn.Module) -> dict[str, float]:
            seen.append(line.read_text())
            return {}

        train(network(), random_images(), SHORT, after_epoch=after_epoch)
        assert re.fullmatch("epoch 1 of 3: [0-3] of 9|training: 0 of 9", seen[0])
        assert re.match("epoch [23] of 3: [6-9] of 9, accuracy=", seen[2])
        assert line.read_text() == ""
        assert capfd.readouterr() == ("", "")

    def test_text_stays_on_one_line(self, capfd):
        """Where a notebook has no widgets, each end of a line would stay below its cell."""
        train(network(), random_images(), SHORT)
        said = capfd.readouterr().err
        for part in ("epoch 2 of 3:", "epoch 3 of 3: 100%", "loss=2.", "accuracy="):
            assert part in said
        assert said.rstrip("\n").count("\n") == 0

    def test_an_inner_bar_follows_the_outer_one(self, line):
        bars = progress_bars(True)
        with bars(desc="grid", total=3, initial=1) as grid:
            for step in bars(range(2), "epoch 7", mininterval=0):
                assert line.read_text() == f"grid: 1 of 3; epoch 7: {step} of 2"
            grid.set_postfix_str("lenet5.seed-0")
            grid.update()
            assert line.read_text() == "grid: 1 of 3, lenet5.seed-0"

    def test_a_bar_that_is_hidden_is_not_told(self, line, capfd):
        train(network(), random_images(), SHORT, progress=False)
        assert not line.exists()
        assert capfd.readouterr() == ("", "")


class Warns(nn.Module):
    """A network that warns as it is called, as CUDA's libraries do."""

    def __init__(self):
        super().__init__()
        self.layers = network()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        warnings.warn("the plan failed", UserWarning, stacklevel=1)
        return self.layers(x)


class TestWarnings:
    @pytest.mark.parametrize("what", [train, predict_logits])
    def test_a_warning_shows_no_path(self, what, capsys):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show
            arguments = (Warns(), random_images(5))
            what(*arguments, *([SHORT] if what is train else []), device="cpu")
        shown = capsys.readouterr().err
        assert "UserWarning: the plan failed\n" in shown
        assert __file__ not in shown

    def test_filters_hold_and_the_form_comes_back(self):
        form = warnings.formatwarning
        with plain_warnings(), warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="here"):
                warnings.warn("here", UserWarning, stacklevel=1)
        assert warnings.formatwarning is form


def show(message, category, *place) -> None:
    """As Python shows a warning, which pytest would collect instead."""
    sys.stderr.write(warnings.formatwarning(message, category, *place[:2]))


def test_in_a_notebook_without_widgets_nothing_is_said():
    """There tqdm warns as it is first imported, which torchvision does, and that takes long, too.

    With the variable of the notebooks' pipeline, which tqdm reads then, it shows no bars either.
    """
    code = (
        "import sys, types\n"
        "sys.modules['IPython'] = types.SimpleNamespace(get_ipython=object)\n"
        "sys.modules['ipykernel.zmqshell'] = types.ModuleType('zmqshell')\n"
        "import calib_utils.training\n"
        "assert 'torchvision' not in sys.modules\n"
        "from tests.training import small as t\n"
        "t.train(t.network(), t.random_images(), t.SHORT)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd="/",
        env=ENVIRONMENT | {"TQDM_DISABLE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
