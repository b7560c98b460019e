"""A book of two short chapters and a solution, with the settings of the real one, for tests."""

from __future__ import annotations

import shutil
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]

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
line = ax.plot([0, 1])
```

{numref}`fig-line` rises. See {ref}`one`, which is {numref}`one`.

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

```{code-cell} python
print(f"{2 / 3:.3f}")
```
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
