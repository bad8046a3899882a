"""What ended the work on the cells of a study: targets of precision, or decided claims."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from pipeline.analysis.claims import INCONCLUSIVE
from pipeline.analysis.looks import UNTIL
from pipeline.reporting.formatting import count, levels, number, symbol
from pipeline.reporting.section import Facts

if TYPE_CHECKING:
    from pipeline.analysis.claims import Judgement


@dataclass(frozen=True)
class Targets:
    """Targets of precision, and where they were not reached.

    targets: in words. groups: of cells that share their data; met: those that reached the targets.
    cap: replications of a cell at most. stopped: cells that ended earlier; ends: after how many
    replications, at least and at most. above: cells of groups above a target, and how many times.
    """

    targets: Sequence[str]
    groups: int
    met: int
    cap: int
    stopped: int
    ends: Sequence[int]
    above: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Unfinished:
    """Cells of an interim report.

    empty: without any replication; begun: with fewer than others. least, most: replications of a
    cell that has any. without: levels of which nothing is known, in words.
    """

    empty: int
    begun: int
    least: int
    most: int
    without: Sequence[str]


@dataclass(frozen=True)
class CellsEnded:
    """Cells that ended after the same number of replications. claim: the last that needed them.

    cells: how many; named: the first of them.
    """

    replications: int
    cells: int
    claim: str
    named: str


def targets(summary: xr.Dataset) -> Targets | None:
    """What precision was required, and where it was not reached.

    None where a number of replications was required.
    """
    attributes = summary.attrs
    if not attributes.get("precision"):
        return None
    run = summary["n_run"].values
    cap = int(attributes["replications"])
    stopped = run[(run > 0) & (run < cap)]
    ends = [int(stopped.min()), int(stopped.max())] if stopped.size else []
    above = []
    for labels, excess in attributes.get("above_target", ()):
        times = "unknown" if excess is None else f"{excess:.2f}"
        above.append((levels(labels), times))
    return Targets(
        targets=attributes["precision"],
        groups=attributes["groups"],
        met=attributes["groups_on_target"],
        cap=cap,
        stopped=int(stopped.size),
        ends=ends,
        above=above,
    )


def what_stopped(summary: xr.Dataset, verdicts: "Sequence[Judgement]", is_interim: bool) -> str:
    """What ended a study that stops when its claims are decided, in words; empty for others."""
    if UNTIL not in summary.attrs or is_interim:
        return ""
    most = json.loads(summary.attrs[UNTIL])["most"]
    run = int(summary.attrs["replications"])
    claims = count(len(verdicts), "claim")
    for_good = sum(judgement.check.open_for_good for judgement in verdicts)
    undecided = sum(map(_is_undecided, verdicts)) - for_good
    if undecided:
        text = (
            f"All {most:,} replications that were allowed were simulated where they were needed; "
            f"they do not decide {undecided:,} of {claims}, or its control."
        )
    else:
        text = (
            f"All claims that can be decided were decided after {run:,} of at most {most:,} "
            "replications of a cell, so no more were simulated. Work on a cell ended when all "
            "claims that use it were decided."
        )
    if for_good:
        text += (
            f" No number of replications can decide {count(for_good, 'claim')}: add levels to "
            "the grid."
        )
    return text


def _is_undecided(judgement: "Judgement") -> bool:
    """Whether a claim is open, or its check is too weak."""
    if judgement.check.verdict == INCONCLUSIVE:
        return True
    return judgement.check.estimate is not None and not judgement.sound


def cells_ended(facts: Facts) -> list[CellsEnded]:
    """Which cells ended after how many replications, and for which claim they had gone on."""
    rows = []
    for end in facts.ends:
        names = [levels(labels) for labels in end.labels]
        if end.cells > len(names):
            names.append("…")
        claim = end.claim or "none: they ended at the first look"
        rows.append(CellsEnded(end.replications, end.cells, claim, "; ".join(names)))
    return rows


def unfinished(summary: xr.Dataset, facts: Facts) -> Unfinished | None:
    """Of an interim report: how many cells have how much, and the levels of which nothing is
    known.
    """
    if not facts.missing:
        return None
    run = summary["n_run"]
    positive = run.values[run.values > 0]
    return Unfinished(
        empty=int((run == 0).sum()),
        begun=int((positive < run.values.max()).sum()),
        least=int(positive.min()) if positive.size else 0,
        most=int(run.max()),
        without=[*_levels_without(run)],
    )


def _levels_without(run: xr.DataArray) -> Iterator[str]:
    """Levels of each axis of which no cell has a replication."""
    for axis in run.dims:
        others = [name for name in run.dims if name != axis]
        is_empty = (run == 0).all(others).values
        lost = run[axis].values[is_empty].tolist()
        if lost:
            yield f"{symbol(str(axis))} = {', '.join(map(number, lost))}"
