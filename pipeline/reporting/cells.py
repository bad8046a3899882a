"""The cells that a figure draws, as one table: what is drawn is what the CSV file says."""

from collections.abc import Callable, Iterator
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

ERRORS = ("mcse", "low", "high")


class Mark(NamedTuple):
    """A place of a figure with its value in words, for those who point at it. x, y: in the units of
    the axes.
    """

    axes: "Axes"
    x: float
    y: float
    text: str


class Sheet(NamedTuple):
    """A figure with its marks."""

    figure: "Figure"
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A figure, its heading, the table of the numbers in it, a caption, the marks with their
    values, and the axis along which these are followed.

    picture: what is seen, in words, such as "Coloured tiles". again: draws the same in the layout
    of the moment, with as many marks in the same order; None where there is one layout only.
    """

    kind: str
    picture: str
    figure: "Figure"
    title: str
    table: "DataFrame"
    caption: str
    marks: tuple[Mark, ...] = ()
    along: str = ""
    again: Callable[[], Sheet] | None = None

    @property
    def value_column(self) -> str:
        """The column of the table with the values that are seen."""
        return "ratio" if "ratio" in self.table else "mean"

    @property
    def values(self) -> "Series[float]":
        """The values that are seen."""
        return self.table[self.value_column].dropna()

    @property
    def description(self) -> str:
        """What is seen, in a sentence, for those who cannot see it."""
        values = self.values
        sentence = f"{self.title}. {self.picture} of {count(len(values), 'value')}"
        if len(values):
            sentence += f", from {number(values.min(), 3)} to {number(values.max(), 3)}"
        return f"{sentence}.{self._course()}"

    def _course(self) -> str:
        """How values change from the first to the last position along the abscissa, in the middle
        over the curves.
        """
        if self.along not in self.table or not is_numeric(self.table, self.along):
            return ""
        name = self.value_column
        cells = self.table.dropna(subset=[name, self.along])
        medians = cells.groupby(self.along)[name].median()
        if len(medians) < 2:
            return ""
        return f" The median goes from {self._median(medians, 0)} to {self._median(medians, -1)}."

    def _median(self, medians: "Series[float]", place: int) -> str:
        """One median with its position: `0.52 at m = 10`."""
        position = number(shortened(medians.index[place]), 4)
        return f"{number(medians.iloc[place], 3)} at {symbol(self.along)} = {position}"


def shown_part(data: xr.Dataset, spec: Spec) -> xr.Dataset:
    """The part of a dataset that a figure shows: over its axes (and replications), each in grid
    order.
    """
    data = data.sel(spec.select)
    others = [name for name in data.dims if name not in spec.drawn and name != REPLICATION]
    return data.isel(dict.fromkeys(others, 0))


def columns_of(summary: xr.Dataset, metric: str) -> xr.Dataset:
    """Mean, Monte Carlo error, interval and counts of one metric."""
    columns = {"mean": summary[metric]}
    for name in ERRORS:
        columns[name] = summary[f"{metric}_{name}"]
    columns["replications"] = summary[f"{metric}_n"]
    columns["n_run"] = summary["n_run"]
    return xr.Dataset(columns)


class Ratios(NamedTuple):
    """Ratios to a yardstick. columns: named as by `columns_of`.

    meaning: of the ratio, in words. predicted: what the yardstick is, in words.
    """

    columns: xr.Dataset
    meaning: str
    predicted: str


def ratios_of(results: xr.Dataset, summary: xr.Dataset, spec: Ratio | Map, power: float) -> Ratios:
    """The ratio of metric^power to its yardstick in every cell, as `risk_ratio` gives it."""
    assert spec.yardstick is not None
    confidence = summary.attrs["confidence"]
    ratio = risk_ratio(results, spec.metric, spec.yardstick, power, confidence)
    columns = ratio.rename(ratio="mean", pairs="replications").assign(n_run=summary["n_run"])
    measured = name_in_words(results, spec.metric)
    predicted = name_in_words(results, spec.yardstick)
    powers = {1.0: "", 2.0: "square of the "}
    raised = powers.get(power, f"power {power:g} of the ") + measured
    return Ratios(
        columns[["mean", *ERRORS, "replications", "n_run"]],
        f"mean of the {raised} over the mean of the {predicted}",
        predicted,
    )


def name_in_words(data: xr.Dataset, name: str) -> str:
    """What a variable of a dataset means; its symbol where it does not say so."""
    meaning: str = data[name].attrs.get("long_name", symbol(name))
    return meaning


def tabulate(values: xr.Dataset, data: xr.Dataset, spec: Spec) -> "DataFrame":
    """One row per cell: axes, position, values, then the reference, if any.

    Cells that were not run are left out.
    """
    axes = [*spec.drawn[1:], spec.along]
    added = {name: data[name] for name in (spec.position, *spec.beside) if name not in axes}
    whole = values.reset_coords(drop=True).assign(added)
    table = whole.to_dataframe(dim_order=axes).reset_index()
    was_run = table.pop("n_run") > 0
    names = dict.fromkeys((*axes, spec.position, *values.data_vars, *spec.beside))
    columns = [name for name in names if name in table]
    return table.loc[was_run, columns].reset_index(drop=True)


def ordered(table: "DataFrame", data: xr.Dataset, name: str) -> list[Any]:
    """Levels that occur in a column: numbers ascending, names in the order of the grid."""
    occurring = list(dict.fromkeys(table[name].tolist()))
    if is_numeric(table, name):
        return sorted(occurring)
    in_grid_order = dict.fromkeys(data[name].values.ravel().tolist())
    return [level for level in in_grid_order if level in occurring]


def is_numeric(table: "DataFrame", name: str) -> bool:
    """Whether a column holds numbers, and not names."""
    return table[name].dtype.kind in "iuf"


def positions(table: "DataFrame", data: xr.Dataset, name: str) -> Floats:
    """(rows,) a column as numbers along an axis of a figure; names are at 0, 1, 2, …"""
    column = table[name]
    if not is_numeric(table, name):
        column = column.map(ordered(table, data, name).index)
    numbers: Floats = column.to_numpy(float)
    return numbers


def varying(table: "DataFrame", spec: Spec) -> list[str]:
    """Columns that tell the cells of a figure apart: axes and positions of several levels."""
    names = dict.fromkeys((*spec.drawn[1:], spec.along, spec.position))
    return [name for name in names if name in table and table[name].nunique() > 1]


def values_in_words(rows: "DataFrame", names: list[str]) -> Iterator[str]:
    """Of each row its labels, value and interval: `m = 10, L = 100: 0.52 [0.51, 0.53]`."""
    for row in rows.to_dict("records"):
        cell = levels({name: shortened(row[name]) for name in names})
        value = with_interval(row["mean"], row["low"], row["high"])
        yield f"{cell}: {value}" if cell else value


def shortened(level: object) -> object:
    """A level as it is read from an axis: fractions to four digits."""
    if isinstance(level, float) and abs(level) < 1e4:
        return float(f"{level:.4g}")
    return level
