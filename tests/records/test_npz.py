"""Files of records: written whole, without pickles, and never read as something else."""

import tracemalloc
import zipfile

import numpy as np
import pytest

from calib_utils.records import npz
from calib_utils.records.npz import explain_damage, read_npz, write_npz

FACTS = {"name": "lenet5-toy", "recipe": {"epochs": 3}}


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "record.npz"
    write_npz(path, {"logits": rng.normal(0, 5, (40, 7)), "labels": rng.integers(0, 7, 40)}, FACTS)
    return path


def load(path):
    with explain_damage("the record"):
        return read_npz(path)


def test_write_npz_writes_no_pickle(path):
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            assert b"|O" not in file.read(name)[:128], name


def test_write_npz_takes_numbers_of_numpy_as_facts(tmp_path):
    numbers = {"epochs": np.int64(3), "learning_rate": np.float32(0.1), "mirror": np.bool_(True)}
    write_npz(tmp_path / "x.npz", {}, numbers)
    plain = {"epochs": 3, "learning_rate": float(np.float32(0.1)), "mirror": True}
    assert read_npz(tmp_path / "x.npz") == ({}, plain)
    with pytest.raises(ValueError, match=r"^facts: expected texts, numbers, .*found ndarray"):
        write_npz(tmp_path / "x.npz", {}, {"rates": np.ones(2)})


def test_write_npz_leaves_the_old_file_where_it_fails(path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_npz(path, {}, {"name": "another"})
    monkeypatch.undo()
    assert read_npz(path)[1] == FACTS
    assert list(path.parent.iterdir()) == [path]


def test_read_npz_does_not_unpack_a_bomb(path, monkeypatch):
    """Zeros shrink a thousandfold, so a file of 400 kB would fill 400 MB."""
    monkeypatch.setattr(npz, "MOST_BYTES", 1_000_000)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("logits.npy", "labels.npy", "facts.npy"):
            file.writestr(name, bytes(4_000_000))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"unpacks to 12,000,000 bytes, and no record is that"):
        load(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.6, 0.9, 0.999])
def test_truncated_file_is_damaged(path, kept):
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match=r"the record is damaged .*restore the file"):
        load(path)


def test_a_changed_byte_is_never_read_as_another_number(path):
    content, (kept, _) = path.read_bytes(), load(path)
    for place in range(0, len(content), 97):
        changed = bytearray(content)
        changed[place] ^= 0x40
        path.write_bytes(bytes(changed))
        try:
            arrays, facts = load(path)
        except ValueError:
            continue
        assert facts == FACTS
        for name, values in kept.items():
            np.testing.assert_array_equal(arrays[name], values)


def npy(header):
    """A file of an array that ends with its header."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


@pytest.mark.parametrize(
    "content",
    [
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (100_000_000, 100)}\n"),
        npy(f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({10**30}, 100)}}\n"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (40, 7\n"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (40, 7\x00}\n"),
        npy("(" * 5000),
    ],
)
def test_a_header_that_claims_too_much_or_never_ends_is_damage(path, content):
    write_npz(path, {}, FACTS)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("logits.npy", content)
    with pytest.raises(ValueError, match="the record is damaged"):
        load(path)
