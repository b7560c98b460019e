"""Predictions from files and data frames: what is guessed, and what bad files are told."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import sys
import tracemalloc
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calib_records
from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.column_types import as_array
from calib_audit.columns import choose_columns
from calib_audit.pairing import pair
from calib_audit.rows import RowsReader
from calib_audit.source import open_source
from calib_audit.words import roles
from calib_utils import metrics
from calib_utils._files import write_text
from tests.calib_audit import DECIDED

RNG = np.random.default_rng(0)
SCORE = RNG.random(300).round(4)
LABEL = (RNG.random(300) < SCORE).astype(int)
PROBS = RNG.dirichlet([1, 2, 3], 300)
CLASS = np.array([RNG.choice(3, p=row) for row in PROBS])
STORED = Path(calib_records.__file__).parent / "predictions"
NAMES = np.array(["cat", "dog", "고양이"])


def csv(path: Path, head: str, *columns: object, encoding: str = "utf-8") -> Path:
    rows = zip(*map(list, columns), strict=True)  # type: ignore[call-overload]
    text = "\n".join([head, *(",".join(map(str, row)) for row in rows)])
    path.write_bytes((text + "\n").encode(encoding))
    return path


def rows_of(data: object, drop: bool = False, rescale: bool = False, **named: object) -> object:
    source = open_source(data)
    reader = RowsReader(source, choose_columns(source.columns, **named), drop, rescale)  # type: ignore[arg-type]
    (rows,) = reader.blocks()
    reader.counts.check(source.name, reader.columns)
    return rows


def test_a_file_of_many_columns_is_read(tmp_path: Path) -> None:
    """Comparing each of 200,000 names with all others took hours."""
    pytest.importorskip("pyarrow")
    head = ["label", "score", *(f"feature_{k}" for k in range(60_000))]
    rows = [f"{k % 2},0.5{',1' * 60_000}" for k in range(2)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(head), *rows, ""]))
    assert rows_of(tmp_path / "wide.csv").labels.tolist() == [0, 1]


class TestGuess:
    @pytest.mark.parametrize(
        ("head", "kind", "label"),
        [
            ("id,label,score", "score", "label"),
            ("Label,Score", "score", "Label"),
            ("label,logit", "logit", "label"),
            ("label,prob_a,prob_b", "probs", "label"),
            ("label,logit_0,logit_1,logit_2", "logits", "label"),
            ("correct,confidence", "confidence", "correct"),
            ("labels,prob", "score", "labels"),
            ("correct,score", "confidence", "correct"),
        ],
    )
    def test_from_the_names(self, head: str, kind: str, label: str) -> None:
        found = choose_columns(head.split(","))
        assert (found.kind, found.label) == (kind, label)
        assert any("(guessed)" in line for line in roles(found))

    def test_what_is_said_is_not_guessed(self) -> None:
        head = ["y", "p_cat", "p_dog", "w", "site", "when"]
        found = choose_columns(
            head, label="y", score="p_*", weight="w", group=["site"], time="when:M"
        )
        assert found.classes == ("cat", "dog")
        assert (found.unit, found.time, found.groups) == ("M", "when", ("site",))
        assert not any("guessed" in line for line in roles(found))

    def test_one_class_of_several(self) -> None:
        found = choose_columns(["label", "prob_cat", "prob_dog"], positive="dog")
        assert (found.kind, found.scores) == ("score", ("prob_dog",))
        rows = rows_of(
            {"label": NAMES[CLASS], "prob_cat": PROBS[:, 0], "prob_dog": PROBS[:, 1]},
            positive="dog",
        )
        assert rows.labels.tolist() == (CLASS == 1).astype(int).tolist()

    def test_numbers_that_share_digits(self) -> None:
        head = ["label", "p_10", "p_11", "p_12"]
        assert choose_columns(head, score="p_*").classes == ("10", "11", "12")
        head = ["label", "p_cat", "p_cow"]
        assert choose_columns(head, score="p_*").classes == ("cat", "cow")

    @pytest.mark.parametrize(
        ("head", "named", "message"),
        [
            ("a,b", {}, "label, score: expected a column .label..*found 'a', 'b'.*score="),
            ("score,y", {}, "label: expected a column 'label', found 'score', 'y'.*label="),
            ("score,label", {"score": "scor"}, "scor: there is no such column.*mean 'score'"),
            ("label,prob_a", {}, "two columns prob_… or more, found 'prob_a' alone"),
            ("score,label,date", {"time": "date:Q"}, "time: expected a unit"),
            ("label,prob_a,prob_b", {"classes": ["x"]}, "classes: expected 2 names"),
            (
                "label,prob_cat,prob_dog",
                {"classes": ["dog", "cat"]},
                "classes: expected the order of the columns, 'cat', 'dog', found 'dog' for 'prob_c",
            ),
            ("label,prob_a,prob_b,prob_c", {"classes": ["x", "c", "y"]}, "found 'c' for 'prob_b'"),
            ("label,prob_a,prob_b", {"positive": "c"}, "positive: expected one of 'a', 'b'"),
            ("label,score", {"classes": ["a", "b"]}, "classes: expected columns of several"),
        ],
    )
    def test_what_cannot_be_guessed(self, head: str, named: dict, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            choose_columns(head.split(","), **named)


class TestFiles:
    def test_all_kinds_give_the_same_rows(self, tmp_path: Path) -> None:
        path = csv(tmp_path / "a.csv", "score,label", SCORE, LABEL)
        np.savez(tmp_path / "a.npz", score=SCORE, labels=LABEL)
        semicolons = tmp_path / "b.csv"
        semicolons.write_text("\ufeff" + path.read_text().replace(",", ";"), "utf-8")
        frames = [path, tmp_path / "a.npz", semicolons, {"score": SCORE, "label": LABEL == 1}]
        for frame in frames:
            rows = rows_of(frame)
            assert rows.probs.tolist() == SCORE.tolist()
            assert rows.labels.tolist() == LABEL.tolist()

    def test_frames_and_parquet(self, tmp_path: Path) -> None:
        data = {
            "label": NAMES[CLASS],
            **{f"prob_{name}": PROBS[:, k] for k, name in enumerate(NAMES)},
        }
        frames: list[object] = [data]
        if find_spec("pandas"):
            pandas = importlib.import_module("pandas")
            frames.append(pandas.DataFrame(data))
        if find_spec("polars"):
            polars = importlib.import_module("polars")
            frames += [polars.DataFrame(data), polars.LazyFrame(data)]
        if find_spec("pyarrow"):
            import pyarrow.parquet

            table = pyarrow.table(data)
            encoded = table.set_column(0, "label", table["label"].dictionary_encode())
            pyarrow.parquet.write_table(encoded, tmp_path / "a.parquet")
            frames += [table, tmp_path / "a.parquet"]
        for frame in frames:
            rows = rows_of(frame)
            assert np.array_equal(rows.probs, PROBS)
            assert rows.labels.tolist() == CLASS.tolist()

    def test_the_clock_that_a_zone_shows(self, tmp_path: Path) -> None:
        """Ten at night in Greenwich is the next day in Seoul."""
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        when = pyarrow.array(
            np.array(["2026-01-31T22"] * 2, "datetime64[s]"), pyarrow.timestamp("s", "Asia/Seoul")
        )
        table = pyarrow.table({"score": [0.5, 0.4], "label": [1, 0], "when": when})
        parquet.write_table(table, tmp_path / "a.parquet")
        for frame in (table, tmp_path / "a.parquet"):
            assert (
                as_array(rows_of(frame, time="when").times).astype(str).tolist()
                == ["2026-02-01"] * 2
            )

    @pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
    def test_without_its_package(
        self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / name).write_bytes(b"PAR1")
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(
            ModuleNotFoundError, match=r"needs pyarrow.*pip install .*pyarrow.*; or give NPZ"
        ):
            open_source(tmp_path / name)

    def test_the_standard_input(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = csv(tmp_path / "a.csv", "score,label", SCORE, LABEL)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        source = open_source("-")
        assert source.sha256 == open_source(path).sha256
        assert source.name == "standard input"
        for _ in range(2):  # as where there are weights
            (block,) = source.blocks(["label"])
            assert len(block["label"]) == 300

    def test_arrays_of_two_dimensions(self) -> None:
        logits = 2 * np.log(PROBS) + 5
        rows = rows_of({"logits": logits, "labels": CLASS})
        expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(rows.probs, expected, rtol=1e-12)

    def test_what_else_is_in_a_file_is_left_alone(self, tmp_path: Path) -> None:
        images, names = np.zeros((300, 2, 2)), ["no", "yes"]
        np.savez(tmp_path / "a.npz", images=images, names=names, score=SCORE, label=LABEL)
        assert rows_of(tmp_path / "a.npz").probs.tolist() == SCORE.tolist()

    def test_a_record_of_the_course(self) -> None:
        (path,) = STORED.glob("lenet5-cifar100*test.npz")
        rows = rows_of(path)
        assert rows.probs.shape == (10_000, 100)

    def test_classes_by_name_by_number_and_as_told(self, tmp_path: Path) -> None:
        head = "prob_cat,prob_dog,prob_고양이,label"
        by_name = csv(tmp_path / "a.csv", head, *PROBS.T, NAMES[CLASS])
        by_number = csv(tmp_path / "b.csv", head, *PROBS.T, CLASS)
        told = csv(tmp_path / "c.csv", "prob_0,prob_1,prob_2,label", *PROBS.T, NAMES[CLASS])
        for found in (rows_of(by_name), rows_of(by_number), rows_of(told, classes=list(NAMES))):
            assert found.labels.tolist() == CLASS.tolist()

    def test_korean_names(self, tmp_path: Path) -> None:
        path = csv(tmp_path / "예측.csv", "확률,정답", SCORE, np.where(LABEL, "참", "거짓"))
        rows = rows_of(path, score="확률", label="정답", positive="참")
        assert rows.labels.tolist() == LABEL.tolist()
        found = json.loads(
            report(path, score="확률", label="정답", positive="참", **DECIDED).json()
        )
        assert found["facts"]["data"] == "예측.csv"


BAD = {
    "empty": ("", "the file is empty"),
    "no rows": ("score,label\n", "there are no rows"),
    "no head": ("0.1,1\n0.2,0\n", "expected the names of the columns in the first line"),
    "blank": ("\nscore,label\n", "the first line is empty"),
    "wrong columns": ("a,b\n1,2\n", "label, score: expected a column 'label' and one of pred"),
    "text": ("score,label\n0.5,1\nhigh,0\n", "score: expected numbers, found 'high' in row 2"),
    "percent": ("score,label\n24.5,1\n80,0\n", "found 24.5 in row 1; if these are percent"),
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
def test_a_bad_file_is_told_what_is_wrong(
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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "score,label\n가,1".encode("cp949"), "expected UTF-8"),
        ("a.csv", b"score,label\n\x00\x00,1\n", "expected numbers|not valid CSV"),
        ("a.npz", b"not a zip", "the file is damaged .*write it again"),
        ("a.xlsx", b"PK", "expected a .csv, .parquet or .npz"),
    ],
)
def test_a_file_of_another_kind(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        report(tmp_path / name)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("(100000, 100000), ", "40 GB"),
        ("(1" + "0" * 30 + ",), ", "more than there is"),
        ("(-2,), ", "less than nothing"),
        ("(2,", "a head that is not closed"),
    ],
)
def test_an_array_that_is_not_what_it_says(said: str, name: str, tmp_path: Path) -> None:
    content = io.BytesIO()
    np.save(content, np.zeros(2))
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {said}}}".ljust(117) + "\n"
    if name.startswith("a head"):
        head = head.replace("}", " ")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("label.npy", content.getvalue())
        file.writestr("score.npy", content.getvalue()[:10] + head.encode() + bytes(16))
    with pytest.raises(ValueError, match=r"a.npz: the file is damaged"):
        rows_of(tmp_path / "a.npz")


def test_no_array_is_held_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that nobody asks for is not read."""
    logits = np.zeros((100_000, 16), "float16")
    logits[:, 3] = np.arange(100_000) % 7
    others = {"images": np.zeros((10, 1_000, 1_000), "uint8"), "by_column": logits[:9].T.copy().T}
    label = np.arange(100_000) % 16
    np.savez_compressed(tmp_path / "a.npz", logits=logits, label=label, **others)
    monkeypatch.setattr("calib_audit.source._CELLS", 100_000)
    tracemalloc.start()
    source = open_source(tmp_path / "a.npz")
    at = 0
    for block in source.blocks(["label", "logit_3"]):
        end = at + len(block["label"])
        assert np.array_equal(block["label"], label[at:end])
        assert np.array_equal(block["logit_3"], logits[at:end, 3])
        at = end
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert at == 100_000
    assert most < 3_000_000
    (block,) = source.blocks(["by_column_0", "by_column_3"])
    assert block["by_column_3"].tolist() == logits[:9, 3].tolist()


