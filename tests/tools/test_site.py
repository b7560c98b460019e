"""The settings of the site, of which some need its address."""

from __future__ import annotations

from pathlib import Path

from tests.tiny_book import URL, write_tiny_book
from tools.finishing.site import PICTURE, site_config
from tools.sources.book import Book


def test_site_config_has_absolute_addresses_once_the_book_has_one(tmp_path: Path) -> None:
    here = site_config(Book(write_tiny_book(tmp_path / "a")))["sphinx"]["config"]
    assert not {"ogp_site_url", *PICTURE} & here.keys()
    config = site_config(Book(write_tiny_book(tmp_path / "b", url=URL)))
    assert config["repository"]["url"] == URL
    there = config["sphinx"]["config"]
    assert there["ogp_site_url"] == "https://someone.github.io/course/"
    assert there["ogp_image"] == "_static/card.png"
