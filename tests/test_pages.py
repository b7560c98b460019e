"""The pages that are no notebooks: their code is run here, since no notebook runs it."""

import re
from pathlib import Path

import pytest

PAGES = [Path("README.md"), *sorted(Path("book").rglob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=str)
def test_python_code_of_a_page_runs(page):
    namespace = {}
    for code in CODE.findall(page.read_text("utf-8")):
        exec(compile(code, str(page), "exec"), namespace)
