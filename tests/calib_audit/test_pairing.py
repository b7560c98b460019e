"""Two models on the same rows: which is better, and are the rows the same?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit

from calib_audit import report
from calib_audit.__main__ import main
from calib_audit.pairing import pair
from tests.calib_audit import written
from tests.calib_audit.samples import BENT, HAPPENED


def test_pair_finds_the_better_the_worse_and_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    better = expit(0.5 * logit(BENT) - 0.7)
    a = written(tmp_path / "a.csv", score=BENT, label=HAPPENED)
    b = written(tmp_path / "b.csv", score=better, label=HAPPENED)
    noise = expit(logit(better) + 0.01 * np.random.default_rng(0).normal(size=3_000))
    c = written(tmp_path / "c.csv", score=noise, label=HAPPENED)
    assert main(["compare", a, b, "--json", str(tmp_path / "pair.json")]) == 0
    assert main(["compare", b, a]) == 1
    assert main(["compare", b, c]) == 3
    out = capsys.readouterr().out
    assert "The second model is better" in out
    found = json.loads((tmp_path / "pair.json").read_text("utf-8"))
    nll = [-np.log(np.where(HAPPENED == 1, p, 1 - p)) for p in (BENT, better)]
    difference = nll[1] - nll[0]
    assert found["nll"]["mean"] == pytest.approx(difference.mean())
    half = 1.96 * difference.std() / 3_000**0.5
    low, high = found["nll"]["interval"]
    assert (high - low) / 2 == pytest.approx(half, rel=1e-3)
    only_first = ((BENT > 0.5) == HAPPENED) & ((better > 0.5) != HAPPENED)
    assert found["correct"]["only_first"] == only_first.sum()
    for path, error in zip((a, b), found["errors"], strict=True):
        assert tuple(error) == report(path, cross_fit=0).measures.error
    d = written(tmp_path / "d.csv", score=[0.9, 0.2], label=[1, 0])
    e = written(tmp_path / "e.csv", score=[0.1, 0.3], label=[1, 0])
    main(["compare", d, e])
    assert "only the first is correct on 1 row, only the second on 0" in capsys.readouterr().out


def test_pair_joins_rows_by_their_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the same rows in the same order; of a frame a key may be a number, in a file text."""
    key, better = np.arange(3_000), expit(0.5 * logit(BENT) - 0.7)
    turned = np.random.default_rng(1).permutation(3_000)
    one, two = ({"id": key, "score": p, "label": HAPPENED} for p in (BENT, better))
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
        pair(one, two | {"label": np.where(key == 8, 1 - HAPPENED, HAPPENED)}, {}, key="id")


@pytest.mark.parametrize(
    ("rows", "label", "message"),
    [(2_999, HAPPENED, "expected 3,000 rows"), (3_000, 1 - HAPPENED, "expected the same labels")],
)
def test_pair_refuses_other_rows(
    rows: int,
    label: np.ndarray,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    a = written(tmp_path / "a.csv", score=BENT, label=HAPPENED)
    b = written(tmp_path / "b.csv", score=BENT[:rows], label=label[:rows])
    assert main(["compare", a, b]) == 2
    assert message in capsys.readouterr().err


def test_pair_takes_confidences() -> None:
    """They are not the probability of a class, so no prediction is made at one half."""
    data = {"confidence": BENT, "correct": HAPPENED}
    assert pair(data, data | {"confidence": BENT**2}, {}).correct == (0, 0, 1.0)
    with pytest.raises(ValueError, match=r"the same labels.*different classes need a column for"):
        pair(data, data | {"correct": 1 - HAPPENED}, {})


def test_pair_refuses_classes_in_another_order() -> None:
    label = np.array(["a", "b"])[HAPPENED]
    one = {"prob_a": BENT, "prob_b": 1 - BENT, "label": label}
    other = {"prob_b": BENT, "prob_a": 1 - BENT, "label": label}
    with pytest.raises(ValueError, match="expected the classes a, b as in the first, found the"):
        pair(one, other, {})
