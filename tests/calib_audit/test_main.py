"""The commands: what they print, how they end, and that each option stands on a page."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
import yaml
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

import calib_audit
from calib_audit import report, rows_for
from calib_audit.__main__ import main, parser
from calib_utils.recalibration import load
from tests.calib_audit import written
from tests.calib_audit.samples import BENT, drawn, fraud

ROOT = Path(__file__).parents[2]


def test_main_says_what_it_read_and_ends_with_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for n, shift, code in ((40_000, 0, 0), (4_000, -1, 1), (300, 0, 3)):
        score, label = drawn(n, 0, 1, shift)
        file = written(tmp_path / "a.csv", score=score, label=label)
        out_file = tmp_path / "a.json"
        arguments = [file, "--cross-fit", "0", "--json", str(out_file)]
        assert main(arguments) == code
        out = capsys.readouterr().out
        found = json.loads(out_file.read_text("utf-8"))
        assert out.startswith(found["verdict"]["sentence"])
        assert "'score': the probability of the positive class (guessed)" in out
        assert found["verdict"]["exit_code"] == code
        assert "--cross-fit 0" in found["facts"]["command"]
        assert len(found["facts"]["SHA-256"]) == 64


def test_main_reports_on_a_file_that_ships_as_both_pages_show_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same one in both places."""
    pages = [(ROOT / page).read_text("utf-8") for page in ("README.md", "book/which-command.md")]
    shown = [re.findall(r"^python -m calib_audit (.+)$", text, re.MULTILINE)[0] for text in pages]
    (command,) = {line.split(" --html")[0] for line in shown}
    monkeypatch.chdir(ROOT)
    arguments = [*shlex.split(command), "--html", str(tmp_path / "report.html")]
    assert main(arguments) == 1
    sentence = capsys.readouterr().out.splitlines()[0].replace("\N{NO-BREAK SPACE}", " ")
    assert "its mean confidence is 90.1 % and its accuracy 71.8 %" in sentence
    assert "A map for each value of `length` (`PlattPerGroup`)" in sentence
    assert "`1 word`" in sentence


@pytest.mark.parametrize(("name", "expected"), [("breast_cancer", 1), ("iris", 3)])
def test_main_reports_on_data_sets_that_scikit_learn_ships(
    name: str, expected: int, tmp_path: Path
) -> None:
    """Naive Bayes is too sure of itself, which on few flowers cannot be told."""
    x, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    probs = cross_val_predict(GaussianNB(), x, y, method="predict_proba")
    names = [f"prob_{k}" for k in range(probs.shape[1])]
    file, saved, numbers = (tmp_path / f"{name}.{end}" for end in ("csv", "npz", "json"))
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([["label", *names], *np.column_stack([y, probs]).tolist()])
    status = main([str(file), "--json", str(numbers), "--save-calibrator", str(saved)])
    found = json.loads(numbers.read_text("utf-8"))
    of_label = np.maximum(probs[np.arange(len(y)), y], np.finfo(float).smallest_subnormal)
    assert found["measures"]["nll"] == pytest.approx(-np.log(of_label).mean())
    assert found["measures"]["accuracy"] == pytest.approx(accuracy_score(y, probs.argmax(axis=1)))
    assert status == expected
    best = found["recalibrators"]["best"]
    assert saved.exists() == (best is not None) == (status == 1)
    assert best is None or type(load(saved)).__name__ == best.split()[0]


def test_main_saves_no_calibrator_where_none_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = (np.random.default_rng(5).random(500) < BENT[:500]).astype(int)
    file = written(tmp_path / "a.csv", score=BENT[:500], label=label)
    main([file, "--save-calibrator", str(tmp_path / "cal.npz")])
    assert "was not written, because no calibration method clearly helps" in capsys.readouterr().out
    main([file, "--cross-fit", "0", "--save-calibrator", str(tmp_path / "cal.npz")])
    assert "was not written, because no calibration method was tried" in capsys.readouterr().out
    assert not (tmp_path / "cal.npz").exists()


