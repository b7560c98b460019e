"""Notebooks of the sheets, with the values of each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from classroom import ClassroomError
from classroom.notebooks import notebook, rendered, with_values
from classroom.release import all_text
from classroom.variants import SHEETS, Code, variant_of

SECRET = b"for the tests"


def test_rendered_and_with_values_fill_in_all_values() -> None:
    assert rendered("{{ a }} of {{ b }}", {"a": "1", "b": "{{ a }}"}) == "1 of {{ a }}"
    with pytest.raises(ClassroomError, match="no value c"):
        rendered("{{ c }}", {"a": "1"})
    assert with_values('a = 1\nb = "x"', {"a": 2, "b": "y", "c": 3}) == 'a = 2\nb = "y"'
    with pytest.raises(ClassroomError, match="no value for b"):
        with_values("a = 1\nb = 2", {"a": 1})
    example = "x = 1\nexpected_x = [\n    1,\n    2,\n]\nprint(x)"
    values = {"expected_x": [0.1 + 0.2, math.nan, None]}
    written = "x = 1\nexpected_x = [0.3, np.nan, None]\nprint(x)"
    assert with_values(example, values, ("expected_",)) == written
    long = with_values("given_y = 1", {"given_y": np.full((3, 3), 1 / 3)})
    assert max(map(len, long.splitlines())) <= 70
    names: dict[str, object] = {"np": np}
    exec(long, names)
    np.testing.assert_allclose(names["given_y"], 1 / 3, atol=1e-6)
    assert with_values("given_k = 1", {"given_k": Code("kinds + 1")}) == "given_k = kinds + 1"


def test_notebook_of_each_sheet_has_its_own_values() -> None:
    texts = set()
    for sheet in SHEETS:
        variant = variant_of("measuring", SECRET, sheet)
        text = all_text(notebook("measuring", SECRET, sheet))
        assert f"n_bins = {variant['n_bins']}\n" in text
        assert f"**at least {variant['min_size']} rows**" in text
        texts.add(text)
    assert len(texts) == len(SHEETS)
