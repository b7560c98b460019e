"""Recalibrators of any model's predictions, the file that applies one, and two models in a pair."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.metrics import accuracy_score
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.lots import Lots
from calib_audit.pairing import pair
from calib_audit.rows import Rows
from calib_utils.metrics import negative_log_likelihood
from calib_utils.recalibration import BetaOnConfidence, PlattScaling, TemperatureScaling, load
from calib_utils.records import load_record
from tests.calib_audit import written

RNG = np.random.default_rng(0)
SCORE = RNG.uniform(0.02, 0.98, 3_000).round(6)
LABEL = (RNG.random(3_000) < expit(0.5 * logit(SCORE) - 0.7)).astype(int)


class TestRecalibrators:
    def test_the_best_is_the_one_that_was_bent(self) -> None:
        found = report({"score": SCORE, "label": LABEL}).recalibrators
        assert found is not None
        names = [repair.name for repair in found.found]
        assert names[0] in ("PlattScaling", "BetaCalibration")  # which holds Platt's map
        assert [repair.nll for repair in found.found] == sorted(r.nll for r in found.found)
        assert found.found[0].interval[1] < 0

    def test_cross_fitting_written_out(self) -> None:
        found = report({"score": SCORE, "label": LABEL}, cross_fit=4).recalibrators
        assert found is not None
        # Rows are divided in the order of their lots, which does not depend on how they come.
        rows = Rows(SCORE, None, LABEL, {}, None, None)
        fold = np.empty(3_000, int)
        order = np.argsort(Lots(0, from_logits=False).numbers_of(rows))
        fold[order] = np.random.default_rng(0).permutation(3_000) % 4
        losses = np.empty(3_000)
        for k in range(4):
            held = fold == k
            platt = PlattScaling(inputs="probs").fit(SCORE[~held], LABEL[~held])
            p = platt.predict_proba(SCORE[held])
            losses[held] = -np.log(np.where(LABEL[held] == 1, p, 1 - p))
        (mine,) = (repair for repair in found.found if repair.name == "PlattScaling")
        assert mine.nll == pytest.approx(losses.mean())
        # Four were tried, so that each interval fails in one of eighty.
        gain = losses + np.log(np.where(LABEL == 1, SCORE, 1 - SCORE))
        half = norm.ppf(1 - 0.05 / 4 / 2) * gain.std(ddof=1) / 3_000**0.5
        assert len(found.found) == 4
        assert mine.interval == pytest.approx((gain.mean() - half, gain.mean() + half), rel=2e-3)

    def test_fitted_on_other_rows(self) -> None:
        """On our records: the repair of the course's network, in its own way."""
        validation, test = (load_record("lenet5-cifar100", s) for s in ("validation", "test"))
        few = slice(0, 2_000)
        data = [{"logits": r.logits[few], "labels": r.labels[few]} for r in (test, validation)]
        found = report(data[0], fit=data[1]).recalibrators
        assert found is not None
        scaling = TemperatureScaling().fit(validation.logits[few], validation.labels[few])
        nll = negative_log_likelihood(
            np.float64(test.logits[few]) / scaling.temperature_, test.labels[few], inputs="logits"
        )
        (mine,) = (repair for repair in found.found if repair.name == "TemperatureScaling")
        assert mine.nll == pytest.approx(nll, abs=1e-4)
        assert "2,000 other rows" in found.how

    def test_none_helps_what_is_calibrated(self) -> None:
        """By chance, one of four is called helpful in at most one of twenty such sets."""
        helped = 0
        for seed in range(3):
            rng = np.random.default_rng(seed)
            label = (rng.random(400) < SCORE[:400]).astype(int)
            found = report({"score": SCORE[:400], "label": label})
            helped += found.calibrator is not None
            if found.calibrator is None:
                assert "None clearly helps" in found.text()
        assert helped <= 1

    def test_the_best_is_the_first_that_clearly_helps(self) -> None:
        """The one with the lowest NLL of all may only seem to help."""

        def drawn(n: int, seed: int) -> dict[str, np.ndarray]:
            """Overconfident, and a few rows that are almost certain happen as often as others."""
            rng = np.random.default_rng(seed)
            z = rng.normal(0, 1.5, n)
            odd = rng.random(n) < 0.02
            chances = np.where(odd, 0.7, expit(0.6 * z))
            score = expit(np.where(odd, 5 + rng.random(n), z))
            return {"score": score, "label": (rng.random(n) < chances).astype(int)}

        data, fit = drawn(400, 3), drawn(20_000, 999)
        found = report(data, fit=fit)
        assert found.recalibrators is not None
        first, second = found.recalibrators.found[:2]
        assert first.interval[1] > 0 > second.interval[1]
        assert second.name == "TemperatureScaling"
        own = TemperatureScaling(inputs="probs").fit(fit["score"], fit["label"])
        assert found.calibrator is not None
        probs = own.predict_proba(data["score"])
        np.testing.assert_allclose(found.calibrator.predict_proba(data["score"]), probs)
        nll = -np.log(np.where(data["label"] == 1, probs, 1 - probs)).mean()
        assert second.nll == pytest.approx(nll)
        assert f"Temperature scaling lowers its NLL from 0.676 to {nll:.3f}" in (
            found.verdict.sentence
        )
        assert "TemperatureScaling has the lowest NLL of those that clearly help" in found.text()
        assert json.loads(found.json())["recalibrators"]["best"] == "TemperatureScaling"

    def test_too_few_rows(self) -> None:
        found = report({"score": SCORE[:50], "label": LABEL[:50]})
        assert found.recalibrators is None
        assert "too few rows" in found.text()
        json.loads(found.json())
        alike = report({"score": SCORE, "label": np.zeros(3_000, int)})
        assert "because there were too few rows, or none but their sums, all labels" in alike.text()

    def test_a_fit_of_another_kind(self) -> None:
        with pytest.raises(ValueError, match="fit: expected score"):
            report(
                {"score": SCORE, "label": LABEL},
                fit={"prob_a": [1.0, 0.0], "prob_b": [0.0, 1.0], "label": [0, 1]},
            )


