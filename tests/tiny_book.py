"""A book of two short chapters and a solution, with the settings of the real one, for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
URL = "https://github.com/someone/course"

HEAD = """\
---
jupytext:
  text_representation: {extension: .md, format_name: myst}
kernelspec: {name: python3, display_name: Python 3}
---
"""

ONE = """
(one)=
# The first

How much is $a + b$? We follow {cite:t}`guo2017calibration`; {doc}`02-two` goes on.

```{code-cell} python
:tags: [parameters]

a = 1
```

```{math}
:label: eq-sum
c = a + b
```

:::{exercise} Add
:label: ex-add

How much is it in {eq}`eq-sum`?
:::

```{code-cell} python
import calib_utils

b = 2
a + b
```
"""

TWO = """
# The second

```{code-cell} python
---
mystnb:
  image:
    alt: A line that rises from 0 to 1.
  figure:
    name: fig-line
    caption: A line, as {eq}`eq-sum`.
---
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(2, 2))
line = ax.plot([0, 1], color="black")
```

{numref}`fig-line` rises. {numref}`tab-half` is short. See {ref}`one`, which is {numref}`one`.

:::{prf:proposition} Halves
:label: prop-halves

```{math}
:label: eq-halves
1 = 2 / 2
```
:::

:::{prf:proof}
By {prf:ref}`prop-halves` and {eq}`eq-halves`.
:::

:::{question}
Which is the first?

- [ ] The book
  - It has no *number*.
- [x] The first
  - It is {numref}`one`, with {eq}`eq-sum`.
:::

```{code-cell} python
print(f"{2 / 3:.3f}")
```

```{code-cell} python
---
mystnb:
  table:
    name: tab-half
    caption: One half of a number.
---
from IPython.display import Markdown

Markdown("| n | half |\\n| --- | --- |\\n| 3 | 1.5 |")
```
"""

# In the place of the second chapter: something of each kind that has a label.
LABELS = """
# The second

(part)=
## A part

(loose)=
Text without a heading.

```{math}
:label: eq-product
p = q r
```

:::{prf:definition} Calibration
:label: def-calibration

Promise and truth agree.
:::

::::{prf:proposition}
:label: prop-sum

```{math}
:label: eq-inside
s = t
```
::::

:::{exercise} Count
:label: ex-count

Count them.
:::

:::{table} Two numbers.
:name: tab-two

| a | b |
|---|---|
| 1 | 2 |
:::

:::{figure} ../book/figures/map.svg
---
alt: A map of
  the chapters.
name: fig-map
---
Where {ref}`part` stands.
:::
"""

SOLUTIONS = """
(solutions-one)=
# Solutions: The first

{ref}`ex-add` is in {numref}`one`, {ref}`one`. Here is {numref}`fig-icon`, with {eq}`eq-solved`.

```{solution-start} ex-add
:class: dropdown
```

```{math}
:label: eq-solved
1 + 2 = 3
```

```{code-cell} python
1 + 2
```

```{solution-end}
```

:::{figure} ../../book/assets/favicon.svg
:name: fig-icon
:alt: A curve below a diagonal.

The icon.
:::
"""

DOCUMENTED = '''
"""Two classes that `Point` and `Child` name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from calib_utils.elsewhere import borrowed

__all__ = ["Child", "Parent", "Point", "borrowed"]


class Point(NamedTuple):
    """A place.

    Attributes:
        x: from left to right.
    """

    x: float


class Parent:
    """Learns, with `Parent.fit`."""

    def fit(self) -> Parent:
        """Learn."""
        return self


@dataclass
class Child(Parent):
    """Learns as its parent: see `fit`."""

    places: list[Point] = field(default_factory=list)
