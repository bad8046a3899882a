"""The report: one self-contained page with figures, verdicts and all that is needed to check or repeat it."""

import itertools
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xarray as xr

from pipeline.claims.claim import CONFIDENCE
from pipeline.progress import duration
from pipeline.reduce.summary import summarise
from pipeline.report import tables
from pipeline.report.specs import Spec
from pipeline.report.words import count, findings, minus, number, percent, symbol

SYMBOLS = {"supported": "✓", "contradicted": "✗", "inconclusive": "?"}
WORST_FIRST = ("contradicted", "inconclusive", "supported")
FACTS = ("seed", "units", "config", "folder", "failures", "source")
MOST_ROWS, MOST_FAILURES = 60, 20  # shown on the page; the files have all


@dataclass(frozen=True)
class Section:
    """One study on the page.

    results: the sealed dataset. figures: specs. verdicts: objects with `claim`, `check` and `twin`, see
    `tables.verdicts`. facts, all optional: seed, block, cells, units, replications, key, folder, config (YAML
    text), command, sessions, failures (unit, error, replay), source (of the data, a sentence), privacy (mechanism,
    unit, neighbours, budget, and spent: what is meant -> least and greatest budget, nats).
    """

    name: str
    title: str
    question: str
    results: xr.Dataset
    figures: Sequence[Spec] = ()
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
            summary = summarise(section.results)
            table = tables.summary_table(section.name, summary)
            rows = tables.verdicts(section.name, section.verdicts)
            drawn = list(_figures(section, summary, figures, number_of))
            summaries.append(table)
            judged += rows
            shown.append(_context(section, summary, table, rows, drawn))
    _put(folder / "summary.csv", tables.union(summaries).to_csv(index=False) if summaries else "section\n")
    _put(folder / "verdicts.csv", tables.verdict_table(judged).to_csv(index=False))
    page = _environment().get_template("page.html.j2").render(
        title=title, sections=shown, command=facts.get("command"), answer=_answer(shown, judged), symbols=SYMBOLS,
        claimed_at=percent(CONFIDENCE), mechanisms=_mechanisms(sections), versions=_versions(shown),
        most_rows=MOST_ROWS, most_failures=MOST_FAILURES)
    return _put(folder / "report.html", page)


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pipeline.report", "."), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {f.__name__: f for f in (duration, number, symbol, count, minus, findings)}
    return environment


def _put(path: Path, text: str | bytes) -> Path:
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_bytes(text.encode() if isinstance(text, str) else text)
    partial.replace(path)
    return path


@contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of the old one when all is in it."""
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
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


def _figures(section: Section, summary: xr.Dataset, folder: Path, number_of: Iterator[int]) -> Iterator[dict[str, str]]:
    if not section.figures:
        return
    from markupsafe import Markup

    from pipeline.report import figures, style

    for i, spec in enumerate(section.figures, 1):
        drawing = figures.draw(spec, section.results, summary)
        stem = f"{slug(section.name)}-{i}-{drawing.kind}"
        with style.applied():
            images = style.images(drawing.figure)
        for kind, content in images.items():
            (folder / f"{stem}.{kind}").write_bytes(content)
        drawing.table.to_csv(folder / f"{stem}.csv", index=False)
        # Markup: an SVG that Matplotlib wrote, in which all text is drawn as outlines
        yield {"stem": stem, "title": drawing.title, "caption": drawing.caption,
               "svg": Markup(style.inline(images["svg"], f"f{next(number_of)}", drawing.title))}


def _context(section: Section, summary: xr.Dataset, table: Any, rows: list, drawn: list) -> dict[str, Any]:
    sessions = section.facts.get("sessions", ())
    names = list(summary["n_run"].dims)
    lines = [
        [*(number(line[a]) for a in names), symbol(line["metric"]), number(line["mean"], 4),
         f"[{number(line['low'], 4)}, {number(line['high'], 4)}]", _unit(line["unit"]), number(line["values"])]
        for line in table.head(MOST_ROWS).to_dict("records")]
    return {
        "id": slug(section.name), "name": section.name, "title": section.title or section.name,
        "question": section.question, "figures": drawn, "facts": dict.fromkeys(FACTS) | section.facts,
        "sessions": [_session(s) for s in sessions], "versions": tables.versions(section.results, sessions),
        "verdicts": rows, "tally": _tally(rows), "budgets": _budgets(section.facts.get("privacy", ())),
        "grid": tables.grid(summary), "missing": tables.missing_effects(summary),
        "counts": {name: int(summary[name].sum()) for name in tables.COUNTS},
        "cells": int((summary["n_run"] > 0).sum()), "most_run": int(summary["n_run"].max()),
        "confidence": percent(summary.attrs["confidence"]), "head": [*map(symbol, names)],
        "rows": lines, "row_count": len(table),
    }


def _tally(rows: Sequence[Mapping]) -> dict[str, int]:
    return {word: sum(row["verdict"] == word for row in rows) for word in SYMBOLS}


def _budgets(privacy: Sequence[Mapping]) -> dict[str, list] | None:
    """Columns and rows of the table of budgets; None if no mechanism says what it spends."""
    kinds = list(dict.fromkeys(what for one in privacy for what in one.get("spent", ())))
    rows = [[symbol(one["mechanism"]), *(_ends(*one["spent"][what]) if what in one["spent"] else "–" for what in kinds)]
            for one in privacy if one.get("spent")]
    remarks = [f"{symbol(one['mechanism'])}, {count(len(said), 'cell')}: {said[0]}{'; and so on' * (len({*said}) > 1)}"
               for one in privacy if (said := one.get("remarks"))]
    return {"of": kinds, "rows": rows, "remarks": remarks} if rows else None


def _ends(least: float, most: float) -> str:
    return " to ".join(dict.fromkeys(number(end, 3) for end in (least, most)))


def _mechanisms(sections: Sequence[Section]) -> list[dict[str, str]]:
    """Privacy statements, each said once."""
    said = [{name: one[name] for name in ("mechanism", "unit", "neighbours", "budget")}
            for section in sections for one in section.facts.get("privacy", ())]
    return [one for i, one in enumerate(said) if one not in said[:i]]


def _versions(shown: Sequence[Mapping]) -> list[dict[str, Any]]:
    """Versions that took part, each set once with the sections that it made."""
    made: dict[str, list[str]] = {}
    for section in shown:
        for version in section["versions"]:
            made.setdefault(", ".join(f"{name} {found}" for name, found in version.items()), []).append(section["name"])
    return [{"text": text, "sections": names} for text, names in made.items()]


def _unit(unit: str) -> str:
    return "" if unit == "1" else unit


def _session(given: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {name: given.get(name) or 0 for name in ("seconds", "units", "workers", "lost")}
    state = given.get("state") or ("stopped" if given.get("interrupted") else "finished")
    return {"started": given.get("started", "–"), "state": state, **numbers,
            "host": given.get("machine") or given.get("host") or "–"}


def _answer(sections: Sequence[Mapping], judged: Sequence[Mapping]) -> dict[str, Any]:
    """Headline numbers."""
    sessions = [s for section in sections for s in section["sessions"]]
    decided = [row for row in judged if row["twin_verdict"] and row["verdict"] != "inconclusive"]
    return {
        "claims": len(judged),
        "verdicts": _tally(judged),
        "ranked": sorted(judged, key=lambda row: WORST_FIRST.index(row["verdict"])),
        "contradicted": [r["id"] for r in judged if r["verdict"] == "contradicted"],
        "twins": len(decided), "rejected": sum(row["twin_verdict"] == "contradicted" for row in decided),
        "replications": sum(s["counts"]["n_run"] for s in sections),
        "cells": sum(s["cells"] for s in sections),
        "failed": sum(s["counts"]["n_failed"] for s in sections),
        "not_converged": sum(s["counts"]["n_not_converged"] for s in sections),
        "seconds": sum(s["seconds"] for s in sessions), "sessions": len(sessions),
        "workers": max((s["workers"] for s in sessions), default=0),
        "interrupted": sum(s["state"] != "finished" for s in sessions),
    }
