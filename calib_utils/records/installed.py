"""Where the records of the course are: in `calib_records`, a distribution of its own."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from calib_utils import __version__

_WHEEL = f"calibration_course_records-{__version__}-py3-none-any.whl"


def folder_of(kind: str) -> Path:
    """The folder with the course's records of one kind, such as "predictions".

    Raises:
        ModuleNotFoundError: if the records are not installed.
        ImportError: if those of another version are.
    """
    try:
        import calib_records
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the records of the course are not installed: pip install {_WHEEL}, which lies "
            "beside the wheel of calib_utils, or ./calib_records in a copy of the repository",
            name="calib_records",
        ) from error
    if calib_records.__version__ != __version__:
        raise ImportError(
            f"the records of the course are of version {calib_records.__version__}, and "
            f"calib_utils is of version {__version__}: install both from one release",
            name="calib_records",
        )
    return Path(calib_records.__file__).parent / kind


def check_known(name: str, value: Any, known: Collection[Any]) -> None:
    """Raise a ValueError unless there is something stored for this value of an argument."""
    if value not in known:
        raise ValueError(f"{name}: expected one of {', '.join(map(str, known))}, found {value!r}")
