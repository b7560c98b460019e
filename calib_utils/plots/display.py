"""The reliability diagram in scikit-learn's idiom."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from calib_utils.plots.diagrams import ReliabilityDiagram, reliability_diagram
from calib_utils.predictions import Predictions, as_predictions, check_probs

__all__ = ["ReliabilityDisplay"]


class ReliabilityDisplay:
    """A `reliability_diagram` that is used like the displays of scikit-learn.

    Create and draw it with `from_predictions` or `from_estimator`, and draw it again with `plot`,
    for example on other axes. Unlike ``sklearn.calibration.CalibrationDisplay``, it also takes more
    than two classes, where it shows the confidence in the predicted class, and it gives the ECE
    next to the ECE that a calibrated network would score.

    Args:
        predictions: the result of `calib_utils.predictions.as_predictions`.
        name: a title for the diagram; none by default.
        settings: arguments of `reliability_diagram`, such as ``n_bins`` and ``strategy``.

    Attributes:
        diagram_: the diagram drawn last, with its bins, its ECE and the baseline ECE.
        ax_: its axes.
        figure_: its figure.

    Example:
        >>> display = ReliabilityDisplay.from_predictions([0] * 6 + [1] * 4, [[0.8, 0.2]] * 10)
        >>> round(display.diagram_.ece, 4)
        0.2
    """

    diagram_: ReliabilityDiagram
    ax_: Axes
    figure_: Figure | SubFigure

    def __init__(self, predictions: Predictions, *, name: str | None = None, **settings: Any):
        self.predictions = predictions
        self.name = name
        self.settings = settings

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Self:
        """Draw it.

        Args:
            ax: where to draw; new axes by default.
            name: a title to use instead of its own.

        Returns:
            Itself.

        Raises:
            ValueError: if the settings are not valid.
        """
        self.diagram_ = reliability_diagram(self.predictions, **self.settings, ax=ax)
        self.ax_ = self.diagram_.ax
        self.figure_ = self.ax_.figure
        title = self.name if name is None else name
        if title is not None:
            self.diagram_.counts_ax.set_title(title)
        return self

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        classes: Any = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Draw the diagram of predicted probabilities.

        Args:
            y_true: (N,), labels: integers from 0 to K - 1, or names.
            y_prob: (N, K), or (N,) for the positive class.
            classes: (K,), the name of each column's class.
            pos_label: with (N,), the name of the positive class.
            name: a title for the diagram; none by default.
            ax: where to draw; new axes by default.
            settings: of `reliability_diagram`, such as ``n_bins`` and ``strategy``.

        Raises:
            ValueError: for bad input.

        Example:
            >>> display = ReliabilityDisplay.from_predictions(
            ...     ["no", "yes"], [0.1, 0.8], pos_label="yes", n_bins=5
            ... )
            >>> display.diagram_.bins.counts.tolist()
            [1, 0, 0, 1, 0]
        """
        predictions = as_predictions(y_prob, y_true, classes=classes, positive=pos_label)
        return cls(predictions, name=name, **settings).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **settings: Any,
    ) -> Self:
        """Draw the diagram of a fitted classifier.

        With two classes it shows the probability of the positive one, like scikit-learn's display.

        Args:
            estimator: a fitted classifier of scikit-learn, with ``predict_proba``.
            X: (N, ...), features.
            y: (N,), labels, with the classifier's names for the classes.
            pos_label: which of two classes is positive; the second by default.
            name: a title for the diagram; the name of the classifier's class by default.
            ax: where to draw; new axes by default.
            settings: of `reliability_diagram`, such as ``n_bins`` and ``strategy``.

        Raises:
            ValueError: for bad input, including a classifier without probabilities.

        Example:
            >>> from sklearn.datasets import load_breast_cancer
            >>> from sklearn.naive_bayes import GaussianNB
            >>> X, y = load_breast_cancer(return_X_y=True)
            >>> model = GaussianNB().fit(X[:400], y[:400])
            >>> display = ReliabilityDisplay.from_estimator(model, X[400:], y[400:], n_bins=5)
            >>> display.ax_.get_ylabel()
            'Frequency of the positive class'
        """
        if not (hasattr(estimator, "predict_proba") and hasattr(estimator, "classes_")):
            raise ValueError(
                "estimator: expected a fitted classifier with predict_proba, found "
                f"{type(estimator).__name__}; fit it first, or calibrate its decisions"
            )
        classes = np.asarray(estimator.classes_).tolist()
        probs = check_probs(estimator.predict_proba(X), "predict_proba")
        if probs.shape[1:] != (len(classes),):
            raise ValueError(
                f"estimator: expected predict_proba to give a column for each of {len(classes)} "
                f"classes, found {probs.shape}"
            )
        binary = len(classes) == 2
        if pos_label is not None and not (binary and pos_label in classes):
            raise ValueError(
                f"pos_label: expected one of two classes, found {pos_label!r} and classes {classes}"
            )
        if binary:
            if pos_label == classes[0]:
                probs, classes = probs[:, ::-1], classes[::-1]
            probs = probs[:, 1]
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, probs, classes=classes, name=name, ax=ax, **settings)
