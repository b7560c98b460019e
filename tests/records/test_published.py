"""The records of what others have published, against their sources and figures known of them."""

import json
from pathlib import Path

import numpy as np
import pytest

import calib_records
from calib_utils.metrics import expected_calibration_error
from calib_utils.records import (
    IDENTIFIERS,
    load_identifier,
    load_imagenet,
    load_outcomes,
    published,
)
from calib_utils.records.npz import read_npz

STORED = Path(calib_records.__file__).parent


def plain_ece(confidences, correct):
    """The ECE in 15 bins, bin by bin."""
    total = 0.0
    for m in range(15):
        inside = (confidences > m / 15) & (confidences <= (m + 1) / 15)
        if m == 0:
            inside |= confidences == 0
        total += abs((confidences[inside] - correct[inside]).sum())
    return total / len(confidences)


def test_the_networks_have_the_figures_of_their_source():
    """Accuracy, mean confidence and ECE, as the source's own tables have them."""
    for name, known in {
        "tv.resnext101_32x8d": (0.793, 0.874, 0.081),
        "tv.resnet101": (0.774, 0.823, 0.049),
        "tv.inception_v3": (0.773, 0.762, 0.019),
        "timm.efficientnet_b3a": (0.819, 0.695, 0.124),
        "timm.ese_vovnet19b_dw": (0.768, 0.645, 0.123),
        "timm.resnet34": (0.751, 0.673, 0.078),
    }.items():
        one = load_imagenet(name)
        ece = plain_ece(one.confidence, one.correct)
        assert (one.correct.mean(), one.confidence.mean(), ece) == pytest.approx(known, abs=6e-4)
        assert expected_calibration_error(one.predictions) == pytest.approx(ece, abs=1e-9)


def test_the_reassessed_labels_leave_some_images_out():
    one = load_imagenet("tv.resnet101")
    kept = one.n_labels > 0
    assert kept.sum() == 46_837
    assert not one.acceptable[~kept].any()
    eces = [plain_ece(one.confidence[kept], hits[kept]) for hits in (one.correct, one.acceptable)]
    assert eces == pytest.approx([0.0413, 0.0189], abs=3e-4)
    asked = ~np.isnan(one.votes)
    assert set(one.votes[asked]) == {0, 1, 2, 3, 4, 5}
    # Where all five see the class, it is acceptable; where none does, hardly ever.
    assert one.acceptable[one.votes == 5].all()
    assert one.acceptable[one.votes == 0].mean() < 0.1
    assert load_imagenet("timm.resnet34").votes is None


def test_the_forecasts_have_the_figures_of_their_source():
    known = {
        "baseball": (15_747, 0.0103, 0.2399),
        "basketball": (8_886, 0.0492, 0.2147),
        "womens-basketball": (450, 0.0953, 0.2179),
        "senate": (15_019, 0.0620, None),
    }
    for name, (n, ece, brier) in known.items():
        one = load_outcomes(name)
        assert len(one.prob) == len(one.outcome) == len(one.block) == n
        assert plain_ece(one.prob, one.outcome) == pytest.approx(ece, abs=6e-4)
        if brier:
            assert np.mean((one.prob - one.outcome) ** 2) == pytest.approx(brier, abs=1e-4)
    assert len(set(load_outcomes("senate").block)) == 96
    assert set(load_outcomes("senate").outcome) == {0, 1}


def test_the_texts_are_the_same_for_all_identifiers():
    texts = {model: load_identifier(model) for model in IDENTIFIERS}
    known = {
        "fastText": (0.734, 0.744, 0.009),
        "py3langid": (0.801, 0.679, 0.122),
        "CLD3": (0.718, 0.901, 0.183),
    }
    first = texts["CLD3"]
    for model, rows in texts.items():
        confidence, correct = rows["confidence"], rows["correct"]
        figures = correct.mean(), confidence.mean(), plain_ece(confidence, correct)
        assert figures == pytest.approx(known[model], abs=6e-4)
        assert (correct == (rows["predicted"] == rows["language"])).all()
        for name in ("language", "length", "package", "shared"):
            assert (rows[name] == first[name]).all()
    assert set(np.unique(first["language"], return_counts=True)[1]) == {800}
    assert len(set(first["language"])) == 48
    assert len(set(first["package"])) == 122
    assert first["shared"].sum() == 1_604
    # A confidence of 0.9 is one of at least 0.9, which that of the nearest float32 is not.
    assert 0.9 in first["confidence"]


def test_each_file_has_its_source_and_licence():
    for folder, files in {"imagenet": 1, "fivethirtyeight": 4}.items():
        paths = list((STORED / folder).glob("*.npz"))
        assert len(paths) == files
        readme = (STORED / folder / "README.md").read_text("utf-8")
        assert "commit" in readme
        assert "icence" in readme or "under" in readme
        assert list((STORED / folder).glob("LICENSE*"))
        for path in paths:
            assert "commit" in json.dumps(read_npz(path)[1])
            assert path.stem in readme


def test_bad_names_and_damaged_files(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match=r"name: expected one of baseball.*found 'chess'"):
        load_outcomes("chess")
    with pytest.raises(ValueError, match=r"model: expected one of fastText.*found 'bert'"):
        load_identifier("bert")
    for folder in ("imagenet/networks", "identifiers/CLD3", "fivethirtyeight/senate"):
        (tmp_path / folder).parent.mkdir()
        (tmp_path / f"{folder}.npz").write_bytes(b"no zip")
    monkeypatch.setattr(published, "folder_of", lambda kind: tmp_path / kind)
    with pytest.raises(ValueError, match=r"network: the file .* is damaged .*install the records"):
        load_imagenet("tv.resnet101")
    with pytest.raises(ValueError, match=r"model: the file of 'CLD3' is damaged"):
        load_identifier("CLD3")
    with pytest.raises(ValueError, match=r"name: the file of 'senate' is damaged"):
        load_outcomes("senate")
