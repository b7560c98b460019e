"""Files and data frames as rows with named columns, and what bad ones are told."""

from __future__ import annotations

import importlib
import io
import json
import sys
import tracemalloc
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
import pytest

import calib_records
from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.column_types import as_array
from calib_audit.source import open_source
from calib_utils.metrics import expected_calibration_error
from tests.calib_audit import DECIDED, rows_of, written
from tests.calib_audit.samples import CLASS, LABEL, NAMES, PROBS, SCORE, cells, tenths


def test_open_source_reads_the_same_of_files_of_all_kinds(tmp_path: Path) -> None:
    path = Path(written(tmp_path / "a.csv", score=SCORE, label=LABEL))
    np.savez(tmp_path / "a.npz", score=SCORE, labels=LABEL)
    semicolons = tmp_path / "b.csv"
    semicolons.write_text("\ufeff" + path.read_text().replace(",", ";"), "utf-8")
    frames = [path, tmp_path / "a.npz", semicolons, {"score": SCORE, "label": LABEL == 1}]
    for frame in frames:
        rows = rows_of(frame)
        assert rows.probs.tolist() == SCORE.tolist()
        assert rows.labels.tolist() == LABEL.tolist()


def test_open_source_reads_the_same_of_frames_and_parquet(tmp_path: Path) -> None:
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
    table = pa.table(data)
    encoded = table.set_column(0, "label", table["label"].dictionary_encode())
    parquet.write_table(encoded, tmp_path / "a.parquet")
    frames += [table, tmp_path / "a.parquet"]
    for frame in frames:
        rows = rows_of(frame)
        assert np.array_equal(rows.probs, PROBS)
        assert rows.labels.tolist() == CLASS.tolist()


def test_open_source_takes_a_reader_of_batches() -> None:
    """As `duckdb.sql(...).arrow()` returns one."""
    data = cells(400)
    table = pa.table(data)
    batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(100))
    found = report(batches, group="region", cross_fit=0)
    assert found.measures == report(data, group="region", cross_fit=0).measures


def test_open_source_takes_the_clock_that_a_zone_shows(tmp_path: Path) -> None:
    """Ten at night in Greenwich is the next day in Seoul."""
    when = pa.array(
        np.array(["2026-01-31T22"] * 2, "datetime64[s]"), pa.timestamp("s", "Asia/Seoul")
    )
    table = pa.table({"score": [0.5, 0.4], "label": [1, 0], "when": when})
    parquet.write_table(table, tmp_path / "a.parquet")
    for frame in (table, tmp_path / "a.parquet"):
        assert (
            as_array(rows_of(frame, time="when").times).astype(str).tolist() == ["2026-02-01"] * 2
        )


def test_open_source_reads_the_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(written(tmp_path / "a.csv", score=SCORE, label=LABEL))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    source = open_source("-")
    assert source.sha256 == open_source(path).sha256
    assert source.name == "standard input"
    for _ in range(2):  # as where there are weights
        (block,) = source.blocks(["label"])
        assert len(block["label"]) == 300


def test_open_source_reads_a_record_of_the_course() -> None:
    (path,) = (Path(calib_records.__file__).parent / "predictions").glob("lenet5-cifar100*test.npz")
    rows = rows_of(path)
    assert rows.probs.shape == (10_000, 100)


def test_open_source_makes_columns_of_arrays_of_two_dimensions() -> None:
    logits = 2 * np.log(PROBS) + 5
    rows = rows_of({"logits": logits, "labels": CLASS})
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rows.probs, expected, rtol=1e-12)


def test_open_source_leaves_alone_what_else_is_in_a_file(tmp_path: Path) -> None:
    others = {"images": np.zeros((300, 2, 2)), "names": ["no", "yes"]}
    others["notes"] = np.array([None, *range(299)], object)
    np.savez(tmp_path / "a.npz", **others, score=SCORE, label=LABEL)
    assert rows_of(tmp_path / "a.npz").probs.tolist() == SCORE.tolist()
    with pytest.raises(ValueError, match="it contains Python objects, which are not read"):
        rows_of(tmp_path / "a.npz", score="notes")


@pytest.mark.parametrize("n_classes", [1, 2])
def test_open_source_keeps_the_edges_of_bfloat16(n_classes: int) -> None:
    """As for the metrics: 0.6 is 0.6015625 there, which in float32 is above the edge."""
    torch = pytest.importorskip("torch")
    score, label = (torch.tensor(each) for each in tenths("float32"))
    probs = torch.stack([1 - score, score], dim=1).bfloat16()
    given = {"score": probs[:, 1]} if n_classes == 1 else {"probs": probs}
    found = report({**given, "label": label}, n_bins=10, rescale=True)
    own = probs[:, 1] if n_classes == 1 else probs
    expected = expected_calibration_error(own, label, 10)
    assert found.measures.ece == pytest.approx(expected)
    assert found.measures.ece == pytest.approx(0.1, abs=3e-3)
    assert found.bins.array[0].nonzero()[0].tolist() == [5, 6, 7, 8]
    assert found.recalibrators.ece == pytest.approx(expected, abs=5e-4)


