"""Metrics with their arguments in scikit-learn's order."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from calib_utils.predictions import as_predictions

__all__ = ["labels_first"]


def labels_first(metric: Callable[..., Any]) -> Callable[..., Any]:
    """A metric that takes the labels before the probabilities, as scikit-learn's do.

    ``sklearn.metrics.make_scorer`` can then take it. The metrics here take (probs, labels), and
    refuse them the other way round.

    Labels that are texts or booleans are taken for all classes in alphabetical order, as in
    scikit-learn's classifiers. If a test set lacks a class, labels are floats, or the classifier
    has an order of its own, as CatBoost can, give ``classes=model.classes_``.

    Args:
        metric: any of `calib_utils.metrics` that takes probabilities and labels.

    Returns:
        The same metric of (labels, probs). ``classes``, ``positive``, ``rescale`` and
        ``sample_weight`` go to `calib_utils.predictions.as_predictions`, all else to the metric.

    Example:
        >>> from sklearn.metrics import make_scorer
        >>> from calib_utils.metrics import expected_calibration_error
        >>> scorer = make_scorer(
        ...     labels_first(expected_calibration_error),
        ...     response_method="predict_proba",
        ...     greater_is_better=False,
        ... )
        >>> ece = labels_first(expected_calibration_error)
        >>> round(ece([0] * 6 + [1] * 4, [[0.8, 0.2]] * 10), 4)
        0.2
    """
    return functools.update_wrapper(_LabelsFirst(metric), metric)


class _LabelsFirst:
    """Unlike a nested function, an object of this class can be sent to other processes."""

    def __init__(self, metric: Callable[..., Any]):
        self.metric = metric

    def __call__(
        self,
        labels: Any,
        probs: Any,
        *,
        classes: Any = None,
        positive: Any = None,
        rescale: bool = False,
        sample_weight: Any = None,
        **arguments: Any,
    ) -> Any:
        if classes is None and positive is None:
            names = np.asarray(labels)
            with contextlib.suppress(TypeError):  # no order, so no alphabetical one
                named = names.dtype.kind in "bUSTO" and names.ndim == 1
                classes = np.unique(names) if named else None
        predictions = as_predictions(
            probs,
            labels,
            classes=classes,
            positive=positive,
            rescale=rescale,
            sample_weight=sample_weight,
        )
        return self.metric(predictions, **arguments)
