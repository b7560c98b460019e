"""The teacher's secret, from which inputs, data and variants are drawn.

The repository is public, its solutions and checks too. What no student can look up is what the
secret decides: it is made at the first release, and stays in the class's folder.
"""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path

import numpy as np

from classroom import ClassroomError


def make_secret(folder: Path, key: str | None = None) -> bytes:
    """The secret of a class, made if there is none; only its owner may read the file.

    Args:
        folder: of the class.
        key: the secret to take, such as that of the same class on another computer; drawn at
            random by default.

    Raises:
        ClassroomError: if the class already has a secret other than ``key``.
    """
    path = folder / "secret"
    if path.exists():
        secret = read_secret(folder)
        if key is not None and key.encode() != secret:
            raise ClassroomError(
                f"--key: {folder} has another secret already; take a new folder for a new key"
            )
        return secret
    if key is not None and len(key) < 8:
        raise ClassroomError(f"--key: {len(key)} characters can be guessed; take 8 or more")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", "utf-8")  # the folder may lie in a repository
    secret = (key or secrets.token_hex(32)).encode()
    path.touch(0o600, exist_ok=False)
    path.write_bytes(secret)
    return secret


def read_secret(folder: Path) -> bytes:
    """The secret of a class.

    Raises:
        ClassroomError: if the class has none.
    """
    path = folder / "secret"
    if not path.exists():
        raise ClassroomError(f"{folder} has no secret: release an assignment to this class first")
    return path.read_bytes()


def generator(secret: bytes, *words: str) -> np.random.Generator:
    """A stream of random numbers that only the secret and these words decide."""
    digest = hmac.digest(secret, "\0".join(words).encode(), "sha256")
    return np.random.default_rng(int.from_bytes(digest))


def drawn_labels(rng: np.random.Generator, probs: np.ndarray) -> np.ndarray:
    """A label for each row of ``probs``, drawn with just these probabilities, shape (N,).

    So the rows are calibrated.
    """
    draws = rng.random((len(probs), 1))
    return np.asarray((probs.cumsum(axis=1) < draws).sum(axis=1).clip(max=probs.shape[1] - 1))
