"""The tables of the benchmark page, from results that are made up here."""

import json
from contextlib import chdir
from pathlib import Path

import pytest

from benchmarks.tables import main
from calib_utils.metrics import calibration_error_interval

REPOSITORY = Path(__file__).parents[1]


def page(folder: Path, **results: dict) -> str:
    """What the script writes in a folder with these results."""
    (folder / "benchmarks/results").mkdir(parents=True)
    for name, content in results.items():
        path = folder / f"benchmarks/results/{name}.json"
        path.write_text(json.dumps(content), "utf-8")
    with chdir(folder):
        main(Path("build/tables/page.md"))
    return (folder / "build/tables/page.md").read_text("utf-8")


def ece_row(name, ms, error):
    return {"name": name, "ms": ms, "ratio": ms / 2, "extra_mb": None, "error": error}


ECE = {
    "facts": {"cpu": "A processor", "threads": 1, "versions": {"numpy": "9.9"}},
    "tables": {
        "20000 x 100": [
            ece_row("one pass over the array (sum)", 2.0, None),
            ece_row("calib_utils, torch tensors", 5.0, 1e-17),
            ece_row("calib_utils, NumPy arrays", 4.0, 1e-17),
            ece_row("slow peer", 14_000.0, 1e-7),
            ece_row("quick peer", 1.0, 0.5),
        ],
    },
}


def cell(name, n, error, coverage, width):
    return {"name": name, "n": n, "error": error, "coverage": coverage, "width": width}


def other(name, strategy, error, coverage):
    return {**cell(name, 500, error, coverage, None), "bins": 7, "strategy": strategy}


COVERAGE = {
    **{"bins": 15, "level": 0.95, "sets": 300, "repeats": 1_000, "seed": 4},
    **{"cpu": "A processor", "threads": 1, "versions": {"numpy": "9.9"}, "date": "2001-02-03"},
    "predictions": "a network",
    "rows": [
        cell("calib_utils", 500, 0.0, 0.99, 0.0712),
        cell("a bootstrap", 500, 0.0, 0.0, 0.05),
        cell("calib_utils", 500, 0.009, 0.97, 0.0712),
        cell("a bootstrap", 500, 0.009, 0.203, 0.05),
        cell("calib_utils", 10_000, 0.0, 0.963, 0.0161),
        cell("a bootstrap", 10_000, 0.0, 0.1, 0.014),
        cell("calib_utils", 10_000, 0.009, 1.0, 0.0161),
        cell("a bootstrap", 10_000, 0.009, 0.94, 0.014),
    ],
    "other_bins": [
        other("calib_utils", "uniform", 0.0, 0.95),
        other("calib_utils", "uniform", 0.009, 0.94),
        other("calib_utils, debiased", "quantile", 0.0, 0.98),
        other("calib_utils, debiased", "quantile", 0.009, 0.99),
    ],
    "libraries": {
        **{"sets": 50, "cpu": "Another", "threads": 1, "versions": {}, "date": "2001-02-04"},
        "rows": [
            cell("calib_utils", 500, 0.0, 0.98, 0.0712),
            cell("a library", 500, 0.0, 0.02, 0.05),
            cell("calib_utils", 500, 0.02, 1.0, 0.0712),
            cell("a library", 500, 0.02, 0.01, 0.0512),
        ],
    },
    "rare": {
        **{"sets": 200, "positives": 0.0098},
        "rows": [
            {**cell("calib_utils", 2_000, 0.005, 0.98, 0.01), "bins": 15, "strategy": "quantile"},
        ],
    },
    "hostile": {
        "sets": 200,
        "rows": [
            cell("one bin", 2_000, 0.0, 0.99, 0.06)
            | {"bins": 15, "oracle_coverage": 0.95, "oracle_width": 0.03},
        ],
    },
    "weighted": {
        **{"sets": 100, "most_weight": 10, "spread": 1.0},
        "rows": [
            {**cell("kept", 2_000, 0.0, 0.99, 0.067), "weighted_error": 1e-17},
            {**cell("kept", 2_000, 0.02, 0.961, 0.067), "weighted_error": 0.0227},
        ],
    },
}


