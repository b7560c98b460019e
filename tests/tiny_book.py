"""A book to test the pipeline on: two short chapters, solutions, the settings of the real one."""

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

How much is it? {doc}`solutions/01-one` has the answer.
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

{numref}`fig-line` rises. See {ref}`one`.

```{code-cell} python
print(f"{2 / 3:.3f}")
```
"""

SOLUTIONS = """
# Solutions: The first

```{solution-start} ex-add
:class: dropdown
```

```{code-cell} python
1 + 2
```

```{solution-end}
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
        "book/intro.md": "# The book\n\n{ref}`one` comes first.\n",
        "book/references.md": "# References\n\n```{bibliography}\n```\n",
        "book/references.bib": BIBLIOGRAPHY,
        "notebooks/01-one.md": HEAD + one,
        "notebooks/02-two.md": HEAD + two,
        "notebooks/solutions/01-one.md": HEAD + SOLUTIONS,
        "notebooks/parameters/cpu.yml": "01-one: {a: 1}\n",
        "notebooks/parameters/gpu.yml": "01-one: {a: 5}\n",
        "calib_utils/__init__.py": "",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    shutil.copytree(REPOSITORY / "book/assets", root / "book/assets", dirs_exist_ok=True)
    return root
