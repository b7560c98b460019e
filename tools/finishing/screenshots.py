"""Look at every page in light, dark and on a phone.

`python -m tools.finishing.screenshots FOLDER [PAGE …]` takes the pictures.
Writes `ece-and-mce.light.png` and so on; a page that is longer than a picture may be is written in
several parts. `make book` must have run.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tools.finishing.browser import PHONE, browser, served
from tools.finishing.pages import SITE, pages_of

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 800}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 800}},
    "phone": {"color_scheme": "light", "viewport": PHONE, "has_touch": True, "is_mobile": True},
}
# In CSS pixels, of one picture.
PART = 6000
# Pictures load as a reader comes near, which nobody does here.
LOAD = """async () => {
    document.querySelectorAll("img").forEach(one => one.loading = "eager");
    await Promise.all([...document.images].map(one => one.decode().catch(() => null)));
    await document.fonts.ready;
    return document.documentElement.scrollHeight;
}"""


def pages(site: Path, names: list[str]) -> list[Path]:
    """The built pages whose names are given, or all."""
    return [path for path in pages_of(site) if path.stem in names or not names]


def name_of(page: Path, site: Path) -> str:
    """Such as `solutions.ece-and-mce`."""
    parts = page.relative_to(site).with_suffix("").parts
    return ".".join(part for part in parts if part not in ("book", "notebooks"))


def take(page: Path, site: Path, address: str, folder: Path, look: str, started: Any) -> None:
    """Write the pictures of one page in one look."""
    context = started.new_context(reduced_motion="reduce", **LOOKS[look])
    tab = context.new_page()
    tab.goto(address + page.relative_to(site).as_posix(), wait_until="load")
    height = tab.evaluate(LOAD)
    width = LOOKS[look]["viewport"]["width"]
    for number, top in enumerate(range(0, height, PART), 1):
        part = f".{number}" if height > PART else ""
        path = folder / f"{name_of(page, site)}.{look}{part}.png"
        clip = {"x": 0, "y": top, "width": width, "height": min(PART, height - top)}
        tab.screenshot(path=path, full_page=True, clip=clip)
    context.close()


def main(site: Path = SITE) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("pages", nargs="*", help="such as intro or ece-and-mce; all by default")
    parser.add_argument("--look", choices=LOOKS, action="append", help="all by default")
    arguments = parser.parse_args()
    site = site.absolute()
    found = pages(site, arguments.pages)
    if not found:
        raise SystemExit(f"{site} has no such page: run `make book` first")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with browser() as started, served(site) as address:
        for page in found:
            for look in arguments.look or LOOKS:
                take(page, site, address, arguments.folder, look, started)
    print(f"The pictures of {len(found)} pages are in {arguments.folder}")


if __name__ == "__main__":
    main()