def fit(library, method="vector", **found):
    return {"method": method, "library": library, "n": 5000, "k": 100, **found}


RECALIBRATION = {
    "clock": "the least of up to five warm fits",
    "cpu": "A processor",
    "threads": 1,
    "versions": {},
    "true_map": {"5000x100": {"nll": 1.5, "nll_new": 1.6}},
    "rows": [
        fit("calib_utils", ms=10.0, nll=1.4, nll_new=1.7),
        fit("worse peer", ms=1.0, nll=1.41, nll_new=1.7),
        fit("equal peer", ms=35.0, nll=1.40005, nll_new=1.7),
        fit("slower equal peer", ms=70.0, nll=1.4, nll_new=1.7),
        fit("late peer", note="over budget"),
        fit("calib_utils", "matrix", ms=10.0, nll=0.1, nll_new="infinite"),
        fit("peer", "matrix", ms=10.0, nll=0.2, nll_new=3.0),
    ],
}


def measured(hardware, script, ours):
    """Results of training on one device: the seconds and accuracies of two codes."""
    return {
        "hardware": hardware,
        "threads": 2,
        "workers": 8,
        "epochs": 3,
        "milestones": [1, 2],
        "training_images": 45_000,
        "test_images": 10_000,
        "versions": {"torch": "9"},
        "rows": [
            {"name": name, "seconds": seconds, "test_accuracies": accuracies}
            for name, (seconds, accuracies) in (("the script", script), ("calib_utils", ours))
        ],
    }


TRAINING = {
    "cuda": measured(
        "A card",
        script=([[900, 90, 90], [90, 90, 80]], [0.500, 0.504]),
        ours=([[400, 9, 9], [9, 9, 9]], [0.520, 0.526]),
    ),
    "cpu": measured(
        "A processor, 2 threads",
        script=([[90, 90, 90], [90, 90, 90]], [0.20, 0.24]),
        ours=([[36, 36, 36], [36, 36, 36]], [0.19, 0.24]),
    ),
}


def test_ece(tmp_path):
    text = page(tmp_path, ece=ECE)
    assert "Measured on: A processor, 1 thread. numpy 9.9." in text
    assert "### 20,000 by 100" in text
    assert (
        "| library | time | ratio | extra MB | error |\n| --- | --: | --: | --: | --: |\n" in text
    )
    assert "| slow peer | 14 s | 7,000 | ? | 1e-07 |" in text
    # Against the faster of our two rows.
    assert "slow peer takes 3,500 times as long as calib_utils" in text
    assert "quick peer takes 0.25 of the time of calib_utils" in text
    assert "one pass over the array (sum) takes" not in text


def test_coverage(tmp_path):
    text = page(tmp_path, coverage=COVERAGE).replace("\N{NO-BREAK SPACE}", " ")
    assert "Measured on: A processor, 1 thread, 2001-02-03. numpy 9.9." in text
    assert (
        "300 sets in each cell (seed 4), and 1,000 bootstrap samples; the confidences are" in text
    )
    assert "The nominal coverage is 95 %; the mean width" in text
    few, many = text.split("### 500 samples")[1].split("### 10,000 samples")
    assert "| interval | error 0 % | error 0.9 % |" in few
    assert "| calib_utils | 99.0 % (7.1) | 97.0 % (7.1) |" in few
    assert "| a bootstrap | 0.0 % (5.0) | 20.3 % (5.0) |" in few
    assert "| calib_utils | 96.3 % (1.6) | 100.0 % (1.6) |" in many
    assert "in all these tables: calib_utils 96.3 %; a bootstrap 0.0 %." in text
    assert "| interval | bins | 500 samples |" in text
    assert "| calib_utils | 7 of equal width | 94.0 % |" in text
    assert "| calib_utils, debiased | 7 of equal mass | 98.0 % |" in text
    assert "get the same sets, 50 in each cell," in text
    assert "| interval | 500, error 0 % | 500, error 2 % |" in text
    assert "| a library | 2.0 % (5.0) | 1.0 % (5.1) |" in text
    assert "The lowest coverage of each: calib_utils 98.0 %; a library 1.0 %." in text
    assert "Here 0.98 % of the samples are positive" in text
    assert "| interval | bins | 2,000, error 0.5 % |" in text
    assert "| calib_utils | 15 of equal mass | 98.0 % (1.0) |" in text
    assert "| one bin, 15 bins | 2,000 | 0 % | 99.0 % (6.0) | 95.0 % (3.0) |" in text
    assert "makes the interval 2.0 to 2.0 times as wide as the oracle's" in text
    assert "a standard deviation of 1, times a number from 1 to 10 that is larger" in text
    assert "| method | 2,000, error 0 % | 2,000, error 2.3 % |" in text
    assert "| kept | 99.0 % (6.7) | 96.1 % (6.7) |" in text


