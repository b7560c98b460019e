"""The records of the course, in a distribution of their own."""

import pytest

import calib_records
from calib_utils.records import load_imagenet, load_record


def test_records_of_another_version_are_refused(monkeypatch):
    monkeypatch.setattr(calib_records, "__version__", "0.0.9")
    with pytest.raises(ImportError, match=r"are of version 0\.0\.9, .* install both from one"):
        load_record("lenet5-cifar100", "test")


def test_a_name_for_which_nothing_is_stored():
    with pytest.raises(ValueError, match=r"^network: expected one of tv\.densenet161.*'vgg'"):
        load_imagenet("vgg")
