"""The findings about a model, which a report then presents."""

from __future__ import annotations

from dataclasses import dataclass

from calib_audit.bin_sums import BinSums
from calib_audit.columns import Columns
from calib_audit.costs import Costs
from calib_audit.measures import Measures
from calib_audit.parts import Part, Span, Verdict
from calib_audit.recalibrators import TriedRecalibrators
from calib_utils.recalibration import Recalibrator


@dataclass(frozen=True)
class Findings:
    """The fields of a `Report`, where each of them is described.

    Tables and pages are made of these, and the report of tables and pages.
    """

    verdict: Verdict
    measures: Measures
    bins: BinSums
    cells: BinSums
    classes: list[Part]
    groups: dict[str, list[Part]]
    times: list[Span]
    recalibrators: TriedRecalibrators | None
    costs: Costs | None
    columns: Columns
    read: list[str]
    facts: dict[str, str]

    @property
    def calibrator(self) -> Recalibrator | None:
        """The calibration map that helps most, fitted; None if none clearly does.

        It is a `calib_utils.recalibration.PlattPerGroup` if one map for all rows leaves a group
        beyond the tolerance, and a map for each group lowers the NLL further.
        """
        return None if self.recalibrators is None else self.recalibrators.most_helpful