def test_blocks(tmp_path):
    case = {"blocks": 20, "size": 50, "alike": 1.0, "one_confidence": True, "spread_of_sizes": 0.7}
    rows = [
        {"case": 0, "name": name, "error": 0.02, "coverage": coverage, "width": 0.3}
        for name, coverage in (("with", 0.97), ("without", 0.1))
    ]
    facts = {"cpu": "A processor", "threads": 1, "date": "2001-02-03", "versions": {"numpy": "9"}}
    results = {"sets": 200, "seed": 0, "bins": 15, "cases": [case], "rows": rows}
    found = {"false_findings": [{"ECE, with": 0.015, "ECE, without": 1.0}]}
    text = page(tmp_path, blocks=facts | results | found).replace("\N{NO-BREAK SPACE}", " ")
    what = "20 of 50, 100 % in common, one confidence each, unequal sizes"
    assert f"| {what} | with | 97.0 % (30.0) |\n|  | without | 10.0 % (30.0) |" in text
    assert "The lowest coverage of each: with 97.0 %; without 10.0 %." in text
    assert f"| {what} | 1.5 | 100.0 |" in text
    assert "| blocks | ECE, with | ECE, without |" in text


def test_uncertainty(tmp_path):
    rows = [
        {"name": "calib_utils", "ms": 4.0, "ratio": 1.0, "result": [0.0, 0.0123]},
        {"name": "calib_utils, debiased", "ms": 2.0, "ratio": 0.5, "result": [0.0, 0.02]},
        {"name": "a loop", "ms": 200.0, "ratio": 50.0, "result": [0.01, 0.02]},
    ]
    content = {"facts": ECE["facts"], "tables": {"A 95 % interval": rows, "Alone": rows[:1]}}
    text = page(tmp_path, uncertainty=content).replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "### A 95 % interval\n\n"
        ":::{table} A 95 % interval. Time and result.\n"
        ":name: tab-benchmark-uncertainty-1\n\n| method | time | ratio | result |\n" in text
    )
    assert "| a loop | 200 ms | 50 | 1.00 %, 2.00 % |" in text
    assert text.count("a loop takes 50 times as long as calib_utils.") == 1
    assert "debiased takes" not in text


def test_false_findings(tmp_path):
    rates = {"calib_utils": 0.052, "other seeds only": 0.171}
    of_worse = {"calib_utils": 0.4, "other seeds only": 0.5}
    one = {"metric": "ece", "alike": 0.9, "spread": 0.02, "seeds": 3, "rates": rates}
    other = {"metric": "error", "alike": 0.0, "spread": 0.0, "seeds": 5, "rates": rates}
    other["rates"] = rates | {"calib_utils": 0.016}
    rows = [row | {"of_worse": of_worse} for row in (one, other)]
    made = {"sets": 1_000, "images": 500, "repeats": 100, "seed": 4, "date": "2001-02-03"}
    machine = {"cpu": "A processor", "threads": 1, "versions": {"numpy": "9.9"}}
    text = page(tmp_path, false_findings={**made, **machine, "worse": 0.04, "rows": rows})
    text = text.replace("\N{NO-BREAK SPACE}", " ")
    assert "1,000 pairs of groups in each row (seed 4), with 500 test images and 100 boot" in text
    none, some = text.split("in any row: calib_utils 5.2 %, other seeds only 17.1 %.")
    assert "| ECE | 90 % | 2 | 3 | 5.2 % | 17.1 % |" in none
    assert "| error | 0 % | 0 | 5 | 1.6 % | 17.1 % |" in none
    assert "the second group is less accurate by 4 points" in some
    assert "| ECE | 90 % | 2 | 3 | 40.0 % | 50.0 % |" in some


