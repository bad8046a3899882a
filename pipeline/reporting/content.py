"""What the page shows of one study, as plain records for the template."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import xarray as xr

from pipeline.reporting import endings, grid_tables, runs
from pipeline.reporting.beliefs import BeliefTable, beliefs
from pipeline.reporting.drawn import NARROW, Drawn
from pipeline.reporting.findings import Extreme, extremes, ranked
from pipeline.reporting.formatting import percent
from pipeline.reporting.methods import paragraphs
from pipeline.reporting.promise_tables import PromiseTable, promise_tables
from pipeline.reporting.promises import promises
from pipeline.reporting.section import Facts, PastSession, Section
from pipeline.reporting.verdict_rows import VerdictRow
from pipeline.reporting.verdict_words import tally

if TYPE_CHECKING:
    from markupsafe import Markup
    from pandas import DataFrame


@dataclass(frozen=True)
class ShownFigure:
    """A figure on the page. stem: of its files. svg, narrow: for wide pages and for telephones.

    shape: width over height of both, as CSS has it. points: places in both, as CSS has them, with
    their values in words.
    """

    stem: str
    title: str
    caption: str
    svg: "Markup"
    narrow: "Markup"
    shape: str
    points: Sequence[tuple[str, str]]


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

    grid, levels, means, beliefs, promises: tables. missing: what missing values could change. extremes: where no claim
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
    promises: Sequence[PromiseTable]
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
        promises=promise_tables(summary, facts),
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
    narrow = Markup("")
    if drawn.narrow is not None:
        narrow = Markup(inline(drawn.files[NARROW], f"n{number}", drawn.description, glyphs))
    return ShownFigure(
        stem, drawn.title, drawn.caption, svg, narrow, _shape(drawn), [*_points(drawn)]
    )


def _shape(drawn: Drawn) -> str:
    """Width over height, wide and narrow, as CSS has it."""
    narrow = drawn.narrow.aspect if drawn.narrow else drawn.aspect
    return f"--wide: {drawn.aspect:.3f}; --narrow: {narrow:.3f}"


def _points(drawn: Drawn) -> Iterator[tuple[str, str]]:
    """Places of points as CSS has them, with their values in words."""
    for k, (x, y, text) in enumerate(drawn.points):
        place = f"--x:{100 * x:.2f}%;--y:{100 * y:.2f}%"
        if drawn.narrow is not None:
            across, down = drawn.narrow.places[k]
            place += f";--nx:{100 * across:.2f}%;--ny:{100 * down:.2f}%"
        yield place, text
