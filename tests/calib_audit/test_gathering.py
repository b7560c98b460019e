"""All that is read of files and folders: the same from any, and what is damaged is named."""

from __future__ import annotations

import io
import json
import re
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet
import pytest

from calib_audit import gathering, report
from calib_audit.__main__ import main
from calib_audit.folder import Folder, open_folder
from calib_audit.gathering import How, _in_threads, read_folder, sums_of_file
from tests.calib_audit import DECIDED, every_form, in_form, keep_at_most, numbers, taken
from tests.calib_audit.months import COLUMNS, NAMED, changed, damaged, month, overwritten, write
from tests.calib_audit.samples import (
    LABEL,
    SCORE,
    TIMES,
    of_patients,
    too_high,
    too_high_of_classes,
)


def classes(n: int, scale: float = 1.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    logits = 2 * rng.normal(size=(n, 3))
    logits[: n // 20] = logits[0]  # equal rows
    noisy = logits + rng.gumbel(size=logits.shape)
    named = {f"logit_{name}": scale * logits[:, k] for k, name in enumerate("abc")}
    return named | {"label": np.array(list("abc"))[noisy.argmax(axis=1)]}


def rounded_classes(n: int) -> dict[str, np.ndarray]:
    """Of ten, so that NumPy adds eight and eight up where a row is all that a file has."""
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(10), n).round(3)
    label = rng.integers(10, size=n)
    return {f"prob_{k}": probs[:, k] for k in range(10)} | {"label": label}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("month") / "files", month(6_000), 6)


