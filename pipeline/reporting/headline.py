"""The first screen of a report: the findings with their numbers, made from the verdicts, and what
they rest on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.analysis.claims import CONTRADICTED, INCONCLUSIVE, NOT_TESTED
from pipeline.reporting.content import ShownFigure, ShownSection
from pipeline.reporting.findings import MOST_WRONG, Extreme, findings
from pipeline.reporting.grid_tables import notation
from pipeline.reporting.section import PastSession
from pipeline.reporting.verdict_rows import VerdictRow
from pipeline.reporting.verdict_words import tally
from pipeline.study.problem import is_of_a_paper

MOST_EXTREMES = 3


@dataclass(frozen=True)
class FirstScreen:
    """What stands above the contents.

    claims: how many were judged; verdicts: how many have each verdict; more_wrong: contradicted
    claims that are not among the findings. controls: claims that were decided, whose controls were
    checked; unsound: ids of those whose check is too weak. picture: the first figure.
    replications, cells, failed, not_converged, not_finite: of all sections. seconds, workers,
    interrupted: of their sessions. missing: sections of which units are missing; coarse: those
    that missed their targets of precision. notation: what symbols mean, on a line.
    """

    claims: int
    verdicts: dict[str, int]
    findings: Sequence[VerdictRow]
    extremes: Sequence[Extreme]
    more_wrong: int
    papers: Sequence[str]
    picture: ShownFigure | None
    controls: int
    unsound: Sequence[str]
    replications: int
    cells: int
    failed: int
    not_converged: int
    not_finite: int
    seconds: float
    workers: int
    interrupted: int
    missing: Sequence[ShownSection]
    coarse: Sequence[ShownSection]
    notation: str


def first_screen(
    sections: Sequence[ShownSection],
    judged: Sequence[VerdictRow],
    picture: ShownFigure | None = None,
) -> FirstScreen:
    """Findings, verdicts, and what was simulated. picture: of all sections, if there is one."""
    sessions: list[PastSession] = []
    for section in sections:
        sessions += section.sessions
    decided = [row for row in judged if row.verdict not in (INCONCLUSIVE, NOT_TESTED)]
    papers = {section.name: section.paper for section in sections if section.paper}
    chosen = findings(judged, papers)
    counts = [section.counts for section in sections]
    verdicts = tally(judged)
    return FirstScreen(
        claims=len(judged),
        verdicts=verdicts,
        findings=chosen,
        extremes=[] if judged else _extremes(sections),
        more_wrong=verdicts[CONTRADICTED] - MOST_WRONG,
        papers=list(dict.fromkeys(filter(None, map(_paper, sections)))),
        picture=picture or _picture(sections, chosen),
        controls=len(decided),
        unsound=[row.id for row in decided if not row.control_sound],
        replications=sum(count.run for count in counts),
        cells=sum(section.cells for section in sections),
        failed=sum(count.failed for count in counts),
        not_converged=sum(count.not_converged for count in counts),
        not_finite=sum(count.not_finite for count in counts),
        seconds=sum(session.seconds for session in sessions),
        workers=max((session.workers for session in sessions), default=0),
        interrupted=sum(session.state != "finished" for session in sessions),
        missing=[section for section in sections if section.facts.missing],
        coarse=[section for section in sections if _is_coarse(section)],
        notation=notation([section.grid for section in sections]),
    )


def _paper(section: ShownSection) -> str:
    """The paper whose claims a section judges; nothing where they are of none."""
    return section.paper if is_of_a_paper(section.name) else ""


def _extremes(sections: Sequence[ShownSection]) -> list[Extreme]:
    """The first of all sections."""
    every: list[Extreme] = []
    for section in sections:
        every += section.extremes
    return every[:MOST_EXTREMES]


def _picture(sections: Sequence[ShownSection], chosen: Sequence[VerdictRow]) -> ShownFigure | None:
    """The first figure that shows a value: of the section of the first finding, else of any."""
    pictures: list[ShownFigure] = []
    for section in sections:
        if chosen and section.name == chosen[0].section:
            pictures = [*section.figures, *pictures]
        else:
            pictures += section.figures
    for picture in pictures:
        if picture.points:
            return picture
    return pictures[0] if pictures else None


def _is_coarse(section: ShownSection) -> bool:
    """Whether some cells missed their target of precision."""
    return section.targets is not None and section.targets.met < section.targets.groups
