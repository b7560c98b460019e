"""A saved calibrator over a file: its predictions change, and all else is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from scipy.special import expit, logit

from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.applying import apply_calibrator
from calib_utils.recalibration import (
    HistogramBinning,
    OneVersusRest,
    PlattPerGroup,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
    load,
)
from calib_utils.records import load_record
from tests.calib_audit import read_again, written
from tests.calib_audit.samples import BENT, HAPPENED, cells, two_plans


def test_apply_calibrator_puts_a_saved_map_over_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "a.csv", name=np.arange(3_000), score=BENT, label=HAPPENED)
    saved = tmp_path / "cal.npz"
    assert main([file, "--save-calibrator", str(saved)]) == 1
    assert f"{saved} contains " in capsys.readouterr().out
    new = written(tmp_path / "new.csv", name=["가", "b,c"], score=[0.2, 0.9])
    assert main(["apply", str(saved), new, "--output", str(tmp_path / "out.csv")]) == 0
    rows = read_again(tmp_path / "out.csv")
    assert [row["name"] for row in rows] == ["가", "b,c"]
    expected = load(saved).predict_proba(np.array([0.2, 0.9]))
    assert [float(row["score"]) for row in rows] == expected.tolist()
    main(["apply", str(saved), new])
    assert capsys.readouterr().out == (tmp_path / "out.csv").read_text("utf-8")
    # The file that was repaired is one that its report finds better.
    main(["apply", str(saved), file, "--output", str(tmp_path / "all.csv")])
    before, after = (report(path, cross_fit=0) for path in (file, tmp_path / "all.csv"))
    assert after.measures.nll < before.measures.nll
    assert after.verdict.outcome != "beyond"


def test_apply_calibrator_makes_probabilities_of_logits(tmp_path: Path) -> None:
    record = load_record("lenet5-cifar100", "test")
    logits = np.float64(record.logits[:500, :3])
    TemperatureScaling(2.0).save(tmp_path / "cal.npz")
    columns = {f"logit_{k}": logits[:, k] for k in range(3)}
    file = written(tmp_path / "a.csv", **columns)
    assert main(["apply", str(tmp_path / "cal.npz"), file, "--output", f"{file}.csv"]) == 0
    found = np.loadtxt(f"{file}.csv", delimiter=",", skiprows=1)
    expected = np.exp(logits / 2) / np.exp(logits / 2).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert Path(f"{file}.csv").read_text("utf-8").startswith("prob_0,prob_1,prob_2\n")


def test_apply_calibrator_makes_probabilities_of_their_logarithms(tmp_path: Path) -> None:
    TemperatureScaling(2.0, inputs="probs").save(tmp_path / "cal.npz")
    (tmp_path / "a.csv").write_text("logprob_a,logprob_b\n-0.1,-3\n-0.5,\n", "utf-8")
    out = tmp_path / "out.csv"
    given = ["apply", str(tmp_path / "cal.npz"), str(tmp_path / "a.csv"), "--output", str(out)]
    assert main(given) == 0
    rows = read_again(out)
    odds = [np.exp(-2.9), (1 - np.exp(-0.5)) / np.exp(-0.5)]
    expected = [1 / (1 + odd**0.5) for odd in odds]
    np.testing.assert_allclose([float(row["prob_a"]) for row in rows], expected, rtol=1e-6)


@pytest.mark.parametrize("form", ["parquet", "npz"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_apply_calibrator_keeps_the_type_of_the_file(dtype: str, form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    tenths = rng.integers(1, 10, 3_000)
    truth = np.array([0, 0.3, 0.1, 0.5, 0.2, 0.6, 0.4, 0.9, 0.5])
    score = (tenths / 10).astype(dtype)
    label = (rng.random(3_000) < truth[tenths - 1]).astype(int)
    two = np.stack([1 - score, score], axis=1)
    data, out = tmp_path / f"data.{form}", tmp_path / "out.csv"
    binning = HistogramBinning(10, inputs="probs")
    for method, given in (
        (binning.fit(score, label), {"score": score}),
        (
            OneVersusRest(binning, inputs="probs").fit(two, label),
            {"prob_0": two[:, 0], "prob_1": two[:, 1]},
        ),
    ):
        method.save(tmp_path / "map.npz")
        if form == "npz":
            np.savez(data, **given)
        else:
            parquet.write_table(pa.table(given), data)
        apply_calibrator(tmp_path / "map.npz", str(data), out)
        found = np.loadtxt(out, delimiter=",", skiprows=1, ndmin=2)
        expected = method.predict_proba(score if len(given) == 1 else two).reshape(3_000, -1)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_apply_calibrator_writes_csv_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TemperatureScaling(2.0).save(tmp_path / "cal.npz")
    file = written(tmp_path / "a.csv", score=[0.5])
    out = tmp_path / "out.parquet"
    assert main(["apply", str(tmp_path / "cal.npz"), file, "--output", str(out)]) == 2
    assert "expected a name that ends in .csv, found 'out.parquet'" in capsys.readouterr().err
    assert not out.exists()


def test_apply_calibrator_makes_no_two_columns_of_one_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    PlattScaling().fit(logit(BENT), HAPPENED).save(tmp_path / "cal.npz")
    file = written(tmp_path / "a.csv", score=BENT[:3], logit=logit(BENT[:3]))
    out = tmp_path / "out.csv"
    given = ["apply", str(tmp_path / "cal.npz"), file, "--score", "logit"]
    for more in ([], ["--output", str(out)]):
        assert main([*given, *more]) == 2
        said = capsys.readouterr()
        assert "it is called 'score', and the file already has such a column" in said.err
        assert said.out == ""
    assert not out.exists()


def test_apply_calibrator_finds_columns_called_as_the_classes(tmp_path: Path) -> None:
    """As scikit-learn's ``classes_`` name them, and without labels."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([1, 1, 1], 2_000)
    bent = probs**2 / (probs**2).sum(axis=1, keepdims=True)
    label = np.array(["cat", "dog", "owl"])[
        (probs.cumsum(axis=1) < rng.random((2_000, 1))).sum(axis=1)
    ]
    columns = dict(zip(["cat", "dog", "owl"], bent.T, strict=True))
    file = written(tmp_path / "a.csv", name=np.arange(2_000), **columns, label=label)
    saved = tmp_path / "cal.npz"
    assert main([file, "--save-calibrator", str(saved)]) == 1
    new = written(tmp_path / "new.csv", name=["x", "y"], age=[0.5, 61], **{
        name: column[:2] for name, column in columns.items()
    })  # fmt: skip
    out = tmp_path / "out.csv"
    assert main(["apply", str(saved), new, "--output", str(out)]) == 0
    rows = read_again(out)
    assert list(rows[0]) == ["name", "age", "cat", "dog", "owl"]
    assert [row["age"] for row in rows] == ["0.5", "61.0"]
    found = [[float(row[name]) for name in columns] for row in rows]
    np.testing.assert_allclose(found, load(saved).predict_proba(bent[:2]), rtol=1e-12)
    # Of another number of classes, or no probabilities: nothing is guessed.
    two = written(tmp_path / "two.csv", cat=[0.5, 0.2], dog=[0.5, 0.8])
    three = written(tmp_path / "three.csv", cat=[0.5], dog=[0.5], owl=[0.5])
    for path in (two, three):
        assert main(["apply", str(saved), path]) == 2


