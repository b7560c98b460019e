"""Do the links to other sites still lead somewhere? `python -m tools.finishing.links`.

Asks each address that a source names, a few at a time, and prints those that do not answer; exits
with 1 then. Needs nothing but Python. A site that answers but refuses machines, as publishers do,
is no broken link. Of a DOI only doi.org is asked, whose redirect says that it exists.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

SOURCES = (
    "*.md",
    "*.cff",
    "book/**/*.md",
    "book/*.bib",
    "notebooks/**/*.md",
    "assignments/**/*.md",
)
ADDRESS = re.compile(r"https?://[^\s<>\"'`\[\]{}|\\^]+")
DOI = re.compile(r"^\s*doi\s*=\s*[{\"](?P<doi>[^}\"]+)", re.MULTILINE)
# What the sources name as an example, or as a placeholder.
EXAMPLES = re.compile(
    r"OWNER|REPOSITORY|\.\.\.|…|^https?://(?:[\w.]*\.)?(?:example\.\w+|localhost)\b"
)
GONE = (404, 410, 451)
# May be over in a minute.
BUSY = (429, 500, 502, 503, 504)
AGENT = {"User-Agent": "Mozilla/5.0 (compatible; a weekly check of links)", "Accept": "*/*"}
TRIES, SECONDS, AT_ONCE = 3, 30, 4


class _Stay(HTTPRedirectHandler):
    """Follows nothing: a redirect is an answer."""

    def redirect_request(self, *_: object) -> None:
        return None


def addresses(text: str) -> set[str]:
    """The addresses that a text names, without the brackets and signs around them."""
    found = set()
    for address in ADDRESS.findall(text):
        address = address.rstrip(".,;:!?*")
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(".,;:!?*")
        found.add(address.partition("#")[0])
    found |= {f"https://doi.org/{quote(doi)}" for doi in DOI.findall(text)}
    return {one for one in found if urlsplit(one).netloc and not EXAMPLES.search(one)}


def named_in(root: Path) -> dict[str, list[str]]:
    """Each address, with the files that name it."""
    found: dict[str, list[str]] = {}
    paths = {path for pattern in SOURCES for path in root.glob(pattern)}
    for path in sorted(paths):
        for address in addresses(path.read_text("utf-8")):
            found.setdefault(address, []).append(path.relative_to(root).as_posix())
    return found


def problem(address: str, wait: float = 20) -> str:
    """Why an address leads nowhere; empty if it leads somewhere, or cannot be told."""
    follow = urlsplit(address).netloc != "doi.org"
    found = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(wait)
        found = _asked(address, "HEAD", follow=follow)
        if found and not found.startswith("busy"):
            found = _asked(address, "GET", follow=follow)  # some know no HEAD
        if not found:
            return ""
    # Busy all the time: nobody knows.
    return "" if found.startswith("busy") else found


def _asked(address: str, method: str, *, follow: bool) -> str:
    opener = build_opener() if follow else build_opener(_Stay)
    try:
        with opener.open(Request(address, method=method, headers=AGENT), timeout=SECONDS):
            return ""
    except HTTPError as error:
        error.close()
        if error.code in BUSY:
            return f"busy: {error.code}"
        return f"{error.code} {error.reason}" if error.code in GONE else ""
    except (OSError, HTTPException, ValueError) as error:
        return f"no answer: {getattr(error, 'reason', None) or error}"


def report(named: dict[str, list[str]], wait: float = 20) -> list[str]:
    """A line of Markdown for each address that leads nowhere."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        problems: Iterable[str] = pool.map(lambda address: problem(address, wait), named)
        return [
            f"- {address}: {found} (in {', '.join(named[address])})"
            for address, found in zip(named, problems, strict=True)
            if found
        ]


def main() -> None:
    named = named_in(Path())
    lines = report(named)
    print("\n".join(lines) if lines else f"All {len(named)} links lead somewhere.")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
