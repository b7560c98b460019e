"""What is stored of recalibrators on networks that others trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from calib_utils.records import load_recalibrated, recalibrated

STORED = [("public", "cifar100"), ("public", "cifar10"), ("course", "cifar100")]
# Of CIFAR-100, in %, and the temperature of the even images: computed by others, with other code.
FIRST_LOOK = {
    "ResNet-20": (68.8, 79.2, 10.3, 1.43),
    "VGG-19": (73.9, 93.5, 19.7, 2.17),
    "MobileNetV2 x0.75": (74.1, 85.1, 11.0, 1.47),
    "ShuffleNetV2 x2.0": (75.5, 82.9, 7.5, 1.19),
    "RepVGG-A2": (77.5, 81.8, 5.6, 1.07),
}


def test_load_recalibrated_says_what_there_is_and_what_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalibrated, "folder_of", lambda kind: tmp_path)
    (tmp_path / "our.digits.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"source: there is nothing of 'your' .*: our\.digits"):
        load_recalibrated("your", "digits")
    with pytest.raises(ValueError, match="source: the file of 'our' on 'digits' is damaged"):
        load_recalibrated("our", "digits")


@pytest.mark.parametrize(("source", "dataset"), STORED)
def test_all_networks_have_all_methods(source: str, dataset: str) -> None:
    rows, made = load_recalibrated(source, dataset)
    methods = list(dict.fromkeys(one.method for one in rows))
    assert len(methods) == 14
    assert [one.method for one in rows] == methods * (len(rows) // len(methods))
    assert len({one.network for one in rows}) == (19 if source == "public" else 8)
    assert made["versions"]
    for one in rows:
        assert one.bins[0].sum() == (2_000 if "seed" in one.network else 10_000)
        assert 0 < one.accuracy < 1
        assert isinstance(one.temperatures, tuple)
        assert 0 <= one.brier <= 2


@pytest.mark.parametrize("dataset", ["cifar100", "cifar10"])
def test_bins_are_those_of_the_stored_confidences(dataset: str) -> None:
    rows, _ = load_recalibrated("public", dataset)
    for one in rows:
        if one.confidences is None or one.correct is None:
            assert one.method not in ("none", "temperature")
            continue
        confidences = one.confidences.astype(float)
        ece = 0.0
        for m in range(15):
            inside = (confidences > m / 15) & (confidences <= (m + 1) / 15)
            ece += abs(np.sum(confidences[inside] - one.correct[inside])) / 10_000
        assert one.accuracy == one.correct.mean()
        assert one.confidence == pytest.approx(confidences.mean(), abs=1e-4)
        assert one.ece == pytest.approx(ece, abs=1e-3)  # float16 moves some to the next bin


def test_the_networks_are_those_that_others_measured() -> None:
    rows, _ = load_recalibrated("public", "cifar100")
    of = {(one.network, one.method): one for one in rows}
    for network, (accuracy, confidence, ece, temperature) in FIRST_LOOK.items():
        plain = of[network, "none"]
        found = [100 * x for x in (plain.accuracy, plain.confidence, plain.ece)]
        assert found == pytest.approx([accuracy, confidence, ece], abs=0.06)
        assert of[network, "temperature"].temperatures[0] == pytest.approx(temperature, abs=0.006)


def test_the_error_of_the_mean_is_that_of_the_images_means() -> None:
    """Networks that share their images are no independent samples of it."""
    rows, made = load_recalibrated("public", "cifar10")
    of_mean = made["errors_of_mean"]
    for method in ("none", "beta"):
        single = [one.nll_error for one in rows if one.method == method]
        assert np.mean(single) / 19**0.5 < of_mean[method] <= np.mean(single)
    assert np.isnan(of_mean["histogram"])