def days(first: int, last: int, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    when = (columns["day"] - np.datetime64("2026-04-01")).astype(int)
    here = (when >= first) & (when < last)
    return {name: values[here] for name, values in columns.items()}


def test_main_is_a_job_of_the_night(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five quiet nights, and five in which the odds are 2.2 times as high."""
    columns = fraud()
    report(days(0, 30, columns), cross_fit=0).write(json=tmp_path / "may.json")
    found = []
    for night in (*range(30, 35), *range(50, 55)):
        of_night = days(night, night + 1, columns)
        file = written(tmp_path / "night.csv", **of_night)
        options = ["--time", "day:D", "--baseline", str(tmp_path / "may.json"), "--monitor"]
        found.append(main([file, *options, "--relative-tolerance", "0.5"]))
        line = capsys.readouterr().out
        assert line.count("\n") == 1
        assert line.startswith("An alarm on" if found[-1] == 5 else "No alarm")
    assert found[:5] == [0] * 5
    assert {*found[5:]} <= {0, 5}  # by chance a night may have few
    assert found[5:].count(5) >= 4
    # A change of the size of a smaller tolerance could not have been seen.
    quiet = report(
        days(30, 31, columns), time="day:D", baseline=tmp_path / "may.json", monitor=True
    )
    assert quiet.verdict.exit_code == 3
    assert "a change is only visible from" in quiet.verdict.sentence


@pytest.mark.parametrize(("status", "code"), [(0, 0), (2, 2), (3, 0), (5, 5)])
def test_main_takes_what_the_job_of_the_chapter_gives_it(
    status: int, code: int, tmp_path: Path
) -> None:
    """A stand-in for Python notes the arguments, which the real command line takes."""
    chapter = (ROOT / "notebooks/your-own-model.md").read_text("utf-8")
    (shown,) = re.findall(r"^```yaml\n(.*?calib_audit.*?)^```$", chapter, re.DOTALL | re.MULTILINE)
    job = yaml.safe_load(shown)
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


def test_main_says_how_many_rows_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rows", "--tolerance", "0.05", "--rate", "0.3"]) == 0
    assert capsys.readouterr().out == f"about {rows_for(0.05, 0.3):,} rows\n"
    assert main(["rows", "--rate", "1.5"]) == 2


def test_main_shows_no_error_to_who_reads_only_the_beginning(tmp_path: Path) -> None:
    """As `| head` does: status 141, which says nothing of the model."""
    file = tmp_path / "p.csv"
    file.write_text("label,score\n" + "1,0.9\n0,0.2\n" * 50)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "calib_audit", str(file), "--cross-fit", "0"],
        cwd=tmp_path,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


BAD = {
    "empty": ("", "the file is empty"),
    "no rows": ("score,label\n", "there are no rows"),
    "no head": ("0.1,1\n0.2,0\n", "expected the names of the columns in the first line"),
    "blank": ("\nscore,label\n", "the first line is empty"),
    "wrong columns": ("a,b\n1,2\n", "label, score: expected a column 'label' and one of pred"),
    "text": ("score,label\n0.5,1\nhigh,0\n", "score: expected numbers, found 'high' in row 2"),
    "percent": ("score,label\n24.5,1\n80,0\n", "found 24.5 in row 1; if these are percent"),
    "percent sign": ("score,label\n24%,1\n", "found '24%' in row 1; .* without a percent sign"),
    "logits": ("score,label\n-3.2,1\n", "found -3.2 in row 1; name columns of log-odds"),
    "decimal comma": ('score,label\n"0,5",1\n', "write numbers with a point"),
    "missing label": ("score,label\n0.5,1\n0.2,\n", "label: .* found none in row 2.*--drop"),
    "ragged": ("score,label\n0.5,1\n0.2\n", "expected 2 cells as in the head, found 1"),
    "infinite": ("score,label\ninf,1\n", "expected finite numbers"),
    "sums": ("prob_a,prob_b,label\n.5,.4,a\n", "sum to 1, found 0.9 in row 1.*--rescale"),
    "class": ("prob_a,prob_b,label\n.5,.5,c\n", r"label: expected a class \(a, b\), found 'c'"),
    "dates": ("score,label,day\n.5,1,Monday\n", "day: expected dates such as"),
    "dates as numbers": ("score,label,day\n.5,1,20260131\n", "found '20260131' in row 1"),
    "no such date": ("score,label,day\n.5,1,2026-02-30\n", "found '2026-02-30' in row 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_main_says_in_a_line_what_is_wrong_with_a_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = BAD[name]
    path = tmp_path / "bad.csv"
    path.write_text(text, "utf-8")
    options = ["--time", "day:D"] if "date" in name else []
    assert main([str(path), *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert re.search(message, err), err


def test_main_refuses_a_page_that_cannot_be_made_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert main([str(tmp_path / "none.csv"), "--html", str(tmp_path / "a.html")]) == 2
    error = capsys.readouterr().err
    assert "the page needs jinja2, which is not installed" in error
    project = tomllib.loads(
        Path(calib_audit.__file__).with_name("pyproject.toml").read_text("utf-8")
    )
    packages = {each.split(">=")[0] for each in project["project"]["dependencies"]}
    told = error.partition("pip install ")[2].partition(";")[0]
    assert {*told.split()} <= packages


@pytest.mark.parametrize("command", ["", "compare", "apply", "rows", "sql"])
def test_each_option_stands_on_a_page(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [ROOT / "calib_audit/README.md", *ROOT.glob("book/*.md"), *ROOT.glob("notebooks/*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    options = {*re.findall(r"^  (--[a-z-]+)", capsys.readouterr().out, re.MULTILINE)}
    assert len(options) > 2
    assert not [each for each in options if not re.search(rf"{each}(?![\w-])", text)]


@pytest.mark.parametrize(
    ("text", "given", "options", "python", "command"),
    [
        ("p,label\n0.5,1\n", {}, [], "with score=...", "with --score ..."),
        ("score,label\n,1\n", {}, [], "with drop=True", "with --drop"),
        ("score,label\n0.5,1\n", {"baseline": "b"}, ["--baseline", "b"], "time=...", "--time ..."),
        ("score,label\n'drop=True',1\n", {}, [], "'drop=True", "'drop=True"),
    ],
)
def test_as_options_spells_advice_as_one_asks(
    text: str,
    given: dict[str, str],
    options: list[str],
    python: str,
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=re.escape(python)) as found:
        report(path, **given)
    assert "--" not in str(found.value)
    assert main([str(path), *options]) == 2
    err = capsys.readouterr().err
    assert command in err
    assert python == command or python not in err