def how_of(folder: Folder) -> How:
    return How(folder.columns, 15, False, False, True)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (month(6_000), NAMED | {"prices": (1, 5), "cross_fit": 0}),
        (classes(2_000), {"cross_fit": 2}),
        (rounded_classes(1_000), {"cross_fit": 2, "rescale": True}),
    ],
    ids=["two classes", "three classes", "ten rounded classes"],
)
def test_gather_finds_the_same_in_1_7_and_50_files_in_any_order(
    rows: dict[str, np.ndarray],
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep_at_most(500, monkeypatch)
    one = write(tmp_path / "1" / "files", rows)
    expected, page = numbers(one, **options), report(one, **options).html()
    assert any("500 " in line for line in expected["read"])
    for files, order in ((7, 1), (50, 2)):
        found = write(tmp_path / f"{files}-{order}" / "files", rows, files, order)
        assert numbers(found, **options) == expected
    html = report(found, **options).html()
    assert html.replace("(50 files)", "(1 file)") == page


@pytest.mark.parametrize("most", [500, 200_000], ids=["a sample", "all rows"])
@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (month(1_500, shift=1.0), NAMED | {"cross_fit": 0}),
        (classes(1_500, scale=2.0), {"cross_fit": 2}),
    ],
    ids=["two classes", "three classes"],
)
def test_gather_finds_the_same_in_a_frame_csv_npz_parquet_and_a_folder(
    rows: dict[str, np.ndarray],
    options: dict[str, Any],
    most: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep_at_most(most, monkeypatch)
    table = pa.table(rows)
    arrow_csv.write_csv(table, tmp_path / "a.csv")
    np.savez(tmp_path / "a.npz", **rows)
    parquet.write_table(table, tmp_path / "a.parquet")
    forms = [
        rows,
        table,
        *(tmp_path / f"a.{suffix}" for suffix in ("csv", "npz", "parquet")),
        write(tmp_path / "files", rows, 3, order=1),
    ]
    found = [numbers(data, **options) for data in forms]
    for each in found:
        for name in ("SHA-256", "SHA-256 of the sums"):
            each["facts"].pop(name, None)
        assert each == found[0]


def test_gather_finds_the_same_of_blocks_in_any_order_and_any_files(tmp_path: Path) -> None:
    data = of_patients()
    order = np.random.default_rng(1).permutation(len(data["label"]))
    for k in range(3):
        parquet.write_table(pa.table(taken(data, order[k::3])), tmp_path / f"{k}.parquet")
    found = [
        numbers(form, blocks="patient", group="ward", cross_fit=3)
        for form in (data, taken(data, order), tmp_path)
    ]
    for each in found:
        del each["facts"]
        assert each == found[0]


def test_gather_tells_other_rows_apart(tmp_path: Path) -> None:
    rows = month(1_000)
    other = rows | {"label": rows["label"] ^ (np.arange(1_000) == 7)}
    one, two = (
        report(write(tmp_path / str(k), each), cross_fit=0).facts
        for k, each in enumerate((rows, other))
    )
    assert one["SHA-256 of the sums"] != two["SHA-256 of the sums"]


def test_gather_takes_labels_and_dates_of_any_type(tmp_path: Path) -> None:
    rows = month(2_000)
    columns: dict[str, Callable[[Any], Any]] = {
        "label": lambda label: np.where(label == 1, "yes", "no"),
        "day": lambda day: np.datetime_as_string(day),
        "region": lambda region: pa.array(region).dictionary_encode(),
        "score": lambda score: score.astype(str),
    }
    expected = numbers(write(tmp_path / "plain", rows), cross_fit=0, **NAMED)
    for name, change in columns.items():
        path = tmp_path / name
        path.mkdir()
        parquet.write_table(pa.table(rows | {name: change(rows[name])}), path / "a.parquet")
        assert numbers(path, cross_fit=0, **NAMED) == expected
    rows["label"] = rows["label"] == 1
    stamps = rows["day"].astype("datetime64[us]") + np.timedelta64(3, "h")
    parquet.write_table(pa.table(rows | {"day": stamps}), tmp_path / "stamps.parquet")
    assert numbers(f"{tmp_path}/stamp*", cross_fit=0, **NAMED) == expected


def test_gather_drops_and_counts_rows_of_a_folder(tmp_path: Path) -> None:
    rows = {name: column.tolist() for name, column in month(100).items()}
    rows["label"][3] = rows["region"][7] = rows["score"][11] = rows["day"][13] = None
    (tmp_path / "a").mkdir()
    parquet.write_table(pa.table(rows), tmp_path / "a/a.parquet")
    found = report(tmp_path / "a", drop=True, cross_fit=0, **NAMED)
    assert found.measures.n == 96
    assert "4 rows were dropped because a value was missing" in found.read


def test_gather_takes_a_positive_label_of_one_file_only(tmp_path: Path) -> None:
    for name, label in (("a", "no"), ("b", "fraud")):
        table = pa.table({"score": [0.1, 0.2], "label": [label, "no"]})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    assert report(tmp_path, positive="fraud", cross_fit=0).measures.happened == 0.25
    with pytest.raises(ValueError, match=r"positive: expected a label that occurs, found 'x'"):
        report(tmp_path, positive="x", cross_fit=0)


def test_gather_takes_files_and_row_groups_without_rows(folder: Path, tmp_path: Path) -> None:
    expected = report(folder, cross_fit=0, **NAMED).facts["SHA-256 of the sums"]
    more = shutil.copytree(folder, tmp_path / "files")
    table = parquet.read_table(more / "part-03.parquet")
    parquet.write_table(table.slice(0, 0), more / "part-98.parquet")
    with parquet.ParquetWriter(more / "part-03.parquet", table.schema) as file:
        for part in (table.slice(0, 0), table, table.slice(0, 0)):
            file.write_table(part)
    found = report(more, cross_fit=0, **NAMED)
    assert found.facts["SHA-256 of the sums"] == expected


def test_gather_refuses_what_does_not_go_with_a_folder_or_a_file(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"bad_files: expected with a folder of Parquet files"):
        report(month(100), skip_bad_files=True)
    with pytest.raises(ValueError, match="prices: expected two numbers"):
        report(folder, prices=(1,))


@every_form
@pytest.mark.parametrize("weights", [(1.0, 10.0), (0.1, 1.0), (300.0, 3000.0)])
def test_weights_of_any_size_count(weights: tuple[float, float], form: str, tmp_path: Path) -> None:
    """Rows that weigh ten times as much are always right, the others never are."""
    heavy = np.arange(8_000) % 2
    columns = {"score": 0.1 + 0.8 * heavy, "label": np.ones(8_000, int)}
    columns["weight"] = np.array(weights)[heavy]
    found = report(in_form(form, columns, tmp_path), weight="weight", cross_fit=0)
    assert found.measures.accuracy == pytest.approx(10 / 11)


@pytest.mark.parametrize("data", [too_high(), too_high_of_classes()], ids=["score", "classes"])
def test_weights_that_are_equal_are_none(data: dict[str, np.ndarray], tmp_path: Path) -> None:
    asked = {"group": "plan", "time": "day:D"}
    expected = json.loads(report(data, cross_fit=2, **asked).json())
    weighted = data | {"w": np.full(3_000, 0.3)}
    for given in (weighted, write(tmp_path / "files", weighted, 3)):
        found = json.loads(report(given, weight="w", cross_fit=2, **asked).json())
        assert "all weights are equal, so each row counts once" in found["read"]
        for each in (found, expected):
            for name in ("read", "facts"):
                each.pop(name, None)
        assert found == expected


def test_weights_of_zero_do_not_count() -> None:
    data, weights = too_high(), TIMES - 1.0
    found = report(data | {"w": weights}, weight="w", cross_fit=0)
    held = weights > 0
    expected = report(taken(data, held) | {"w": weights[held]}, weight="w", cross_fit=0)
    assert found.measures == expected.measures
    assert f"{(~held).sum():,} rows have a weight of 0 and do not count" in found.read


def test_weights_may_be_the_names_of_folders(tmp_path: Path) -> None:
    """Of 20,000 rows every positive one was logged, and a tenth of the others."""
    rows = month(20_000)
    logged = (rows["label"] == 1) | (np.random.default_rng(1).random(20_000) < 0.1)
    rows = taken(rows, logged)
    weights = np.where(rows["label"] == 1, 1, 10)
    for weight in (1, 10):
        write(tmp_path / f"weight={weight}", taken(rows, weights == weight))
    found = report(tmp_path, weight="weight", cross_fit=0).measures
    expected = report(rows | {"weight": weights}, weight="weight", cross_fit=0).measures
    assert found == expected
    assert found.happened == pytest.approx(np.average(rows["label"], weights=weights))
    assert abs(found.z) < 4


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(10, -1), "expected weights of 0 or more"),
        (np.zeros(10), "expected a weight above 0, found none"),
        (np.append(np.ones(9), 1e10), "of at least a billionth of the largest, 1e.10, found 1;"),
    ],
)
def test_weights_that_cannot_count(weights: np.ndarray, message: str) -> None:
    data = taken(too_high(), np.arange(10))
    with pytest.raises(ValueError, match=f"^w: .*{message}"):
        report(data | {"w": weights}, weight="w")


