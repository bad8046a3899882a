"""The report: one self-contained page with figures, verdicts and all that is needed to check or repeat it."""

import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr
from dask.utils import format_time

from pipeline.analysis.claims import CONFIDENCE
from pipeline.reporting import tables
from pipeline.reporting.drawn import Drawn
from pipeline.reporting.formatting import count, findings, minus, number, percent, symbol
from pipeline.study.files import PARTIAL, write_whole

if TYPE_CHECKING:
    from pandas import DataFrame

SYMBOLS = {"supported": "✓", "not refuted": "≈", "contradicted": "✗", "inconclusive": "?", "not tested": "–"}
WORST_FIRST = ("contradicted", "inconclusive", "not tested", "not refuted", "supported")
Rows = Sequence[Mapping[str, Any]]
FACTS = ("seed", "units", "config", "folder", "failures", "source", "missing")
MOST_ROWS, MOST_FAILURES = 60, 20  # shown on the page; the files have all


@dataclass(frozen=True)
class Section:
    """One study on the page.

    summary: of its results, as `pipeline.analysis.summary.summarise` gives it. figures: drawn. verdicts: what
    `pipeline.analysis.claims.judge` gives. facts, all
    optional: seed, block, cells, units, replications, key, folder, config (YAML
    text), command, sessions, failures (unit, error, replay), source (of the data, a sentence), privacy (mechanism,
    unit, neighbours, budget, and spent: whose budget it is -> least and greatest, nats).
    """

    name: str
    title: str
    question: str
    summary: xr.Dataset
    figures: Sequence[Drawn] = ()
    verdicts: Sequence[Any] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


def write(folder: Path, title: str, sections: Sequence[Section], facts: Mapping[str, Any]) -> Path:
    """Write `report.html`, `summary.csv`, `verdicts.csv` and `figures/` into the folder; returns the page.

    facts: `command`, the one that repeats all. Each file appears whole or not at all, the page last.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    shown, summaries, judged, number_of = [], [], [], itertools.count(1)
    with _replaced(folder / "figures") as figures:
        for section in sections:
            summary = section.summary
            table = tables.summary_table(section.name, summary)
            rows = tables.verdicts(section.name, section.verdicts)
            drawn = [*_figures(section, figures, number_of)]
            summaries.append(table)
            judged += rows
            shown.append({**_section(section, summary, table), **_run(section, folder), "figures": drawn,
                          "verdicts": rows, "tally": _tally(rows)})
    summary_text = tables.union(summaries).to_csv(index=False) if summaries else "section\n"
    write_whole(folder / "summary.csv", summary_text.encode())
    write_whole(folder / "verdicts.csv", tables.verdict_table(judged).to_csv(index=False).encode())
    page = _environment().get_template("page.html.j2").render(
        title=title, sections=shown, command=facts.get("command"), answer=_answer(shown, judged), symbols=SYMBOLS,
        claimed_at=percent(CONFIDENCE), mechanisms=_mechanisms(sections), versions=_versions(shown),
        most_rows=MOST_ROWS, most_failures=MOST_FAILURES)
    report = folder / "report.html"
    write_whole(report, page.encode())
    return report


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipeline.reporting", "."), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {f.__name__: f for f in (format_time, number, symbol, count, minus, findings)}
    return environment


@contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """A new folder that replaces the old one when all is in it."""
    partial = folder.with_name(f"{folder.name}.{os.getpid()}{PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def slug(name: str) -> str:
    """A name that is safe in a file name and in an id."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "section"


def _figures(section: Section, folder: Path, number_of: Iterator[int]) -> Iterator[dict[str, Any]]:
    """Write the files of a section's figures; what the page shows of each."""
    from markupsafe import Markup

    from pipeline.reporting import style

    for i, drawn in enumerate(section.figures, 1):
        stem = f"{slug(section.name)}-{i}-{drawn.kind}"
        for ending, content in drawn.files.items():
            (folder / f"{stem}.{ending}").write_bytes(content)
        # Markup: an SVG that Matplotlib wrote, in which all text is drawn as outlines
        yield {"stem": stem, "title": drawn.title, "caption": drawn.caption, "endings": [*drawn.files],
               "svg": Markup(style.inline(drawn.files["svg"], f"f{next(number_of)}", drawn.description))}