class TestManyClasses:
    """What a network of many classes is told, where only the confidence can be judged."""

    K, N = 100, 3_000

    def logits(self, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(self.N, self.K))
        z[np.arange(self.N), rng.integers(self.K, size=self.N)] += rng.normal(7, 3, self.N)
        return z

    def test_one_number_is_found_where_one_number_is_wrong(self) -> None:
        rng = np.random.default_rng(0)
        data = [
            {
                "logits": (1.3 * (z := self.logits(seed))).astype(np.float16),
                "labels": (z + rng.gumbel(size=z.shape)).argmax(axis=1),
            }
            for seed in (1, 2)
        ]
        found = report(data[0], fit=data[1])
        assert found.recalibrators is not None
        assert "so it is overconfident by" in found.verdict.sentence
        tried = {one.name: one for one in found.recalibrators.found}
        first, scaling = found.recalibrators.found[0], tried["TemperatureScaling"]
        assert scaling.interval[1] < 0
        assert scaling.nll - first.nll < 0.002
        assert scaling.ece < 0.02 < found.measures.ece
        # A number for each class learns from 30 rows of it, and does worse.
        assert tried["VectorScaling"].nll > scaling.nll + 0.02
        assert "StructuredMatrixScaling" not in tried

    def test_a_map_for_the_confidence_is_found_where_the_gaps_change_their_sign(self) -> None:
        """Correct more often than said where the confidence is low, less where it is high."""
        rng, data = np.random.default_rng(0), []
        for seed in (1, 2):
            z = self.logits(seed)
            order = np.argsort(-z, axis=1)
            said = np.exp(-np.log(np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1)))
            right = rng.random(self.N) < 0.35 + 0.5 * said
            data.append({"logits": z, "labels": np.where(right, order[:, 0], order[:, 1])})
        found = report(data[0], fit=data[1])
        assert found.recalibrators is not None
        tried = {one.name: one for one in found.recalibrators.found}
        assert isinstance(found.calibrator, BetaOnConfidence)
        others = [one.ece for name, one in tried.items() if name != "BetaOnConfidence"]
        assert tried["BetaOnConfidence"].ece < min(others) / 2
        assert "Beta on confidence lowers its NLL" in found.verdict.sentence

    def test_undecided_classes_are_counted_and_no_reproach(self) -> None:
        z = self.logits(1)
        labels = (z + np.random.default_rng(0).gumbel(size=z.shape)).argmax(axis=1)
        found = report({"logits": z, "labels": labels}, cross_fit=0)
        assert found.verdict.outcome == "within"
        outcomes = [each.outcome for each in found.classes]
        text = found.text()
        counted = f"0 within it, and {outcomes.count('undecided')} undecided. With about 30 rows"
        assert outcomes.count("within") == 0
        assert counted in text
        few = report({"logits": z[:, :20], "labels": labels % 20}, cross_fit=0)
        assert " undecided. With about" not in few.text()


