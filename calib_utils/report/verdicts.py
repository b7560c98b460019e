"""Does a grid of experiments bear out what was claimed about it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from calib_utils.records import ExperimentRecord, by_level
from calib_utils.records.names import factor_name, level_name, network_name
from calib_utils.report.comparison import Difference, compare
from calib_utils.report.tables import Markdown, signed, table

__all__ = ["ClaimedDifference", "Verdicts", "judge"]

_METRICS = {"error": "test error", "ece": "ECE"}


class ClaimedDifference(NamedTuple):
    """What was claimed about two levels of a factor, and what runs showed.

    Attributes:
        change: between the two, such as "layers: 8 to 56".
        metric: "ece" or "error".
        claimed: "higher" or "lower": what becomes of the metric.
        difference: of the second level's runs from the first's.

    Example:
        >>> difference = Difference(0.05, seeds=(0.01, 0.09), images=(0.04, 0.06))
        >>> ClaimedDifference("layers: 8 to 56", "ece", "higher", difference).difference.verdict
        'higher'
    """

    change: str
    metric: str
    claimed: str
    difference: Difference


class Verdicts(tuple[ClaimedDifference, ...]):
    """Claims that were put to the test. It shows itself as a table, and ``+`` joins two.

    Example:
        >>> found = Difference(0.05, seeds=(0.01, 0.09), images=(0.04, 0.06))
        >>> claimed = ClaimedDifference("layers: 8 to 56", "ece", "higher", found)
        >>> Verdicts([claimed]).outcomes
        ['holds']
    """

    __slots__ = ()

    @property
    def outcomes(self) -> list[str]:
        """For each claim "holds", "does not hold", or "undecided"."""
        return [
            found if found == "undecided" else "holds" if found == claimed else "does not hold"
            for found, claimed in ((one.difference.verdict, one.claimed) for one in self)
        ]

    @property
    def table(self) -> Markdown:
        """A row for each claim, with the differences and their intervals in points."""
        rows = []
        for one, outcome in zip(self, self.outcomes, strict=True):
            seeds, images = (
                f"{signed(100 * low)} to {signed(100 * high)}"
                for low, high in (one.difference.seeds, one.difference.images)
            )
            mean = signed(100 * one.difference.mean)
            metric = _METRICS[one.metric]
            rows.append([one.change, metric, one.claimed, mean, seeds, images, outcome])
        head = ["change", "metric", "claimed", "found, points", "other seeds", "other images"]
        return table([*head, "the claim"], rows)

    def _repr_markdown_(self) -> str:
        return str(self.table)

    def __repr__(self) -> str:
        return str(self.table)

    def __add__(self, other: Iterable[ClaimedDifference]) -> Verdicts:  # type: ignore[override]
        return Verdicts((*self, *other))


def judge(
    records: Iterable[ExperimentRecord],
    low: Any,
    high: Any,
    claims: Mapping[str, str],
    *,
    network: str | None = None,
) -> Verdicts:
    """Put claims about two levels of a factor to the test.

    Args:
        records: of one grid and protocol.
        low: the level that is compared with.
        high: the level of which the claims speak.
        claims: "higher" or "lower" for each metric, "error" and "ece".
        network: which one, such as "convnet"; not needed if the grid has one only.

    Raises:
        ValueError: if there is no such network, level or metric or no run, a claim is another
            word, or the runs have not all one protocol.

    Example:
        >>> from calib_utils.records import load_grid
        >>> claims = {"error": "lower", "ece": "higher"}
        >>> verdicts = judge(load_grid("depth", "cpu"), low=8, high=56, claims=claims)
        >>> [(one.change, one.metric) for one in verdicts]
        [('layers: 8 to 56', 'error'), ('layers: 8 to 56', 'ece')]
    """
    records = list(records)
    groups = by_level(records)
    networks = list(dict.fromkeys(name for name, _ in groups))
    if network is None and len(networks) == 1:
        network = networks[0]
    if network not in networks:
        raise ValueError(f"network: expected one of {', '.join(networks)}, found {network!r}")
    for name, level in (("low", low), ("high", high)):
        if (network, level) not in groups:
            known = ", ".join(str(value) for net, value in groups if net == network)
            raise ValueError(f"{name}: expected one of the levels {known}, found {level!r}")
    for metric, claimed in claims.items():
        if claimed not in ("higher", "lower"):
            raise ValueError(
                f"claims: expected 'higher' or 'lower' for {metric!r}, found {claimed!r}"
            )
    change = f"{factor_name(records[0].factor)}: {level_name(low)} to {level_name(high)}"
    if len(networks) > 1:
        change = f"{network_name(network)}, {change}"
    first, second = groups[network, low], groups[network, high]
    return Verdicts(
        ClaimedDifference(change, metric, claimed, compare(first, second, metric))
        for metric, claimed in claims.items()
    )
