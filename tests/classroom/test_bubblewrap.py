"""Which packages a sandbox has."""

from __future__ import annotations

import pytest

from classroom.bubblewrap import NotGraded, packages


def test_packages_are_those_that_the_course_needs_and_not_the_course_itself() -> None:
    found = set(packages())
    assert {"numpy", "scipy", "matplotlib", "sklearn"} <= found
    assert not {"calib_utils", "torch", "pytest", "jupytext", "tools"} & found


def test_packages_name_one_that_is_missing() -> None:
    with pytest.raises(NotGraded, match="no-such-package"):
        packages(("no-such-package",))
