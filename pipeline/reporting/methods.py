"""A paragraph of methods for a paper, made from a study: aims, data, estimands, methods and
performance (ADEMP).

The order is that of Morris, White and Crowther, Statistics in Medicine 38 (2019) 2074.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from pipeline.analysis.claims import INCONCLUSIVE, NOT_TESTED
from pipeline.analysis.looks import UNTIL
from pipeline.reporting.formatting import about, count, listed, number, percent, symbol
from pipeline.reporting.tables import metrics
from pipeline.study.until import recorded

SPENDING = {"pocock": "Pocock's", "obrien_fleming": "O'Brien and Fleming's"}
MOST_LEVELS = 12  # that are written out
ROLES = {"model": "data-generating model", "mechanism": "mechanism", "estimator": "estimator"}


def paragraphs(section: Any) -> Iterator[tuple[str, str]]:
    """Heading and text of each part, of a `page.Section` whose facts have `parts`, `constants`,
    `paired` and `seed`.
    """
    facts = section.facts
    summary = section.summary
    parts: Mapping[str, Mapping[str, str]] = facts.get("parts", {})
    yield "Aims", section.question or section.title or section.name
    yield (
        "Data-generating mechanisms",
        " ".join(
            filter(
                None,
                (
                    _named(parts, "model"),
                    _factors(summary, [*parts]),
                    _constants(facts.get("constants", {})),
                    section.facts.get("source", "") or "",
                ),
            )
        ),
    )
    yield "Estimands", _estimands(section.verdicts)
    yield (
        "Methods",
        " ".join(
            filter(
                None,
                (
                    _named(parts, "mechanism"),
                    _named(parts, "estimator"),
                    _paired(facts.get("paired", ())),
                ),
            )
        ),
    )
    yield (
        "Performance measures",
        " ".join(
            filter(
                None,
                (
                    _measures(summary),
                    _precision(summary, section.verdicts),
                    _replications(summary),
                    _failures(summary),
                    _seed(facts),
                ),
            )
        ),
    )


def _named(parts: Mapping[str, Mapping[str, str]], role: str) -> str:
    own = parts.get(role, {})
    text = "; ".join(
        symbol(name) + (f" ({_sentence(meaning)})" if meaning else "")
        for name, meaning in own.items()
    )
    return (
        f"{ROLES[role][:1].upper()}{ROLES[role][1:]}{'s' * (len(own) > 1)}: {text}." if own else ""
    )


def _sentence(meaning: str) -> str:
    """The first sentence of a description, without its full stop."""
    return re.split(r"\.(?:\s|$)", meaning)[0]


def _factors(summary: xr.Dataset, roles: Sequence[str]) -> str:
    """The axes that vary, with their levels, and the number of cells."""
    run = summary["n_run"]
    cells = int((run > 0).sum())
    shown = []
    for axis in map(str, run.dims):
        values = summary[axis].values.tolist()
        if axis in roles or len(values) < 2:
            continue
        few = values if len(values) <= MOST_LEVELS else [*values[:3], "…", *values[-2:]]
        shown.append(f"{symbol(axis)} ∈ {{{', '.join(map(number, few))}}}")
    whole = (
        "all combinations" if cells == run.size else f"{cells:,} of their {run.size:,} combinations"
    )
    return (
        f"Factors varied: {'; '.join(shown)}; {whole}, with the parts below, "
        f"{count(cells, 'cell')}."
        if shown
        else f"{count(cells, 'cell')}."
    )


def _constants(constants: Mapping[str, Any]) -> str:
    text = ", ".join(f"{symbol(name)} = {number(value)}" for name, value in constants.items())
    return f"Constants: {text}." if text else ""


def _estimands(verdicts: Sequence[Any]) -> str:
    text = "The truth that the model draws in each replication."
    if not verdicts:
        return text
    named = dict.fromkeys(one.claim.estimand for one in verdicts)
    few = "; ".join(list(named)[:3]) + (
        "; and others, listed with each claim" if len(named) > 3 else ""
    )
    return (
        f"{text} {count(len(verdicts), 'claim')} {'is' if len(verdicts) == 1 else 'are'} judged, "
        f"on: {few}."
    )


def _paired(axes: Sequence[str]) -> str:
    if not axes:
        return ""
    return (
        f"Levels of {listed(map(symbol, axes))} are compared on the same data (common random "
        "numbers)."
    )


def _measures(summary: xr.Dataset) -> str:
    text = "; ".join(about(summary[name]) or symbol(name) for name in metrics(summary))
    return (
        "Means over replications, with Monte Carlo standard errors and "
        f"{percent(summary.attrs['confidence'])} intervals, of: {text}."
    )


def _precision(summary: xr.Dataset, verdicts: Sequence[Any]) -> str:
    """Replications, and why so many: for a target, or how many claims these decide."""
    run = summary["n_run"].values[summary["n_run"].values > 0]
    many = (
        count(int(run.min()), "replication")
        if run.min() == run.max()
        else f"{int(run.min()):,} to {int(run.max()):,} replications"
    )
    targets = summary.attrs.get("precision")
    if targets:
        return (
            f"{many} per cell: each group of cells that share their data was simulated until "
            f"{listed(targets)} was reached, or up to {int(summary.attrs['replications']):,} "
            f"replications; {summary.attrs['groups_on_target']} of {summary.attrs['groups']} "
            "groups met this."
        )
    decided = sum(one.check.verdict not in (INCONCLUSIVE, NOT_TESTED) for one in verdicts)
    if UNTIL in summary.attrs:
        until = recorded(summary.attrs[UNTIL])
        return (
            f"{many} per cell: claims were judged after {until.least:,} replications and, in "
            "every cell until all that read it were decided, after about 40 % more, up to "
            f"{until.most:,}; their error probability was spent over these looks by a function of "
            f"{SPENDING[until.spending]} type (Lan and DeMets, Biometrika 70 (1983) 659), shared "
            "by Bonferroni's bound. Shares, means, ratios of means and exponents keep it; means "
            "over a few cells of skewed values may exceed it. Of "
            f"{count(len(verdicts), 'claim')}, {decided:,} were decided."
        )
    enough = f"; they decide {decided:,} of {count(len(verdicts), 'claim')}" if verdicts else ""
    return f"{many} per cell, fixed in advance{enough}."


def _replications(summary: xr.Dataset) -> str:
    """The largest Monte Carlo errors that these numbers of replications left."""
    worst = []
    for name in metrics(summary):
        mean = abs(summary[name].values)
        error = summary[f"{name}_mcse"].values
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (error / mean)[np.isfinite(error) & (mean > 0)]
        if ratio.size:
            worst.append((float(np.median(ratio)), float(ratio.max()), name))
    if not worst:
        return ""
    text = "; ".join(
        f"{symbol(name)} {percent(middle)} ({percent(most)})" for middle, most, name in worst
    )
    return (
        "Monte Carlo standard errors relative to the mean, in the median cell (and in the worst): "
        f"{text}."
    )


def _failures(summary: xr.Dataset) -> str:
    failed, lost, unknown, run = (
        int(summary[f"n_{name}"].sum()) for name in ("failed", "not_converged", "not_finite", "run")
    )
    if not failed and not lost and not unknown:
        return "No replication failed, and all estimates converged."
    also = f", and in {unknown:,} a metric was not finite" if unknown else ""
    return (
        f"Of {run:,} replications {failed:,} failed and {lost:,} did not converge{also}; means "
        "leave out what is not finite."
    )


def _seed(facts: Mapping[str, Any]) -> str:
    return (
        ""
        if facts.get("seed") is None
        else (
            "Random numbers: Philox, one stream for each cell, block and role, seed "
            f"{facts['seed']}."
        )
    )
