"""The logits of networks: they come back as they were saved, or it is said what is wrong."""

import dataclasses

import numpy as np
import pytest
from scipy.special import softmax

from calib_utils.records import PredictionRecord, list_records, load_record, save_record
from calib_utils.records.experiments import load_experiment
from calib_utils.records.npz import read_npz, write_npz
from tests.records.test_recipe import COMPLETE


def make_record(**changes):
    rng = np.random.default_rng(0)
    facts = {
        "name": "lenet5-toy",
        "split": "test",
        "logits": rng.normal(0, 5, (40, 7)).astype(np.float32),
        "labels": rng.integers(0, 7, 40),
        "model": "lenet5",
        "dataset": "toy",
        "recipe": COMPLETE | {"epochs": 3, "milestones": [1, 2]},
        "seed": 4,
        "epochs": 3,
        "versions": {"numpy": np.__version__},
        "hardware": "a processor, 1 thread, float32",
        "date": "2026-11-20",
        "test_accuracy": 0.25,
    }
    return PredictionRecord(**facts | changes)


def as_stored(logits):
    logits = np.asarray(logits, np.float64)
    return (logits - logits.max(axis=1, keepdims=True)).astype(np.float16)


def test_an_offset_of_the_logits_costs_no_digits(tmp_path):
    record = make_record()
    moved = dataclasses.replace(record, logits=record.logits.astype(float) + 1_000)
    save_record(moved, tmp_path)
    back = load_record("lenet5-toy", "test", tmp_path)
    expected = softmax(record.logits.astype(float), axis=1)
    np.testing.assert_allclose(softmax(back.logits, axis=1), expected, atol=2e-3)


@pytest.mark.parametrize("other", [{"name": "another"}, {"split": "validation"}])
def test_a_file_that_holds_another_record_is_not_read(tmp_path, other):
    path = save_record(make_record(**other), tmp_path)
    path.rename(tmp_path / "lenet5-toy.test.npz")
    with pytest.raises(ValueError, match=r"contains '[a-z0-9-]+' for '[a-z]+'; rename the file"):
        load_record("lenet5-toy", "test", tmp_path)


def test_a_record_comes_back_as_it_was_saved(tmp_path):
    record = make_record()
    save_record(record, tmp_path)
    back = load_record("lenet5-toy", "test", tmp_path)
    assert back.facts == record.facts
    assert back.logits.dtype == np.float32
    np.testing.assert_array_equal(back.logits, as_stored(record.logits))
    np.testing.assert_array_equal(back.labels, record.labels)


def test_provenance_says_how_the_record_was_made():
    assert make_record().provenance == (
        "lenet5-toy: toy, 3 epochs, seed 4; a processor, 1 thread, float32; 2026-11-20"
    )
    assert make_record(seconds_per_epoch=110.26).provenance == (
        "lenet5-toy: toy, 3 epochs, seed 4; a processor, 1 thread, float32, 110.3 s an epoch; "
        "2026-11-20"
    )


def test_records_are_listed_in_order(tmp_path):
    for name, split in [("b", "test"), ("a", "validation"), ("a", "test"), ("a.v2", "test")]:
        save_record(make_record(name=name, split=split), tmp_path)
    (tmp_path / "notes.npz").write_bytes(b"not a record")
    assert list_records(tmp_path) == [
        ("a", "test"),
        ("a", "validation"),
        ("a.v2", "test"),
        ("b", "test"),
    ]


def test_an_unknown_record_names_those_that_exist(tmp_path):
    save_record(make_record(), tmp_path)
    with pytest.raises(ValueError, match=r"no record 'resnet' for 'test'.*lenet5-toy \(test\)"):
        load_record("resnet", "test", tmp_path)


