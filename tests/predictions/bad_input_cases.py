"""Bad input that the tests of metrics, decisions, plots and reports share."""

import numpy as np

N, K = 3000, 4  # several blocks of rows
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(K), N)
POSITIVE = PROBS[:, 0].copy()
LOGITS = np.log(PROBS)
LABELS = RNG.integers(K, size=N)
BINARY = RNG.integers(2, size=N)


def with_value(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


BAD_PROBS = {
    "NaN": (with_value(PROBS, (2500, 1), np.nan), "found nan at row 2500, class 1; remove"),
    "inf": (with_value(PROBS, (2500, 1), np.inf), "found inf at row 2500, class 1; remove"),
    "-inf": (with_value(PROBS, (2500, 1), -np.inf), "found -inf at row 2500, class 1; remove"),
    "both": (with_value(PROBS, (7, slice(2)), [np.inf, -np.inf]), "found inf at row 7, class 0"),
    "logits": (LOGITS, r"expected values from 0 to 1, found -\d.* softmax"),
    "positive logits": (5 + PROBS, "expected values from 0 to 1, found 5.* softmax"),
    "negative": (with_value(PROBS, 2500, [0.6, 0.6, -0.3, 0.1]), "found -0.3 at row 2500, class 2"),
    "1 - 0.7 - 0.3": (
        with_value(PROBS, 2500, [0.7, 0.3, 1 - 0.7 - 0.3 - 1e-16, 0]),
        r"at row 2500, class 2; cut such roundings off with probs.clip\(0\)",
    ),
    "above 1": (with_value(PROBS, 9, [1.01, 0, 0, 0]), "found 1.01 at row 9, class 0"),
    "twice": (2 * with_value(PROBS, slice(None), 0.25), "sum to 1 within 0.0001, found 2 in row 0"),
    "one row": (with_value(PROBS, 2500, 0.2), "sum to 1 .*found 0.8 in row 2500; divide"),
    "zero row": (with_value(PROBS, 2500, 0), "found 0 in row 2500; divide each row by its sum"),
    "one-versus-rest": (PROBS**0.5, "rows that sum to 1"),
    "integers": ((PROBS > 0.5).astype(int), "expected floating-point numbers, found int64"),
    "booleans": (PROBS > 0.5, "expected floating-point numbers, found bool"),
    "complex": (PROBS.astype(complex), "expected real numbers, found complex128"),
    "text": (np.full((N, K), "0.25"), "expected real numbers, found <U4"),
    "objects": (PROBS.astype(object), "expected real numbers, found object"),
    "masked": (np.ma.masked_less(PROBS, 0.1), "found masked entries"),
    "no rows": (PROBS[:0], r"non-empty array of shape \(N, K\).*found \(0, 4\)"),
    "no columns": (PROBS[:, :0], r"non-empty array .*found \(3000, 0\)"),
    "one column": (np.ones((N, 1)), r"found \(3000, 1\); flatten it with"),
    "three axes": (PROBS[None], r"found \(1, 3000, 4\)"),
    "a number": (0.5, r"found \(\)"),
    "nothing": ([], r"found \(0,\)"),
    "ragged": ([[0.5, 0.5], [1.0]], "found rows of unequal length"),
}

BAD_LABELS = {
    "-1": (with_value(LABELS, 7, -1), "expected 0 to 3, found -1 at index 7; number the classes"),
    "K": (with_value(LABELS, 2999, K), "expected 0 to 3, found 4 at index 2999"),
    "small type": (with_value(LABELS.astype(np.int8), 7, -100), "found -100 at index 7"),
    "column": (LABELS[:, None], r"expected shape \(3000,\), found \(3000, 1\); .*labels\[:, 0\]"),
    "one-hot": (np.eye(K, dtype=int)[LABELS], r"found \(3000, 4\); .*labels.argmax\(1\)"),
    "too few": (LABELS[:-1], "expected 3000, one for each prediction, found 2999"),
    "too many": (np.append(LABELS, 0), "found 3001"),
    "none": ([], "found 0"),
    "a number": (1, r"found \(\); give one class index"),
    "floats": (LABELS.astype(float), r"expected integers, found float64; .*astype\(int\)"),
    "booleans": (LABELS > 1, r"found bool; .*classes=\[\.\.\.\]"),
    "NaN": (with_value(LABELS.astype(float), 0, np.nan), "found float64; leave out .* index 0"),
    "text": (LABELS.astype(str), r"found <U.*classes=\[\.\.\.\]"),
}
