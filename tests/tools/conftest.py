"""The tiny book, and the same with an address."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_book import LABELS, URL, write_tiny_book
from tools.sources.book import Book


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(write_tiny_book(tmp_path / "placeholder", two=LABELS))


@pytest.fixture
def published(tmp_path: Path) -> Book:
    return Book(write_tiny_book(tmp_path / "published", two=LABELS, url=URL))
