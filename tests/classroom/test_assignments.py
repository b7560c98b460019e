"""The four assignments: the solution gets full marks, the stub none, half an answer its share.

Here the checks are called in this process; what the sandbox adds is tested elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from calib_utils.metrics import expected_calibration_error
from calib_utils.recalibration import TemperatureScaling
from classroom.assignments.measures import binned_error, temperature
from classroom.assignments.recalibrating.reference import constant_confidence, fit_temperatures
from classroom.goals import load, read_goals
from classroom.judge import worth
from classroom.notebooks import notebook
from classroom.variants import COARSE, PUBLISHED, SHEETS, choices, secret_of, variant_of
from tests.classroom.answering import NAMES, marked, pasted, run, sheet_checks, write_data
from tests.thorough import mostly_thorough

SECRETS = [b"first", b"second"]
SECRET = SECRETS[0]
Places = Callable[[str, bytes, str], Path]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """A folder with the data of a sheet."""

    @cache
    def place(name: str, secret: bytes, sheet: str) -> Path:
        folder = tmp_path_factory.mktemp(name)
        write_data(name, secret, sheet, folder)
        return folder

    return place


def marks(name: str, secret: bytes, sheet: str, names: dict[str, Any]) -> dict[str, list[float]]:
    """What each check gives, by question."""
    found = marked(name, sheet_checks(name, secret, sheet), names)
    return {q: [row["share"] for row in question["checks"]] for q, question in found.items()}


@pytest.mark.parametrize("sheet", mostly_thorough(SHEETS, SHEETS[:1]))
@pytest.mark.parametrize("name", NAMES)
def test_the_solution_pasted_into_the_students_notebook_gets_full_marks(
    name: str,
    sheet: str,
    places: Places,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(places(name, SECRET, sheet))
    names = run(pasted(name, SECRET, sheet, of=sheet), pictures=True)
    # Every example agrees with it.
    said = capsys.readouterr().out
    assert said.count(": as expected") >= len(sheet_checks(name, SECRET, sheet)) / 5
    assert "expected one of" not in said
    assert "your function gives" not in said
    found = marks(name, SECRET, sheet, names)
    checked = [q.name for q in read_goals(name).questions.values() if q.kind == "checked"]
    assert list(found) == checked
    assert {share for shares in found.values() for share in shares} == {1.0}


@pytest.mark.parametrize("name", NAMES)
def test_the_stub_gets_nothing_and_its_notebook_runs(
    name: str,
    places: Places,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(places(name, SECRET, "0"))
    names = run(notebook(name, SECRET, "0"), pictures=True)
    said = capsys.readouterr().out
    assert ": not written yet" in said
    assert "as expected" not in said
    found = marks(name, SECRET, "0", names)
    assert {share for shares in found.values() for share in shares} == {0.0}


@pytest.mark.parametrize("name", NAMES)
def test_without_the_data_file_it_is_said_what_to_do(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        run(notebook(name, SECRET, "0"))
    assert "-0.npz beside this notebook" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_a_second_download_has_another_name(
    name: str, tmp_path: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    [file] = places(name, SECRET, "0").iterdir()
    (tmp_path / f"{file.stem} (1).npz").write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert "example" in run(notebook(name, SECRET, "0"))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_secret_gives_the_same_checks(name: str) -> None:
    made = sheet_checks.__wrapped__  # not the ones that are kept
    first, again, other = (made(name, secret, "0") for secret in (b"x", b"x", b"y"))
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
    for check in sheet_checks(name, SECRET, "0"):
        for answer in strange:
            try:
                share = check.share(answer)
            except ValueError:  # a ragged list: the grader counts it as wrong
                continue
            assert share in (False, 0.0, True)


# ---- partial credit, and answers that are wrong in one way


def of_question(name: str, question: str, sheet: str = PUBLISHED) -> list[Any]:
    return [c for c in sheet_checks(name, SECRET, sheet) if c.question == question]


@pytest.mark.parametrize("gap", ["excess", "shortfall", "ratio", "standardised", "relative"])
def test_a_gap_the_other_way_round_earns_the_same_on_each_sheet(gap: str) -> None:
    """And the hint names the cause."""
    from classroom.assignments.measuring.reference import signed_gap

    variant = {**variant_of("measuring", SECRET, "0"), "gap": gap}
    checks = load("measuring").checks(secret_of(SECRET, "0"), variant)
    checks = [check for check in checks if check.question == "q1"]

    def turned(confidences: Any, correct: Any, weights: Any) -> float:
        found = signed_gap(confidences, correct, weights, variant=variant)
        return 1 / found if gap == "ratio" else -found

    row = marked("measuring", checks, {"signed_gap": turned})["q1"]
    assert row["points"] == pytest.approx(2 * 2 / 3.5, abs=0.01)
    said = {check["hint"] for check in row["checks"] if check["failure"]}
    assert len(said) == 1
    assert "the other way round" in said.pop()


@pytest.mark.parametrize("sheet", SHEETS)
def test_probabilities_of_single_precision_cost_nothing(sheet: str) -> None:
    """A student whose probabilities are float32, in the question that builds on them."""
    from classroom.assignments.diagnosing.reference import probabilities

    variant = variant_of("diagnosing", SECRET, sheet)

    def class_gaps(scores: Any, labels: Any) -> Any:
        p = probabilities(scores, variant=variant).astype(np.float32)
        expected, came = p.sum(axis=0), np.bincount(labels, minlength=p.shape[1])
        gap = variant["gap"]
        if gap == "pearson":
            return (came - expected) / np.sqrt(expected)
        if gap == "roots":
            return 2 * (np.sqrt(came) - np.sqrt(expected))
        found = (expected - came) / np.sqrt((p * (1 - p)).sum(axis=0))
        return found if gap == "excess" else -found

    checks = of_question("diagnosing", "q2", sheet)
    assert marked("diagnosing", checks, {"class_gaps": class_gaps})["q2"]["points"] == 3


@pytest.mark.parametrize("sheet", SHEETS)
def test_measuring_edges_and_classes_matter(sheet: str) -> None:
    """An edge in another bin fails its check, and one misread choice costs half of each."""
    from classroom.assignments.measuring.reference import classwise_error

    variant = variant_of("measuring", SECRET, sheet)
    checks = of_question("measuring", "q3", sheet)
    edges = next(check for check in checks if "edges" in check.name)
    probs, labels, weights = edges.arguments
    if variant["bins"] == "edges":
        given = (labels, weights)
        assert not edges.judge(classwise_error(probs - 1e-12, *given, variant=variant))
        assert edges.judge(classwise_error(probs + 1e-12, *given, variant=variant))
    other = {"labels": "largest", "largest": "labels", "two": "labels"}[variant["classes"]]
    for check in checks:
        wrong = classwise_error(*check.arguments, variant={**variant, "classes": other})
        share, hint = worth(check, wrong)
        assert share == 0.5  # of what one misreading costs
        assert "Yours says: The class-wise error is" in hint


@pytest.mark.parametrize("sheet", SHEETS)
def test_hidden_rows_of_measuring_are_probabilities(sheet: str) -> None:
    for question in ("q3", "q4"):
        for check in of_question("measuring", question, sheet):
            probs = check.arguments[0]
            assert (probs >= 0).all(), check.name
            assert (probs <= 1).all(), check.name
            np.testing.assert_allclose(probs.sum(axis=1), 1)


@pytest.mark.parametrize("n_bins", [8, 12, 16, 20])
def test_bins_cut_by_array_split_cost_nothing_in_measuring(n_bins: int) -> None:
    """Where rows are left over, the largest gap would decide whether the cut matters."""
    variant = {**variant_of("measuring", SECRET, "0"), "bins": "mass", "n_bins": n_bins}
    for norm in ("squares", "cubes", "largest"):
        asked = {**variant, "norm": norm}
        checks = load("measuring").checks(secret_of(SECRET, "0"), asked)
        for check in [check for check in checks if check.question == "q3"]:
            probs, labels, weights = check.arguments
            errors = []
            for k, p in enumerate(probs.T):
                cut = np.array_split(np.argsort(p, kind="stable"), n_bins)
                sizes = np.array([weights[rows].sum() for rows in cut])
                sums = [(weights * (p - (labels == k)))[rows].sum() for rows in cut]
                gaps = np.abs(sums) / sizes
                power = {"squares": 2, "cubes": 3}.get(norm)
                errors.append(
                    np.average(gaps**power, weights=sizes) ** (1 / power) if power else gaps.max()
                )
            shares = [weights[labels == k].sum() for k in range(len(errors))]
            found = {
                "labels": np.average(errors, weights=shares),
                "largest": max(errors),
                "two": np.mean(sorted(errors)[-2:]),
            }
            assert check.share(float(found[asked["classes"]])) == 1, check.name


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    ("name", "all_bins", "names"),
    [
        ("diagnosing", (10, 12, 18, 20), {"error": "error", "large scores": "error"}),
        ("lab", (8, 10, 12), {"error_before": "error_before", "error_after": "error_after"}),
    ],
)
def test_an_error_with_equally_many_predictions_needs_its_bins(
    name: str, all_bins: tuple[int, ...], names: dict[str, str], number: int
) -> None:
    """And `np.array_split` may cut them."""
    secret = f"{number}".encode()
    for n_bins in all_bins:
        variant = {**variant_of(name, secret, "0"), "error": "mass", "n_bins": n_bins}
        variant["form"] = "bits"
        checks = [c for c in load(name).checks(secret_of(secret, "0"), variant) if c.name in names]
        assert len(checks) == 2
        for check in checks:
            scores, labels = check.arguments[-2:]
            answer = {"temperature": 2.0} if name == "lab" else {}
            factor = 0.5 if check.name == "error_after" else 1
            probs = 2.0**-scores if name == "diagnosing" else softmax(factor * scores, axis=1)
            said, correct = probs.max(axis=1), probs.argmax(axis=1) == labels
            gaps = (correct - said)[np.argsort(said, kind="stable")]
            by_bin = sum(abs(part.sum()) for part in np.array_split(gaps, n_bins)) / len(gaps)
            for found, share in ((by_bin, 1), (abs(gaps.mean()), 0)):
                assert check.share({**answer, names[check.name]: float(found)}) == share


def spoilt(name: str, cell: str, old: str, new: str) -> dict[str, float]:
    """The points of the published solution in which one thing is wrong, by question."""
    found = notebook(name, SECRET, PUBLISHED, solved=True)
    names = run(found)
    source = next(c.source for c in found.cells if c.metadata.get("question") == cell)
    assert source.count(old) == 1
    exec(source.replace(old, new), names)
    result = marked(name, sheet_checks(name, SECRET, PUBLISHED), names)
    return {q: question["points"] for q, question in result.items()}


@pytest.mark.parametrize(
    ("name", "cell", "old", "new", "lost"),
    [
        # One wrong sign costs half of its question, and nothing of those that build on it.
        ("measuring", "q1", "confidence - accuracy", "accuracy - confidence", {"q1": 6 / 7}),
        # A forgotten argument costs what depends on it: the weights are not all of a question.
        ("measuring", "q1", "(correct, weights=weights)", "(correct)", {"q1": 8 / 7}),
        ("measuring", "q3", "bincount(place, weights)", "bincount(place)", {"q3": 1}),
        ("diagnosing", "q2", "(expected - observed)", "(observed - expected)", {"q2": 1.5}),
        ("recalibrating", "q1", ".mean()", ".sum()", {"q1": 1}),
        ("recalibrating", "q4", "(1 - confidence)", "0 * (1 - confidence)", {"q4": 1}),
        ("lab", "q4", "return tried", "return 3 * tried", {"q4": 2 / 3}),
        # One image too many in a part: half of the split, and only the split of the record.
        ("lab", "q1", "* first // 100", "* first // 100 + 1", {"q1": 0.8, "q3": 1}),
        ("lab", "q1", "default_rng(seed)", "default_rng()", {"q1": 0.4}),
    ],
)  # fmt: skip
def test_one_mistake_costs_its_own_part_only(
    name: str,
    cell: str,
    old: str,
    new: str,
    lost: dict[str, float],
    places: Places,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(places(name, SECRET, PUBLISHED))
    goals = read_goals(name)
    for question, points in spoilt(name, cell, old, new).items():
        of = goals.questions[question].points
        assert of - points == pytest.approx(lost.get(question, 0), abs=0.006), question


def test_a_wrong_sign_is_followed_but_nothing_is_not() -> None:
    """By an own wrong answer, the next one is right; by one that computes nothing, it is not."""
    from classroom.assignments.measuring.reference import signed_gap, signed_gaps

    variant = variant_of("measuring", SECRET, PUBLISHED)
    check = of_question("measuring", "q2")[0]
    truth = signed_gaps(*check.arguments, variant=variant).tolist()
    assert isinstance(check.own, list)
    own = [signed_gap(*arguments, variant=variant) for _, arguments in check.own]
    assert check.share(truth, own) == 1
    assert check.share([-gap for gap in truth], [-gap for gap in own]) == 1
    assert check.share([-gap for gap in truth], own) == 0
    for nothing in (0.0, np.nan, None):
        assert check.share([nothing] * len(truth), [nothing] * len(own)) == 0
    assert check.share([], []) == 0


def test_diagnosing_gives_points_a_network() -> None:
    module = load("diagnosing")
    truth = module.diagnoses(secret_of(SECRET, PUBLISHED))
    wrong = next(word for word in module.KINDS if word != truth["B"])
    answer = {**truth, "B": wrong}
    checks = of_question("diagnosing", "q3")
    assert [check.judge(answer) for check in checks] == [True, False, True]


def deviations(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """How far the classes of a network are out, in standard deviations; above 0: too probable."""
    probs = softmax(logits, axis=1)
    spread = np.sqrt((probs * (1 - probs)).sum(axis=0))
    return (probs.sum(axis=0) - np.bincount(labels, minlength=20)) / spread


@pytest.mark.parametrize("number", range(4))
def test_the_networks_show_what_they_have(number: int) -> None:
    """Measured apart from the reference: each word fits, and by a margin."""
    module, secret = load("diagnosing"), str(number).encode()
    for name, kind in module.diagnoses(secret).items():
        logits, labels = module.network(secret, name)
        assert logits.shape == (2400, 20)
        probs = softmax(logits, axis=1)
        excess = probs.max(axis=1).mean() - (probs.argmax(axis=1) == labels).mean()
        ece = expected_calibration_error(probs, labels)
        signed = deviations(logits, labels)
        gap = np.abs(signed).max()
        # As the residuals that some sheets ask for, biased classes stand out as well.
        expected, observed = probs.sum(axis=0), np.bincount(labels, minlength=20)
        pearson = np.abs(observed - expected) / np.sqrt(expected)
        roots = 2 * np.abs(np.sqrt(observed) - np.sqrt(expected))
        if kind == "class bias":
            assert gap > 8
            # As the text says: a few on one side, nearly all others on the opposite one.
            assert (signed > 3).sum() == 3
            assert (signed < 0).sum() > 14
            assert min(pearson.max(), roots.max()) > 4
        else:
            assert gap < 6
            assert max(pearson.max(), roots.max()) < 4
            assert kind != "calibrated" or gap < 3  # as the text says
            assert (ece < 0.035) == (kind == "calibrated")
            assert (excess > 0.04) == (kind == "overconfident")
            assert (excess < -0.04) == (kind == "underconfident")


def test_a_class_beyond_three_is_common_where_a_network_is_too_sure() -> None:
    """The text says that overconfident networks may have one, and calibrated ones rarely do."""
    module, beyond = load("diagnosing"), {kind: [] for kind in ("overconfident", "calibrated")}
    for number in range(12):
        for name, kind in module.diagnoses(str(number).encode()).items():
            if kind in beyond:
                logits, labels = module.network(str(number).encode(), name)
                beyond[kind].append(np.abs(deviations(logits, labels)).max() > 3)
    assert np.mean(beyond["overconfident"]) > 0.3
    assert np.mean(beyond["calibrated"]) < 0.1


def parts_of(module: Any, secret: bytes) -> tuple[tuple[Any, ...], Any, Any, np.ndarray]:
    """What a recalibration is fitted on, the new logits and groups, and each temperature."""
    parts = module.network(secret)
    fit = tuple(parts[f"fit_{name}"] for name in ("logits", "labels", "groups"))
    each = fit_temperatures(*fit, 2, variant=module.NLL)
    return fit, parts["new_logits"], parts["new_groups"], each


@pytest.mark.parametrize("wanted", ["all", "confidence", "risk", "two", "three"])
def test_repairs_earn_what_they_save(wanted: str) -> None:
    module = load("recalibrating")
    variant = {"wanted": wanted, "loss": "nll", "constant": "accuracy", "rest": "equal"}
    fit, logits, groups, each = parts_of(module, SECRET)
    judge = module.saves(module.network(SECRET), variant)

    def asked(probs: np.ndarray) -> np.ndarray:
        best = probs.max(axis=1)
        two = np.stack([1 - best, best], axis=1)
        second = np.partition(probs, -2, axis=1)[:, -2]
        three = np.stack([best, second, np.abs(1 - best - second)], axis=1)
        return {**{"all": probs, "confidence": best, "risk": 1 - best, "two": two, "three": three}}[
            wanted
        ]

    one = TemperatureScaling().fit(fit[0], fit[1]).temperature_
    best = asked(softmax(logits / each[groups][:, None], axis=1))
    assert judge(best) == 1
    assert judge(asked(softmax(logits / one, axis=1))) == pytest.approx(module.HALF, abs=1e-3)
    assert judge(asked(softmax(logits, axis=1))) == 0
    even = constant_confidence(*fit, logits, groups, variant=variant)
    assert judge(asked(even)) < module.HALF
    # Rows that do not sum to one, a wrong shape, numbers that are none.
    below = best.copy()
    below.flat[0] = np.nan
    for wrong in (2 * best, best[1:], below, best.astype(str)):
        assert judge(wrong) == 0
    if wanted == "all":  # a changed prediction
        swapped = best.copy()
        swapped[0] = swapped[0, ::-1]
        assert judge(swapped) == 0


@pytest.mark.parametrize("loss", ["nll", "brier", "binary", "spherical", "yesno"])
def test_one_temperature_for_all_earns_half_by_the_loss_of_the_sheet(loss: str) -> None:
    module, variant = load("recalibrating"), variant_of("recalibrating", SECRET, PUBLISHED)
    checks = module.checks(secret_of(SECRET, PUBLISHED), {**variant, "loss": loss})
    for check in [check for check in checks if check.question == "q3"]:
        z, y, groups, logits, new_groups = check.arguments
        way = {"loss": loss, "parameter": "temperature"}
        each = fit_temperatures(z, y, groups, 2, variant=way)[new_groups]
        one = fit_temperatures(z, y, 0 * groups, 1, variant=way)
        earned = [check.judge(softmax(logits / t, axis=1)) for t in (1, one, each[:, None])]
        assert earned == [0, pytest.approx(module.HALF, abs=0.05), 1]


def test_the_cell_that_compares_shows_the_trick_on_each_sheet(
    places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The constant loses by the log loss in each split, and wins by the ECE in most of them."""
    from classroom.assignments.recalibrating.reference import asked_of

    monkeypatch.chdir(places("recalibrating", SECRET, PUBLISHED))
    names = run(notebook("recalibrating", SECRET, PUBLISHED, solved=True))
    all_classes = names["recalibrate"]
    for wanted in ("all", "confidence", "risk", "two", "three"):

        def recalibrate(*given: Any, variant: dict[str, str] = {"wanted": wanted}) -> Any:  # noqa: B006
            return asked_of(all_classes(*given), variant=variant)

        names |= {"wanted": wanted, "recalibrate": recalibrate}
        capsys.readouterr()
        for seed in range(6):
            names["both"](seed)
        said = re.findall(r"log loss ([\d.]+), ECE ([\d.]+)%", capsys.readouterr().out)
        mended, lazy = np.array(said, dtype=float).reshape(6, 2, 2).transpose(1, 0, 2)
        assert (mended[:, 0] < lazy[:, 0]).all(), wanted
        assert (mended[:, 1] > lazy[:, 1]).sum() > 3, wanted