def test_open_source_reads_a_tensor_with_a_gradient() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(SCORE, requires_grad=True)
    found = report({"score": tensor, "label": torch.tensor(LABEL)}, cross_fit=0)
    assert found.measures.ece == pytest.approx(expected_calibration_error(SCORE, LABEL))


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="since NumPy 2")
def test_open_source_takes_texts_of_any_length() -> None:
    rng = np.random.default_rng(7)
    score, label = rng.random(300), np.array(["no", "yes"])[rng.integers(0, 2, 300)]
    group = np.array(["north", "south"])[rng.integers(0, 2, 300)]
    columns = {"score": score, "label": label, "region": group}
    text = np.dtypes.StringDType()
    typed = columns | {"label": label.astype(text), "region": group.astype(text)}
    found, expected = (
        report(each, group="region", positive="yes", cross_fit=0) for each in (typed, columns)
    )
    assert found.verdict == expected.verdict
    assert [*found.groups] == [*expected.groups]


def test_open_source_asks_for_the_mean_of_an_ensemble() -> None:
    members = np.random.default_rng(7).dirichlet(np.ones(3), (5, 40))
    with pytest.raises(ValueError, match=r"^probs: .*\(5, 40, 3\); .*mean of the members"):
        report({"probs": members, "label": np.arange(40) % 3}, cross_fit=0)


def test_open_source_takes_no_column_that_can_be_read_only_once() -> None:
    for column in ((p for p in SCORE), dict.fromkeys(SCORE).keys()):
        kind = type(column).__name__
        with pytest.raises(ValueError, match=f"^score: expected an array, found {kind}"):
            report({"score": column, "label": LABEL})


def test_open_source_takes_korean_names(tmp_path: Path) -> None:
    path = written(tmp_path / "예측.csv", 확률=SCORE, 정답=np.where(LABEL, "참", "거짓"))
    rows = rows_of(path, score="확률", label="정답", positive="참")
    assert rows.labels.tolist() == LABEL.tolist()
    found = json.loads(report(path, score="확률", label="정답", positive="참", **DECIDED).json())
    assert found["facts"]["data"] == "예측.csv"


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_open_source_names_the_package_that_a_file_needs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"needs pyarrow.*pip install .*pyarrow.*; or give NPZ"
    ):
        open_source(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "score,label\n가,1".encode("cp949"), "expected UTF-8"),
        ("a.csv", b"score,label\n\x00\x00,1\n", "expected numbers|not valid CSV"),
        ("a.parquet", b"PAR1", "the file is not valid Parquet"),
        ("a.npz", b"not a zip", "the file is damaged .*write it again"),
        ("a.xlsx", b"PK", "expected a .csv, .parquet or .npz"),
    ],
)
def test_open_source_refuses_a_file_of_another_kind(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        report(tmp_path / name)


def test_open_source_refuses_what_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.csv")]) == 2
    assert "there is no such file" in capsys.readouterr().err
    with pytest.raises(ValueError, match="found a folder"):
        open_source(tmp_path)
    with pytest.raises(ValueError, match="expected a path, a data frame or a dictionary"):
        report(3)
    with pytest.raises(ValueError, match="expected columns of one length"):
        report({"score": [0.5, 0.5], "label": [1]})


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("(100000, 100000), ", "40 GB"),
        ("(1" + "0" * 30 + ",), ", "more than there is"),
        ("(-2,), ", "less than nothing"),
        ("(2,", "a head that is not closed"),
    ],
)
def test_an_npz_whose_array_is_not_what_it_says_is_damaged(
    said: str, name: str, tmp_path: Path
) -> None:
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