class TestApply:
    def test_saved_and_put_over_a_file(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = written(tmp_path / "a.csv", name=np.arange(3_000), score=SCORE, label=LABEL)
        saved = tmp_path / "cal.npz"
        assert main([file, "--save-calibrator", str(saved)]) == 1
        assert f"{saved} contains " in capsys.readouterr().out
        new = written(tmp_path / "new.csv", name=["가", "b,c"], score=[0.2, 0.9])
        assert main(["apply", str(saved), new, "--output", str(tmp_path / "out.csv")]) == 0
        with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as out:
            rows = list(csv.DictReader(out))
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

    def test_logits_become_probabilities(self, tmp_path: Path) -> None:
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

    def test_the_result_is_csv(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        TemperatureScaling(2.0).save(tmp_path / "cal.npz")
        file = written(tmp_path / "a.csv", score=[0.5])
        out = tmp_path / "out.parquet"
        assert main(["apply", str(tmp_path / "cal.npz"), file, "--output", str(out)]) == 2
        assert "expected a name that ends in .csv, found 'out.parquet'" in capsys.readouterr().err
        assert not out.exists()

    def test_no_two_columns_of_one_name(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        PlattScaling().fit(logit(SCORE), LABEL).save(tmp_path / "cal.npz")
        file = written(tmp_path / "a.csv", score=SCORE[:3], logit=logit(SCORE[:3]))
        out = tmp_path / "out.csv"
        given = ["apply", str(tmp_path / "cal.npz"), file, "--score", "logit"]
        for more in ([], ["--output", str(out)]):
            assert main([*given, *more]) == 2
            said = capsys.readouterr()
            assert "it is called 'score', and the file already has such a column" in said.err
            assert said.out == ""
        assert not out.exists()

    def test_columns_called_as_the_classes(self, tmp_path: Path) -> None:
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
        with out.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert list(rows[0]) == ["name", "age", "cat", "dog", "owl"]
        assert [row["age"] for row in rows] == ["0.5", "61.0"]
        found = [[float(row[name]) for name in columns] for row in rows]
        np.testing.assert_allclose(found, load(saved).predict_proba(bent[:2]), rtol=1e-12)
        # Of another number of classes, or no probabilities: nothing is guessed.
        two = written(tmp_path / "two.csv", cat=[0.5, 0.2], dog=[0.5, 0.8])
        three = written(tmp_path / "three.csv", cat=[0.5], dog=[0.5], owl=[0.5])
        for path in (two, three):
            assert main(["apply", str(saved), path]) == 2

    def test_columns_in_another_order(self, tmp_path: Path) -> None:
        """Each class has a map of its own, so columns are found by their names."""
        rng = np.random.default_rng(0)
        truth = rng.dirichlet([1, 1, 1], 4_000)
        label = (truth.cumsum(axis=1) < rng.random((4_000, 1))).sum(axis=1)
        bent = truth * [1, 4, 16] / (truth * [1, 4, 16]).sum(axis=1, keepdims=True)
        columns = {f"prob_{k}": bent[:, k] for k in range(3)}
        best = report(columns | {"label": label}).calibrator
        assert best is not None
        best.save(tmp_path / "cal.npz")
        found = {}
        for order in ([0, 1, 2], [2, 0, 1]):
            new = {f"prob_{k}": bent[:5, k] for k in order}
            out = tmp_path / "out.csv"
            file = written(tmp_path / "new.csv", **new)
            main(["apply", str(tmp_path / "cal.npz"), file, "--output", str(out)])
            with out.open(encoding="utf-8", newline="") as stream:
                rows = list(csv.DictReader(stream))
            assert list(rows[0]) == list(new)
            found[order[0]] = [[float(row[f"prob_{k}"]) for k in range(3)] for row in rows]
        assert found[2] == found[0]
        np.testing.assert_allclose(found[0], best.predict_proba(bent[:5]), rtol=1e-12)
        assert abs(best.predict_proba(bent).mean(axis=0) - truth.mean(axis=0)).max() < 0.02

    def test_nothing_is_left_of_what_failed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        TemperatureScaling(2.0).save(tmp_path / "cal.npz")
        file = written(tmp_path / "a.csv", score=["0.5", "high"])
        out = tmp_path / "out.csv"
        assert main(["apply", str(tmp_path / "cal.npz"), file, "--output", str(out)]) == 2
        assert "found 'high' in row 2" in capsys.readouterr().err
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "cal.npz"]
        assert main(["apply", file, file]) == 2
        assert "contains no recalibrator" in capsys.readouterr().err

    def test_no_file_where_none_helps(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        label = (np.random.default_rng(5).random(500) < SCORE[:500]).astype(int)
        file = written(tmp_path / "a.csv", score=SCORE[:500], label=label)
        main([file, "--save-calibrator", str(tmp_path / "cal.npz")])
        assert (
            "was not written, because no calibration method clearly helps"
            in capsys.readouterr().out
        )
        main([file, "--cross-fit", "0", "--save-calibrator", str(tmp_path / "cal.npz")])
        assert "was not written, because no calibration method was tried" in capsys.readouterr().out
        assert not (tmp_path / "cal.npz").exists()


class TestCompare:
    def test_rows_are_joined_by_their_key(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """As the same rows in the same order; of a frame a key may be a number, in a file text."""
        key, better = np.arange(3_000), expit(0.5 * logit(SCORE) - 0.7)
        turned = np.random.default_rng(1).permutation(3_000)
        one, two = ({"id": key, "score": p, "label": LABEL} for p in (SCORE, better))
        shuffled = {name: values[turned] for name, values in two.items()}
        assert pair(one, shuffled, {}, key="id").text() == pair(one, two, {}).text()
        assert pair(one, shuffled | {"id": 1.0 * key[turned]}, {}, key="id").n == 3_000
        a, b = written(tmp_path / "a.csv", **one), written(tmp_path / "b.csv", **shuffled)
        assert main(["compare", a, b, "--key", "id"]) == 0
        assert main(["compare", a, b]) == 2
        assert "or name their key" in capsys.readouterr().err
        with pytest.raises(ValueError, match="id: expected the same values in both, found 2 that"):
            pair(one, two | {"id": np.where(key == 7, 5_000, key)}, {}, key="id")
        with pytest.raises(ValueError, match="another value in each row of the second, found '7'"):
            pair(one, two | {"id": np.where(key == 8, 7, key)}, {}, key="id")
        with pytest.raises(ValueError, match="found 1 others; give what happened alike in both"):
            pair(one, two | {"label": np.where(key == 8, 1 - LABEL, LABEL)}, {}, key="id")

    def test_the_better_the_worse_and_the_same(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        better = expit(0.5 * logit(SCORE) - 0.7)
        a = written(tmp_path / "a.csv", score=SCORE, label=LABEL)
        b = written(tmp_path / "b.csv", score=better, label=LABEL)
        noise = expit(logit(better) + 0.01 * np.random.default_rng(0).normal(size=3_000))
        c = written(tmp_path / "c.csv", score=noise, label=LABEL)
        assert main(["compare", a, b, "--json", str(tmp_path / "pair.json")]) == 0
        assert main(["compare", b, a]) == 1
        assert main(["compare", b, c]) == 3
        out = capsys.readouterr().out
        assert "The second model is better" in out
        found = json.loads((tmp_path / "pair.json").read_text("utf-8"))
        nll = [-np.log(np.where(LABEL == 1, p, 1 - p)) for p in (SCORE, better)]
        difference = nll[1] - nll[0]
        assert found["nll"]["mean"] == pytest.approx(difference.mean())
        half = 1.96 * difference.std() / 3_000**0.5
        low, high = found["nll"]["interval"]
        assert (high - low) / 2 == pytest.approx(half, rel=1e-3)
        only_first = ((SCORE > 0.5) == LABEL) & ((better > 0.5) != LABEL)
        assert found["correct"]["only_first"] == only_first.sum()
        for path, error in zip((a, b), found["errors"], strict=True):
            assert tuple(error) == report(path, cross_fit=0).measures.error
        d = written(tmp_path / "d.csv", score=[0.9, 0.2], label=[1, 0])
        e = written(tmp_path / "e.csv", score=[0.1, 0.3], label=[1, 0])
        main(["compare", d, e])
        assert "only the first is correct on 1 row, only the second on 0" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("rows", "label", "message"),
        [(2_999, LABEL, "expected 3,000 rows"), (3_000, 1 - LABEL, "expected the same labels")],
    )
    def test_other_rows(
        self,
        rows: int,
        label: np.ndarray,
        message: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        a = written(tmp_path / "a.csv", score=SCORE, label=LABEL)
        b = written(tmp_path / "b.csv", score=SCORE[:rows], label=label[:rows])
        assert main(["compare", a, b]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(("name", "expected"), [("breast_cancer", 1), ("iris", 3)])
def test_data_sets_that_scikit_learn_ships(name: str, expected: int, tmp_path: Path) -> None:
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
