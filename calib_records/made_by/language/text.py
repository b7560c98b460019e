"""A text to train on: windows of characters, each predicted from those before it."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["TextSet", "load_shakespeare"]

_FILE = Path(__file__).with_name("shakespeare.txt.gz")
_LENGTH = 128  # the number of characters in a network's input
# The windows of all plays are shuffled, so all three parts come from the same plays.
_PARTS = {"training": 5_600, "validation": 1_000, "test": 2_000}


@dataclass(frozen=True)
class TextSet:
    """Windows of a text, and which of their characters are targets.

    Attributes:
        windows: uint8, shape (n, length + 1): the index of each character in ``alphabet``. A
            network takes all but the last, and predicts all but the first.
        alphabet: the characters that occur, sorted.
        every: the distance between target characters in a window: 1 for training, more for
            testing, because neighbours in a text depend on each other.

    Raises:
        ValueError: if ``windows`` has a wrong shape, type or content, or ``every`` leaves nothing.

    Example:
        >>> import numpy as np
        >>> data = TextSet(np.array([[0, 1, 1]], np.uint8), "ab")
        >>> len(data), data.labels.tolist()
        (1, [1, 1])
    """

    windows: np.ndarray
    alphabet: str
    every: int = 1

    def __post_init__(self) -> None:
        windows, shape = self.windows, self.windows.shape
        if windows.ndim != 2 or shape[0] < 1 or shape[1] < 2 or windows.dtype != np.uint8:
            raise ValueError(
                "windows: expected uint8 of shape (n, length + 1), found "
                f"{windows.dtype} of shape {shape}"
            )
        if windows.max() >= len(self.alphabet):
            raise ValueError(
                f"windows: expected places in an alphabet of {len(self.alphabet)} characters, "
                f"found {windows.max()}"
            )
        if not 1 <= self.every < shape[1]:
            raise ValueError(f"every: expected 1 to {shape[1] - 1}, found {self.every}")

    def __len__(self) -> int:
        return len(self.windows)

    @property
    def labels(self) -> np.ndarray:
        """The target characters, int64, one window after the other."""
        return self.windows[:, 1:][:, self.every - 1 :: self.every].astype(np.int64).ravel()

    def subset(self, indices: Any) -> TextSet:
        """The windows at ``indices``."""
        return replace(self, windows=self.windows[indices])

    def text(self, codes: Any) -> str:
        """The characters at some indices of the alphabet."""
        return "".join(self.alphabet[code] for code in codes)


def load_shakespeare() -> tuple[TextSet, TextSet, TextSet]:
    """Plays of Shakespeare in windows of 129 characters; the split is seeded.

    In a test or validation window every 24th character is a target, with at least 24 before it.

    Returns:
        Training (5,600), validation (1,000) and test (2,000) windows.

    Source: "Tiny Shakespeare", the collection of 1.1 million characters in karpathy/char-rnn;
    public domain.

    Example:
        >>> training, validation, test = load_shakespeare()
        >>> len(training), len(validation.labels), len(test.labels)
        (5600, 5000, 10000)
        >>> len(training.alphabet)
        65
    """
    text = gzip.decompress(_FILE.read_bytes()).decode("ascii")
    alphabet = "".join(sorted(set(text)))
    codes = np.searchsorted([*alphabet], [*text]).astype(np.uint8)
    n = len(codes) // (_LENGTH + 1)
    windows = codes[: n * (_LENGTH + 1)].reshape(n, _LENGTH + 1)
    # RandomState's stream is frozen, so the split stays the same in later versions of NumPy.
    windows = windows[np.random.RandomState(0).permutation(n)]
    ends = np.cumsum([*_PARTS.values()])
    training, validation, test, _ = np.split(windows, ends)
    return (
        TextSet(training, alphabet),
        TextSet(validation, alphabet, every=24),
        TextSet(test, alphabet, every=24),
    )
