"""The superclasses of CIFAR-100, against what a network takes for each other."""

import numpy as np

from calib_utils.records import CIFAR100_SUPERCLASSES, load_record


def test_each_label_has_one_superclass_of_five():
    assert len(CIFAR100_SUPERCLASSES) == 20
    assert all(len(classes) == 5 for classes in CIFAR100_SUPERCLASSES.values())
    assert sorted(sum(CIFAR100_SUPERCLASSES.values(), ())) == list(range(100))


def test_a_network_takes_a_class_for_one_of_its_own_superclass():
    """Of 99 wrong classes, four are of the same superclass. It errs towards them far more often."""
    record = load_record("resnet34-cifar100", "test")
    predicted = record.logits.argmax(axis=1)
    confused = np.zeros((100, 100))
    np.add.at(confused, (record.labels, predicted), 1)
    np.fill_diagonal(confused, 0)
    for name, classes in CIFAR100_SUPERCLASSES.items():
        own = confused[list(classes)]
        assert own[:, list(classes)].sum() > 2 * 4 / 99 * own.sum(), name
