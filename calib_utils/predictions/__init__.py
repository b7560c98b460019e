"""Predictions with named labels, rounded rows or weights, or with known correctness only.

Metrics, decisions, plots and recalibrators take arrays, ``metric(probs, labels)``. Anything more is
given once to `as_predictions`, whose result takes the place of the arrays::

    predictions = as_predictions(probs, ["cat", "dog", "cat"], classes=["cat", "dog", "owl"])
    expected_calibration_error(predictions, n_bins=10)

Labels may be **names**: ``classes`` names the class of each column, and with probabilities (N,)
``positive`` names the positive class, such as ``True`` or ``"yes"``; without either they are
integers from 0. The sum of **rounded rows**, for example to four digits, may differ from one by
more than the checks allow. ``rescale=True`` divides such rows by their sum if it is within 10 % of
one, and a warning tells how many there were and how far off. **Weights** set how much each sample
counts relative to the others; `calib_utils.metrics` explains their effect, and what takes none. A
recalibrator divides them by their mean; the ``sample_weight`` of its own ``fit`` tells how often
each sample counts.

For a language model, a detector or a ranker, often only the confidence of each prediction and its
correctness are known: ``as_predictions(confidence=c, correct=y)``. A metric then compares the two,
as it does with the confidence in the predicted class. Scores are those of the two outcomes, correct
and incorrect; the accuracy is the mean of ``correct``, however low the confidence. A recalibrator
for probabilities (N,), with ``inputs="probs"``, recalibrates ``c``. Functions that need the
probabilities of all classes raise an error.

**Logits** are taken by recalibrators, and by the NLL and the accuracy: ``as_predictions(logits=z,
labels=y)``. These functions check the values themselves, because they differ in what is masked.
"""

from calib_utils.predictions.gate import Predictions, as_predictions

__all__ = ["Predictions", "as_predictions"]
