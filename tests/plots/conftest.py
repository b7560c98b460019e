"""Figures are drawn without a screen, and closed after each test; what several files draw."""

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def overconfident() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (3_000, 10))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probs, rng.integers(0, 10, 3_000)


# Ten samples of known confidence. In five bins: none, one at 0.3, none, four at 0.7, five at 0.9.
CONFIDENCES = np.repeat([0.3, 0.7, 0.9], (1, 4, 5))
# Of them are right, or positive: 1, 1 and 3.
LABELS = np.array([1, 1, 0, 0, 0, 1, 1, 1, 0, 0])


@pytest.fixture(params=["of the positive class", "of four classes"])
def binary(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "of the positive class")


@pytest.fixture
def samples(binary: bool) -> tuple[np.ndarray, np.ndarray]:
    """The same confidences and answers as one column, or as the largest of four."""
    if binary:
        return CONFIDENCES, LABELS
    rest = (1 - CONFIDENCES) / 3
    return np.stack([rest, CONFIDENCES, rest, rest], axis=1), LABELS