@pytest.mark.parametrize("number", range(4))
def test_the_trick_question_has_its_trick(number: int) -> None:
    """By ECE a constant confidence wins, by the log loss it loses, whichever is asked."""
    module, secret = load("recalibrating"), str(number).encode()
    fit, logits, groups, each = parts_of(module, secret)
    correct = logits.argmax(axis=1) == module.network(secret)["new_labels"]
    mended = softmax(logits / each[groups][:, None], axis=1).max(axis=1)
    for constant in ("accuracy", "group", "laplace"):
        variant = {"constant": constant, "rest": "equal"}
        lazy = constant_confidence(*fit, logits, groups, variant=variant).max(axis=1)
        eces, losses = [], []
        for confidences in (lazy, mended):
            two = np.stack([1 - confidences, confidences], axis=1)
            how = {"bins": "width", "norm": "mean", "n_bins": 15}
            eces.append(binned_error(confidences, correct, np.ones(len(two)), **how))
            losses.append(-np.log(two[np.arange(len(two)), correct.astype(int)]).mean())
        assert eces[0] < eces[1]
        assert losses[0] > losses[1] + 0.04


def test_a_tie_of_the_two_largest_logits_is_no_division_by_zero() -> None:
    fit = (np.eye(3), np.arange(3), np.zeros(3, dtype=int))
    tied = np.array([[1.0, 2.0, 2.0], [2.0, 2.0, 1.0]])
    variant = {"constant": "laplace", "rest": "second"}
    found = constant_confidence(*fit, tied, np.zeros(2, dtype=int), variant=variant)
    np.testing.assert_allclose(found, [[0, 0.8, 0.2], [0.8, 0.2, 0]])


