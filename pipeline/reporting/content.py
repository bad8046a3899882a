"""What the page shows of one study, as plain values for the template."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from pipeline.analysis.claims import INCONCLUSIVE
from pipeline.analysis.looks import UNTIL
from pipeline.reporting import tables
from pipeline.reporting.drawn import Drawn
from pipeline.reporting.formatting import count, levels, number, percent, symbol
from pipeline.reporting.headline import extremes, ranked, tally
from pipeline.reporting.methods import paragraphs

if TYPE_CHECKING:
    from pandas import DataFrame

Rows = Sequence[Mapping[str, Any]]
FACTS = (
    "seed",
    "units",
    "config",
    "folder",
    "failures",
    "source",
    "missing",
    "experiment",
    "effort",
    "replications",
    "crossings",
    "shortfalls",
)
MOST_ROWS = 60  # shown on the page; the files have all


def slug(name: str) -> str:
    """A name that is safe in a file name and in an id."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "section"


def study(section: Any, folder: Path, table: "DataFrame", verdicts: Rows) -> dict[str, Any]:
    """Everything but the figures of a `page.Section`. folder: of the page.

    Table, verdicts: see `tables`.
    """
    return {
        **_numbers(section, section.summary, table),
        **_run(section, folder),
        "verdicts": ranked(verdicts),
        "tally": tally(verdicts),
        "methods": [*paragraphs(section)],
    }


def figures(
    section: Any, folder: Path, numbers: Iterator[int], glyphs: dict[str, str]
) -> Iterator[dict[str, Any]]:
    """Write the files of a section's figures.

    What the page shows of each. numbers: of the figures of the page;

    glyphs: see `inline`."""
    for i, drawn in enumerate(section.figures, 1):
        yield figure(drawn, f"{slug(section.name)}-{i}-{drawn.kind}", folder, next(numbers), glyphs)


def figure(
    drawn: Drawn, stem: str, folder: Path, number: int, glyphs: dict[str, str]
) -> dict[str, Any]:
    """Write the files of a figure; what the page shows of it. number: on the page.

    glyphs: see `inline`.
    """
    from markupsafe import Markup

    from pipeline.reporting.inline import inline

    for ending, content in drawn.files.items():
        (folder / f"{stem}.{ending}").write_bytes(content)
    # Markup: an SVG that Matplotlib wrote, in which all text is drawn as outlines
    svg = Markup(inline(drawn.files["svg"], f"f{number}", drawn.description, glyphs))
    return {
        "stem": stem,
        "title": drawn.title,
        "caption": drawn.caption,
        "svg": svg,
        "aspect": f"{drawn.aspect:.3f}",
        "points": [(f"{100 * x:.2f}", f"{100 * y:.2f}", text) for x, y, text in drawn.points],
    }


def _numbers(section: Any, summary: xr.Dataset, table: "DataFrame") -> dict[str, Any]:
    """Names and numbers of a section."""
    names = [*map(str, summary["n_run"].dims)]
    lines = [
        [
            *(number(line[name]) for name in names),
            symbol(line["metric"]),
            number(line["mean"], 4),
            f"[{number(line['low'], 4)}, {number(line['high'], 4)}]",
            _unit(line["unit"]),
            number(line["values"]),
        ]
        for line in table.head(MOST_ROWS).to_dict("records")
    ]
    return {
        "id": slug(section.name),
        "name": section.name,
        "title": section.title or section.name,
        "question": section.question,
        "paper": section.paper if section.verdicts else "",
        "grid": tables.grid(summary),
        "levels": tables.named_levels(summary),
        "missing": tables.missing_effects(summary),
        "extremes": [*extremes(summary)],
        "mixed": _mixed(summary),
        "counts": {name: int(summary[name].sum()) for name in tables.COUNTS},
        "cells": int((summary["n_run"] > 0).sum()),
        "most_run": int(summary["n_run"].max()),
        "confidence": percent(summary.attrs["confidence"]),
        "head": [*map(symbol, names)],
        "rows": lines,
        "row_count": len(table),
        "targets": _targets(summary),
        "stopped": _stopped(summary, section),
        "ends": _cells_ended(section.facts),
        "unfinished": _unfinished(summary, section.facts),
    }


def _targets(summary: xr.Dataset) -> dict[str, Any] | None:
    """What precision was asked for, and where it was not reached.

    None where a number of replications was asked for.
    """
    if not summary.attrs.get("precision"):
        return None
    run = summary["n_run"].values
    cap = int(summary.attrs["replications"])
    stopped = run[(run > 0) & (run < cap)]
    return {
        "asked": summary.attrs["precision"],
        "groups": summary.attrs["groups"],
        "met": summary.attrs["groups_on_target"],
        "cap": cap,
        "stopped": int(stopped.size),
        "ends": [int(stopped.min()), int(stopped.max())] if stopped.size else [],
        "above": [
            (levels(labels), "unknown" if excess is None else f"{excess:.2f}")
            for labels, excess in summary.attrs.get("above_target", ())
        ],
    }


