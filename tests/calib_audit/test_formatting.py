"""Text that people give, as a report writes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from calib_audit import report
from calib_audit.__main__ import main
from tests.calib_audit import DECIDED, written
from tests.calib_audit.samples import LABEL, SCORE

EVIL = "a\x1b[2Jb\u202ec\u2066\x9bd\r\ne"


@pytest.mark.parametrize("kind", ["csv", "dictionary", "parquet"])
def test_printable_leaves_no_cell_that_commands_a_terminal_or_turns_a_page(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = EVIL.replace("\r\n", " ") if kind == "csv" else EVIL
    site, answer = f"site {evil}", f"class {evil}"
    data: Any = {
        "score": SCORE,
        answer: np.where(LABEL, f"yes {EVIL}", "no"),
        site: np.array([f"ward {EVIL}", "other"])[LABEL],
    }
    if kind == "csv":
        data = written(tmp_path / "a.csv", **data)
    elif kind == "parquet":
        parquet.write_table(pa.table(data), tmp_path / "a.parquet")
        data = tmp_path / "a.parquet"
    plain = "a[2Jbcd e" if kind == "csv" else "a[2Jbcd  e"
    named = {"label": f"class {plain}", "positive": "yes a[2Jbcd  e", "group": f"site {plain}"}
    found = report(data, **named, **DECIDED)
    assert [part.name for part in found.groups[f"site {plain}"]] == ["other", "ward a[2Jbcd  e"]
    for text in (found.text(), found.html(), found.json(), repr(found)):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    if kind == "csv":
        assert main([data, "--label", f"class {plain}", "--time", f"site {plain}"]) == 2
        assert main([f"{tmp_path}/{EVIL}.csv"]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 2
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066]", err)