def _section(section: Section, summary: xr.Dataset, table: "DataFrame") -> dict[str, Any]:
    """Names and numbers of a section."""
    names = [*map(str, summary["n_run"].dims)]
    lines = [
        [*(number(line[name]) for name in names), symbol(line["metric"]), number(line["mean"], 4),
         f"[{number(line['low'], 4)}, {number(line['high'], 4)}]", _unit(line["unit"]), number(line["values"])]
        for line in table.head(MOST_ROWS).to_dict("records")]
    return {
        "id": slug(section.name), "name": section.name, "title": section.title or section.name,
        "question": section.question, "grid": tables.grid(summary), "levels": tables.named_levels(summary),
        "missing": tables.missing_effects(summary),
        "mixed": _mixed(section.summary),
        "counts": {name: int(summary[name].sum()) for name in tables.COUNTS},
        "cells": int((summary["n_run"] > 0).sum()), "most_run": int(summary["n_run"].max()),
        "confidence": percent(summary.attrs["confidence"]), "head": [*map(symbol, names)],
        "rows": lines, "row_count": len(table),
    }


def _run(section: Section, folder: Path) -> dict[str, Any]:
    """How a section was made: facts, sessions, versions, budgets. folder: of the page, from which results are named."""
    sessions = section.facts.get("sessions", ())
    return {
        "facts": {**dict.fromkeys(FACTS), **section.facts}, "sessions": [_session(one) for one in sessions],
        "versions": tables.versions(section.summary, sessions), "budgets": _budgets(section.facts.get("privacy", ())),
        "results": _relative(section.facts.get("folder") or ".", folder) + "/results.zarr",
    }


def _relative(results: str, folder: Path) -> str:
    """A folder relative to another, so that a page does not name the disk it was written on; a URL as it is."""
    return results if "://" in results else os.path.relpath(results, folder)


def _mixed(data: xr.Dataset) -> list[str]:
    """Why numbers of code or arithmetic that do not agree are together in a dataset; empty if all agree."""
    return [one["accepted"] for one in json.loads(data.attrs.get("writers", "[]")) if one["accepted"]]


def _tally(rows: Rows) -> dict[str, int]:
    return {word: sum(row["verdict"] == word for row in rows) for word in SYMBOLS}


def _budgets(privacy: Rows) -> dict[str, list[Any]] | None:
    """Columns and rows of the table of budgets; None if no mechanism says what it spends."""
    kinds = list(dict.fromkeys(what for one in privacy for what in one.get("spent", ())))
    rows = [[symbol(one["mechanism"]), *(_ends(*one["spent"][what]) if what in one["spent"] else "–" for what in kinds)]
            for one in privacy if one.get("spent")]
    remarks = [f"{symbol(one['mechanism'])}, {count(len(all_of), 'cell')}: {all_of[0]}"
               f"{'; and so on' * (len({*all_of}) > 1)}" for one in privacy if (all_of := one.get("remarks"))]
    return {"of": kinds, "rows": rows, "remarks": remarks} if rows else None


def _ends(least: float, most: float) -> str:
    return " to ".join(dict.fromkeys(number(end, 3) for end in (least, most)))


def _mechanisms(sections: Sequence[Section]) -> list[dict[str, str]]:
    """Privacy statements, each once."""
    statements = [{name: one[name] for name in ("mechanism", "unit", "neighbours", "budget")}
                  for section in sections for one in section.facts.get("privacy", ())]
    return [one for i, one in enumerate(statements) if one not in statements[:i]]


def _versions(shown: Rows) -> list[dict[str, Any]]:
    """Versions that took part, each set once with the sections that it made."""
    made: dict[str, list[str]] = {}
    for section in shown:
        for version in section["versions"]:
            text = ", ".join(f"{package} {number}" for package, number in version.items())
            made.setdefault(text, []).append(section["name"])
    return [{"text": text, "sections": names} for text, names in made.items()]


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit


def _session(session: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {name: session.get(name) or 0 for name in ("seconds", "units", "workers", "lost")}
    state = session.get("state") or ("stopped" if session.get("interrupted") else "finished")
    return {"started": session.get("started", "–"), "state": state, **numbers,
            "host": session.get("machine") or session.get("host") or "–"}


def _answer(sections: Rows, judged: Rows) -> dict[str, Any]:
    """Headline numbers."""
    sessions = [s for section in sections for s in section["sessions"]]
    decided = [row for row in judged if row["verdict"] not in ("inconclusive", "not tested")]
    return {
        "claims": len(judged),
        "verdicts": _tally(judged),
        "ranked": sorted(judged, key=lambda row: WORST_FIRST.index(row["verdict"])),
        "contradicted": [r["id"] for r in judged if r["verdict"] == "contradicted"],
        "controls": len(decided), "sound": sum(row["control_sound"] for row in decided),
        "replications": sum(s["counts"]["n_run"] for s in sections),
        "cells": sum(s["cells"] for s in sections),
        "failed": sum(s["counts"]["n_failed"] for s in sections),
        "not_converged": sum(s["counts"]["n_not_converged"] for s in sections),
        "seconds": sum(s["seconds"] for s in sessions), "sessions": len(sessions),
        "workers": max((s["workers"] for s in sessions), default=0),
        "interrupted": sum(s["state"] != "finished" for s in sessions),
    }