def test_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.csv")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    with pytest.raises(ValueError, match="found a folder"):
        open_source(tmp_path)
    with pytest.raises(ValueError, match="expected a path, a data frame or a dictionary"):
        report(3)
    with pytest.raises(ValueError, match="expected columns of one length"):
        report({"score": [0.5, 0.5], "label": [1]})


@pytest.mark.parametrize("positive", ["Yes", "1", "true"])
def test_a_positive_label_that_never_occurs(positive: str, tmp_path: Path) -> None:
    """All else would be negative, and the verdict wrong without a word."""
    path = csv(tmp_path / "a.csv", "score,label", SCORE, np.where(LABEL, "yes", "no"))
    with pytest.raises(ValueError, match=r"positive: expected a label that occurs.*'no', 'yes'"):
        rows_of(path, positive=positive)


def test_a_positive_label_may_be_rare(tmp_path: Path) -> None:
    none = csv(tmp_path / "b.csv", "score,label", SCORE, ["no"] * 300)
    found = report(none, positive="yes", **DECIDED)
    assert "no row has the label 'yes'" in found.read


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"score": "label"}, "found 'label' for both"),
        ({"tolerance": "2"}, "tolerance: expected above 0"),
        ({"prices": (1, 2, 3)}, "prices: expected two numbers"),
        ({"classes": "ab"}, "classes: expected several in a list"),
        ({"group": 3}, "3: there is no such column"),
        ({"baseline": "base.json"}, "baseline: expected together with time="),
    ],
)
def test_what_cannot_be_asked_for(named: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        report({"score": SCORE, "label": LABEL}, **({"cross_fit": 0} | named))


def test_recalibrators_are_not_judged_on_the_same_logits_up_to_a_constant() -> None:
    logits = np.random.default_rng(0).normal(size=(200, 3))
    named = {"logits": logits, "label": np.arange(200) % 3}
    with pytest.raises(ValueError, match="fit: expected rows that the report"):
        report(named, fit=named | {"logits": logits + 1})


def test_no_device_is_replaced(tmp_path: Path) -> None:
    """As administrator one would have no /dev/null any more."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "all of it")
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(ValueError, match="found a folder"):
        write_text(tmp_path, "")


def test_only_real_numbers_that_are_there() -> None:
    with pytest.raises(ValueError, match="expected numbers, found complex128"):
        rows_of({"score": SCORE + 1j, "label": LABEL})
    hidden = np.ma.masked_where(SCORE > 0.9, SCORE)
    with pytest.raises(ValueError, match="score: expected a value in each row"):
        rows_of({"score": hidden, "label": LABEL})
    rows = rows_of({"score": hidden, "label": LABEL}, drop=True)
    assert rows.probs.tolist() == SCORE[SCORE <= 0.9].tolist()


def test_the_confidence_in_predictions(tmp_path: Path) -> None:
    """It is not the probability of a class, so no prediction is made at one half."""
    data = {"confidence": SCORE, "correct": LABEL}
    found = report(data, **DECIDED)
    assert found.measures.accuracy == LABEL.mean()
    assert "its mean confidence is" in found.verdict.sentence
    assert "at one half" not in found.text()
    assert pair(data, data | {"confidence": SCORE**2}, {}).correct == (0, 0, 1.0)
    with pytest.raises(ValueError, match=r"the same labels.*different classes need a column for"):
        pair(data, data | {"correct": 1 - LABEL}, {})


class TestColumnsCalledAsTheLabels:
    """As ``DataFrame(predict_proba(x), columns=clf.classes_)`` has them."""

    @staticmethod
    def frame(names: list, seed: int = 0) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        probs = rng.dirichlet(np.ones(len(names)), 300)
        k = (probs.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
        return dict(zip(map(str, names), probs.T, strict=True)) | {"label": np.array(names)[k]}

    @pytest.mark.parametrize("names", [["cat", "cow", "dog"], [3, 5, 8], ["no", "yes"]])
    def test_give_the_report_of_named_ones(self, names: list, tmp_path: Path) -> None:
        data = self.frame(names)
        usual = {f"prob_{key}" if key != "label" else key: data[key] for key in data}
        expected = report(usual, **DECIDED)
        path = tmp_path / "a.csv"
        keys = [*data, "age", "half"]  # the others are not of the model
        more = data | {"age": np.arange(300), "half": np.full(300, 0.5)}
        csv(path, ",".join(["", *keys]), range(300), *more.values())
        for source in (data, path):
            found = report(source, **DECIDED)
            assert found.measures == expected.measures
            assert found.columns.classes == tuple(map(str, names))
            assert f"order of the columns: {', '.join(map(str, names))}" in "".join(found.read)
        assert any("(guessed)" in line for line in found.read)

    def test_of_a_frame_whose_columns_are_numbers(self) -> None:
        """As pandas names them for integer classes."""
        pandas = pytest.importorskip("pandas")
        for classes in ([0, 1, 2], [3, 1, 2]):
            label = np.array(classes)[CLASS]
            found = report(pandas.DataFrame(PROBS, columns=classes).assign(label=label))
            assert found.columns.classes == tuple(map(str, classes))
            assert found.measures.accuracy == metrics.accuracy(PROBS, CLASS)

    def test_a_class_that_the_first_rows_lack(self) -> None:
        data = self.frame(["a", "b", "c"])
        data["label"] = np.where(data["label"] == "c", "a", data["label"])
        assert report(data, **DECIDED).columns.classes == ("a", "b", "c")

    def test_labels_without_a_column(self) -> None:
        data = self.frame(["a", "b"])
        with pytest.raises(ValueError, match="one named after each label, found 'a'"):
            report(data | {"label": np.array(["a", "z"] * 150)})


def test_a_file_with_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    text = "score;label;site\n0,25;1;1,5 m\n1e-05;0;b\n,5;1;c\n1;0;d\n7,5E-1;1;e\n"
    path = tmp_path / "a.csv"
    path.write_text(text, "utf-8")
    rows = rows_of(path, group=["site"])
    assert rows.probs.tolist() == [0.25, 1e-5, 0.5, 1, 0.75]
    assert as_array(rows.groups["site"]).tolist() == ["1,5 m", "b", "c", "d", "e"]
    path.write_text(text.replace(";", "\t"), "utf-8")
    assert rows_of(path).probs.tolist() == [0.25, 1e-5, 0.5, 1, 0.75]
    path.write_text("score;label\n0,25;1\n0.5;0\n", "utf-8")
    with pytest.raises(ValueError, match=r"found '0,25' in row 1; write numbers with a point"):
        report(path)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (1.0002, "found 1.0002 in row 1; rounding does not explain that"),
        (2, "found 2 in row 1; rounding does not explain that"),
        (2.01, "if these are percent"),
        (100, "if these are percent"),
        (100.01, "name columns of log-odds or logits logit"),
        (-1e-9, "name columns of log-odds or logits logit"),
    ],
)
def test_what_a_number_above_one_may_be(score: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rows_of({"score": [score, 0.5], "label": [0, 1]})


def test_rounding_of_a_softmax_is_no_error() -> None:
    assert rows_of({"score": [1.00009, 0.5], "label": [0, 1]}).probs.tolist() == [1, 0.5]


def test_any_score_beside_correct_is_a_confidence() -> None:
    """Of language models nothing else is known; and truth values are no labels of a class."""
    known = report({"confidence": SCORE, "correct": LABEL}, **DECIDED)
    for data, named in (
        ({"score": SCORE, "correct": LABEL == 1}, {}),
        ({"p": SCORE, "Correct": LABEL == 1}, {"score": "p", "label": "Correct"}),
    ):
        found = report(data, **DECIDED, **named)
        assert found.measures == known.measures
        assert found.verdict == known.verdict


def test_classes_in_another_order() -> None:
    label = np.array(["a", "b"])[LABEL]
    one = {"prob_a": SCORE, "prob_b": 1 - SCORE, "label": label}
    other = {"prob_b": SCORE, "prob_a": 1 - SCORE, "label": label}
    with pytest.raises(ValueError, match="expected the classes a, b as in the first, found the"):
        pair(one, other, {})


@pytest.mark.parametrize(
    ("text", "given", "options", "python", "command"),
    [
        ("p,label\n0.5,1\n", {}, [], "with score=...", "with --score ..."),
        ("score,label\n,1\n", {}, [], "with drop=True", "with --drop"),
        ("score,label\n0.5,1\n", {"baseline": "b"}, ["--baseline", "b"], "time=...", "--time ..."),
        ("score,label\n'drop=True',1\n", {}, [], "'drop=True", "'drop=True"),
    ],
)
def test_advice_is_spelled_as_one_asks(
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
        report(path, **given)  # type: ignore[arg-type]
    assert "--" not in str(found.value)
    assert main([str(path), *options]) == 2
    err = capsys.readouterr().err
    assert command in err
    assert python == command or python not in err


def test_logits_that_look_like_probabilities_are_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    doubt = r"score: because of their name, the values of '{}' are taken for logits, but they look"
    data: Any
    for data in (
        {"logit": SCORE, "label": LABEL},
        {"logit": SCORE, "label": LABEL, "w": SCORE + 0.1},
        {"logits": PROBS.round(2), "label": CLASS},
    ):
        name = "logit" if "logit" in data else "logit_0"
        weight = {"weight": "w"} if "w" in data else {}
        with pytest.warns(UserWarning, match=doubt.format(name)):
            found = report(data, **DECIDED, **weight)  # type: ignore[arg-type]
        assert any(re.match(doubt.format(name), line) for line in found.read)
    path = csv(tmp_path / "a.csv", "logit,label", SCORE, LABEL)
    main([str(path), "--cross-fit", "0"])
    out, err = capsys.readouterr()
    assert err == ""
    assert "look like probabilities" in out
    recwarn.clear()
    last = np.append(SCORE[:-1], 1.01)
    few = {"logit": SCORE[:19], "label": LABEL[:19]}
    for data in ({"logit": last, "label": LABEL}, {"score": SCORE, "label": LABEL}, few):
        assert not any("look like" in line for line in report(data, **DECIDED).read)
    assert not recwarn.list


def test_the_nll_is_that_of_the_metric(tmp_path: Path) -> None:
    """Zeros and ones among them, which have one floor everywhere."""
    score = np.r_[0, 1, 0, 1, 1e-30, SCORE]
    label = np.r_[0, 1, 1, 0, 1, LABEL]
    found = report({"score": score, "label": label}, **DECIDED)
    assert found.measures.nll == pytest.approx(metrics.negative_log_likelihood(score, label))
    probs = np.vstack([[0, 0.5, 0.5], [1, 0, 0], PROBS])
    classes = np.r_[0, 2, CLASS]
    found = report({"probs": probs, "label": classes}, **DECIDED)
    expected = -np.log(np.maximum(probs[np.arange(302), classes], 5e-324)).mean()
    assert found.measures.nll == pytest.approx(expected)
    assert expected == pytest.approx(metrics.negative_log_likelihood(probs, classes))


@pytest.mark.parametrize("folds", [0, 5])
@pytest.mark.parametrize("name", ["probs", "confidence"])
def test_a_report_on_rounded_probabilities_says_what_a_zero_counts_as(
    name: str, folds: int
) -> None:
    """Recalibrators see all probabilities, and the slope those of the predicted classes."""
    rng = np.random.default_rng(0)
    logits = 4 * rng.normal(size=(400, 3))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = (probs.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    rounded = probs.round(2) / probs.round(2).sum(axis=1, keepdims=True)
    label = "correct" if name == "confidence" else "label"
    for rows in (probs, rounded):
        top = rows.max(axis=1)
        scores = {"probs": rows, "score": rows[:, 0], "confidence": top}[name]
        right = {"score": truth == 0, "confidence": rows.argmax(axis=1) == truth}.get(name, truth)
        told = [
            line
            for line in report({name: scores, label: right}, cross_fit=folds).read
            if "of the probabilities are exactly" in line
        ]
        seen = top if name == "probs" and not folds else scores
        share = np.isin(seen, [0] if seen.ndim == 2 else [0, 1]).mean()
        assert (share > 0) == (rows is rounded)
        assert len(told) == (share > 0)
        if told:
            assert f": {100 * share:.2g} % of" in told[0]
            assert "what is fitted depends on that" in told[0]


def test_what_can_be_read_only_once_is_no_column() -> None:
    for column in ((p for p in SCORE), dict.fromkeys(SCORE).keys()):
        kind = type(column).__name__
        with pytest.raises(ValueError, match=f"^score: expected an array, found {kind}"):
            report({"score": column, "label": LABEL})


EVIL = "a\x1b[2Jb\u202ec\u2066\x9bd\r\ne"


@pytest.mark.parametrize("kind", ["csv", "dictionary", "parquet"])
def test_no_cell_commands_a_terminal_or_turns_a_page(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = EVIL.replace("\r\n", " ") if kind == "csv" else EVIL
    site, answer = f"site {evil}", f"class {evil}"
    data: Any = {
        "score": SCORE,
        answer: np.where(LABEL, f"yes {EVIL}", "no"),
        site: np.array([f"ward {EVIL}", "other"])[LABEL],
    }
    if kind == "csv":
        quoted = ([f'"{cell}"' for cell in data[name]] for name in (answer, site))
        data = csv(tmp_path / "a.csv", f"score,{answer},{site}", SCORE, *quoted)
    elif kind == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table(data), tmp_path / "a.parquet")
        data = tmp_path / "a.parquet"
    plain = "a[2Jbcd e" if kind == "csv" else "a[2Jbcd  e"
    named = {"label": f"class {plain}", "positive": "yes a[2Jbcd  e", "group": f"site {plain}"}
    found = report(data, **named, **DECIDED)  # type: ignore[arg-type]
    assert [part.name for part in found.groups[f"site {plain}"]] == ["other", "ward a[2Jbcd  e"]
    for text in (found.text(), found.html(), found.json(), repr(found)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    if kind == "csv":
        assert main([str(data), "--label", f"class {plain}", "--time", f"site {plain}"]) == 2
        assert main([f"{tmp_path}/{EVIL}.csv"]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 2
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066]", err)


def test_a_row_of_a_long_file_is_named(tmp_path: Path) -> None:
    lines = ["0.5,1"] * 100_000
    lines[70_000] = "0.5"
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["score,label", "", *lines]), "utf-8")
    with pytest.raises(
        ValueError, match=r"a\.csv: expected 2 cells .* found 1 in row 70,001, '0.5'"
    ):
        report(path)
    lines[70_000] = "\xff,1"
    path.write_bytes("\n".join(["score,label", *lines]).encode("latin-1"))
    with pytest.raises(
        ValueError, match=r"a\.csv: expected UTF-8, found other bytes in row 70,001"
    ):
        report(path)


def test_cells_of_text_with_commas_quotes_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('label,score,x\r\n"a ""b"",\nc",0.5,\r\n\r\nNA,,"1"\r\n', "utf-8", newline="")
    (block,) = open_source(path).blocks(["label", "x", "score"])
    assert {name: cells.tolist() for name, cells in block.items()} == {
        "label": ['a "b",\nc', "NA"],
        "x": ["", "1"],
        "score": ["0.5", ""],
    }
    for rows in (50_000, 1_000_000):
        path.write_text('score,label\n0.5,1\n0.5,"1\n' + "0.5,1\n" * rows, "utf-8")
        with pytest.raises(ValueError, match="too long for a table; is a quotation mark left open"):
            report(path)
    path.write_text("score,label", "utf-8")  # and no end of its line
    with pytest.raises(ValueError, match="there are no rows"):
        report(path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_no_file_is_held_as_a_whole(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr("calib_audit.source._CELLS", 100_000)
    monkeypatch.setattr("calib_audit.source._BYTES", 1 << 16)
    n = 1_000_000
    score = np.random.default_rng(0).random(n)
    table = pyarrow.table({"label": np.arange(n) % 2, "score": score, "other": score})
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        importlib.import_module("pyarrow.csv").write_csv(table, path)
    else:
        importlib.import_module("pyarrow.parquet").write_table(table, path, row_group_size=n)
    del table
    before, most, at = pyarrow.total_allocated_bytes(), 0, 0
    for block in open_source(path).blocks(["label", "score"]):
        end = at + len(block["score"])
        assert np.array_equal(block["score"].astype(float), score[at:end])
        most, at = max(most, pyarrow.total_allocated_bytes() - before), end
    assert at == n
    assert most < 8_000_000 < path.stat().st_size


class TestWhatIsAskedFor:
    def test_rows_are_dropped_and_counted(self, tmp_path: Path) -> None:
        labels = [*LABEL[:-2].tolist(), "", "n/a"]
        path = csv(tmp_path / "a.csv", "score,label", SCORE, labels)
        found = report(path, drop=True, **DECIDED)
        assert found.measures.n == 298
        assert "2 rows were dropped because a value was missing" in found.read
        every = csv(tmp_path / "b.csv", "score,label", SCORE, [""] * 300)
        with pytest.raises(ValueError, match="there are no rows; all 300 were dropped"):
            report(every, drop=True)
        none = {"score": [0.5, 0.5], "label": [np.nan, np.nan], "weight": [1, 2]}
        with pytest.raises(ValueError, match="there are no rows; all 2 were dropped"):
            report(none, weight="weight", drop=True)

    def test_rows_are_divided_and_counted(self, tmp_path: Path) -> None:
        rounded = PROBS.round(2)
        off = int((np.abs(rounded.sum(axis=1) - 1) > 1e-4).sum())
        path = csv(tmp_path / "a.csv", "prob_a,prob_b,prob_c,label", *rounded.T, CLASS)
        with pytest.raises(ValueError, match="sum to 1"):
            report(path)
        found = report(path, rescale=True, **DECIDED)
        assert f"{off:,} rows were divided by their sum" in found.read

    def test_a_row_that_sums_to_0_cannot_be_divided(self) -> None:
        rounded = PROBS.round(2)
        rounded[7] = 0
        columns = dict(zip(("prob_a", "prob_b", "prob_c"), rounded.T, strict=True))
        with pytest.raises(ValueError, match=r"above 0 to divide by, found 0 in row 8; leave such"):
            report(columns | {"label": CLASS}, rescale=True)

    def test_mixed_types_of_a_frame(self) -> None:
        mixed = np.array([0.5, "0.25", 1], object)
        assert rows_of({"score": mixed, "label": [1, 0, 1]}).probs.tolist() == [0.5, 0.25, 1]
        mixed[1] = "low"
        with pytest.raises(ValueError, match="found 'low' in row 2"):
            rows_of({"score": mixed, "label": [1, 0, 1]})

    def test_numbers_may_be_written_in_any_way(self) -> None:
        for labels in (
            ["0.000", "1."],
            [0.0, 1.0],
            np.array([0, 1.0], object),
            ["False", " TRUE "],
            ["no", "Yes"],
        ):
            rows = rows_of({"score": [0.5, 0.5], "label": labels})
            assert rows.labels.tolist() == [0, 1]

    def test_times(self) -> None:
        for stamps in (["2026-01-31T23:00:00Z", "2026-02-01 01:00"], ["2026-01-31", "2026-02-01"]):
            data = {"score": [0.5, 0.5], "label": [0, 1], "when": stamps}
            for unit, expected in (
                ("D", ["2026-01-31", "2026-02-01"]),
                ("M", ["2026-01", "2026-02"]),
            ):
                rows = rows_of(data, time=f"when:{unit}")
                assert as_array(rows.times).astype(str).tolist() == expected


def nested(kind: str, values: np.ndarray) -> Any:
    """Each row's values in one cell."""
    pl = pytest.importorskip("polars")
    if kind == "Array":
        return pl.Series(values)
    cells = [list(row) if kind == "List" else {"a": row[0], "b": row[1]} for row in values]
    return cells if kind == "objects" else pl.Series(cells)


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        *(("score", kind) for kind in ("Array", "List", "Struct")),
        *((role, "List") for role in ("confidence", "label", "w", "g", "b", "day")),
    ],
)
def test_a_cell_of_several_values_is_refused_whatever_its_role(
    role: str, kind: str, tmp_path: Path
) -> None:
    pl = pytest.importorskip("polars")
    score = role if role in ("logit", "confidence") else "score"
    label = "correct" if role == "confidence" else "label"
    data: dict[str, Any] = {score: SCORE, label: LABEL, "w": np.ones(300), "g": NAMES[CLASS]}
    data |= {"b": np.arange(300) // 3, "day": np.datetime64("2026-01-01") + np.arange(300) // 30}
    data[role] = nested(kind, PROBS if role == "day" else np.stack([data[role]] * 2, axis=1))
    asked: dict[str, Any] = {"blocks": "b"} if role == "b" else {"weight": "w", "group": "g"}
    asked |= {} if role == "b" else {"time": "day:D"}
    frame = pl.DataFrame(data)
    forms: list[Any] = [frame]
    if kind != "Array":
        frame.write_parquet(tmp_path / "data.parquet")
        forms.append(tmp_path / "data.parquet")
    for form in forms:
        with pytest.raises(ValueError, match=f"^{role}: .*give a column for each class"):
            report(form, **DECIDED, **asked)


def test_a_column_of_lists_that_nobody_reads_does_no_harm() -> None:
    pl = pytest.importorskip("polars")
    known = {"0": 1 - SCORE, "1": SCORE, "label": LABEL, "embedding": nested("Array", PROBS)}
    found = report(pl.DataFrame(known), **DECIDED)
    assert found.columns.scores == ("0", "1")


@pytest.mark.parametrize("name", ["none", "NA"])
def test_a_class_or_a_group_may_have_the_name_of_nothing(name: str, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    names = np.array([name, "mild", "severe"])
    frame = pd.DataFrame(PROBS, columns=[f"prob_{each}" for each in names])
    frame = frame.assign(label=names[CLASS])
    bare = frame.rename(columns=lambda column: column.removeprefix("prob_"))
    for i, each in enumerate((frame, bare)):
        each.to_csv(tmp_path / f"{i}.csv", index=False)
        for form in (each, tmp_path / f"{i}.csv"):
            assert [part.n for part in report(form, **DECIDED).classes] == [300] * 3
    groups = report({"score": SCORE, "label": LABEL, "g": names[CLASS]}, group="g", **DECIDED)
    assert {part.name for part in groups.groups["g"]} == set(names)
    positive = {"score": SCORE, "label": np.array(["other", name])[LABEL]}
    assert report(positive, positive=name, **DECIDED).measures.happened == LABEL.mean()


def test_a_word_for_nothing_counts_in_a_text_file_and_in_a_column_of_numbers(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data.csv"
    rows = [f"{s},{y},{g}" for s, y, g in zip(SCORE, LABEL, "ab" * 150, strict=True)]
    path.write_text("\n".join(["score,label,g", *rows, "0.5,1,NA", "null,1,a", "0.5,None,a"]))
    assert report(path, group="g", drop=True, **DECIDED).measures.n == 300
    with pytest.raises(
        ValueError, match=r"expected a value in each row, found none in row 30[123]"
    ):
        report(path, group="g", **DECIDED)
    texts = np.array([*SCORE.astype(str), "NA"], object)
    labels = np.array([*LABEL.tolist(), 1, None], object)
    typed = {"score": texts[[*range(301), 0]], "label": labels}
    assert report(typed, drop=True, **DECIDED).measures.n == 300


def test_numbers_are_places_only_of_columns_in_alphabetical_order() -> None:
    sorted_names = {"prob_cat": PROBS[:, 0], "prob_dog": PROBS[:, 1], "prob_owl": PROBS[:, 2]}
    expected = report(sorted_names | {"label": CLASS}, **DECIDED)
    assert "0 is 'cat', and 2 is 'owl'" in " ".join(expected.read)
    turned = {name: sorted_names[name] for name in ("prob_dog", "prob_cat", "prob_owl")}
    with pytest.raises(
        ValueError, match=r"label: found numbers, such as '0', .* as classes=\.\.\."
    ):
        report(turned | {"label": CLASS}, **DECIDED)
    declared = report(turned | {"label": CLASS}, classes=["1", "0", "2"], **DECIDED)
    assert declared.measures.happened == expected.measures.happened


@pytest.mark.parametrize("kind", ["prob", "logit"])
@pytest.mark.parametrize("name", ["{kind}_cal_{k}", "{kind}_{k}_cal"])
def test_two_sets_of_columns_are_told_apart(kind: str, name: str) -> None:
    scores = PROBS if kind == "prob" else np.log(PROBS)
    raw = {f"{kind}_{each}": scores[:, k] for k, each in enumerate(NAMES)}
    second = {name.format(kind=kind, k=each): scores[:, k] for k, each in enumerate(NAMES)}
    data = {**raw, **second, "label": NAMES[CLASS]}
    with pytest.raises(ValueError, match="score: found two sets of columns") as caught:
        report(data, **DECIDED)
    (pattern,) = {each for each in str(caught.value).split("'") if "*" in each}
    found = report(data, score=pattern, **DECIDED)
    assert found.columns.classes == tuple(NAMES)
    pairs = {f"prob_{a}_{b}": PROBS[:, 0] / 4 for a in ("red", "blue") for b in ("car", "bus")}
    assert choose_columns([*pairs, "label"]).classes[0] == "red_car"


def test_a_weight_of_hundreds_of_rows_is_told() -> None:
    score = np.random.default_rng(0).random(3_000)
    columns = {"score": score, "label": (score > 0.4).astype(int)}
    weights = np.append(np.ones(2_999), 1e6)
    found = report(columns | {"weight": weights}, weight="weight", cross_fit=0)
    assert any("times the mean, so look whether it is right" in line for line in found.read)
    found = report(columns | {"weight": 1 + 9 * score}, weight="weight", cross_fit=0)
    assert not any("times the mean" in line for line in found.read)
