"""Verdicts as a page and its CSV file show them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.analysis.tolerances import beside
from pipeline.reporting.formatting import interval

if TYPE_CHECKING:
    from pandas import DataFrame

    from pipeline.analysis.claims import Judgement
    from pipeline.analysis.measures import Measure

PLACE = re.compile(r"(?:Figure|Table) \d+")  # of a paper
COLUMNS = (
    "section",
    "id",
    "verdict",
    "estimate",
    "low",
    "high",
    "estimand",
    "text",
    "tolerance",
    "why",
    "statement",
    "source",
    "conditions",
    "control",
    "control_verdict",
    "control_text",
    "detected",
)


@dataclass(frozen=True)
class VerdictRow:
    """What is said of one claim.

    statement, source, conditions, estimand, tolerance, why, headline: of the claim; row: of the
    table of the papers' results; mistake: cells of that row, if the paper is mistaken. estimate,
    low, high: numbers; shown: the same in words; allowed: values that would support the claim.
    text: what was found; detected: what would have been found. computed: where the code is.
    cells: label, interval and verdict of the cells that decide it.
    """

    section: str
    id: str
    verdict: str
    statement: str
    source: str
    conditions: str
    estimand: str
    estimate: float | None
    low: float | None
    high: float | None
    shown: str
    text: str
    control: str
    control_verdict: str
    control_text: str
    control_sound: bool
    detected: str
    tolerance: str
    why: str
    row: str
    mistake: Sequence[str] | None
    headline: bool
    allowed: str
    computed: str
    cells: Sequence[tuple[str, str, str]]

    @property
    def place(self) -> str:
        """Figures and tables of the paper that the claim is about; empty without one."""
        return ", ".join(dict.fromkeys(PLACE.findall(self.source)))


def verdict_row(
    section: str, judgement: "Judgement", mistake: Sequence[str] | None = None
) -> VerdictRow:
    """What the page says of one claim of a section."""
    claim = judgement.claim
    check = judgement.check
    estimate = check.estimate
    return VerdictRow(
        section=section,
        id=claim.id,
        verdict=judgement.verdict,
        statement=claim.statement,
        source=claim.source,
        conditions=claim.conditions,
        estimand=claim.estimand,
        estimate=None if estimate is None else estimate.value,
        low=None if estimate is None else estimate.low,
        high=None if estimate is None else estimate.high,
        shown="" if estimate is None else interval(estimate),
        text=judgement.text,
        control=claim.control_of(check.verdict).description,
        control_verdict=judgement.control.verdict,
        control_text=judgement.control.text,
        control_sound=judgement.sound,
        detected=check.detected,
        tolerance=claim.claimed,
        why=claim.why,
        row=claim.row,
        mistake=mistake,
        headline=claim.headline,
        allowed="" if check.tolerance is None else beside(check.tolerance),
        computed=_where(claim.measure),
        cells=[(label, interval(cell), verdict) for label, cell, verdict in check.cells],
    )


def _where(measure: "Measure") -> str:
    """Module and line of the code that measures a claim."""
    compute = measure.compute
    if not hasattr(compute, "__code__"):
        return ""
    return f"{compute.__module__}, line {compute.__code__.co_firstlineno}"


def verdict_table(rows: Sequence[VerdictRow]) -> "DataFrame":
    """The verdicts as a data frame, without what is only for show."""
    import pandas

    return pandas.DataFrame([vars(row) for row in rows], columns=[*COLUMNS])
