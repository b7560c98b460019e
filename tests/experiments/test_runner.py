"""The runs of grids: stopped, shared, broken or killed."""

import subprocess
import sys

import pytest

from calib_utils.experiments import one_run, plan_grid, runner
from calib_utils.experiments.one_run import checkpoint_path
from calib_utils.experiments.runner import run_grid
from calib_utils.records.experiments import list_experiments
from calib_utils.training import train
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.networks import build_model
from tests.experiments.tiny import FAILED, options, same_numbers
from tests.training.small import ENVIRONMENT, kill_when_done


def test_finished_runs_are_left_out(tiny, expected, monkeypatch):
    monkeypatch.setattr(one_run, "train", lambda *_, **__: 1 / 0)
    runs = plan_grid("weight-decay", "cpu", tiny)
    assert run_grid(runs, expected, expected, progress=False) == {}


def test_bars_for_the_grid_and_for_the_run(tiny, tmp_path, capsys):
    run_grid(plan_grid("nll", "cpu", tiny), tmp_path, tmp_path)
    shown = capsys.readouterr().err
    for part in ("runs: 100%", "1/1", "lenet5.seed-2", "epoch 3 of 3: 100%"):
        assert part in shown


def test_the_bar_is_kept_in_the_line_where_bars_are_not_seen(tiny, tmp_path, monkeypatch, capfd):
    line, seen = tmp_path / "line", []
    monkeypatch.setenv("CALIB_PROGRESS_FILE", str(line))
    monkeypatch.setattr(runner, "run_experiment", lambda *_, **__: seen.append(line.read_text()))
    run_grid(plan_grid("nll", "cpu", tiny), tmp_path, tmp_path)
    assert seen == ["runs: 0 of 1, lenet5.seed-2"]
    assert capfd.readouterr() == ("", "")


class TestFailures:
    @pytest.fixture
    def fail(self, monkeypatch):
        """Let each network that is trained at a learning rate of 1e30 fail with an error."""
        networks = []

        def arrange(error: BaseException) -> list:
            def build(**network):
                model = build_model(**network)
                networks.append(model)
                return model

            def train_or_fail(model, data, recipe, **options):
                if recipe.learning_rate == 1e30:
                    raise error
                return train(model, data, recipe, **options)

            monkeypatch.setattr(one_run, "build_model", build)
            monkeypatch.setattr(one_run, "train", train_or_fail)
            return networks

        return arrange

    def test_whatever_a_later_run_raises(self, tiny, tmp_path, fail):
        fail(OSError(28, "No space left on device"))
        failed = run_grid(plan_grid("broken", "cpu", tiny), tmp_path, tmp_path, progress=False)
        assert failed == {FAILED: "OSError: [Errno 28] No space left on device"}
        assert len(list_experiments("broken", "cpu", tmp_path)) == 2

    def test_first_run_of_each_grid_stops_all_with_its_own_error(self, tiny, tmp_path, fail):
        networks = fail(RuntimeError("no such kernel"))
        runs = [run for grid in ("nll", "hopeless") for run in plan_grid(grid, "cpu", tiny)]
        with pytest.raises(RuntimeError, match="no such kernel") as error:
            run_grid(runs, tmp_path, tmp_path, progress=False)
        note = "hopeless/lenet5.learning_rate-1e+30.seed-0 failed, the first run of its grid: "
        assert error.value.__notes__ == [note + "the other runs are not made"]
        assert len(networks) == 2
        assert list_experiments("nll", "cpu", tmp_path) == ["lenet5.seed-2"]
        assert list_experiments("hopeless", "cpu", tmp_path) == []

    def test_a_run_that_failed_once_does_not_bar_the_others(self, tiny, tmp_path, fail):
        """When the command is given again, it is the first that is made, but not of the plan."""
        runs = plan_grid("broken", "cpu", tiny)
        assert run_grid(runs[:2], tmp_path, tmp_path, progress=False).keys() == {FAILED}
        assert run_grid(runs, tmp_path, tmp_path, progress=False).keys() == {FAILED}
        assert len(list_experiments("broken", "cpu", tmp_path)) == 2

    def test_interruption_is_no_failure(self, tiny, tmp_path, fail):
        fail(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run_grid(plan_grid("broken", "cpu", tiny), tmp_path, tmp_path, progress=False)


KILLED_GRID = """
import time
from calib_utils.experiments.__main__ import main
from calib_utils.training import loop

def save_and_stay(path, *state):
    save(path, *state)
    saved.append(path)
    if len(saved) == 9:  # in the middle of the second run of six epochs
        time.sleep(1000)

save, saved = loop.save_checkpoint, []
loop.save_checkpoint = save_and_stay
main()
"""


def test_killed_grid_ends_like_one_that_was_not(tiny, tmp_path):
    """Kill -9 in the second run, then give the command again."""
    runs = plan_grid("long", "cpu", tiny)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    first, second = (checkpoint_path(run, killed) for run in runs)
    command = [sys.executable, "-c", KILLED_GRID, *options(tiny, killed, "long")]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    kill_when_done(process, second, epochs=3)
    assert list_experiments("long", "cpu", killed) == [runs[0].name]
    before, begun = first.stat().st_mtime_ns, read_facts(second)["history"]
    assert len(begun) == 3
    assert run_grid(runs, killed, killed, progress=False) == {}
    assert first.stat().st_mtime_ns == before
    assert read_facts(second)["history"][: len(begun)] == begun  # its times too: not run again

    assert run_grid(runs, whole, whole, progress=False) == {}
    same_numbers("long", killed, whole)
