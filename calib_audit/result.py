"""The report itself, which presents the findings in words, as a page, and as numbers."""

from __future__ import annotations

from pathlib import Path

from calib_audit.findings import Findings
from calib_audit.stored import as_json
from calib_audit.table_rows import (
    measure_rows,
    part_rows,
    recalibrator_rows,
    span_rows,
    titled_parts,
)
from calib_audit.words import class_note, cost_lines, others, recalibrator_sentence
from calib_utils._files import write_text


class Report(Findings):
    """What `report` found out about a model. A notebook displays its verdict in words.

    Attributes:
        verdict: with its ``outcome``, ``sentence`` and ``exit_code``.
        measures: the measures of all rows.
        bins: the sums behind them, in bins of equal width.
        cells: the same sums in narrow cells of log-odds.
        classes: with several classes, the mean probability of each and how often it is the label.
        groups: for each column of groups, the same for the rows of each value.
        times: the spans of time, with a z for each.
        recalibrators: None if none was tried.
        costs: None without prices.
        columns: the role that each column was given.
        read: what was read, one line each.
        facts: versions, hash of the file, command.

    Example:
        >>> import numpy as np
        >>> from calib_audit import report
        >>> rng = np.random.default_rng(0)
        >>> score = rng.random(4_000)
        >>> found = report({"score": score, "label": (rng.random(4_000) < score**2).astype(int)})
        >>> found.verdict.outcome, found.verdict.exit_code
        ('beyond', 1)
    """

    def text(self) -> str:
        """The report in plain text."""
        lines = [self.verdict.sentence, "", "Read", *(f"  {line}" for line in self.read), ""]
        lines += ["Measures"]
        lines += [f"  {one.name:<34} {one.value:>18}  {one.note}" for one in measure_rows(self)]
        lines += ["", "Calibration methods", f"  {recalibrator_sentence(self)}"]
        lines += [
            f"  {one.name:<40} NLL {one.nll:>9}  {one.gain}" for one in recalibrator_rows(self)
        ]
        for table in titled_parts(self):
            lines += ["", table.title]
            for part in part_rows(table):
                lines.append(
                    f"  {part.name:<24} {part.n:>10}  {part.predicted:>7} predicted, "
                    f"{part.happened:>7} happened, {part.gap} points: {part.verdict}"
                    + (f"; {part.after} after recalibration" if part.after else "")
                    + (f"; {part.own} with a map for each group" if part.own else "")
                )
            if more := others(table.parts):
                lines.append(f"  {more}")
        lines += [f"  {class_note(self)}"] if self.classes and class_note(self) else []
        if self.times:
            lines += ["", f"By {self.columns.time!r}"]
            for span in span_rows(self.times):
                lines.append(
                    f"  {span.name:<20} {span.n:>10}  {span.expected:>7} expected, "
                    f"{span.happened:>7} happened, z {span.z:>6}: {span.state}"
                )
        if self.costs is not None:
            lines += ["", "Cost", *(f"  {line}" for line in cost_lines(self.costs))]
        return "\n".join(lines) + "\n"

    def html(self) -> str:
        """The report as one page, which loads nothing from the network.

        Raises:
            ModuleNotFoundError: if Jinja2 is not installed.
        """
        from calib_audit.page import as_page

        return as_page(self)

    def json(self) -> str:
        """All numbers, for other programs. Unknown numbers are null."""
        return as_json(self)

    def write(self, *, html: Path | str | None = None, json: Path | str | None = None) -> None:
        """Write the page, the numbers, or both; each file is written completely or not at all."""
        if html is not None:
            write_text(Path(html), self.html())
        if json is not None:
            write_text(Path(json), self.json())

    def _repr_markdown_(self) -> str:
        return f"**{self.verdict.sentence}**"

    def __repr__(self) -> str:
        return f"<Report: {self.verdict.sentence}>"
