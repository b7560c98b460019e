"""A folder of Parquet files: which files it holds, and whether they have the same columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from calib_audit import report
from calib_audit.folder import open_folder
from tests.calib_audit import numbers
from tests.calib_audit.months import COLUMNS, cut, damaged, month, retyped, write


def test_open_folder_takes_patterns_and_partitions(tmp_path: Path) -> None:
    rows = month(6_000)
    folder = write(tmp_path / "files", rows, 6)
    expected = numbers(folder, cross_fit=0, group="region")
    assert numbers(f"{folder}/part-*.parquet", cross_fit=0, group="region") == expected
    table = pa.table(rows)
    parquet.write_to_dataset(table, tmp_path / "hive", partition_cols=["region", "day"])
    (tmp_path / "hive/_SUCCESS").touch()
    (tmp_path / "hive/_temporary").mkdir()
    (tmp_path / "hive/_temporary/x.parquet").touch()
    assert numbers(tmp_path / "hive", cross_fit=0, group="region") == expected
    by_day = report(tmp_path / "hive", cross_fit=0, time="day:D")
    counts = np.unique(rows["day"], return_counts=True)[1]
    assert [span.n for span in by_day.times] == counts.tolist()


def test_open_folder_needs_the_largest_weight_of_each_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = {"score": [0.1, 0.2], "label": [0, 1], "weight": [1.0, 2.0]}
    for column, options in (([1.0, 2.0], {"write_statistics": False}), (["9", "10"], {})):
        parquet.write_table(pa.table(rows | {"weight": column}), path, **options)
        with pytest.raises(ValueError, match=r"a\.parquet: weight: expected finite numbers, and"):
            report(tmp_path, weight="weight")
    parquet.write_table(pa.table(rows | {"weight": [0.0, 0.0]}), path)
    with pytest.raises(ValueError, match="weight: expected a weight above 0, found none"):
        report(tmp_path, weight="weight")


def test_open_folder_refuses_a_folder_without_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected Parquet files, found none; names end in"):
        report(tmp_path)
    with pytest.raises(ValueError, match=r"expected Parquet files, found none"):
        report(f"{tmp_path}/*.parquet")
    (tmp_path / "a.parquet").touch()
    with pytest.raises(ValueError, match=r"none of 1 files can be read: a.parquet: the file"):
        report(tmp_path, skip_bad_files=True)


def no_day(path: Path) -> None:
    parquet.write_table(parquet.read_table(path).drop_columns("day"), path)


def gone(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


FOOTER = r"the file is cut, or no Parquet \(.+\); write it again"


BAD: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut in half": (cut(0.5), FOOTER),
    "empty": (cut(0), FOOTER),
    "a link to nowhere": (gone, r"the file cannot be read \(.*No such file or directory.*\)"),
    "no column": (no_day, r"day: expected date32\[day\] as in part-00.parquet, found no such"),
    "another type": (
        retyped("score", pa.float32()),
        "score: expected double as in part-00.parquet, found float; write all files",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_open_folder_names_a_bad_file_before_any_is_read(name: str, tmp_path: Path) -> None:
    damage, message = BAD[name]
    path = damaged(tmp_path / "files", damage)
    with pytest.raises(ValueError, match=rf"part-01\.parquet.*{message}") as caught:
        open_folder(path, COLUMNS, False)
    said = str(caught.value)
    assert "\n" not in said
    assert "no rows were read yet" in said
    assert said.endswith("skip_bad_files=True")
    opened = open_folder(path, COLUMNS, True)
    assert [file.name for file in opened.files] == ["part-00.parquet", "part-02.parquet"]
    (refused,) = opened.refused
    assert refused in said
