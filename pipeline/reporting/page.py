"""The report: one self-contained page with findings, figures, verdicts and all that is needed to
check or repeat it.
"""

import base64
import functools
import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dask.utils import format_bytes, format_time

from pipeline.analysis.claims import CONFIDENCE
from pipeline.reporting import archive, content, runs, tables
from pipeline.reporting.beliefs import HEADS
from pipeline.reporting.content import ShownFigure, ShownSection
from pipeline.reporting.drawn import Drawn
from pipeline.reporting.formatting import (
    capitalised,
    check_lines,
    count,
    minus,
    number,
    percent,
    symbol,
)
from pipeline.reporting.grid_tables import MOST_ROWS
from pipeline.reporting.headline import first_screen
from pipeline.reporting.inline import definitions
from pipeline.reporting.section import Section as Section
from pipeline.reporting.verdict_rows import VerdictRow, verdict_row, verdict_table
from pipeline.reporting.verdict_words import SYMBOLS, predicate
from pipeline.study.files import PARTIAL, write_whole
from pipeline.study.texts import visible

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup
    from pandas import DataFrame

FILTERS = (
    capitalised,
    check_lines,
    count,
    format_bytes,
    format_time,
    minus,
    number,
    percent,
    predicate,
    symbol,
)
MOST_FAILURES = 20  # shown on the page
PAGE = "report.html"
FIGURES = "figures"


@dataclass(frozen=True)
class About:
    """What the page says of the program, and the files that repeating needs.

    command: the one that repeats all; version and commit of the program; bibtex: to cite it.
    mistakes: of papers, name of the row -> its cells. files: by name, that go into the page
    besides the tables.
    """

    command: str | None = None
    version: str | None = None
    commit: str | None = None
    bibtex: str | None = None
    mistakes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def write(
    folder: Path,
    title: str,
    sections: Sequence[Section],
    about: About,
    common: Drawn | None = None,
    turn: AbstractContextManager[object] | None = None,
) -> Path:
    """Write `report.html`, `summary.csv`, `verdicts.csv` and `figures/` into the folder.

    Returns the page.

    about: the program. common: figure of all studies, which stands first. turn: entered while files
    take their place, when all of them are made; what it raises leaves the older ones there. Each
    file appears whole or not at all, the page last.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _staged(folder / FIGURES) as figures:
        contents = _Contents(folder, figures, about)
        first = contents.draw_common(common) if common else None
        for section in sections:
            contents.add(section)
        beside = contents.tables()
        page = contents.page(title, first, beside)
        with turn or nullcontext():
            shutil.rmtree(folder / FIGURES, ignore_errors=True)
            figures.rename(folder / FIGURES)
            for name, content in {**beside, PAGE: page.encode()}.items():
                write_whole(folder / name, content)
    return folder / PAGE


@dataclass
class _Contents:
    """What a page shows, gathered section by section.

    folder: of the page; figures: where their files are until the page is whole. data: files inside
    the page, by name.
    """

    folder: Path
    figures: Path
    about: About
    sections: list[ShownSection] = field(default_factory=list)
    summaries: "list[DataFrame]" = field(default_factory=list)
    judged: list[VerdictRow] = field(default_factory=list)
    glyphs: dict[str, str] = field(default_factory=dict)
    data: dict[str, bytes] = field(default_factory=dict)
    drawn: int = 0  # figures of sections so far

    def draw_common(self, figure: Drawn) -> ShownFigure:
        """Take the figure of all studies."""
        self.data[f"{FIGURES}/{figure.kind}.csv"] = figure.files["csv"]
        return content.figure(figure, figure.kind, self.figures, 0, self.glyphs)

    def add(self, section: Section) -> None:
        """Take one study."""
        table = tables.summary_table(section.name, section.summary)
        figures = [self._draw(section, k) for k in range(len(section.figures))]
        rows = []
        for judgement in section.verdicts:
            mistake = self.about.mistakes.get(judgement.claim.row)
            rows.append(verdict_row(section.name, judgement, mistake))
        self.summaries.append(table)
        self.judged += rows
        self.sections.append(content.study(section, self.folder, figures, rows, table))

    def _draw(self, section: Section, k: int) -> ShownFigure:
        """Take the k-th figure of a section."""
        figure = section.figures[k]
        stem = f"{content.slug(section.name)}-{k + 1}-{figure.kind}"
        self.data[f"{FIGURES}/{stem}.csv"] = figure.files["csv"]
        self.drawn += 1
        return content.figure(figure, stem, self.figures, self.drawn, self.glyphs)

    def tables(self) -> dict[str, bytes]:
        """The tables beside the page."""
        summary = b"section\n"
        if self.summaries:
            summary = tables.csv_of(tables.union(self.summaries))
        verdicts = tables.csv_of(verdict_table(self.judged))
        return {"summary.csv": summary, "verdicts.csv": verdicts}

    def page(self, title: str, first: ShownFigure | None, beside: Mapping[str, bytes]) -> str:
        """The page, with all data inside."""
        from markupsafe import Markup

        versions = {section.name: section.versions for section in self.sections}
        return rendered(
            "page.html.j2",
            title=title,
            about=self.about,
            sections=self.sections,
            symbols=SYMBOLS,
            answer=first_screen(self.sections, self.judged, first),
            claimed_at=percent(CONFIDENCE),
            mechanisms=runs.statements(section.facts for section in self.sections),
            versions=runs.by_versions(versions),
            most_rows=MOST_ROWS,
            belief_heads=HEADS,
            most_failures=MOST_FAILURES,
            data=archive.link({**self.about.files, **self.data, **beside}),
            script=script("page.js"),
            glyphs=Markup(definitions(self.glyphs)),
        )


def with_heads(rows: "Markup", heads: Sequence[str]) -> "Markup":
    """Rows of a table whose cells know the head of their column, for pages without columns."""
    from markupsafe import Markup, escape

    parts = []
    for row in re.split(r"(?=<tr>)", str(rows)):
        names = iter(heads)

        def with_head(cell: re.Match[str], names: Iterator[str] = names) -> str:
            return f'{cell[0]} data-head="{escape(next(names))}"'

        parts.append(re.sub(r"<t[dh](?= |>)", with_head, row))
    return Markup("".join(parts))


@dataclass(frozen=True)
class Script:
    """A script of a page. hash: of its text, as a policy of the page has it."""

    text: "Markup"
    hash: str


def script(*names: str) -> Script:
    """A page's script, and its hash, which alone the page allows to run: nothing can be loaded or
    sent.

    names: of its parts, in this package.
    """
    from markupsafe import Markup

    parts = [(Path(__file__).parent / name).read_text("utf-8") for name in names]
    text = "".join(parts)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"sha256-{digest}")


def rendered(template: str, **values: object) -> str:
    """A page, in which signs that control what shows it are visible: they may come from a person's
    data.
    """
    return visible(str(environment().get_template(template).render(**values)))


@functools.cache  # which keeps the templates, whose compilation takes a third of a small report
def environment() -> "jinja2.Environment":
    """Where the templates of pages are found, and what they may call."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipeline.reporting", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (*FILTERS, with_heads):
        environment.filters[function.__name__] = function
    return environment


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A new folder, to be renamed to another when all is in it.

    Removed if it is still there at the end.
    """
    partial = folder.with_name(f"{folder.name}.{os.getpid()}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)
