"""Parameters of a test, most of which are left to a thorough run."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def mostly_thorough(names: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """All of them as parameters; those that were not chosen are thorough."""
    return [
        name if name in chosen else pytest.param(name, marks=pytest.mark.thorough) for name in names
    ]
