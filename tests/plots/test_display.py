"""The diagram in scikit-learn's idiom: as its own display, and as our diagram."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from calib_utils.plots import ReliabilityDisplay, reliability_diagram
from calib_utils.predictions import as_predictions

X, Y = load_breast_cancer(return_X_y=True)
NAMES = np.array(["malignant", "benign"])[Y]
MODEL = GaussianNB().fit(X[::2], NAMES[::2])  # its classes are in alphabetical order


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("pos_label", [None, "benign", "malignant"])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_it_shows_what_scikit_learn_shows(pos_label, strategy):
    given = {"n_bins": 5, "strategy": strategy, "pos_label": pos_label}
    theirs = CalibrationDisplay.from_estimator(MODEL, X[1::2], NAMES[1::2], **given)
    ours = ReliabilityDisplay.from_estimator(MODEL, X[1::2], NAMES[1::2], **given)
    bins = ours.diagram_.bins
    held = bins.counts > 0
    np.testing.assert_allclose(bins.accuracy[held], theirs.prob_true, atol=1e-12)
    np.testing.assert_allclose(bins.confidence[held], theirs.prob_pred, atol=1e-12)
    assert ours.diagram_.counts_ax.get_title() == "GaussianNB"
    probs = MODEL.predict_proba(X[1::2])[:, [*MODEL.classes_].index(pos_label or "malignant")]
    labels = NAMES[1::2] == (pos_label or "malignant")
    again = ReliabilityDisplay.from_predictions(labels, probs, pos_label=True, n_bins=5)
    uniform = reliability_diagram(probs, labels.astype(int), n_bins=5)
    assert again.diagram_.ece == uniform.ece


def test_of_more_classes_the_confidence_counts():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = GaussianNB().fit(X[::2], names[::2])
    display = ReliabilityDisplay.from_estimator(model, X[1::2], names[1::2], name="Iris")
    expected = reliability_diagram(model.predict_proba(X[1::2]), y[1::2])
    for one, other in zip(display.diagram_.bins, expected.bins, strict=True):
        np.testing.assert_array_equal(one, other)
    assert display.ax_.get_ylabel() == "Accuracy"
    assert display.diagram_.counts_ax.get_title() == "Iris"


def test_it_is_drawn_again_on_other_axes():
    fig, (left, right) = plt.subplots(1, 2)
    predictions = as_predictions([0.2, 0.7, 0.9], [0, 1, 1])
    display = ReliabilityDisplay(predictions, n_bins=4)
    assert display.plot(left) is display
    assert display.ax_ is left
    assert display.figure_ is fig
    assert display.diagram_.counts_ax.get_title() == ""
    assert display.plot(ax=right, name="Again").ax_ is right
    assert display.diagram_.counts_ax.get_title() == "Again"
    assert len(display.diagram_.bins.counts) == 4
    assert display.plot().figure_ is not fig


def test_what_it_cannot_show():
    with pytest.raises(ValueError, match=r"^estimator: expected .*predict_proba, found SVC; fit"):
        ReliabilityDisplay.from_estimator(SVC().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match=r"^estimator: expected a fitted .*found GaussianNB"):
        ReliabilityDisplay.from_estimator(GaussianNB(), X, Y)
    with pytest.raises(ValueError, match=r"^pos_label: expected one of two classes, found 'b'"):
        ReliabilityDisplay.from_estimator(MODEL, X, NAMES, pos_label="b")
    with pytest.raises(ValueError, match=r"^labels: "):
        ReliabilityDisplay.from_estimator(MODEL, X, Y)


@pytest.mark.parametrize(("factor", "columns"), [(2.0, [0, 1]), (1.0, [1]), (1.0, [0, 1, 1])])
def test_a_classifier_gives_a_probability_of_each_class(factor, columns):
    model = Of(MODEL.classes_, factor * MODEL.predict_proba(X)[:, columns])
    with pytest.raises(ValueError, match="predict_proba"):
        ReliabilityDisplay.from_estimator(model, X, NAMES)


class Of:
    """A fitted classifier with these probabilities."""

    def __init__(self, classes, probs):
        self.classes_ = classes
        self.probs = probs

    def predict_proba(self, X):
        return self.probs