def test_read_folder_refuses_files_that_change_meanwhile(tmp_path: Path) -> None:
    rows = month(500)
    path = write(tmp_path / "files", rows, 2)
    opened = open_folder(path, COLUMNS, False)
    parquet.write_table(pa.table(rows), path / "part-99.parquet")
    assert read_folder(opened, how_of(opened))[1].read == 500
    parquet.write_table(pa.table(rows), path / "part-00.parquet")
    with pytest.raises(ValueError, match=r"part-00.parquet: the file was written to since"):
        read_folder(opened, how_of(opened))


def test_read_folder_leaves_other_columns_alone(folder: Path, tmp_path: Path) -> None:
    expected = numbers(folder, cross_fit=0, **NAMED)
    damaged = shutil.copytree(folder, tmp_path / "files")
    overwritten(4)(damaged / "part-03.parquet")
    with pytest.raises(OSError, match=r"page|Corrupt|header|Invalid"):
        parquet.read_table(damaged / "part-03.parquet")
    assert numbers(damaged, cross_fit=0, **NAMED) == expected


def test_read_folder_does_not_read_on_after_the_end(tmp_path: Path) -> None:
    opened = open_folder(write(tmp_path / "files", month(3_000), 50), COLUMNS, False)
    told: list[int] = []
    sums = _in_threads(opened.files, how_of(opened), told.append)
    first = next(sums)
    sums.close()
    assert first.counts.read <= sum(told) < 3_000
    assert first.counts.read == opened.files[0].rows


