"""A paragraph of methods for a paper, made from a study: aims, data, estimands, methods and
performance (ADEMP).

The order is that of Morris, White and Crowther, Statistics in Medicine 38 (2019) 2074.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from pipeline.analysis.claims import INCONCLUSIVE, NOT_TESTED
from pipeline.analysis.looks import UNTIL
from pipeline.reporting.formatting import about, capitalised, count, listed, number, percent, symbol
from pipeline.reporting.section import Facts, Section
from pipeline.reporting.tables import metrics
from pipeline.study.until import recorded
from pipeline.study.untyped import ParameterValues

if TYPE_CHECKING:
    from pipeline.analysis.claims import Judgement

SPENDING = {"pocock": "Pocock's", "obrien_fleming": "O'Brien and Fleming's"}
MOST_LEVELS = 12  # that are written out
MOST_ESTIMANDS = 3
ROLES = {"model": "data-generating model", "mechanism": "mechanism", "estimator": "estimator"}


def paragraphs(section: Section, facts: Facts) -> Iterator[tuple[str, str]]:
    """Heading and text of each part. facts: of the section."""
    summary = section.summary
    parts = facts.parts
    yield "Aims", section.question or section.title or section.name
    yield (
        "Data-generating mechanisms",
        _together(
            _named(parts, "model"),
            _factors(summary, [*parts]),
            _constants(facts.constants),
            facts.source or "",
        ),
    )
    yield "Estimands", _estimands(section.verdicts)
    yield (
        "Methods",
        _together(_named(parts, "mechanism"), _named(parts, "estimator"), _paired(facts.paired)),
    )
    yield (
        "Performance measures",
        _together(
            _measures(summary),
            precision(summary, section.verdicts),
            _errors(summary),
            _failures(summary),
            _seed(facts),
        ),
    )


def _together(*sentences: str) -> str:
    """Sentences that are not empty, as one text."""
    return " ".join(filter(None, sentences))


def _named(parts: Mapping[str, Mapping[str, str]], role: str) -> str:
    """The parts of a role with what they are."""
    meanings = parts.get(role, {})
    if not meanings:
        return ""
    names = []
    for name, meaning in meanings.items():
        sentence = f" ({_sentence(meaning)})" if meaning else ""
        names.append(f"{symbol(name)}{sentence}")
    heading = capitalised(ROLES[role])
    if len(names) > 1:
        heading += "s"
    return f"{heading}: {'; '.join(names)}."


def _sentence(meaning: str) -> str:
    """The first sentence of a description, without its full stop."""
    return re.split(r"\.(?:\s|$)", meaning)[0]


def _factors(summary: xr.Dataset, roles: Sequence[str]) -> str:
    """The axes that vary, with their levels, and the number of cells."""
    run = summary["n_run"]
    cells = int((run > 0).sum())
    factors = []
    for axis in map(str, run.dims):
        levels = summary[axis].values.tolist()
        if axis not in roles and len(levels) > 1:
            factors.append(f"{symbol(axis)} ∈ {{{_few(levels)}}}")
    if not factors:
        return f"{count(cells, 'cell')}."
    combinations = "all combinations"
    if cells < run.size:
        combinations = f"{cells:,} of their {run.size:,} combinations"
    return (
        f"Factors varied: {'; '.join(factors)}; {combinations}, with the parts below, "
        f"{count(cells, 'cell')}."
    )


def _few(levels: Sequence[Any]) -> str:
    """Levels of an axis, of many only the first and the last."""
    if len(levels) > MOST_LEVELS:
        levels = [*levels[:3], "…", *levels[-2:]]
    return ", ".join(map(number, levels))


def _constants(constants: ParameterValues) -> str:
    """Parameters that do not vary."""
    if not constants:
        return ""
    text = ", ".join(f"{symbol(name)} = {number(value)}" for name, value in constants.items())
    return f"Constants: {text}."


def _estimands(verdicts: "Sequence[Judgement]") -> str:
    """What is estimated."""
    text = "The truth that the model draws in each replication."
    if not verdicts:
        return text
    estimands = list(dict.fromkeys(judgement.claim.estimand for judgement in verdicts))
    few = "; ".join(estimands[:MOST_ESTIMANDS])
    if len(estimands) > MOST_ESTIMANDS:
        few += "; and others, listed with each claim"
    verb = "is" if len(verdicts) == 1 else "are"
    return f"{text} {count(len(verdicts), 'claim')} {verb} judged. Estimated: {few}."


def _paired(axes: Sequence[str]) -> str:
    """Axes whose levels share their data."""
    if not axes:
        return ""
    return (
        f"Levels of {listed(map(symbol, axes))} are compared on the same data (common random "
        "numbers)."
    )


def _measures(summary: xr.Dataset) -> str:
    """What is measured, and how."""
    text = "; ".join(about(summary[name]) or symbol(name) for name in metrics(summary))
    return (
        "Means over replications, with Monte Carlo standard errors and "
        f"{percent(summary.attrs['confidence'])} intervals, of: {text}."
    )


def precision(summary: xr.Dataset, verdicts: "Sequence[Judgement]") -> str:
    """Replications, and why so many: for a target, or how many claims these decide."""
    attributes = summary.attrs
    many = _replications(summary)
    targets = attributes.get("precision")
    if targets:
        return (
            f"{many} per cell: each group of cells that share their data was simulated until "
            f"{listed(targets)} was reached, or up to {int(attributes['replications']):,} "
            f"replications; {attributes['groups_on_target']} of {attributes['groups']} "
            "groups met this."
        )
    open_verdicts = (INCONCLUSIVE, NOT_TESTED)
    decided = sum(judgement.check.verdict not in open_verdicts for judgement in verdicts)
    claims = count(len(verdicts), "claim")
    if UNTIL in attributes:
        until = recorded(attributes[UNTIL])
        return (
            f"{many} per cell: claims were judged after {until.least:,} replications, and again "
            "after each 40 % more, about, until all claims that use a cell were decided, up to "
            f"{until.most:,}. Their probability of error was spent over these looks by a function "
            f"of {SPENDING[until.spending]} type (Lan and DeMets, Biometrika 70 (1983) 659), and "
            "shared among the claims by Bonferroni's bound. Shares, means, ratios of means and "
            "exponents keep it; a verdict says where its values are too skewed for that. Of "
            f"{claims}, {decided:,} were decided."
        )
    if not verdicts:
        return f"{many} per cell, fixed in advance."
    return f"{many} per cell, fixed in advance; they decide {decided:,} of {claims}."


def _replications(summary: xr.Dataset) -> str:
    """Replications of a cell, at least and at most."""
    run = summary["n_run"].values
    run = run[run > 0]
    least = int(run.min())
    most = int(run.max())
    if least == most:
        return count(most, "replication")
    return f"{least:,} to {most:,} replications"


def _errors(summary: xr.Dataset) -> str:
    """The largest Monte Carlo errors that these numbers of replications left."""
    errors = []
    for name in metrics(summary):
        mean = abs(summary[name].values)
        error = summary[f"{name}_mcse"].values
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (error / mean)[np.isfinite(error) & (mean > 0)]
        if ratio.size:
            middle = percent(float(np.median(ratio)))
            errors.append(f"{symbol(name)} {middle} ({percent(float(ratio.max()))})")
    if not errors:
        return ""
    return (
        "Monte Carlo standard errors relative to the mean, in the median cell (and in the worst): "
        f"{'; '.join(errors)}."
    )


def _failures(summary: xr.Dataset) -> str:
    """Replications without an estimate that counts."""
    failed = int(summary["n_failed"].sum())
    lost = int(summary["n_not_converged"].sum())
    unknown = int(summary["n_not_finite"].sum())
    if not failed and not lost and not unknown:
        return "No replication failed, and all estimates converged."
    also = f", and in {unknown:,} a metric was not finite" if unknown else ""
    return (
        f"Of {int(summary['n_run'].sum()):,} replications {failed:,} failed and {lost:,} did not "
        f"converge{also}; means leave out what is not finite."
    )


def _seed(facts: Facts) -> str:
    """Where random numbers come from."""
    if facts.seed is None:
        return ""
    return f"Random numbers: Philox, one stream for each cell, block and role, seed {facts.seed}."
