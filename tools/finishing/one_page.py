"""Build one page as Sphinx writes it: `python -m tools.finishing.one_page notebooks/ece-and-mce`.

To look at while one writes, once the book has been built: the other pages are as they were then,
and what `make book` does to a finished site is not done. `make page` runs and checks it first.
"""

from __future__ import annotations

import shutil
import sys
from functools import partial

from jupyter_book import sphinx

from tools.finishing.pages import BUILD, NEW
from tools.sources.errors import MystError, plainly

STAGED = BUILD / "site"


def build(page: str, profile: str = "cpu") -> None:
    """Write the page of a notebook, with the labels and numbers of the last build of the book.

    Raises:
        MystError: there is none.
        SystemExit: Sphinx warns of something, such as a label that is nowhere.
    """
    from jupyter_book.cli.main import main

    if not (STAGED / "_build/.doctrees").exists():
        raise MystError("the book has not been built yet: run `make book` first")
    source = STAGED / f"{page}.ipynb"
    shutil.copy(BUILD / "executed" / profile / f"{page}.ipynb", source)
    # Its command builds all that is not up to date, and has no option for one page.
    sphinx.build_sphinx = partial(sphinx.build_sphinx, filenames=[str(source.absolute())])
    options = ["-W", "-n", "--keep-going", "-qq"]
    main(["build", str(STAGED), *options], standalone_mode=False)
    print(f"The page is {NEW / page}.html")


if __name__ == "__main__":
    with plainly():
        build(*sys.argv[1:])
