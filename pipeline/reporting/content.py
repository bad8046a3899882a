"""What the page shows of one study, as plain records for the template."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from pipeline.reporting import endings, grid_tables, runs
from pipeline.reporting.beliefs import BeliefTable, beliefs
from pipeline.reporting.drawn import Drawn
from pipeline.reporting.findings import Extreme, extremes, ranked
from pipeline.reporting.formatting import percent
from pipeline.reporting.methods import paragraphs
from pipeline.reporting.promises import promises
from pipeline.reporting.section import Facts, PastSession, Section
from pipeline.reporting.verdict_rows import VerdictRow
from pipeline.reporting.verdict_words import tally

if TYPE_CHECKING:
    from markupsafe import Markup
    from pandas import DataFrame


@dataclass(frozen=True)
class ShownFigure:
    """A figure on the page. stem: of its files. aspect: width over height, as CSS has it.

    points: places in percent from the left and from the top, with their values in words.
    """

    stem: str
    title: str
    caption: str
    svg: "Markup"
    aspect: str
    points: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Counts:
    """Replications of a study: how many were run, failed, did not converge, are not finite."""

    run: int
    failed: int
    not_converged: int
    not_finite: int

    @classmethod
    def of(cls, summary: xr.Dataset) -> "Counts":
        """Over all cells."""
        names = ("n_run", "n_failed", "n_not_converged", "n_not_finite")
        return cls(*(int(summary[name].sum()) for name in names))

    @property
    def lost(self) -> int:
        """Whether, and about how many, values are missing."""
        return self.failed + self.not_converged + self.not_finite


@dataclass(frozen=True)
class ShownSection:
    """One study on the page. id: for links. paper: whose claims are judged.

    grid, levels, means, beliefs: tables. missing: what missing values could change. extremes: where no claim
    is judged. cells: that were run; most_run: replications of a cell, at most. confidence: of the
    intervals. targets, stopped, ends, unfinished: what ended the cells. mixed: reasons.
    results: where every replication is.
    """

    id: str
    name: str
    title: str
    question: str
    paper: str
    facts: Facts
    figures: Sequence[ShownFigure]
    verdicts: Sequence[VerdictRow]
    tally: Mapping[str, int]
    counts: Counts
    cells: int
    most_run: int
    confidence: str
    grid: Sequence[grid_tables.ParameterRow]
    levels: Sequence[grid_tables.LevelsTable]
    means: grid_tables.MeansTable
    missing: Sequence[grid_tables.MissingEffect]
    beliefs: Sequence[BeliefTable]
    extremes: Sequence[Extreme]
    targets: endings.Targets | None
    stopped: str
    ends: Sequence[endings.CellsEnded]
    unfinished: endings.Unfinished | None
    methods: Sequence[tuple[str, str]]
    budgets: runs.Budgets | None
    per_answer: Sequence[str]
    sessions: Sequence[PastSession]
    versions: Sequence[runs.Versions]
    mixed: Sequence[str]
    results: str


def slug(name: str) -> str:
    """A name that is safe in a file name and in an id."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "section"


def study(
    section: Section,
    folder: Path,
    figures: Sequence[ShownFigure],
    verdicts: Sequence[VerdictRow],
    table: "DataFrame",
) -> ShownSection:
    """What the page shows of a section. folder: of the page. table: see `tables.summary_table`."""
    summary = section.summary
    facts = section.facts
    return ShownSection(
        id=slug(section.name),
        name=section.name,
        title=section.title or section.name,
        question=section.question,
        paper=section.paper if section.verdicts else "",
        facts=facts,
        figures=figures,
        verdicts=ranked(verdicts),
        tally=tally(verdicts),
        counts=Counts.of(summary),
        cells=int((summary["n_run"] > 0).sum()),
        most_run=int(summary["n_run"].max()),
        confidence=percent(summary.attrs["confidence"]),
        grid=grid_tables.grid(summary),
        levels=grid_tables.named_levels(summary),
        means=grid_tables.means(summary, table),
        missing=grid_tables.missing_effects(summary),
        beliefs=[*beliefs(summary, facts)],
        extremes=[*promises(summary, facts)] or [*extremes(summary)],
        targets=endings.targets(summary),
        stopped=endings.what_stopped(summary, section.verdicts, bool(facts.missing)),
        ends=endings.cells_ended(facts),
        unfinished=endings.unfinished(summary, facts),
        methods=[*paragraphs(section, facts)],
        budgets=runs.budgets(facts.privacy),
        per_answer=runs.per_answer(facts.privacy),
        sessions=facts.sessions,
        versions=runs.versions(summary, facts.sessions),
        mixed=runs.mixed(summary),
        results=runs.results_of(facts, folder),
    )


def figure(
    drawn: Drawn, stem: str, folder: Path, number: int, glyphs: dict[str, str]
) -> ShownFigure:
    """Write the files of a figure; what the page shows of it. number: on the page.

    glyphs: see `inline`.
    """
    from markupsafe import Markup

    from pipeline.reporting.inline import inline

    for ending, content in drawn.files.items():
        (folder / f"{stem}.{ending}").write_bytes(content)
    # Markup: an SVG that Matplotlib wrote, in which all text is drawn as outlines
    svg = Markup(inline(drawn.files["svg"], f"f{number}", drawn.description, glyphs))
    points = [(f"{100 * x:.2f}", f"{100 * y:.2f}", text) for x, y, text in drawn.points]
    aspect = f"{drawn.aspect:.3f}"
    return ShownFigure(stem, drawn.title, drawn.caption, svg, aspect, points)
