"""The first screen of a report: the findings with their numbers, made from the verdicts, and what
they rest on.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
from pipeline.reporting.formatting import levels, metric_label, number, with_interval
from pipeline.reporting.tables import metrics

Rows = Sequence[Mapping[str, Any]]
SYMBOLS = {
    SUPPORTED: "✓",
    IDENTITY: "≡",
    NOT_REFUTED: "≈",
    CONTRADICTED: "✗",
    TOO_WEAK: "!",
    INCONCLUSIVE: "?",
    NOT_TESTED: "–",
}
IN_FRONT = (CONTRADICTED, TOO_WEAK, NOT_REFUTED, INCONCLUSIVE, NOT_TESTED, SUPPORTED, IDENTITY)
MOST_WRONG = 3
MOST = 4  # findings that are contradicted claims; all findings


def ranked(rows: Rows) -> list[Mapping[str, Any]]:
    """Verdicts, the contradicted ones first, then those whose check is too weak, identities last."""
    return sorted(rows, key=lambda row: IN_FRONT.index(row["verdict"]))


def tally(rows: Rows) -> dict[str, int]:
    """How many claims have each verdict."""
    return {word: sum(row["verdict"] == word for row in rows) for word in SYMBOLS}


def predicate(word: str, n: int) -> str:
    """What a sentence says of n claims with a verdict.

    >>> predicate("supported", 3), predicate("identity", 1)
    ('are supported', 'is an identity')
    """
    verb = "is" if n == 1 else "are"
    if word == IDENTITY:
        word = "an identity" if n == 1 else "identities"
    return f"{verb} {'checked too weakly' if word == TOO_WEAK else word}"


def findings(rows: Rows, papers: Mapping[str, str] | None = None) -> list[Mapping[str, Any]]:
    """At most four verdicts for the first screen: contradicted claims, then those that are main
    findings.

    Where none is called a main finding, all decided claims are. papers: of the sections by name;
    there is one finding of each paper before a second one of any, so a paper without a main finding
    has its decided claims.
    """
    wrong = [row for row in rows if row["verdict"] == CONTRADICTED][:MOST_WRONG]
    others = [row for row in rows if row["shown"] and row["verdict"] != CONTRADICTED]
    decided = [row for row in others if row["verdict"] in HELD and row["verdict"] != IDENTITY]
    main = [row for row in others if row["headline"]] or decided
    several = len(set((papers or {}).values()))
    if papers and several > 1:

        def paper(row: Mapping[str, Any]) -> str:
            return papers.get(row["section"], "")

        heard = {paper(row) for row in main}
        main += [row for row in decided if paper(row) not in heard]
        before: Counter[str] = Counter()
        turns = []
        for row in main:
            before[paper(row)] += 1
            turns.append(before[paper(row)])
        main = [main[k] for k in sorted(range(len(main)), key=turns.__getitem__)]
    return [*wrong, *main[: min(max(3, several), MOST - len(wrong))]]


def extremes(summary: xr.Dataset) -> Iterator[dict[str, str]]:
    """Where no claim is judged: for the first two metrics, the least and the greatest mean, with
    their cells.
    """
    for name in metrics(summary)[:2]:
        mean = summary[name]
        if not bool(np.isfinite(mean).any()):
            continue
        least, most = (
            _cell(summary, name, int(pick(mean.values))) for pick in (np.nanargmin, np.nanargmax)
        )
        label = metric_label(mean, name)
        yield {
            "statement": f"{label[:1].upper()}{label[1:]}",
            "shown": least[0] if least == most else f"{least[0]} to {most[0]}",
            "where": least[1]
            if least == most
            else f"the least at {least[1]}; the greatest at {most[1]}",
        }


def _cell(summary: xr.Dataset, name: str, position: int) -> tuple[str, str]:
    """The mean of a cell with its interval, and the labels of the axes that vary."""
    at = np.unravel_index(position, summary[name].shape)
    one = summary.isel(dict(zip(summary[name].dims, map(int, at), strict=True)))
    varying = {
        str(axis): one[axis].item() for axis in summary[name].dims if summary.sizes[axis] > 1
    }
    mean, low, high = (one[name + end].item() for end in ("", "_low", "_high"))
    shown = (
        with_interval(mean, low, high)
        if np.isfinite(high - low)
        else f"{number(mean, 3)}, without an interval"
    )
    return shown, levels(varying)


def headline(sections: Rows, judged: Rows) -> dict[str, Any]:
    """What the first screen says: findings, verdicts, and what was simulated."""
    sessions = [s for section in sections for s in section["sessions"]]
    decided = [row for row in judged if row["verdict"] not in (INCONCLUSIVE, NOT_TESTED)]
    chosen = findings(judged, {s["name"]: s["paper"] for s in sections if s["paper"]})
    where = chosen[0]["section"] if chosen else None
    ordered = sorted(sections, key=lambda s: str(s["name"]) != where)
    pictures = [figure for section in ordered for figure in section["figures"]]
    return {
        "claims": len(judged),
        "verdicts": tally(judged),
        "findings": chosen,
        "extremes": []
        if judged
        else [one for section in sections for one in section["extremes"]][:3],
        "more_wrong": sum(row["verdict"] == CONTRADICTED for row in judged) - MOST_WRONG,
        "papers": list(dict.fromkeys(section["paper"] for section in sections if section["paper"])),
        "picture": next(
            (one for one in pictures if one["points"]), pictures[0] if pictures else None
        ),
        "controls": len(decided),
        "unsound": [row["id"] for row in decided if not row["control_sound"]],
        "replications": sum(s["counts"]["n_run"] for s in sections),
        "cells": sum(s["cells"] for s in sections),
        "failed": sum(s["counts"]["n_failed"] for s in sections),
        "not_converged": sum(s["counts"]["n_not_converged"] for s in sections),
        "not_finite": sum(s["counts"]["n_not_finite"] for s in sections),
        "seconds": sum(s["seconds"] for s in sessions),
        "workers": max((s["workers"] for s in sessions), default=0),
        "interrupted": sum(s["state"] != "finished" for s in sessions),
        "missing": [s for s in sections if s["facts"]["missing"]],
        "coarse": [
            s for s in sections if s["targets"] and s["targets"]["met"] < s["targets"]["groups"]
        ],
    }
