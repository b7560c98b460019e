"""The pages that are no notebooks: their code is run here, since no notebook runs it."""

from pathlib import Path

import pytest

from tests.book.page_code import blocks_of

PAGES = sorted(Path("book").rglob("*.md"))
# What these need is made in tests of their own, or in test_recipes where it is installed.
ELSEWHERE = {Path(f"book/{page}.md") for page in ("which-command", "deploy", "api/metrics")}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE], ids=str)
def test_python_code_of_a_page_runs(page):
    namespace = {}
    for code in blocks_of("python", page.read_text("utf-8")):
        if code.startswith(">>> "):
            continue  # which test_examples runs, with what it prints
        exec(compile(code, str(page), "exec"), namespace)