LOOKED_UP = """
def train_and_predict(seen, told, new_images, seed):
    rows = [int(np.abs(images - image).sum(axis=1).argmin()) for image in new_images]
    return 9 * np.eye(10)[labels[rows]]
"""


def test_what_was_looked_up_in_the_file_is_no_network(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither new images nor new numbers for the classes stand there."""
    monkeypatch.chdir(places("lab", SECRET, PUBLISHED))
    names = run(notebook("lab", SECRET, PUBLISHED, solved=True))
    exec(LOOKED_UP, names)
    found = marks("lab", SECRET, PUBLISHED, names)
    assert not any(found["q2"])
    assert found["q3"] == [1, 0, 0]  # only the split is right


@pytest.mark.parametrize("number", range(2))
def test_in_the_lab_means_are_hardly_better_than_guessing(number: int) -> None:
    module = load("lab")
    found = module.digits(str(number).encode())
    patterns = module.blobs(np.random.default_rng(number), 10)
    digits = [module.part_of(found, rows) for rows in np.split(np.arange(1797), [1200])]
    for seen, new in (patterns, digits):
        means = np.array([seen[0][seen[1] == k].mean(axis=0) for k in range(10)])
        logits = -((new[0][:, None] - means) ** 2).sum(axis=2)
        assert (logits.argmax(axis=1) == new[1]).mean() < 0.35
        for way in choices("lab")["annotation"]:
            assert module.trained(seen, new, way)(logits) == 0
            assert module.trained(seen, new, way)(9 * np.eye(10)[new[1]]) == 1


def test_after_the_repair_is_judged_by_the_temperature_that_is_given() -> None:
    from classroom.assignments.lab.reference import reported

    checks, variant = of_question("lab", "q4"), variant_of("lab", SECRET, PUBLISHED)
    validation, test = checks[0].arguments[:2], checks[0].arguments[2:]
    best = float(TemperatureScaling().fit(*validation).temperature_)
    for factor, expected in [(1, [1] * 6), (1.015, [1] * 6), (1.3, [0, 1, 1, 1, 1, 1])]:
        answer = reported(*test, best * factor, variant=variant)
        assert [float(check.judge(answer)) for check in checks] == expected


@pytest.mark.parametrize("name", ["recalibrating", "lab"])
def test_a_temperature_by_another_loss_may_also_be_a_coarse_one_by_the_right_one(name: str) -> None:
    key = "one group" if name == "recalibrating" else "temperature"
    way = {"loss": "yesno", "parameter": "temperature"}
    variant = {**variant_of(name, SECRET, "0"), **way}
    checks = load(name).checks(secret_of(SECRET, "0"), variant)
    check = next(check for check in checks if check.name == key)
    by_loss = {loss: temperature(*check.arguments[:2], loss) for loss in choices(name)["loss"]}
    found = max(by_loss.values(), key=lambda T: abs(T / by_loss["yesno"] - 1))
    share, hint = worth(check, {key: found} if name == "lab" else [found])
    assert share == (0 if name == "lab" else 0.5)
    assert hint.endswith(f"{choices(name)['loss']['yesno']} {COARSE}")


def test_what_needs_no_training_is_asked_before_what_does() -> None:
    """A lab whose training uses up the time keeps the points of its report."""
    functions = [check.function for check in sheet_checks("lab", SECRET, "0")]
    trains = [function in ("train_and_predict", "record") for function in functions]
    assert trains == sorted(trains)


@pytest.mark.parametrize("way", ["random", "class", "writer", "within"])
def test_a_split_is_as_the_sheet_asks(way: str) -> None:
    """Exact, random, and for no other way; one unit too many is half right."""
    from classroom.assignments.lab.reference import split

    module, rng = load("lab"), np.random.default_rng(0)
    variant = {"split": way, "first": 50}
    labels, writers = rng.integers(0, 7, 300), rng.integers(0, 30, 300)
    for other in ("random", "class", "writer", "within"):
        parts = split(labels, writers, 0, variant={**variant, "split": other})
        assert module.follows_rule(parts, labels, writers, variant) == (other == way)
    given, parts = (labels, writers, variant), split(labels, writers, 0, variant=variant)
    moved = [np.append(parts[0], parts[1][0]), parts[1][1:], parts[2]]
    assert not module.follows_rule(moved, *given)
    assert module.follows_rule(moved, *given, slack=1) == (way != "writer")
    for wrong in ([*parts, parts[0]], [parts[0], parts[0], parts[2]], None, [[0], [1], "x"]):
        assert not module.follows_rule(wrong, *given, slack=1)
    # The first of everything, in order, is no random part.
    units = writers if way == "writer" else np.arange(300)
    kinds = {"class": labels, "within": writers}.get(way, np.zeros(300, dtype=int))
    plain: list[list[int]] = [[], [], []]
    for k in np.unique(kinds):
        ordered = np.unique(units[kinds == k])
        first, second = len(ordered) // 2, (len(ordered) - len(ordered) // 2) // 2
        for part, chosen in zip(plain, np.split(ordered, [first, first + second]), strict=True):
            part += np.flatnonzero(np.isin(units, chosen)).tolist()
    assert not module.follows_rule(plain, *given)
