"""The report in plain text, for a terminal."""

from __future__ import annotations

from calib_utils.audit.findings import Findings
from calib_utils.audit.table_rows import (
    MOST_PARTS,
    class_note,
    cost_lines,
    measure_rows,
    part_rows,
    recalibrator_rows,
    recalibrator_sentence,
    span_rows,
    titled_parts,
)

__all__ = ["as_text"]


def as_text(report: Findings) -> str:
    """All findings, with a line for each row of a table."""
    lines = [report.verdict.sentence, "", "Read", *(f"  {line}" for line in report.read), ""]
    lines += ["Measures"]
    lines += [f"  {name:<34} {value:>18}  {note}" for name, value, note in measure_rows(report)]
    lines += ["", "Recalibrators", f"  {recalibrator_sentence(report)}"]
    lines += [f"  {one.name:<40} NLL {one.nll:>9}  {one.gain}" for one in recalibrator_rows(report)]
    for table in titled_parts(report):
        lines += ["", table.title]
        for part in part_rows(table):
            lines.append(
                f"  {part.name:<24} {part.n:>10}  {part.predicted:>7} predicted, "
                f"{part.happened:>7} happened, {part.gap} points: {part.verdict}"
                + (f"; {part.after} after recalibration" if part.after else "")
                + (f"; {part.own} with a map for each group" if part.own else "")
            )
        if len(table.parts) > MOST_PARTS:
            lines.append(f"  and {len(table.parts) - MOST_PARTS:,} more")
    lines += [f"  {class_note(report)}"] if report.classes and class_note(report) else []
    if report.times:
        lines += ["", f"By {report.columns.time!r}"]
        for span in span_rows(report.times):
            lines.append(
                f"  {span.name:<20} {span.n:>10}  {span.expected:>7} expected, "
                f"{span.happened:>7} happened, z {span.z:>6}: {span.state}"
            )
    if report.costs is not None:
        lines += ["", "Cost", *(f"  {line}" for line in cost_lines(report))]
    return "\n".join(lines) + "\n"
