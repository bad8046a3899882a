"""Tables of a section: its parameters, its named levels, its means, and what missing values could
change.
"""

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pipeline.reporting.formatting import number, symbol
from pipeline.reporting.tables import metrics
from pipeline.study.arrays import Array

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_LEVELS = 24  # of an axis that are written out
MOST_LETTERS = 2  # of a symbol
NOT_TOLD = "input of a derivation"  # what an axis means that only others need
MOST_ROWS = 60  # shown on the page; the files have all


@dataclass(frozen=True)
class ParameterRow:
    """An axis or a derived parameter. levels: in words; unit: empty where it has none."""

    name: str
    meaning: str
    unit: str
    levels: str


@dataclass(frozen=True)
class LevelsTable:
    """Levels of an axis of names, and what is known of each. head: of the other columns."""

    axis: str
    meaning: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class MeansTable:
    """The first means of a section. names: of the columns before the metric; count: of all rows."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    count: int


@dataclass(frozen=True)
class MissingEffect:
    """What values that are missing could change in the means of a metric.

    cells: affected; lost: of these, without any value. reach: the furthest that a mean could move,
    in the metric's unit; infinite if its range has no end.
    """

    metric: str
    cells: int
    lost: int
    reach: float
    unit: str


def notation(grids: Sequence[Sequence[ParameterRow]]) -> str:
    """What symbols mean, on one line: `m: number of items; L: number of users.`

    Of one study all that have a meaning, of several the short ones; empty without any.
    """
    meanings: dict[str, dict[str, None]] = {}
    for row in itertools.chain.from_iterable(grids):
        is_short = len(symbol(row.name)) <= MOST_LETTERS
        text = row.meaning.partition(";")[0]
        if text and text not in (NOT_TOLD, row.name) and (is_short or len(grids) == 1):
            unit = f" ({row.unit})" if row.unit else ""
            meanings.setdefault(symbol(row.name), {})[text + unit] = None
    if not meanings:
        return ""
    texts = [f"{name}: {' or '.join(of_name)}" for name, of_name in meanings.items()]
    return f"{'; '.join(texts)}."


def grid(summary: xr.Dataset) -> list[ParameterRow]:
    """Axes and derived parameters."""
    axes = summary["n_run"].dims
    derived = [name for name in summary.coords if name not in axes]
    rows = []
    for name in (*axes, *derived):
        attributes = summary[name].attrs
        meaning = attributes.get("long_name", "")
        unit = attributes.get("units", "1")
        if unit in ("1", attributes.get("long_name")):
            unit = ""
        values = summary[name].values
        shown = _levels(values) if name in axes else _derived(values)
        rows.append(ParameterRow(str(name), meaning, unit, shown))
    return rows


def _levels(values: Array) -> str:
    """The levels of an axis, not all of them if they are many."""
    names = [
        level if isinstance(level, str) else number(level)
        for level in values[:MOST_LEVELS].tolist()
    ]
    if values.size > MOST_LEVELS:
        names.append(f"… ({values.size} levels)")
    return ", ".join(names)


def _derived(values: Array) -> str:
    """Least and greatest value of a derived parameter."""
    if values.dtype.kind not in "iuf" or not np.isfinite(values).any():
        return "derived"
    finite = values[np.isfinite(values)]
    least = number(finite.min(), 4)
    greatest = number(finite.max(), 4)
    if least == greatest:
        return f"derived: {least}"
    return f"derived: {least} to {greatest}"


def named_levels(summary: xr.Dataset) -> list[LevelsTable]:
    """A table for every axis of names whose levels have numbers of their own, such as the items of
    a file.
    """
    tables = []
    for axis in summary["n_run"].dims:
        if summary[axis].dtype.kind in "iufb":
            continue
        head = []
        columns = [summary[axis].values.tolist()]
        for name, coordinate in summary.coords.items():
            numbers = _along(coordinate, axis)
            if numbers is not None:
                head.append(_heading(coordinate, name))
                columns.append([number(value, 4) for value in numbers.tolist()])
        if head:
            meaning = summary[axis].attrs.get("long_name", "")
            tables.append(LevelsTable(str(axis), meaning, head, [*zip(*columns, strict=True)]))
    return tables


def _heading(coordinate: xr.DataArray, name: Hashable) -> str:
    """What a column is, and its unit."""
    meaning: str = coordinate.attrs.get("long_name", str(name))
    unit = coordinate.attrs.get("units", "1")
    if unit in ("1", meaning):
        return meaning
    return f"{meaning} ({unit})"


def _along(coordinate: xr.DataArray, axis: Hashable) -> Array | None:
    """(levels,) numbers that differ between the levels of an axis, and along no other, where there
    are any; or None.
    """
    if coordinate.dtype.kind not in "iuf" or axis not in coordinate.dims or coordinate.name == axis:
        return None
    others = [name for name in coordinate.dims if name != axis]
    least = coordinate.min(others).values
    greatest = coordinate.max(others).values  # without the NaN of empty cells
    if not (least == greatest).all() or np.ptp(least) == 0:
        return None
    return least


def means(summary: xr.Dataset, table: "DataFrame") -> MeansTable:
    """The first rows of a summary's table, in words. table: see `tables.summary_table`."""
    axes = [str(axis) for axis in summary["n_run"].dims]
    rows = []
    for row in table.head(MOST_ROWS).to_dict("records"):
        ends = f"[{number(row['low'], 4)}, {number(row['high'], 4)}]"
        unit = "" if row["unit"] == "1" else row["unit"]
        labels = [number(row[axis]) for axis in axes]
        mean = number(row["mean"], 4)
        rows.append([*labels, symbol(row["metric"]), mean, ends, unit, number(row["values"])])
    return MeansTable([symbol(axis) for axis in axes], rows, len(table))


def missing_effects(summary: xr.Dataset) -> list[MissingEffect]:
    """For every metric whose values are missing or did not converge in some cells: the furthest
    that a mean could move, had they been at an end of the metric's range.
    """
    effects = []
    for name in metrics(summary):
        mean = summary[name]
        ends = [mean - summary[f"{name}_least"], summary[f"{name}_most"] - mean]
        moved = xr.concat(ends, "end").max("end")
        affected = (summary["n_run"] > 0) & ~(moved == 0)
        if not bool(affected.any()):
            continue
        has_mean = np.isfinite(mean)
        effects.append(
            MissingEffect(
                metric=name,
                cells=int(affected.sum()),
                lost=int((affected & ~has_mean).sum()),
                reach=float(moved.where(affected & has_mean).max()),
                unit=mean.attrs.get("units", "1"),
            )
        )
    return effects
