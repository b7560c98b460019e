"""The command line of the experiments."""

import re

import pytest

from calib_utils.experiments.__main__ import main
from calib_utils.records.experiments import list_experiments
from tests.experiments.tiny import FAILED, options


class TestCommandLine:
    def test_list(self, tiny, expected, tmp_path, capsys):
        main([*options(tiny, expected, "nll"), "--list"])
        assert "nll/lenet5.seed-2 " in (shown := capsys.readouterr().out)
        assert "error " in shown
        assert "ECE " in shown
        main([*options(tiny, tmp_path, "nll"), "--list"])
        assert "0 of 3 epochs" in capsys.readouterr().out

    def test_failed_runs_are_an_error(self, tiny, tmp_path, capsys):
        with pytest.raises(SystemExit) as stop:
            main(options(tiny, tmp_path, "broken"))
        assert stop.value.code == 1
        error = capsys.readouterr().err
        assert f"these runs failed:\n  {FAILED}: FloatingPointError: the training" in error
        assert len(list_experiments("broken", "cpu", tmp_path)) == 2

    def test_failing_first_run_is_an_error(self, tiny, tmp_path, capsys):
        with pytest.raises(SystemExit) as stop:
            main(options(tiny, tmp_path, "hopeless"))
        assert stop.value.code == 1
        error = capsys.readouterr().err
        assert re.search(
            r"error: the training loss is nan.*\n  hopeless/lenet5.* failed, the", error
        )

    def test_list_refuses_what_cannot_be_built(self, tiny, tmp_path, capsys):
        network = '{ name = "fast_resnet", batch_norm = 1 }'
        plan = tiny.read_text().replace('{ name = "lenet5" }', network)
        (tmp_path / "mine.toml").write_text(plan)
        with pytest.raises(SystemExit):
            main([*options(tmp_path / "mine.toml", tmp_path, "nll"), "--list"])
        error = capsys.readouterr().err
        assert error == (
            "error: options: batch_norm of fast_resnet: expected a value like True, found 1\n"
        )

    def test_ctrl_c_is_told_in_a_sentence(self, tiny, tmp_path, capsys, monkeypatch):
        def stopped(*args, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr("calib_utils.experiments.__main__.run_grid", stopped)
        with pytest.raises(SystemExit) as ended:
            main(options(tiny, tmp_path, "nll"))
        assert ended.value.code == 130
        assert capsys.readouterr().err.startswith("\nStopped. The same command continues")