def _stopped(summary: xr.Dataset, section: Any) -> str:
    """What ended a study that stops when its claims are decided, in a sentence; empty for others."""
    if UNTIL not in summary.attrs or section.facts.get("missing"):
        return ""
    most = json.loads(summary.attrs[UNTIL])["most"]
    run = int(summary.attrs["replications"])
    for_good = sum(one.check.open_for_good for one in section.verdicts)
    undecided = (
        sum(
            one.check.verdict == INCONCLUSIVE or one.check.estimate is not None and not one.sound
            for one in section.verdicts
        )
        - for_good
    )
    levels_apart = (
        f" {count(for_good, 'claim')} no number of replications can decide: add levels to the grid."
        if for_good
        else ""
    )
    if undecided:
        return (
            f"All {most:,} replications that were allowed were simulated where they were needed; "
            f"they do not decide {undecided:,} of {count(len(section.verdicts), 'claim')}, or its "
            f"control.{levels_apart}"
        )
    return (
        f"The claims: all that can be decided were so after {run:,} of at most {most:,} "
        "replications of a cell, so no more were simulated. A cell ended where all claims that "
        f"read it were decided.{levels_apart}"
    )


def _cells_ended(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Which cells ended after how many replications, and for which claim they had gone on."""
    return [
        {
            **one,
            "claim": one["claim"] or "none: it was the first look",
            "named": "; ".join(map(levels, one["labels"]))
            + "; …" * (one["cells"] > len(one["labels"])),
        }
        for one in facts.get("ends", ())
    ]


def _unfinished(summary: xr.Dataset, facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of an interim report: how many cells have how much, and the axis along which most is missing."""
    if not facts.get("missing"):
        return None
    run = summary["n_run"]
    return {
        "empty": int((run == 0).sum()),
        "begun": int(((run > 0) & (run < run.max())).sum()),
        "least": int(run.where(run > 0).min()) if bool((run > 0).any()) else 0,
        "most": int(run.max()),
        "without": [line for line in _levels_without(run) if line],
    }


def _levels_without(run: xr.DataArray) -> Iterator[str]:
    """Levels of an axis of which no cell has a replication."""
    for axis in run.dims:
        others = [name for name in run.dims if name != axis]
        lost = [
            level
            for level, some in zip(
                run[axis].values.tolist(), (run > 0).any(others).values, strict=True
            )
            if not some
        ]
        yield f"{symbol(str(axis))} = {', '.join(map(number, lost))}" if lost else ""


def _run(section: Any, folder: Path) -> dict[str, Any]:
    """How a section was made: facts, sessions, versions, budgets. folder: of the page, from which
    results are named.
    """
    sessions = section.facts.get("sessions", ())
    return {
        "facts": {**dict.fromkeys(FACTS), **section.facts},
        "sessions": [_session(one) for one in sessions],
        "versions": tables.versions(section.summary, sessions),
        "budgets": _budgets(section.facts.get("privacy", ())),
        "results": _relative(section.facts.get("folder") or ".", folder) + "/results.zarr",
    }


def _relative(results: str, folder: Path) -> str:
    """A folder relative to another, so that a page does not name the disk it was written on.

    A URL as it is.
    """
    return results if "://" in results else os.path.relpath(results, folder)


def _mixed(data: xr.Dataset) -> list[str]:
    """Why numbers of code or arithmetic that do not agree are together in a dataset.

    Empty if all agree.
    """
    return [
        one["accepted"] for one in json.loads(data.attrs.get("writers", "[]")) if one["accepted"]
    ]


def _budgets(privacy: Rows) -> dict[str, list[Any]] | None:
    """Columns and rows of the table of budgets; None if no mechanism says what it spends."""
    kinds = list(dict.fromkeys(what for one in privacy for what in one.get("spent", ())))
    rows = [
        [
            symbol(one["mechanism"]),
            *(_ends(*one["spent"][what]) if what in one["spent"] else "–" for what in kinds),
        ]
        for one in privacy
        if one.get("spent")
    ]
    remarks = [
        f"{symbol(one['mechanism'])}, {count(len(all_of), 'cell')}: {all_of[0]}"
        f"{'; and so on' * (len({*all_of}) > 1)}"
        for one in privacy
        if (all_of := one.get("remarks"))
    ]
    return {"of": kinds, "rows": rows, "remarks": remarks} if rows else None


def _ends(least: float, most: float) -> str:
    return " to ".join(dict.fromkeys(number(end, 3) for end in (least, most)))


def mechanisms(sections: Sequence[Any]) -> list[dict[str, str]]:
    """Privacy statements of all sections, each once."""
    statements = [
        {name: one[name] for name in ("mechanism", "unit", "neighbours", "budget")}
        for section in sections
        for one in section.facts.get("privacy", ())
    ]
    return [one for i, one in enumerate(statements) if one not in statements[:i]]


def versions(shown: Rows) -> list[dict[str, Any]]:
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
    return {
        "started": session.get("started", "–"),
        "state": state,
        **numbers,
        "host": session.get("machine") or session.get("host") or "–",
    }