def test_an_npz_is_never_held_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_csv_or_parquet_file_is_never_held_as_a_whole(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calib_audit.source._CELLS", 100_000)
    monkeypatch.setattr("calib_audit.source._BYTES", 1 << 16)
    n = 1_000_000
    score = np.random.default_rng(0).random(n)
    table = pa.table({"label": np.arange(n) % 2, "score": score, "other": score})
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        arrow_csv.write_csv(table, path)
    else:
        parquet.write_table(table, path, row_group_size=n)
    del table
    before, most, at = pa.total_allocated_bytes(), 0, 0
    for block in open_source(path).blocks(["label", "score"]):
        end = at + len(block["score"])
        assert np.array_equal(block["score"].astype(float), score[at:end])
        most, at = max(most, pa.total_allocated_bytes() - before), end
    assert at == n
    assert most < 8_000_000 < path.stat().st_size


def test_a_csv_of_many_columns_is_read(tmp_path: Path) -> None:
    """Comparing each of 200,000 names with all others took hours."""
    head = ["label", "score", *(f"feature_{k}" for k in range(60_000))]
    rows = [f"{k % 2},0.5{',1' * 60_000}" for k in range(2)]
    (tmp_path / "wide.csv").write_text("\n".join([",".join(head), *rows, ""]))
    assert rows_of(tmp_path / "wide.csv").labels.tolist() == [0, 1]


def test_a_csv_of_many_rows_has_its_bad_row_named(tmp_path: Path) -> None:
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


def test_a_csv_has_cells_with_commas_quotes_and_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('label,score,x\r\n"a ""b"",\nc",0.5,\r\n\r\nNA,,"1"\r\n', "utf-8", newline="")
    (block,) = open_source(path).blocks(["label", "x", "score"])
    assert {name: cells.tolist() for name, cells in block.items()} == {
        "label": ['a "b",\nc', "NA"],
        "x": ["", "1"],
        "score": ["0.5", ""],
    }
    for what, rows in (("cell", 50_000), ("row", 3_000_000)):
        path.write_text('score,label\n0.5,1\n0.5,"1\n' + "0.5,1\n" * rows, "utf-8")
        with pytest.raises(ValueError, match=f"a {what} that is too long .* left open"):
            report(path)
    path.write_text("score,label", "utf-8")  # and no end of its line
    with pytest.raises(ValueError, match="there are no rows"):
        report(path)


def test_a_csv_with_semicolons_has_decimal_commas(tmp_path: Path) -> None:
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
    ("text", "message"),
    [
        ("score;label;w\n0.25;1;1,200\n0.5;0;48\n", "w: expected numbers, found '1,200' in row 1"),
        (
            "score;label;w\n0,25;1;48.000\n0,5;0;950\n",
            "score: expected numbers, found '0,25' in row",
        ),
        (
            "score;label;w\n0,25;1;1.048.000\n0;0;9\n",
            "w: expected numbers, found '1.048.000' in row",
        ),
        ("score;label;w\n0,25;1;1.048,5\n0;0;9\n", "w: expected numbers, found '1.048,5' in row"),
        (
            "score;label;w\n.25;1;1,048,000\n0;0;9\n",
            "w: expected numbers, found '1,048,000' in row",
        ),
    ],
)
@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_csv_with_thousands_that_are_marked_is_refused(
    text: str, message: str, mark: str, tmp_path: Path
) -> None:
    """A weight of 1,200 would be 1.2, and one of 48.000 would be 48."""
    path = tmp_path / "a.csv"
    path.write_text(text.replace(";", mark), "utf-8")
    with pytest.raises(ValueError, match=f"^{message}.*; write numbers with a point, .* 1200$"):
        rows_of(path, weight="w")


def test_a_csv_has_the_mark_of_all_columns_that_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("score;label;w;note\n0,25;1;1,5;4.5\n0,5;0;48;\n", "utf-8")
    rows = rows_of(path, weight="w")
    assert rows.probs.tolist() == [0.25, 0.5]
    assert rows.weights is not None
    assert rows.weights.tolist() == [1.5, 48]
    path.write_text("score;label;size\n0.25;1;1,5\n0.5;0;48\n", "utf-8")
    rows = rows_of(path, group=["size"])
    assert rows.probs.tolist() == [0.25, 0.5]
    assert as_array(rows.groups["size"]).tolist() == ["1,5", "48"]


@pytest.mark.parametrize("last", ["0.5;0;48", "0,5;0;48.000"])
def test_a_csv_has_one_mark_in_all_blocks(
    last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calib_audit.source._BYTES", 1_000)
    path = tmp_path / "a.csv"
    path.write_text("score;label;w\n" + "0,25;1;48\n" * 300 + last + "\n", "utf-8")
    column = "w" if "48.000" in last else "score"
    with pytest.raises(
        ValueError,
        match=rf"found numbers with a comma in 'score', and with a point in '{column}'; write ",
    ):
        report(path, weight="w")
    path.write_text("score;label;w\n" + "0.25;1;48\n" * 300 + "0,5;0;1,200\n", "utf-8")
    with pytest.raises(
        ValueError, match=r"found '(0,5|1,200)' in row 301; write numbers with a po"
    ):
        report(path, weight="w")
