"""What each promise to a person costs: a table for every budget, in words and then in numbers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import xarray as xr

from pipeline.reporting.formatting import capitalised, number, percent
from pipeline.reporting.promises import (
    ITEM,
    KEPT,
    LABELS,
    NO_ORDER,
    RELIABLE,
    REVERSED,
    TASK,
    curves,
)
from pipeline.reporting.section import Facts

MOVED = "ranks_moved"
RIGHT = "label_right"
FEW = 0.005  # share of pairs, or of tasks, below which nearly none is changed
TRUST = "Who is trusted"
WORDS = "What a release is worth"
NOT_KNOWN = "not known"

Cells = Sequence[str]


@dataclass(frozen=True)
class PromiseTable:
    """A table of one budget. heads: of the columns; rows: one for each mechanism."""

    title: str
    heads: Cells
    rows: Sequence[Cells]


def promise_tables(summary: xr.Dataset, facts: Facts) -> list[PromiseTable]:
    """A table for each budget of a person, the smallest first.

    Of ranks: what becomes of the first items and of the order of pairs. Of labels: how many tasks
    keep theirs, and have their true one. Empty for a study without these axes and metrics.
    """
    if KEPT in summary and REVERSED in summary:
        first = int(facts.constants.get("first", 3))
        heads = (TRUST, WORDS, f"First {first} keep their ranks", "Pairs reversed", "An item moves")
        by_trust = list(curves(summary, KEPT, ITEM, facts))
        return _tables(by_trust, heads, lambda cell: _of_ranks(cell, first))
    if LABELS in summary:
        of_labels = (TRUST, WORDS, "Tasks that keep their label", "Tasks with their true label")
        by_trust = list(curves(summary, LABELS, TASK, facts))
        return _tables(by_trust, of_labels, _of_labels)
    return []


def _tables(
    by_trust: Sequence[tuple[str, xr.Dataset]],
    heads: Cells,
    row_of: Callable[[xr.Dataset], Cells],
) -> list[PromiseTable]:
    """by_trust: in words, and its cells over `person`."""
    budgets: set[float] = set()
    for _, curve in by_trust:
        budgets.update(map(float, curve["person"].values.tolist()))
    tables = []
    for budget in sorted(budgets):
        rows = [
            (capitalised(trust), *row_of(curve.sel(person=budget))) for trust, curve in by_trust
        ]
        tables.append(PromiseTable(_title(budget), heads, rows))
    return tables


def _title(budget: float) -> str:
    """A budget, and by how much a release may change what is thought of a person.

    >>> _title(1.0)
    '1 nat a person: what anybody knows of a person changes in odds at most 2.72-fold'
    """
    unit = "nat" if budget == 1 else "nats"
    odds = number(math.exp(budget), 3)
    return (
        f"{number(budget, 3)} {unit} a person: what anybody knows of a person changes in odds "
        f"at most {odds}-fold"
    )


def _of_ranks(cell: xr.Dataset, first: int) -> Cells:
    """A row about ranks, without whom is trusted."""
    moved = float(cell[MOVED]) if MOVED in cell else math.nan
    by_ranks = f"by {number(moved, 2)} ranks, on average" if math.isfinite(moved) else "–"
    return (
        _ranks_in_words(cell, first),
        _share(cell, KEPT, "releases"),
        _share(cell, REVERSED, "pairs"),
        by_ranks,
    )


def _ranks_in_words(cell: xr.Dataset, first: int) -> str:
    """What a release is worth to those who want an order."""
    kept = float(cell[KEPT])
    reverse = float(cell[REVERSED])
    if not (math.isfinite(kept) and math.isfinite(reverse)):
        return NOT_KNOWN
    if float(cell[f"{REVERSED}_high"]) >= NO_ORDER:
        return "Nothing: no order survives, coins would reverse half of the pairs."
    if kept >= RELIABLE:
        top = f"The first {first} stay where they are in nearly every release"
    else:
        top = f"The first {first} stay where they are in {_of_ten(kept)} releases"
    if reverse < FEW:
        return f"{top}; nearly every pair keeps its order."
    return f"{top}; one pair in {number(round(1 / reverse))} is reversed."


def _of_labels(cell: xr.Dataset) -> Cells:
    """A row about labels, without whom is trusted."""
    return (_labels_in_words(cell), _share(cell, LABELS, "tasks"), _share(cell, RIGHT, "tasks"))


def _labels_in_words(cell: xr.Dataset) -> str:
    """What a release is worth to those who want labels."""
    changed = 1 - float(cell[LABELS])
    if not math.isfinite(changed):
        return NOT_KNOWN
    if changed >= NO_ORDER:
        return "Nothing: coins would change half of the labels."
    if changed < FEW:
        return "Nearly every task keeps its label."
    return f"One task in {number(round(1 / changed))} changes its label."


def _of_ten(share: float) -> str:
    """A share in words.

    >>> _of_ten(0.71), _of_ten(0.02), _of_ten(0.98)
    ('7 of 10', 'fewer than 1 of 10', '9 of 10')
    """
    tenths = min(round(10 * share), 9)
    return f"{tenths} of 10" if tenths else "fewer than 1 of 10"


def _share(cell: xr.Dataset, metric: str, of: str) -> str:
    """A share with its interval, `71 % of releases [61 %, 79 %]`."""
    if metric not in cell or not math.isfinite(float(cell[metric])):
        return "–"
    # The interval of a mean may leave the range of shares.
    low = max(float(cell[f"{metric}_low"]), 0.0)
    high = min(float(cell[f"{metric}_high"]), 1.0)
    ends = [percent(low), percent(high)]
    return f"{percent(float(cell[metric]))} of {of} [{ends[0]}, {ends[1]}]"
