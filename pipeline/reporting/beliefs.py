"""What a reader of a release may believe of each item, for each promise to a person, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from pipeline.reporting.formatting import count, number
from pipeline.reporting.promises import ITEM, curves
from pipeline.reporting.section import Facts

ENDS = ("score_low", "score_high", "rank_low", "rank_high")
HEADS = ("budget", "item", "rank", "score")
MOST_ITEMS = 12  # of a promise, the first ones; the files have all
NOT_KNOWN = "not told"


@dataclass(frozen=True)
class BeliefTable:
    """Rows of one kind of trust. name: in words; left_out: items that are not among the rows."""

    name: str
    rows: Sequence[Sequence[str]]
    left_out: int


def beliefs(summary: xr.Dataset, facts: Facts) -> Iterator[BeliefTable]:
    """A table for each mechanism: which ranks and scores a release allows each item, on average.

    Nothing for a study without these metrics, or where no estimate has errors.
    """
    if not {*ENDS} <= {*summary.data_vars}:
        return
    axis, of_all = ITEM
    names = [name for name in summary[axis].values.tolist() if name != of_all]
    for trust, curve in curves(summary, "rank_high", ITEM, facts, select=names[:MOST_ITEMS]):
        if not np.isfinite(curve["rank_high"].values).any():
            continue
        rows = [
            _row(curve.sel({"person": person, axis: name}), name, len(names))
            for person in curve["person"].values.tolist()
            for name in names[:MOST_ITEMS]
        ]
        yield BeliefTable(trust, rows, len(names[MOST_ITEMS:]))


def _row(cell: xr.Dataset, name: str, items: int) -> tuple[str, str, str, str]:
    """Cells of an item's row at one promise. items: how many there are."""
    budget = count_of_nats(cell["person"].item())
    if not np.isfinite(cell["rank_high"].item()):
        return budget, name, NOT_KNOWN, NOT_KNOWN
    best = max(1.0, round(cell["rank_low"].item(), 1))
    worst = min(float(items), round(cell["rank_high"].item(), 1))
    score = f"{number(cell['score_low'].item(), 2)} to {number(cell['score_high'].item(), 2)}"
    return budget, name, _ranks(best, worst, items), score


def _ranks(best: float, worst: float, items: int) -> str:
    """An interval of ranks in words."""
    if best == worst:
        return f"{number(best, 3)}, surely"
    if best == 1 and worst == items:
        return f"any of 1 to {items}"
    return f"{number(best, 3)} to {number(worst, 3)}"


def count_of_nats(person: float) -> str:
    """A budget of a person, in words."""
    if person == 1:
        return count(1, "nat")
    return f"{number(person, 3)} nats"
