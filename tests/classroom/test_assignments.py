"""The four assignments: the reference gets full marks, the stub none, half an answer its share.

Here the checks are called in this process; what the sandbox adds is tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from scipy.special import softmax

from calib_utils.metrics import expected_calibration_error
from classroom.goals import ASSIGNMENTS, load, read_goals
from classroom.release import data_of, notebooks

NAMES = ["measuring", "diagnosing", "recalibrating", "lab"]
SECRETS = [b"first", b"second"]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bytes], Path]:
    """A folder with the data of an assignment."""

    @cache
    def place(name: str, secret: bytes) -> Path:
        folder = tmp_path_factory.mktemp(name)
        for file, arrays in data_of(name, secret).items():
            np.savez(folder / file, **arrays)
        return folder

    return place


def run(name: str, secret: bytes, solved: bool, pictures: bool = False) -> dict[str, Any]:
    """The names that a notebook defines when all its cells run in the current folder."""
    matplotlib.use("Agg")
    names: dict[str, Any] = {}
    for cell in notebooks(name, secret)[solved].cells:
        draws = "picture" in cell.metadata.get("tags", [])
        if cell.cell_type == "code" and (pictures or not draws):
            exec(compile(cell.source, cell.id, "exec"), names)
    return names


def marks(name: str, secret: bytes, names: dict[str, Any]) -> dict[str, list[float]]:
    """What each check gives, by question."""
    found: dict[str, list[float]] = {}
    for check in load(name).checks(secret):
        try:
            answer = names[check.function](*check.arguments)
            calls = check.own(answer) if check.own else []
            share = check.share(answer, [names[name](*arguments) for name, arguments in calls])
        except NotImplementedError:
            share = 0.0
        assert 0 <= share <= 1
        found.setdefault(check.question, []).append(share)
    return found


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_gets_full_marks(
    name: str,
    secret: bytes,
    places: Callable[[str, bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(places(name, secret))
    names = run(name, secret, solved=True)
    # Every example agrees with the reference.
    said = capsys.readouterr().out
    assert said.count(": as expected") >= len(load(name).checks(secret)) / 5
    assert "expected one of" not in said
    assert "your function gives" not in said
    found = marks(name, secret, names)
    checked = [q.name for q in read_goals(name).questions.values() if q.kind == "checked"]
    assert list(found) == checked
    assert {share for shares in found.values() for share in shares} == {1.0}


@pytest.mark.parametrize("name", NAMES)
def test_the_stub_gets_nothing_and_its_notebook_runs(
    name: str,
    places: Callable[[str, bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(places(name, SECRETS[0]))
    names = run(name, SECRETS[0], solved=False, pictures=True)
    said = capsys.readouterr().out
    assert ": not written yet" in said
    assert "as expected" not in said
    found = marks(name, SECRETS[0], names)
    assert {share for shares in found.values() for share in shares} == {0.0}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "measuring"])
def test_without_the_data_file_it_is_said_what_to_do(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        run(name, SECRETS[0], solved=False)
    assert "into the folder of this notebook" in capsys.readouterr().out


@pytest.mark.parametrize("name", [name for name in NAMES if name != "measuring"])
def test_a_second_download_has_another_name(
    name: str,
    tmp_path: Path,
    places: Callable[[str, bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [file] = places(name, SECRETS[0]).iterdir()
    (tmp_path / f"{file.stem} (1).npz").write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert "example" in run(name, SECRETS[0], solved=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_secret_gives_the_same_checks(name: str) -> None:
    first, again, other = (load(name).checks(secret) for secret in (b"x", b"x", b"y"))
    assert [(c.question, c.name, c.weight) for c in first] == [
        (c.question, c.name, c.weight) for c in again
    ]
    for one, two in zip(first, again, strict=True):
        for left, right in zip(one.arguments, two.arguments, strict=True):
            assert np.array_equal(left, right)
    changed = [
        not all(np.array_equal(a, b) for a, b in zip(c.arguments, d.arguments, strict=True))
        for c, d in zip(first, other, strict=True)
        if c.arguments
    ]
    assert changed
    assert all(changed)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_is_no_answer_breaks_a_judge(name: str) -> None:
    strange = [
        *(None, True, "text", "", [], {}, float("nan"), float("inf"), -1, 10**30),
        *([[1], [1, 2]], [[None]], {"A": 1}, {"ece": "x"}, {"split": [[1], ["a"]]}),
        *({"split": [[0.5], [1], [2]]}, {"temperature": None}, {"temperature": []}),
        *(np.zeros((0, 3)), np.zeros((2, 2, 2)), np.array(["a"]), np.array(5)),
    ]
    for check in load(name).checks(SECRETS[0]):
        for answer in strange:
            try:
                share = check.share(answer)
            except ValueError:  # a ragged list: the grader counts it as wrong
                continue
            assert share in (False, 0.0, True)


# ---- partial credit, and answers that are wrong in one way


def test_measuring_without_weights_keeps_a_part() -> None:
    secret = SECRETS[0]
    sign = load("measuring").variant(secret)["sign"]
    checks = [check for check in load("measuring").checks(secret) if check.question == "q1"]
    gaps = [sign * float(c.mean() - r.mean()) for c, r, _ in (check.arguments for check in checks)]
    assert [check.judge(gap) for check, gap in zip(checks, gaps, strict=True)] == [1, 0, 0]
    assert [check.judge(-gap) for check, gap in zip(checks, gaps, strict=True)] == [0.5, 0, 0]


@pytest.mark.parametrize("number", range(6))
def test_measuring_edges_and_classes_matter(number: int) -> None:
    """An edge put into the bin above, or the other mean over classes, fails its check."""
    secret = str(number).encode()
    module = load("measuring")
    chosen = module.variant(secret)
    checks = [check for check in module.checks(secret) if check.question == "q3"]
    edges = next(check for check in checks if "edges" in check.name)
    probs, labels, weights = edges.arguments
    assert not edges.judge(module.error(chosen, probs + 1e-12, labels, weights))
    assert edges.judge(module.error(chosen, probs - 1e-12, labels, weights))
    other = {"equal": "labels", "labels": "equal"}[chosen["class_weights"]]
    for check in checks:
        wrong = module.error({**chosen, "class_weights": other}, *check.arguments)
        assert check.judge(wrong) == 0.5  # of what one misreading costs


def cheaper(name: str, cell: str, old: str, new: str, place: Path) -> dict[str, float]:
    """The points of a reference in which one thing is wrong, by question."""
    names = run(name, SECRETS[0], solved=True)
    source = next(
        c.source
        for c in notebooks(name, SECRETS[0])[True].cells
        if c.metadata.get("question") == cell
    )
    assert source.count(old) == 1
    exec(source.replace(old, new), names)
    found, points = marks(name, SECRETS[0], names), read_goals(name).questions
    weights: dict[str, list[float]] = {}
    for check in load(name).checks(SECRETS[0]):
        weights.setdefault(check.question, []).append(check.weight)
    return {q: points[q].points * np.average(found[q], weights=weights[q]) for q in found}


@pytest.mark.parametrize(
    ("name", "cell", "old", "new", "lost"),
    [
        # One wrong sign costs half of its question, and nothing of those that build on it.
        ("measuring", "q1", "float(sign *", "float(-sign *", {"q1": 6 / 7}),
        # A forgotten argument costs what depends on it: the weights are not all of a question.
        ("measuring", "q1", "surplus / heaviness", "surplus / len(weights)", {"q1": 8 / 7}),
        ("measuring", "q3", "unmet = weights *", "unmet = 1 *", {"q3": 1}),
        ("diagnosing", "q2", "return (likelihoods", "return -(likelihoods", {"q2": 1.5}),
        ("recalibrating", "q1", ".mean())", ".sum())", {"q1": 1}),
        ("recalibrating", "q4", "(1 - share) / (n_classes - 1)", "0.0", {"q4": 1}),
        ("lab", "q4", "float(tried[np.", "3 * float(tried[np.", {"q4": 2 / 3}),
    ],
)  # fmt: skip
def test_one_mistake_costs_its_own_part_only(
    name: str,
    cell: str,
    old: str,
    new: str,
    lost: dict[str, float],
    places: Callable[[str, bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(places(name, SECRETS[0]))
    goals = read_goals(name)
    for question, points in cheaper(name, cell, old, new, Path()).items():
        of = goals.questions[question].points
        assert of - points == pytest.approx(lost.get(question, 0)), question


def test_a_wrong_sign_is_followed_but_nothing_is_not() -> None:
    """By an own wrong answer, the next one is right; by one that computes nothing, it is not."""
    module = load("measuring")
    check = next(c for c in module.checks(SECRETS[0]) if c.question == "q2")
    assert check.own is not None
    truth = check.judge.__closure__ and [
        module.gap(module.variant(SECRETS[0]), arguments) for _, arguments in check.own(None)
    ]
    assert check.share(truth, truth) == 1
    assert check.share([-gap for gap in truth], [-gap for gap in truth]) == 1
    assert check.share([-gap for gap in truth], truth) == 0
    for nothing in ([0.0] * len(truth), [np.nan] * len(truth), [None] * len(truth), []):
        assert check.share(nothing, nothing) == 0


def test_diagnosing_gives_points_a_network() -> None:
    module = load("diagnosing")
    truth = module.diagnoses(SECRETS[0])
    wrong = next(word for word in module.KINDS if word != truth["B"])
    answer = {**truth, "B": wrong}
    checks = [c for c in module.checks(SECRETS[0]) if c.question == "q3"]
    assert [check.judge(answer) for check in checks] == [True, False, True]


@pytest.mark.parametrize("number", range(8))
def test_the_networks_show_what_they_have(number: int) -> None:
    """Measured apart from the reference: each word fits, and by a margin."""
    module, secret = load("diagnosing"), str(number).encode()
    for name, kind in module.diagnoses(secret).items():
        logits, labels = module.network(secret, name)
        assert logits.shape == (2400, 20)
        probs = softmax(logits.astype(float), axis=1)
        excess = probs.max(axis=1).mean() - (probs.argmax(axis=1) == labels).mean()
        ece = expected_calibration_error(probs, labels)
        spread = np.sqrt((probs * (1 - probs)).sum(axis=0))
        gap = np.abs((probs.sum(axis=0) - np.bincount(labels, minlength=20)) / spread).max()
        if kind == "class bias":
            assert gap > 8
        else:
            assert gap < 6
            assert kind != "calibrated" or gap < 3  # as the text says
            assert (ece < 0.035) == (kind == "calibrated")
            assert (excess > 0.04) == (kind == "overconfident")
            assert (excess < -0.04) == (kind == "underconfident")


def test_a_class_beyond_three_is_common_where_a_network_is_too_sure() -> None:
    """The text says "often" of overconfident networks, and "rarely" of calibrated ones."""
    module, beyond = load("diagnosing"), {kind: [] for kind in ("overconfident", "calibrated")}
    for number in range(12):
        for name, kind in module.diagnoses(str(number).encode()).items():
            if kind in beyond:
                logits, labels = module.network(str(number).encode(), name)
                probs = softmax(logits.astype(float), axis=1)
                spread = np.sqrt((probs * (1 - probs)).sum(axis=0))
                gaps = (probs.sum(axis=0) - np.bincount(labels, minlength=20)) / spread
                beyond[kind].append(np.abs(gaps).max() > 3)
    assert np.mean(beyond["overconfident"]) > 0.3
    assert np.mean(beyond["calibrated"]) < 0.1


def test_repairs_earn_what_they_save() -> None:
    module = load("recalibrating")
    parts = module.network(SECRETS[0])
    logits, groups = parts["new_logits"], parts["new_groups"]
    judge = module.saves(parts)
    one = module.temperature(parts["fit_logits"], parts["fit_labels"])
    each = module.temperatures(parts["fit_logits"], parts["fit_labels"], parts["fit_groups"], 2)
    best = softmax(logits / each[groups][:, None], axis=1)
    assert judge(best) == 1
    assert judge(softmax(logits / one, axis=1)) == pytest.approx(module.HALF)
    assert judge(softmax(logits, axis=1)) == 0
    right = (parts["fit_logits"].argmax(axis=1) == parts["fit_labels"]).mean()
    assert judge(module.constant(right, logits)) < 0.3
    # Changed answers, rows that do not sum to one, a wrong shape, numbers that are none.
    swapped = best.copy()
    swapped[0] = swapped[0, ::-1]
    below = best.copy()
    below[0, 0] = np.nan
    for wrong in (swapped, 2 * best, best[1:], below, best.astype(str)):
        assert judge(wrong) == 0


@pytest.mark.parametrize("number", range(8))
def test_the_trick_question_has_its_trick(number: int) -> None:
    """By ECE the constant confidence wins, by NLL it loses by far."""
    module = load("recalibrating")
    parts = module.network(str(number).encode())
    each = module.temperatures(parts["fit_logits"], parts["fit_labels"], parts["fit_groups"], 2)
    right = (parts["fit_logits"].argmax(axis=1) == parts["fit_labels"]).mean()
    lazy = module.constant(right, parts["new_logits"])
    mended = softmax(parts["new_logits"] / each[parts["new_groups"]][:, None], axis=1)
    labels = parts["new_labels"]
    rows = np.arange(len(labels))
    assert expected_calibration_error(lazy, labels) < expected_calibration_error(mended, labels)
    loss = [-np.log(probs[rows, labels]).mean() for probs in (lazy, mended)]
    assert loss[0] > loss[1] + 0.15


LOOKED_UP = """
def train_and_predict(seen, seen_labels, new_images, seed):
    rows = [int(np.abs(images - image).sum(axis=1).argmin()) for image in new_images]
    return 9 * np.eye(10)[labels[rows]]