def test_logits_and_labels_make_a_record_that_any_split_may_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = make_record()
    bare = PredictionRecord("mine", "hospital-2", whole.logits, whole.labels)
    assert save_record(bare).resolve() == tmp_path / "mine.hospital-2.npz"
    back = load_record("mine", "hospital-2")
    assert (back.facts, back.provenance) == (bare.facts, "mine")
    assert (back.seed, back.test_accuracy, back.recipe) == (None, None, {})
    np.testing.assert_array_equal(back.labels, whole.labels)
    assert list_records(".") == [("mine", "hospital-2")]
    dated = dataclasses.replace(bare, date="2026-11-20", seed=3, hardware="a laptop")
    assert dated.provenance == "mine: seed 3; a laptop; 2026-11-20"
    # A file of the same name does not take the place of a record of the course.
    save_record(dataclasses.replace(bare, name="lenet5-cifar100", split="test"))
    assert len(load_record("lenet5-cifar100", "test").labels) == 10_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"logits": np.full((40, 7), "1.5")}, "logits: expected real numbers"),
        ({"labels": np.full(40, 7)}, "labels: "),
    ],
)
def test_arrays_that_no_record_has_are_a_clear_error(tmp_path, changes, message):
    path = save_record(make_record(), tmp_path)
    arrays, facts = read_npz(path)
    write_npz(path, arrays | changes, facts)
    with pytest.raises(ValueError, match=rf"is damaged \({message}"):
        load_record("lenet5-toy", "test", tmp_path)


def test_labels_of_many_classes_come_back(tmp_path):
    labels = np.array([0, 299, 128, 255, 256])
    logits = np.eye(300)[labels]
    save_record(make_record(logits=logits, labels=labels), tmp_path)
    back = load_record("lenet5-toy", "test", tmp_path)
    assert back.labels.tolist() == labels.tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "../up"}, "name: expected"),
        ({"split": "../train"}, "split: expected lower-case"),
        ({"split": "a.b"}, "split: expected lower-case"),
        ({"name": 5}, "name: expected"),
        ({"logits": 1e5 * np.eye(40, 7)}, "logits: float16 allows differences up to 65504"),
        ({"logits": np.full((40, 7), np.nan)}, "logits: "),
        ({"logits": np.zeros(40)}, r"logits: expected shape \(N, K\)"),
        ({"labels": np.full(40, 7)}, "labels: "),
    ],
)
def test_bad_records_are_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        save_record(make_record(**changes), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_course_s_own_records_are_whole():
    for name, split in list_records():
        record = load_record(name, split)
        assert record.facts["name"] == name
        assert set(record.versions) >= {"python", "torch", "numpy"}
        if split == "test":
            right = record.logits.argmax(axis=1) == record.labels
            if len(right) < 10_000:  # of some of the images, as a run of a grid leaves them
                whole = load_experiment(*name.split(".", 2)).correct
                first, second = np.sort(record.logits, axis=1)[:, :-3:-1].T
                tied = first == second  # as rounding to 1/32 leaves some
                np.testing.assert_array_equal(right[~tied], whole[: len(right)][~tied])
                assert tied.mean() < 0.03
                right = whole
            assert right.mean() == pytest.approx(record.test_accuracy)


def rewritten(path, change):
    """Write the file again as another version would have written it."""
    arrays, facts = read_npz(path)
    write_npz(path, arrays, change(facts))


def test_a_record_of_the_first_schema_is_read_as_a_present_one(tmp_path):
    path = save_record(make_record(), tmp_path)

    def first_schema(facts):
        del facts["seconds_per_epoch"]
        return facts | {"hardware": "AMD EPYC, 1 thread, bfloat16, 110.3 s an epoch"}

    rewritten(path, first_schema)
    back = load_record("lenet5-toy", "test", tmp_path)
    assert back.hardware == "AMD EPYC, 1 thread, bfloat16"
    assert back.seconds_per_epoch == 110.3
    assert "AMD EPYC, 1 thread, bfloat16, 110.3 s an epoch;" in back.provenance


def test_the_recipe_of_somebody_elses_network_stays_as_it_is(tmp_path):
    own = {"solver": "adam", "epochs": 12}
    save_record(make_record(recipe=own), tmp_path)
    assert load_record("lenet5-toy", "test", tmp_path).recipe == own


def test_facts_that_a_later_version_adds_bar_no_reader(tmp_path):
    path = save_record(make_record(), tmp_path)
    later = {"energy": 12.5, "recipe": make_record().recipe | {"warm_up": 3}}
    rewritten(path, lambda facts: facts | later)
    assert load_record("lenet5-toy", "test", tmp_path).recipe["warm_up"] == 3
    rewritten(path, lambda facts: {name: x for name, x in facts.items() if name != "split"})
    with pytest.raises(ValueError, match=r"is damaged .*'split'"):
        load_record("lenet5-toy", "test", tmp_path)
