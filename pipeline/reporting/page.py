"""The report: one self-contained page with findings, figures, verdicts and all that is needed to
check or repeat it.
"""

import base64
import hashlib
import itertools
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xarray as xr
from dask.utils import format_bytes, format_time

from pipeline.analysis.claims import CONFIDENCE
from pipeline.reporting import archive, content, tables
from pipeline.reporting.drawn import Drawn
from pipeline.reporting.formatting import count, findings, minus, number, percent, symbol
from pipeline.reporting.headline import SYMBOLS, headline, predicate
from pipeline.reporting.inline import definitions
from pipeline.study.files import PARTIAL, write_whole
from pipeline.study.texts import visible

ABOUT = ("command", "version", "commit", "bibtex")
MOST_FAILURES = 20  # shown on the page


@dataclass(frozen=True)
class Section:
    """One study on the page.

    summary: of its results, as `pipeline.analysis.summary.summarise` gives it. figures: drawn.
    verdicts: what `pipeline.analysis.claims.judge` gives. paper: whose claims these are. facts, all
    optional: seed, block, cells, units, replications, key, folder, config (YAML text), command,
    sessions, failures (unit, error, replay), source (of the data, a sentence), missing (units, of
    an interim report), experiment (command that runs it), privacy (mechanism, unit, neighbours,
    budget, and spent: whose budget it is -> least and greatest, nats), shortfalls (what did not
    converge or is not finite, by part).
    """

    name: str
    title: str
    question: str
    summary: xr.Dataset
    figures: Sequence[Drawn] = ()
    verdicts: Sequence[Any] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    paper: str = ""


def write(
    folder: Path,
    title: str,
    sections: Sequence[Section],
    facts: Mapping[str, Any],
    common: Drawn | None = None,
    turn: AbstractContextManager[object] | None = None,
) -> Path:
    """Write `report.html`, `summary.csv`, `verdicts.csv` and `figures/` into the folder.

    Returns the page.

    facts, all optional: command, the one that repeats all; version and commit of the program;
    bibtex; mistakes of papers, name of the row -> its cells; files, by name, that go into the page
    besides the tables. common: figure of all studies, which stands first. turn: entered while files
    take their place, when all of them are made; what it raises leaves the older ones there. Each
    file appears whole or not at all, the page last.
    """
    from markupsafe import Markup

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shown = []
    summaries = []
    judged = []
    numbers = itertools.count(1)
    glyphs: dict[str, str] = {}
    inside = dict(facts.get("files", {}))
    with _staged(folder / "figures") as figures:
        first = content.figure(common, common.kind, figures, 0, glyphs) if common else None
        inside |= {f"figures/{common.kind}.csv": common.files["csv"]} if common else {}
        for section in sections:
            table = tables.summary_table(section.name, section.summary)
            rows = tables.verdicts(section.name, section.verdicts)
            rows = [row | {"mistake": facts.get("mistakes", {}).get(row["row"])} for row in rows]
            drawn = [*content.figures(section, figures, numbers, glyphs)]
            summaries.append(table)
            judged += rows
            shown.append({**content.study(section, folder, table, rows), "figures": drawn})
            inside |= {
                f"figures/{one['stem']}.csv": figure.files["csv"]
                for one, figure in zip(drawn, section.figures, strict=True)
            }
        summary_content = tables.csv_of(tables.union(summaries)) if summaries else b"section\n"
        beside = {
            "summary.csv": summary_content,
            "verdicts.csv": tables.csv_of(tables.verdict_table(judged)),
        }
        inside |= beside
        href, size, left = archive.link(inside)
        page = rendered(
            "page.html.j2",
            title=title,
            sections=shown,
            symbols=SYMBOLS,
            answer=headline(shown, judged) | ({"picture": first} if first else {}),
            claimed_at=percent(CONFIDENCE),
            mechanisms=content.mechanisms(sections),
            versions=content.versions(shown),
            most_rows=content.MOST_ROWS,
            most_failures=MOST_FAILURES,
            data={"href": href, "size": size, "left": left, "files": sorted({*inside} - {*left})},
            script=script("page.js"),
            glyphs=Markup(definitions(glyphs)),
            **{name: facts.get(name) for name in ABOUT},
        )
        with turn or nullcontext():
            shutil.rmtree(folder / "figures", ignore_errors=True)
            figures.rename(folder / "figures")
            for name, text in {**beside, "report.html": page.encode()}.items():
                write_whole(folder / name, text)
    return folder / "report.html"


def script(name: str) -> dict[str, Any]:
    """A page's script, and its hash, which alone the page allows to run: nothing can be loaded or
    sent.
    """
    from markupsafe import Markup

    text = (Path(__file__).parent / name).read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return {"text": Markup(text), "hash": f"sha256-{digest}"}


def rendered(template: str, **values: Any) -> str:
    """A page, in which signs that control what shows it are visible: they may come from a person's
    data.
    """
    return visible(str(environment().get_template(template).render(**values)))


def environment() -> Any:
    """Where the templates of pages are found, and what they may call."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipeline.reporting", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        f.__name__: f
        for f in (
            count,
            findings,
            format_bytes,
            format_time,
            minus,
            number,
            percent,
            predicate,
            symbol,
        )
    }
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
