"""The runs of grids: stopped, shared, broken or killed."""

import dataclasses
import subprocess
import sys
import time
from pathlib import Path

import pytest
from joblib import delayed

from calib_utils.experiments import one_run, plan_grid, runner
from calib_utils.experiments.one_run import checkpoint_path
from calib_utils.experiments.runner import run_grid
from calib_utils.records.experiments import list_experiments
from calib_utils.training import train
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.networks import build_model
from tests.experiments import dying_worker
from tests.experiments.tiny import FAILED, options, same_numbers
from tests.training.small import ENVIRONMENT, kill_when_done


def test_finished_runs_are_left_out(tiny, expected, monkeypatch):
    monkeypatch.setattr(one_run, "train", lambda *_, **__: 1 / 0)
    runs = plan_grid("weight-decay", "cpu", tiny)
    assert run_grid(runs, expected, expected, progress=False) == {}


def test_a_network_of_several_runs_is_trained_before_the_others_take_it(
    tiny, tmp_path, monkeypatch
):
    """Two that train it at the same time would write one checkpoint."""
    made = []
    monkeypatch.setattr(runner, "run_experiment", lambda run, *_, **__: made.append(run.name))
    first, other = plan_grid("weight-decay", "cpu", tiny)[:2]
    again = dataclasses.replace(first, name="again")
    assert run_grid([first, again, other], tmp_path, tmp_path, progress=False) == {}
    assert made == [first.name, other.name, "again"]


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

    @pytest.mark.thorough
    def test_jobs_report_failures_and_first_runs_too(self, tiny, tmp_path):
        runs = plan_grid("broken", "cpu", tiny)
        failed = run_grid(runs, tmp_path, tmp_path, jobs=2, progress=False)
        assert failed.keys() == {FAILED}
        runs = plan_grid("hopeless", "cpu", tiny)
        with pytest.raises(FloatingPointError, match="the training loss is nan") as error:
            run_grid(runs, tmp_path, tmp_path, jobs=2, progress=False)
        assert "the first run of its grid" in error.value.__notes__[0]


class TestSharing:
    def test_jobs_of_this_machine_end_like_one_after_the_other(self, tiny, expected, tmp_path):
        runs = plan_grid("weight-decay", "cpu", tiny)
        assert run_grid(runs, tmp_path, tmp_path, jobs=2, progress=False) == {}
        same_numbers("weight-decay", tmp_path, expected)

    # Last: it ends the processes that the tests above share.
    @pytest.mark.thorough
    def test_a_killed_process_takes_only_its_run_with_it(self, tmp_path):
        tasks = {key: delayed(dying_worker.end)(key, tmp_path) for key in ("a", "dies", "b", "c")}
        with runner._workers():
            ends = dict(runner._as_they_end(tasks, 2))
        assert ends.pop("dies") == "its process was killed, perhaps for lack of memory"
        assert ends == {"a": "", "b": "", "c": ""}
        assert (tmp_path / "dies").read_text() == "xx"  # once beside others, once alone


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

SLEEPING_GRID = """
import os, sys, time
from pathlib import Path
from calib_utils.experiments import runner
from calib_utils.experiments.__main__ import main

def sleep(run, folder, *_):
    (folder / f"worker-{os.getpid()}").touch()
    time.sleep(120)

runner._attempt = sleep
main()
"""


@pytest.mark.thorough
def test_no_worker_outlives_a_terminated_grid(tiny, tmp_path):
    grid = [*options(tiny, tmp_path, "weight-decay"), "--jobs", "2"]
    command = [sys.executable, "-c", SLEEPING_GRID, *grid]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE)
    try:
        while len(list(tmp_path.glob("worker-*"))) < 2:
            assert process.poll() is None, "the grid ended by itself"
            time.sleep(0.05)
        process.terminate()
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    workers = [int(path.name.partition("-")[2]) for path in tmp_path.glob("worker-*")]
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline, "a worker goes on alone"
        time.sleep(0.1)
    assert process.returncode == 143
    assert b"The same command continues" in said


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