'''

INTRO = """
# The book

{ref}`one` comes first.

```{math}
:label: eq-start
0 = 0
```
"""

BIBLIOGRAPHY = """
@inproceedings{guo2017calibration,
  author = {Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.},
  title = {On calibration of modern neural networks}, booktitle = {ICML}, year = {2017},
  url = {https://arxiv.org/abs/1706.04599},
}
"""

TOC = """
format: jb-book
root: book/intro
parts:
  - caption: Chapters
    numbered: 1
    chapters:
      - file: notebooks/01-one
      - file: notebooks/02-two
  - caption: Appendix
    chapters:
      - file: book/module
      - file: book/references
  - caption: Solutions
    chapters:
      - file: notebooks/solutions/01-one
"""


def write_tiny_book(root: Path, one: str = ONE, two: str = TWO, url: str | None = None) -> Path:
    """Write the sources under `root`; `url` takes the place of the repository's placeholder."""
    config = (REPOSITORY / "_config.yml").read_text("utf-8")
    files = {
        "_config.yml": config.replace("https://github.com/OWNER/REPOSITORY", url)
        if url
        else config,
        "_toc.yml": TOC,
        "CHANGELOG.md": "# What changed\n\n## 0.1.0, 1 May 2026\n\nThe first release.\n",
        "book/intro.md": INTRO,
        "book/references.md": "# References\n\n```{bibliography}\n```\n",
        "book/references.bib": BIBLIOGRAPHY,
        "notebooks/01-one.md": HEAD + one,
        "notebooks/02-two.md": HEAD + two,
        "notebooks/solutions/01-one.md": HEAD + SOLUTIONS,
        "notebooks/parameters/cpu.yml": "01-one: {a: 1}\n",
        "notebooks/parameters/gpu.yml": "01-one: {a: 5}\n",
        "book/module.md": "# Module\n\n```{eval-rst}\n.. automodule:: calib_utils.tiny\n```\n",
        "calib_utils/__init__.py": '__version__ = "0.1.0"\n',
        "calib_utils/tiny.py": DOCUMENTED,
        "calib_utils/elsewhere.py": 'def borrowed() -> None:\n    """Has another page."""\n',
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    shutil.copytree(REPOSITORY / "book/assets", root / "book/assets", dirs_exist_ok=True)
    return root


# A script that makes a table of a file.
COPIES = """\
import sys
from pathlib import Path
{}
Path(sys.argv[1]).parent.mkdir(parents=True, exist_ok=True)
Path(sys.argv[1]).write_text(Path("{}").read_text())
"""
# Beside its pages: a library, which chapter 1 imports, and two scripts that make tables.
FILES = {
    # With a version, which the notebooks for Colab name.
    "calib_utils/__init__.py": 'import calib_utils.used\n\n__version__ = "0.0.0"\n',
    "calib_utils/used.py": "",
    "calib_utils/unused.py": "",
    "benchmarks/tables.py": "",
    "benchmarks/results/some.json": "[1]",
    "book/tables/results.py": COPIES.format(
        "import benchmarks.tables", "benchmarks/results/some.json"
    ),
    # One that reads what is neither code nor beside it.
    "classroom/assignments/one/goals.toml": "minutes = 90",
    "book/tables/goals.py": COPIES.format("", "classroom/assignments/one/goals.toml"),
}
GROUPS = {"papermill", "nbval", "page", "parts", "shorter"}


class TinyBook:
    """A tiny book with a pipeline of its own, which a test may change too."""

    def __init__(self, root: Path, url: str | None = None) -> None:
        self.root = write_tiny_book(root, url=url)
        for name in ("dodo.py", "requirements.lock"):
            shutil.copy(REPOSITORY / name, root)
        shutil.copytree(
            REPOSITORY / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__")
        )
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, "utf-8")

    def read(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    @contextmanager
    def edited(self, name: str, old: str, new: str) -> Iterator[None]:
        """Replace some text of a file for a while."""
        text = self.read(name)
        assert old in text
        (self.root / name).write_text(text.replace(old, new), "utf-8")
        try:
            yield
        finally:
            (self.root / name).write_text(text, "utf-8")

    def waiting_for(self, name: str) -> set[str]:
        """The steps that would run if a file ended in one more comment."""
        text = self.read(name)
        with self.edited(name, text, f"{text}\n# Changed.\n"):
            return self.waiting()

    def run(self, *command: str) -> tuple[int, str]:
        """Run a module on this book, as `make` does; its exit code and what it said."""
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=self.root,
            env=os.environ | {"PROFILE": "cpu", "PYTHONPATH": str(self.root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        print(done.stdout)
        return done.returncode, done.stdout

    def doit(self, *tasks: str) -> tuple[int, str]:
        """Run the real `dodo.py` on this book; its exit code and what it said."""
        return self.run("doit", *tasks)

    def waiting(self) -> set[str]:
        """The steps that would run now; of those that others lead to, only the first."""
        code, said = self.doit("list", "--all", "--status")
        assert code == 0
        states = (line.split()[:2] for line in said.splitlines())
        waiting = {step for state, step in states if state != "U" and step not in GROUPS}
        return {step for step in waiting if not step.startswith("page:")}  # always does

    def steps(self, *tasks: str) -> set[str]:
        """The steps that ran, which must succeed."""
        code, said = self.doit(*tasks)
        assert code == 0
        return {line[3:] for line in said.splitlines() if line.startswith(".  ")}