def test_read_folder_takes_no_more_memory_for_more_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_at_most(1_000, monkeypatch)
    path = write(tmp_path / "files", month(40_000), 2)
    peaks = []
    for copies in (1, 8):
        for k in range(2, 2 * copies):
            shutil.copy(path / f"part-{k % 2:02}.parquet", path / f"part-{k:02}.parquet")
        tracemalloc.start()
        report(path, cross_fit=0, **NAMED)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 2_000_000


def test_read_folder_shows_rows_a_second_and_the_time_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr", terminal)
    report(folder, cross_fit=0)
    assert re.search(r"0.00/6.00k \[.*<\?, \? rows/s\]", terminal.getvalue())


def test_read_folder_says_how_far_it_came_at_ctrl_c(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(file: Any, *rest: Any) -> Any:
        if file.name == "part-02.parquet":
            raise KeyboardInterrupt
        return sums_of_file(file, *rest)

    monkeypatch.setattr(gathering, "sums_of_file", stopped)
    assert main([str(folder)]) == 130
    read = sum(parquet.read_metadata(folder / f"part-0{k}.parquet").num_rows for k in (0, 1))
    assert capsys.readouterr().err == f"\nStopped after 2 of 6 files and {read:,} rows.\n"


def many_regions(path: Path) -> None:
    table = parquet.read_table(path)
    names = [f"region {k}" for k in range(len(table))]
    parquet.write_table(table.set_column(2, "region", [pa.array(names)]), path)


DAMAGED: dict[str, tuple[Callable[[Path], None], str]] = {
    "overwritten scores": (overwritten(0), r"row group 1, score: the file is damaged"),
    "nan": (changed("score", float("nan")), "row group 1: score: expected a value in each row"),
    "percent": (changed("score", 45.0), "row group 1: score: expected 0 to 1, found 45 in row 501"),
    "no label": (changed("label", None), "row group 1: label: expected a value in each row"),
    "another label": (changed("label", 7), "row group 1: label: expected 0 or 1, .* in row 501"),
    "no date": (changed("day", None), "row group 1: day: expected a value in each row, found none"),
    "a thousand regions": (many_regions, "group: expected at most 1,000 values, found more"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_read_folder_names_the_place_of_a_damage(name: str, tmp_path: Path) -> None:
    damage, message = DAMAGED[name]
    n = 1_500 if name == "a thousand regions" else 1_000
    path = damaged(tmp_path / "files", damage, n)
    with pytest.raises(ValueError, match=rf"part-01\.parquet.*{message}") as caught:
        report(path, cross_fit=0, **NAMED)
    said = str(caught.value)
    assert "\n" not in said
    assert f"after 1 of 3 files and {n:,} rows" in said
    assert said.endswith("skip_bad_files=True)")
    opened = open_folder(path, COLUMNS, True)
    _, counts, _, refused = read_folder(opened, how_of(opened), skip_bad_files=True)
    assert counts.read == 2 * n
    assert len(refused) == 1
    assert refused[0] in said


def test_read_folder_refuses_a_folder_of_bad_files(tmp_path: Path) -> None:
    path = write(tmp_path / "files", month(100))
    changed("score", 3.0)(path / "part-00.parquet")
    with pytest.raises(ValueError, match=r"no rows are left; part-00.parquet, row group 1"):
        report(path, skip_bad_files=True, cross_fit=0)


def test_gather_names_groups_of_partitions_as_a_column_of_their_type(tmp_path: Path) -> None:
    """Spark calls a folder vip=true, and a database has truth values."""
    data = {"score": SCORE, "label": LABEL, "vip": np.arange(len(SCORE)) % 3 == 0}
    expected = {part.name: part.n for part in report(data, group="vip", **DECIDED).groups["vip"]}
    for vip in (True, False):
        (tmp_path / f"vip={vip}".lower()).mkdir()
        rows = pa.table({name: data[name][data["vip"] == vip] for name in ("score", "label")})
        parquet.write_table(rows, tmp_path / f"vip={vip}".lower() / "a.parquet")
    found = report(tmp_path, group="vip", **DECIDED).groups["vip"]
    assert {part.name: part.n for part in found} == expected == {"True": 100, "False": 200}
