"""The cells that a figure draws, as one table: what is drawn is what the CSV file says."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import xarray as xr

from pipeline.analysis.ratio import risk_ratio
from pipeline.analysis.summary import REPLICATION
from pipeline.reporting.formatting import count, levels, number, symbol, with_interval
from pipeline.reporting.specs import Map, Ratio, Spec
from pipeline.study.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame, Series

PICTURES = {
    "phase_diagram": "Coloured tiles with a boundary",
    "collapse": "Two panels of curves, raw and rescaled,",
    "curves": "Curves",
    "ratio": "Curves of ratios",
    "map": "Coloured tiles",
    "common": "Curves of several studies",
}
COLUMNS = ("mean", "mcse", "low", "high")


class Mark(NamedTuple):
    """A place of a figure with its value in words, for those who point at it. x, y: in the units of
    the axes.
    """

    axes: "Axes"
    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Drawing:
    """A figure, its heading, the table of the numbers in it, a caption, the marks with their
    values, and the axis along which these are followed.
    """

    kind: str
    figure: "Figure"
    title: str
    table: "DataFrame"
    caption: str
    marks: tuple[Mark, ...] = ()
    along: str = ""

    @property
    def values(self) -> "Series[float]":
        """The values that are seen."""
        return self.table["ratio" if "ratio" in self.table else "mean"].dropna()

    @property
    def description(self) -> str:
        """What is seen, in a sentence, for those who cannot see it."""
        values = self.values
        ends = (
            f", from {number(values.min(), 3)} to {number(values.max(), 3)}" if len(values) else ""
        )
        return (
            f"{self.title}. {PICTURES[self.kind]} of "
            f"{count(len(values), 'value')}{ends}.{self._course()}"
        )

    def _course(self) -> str:
        """How values change from the first to the last position along the abscissa, in the middle
        over the curves.
        """
        name = "ratio" if "ratio" in self.table else "mean"
        if self.along not in self.table or not is_numeric(self.table, self.along):
            return ""
        middles = self.table.dropna(subset=[name, self.along]).groupby(self.along)[name].median()
        if len(middles) < 2:
            return ""
        first, last = (number(middles.iloc[k], 3) for k in (0, -1))
        ends = (f"{symbol(self.along)} = {number(shortened(middles.index[k]), 4)}" for k in (0, -1))
        return f" The median goes from {first} at {next(ends)} to {last} at {next(ends)}."


def shown_part(data: xr.Dataset, spec: Spec) -> xr.Dataset:
    """The part of a dataset that a figure shows: over its axes (and replications), each in grid
    order.
    """
    data = data.sel(spec.select)
    others = [name for name in data.dims if name not in spec.drawn and name != REPLICATION]
    return data.isel(dict.fromkeys(others, 0))


def columns_of(summary: xr.Dataset, metric: str) -> xr.Dataset:
    """Mean, Monte Carlo error, interval and counts of one metric."""
    columns = {name: summary[metric if name == "mean" else f"{metric}_{name}"] for name in COLUMNS}
    return xr.Dataset(columns | {"replications": summary[f"{metric}_n"], "n_run": summary["n_run"]})


def ratios_of(
    results: xr.Dataset, summary: xr.Dataset, spec: Ratio | Map, power: float, confidence: float
) -> tuple[xr.Dataset, str, str]:
    """The columns of `risk_ratio`, named as by `columns_of`; a description of the ratio.

    The yardstick's name.
    """
    assert spec.yardstick is not None
    ratio = risk_ratio(results, spec.metric, spec.yardstick, power, confidence)
    columns = ratio.rename(ratio="mean", pairs="replications").assign(n_run=summary["n_run"])
    measured, predicted = (
        results[name].attrs.get("long_name", symbol(name)) for name in (spec.metric, spec.yardstick)
    )
    raised = {1.0: "", 2.0: "square of the "}.get(power, f"power {power:g} of the ") + measured
    content = f"mean of the {raised} over the mean of the {predicted}"
    return columns[[*COLUMNS, "replications", "n_run"]], content, predicted


def tabulate(values: xr.Dataset, data: xr.Dataset, spec: Spec) -> "DataFrame":
    """One row per cell: axes, position, values, then the reference, if any.

    Cells that were not run are left out.
    """
    axes = [*spec.drawn[1:], spec.along]
    reference = getattr(spec, "reference", None)
    beside = [reference] if reference else []
    added = {name: data[name] for name in (spec.position, *beside) if name not in axes}
    table = values.reset_coords(drop=True).assign(added).to_dataframe(dim_order=axes).reset_index()
    run = table.pop("n_run") > 0
    names = dict.fromkeys((*axes, spec.position, *values.data_vars, *beside))
    return table.loc[run, [name for name in names if name in table]].reset_index(drop=True)


def ordered(table: "DataFrame", data: xr.Dataset, name: str) -> list[Any]:
    """Levels that occur in a column: numbers ascending, names in the order of the grid."""
    levels = list(dict.fromkeys(table[name].tolist()))
    if is_numeric(table, name):
        return sorted(levels)
    return [level for level in dict.fromkeys(data[name].values.ravel().tolist()) if level in levels]


def is_numeric(table: "DataFrame", name: str) -> bool:
    """Whether a column holds numbers, and not names."""
    return table[name].dtype.kind in "iuf"


def positions(table: "DataFrame", data: xr.Dataset, name: str) -> Floats:
    """(rows,) a column as numbers along an axis of a figure; names are at 0, 1, 2, …"""
    order = None if is_numeric(table, name) else ordered(table, data, name)
    column: Floats = (table[name] if order is None else table[name].map(order.index)).to_numpy(
        float
    )
    return column


def varying(table: "DataFrame", spec: Spec) -> list[str]:
    """Columns that tell the cells of a figure apart: axes, and positions, with more than one level."""
    names = dict.fromkeys((*spec.drawn[1:], spec.along, spec.position))
    return [name for name in names if name in table and table[name].nunique() > 1]


def said(rows: "DataFrame", names: list[str]) -> Iterator[str]:
    """Of each row its labels, value and interval: `m = 10, L = 100: 0.52 [0.51, 0.53]`."""
    for row in rows.to_dict("records"):
        cell = levels({name: shortened(row[name]) for name in names})
        yield f"{cell}: " * bool(cell) + with_interval(row["mean"], row["low"], row["high"])


def shortened(level: Any) -> Any:
    """A level as it is read from an axis: fractions to four digits."""
    return float(f"{level:.4g}") if isinstance(level, float) and abs(level) < 1e4 else level
