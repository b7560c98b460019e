"""The picture that is shown beside a link to the book."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

from tools.sources.book import Book


def test_the_picture_has_the_size_that_the_tags_say(tmp_path: Path) -> None:
    picture = tmp_path / "card.png"
    subprocess.run([sys.executable, "-m", "book.pictures.card", picture], check=True)
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    tags = "".join(Book().config["sphinx"]["config"]["ogp_custom_meta_tags"])
    assert f'og:image:width" content="{width}"' in tags
    assert f'og:image:height" content="{height}"' in tags