def test_verdicts(tmp_path):
    def rates(beyond, within):
        return {
            "bins alone": {"beyond": beyond / 2, "within": within},
            "both": {"beyond": beyond, "within": within / 2},
        }

    rows = [
        {"rows": 1_000, "shape": "too low", "error": 0.0, "rates": rates(0.0, 0.9)},
        {"rows": 1_000, "shape": "too low", "error": 0.02, "rates": rates(0.04, 0.01)},
        {"rows": 1_000, "shape": "too low", "error": 0.062, "rates": rates(0.6, 0.0)},
    ]
    machine = {"cpu": "A processor", "threads": 1, "versions": {"numpy": "9.9"}}
    made = {"sets": 100, "tolerance": 0.02, "date": "2001-02-03", "rows": rows}
    text = page(tmp_path, verdicts=made | machine).replace("\N{NO-BREAK SPACE}", " ")
    assert "| 1,000 | too low | 6.2 | 30 % | 60 % | 0 % | 0 % |" in text
    assert "wrong verdicts in any row: bins alone 2 %, both 4 %." in text


def test_recalibration(tmp_path):
    text = page(tmp_path, recalibration=RECALIBRATION)
    assert "| --- | --- | --: | --: | --: | --: |\n" in text
    assert "| vector | calib_utils | 10 ms | 1.0 | 1.4000 | 1.7000 |" in text
    assert "|  | equal peer | 35 ms | 3.5 | 1.4001 | 1.7000 |" in text
    assert "|  | late peer | over budget |  |  |  |" in text
    assert "infinite" in text
    assert "Times are the least of up to five warm fits." in text
    assert (
        "- vector: equal peer, the fastest of the peers that fit as well, takes 3.5 times as "
        "long as calib_utils." in text
    )
    assert (
        "- matrix: no peer fits these samples as well as calib_utils. At least as good on new "
        "samples: peer." in text
    )


def test_training(tmp_path):
    text = page(tmp_path, training=TRAINING)
    cpu, gpu = text.split("### On a CPU")[1].split("### On a GPU")
    assert "Measured on: A processor, 2 threads, 8 workers. torch 9." in cpu
    assert "2 seeds, 3 epochs each on 45,000 images; the learning rate drops after epochs 1" in cpu
    assert "| the script | 90 | 500 | 1.0 | 22.0 ± 2.8 |" in cpu
    assert "| calib_utils | 36 | 1,250 | 2.5 | 21.5 ± 3.5 |" in cpu
    assert "An epoch of the script takes 2.5 times as long as one of calib_utils." in cpu
    # The differences of the two seeds are -1 and 0 points: their mean has an error of 0.5, and t is
    # 1 with one degree of freedom.
    assert "is lower by 0.50 ± 0.50 points (± the standard error of the paired" in cpu
    assert "With 2 seeds, that may be chance (Student's t-test, p = 0.5)." in cpu
    assert "Measured on: A card, 2 threads, 8 workers. torch 9." in gpu
    assert "| calib_utils | 9.0 | 5,000 | 10 | 52.3 ± 0.4 |" in gpu  # medians
    assert "is higher by 2.10 ± 0.10 points" in gpu
    assert "With 2 seeds, that is significant" in gpu  # t is 21


def test_training_on_one_device_with_one_seed(tmp_path):
    results = measured("A card", script=([[90]], [0.5]), ours=([[9]], [0.6]))
    text = page(tmp_path, training={"cuda": results})
    assert "### On a CPU" not in text
    assert "1 seed, 3 epochs each" in text
    assert "| calib_utils | 9.0 | 5,000 | 10 | 60.0 |" in text
    assert "A single seed cannot show whether their test accuracies differ." in text


def test_one_section_for_each_file_that_is_there(tmp_path):
    text = page(tmp_path, ece=ECE, training=TRAINING)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## The expected calibration error",
        "## Training a network",
    ]