def test_apply_calibrator_finds_columns_in_another_order(tmp_path: Path) -> None:
    """Each class has a map of its own, so columns are found by their names."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet([1, 1, 1], 4_000)
    label = (truth.cumsum(axis=1) < rng.random((4_000, 1))).sum(axis=1)
    bent = truth * [1, 4, 16] / (truth * [1, 4, 16]).sum(axis=1, keepdims=True)
    columns = {f"prob_{k}": bent[:, k] for k in range(3)}
    best = report(columns | {"label": label}).calibrator
    best.save(tmp_path / "cal.npz")
    found = {}
    for order in ([0, 1, 2], [2, 0, 1]):
        new = {f"prob_{k}": bent[:5, k] for k in order}
        out = tmp_path / "out.csv"
        file = written(tmp_path / "new.csv", **new)
        main(["apply", str(tmp_path / "cal.npz"), file, "--output", str(out)])
        rows = read_again(out)
        assert list(rows[0]) == list(new)
        found[order[0]] = [[float(row[f"prob_{k}"]) for k in range(3)] for row in rows]
    assert found[2] == found[0]
    np.testing.assert_allclose(found[0], best.predict_proba(bent[:5]), rtol=1e-12)
    assert abs(best.predict_proba(bent).mean(axis=0) - truth.mean(axis=0)).max() < 0.02


RNG = np.random.default_rng(0)
VALUES = RNG.dirichlet([1, 1, 1], 300)
DRAWN = (VALUES.cumsum(axis=1) < RNG.random((300, 1))).sum(axis=1)


def fitted_on(path: Path, names: list[str], logits: bool = False) -> str:
    """A map that moves each class differently, which knows the names of its columns."""
    given = np.log(VALUES) if logits else VALUES
    frame = pytest.importorskip("pandas").DataFrame(given, columns=names)
    method = VectorScaling(inputs="logits" if logits else "probs")
    method.fit(frame, DRAWN).save(path)
    return str(path)


@pytest.mark.parametrize(
    ("fitted", "names", "order"),
    [
        (["logit_a", "logit_b", "logit_c"], ["prob_c", "prob_a", "prob_b"], [2, 0, 1]),
        (["prob_a", "prob_B", "prob_c"], ["Prob_c", "Prob_A", "Prob_b"], [2, 0, 1]),
        (["prob_a", "prob_A", "prob_c"], ["logprob_c", "logprob_A", "logprob_a"], [2, 1, 0]),
        (["a", "b", "c"], ["prob_c", "prob_a", "prob_b"], [2, 0, 1]),
        (["logit_10", "logit_2", "logit_3"], ["prob_2", "prob_3", "prob_10"], [1, 2, 0]),
        (["logit_0", "logit_1", "logit_2"], ["prob_c", "prob_a", "prob_b"], [0, 1, 2]),
        (["logit_a", "logit_b", "logit_c"], ["prob_0", "prob_1", "prob_2"], [0, 1, 2]),
    ],
)
def test_apply_calibrator_gives_each_class_its_own_map(
    fitted: list[str], names: list[str], order: list[int], tmp_path: Path
) -> None:
    """By its name, whatever stands before it; numbers alone are places."""
    saved = fitted_on(tmp_path / "cal.npz", fitted, fitted[0].startswith("logit"))
    logs = names[0].startswith("logprob")
    columns = {name: VALUES[:, k] for name, k in zip(names, order, strict=True)}
    given = {name: np.log(each) if logs else each for name, each in columns.items()}
    apply_calibrator(saved, written(tmp_path / "a.csv", **given), tmp_path / "out.csv")
    found = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    method = load(saved)
    bare = np.log(VALUES) if method.inputs == "logits" else VALUES
    np.testing.assert_allclose(found, method.predict_proba(bare)[:, order], rtol=1e-6)


def test_apply_calibrator_refuses_other_classes(tmp_path: Path) -> None:
    saved = fitted_on(tmp_path / "cal.npz", ["logit_a", "logit_b", "logit_c"])
    new = written(tmp_path / "a.csv", prob_a=[0.5], prob_b=[0.3], prob_x=[0.2])
    with pytest.raises(
        ValueError,
        match="same predictions as in the fit, 'logit_a', 'logit_b', 'logit_c', found 'prob_a', 'p",
    ):
        apply_calibrator(saved, new, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("fitted", "name", "taken"),
    [
        ("prob_b", "prob_a", False),
        ("prob_b", "logit_A", False),
        ("prob_1", "prob_0", False),
        ("confidence", "score", False),
        ("confidence", "prob_a", False),
        ("prob_b", "logit_B", True),
        ("prob_1", "prob_yes", True),
        ("prob_b", "score", True),
        ("score", "prob_b", True),
        ("score", "confidence", True),  # as beside a column called correct
        ("confidence", "sureness", True),
        ("p_v1", "p_v2", True),
    ],
)
def test_apply_calibrator_takes_one_column_unless_its_name_says_that_it_is_another(
    fitted: str, name: str, taken: bool, tmp_path: Path
) -> None:
    method = PlattScaling(inputs="probs").fit(BENT, HAPPENED)
    method.columns_ = [fitted]
    method.save(tmp_path / "cal.npz")
    new = written(tmp_path / "a.csv", **{name: [0.5, 0.25], "other": [1, 2]})
    if taken:
        apply_calibrator(tmp_path / "cal.npz", new, tmp_path / "out.csv", score=name)
        return
    with pytest.raises(ValueError, match=f"as in the fit, '{fitted}', found '{name}'; if only"):
        apply_calibrator(tmp_path / "cal.npz", new, tmp_path / "out.csv", score=name)


@pytest.mark.parametrize(
    ("fitted", "names", "which"),
    [
        ("score", ["prob_0", "prob_1"], "'prob_1'"),
        ("prob_b", ["logit_a", "logit_b", "logit_c"], "'logit_b'"),
        ("score", ["prob_yes", "prob_no"], r"\.\.\."),
    ],
)
def test_apply_calibrator_of_one_column_asks_which_of_several(
    fitted: str, names: list[str], which: str, tmp_path: Path
) -> None:
    method = PlattScaling(inputs="probs").fit(BENT, HAPPENED)
    method.columns_ = [fitted]
    method.save(tmp_path / "cal.npz")
    new = written(tmp_path / "a.csv", **{name: [1 / len(names)] for name in names})
    shown = ", ".join(map(repr, names))
    with pytest.raises(
        ValueError,
        match=f"^score: expected one column of predictions, as in the fit, found {shown}; name it "
        f"with score={which}$",
    ):
        apply_calibrator(tmp_path / "cal.npz", new)


def test_apply_calibrator_of_several_columns_does_not_take_one(tmp_path: Path) -> None:
    saved = fitted_on(tmp_path / "cal.npz", ["prob_a", "prob_b", "prob_c"])
    new = written(tmp_path / "a.csv", score=[0.5])
    with pytest.raises(ValueError, match="expected a column for each class, as in the fit, found "):
        apply_calibrator(saved, new)


def test_apply_calibrator_leaves_nothing_of_what_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    TemperatureScaling(2.0).save(tmp_path / "cal.npz")
    file = written(tmp_path / "a.csv", score=["0.5", "high"])
    out = tmp_path / "out.csv"
    assert main(["apply", str(tmp_path / "cal.npz"), file, "--output", str(out)]) == 2
    assert "found 'high' in row 2" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "cal.npz"]
    assert main(["apply", file, file]) == 2
    assert "contains no recalibrator" in capsys.readouterr().err


def test_apply_calibrator_takes_maps_of_cells(tmp_path: Path) -> None:
    data = cells(4_000)
    written(tmp_path / "a.csv", **data)
    found = report(data, group="region*product")
    found.calibrator.save(tmp_path / "maps.npz")
    given = [str(tmp_path / name) for name in ("maps.npz", "a.csv")]
    assert main(["apply", *given, "--output", str(tmp_path / "b.csv")]) == 0
    again = report(tmp_path / "b.csv", group="region*product", cross_fit=0)
    assert max(abs(part.gap) for part in again.groups["region*product"]) < 0.01


@pytest.fixture
def saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file, saved = written(tmp_path / "a.csv", **two_plans()), str(tmp_path / "plan.npz")
    assert main([file, "--group", "plan", "--save-calibrator", saved]) == 4
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.endswith(
        "contains PlattPerGroup(inputs='probs'), with a map for each value of 'plan'"
    )
    return saved


def test_apply_calibrator_gives_each_row_the_map_of_its_group(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = two_plans(2)
    new = written(tmp_path / "new.csv", **data)
    assert main(["apply", saved, new, "--output", str(tmp_path / "out.csv")]) == 0
    assert capsys.readouterr().err == ""
    before, after = (
        report(path, group="plan", cross_fit=0).groups["plan"]
        for path in (new, tmp_path / "out.csv")
    )
    assert min(abs(part.gap) for part in before) > 0.04
    assert max(abs(part.gap) for part in after) < 0.015
    scores = [float(row["score"]) for row in read_again(tmp_path / "out.csv")]
    own = load(saved).predict_proba(data["score"], groups=data["plan"])
    np.testing.assert_array_equal(scores, own)


def test_apply_calibrator_knows_a_group_in_any_spelling(tmp_path: Path) -> None:
    """Maps that were fitted in Python have groups as they were given there."""
    data = two_plans()
    score, label, plan = data["score"], data["label"], data["plan"]
    names = np.where(plan == plan[0], "true", "1.0")
    maps = PlattPerGroup(inputs="probs").fit(score, label, groups=names)
    maps.save(tmp_path / "maps.npz")
    for spelt in (names, np.where(names == "true", "True", "1")):
        new = written(tmp_path / "a.csv", score=score[:9], vip=spelt[:9])
        apply_calibrator(tmp_path / "maps.npz", new, tmp_path / "out.csv", group="vip")
        found = [float(row["score"]) for row in read_again(tmp_path / "out.csv")]
        np.testing.assert_allclose(found, maps.predict_proba(score[:9], groups=names[:9]))


def test_apply_calibrator_gives_a_new_group_the_common_map(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = written(tmp_path / "new.csv", score=[0.3, 0.3, 0.3], kind=["x", "a", "y"])
    assert main(["apply", saved, new, "--group", "kind"]) == 0
    said = capsys.readouterr()
    assert said.err == (
        "warning: kind: 2 of its groups were not in the fit, such as 'x'; their rows get the "
        "common map\n"
    )
    first, second, third = (float(line.split(",")[0]) for line in said.out.split()[1:])
    maps = load(saved)
    assert isinstance(maps, PlattPerGroup)
    common = expit(maps.slope_ * logit(0.3) + maps.intercept_)
    assert first == third == pytest.approx(common, rel=1e-12)
    assert second > common


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({}, [], "plan: there is no such column, only 'score'"),
        (
            {"plan": ["a", ""]},
            [],
            "plan: expected a value in each row, found none in row 2; fill",
        ),
        ({"plan": ["a", "b"]}, ["--group", "plam"], "did you mean 'plan'?"),
    ],
)
def test_apply_calibrator_refuses_rows_without_a_group(
    saved: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    columns: dict[str, Any],
    options: list[str],
    message: str,
) -> None:
    new = written(tmp_path / "new.csv", score=[0.3, 0.4], **columns)
    assert main(["apply", saved, new, "--output", str(tmp_path / "o.csv"), *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "o.csv").exists()


def test_apply_calibrator_asks_for_groups_where_maps_need_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = two_plans()
    score, label, plan = data["score"], data["label"], data["plan"]
    own, one = str(tmp_path / "own.npz"), str(tmp_path / "one.npz")
    PlattPerGroup(inputs="probs").fit(score, label, groups=plan).save(own)
    PlattPerGroup(inputs="probs").fit(score, label).save(one)
    new = written(tmp_path / "new.csv", score=score[:9], plan=plan[:9])
    assert main(["apply", own, new]) == 2
    assert "name the column of groups with --group" in capsys.readouterr().err
    assert main(["apply", own, new, "--group", "plan"]) == 0
    assert main(["apply", one, new]) == 0
    capsys.readouterr()
    assert main(["apply", one, new, "--group", "plan"]) == 2
    assert "found one for all, PlattPerGroup(inputs='probs')" in capsys.readouterr().err
