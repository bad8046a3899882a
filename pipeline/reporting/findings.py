"""What the first screen of a report shows of its claims, or of its means where none is judged."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from pipeline.analysis.claims import (
    CONTRADICTED,
    HELD,
    IDENTITY,
    INCONCLUSIVE,
    NOT_REFUTED,
    NOT_TESTED,
    SUPPORTED,
    TOO_WEAK,
)
from pipeline.reporting.formatting import (
    capitalised,
    levels,
    metric_label,
    number,
    with_interval,
)
from pipeline.reporting.tables import metrics
from pipeline.reporting.verdict_rows import VerdictRow

IN_FRONT = (CONTRADICTED, TOO_WEAK, NOT_REFUTED, INCONCLUSIVE, NOT_TESTED, SUPPORTED, IDENTITY)
MOST_WRONG = 3  # contradicted claims
MOST = 4  # findings in all


@dataclass(frozen=True)
class Extreme:
    """The least and the greatest mean of a metric. where: their cells."""

    statement: str
    shown: str
    where: str


def ranked(rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Verdicts: contradicted ones first, then those whose check is too weak, identities last."""
    return sorted(rows, key=lambda row: IN_FRONT.index(row.verdict))


def findings(
    rows: Sequence[VerdictRow], papers: Mapping[str, str] | None = None
) -> list[VerdictRow]:
    """At most four verdicts for the first screen: contradicted claims, then those that are main
    findings.

    Where none is called a main finding, all decided claims are. papers: of the sections by name;
    there is one finding of each paper before a second one of any, so a paper without a main finding
    has its decided claims.
    """
    papers = papers or {}
    wrong = [row for row in rows if row.verdict == CONTRADICTED][:MOST_WRONG]
    others = [row for row in rows if row.shown and row.verdict != CONTRADICTED]
    decided = [row for row in others if row.verdict in HELD and row.verdict != IDENTITY]
    main = [row for row in others if row.headline] or decided
    several = len(set(papers.values()))
    if several > 1:
        main = _by_turns(main, decided, papers)
    most = min(max(3, several), MOST - len(wrong))
    return [*wrong, *main[:most]]


def _by_turns(
    main: Sequence[VerdictRow], decided: Sequence[VerdictRow], papers: Mapping[str, str]
) -> list[VerdictRow]:
    """One finding of each paper, then a second one of each, and so on."""
    with_finding = {papers.get(row.section, "") for row in main}
    without = [row for row in decided if papers.get(row.section, "") not in with_finding]
    before: Counter[str] = Counter()
    turns = []
    rows = [*main, *without]
    for row in rows:
        paper = papers.get(row.section, "")
        turns.append(before[paper])
        before[paper] += 1
    order = sorted(range(len(rows)), key=turns.__getitem__)
    return [rows[k] for k in order]


def extremes(summary: xr.Dataset) -> Iterator[Extreme]:
    """Where no claim is judged: for the first two metrics, the least and the greatest mean, with
    their cells.
    """
    for name in metrics(summary)[:2]:
        mean = summary[name]
        if not bool(np.isfinite(mean).any()):
            continue
        statement = capitalised(metric_label(mean, name))
        least, at_least = _cell(summary, name, int(np.nanargmin(mean.values)))
        greatest, at_greatest = _cell(summary, name, int(np.nanargmax(mean.values)))
        if (least, at_least) == (greatest, at_greatest):
            yield Extreme(statement, least, at_least)
        else:
            where = f"the least at {at_least}; the greatest at {at_greatest}"
            yield Extreme(statement, f"{least} to {greatest}", where)


def _cell(summary: xr.Dataset, name: str, position: int) -> tuple[str, str]:
    """The mean of a cell with its interval, and the labels of the axes that vary."""
    axes = summary[name].dims
    places = np.unravel_index(position, summary[name].shape)
    cell = summary.isel(dict(zip(axes, map(int, places), strict=True)))
    varying = {str(axis): cell[axis].item() for axis in axes if summary.sizes[axis] > 1}
    mean = cell[name].item()
    low = cell[f"{name}_low"].item()
    high = cell[f"{name}_high"].item()
    if np.isfinite(high - low):
        return with_interval(mean, low, high), levels(varying)
    return f"{number(mean, 3)}, without an interval", levels(varying)