"""
NEAREST = """
def train_and_predict(seen, seen_labels, new_images, seed):
    classes = range(int(seen_labels.max()) + 1)
    means = np.array([seen[seen_labels == k].mean(axis=0) for k in classes])
    return -((new_images[:, None] - means) ** 2).sum(axis=2)
"""
WRITTEN_DOWN = """
def record():
    mine = split(len(labels), 1)
    logits = [9 * np.eye(10)[labels[rows]] for rows in mine[1:]]
    return {
        "seed": 1, "split": mine, "validation_logits": logits[0], "test_logits": logits[1],
    }
"""
NO_SEED = """
def train_and_predict(seen, seen_labels, new_images, seed, right=train_and_predict):
    return right(seen, seen_labels, new_images, 1)
"""


@pytest.mark.parametrize(
    ("changed", "q2", "q3"),
    [
        ("", 1, 1),
        (LOOKED_UP, 0, 1 / 3),  # only the split is right
        (NEAREST, 0, 1 / 3),
        (WRITTEN_DOWN, 1, 1 / 3),
        (NO_SEED, 2 / 3, 1),
    ],
)
def test_the_lab_needs_a_network(
    changed: str,
    q2: float,
    q3: float,
    places: Callable[[str, bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(places("lab", SECRETS[0]))
    names = run("lab", SECRETS[0], solved=True)
    exec(changed, names)
    found = marks("lab", SECRETS[0], names)
    assert (np.mean(found["q2"]), np.mean(found["q3"])) == pytest.approx((q2, q3))


@pytest.mark.parametrize("number", range(4))
def test_in_the_lab_means_are_no_better_than_guessing(number: int) -> None:
    module = load("lab")
    found = module.digits(str(number).encode())
    patterns = module.blobs(np.random.default_rng(number), 10)
    digits = [module.part_of(found, rows) for rows in np.split(np.arange(1797), [1200])]
    for seen, new in (patterns, digits):
        means = np.array([seen[0][seen[1] == k].mean(axis=0) for k in range(10)])
        logits = -((new[0][:, None] - means) ** 2).sum(axis=2)
        assert (logits.argmax(axis=1) == new[1]).mean() < 0.35
        assert module.trained(seen, new)(logits) == 0
        assert module.trained(seen, new)(9 * np.eye(10)[new[1]]) == 1


def test_after_the_repair_is_judged_by_the_temperature_that_is_given() -> None:
    module, secret = load("lab"), SECRETS[0]
    checks = [check for check in module.checks(secret) if check.question == "q4"]
    validation, test = checks[0].arguments[:2], checks[0].arguments[2:]
    best = float(module.TemperatureScaling().fit(*validation).temperature_)
    n_bins = module.variant(secret)["n_bins"]
    for factor, expected in [(1, [1] * 6), (1.015, [1] * 6), (1.3, [0, 1, 1, 1, 1, 1])]:
        answer = module.numbers(test, best * factor, n_bins)
        assert [float(check.judge(answer)) for check in checks] == expected


# ---- the helper that the students' notebook holds


@pytest.fixture(scope="module")
def helper() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec((ASSIGNMENTS / "helper.py").read_text("utf-8"), names)
    return names


def not_written() -> None:
    raise NotImplementedError


def fails() -> None:
    raise KeyError("logits")


EXAMPLES = [
    (lambda: 0.5, 0.5, "as expected"),
    (lambda: 0.4, 0.5, "expected 0.5\n    your function gives 0.4"),
    (lambda: None, 0.5, "expected 0.5\n    your function gives None"),
    (lambda: "x", 0.5, "expected 0.5\n    your function gives x"),
    (lambda: [1, float("nan")], [1, float("nan")], "as expected"),
    (lambda: [[1], [1, 2]], [1, 2], "expected [1, 2]"),
    (lambda: {"a": 1}, {"a": 1.0}, "as expected"),
    (lambda: {"a": 1}, {"b": 1}, "expected {'b': 1}"),
    (lambda: 1, {"b": 1}, "expected {'b': 1}"),
    (lambda: None, None, "as expected"),
    (lambda: 3, None, "expected None"),
    (not_written, 1, "not written yet"),
    (fails, 1, "KeyError: 'logits'\n    expected 1"),
]


@pytest.mark.parametrize(("function", "expected", "message"), EXAMPLES)
def test_an_example_says_what_was_expected(
    helper: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    function: Callable[[], Any],
    expected: Any,
    message: str,
) -> None:
    helper["example"](function, expected=expected)
    assert message in capsys.readouterr().out
