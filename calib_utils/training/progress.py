"""Progress bars.

A notebook without ipywidgets gets bars of text, and tqdm warns of it as it is imported. That is
silenced here, so what imports tqdm itself, such as pooch, must come later.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from tqdm.auto import tqdm

__all__ = ["progress_bars"]


def progress_bars(shown: bool) -> Callable[..., Any]:
    """Bars of tqdm. `disable` is given only to hide one, so that TQDM_DISABLE=1 has its effect."""
    return tqdm if shown else partial(tqdm, disable=True)
