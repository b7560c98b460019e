"""A report on a folder of files: the same from any files, and what damaged ones are told."""

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
import pytest
from scipy.special import expit

from calib_audit import compare_reports, gathering, report
from calib_audit.__main__ import main
from calib_audit.exact_sums import ExactSums, cells_of, in_bins, in_cells
from calib_audit.folder import Folder, open_folder
from calib_audit.gathering import How, _in_threads, read_folder, sums_of_file
from calib_audit.lots import Lots, drawn
from calib_audit.measures import larger_error
from calib_audit.rows import Rows
from calib_audit.totals import Totals

pa = pytest.importorskip("pyarrow")
csv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")

NAMED: dict[str, Any] = {"group": "region", "time": "day:D"}
REGIONS = np.array(["north", "south", "east", "서울"])


def month(n: int, seed: int = 0, shift: float = 0.0) -> dict[str, np.ndarray]:
    """Rows of a month; in the north more happens than is predicted, by so many log-odds."""
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 3, n).round(5)
    region = REGIONS[rng.integers(4, size=n)]
    odds = score / (1 - score) * np.exp(shift * (region == "north"))
    return {
        "score": score,
        "label": (rng.random(n) < odds / (1 + odds)).astype(np.int8),
        "region": region,
        "day": np.datetime64("2026-06-01") + rng.integers(7, size=n),
        "note": np.arange(n),  # which nobody asks for
    }


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


