"""A browser, and the built book as a server shows it, for the tests of the site."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.finishing.browser import MISSING, browser_path, served
from tools.finishing.browser import browser as started_browser

SITE = Path(__file__).parents[1] / "build/html"
MINUTES = 600_000  # in milliseconds
# The files of tests that take longest come first, so that no worker waits for another at the end.
LONGEST = [
    f"tests/{room}/test_{name}.py"
    for room, name in (
        ("tools", "dodo"),
        ("experiments", "runner"),
        ("site", "site"),
        ("metrics", "torchmetric"),
        ("training", "checkpoints"),
    )
]

# A shell starts what runs in its background with Ctrl-C ignored, and so all that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.location[0] not in LONGEST)


def pytest_collection_finish() -> None:
    """What is imported stays: the collector of garbage need not walk through it in each test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with served(SITE) as started:
        yield started


def patient(make: Callable[..., Any]) -> Callable[..., Any]:
    """As a maker of tabs, whose tabs wait on a busy machine for as long as it takes."""

    def made(**options: Any) -> Any:
        tab = make(**options)
        tab.set_default_timeout(MINUTES)
        return tab

    return made


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if browser_path() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with started_browser() as browser:
        for name in ("new_page", "new_context"):
            setattr(browser, name, patient(getattr(browser, name)))
        yield browser


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end, and not only among other reasons, that nobody looked at the pages."""
    skipped = terminalreporter.stats.get("skipped", [])
    unseen = [report for report in skipped if MISSING in str(report.longrepr)]
    if unseen:
        terminalreporter.section("THE PAGES WERE NOT TESTED", sep="!", red=True, bold=True)
        terminalreporter.write_line(f"{len(unseen)} tests were skipped: {MISSING}", red=True)