@pytest.mark.skipif(
    not (REPOSITORY / "benchmarks/results").exists(), reason="nothing is measured here"
)
def test_the_stored_results(tmp_path):
    results = REPOSITORY / "benchmarks/results"
    stored = {path.stem: json.loads(path.read_text()) for path in results.glob("*.json")}
    more = len(stored.get("training", [None])) - 1  # devices beyond the first
    more += "libraries" in stored.get("coverage", [])
    assert page(tmp_path, **stored).count("Measured on: ") == len(stored) + more


def test_the_coverage_that_the_course_speaks_of_was_measured():
    """The chapter on ECE: the bootstrap never holds an error of 0; ours keeps its promise."""
    stored = json.loads((REPOSITORY / "benchmarks/results/coverage.json").read_text("utf-8"))
    ours = [row for row in stored["rows"] if row["name"] == "calib_utils"]
    assert len(ours) == 12
    assert min(row["coverage"] for row in ours) >= stored["level"]
    debiased = [row for row in stored["rows"] if row["name"] == "calib_utils, debiased"]
    assert len(debiased) == 12
    assert len(stored["other_bins"]) == 2 * 5 * 12
    # Of 300 sets each, 132 times: at 95 % some are lower by chance.
    assert min(row["coverage"] for row in debiased + stored["other_bins"]) > 0.93
    # What the page says of rare positives, and of weights; 200 sets, and 100.
    weighted = [row for row in stored["weighted"]["rows"] if row["name"] == "calib_utils"]
    assert len(weighted) == 4
    assert min(row["coverage"] for row in stored["rare"]["rows"] + weighted) >= stored["level"]
    # Gaps of other shapes, and the price of not knowing which; 200 sets.
    hostile = stored["hostile"]["rows"]
    assert {row["name"] for row in hostile} == {
        *("alternating", "one bin", "99 % correct", "two confidences"),
    }
    assert min(row["coverage"] for row in hostile) >= stored["level"]
    ratios = [row["width"] / row["oracle_width"] for row in hostile]
    assert 1 < min(ratios) < max(ratios) < 3
    said = " ".join(str(calibration_error_interval.__doc__).split())
    assert f"interval {min(ratios):.1f} to {max(ratios):.1f} times as wide" in said
    assert max(hostile, key=lambda row: row["width"] / row["oracle_width"])["name"] == "one bin"
    # Other libraries; 50 sets.
    least = {"calib_utils": 1.0}
    for row in stored["libraries"]["rows"]:
        least[row["name"]] = min(least.get(row["name"], 1.0), row["coverage"])
    assert len(least) == 3
    assert least.pop("calib_utils") > 0.93
    assert max(least.values()) < 0.5
    bootstrap = [row for row in stored["rows"] if row["name"] == "percentile bootstrap"]
    assert [row["coverage"] for row in bootstrap if row["error"] == 0] == [0, 0, 0]


def test_a_folder_beside_what_a_user_would_write(tmp_path: Path) -> None:
    facts = {"cpu": "a chip", "cores": 2, "files": 50, "versions": {"numpy": "2"}}
    seconds = {
        "a bare scan by pyarrow.dataset": 2.0,
        "a query by DuckDB": 5.0,
        "a report": 4.0,
        "a report, one Dask worker": 6.0,
        "a report, two Dask workers": 3.0,
    }
    rows = [
        {"name": name, "seconds": time, "ratio": time / 2, "mb": 300.0}
        for name, time in seconds.items()
    ]
    found = page(tmp_path, audit_folder={"facts": facts, "tables": {"5000 rows of score": rows}})
    assert "a chip, 2 cores, 50 files. numpy 2." in found
    assert "### 5,000 rows of score" in found
    assert "| a report | 4.0 s | 2.0 | 300 |" in found
    assert (
        "The report takes 2.0 times as long as a bare scan by pyarrow.dataset, 0.80 of the time of "
        "a query by DuckDB. Two Dask workers are 2.0 times as fast as one, and no process of a "
        "report needs more than 300 MB. Aims that we missed: at most 1.5 times the time of a bare "
        "scan by pyarrow.dataset."
    ) in found