def write(folder: Path, rows: dict[str, np.ndarray], files: int = 1, order: int = 0) -> Path:
    """The rows in so many files of different lengths; in another order, if one is asked for."""
    folder.mkdir(parents=True)
    n = len(next(iter(rows.values())))
    rng = np.random.default_rng(order)
    index = rng.permutation(n) if order else np.arange(n)
    ends = np.sort(rng.choice(np.arange(1, n), files - 1, replace=False))
    for k, part in enumerate(np.split(index, ends)):
        table = pa.table({name: column[part] for name, column in rows.items()})
        parquet.write_table(table, folder / f"part-{k:02}.parquet", row_group_size=max(1, n // 60))
    return folder


def numbers(data: Any, **options: Any) -> dict[str, Any]:
    """All that a report tells but the names and the number of its files."""
    found = json.loads(report(data, **options).json())
    del found["facts"]["data"], found["read"][0]
    return found


def keep_at_most(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("lots", "totals", "gathering"):
        monkeypatch.setattr(f"calib_audit.{module}.MOST_DRAWN", rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("month") / "files", month(6_000), 6)


class TestTheSameReport:
    @pytest.mark.parametrize(
        ("rows", "options"),
        [
            (month(6_000), NAMED | {"prices": (1, 5), "cross_fit": 0}),
            (classes(2_000), {"cross_fit": 2}),
            (rounded_classes(1_000), {"cross_fit": 2, "rescale": True}),
        ],
        ids=["two classes", "three classes", "ten rounded classes"],
    )
    def test_from_1_7_and_50_files_in_any_order(
        self,
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

    def test_other_rows_and_other_seeds_are_told_apart(self, tmp_path: Path) -> None:
        rows = month(1_000)
        other = rows | {"label": rows["label"] ^ (np.arange(1_000) == 7)}
        one, two = (
            report(write(tmp_path / str(k), each), cross_fit=0).facts
            for k, each in enumerate((rows, other))
        )
        assert one["SHA-256 of the sums"] != two["SHA-256 of the sums"]

    @pytest.mark.parametrize("most", [500, 200_000], ids=["a sample", "all rows"])
    @pytest.mark.parametrize(
        ("rows", "options"),
        [
            (month(1_500, shift=1.0), NAMED | {"cross_fit": 0}),
            (classes(1_500, scale=2.0), {"cross_fit": 2}),
        ],
        ids=["two classes", "three classes"],
    )
    def test_as_frame_csv_npz_parquet_and_folder(
        self,
        rows: dict[str, np.ndarray],
        options: dict[str, Any],
        most: int,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        keep_at_most(most, monkeypatch)
        table = pa.table(rows)
        csv.write_csv(table, tmp_path / "a.csv")
        np.savez(tmp_path / "a.npz", **rows)  # type: ignore[arg-type]
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


class TestSums:
    def test_by_hand(self) -> None:
        """Three rows: 1/4 is wrong, 1/2 and 3/4 are right."""
        probs = np.array([0.25, 0.5, 0.75])
        rows = Rows(probs, None, np.array([0, 1, 1]), {}, None, None)
        sums = ExactSums(1)
        sums.add(rows)
        spread = 2 * 3 / 16 + 1 / 4
        squares = 1 / 16 + 1 / 4 + 1 / 16
        excess = 0.5 * -0.25 + 0 + -0.5 * 0.25
        variance = 2 * 0.25 * 3 / 16
        expected = [3, 2, 1.5, squares, spread]
        assert in_bins(sums.bins).array[:, 0].tolist() == expected
        assert in_cells(sums.cells).array.sum(axis=1).tolist() == expected
        assert sums.losses[1:] == [round(variance * 2**32), 2 * 2**32]
        assert Totals(sums).losses[1] == squares
        assert Totals(sums).of_z.tolist() == [excess, variance]
        nll = -np.log(0.75) * 2 - np.log(0.5)
        assert sums.losses[0] / 2**32 == pytest.approx(nll, abs=1e-9)

    def test_cells_are_the_nearest(self) -> None:
        log_odds = np.array([-800, -40, -1 / 300, 0, 1 / 200, 1 / 128, 50])
        assert cells_of(log_odds).tolist() == [0, 0, 5120, 5120, 5121, 5121, 10240]

    def test_tiny_probabilities(self) -> None:
        probs = np.full(1_000, 3e-8)
        rows = Rows(probs, None, np.zeros(1_000, np.int64), {}, None, None)
        sums = ExactSums(15)
        sums.add(rows)
        assert in_bins(sums.bins).predicted == pytest.approx(3e-8, rel=0.01)
        found = Totals(sums).confidences[0]
        assert found == pytest.approx(np.full(1_000, 3e-8), rel=0.01)

    def test_how_far_cells_move_the_error(self) -> None:
        """In 24 sets of several shapes, rounded, rare or far from calibrated."""
        moved = []
        for seed in range(16, 40):
            rng = np.random.default_rng(seed)
            n = int(rng.integers(2_000, 60_000))
            probs = rng.beta(*rng.choice([0.3, 1, 3, 30], 2), n)
            probs = [probs, probs.round(2), expit(rng.normal(0, 3, n)), probs / 1_000][seed % 4]
            truth = np.clip(probs * rng.uniform(0.7, 1.3) + rng.uniform(-0.02, 0.02), 0, 1)
            labels = (rng.random(n) < truth).astype(np.int64)
            rows = Rows(probs, None, labels, {}, None, None)
            all_rows, sums = ExactSums(15, lots=Lots(0, False)), ExactSums(15)
            ends = []
            for each in (all_rows, sums):
                each.add(rows)
                ends.append(larger_error(Totals(each).binnings))
            one, two = ends
            moved.append(np.abs(np.subtract(one, two)).max())
        assert max(moved) < 0.0011  # as the docstring of Totals says
        assert np.median(moved) < 0.00002

    def test_bins_of_equal_mass(self) -> None:
        """As many rows in each as NumPy's quantiles of the cells' numbers give."""
        rng = np.random.default_rng(0)
        probs = np.concatenate([np.zeros(300), rng.beta(0.3, 2, 1_000), np.full(200, 0.5)])
        with np.errstate(divide="ignore"):
            log_odds = np.log(probs) - np.log1p(-probs)
        rows = Rows(probs, log_odds, np.zeros(1_500, np.int64), {}, None, None)
        sums = ExactSums(10)
        sums.add(rows)
        found = Totals(sums).binnings[1].array[0]
        ranks = np.unique(cells_of(log_odds), return_inverse=True)[1]
        edges = np.quantile(ranks, np.linspace(0, 1, 11))
        index = np.clip(np.searchsorted(edges, ranks) - 1, 0, 9)
        assert found.tolist() == np.bincount(index, minlength=10).tolist()

    @pytest.mark.parametrize(("name", "value"), [("_STEP", 7), ("_MOST_JOINT", 1)])
    def test_however_they_are_counted(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int
    ) -> None:
        expected = report(folder, cross_fit=0, **NAMED).facts["SHA-256 of the sums"]
        monkeypatch.setattr(f"calib_audit.exact_sums.{name}", value)
        assert report(folder, cross_fit=0, **NAMED).facts["SHA-256 of the sums"] == expected

    def test_too_many_rows_do_not_overflow(self) -> None:
        sums, more = ExactSums(1), ExactSums(1)
        more.bins[0, 0] = 2**30
        sums.merge(more)
        with pytest.raises(ValueError, match=r"fewer than 2,147,483,648 rows.*each week"):
            sums.merge(more)


class TestLots:
    def test_a_lot_is_splitmix64(self) -> None:
        """Against the published generator, step by step in Python's whole numbers."""

        def next_of(state: int) -> int:
            z = (state + 0x9E3779B97F4A7C15) % 2**64
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
            return z ^ (z >> 31)

        assert next_of(1234567) == 6457827717110365317  # the first of the reference, of that seed
        probs = np.array([[0.25, 0.75], [0.5, 0.5]])
        rows = Rows(probs, None, np.array([1, 0]), {}, None, None)
        for row, label, lot in zip(
            probs, rows.labels, Lots(9, False).numbers_of(rows), strict=True
        ):
            state = 9
            for bits in (*row.view(np.uint64).tolist(), int(label)):
                state = next_of(state ^ bits)
            assert int(lot) == state

    def test_each_row_is_as_likely(self) -> None:
        """Of 400 different rows, 100 are kept for each of 300 seeds."""
        probs = np.linspace(0.1, 0.9, 400)
        probs = np.stack([probs, 1 - probs], axis=1)
        rows = Rows(probs, None, np.zeros(400, np.int64), {}, None, None)
        kept = np.zeros(400)
        for seed in range(300):
            lots = Lots(seed, False)
            lots._limit = 100
            lots._join([(lots.numbers_of(rows), np.ones(400, np.int64), rows)])
            lots._shrink()
            kept += np.isin(probs[:, 0], lots._parts[0][2].probs[:, 0])
        variance = 300 * 0.25 * 0.75
        chi2 = ((kept - 75) ** 2).sum() / variance
        assert abs(chi2 - 400) < 5 * np.sqrt(2 * 400)  # of a mean of 400

    def test_drawn_rows_are_a_sample_without_replacement(self) -> None:
        counts = np.array([0, 5, 1_000_000_000_000, 3])
        assert drawn(np.array([2, 0, 1]), 3, 0).tolist() == [0, 0, 2]
        assert drawn(counts, 50, 0).tolist() == [2] * 50
        first = [np.sum(drawn(np.array([30, 70]), 10, seed) == 0) for seed in range(500)]
        assert np.mean(first) == pytest.approx(3, abs=0.3)  # its standard error is 0.06


class TestFolders:
    def test_patterns_and_partitions(self, folder: Path, tmp_path: Path) -> None:
        rows = month(6_000)
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

    def test_labels_and_dates_of_any_type(self, tmp_path: Path) -> None:
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

    def test_missing_values_are_dropped_and_counted(self, tmp_path: Path) -> None:
        rows = {name: column.tolist() for name, column in month(100).items()}
        rows["label"][3] = rows["region"][7] = rows["score"][11] = rows["day"][13] = None
        (tmp_path / "a").mkdir()
        parquet.write_table(pa.table(rows), tmp_path / "a/a.parquet")
        found = report(tmp_path / "a", drop=True, cross_fit=0, **NAMED)
        assert found.measures.n == 96
        assert "4 rows were dropped because a value was missing" in found.read

    def test_a_positive_label_of_one_file_only(self, tmp_path: Path) -> None:
        for name, label in (("a", "no"), ("b", "fraud")):
            table = pa.table({"score": [0.1, 0.2], "label": [label, "no"]})
            parquet.write_table(table, tmp_path / f"{name}.parquet")
        assert report(tmp_path, positive="fraud", cross_fit=0).measures.happened == 0.25
        with pytest.raises(ValueError, match=r"positive: expected a label that occurs, found 'x'"):
            report(tmp_path, positive="x", cross_fit=0)

    def test_files_that_come_or_change_meanwhile(self, tmp_path: Path) -> None:
        rows = month(500)
        path = write(tmp_path / "files", rows, 2)
        opened = open_folder(path, NAMED_COLUMNS, False)
        parquet.write_table(pa.table(rows), path / "part-99.parquet")
        assert read_folder(opened, how_of(opened))[1].read == 500
        parquet.write_table(pa.table(rows), path / "part-00.parquet")
        with pytest.raises(ValueError, match=r"part-00.parquet: the file was written to since"):
            read_folder(opened, how_of(opened))

    def test_files_and_row_groups_without_rows(self, folder: Path, tmp_path: Path) -> None:
        expected = report(folder, cross_fit=0, **NAMED).facts["SHA-256 of the sums"]
        more = shutil.copytree(folder, tmp_path / "files")
        table = parquet.read_table(more / "part-03.parquet")
        parquet.write_table(table.slice(0, 0), more / "part-98.parquet")
        with parquet.ParquetWriter(more / "part-03.parquet", table.schema) as file:
            for part in (table.slice(0, 0), table, table.slice(0, 0)):
                file.write_table(part)
        found = report(more, cross_fit=0, **NAMED)
        assert found.facts["SHA-256 of the sums"] == expected

    def test_other_columns_are_not_read(self, folder: Path, tmp_path: Path) -> None:
        expected = numbers(folder, cross_fit=0, **NAMED)
        damaged = shutil.copytree(folder, tmp_path / "files")
        overwritten(4)(damaged / "part-03.parquet")
        with pytest.raises(OSError, match=r"page|Corrupt|header|Invalid"):
            parquet.read_table(damaged / "part-03.parquet")
        assert numbers(damaged, cross_fit=0, **NAMED) == expected

    def test_files_are_not_read_on_after_the_end(self, tmp_path: Path) -> None:
        opened = open_folder(write(tmp_path / "files", month(3_000), 50), NAMED_COLUMNS, False)
        told: list[int] = []
        sums = _in_threads(opened.files, how_of(opened), told.append)
        first = next(sums)
        sums.close()  # type: ignore[attr-defined]
        assert first.counts.read <= sum(told) < 3_000
        assert first.counts.read == opened.files[0].rows

    def test_memory_does_not_grow_with_the_files(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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

    def test_what_goes_with_folders_only_and_what_does_not(self, folder: Path) -> None:
        with pytest.raises(ValueError, match=r"bad_files: expected with a folder of Parquet files"):
            report(month(100), skip_bad_files=True)
        with pytest.raises(ValueError, match="prices: expected two numbers"):
            report(folder, prices=(1,))

    def test_weights(self, tmp_path: Path) -> None:
        """Of 20,000 rows every positive one was logged, and a tenth of the others."""
        rows = month(20_000)
        logged = (rows["label"] == 1) | (np.random.default_rng(1).random(20_000) < 0.1)
        rows = {name: column[logged] for name, column in rows.items()}
        rows["weight"] = np.where(rows["label"] == 1, 1.0, 10.0)
        path = write(tmp_path / "files", rows, 5)
        found, again = (report(path, weight="weight", cross_fit=0, **NAMED) for _ in range(2))
        assert found.measures == again.measures
        assert found.measures.n == len(rows["label"])
        effective = rows["weight"].sum() ** 2 / (rows["weight"] ** 2).sum()
        assert found.measures.effective == pytest.approx(effective)
        truth = np.average(rows["label"], weights=rows["weight"])
        assert found.measures.happened == pytest.approx(truth)
        assert abs(found.measures.z) < 4
        for weight in (1, 10):
            (tmp_path / f"hive/weight={weight}").mkdir(parents=True)
            part = {name: rows[name][rows["weight"] == weight] for name in ("score", "label")}
            parquet.write_table(pa.table(part), tmp_path / f"hive/weight={weight}/a.parquet")
        hive = report(tmp_path / "hive", weight="weight", cross_fit=0)
        for name in ("n", "effective", "happened", "ece", "nll", "z", "error"):
            assert getattr(hive.measures, name) == getattr(found.measures, name)

    def test_weights_whose_largest_is_unknown(self, tmp_path: Path) -> None:
        path = tmp_path / "a.parquet"
        rows = {"score": [0.1, 0.2], "label": [0, 1], "weight": [1.0, 2.0]}
        for column, options in (([1.0, 2.0], {"write_statistics": False}), (["9", "10"], {})):
            parquet.write_table(pa.table(rows | {"weight": column}), path, **options)
            with pytest.raises(
                ValueError, match=r"a\.parquet: weight: expected finite numbers, and"
            ):
                report(tmp_path, weight="weight")
        parquet.write_table(pa.table(rows | {"weight": [0.0, 0.0]}), path)
        with pytest.raises(ValueError, match="weight: expected a weight above 0, found none"):
            report(tmp_path, weight="weight")

    def test_recalibrators_may_be_fitted_on_a_file(self, folder: Path) -> None:
        found = report(folder, fit=month(3_000, seed=5))
        assert found.recalibrators is not None
        assert "fitted on 3,000 other rows, judged on 6,000" in found.recalibrators.how
        with pytest.raises(ValueError, match="fit: expected rows that the report does not use"):
            report(folder, fit=month(6_000))

    def test_a_bar_shows_rows_a_second_and_the_time_left(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        terminal = io.StringIO()
        monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("sys.stderr", terminal)
        report(folder, cross_fit=0)
        assert re.search(r"0.00/6.00k \[.*<\?, \? rows/s\]", terminal.getvalue())

    def test_ctrl_c_says_how_far_it_came(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def stopped(file: Any, *rest: Any) -> Any:
            if file.name == "part-02.parquet":
                raise KeyboardInterrupt
            return sums_of_file(file, *rest)

        monkeypatch.setattr(gathering, "sums_of_file", stopped)
        assert main([str(folder)]) == 130
        read = sum(parquet.read_metadata(folder / f"part-0{k}.parquet").num_rows for k in (0, 1))
        assert capsys.readouterr().err == f"\nStopped after 2 of 6 files and {read:,} rows.\n"


NAMED_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("label", "score", "positive", "weight")),
    "time": "day:D",
    "group": ("region",),
    "classes": (),
}


def how_of(folder: Folder) -> How:
    return How(folder.columns, 15, False, False, True)


def changed(column: str, value: Any) -> Callable[[Path], None]:
    """A damage of one value, in the second row group of the file."""

    def damage(path: Path) -> None:
        table = parquet.read_table(path)
        values = table[column].to_pylist()
        values[len(values) // 2] = value
        kind = None if isinstance(value, str) else table[column].type
        table = table.set_column(
            table.schema.get_field_index(column), column, [pa.array(values, kind)]
        )
        parquet.write_table(table, path, row_group_size=len(values) // 3)

    return damage


def retyped(column: str, kind: Any) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        table = parquet.read_table(path)
        place = table.schema.get_field_index(column)
        parquet.write_table(table.set_column(place, column, table[column].cast(kind)), path)

    return damage


def cut(part: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[: int(part * len(content))])

    return damage


def overwritten(column: int) -> Callable[[Path], None]:
    """The pages of one column, in the second row group, as a bad disk leaves them."""

    def damage(path: Path) -> None:
        found = parquet.read_metadata(path).row_group(1).column(column)
        start = found.dictionary_page_offset or found.data_page_offset
        with path.open("r+b") as file:
            file.seek(start)
            file.write(b"\xff" * found.total_compressed_size)

    return damage


def many_regions(path: Path) -> None:
    table = parquet.read_table(path)
    names = [f"region {k}" for k in range(len(table))]
    parquet.write_table(table.set_column(2, "region", [pa.array(names)]), path)


def no_day(path: Path) -> None:
    parquet.write_table(parquet.read_table(path).drop_columns("day"), path)


def gone(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


FOOTER = r"the file is cut, or no Parquet \(.+\); write it again"
DAMAGED: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut in half": (cut(0.5), FOOTER),
    "empty": (cut(0), FOOTER),
    "a link to nowhere": (gone, r"the file cannot be read \(.*No such file or directory.*\)"),
    "no column": (no_day, r"day: expected date32\[day\] as in part-00.parquet, found no such"),
    "another type": (
        retyped("score", pa.float32()),
        "score: expected double as in part-00.parquet, found float; write all files",
    ),
    "overwritten scores": (overwritten(0), r"row group 1, score: the file is damaged"),
    "nan": (changed("score", float("nan")), "row group 1: score: expected a value in each row"),
    "percent": (changed("score", 45.0), "row group 1: score: expected 0 to 1, found 45 in row 501"),
    "no label": (changed("label", None), "row group 1: label: expected a value in each row"),
    "no date": (changed("day", None), "row group 1: day: expected a value in each row, found none"),
    "a thousand regions": (many_regions, "group: expected at most 1,000 values, found more"),
}


class TestDamage:
    @pytest.mark.parametrize("name", DAMAGED)
    def test_one_sentence_names_the_place(self, name: str, tmp_path: Path) -> None:
        damage, message = DAMAGED[name]
        path = tmp_path / "files"
        path.mkdir()
        n = 1_500 if name == "a thousand regions" else 1_000
        for k in range(3):
            part = pa.table(month(n, seed=k))
            parquet.write_table(part, path / f"part-0{k}.parquet", row_group_size=n // 3)
        damage(path / "part-01.parquet")
        with pytest.raises(ValueError, match=rf"part-01\.parquet.*{message}") as caught:
            report(path, cross_fit=0, **NAMED)
        said = str(caught.value)
        assert "\n" not in said
        assert "no rows were read yet" in said or f"after 1 of 3 files and {n:,} rows" in said
        assert said.endswith(("skip_bad_files=True", "skip_bad_files=True)"))
        opened = open_folder(path, NAMED_COLUMNS, True)
        _, counts, _, refused = read_folder(opened, how_of(opened), skip_bad_files=True)
        assert counts.read == 2 * n
        assert len(refused) == 1
        assert refused[0] in said

    def test_files_that_are_left_out_are_listed(self, folder: Path, tmp_path: Path) -> None:
        bad = shutil.copytree(folder, tmp_path / "files")
        cut(0.5)(bad / "part-01.parquet")
        changed("score", 45.0)(bad / "part-03.parquet")
        found = report(bad, cross_fit=0, skip_bad_files=True)
        assert "2 files were left out" in found.read
        for name in ("part-01.parquet: the file is cut", "part-03.parquet, row group 1: score: ex"):
            assert f"left out: {name}" in found.text()
            assert f"left out: {name}" in found.html()

    def test_folders_without_files(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"expected Parquet files, found none; names end in"):
            report(tmp_path)
        with pytest.raises(ValueError, match=r"expected Parquet files, found none"):
            report(f"{tmp_path}/*.parquet")
        (tmp_path / "a.parquet").touch()
        with pytest.raises(ValueError, match=r"none of 1 files can be read: a.parquet: the file"):
            report(tmp_path, skip_bad_files=True)

    def test_all_files_are_bad(self, tmp_path: Path) -> None:
        path = write(tmp_path / "files", month(100))
        changed("score", 3.0)(path / "part-00.parquet")
        with pytest.raises(ValueError, match=r"no rows are left; part-00.parquet, row group 1"):
            report(path, skip_bad_files=True, cross_fit=0)


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("months")
    for name, seed, shift in (("may", 1, 0.0), ("june", 2, 0.0), ("july", 3, 1.0)):
        rows = month(60_000, seed, shift)
        if name == "july":
            rows["region"] = np.where(rows["region"] == "east", "west", rows["region"])
        report(rows, cross_fit=0, group="region").write(json=path / f"{name}.json")
    return path


class TestComparedMonths:
    def test_against_the_rows(self, months: Path) -> None:
        found = compare_reports(months / "may.json", months / "july.json")
        by_name = {change.name: change for change in found.found}
        assert set(by_name) == {"all rows", "region north", "region south", "region 서울"}
        assert found.missing == ["region east", "region west"]
        rows = [month(60_000, 1), month(60_000, 3, 1.0)]
        gaps = [each["label"] - each["score"] for each in rows]
        north = [gap[each["region"] == "north"] for gap, each in zip(gaps, rows, strict=True)]
        change = by_name["region north"]
        assert change.gaps == pytest.approx([float(gap.mean()) for gap in north], abs=1e-9)
        error = np.sqrt(sum(gap.var(ddof=1) / len(gap) for gap in north))
        half = (change.interval[1] - change.interval[0]) / 2
        assert half == pytest.approx(1.96 * error, rel=1e-2)
        assert {name: each.outcome for name, each in by_name.items()} == {
            "all rows": "beyond",
            "region north": "beyond",
            "region south": "within",
            "region 서울": "within",
        }

    def test_the_command(self, months: Path, capsys: pytest.CaptureFixture[str]) -> None:
        may, june, july = (str(months / f"{name}.json") for name in ("may", "june", "july"))
        assert main(["compare", may, june]) == 0
        assert "No gap has changed by more than the tolerance of 2.0" in capsys.readouterr().out
        assert main(["compare", may, july, "--json", str(months / "found.json")]) == 1
        said = capsys.readouterr().out
        assert said.startswith("Changed by more than the tolerance of 2.0 points: all rows, region")
        assert "region west is only in one of the two" in said
        stored = json.loads((months / "found.json").read_text("utf-8"))
        assert stored["exit_code"] == 1
        assert main(["compare", may, june, "--tolerance", "0.0001"]) == 3
        assert main(["compare", may, may]) == 2
        assert "expected a report of other rows than the first" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{}", "found something else"),
            ("no", "found something else"),
            ('{"format": 1}', "in format 3, .* make the report again"),
        ],
    )
    def test_what_is_no_report(self, months: Path, tmp_path: Path, text: str, message: str) -> None:
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(ValueError, match=rf"a\.json: expected .*{message}"):
            compare_reports(months / "may.json", tmp_path / "a.json")

    @pytest.mark.parametrize("count", [-5, None])
    def test_counts_that_cannot_be(self, months: Path, tmp_path: Path, count: Any) -> None:
        known = json.loads((months / "may.json").read_text("utf-8"))
        known["bins"]["count"][1] = count
        (tmp_path / "a.json").write_text(json.dumps(known), "utf-8")
        with pytest.raises(ValueError, match="expected the JSON of a report in format 3"):
            compare_reports(months / "june.json", tmp_path / "a.json")

    @pytest.mark.parametrize("other", [2, 4])
    def test_a_whole_report_in_another_format(self, tmp_path: Path, other: int) -> None:
        """The next format may mean something else by the same names."""
        days = np.datetime64("2026-06-01") + np.arange(200) % 2
        data = {"score": np.full(200, 0.5), "label": np.arange(200) % 2, "day": days}
        found = report(data, cross_fit=0)
        assert json.loads(found.json())["format"] == 3
        path = tmp_path / "other.json"
        path.write_text(found.json().replace('"format": 3', f'"format": {other}'), "utf-8")
        with pytest.raises(ValueError, match=r"other\.json: expected .* make the report again"):
            compare_reports(found, path)
        with pytest.raises(ValueError, match=r"other\.json: expected .* something else"):
            report(data, time="day:D", baseline=path, cross_fit=0)

    def test_a_rare_rate_that_trebles_has_changed(self) -> None:
        """Beside a rate of 0.1 % two points are no tolerance."""
        rng = np.random.default_rng(0)
        score = rng.beta(1, 999, 100_000)
        may, june = (
            report({"score": score, "label": rng.random(100_000) < times * score}, cross_fit=0)
            for times in (1, 3)
        )
        found = compare_reports(may, june)
        assert found.exit_code == 1
        assert found.found[0].limit == pytest.approx(score.mean() / 4, rel=1e-3)
        assert "or 25.0\N{NO-BREAK SPACE}% of the rate of the rarer outcome" in found.text()
        assert compare_reports(may, june, relative_tolerance=1).found[0].outcome == "beyond"
        with pytest.raises(ValueError, match="relative_tolerance: expected above 0 and up to 1"):
            compare_reports(may, june, relative_tolerance=2)
