"""The cells that a figure draws, as one table: what is drawn is what the CSV file says."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from pipeline.reduce.ratio import risk_ratio
from pipeline.reduce.summary import REPLICATION
from pipeline.report.specs import Spec
from pipeline.report.words import count, glossary, levels, number, percent, symbol

COLUMNS = ("mean", "mcse", "low", "high")


@dataclass(frozen=True)
class Drawing:
    """A figure (Matplotlib), its heading, the numbers in it (pandas) and a caption in plain words."""

    kind: str
    figure: Any
    title: str
    table: Any
    caption: str


def held(data: xr.Dataset, spec: Spec) -> xr.Dataset:
    """The part of a dataset that a figure shows: over its axes (and replications), each in grid order."""
    data = data.sel(spec.select)
    alone = [d for d in data.dims if d not in spec.drawn and d != REPLICATION]
    return data.isel(dict.fromkeys(alone, 0))


def columns_of(summary: xr.Dataset, metric: str) -> xr.Dataset:
    """Mean, Monte Carlo error, interval and counts of one metric."""
    columns = {name: summary[metric if name == "mean" else f"{metric}_{name}"] for name in COLUMNS}
    return xr.Dataset(columns | {"replications": summary[f"{metric}_n"], "n_run": summary["n_run"]})


def ratios_of(
    results: xr.Dataset, summary: xr.Dataset, spec: Any, power: float, confidence: float
) -> tuple[xr.Dataset, str, str]:
    """The columns of `risk_ratio`, named as by `columns_of`; the ratio in words; the yardstick in words."""
    ratio = risk_ratio(results, spec.metric, spec.yardstick, power, confidence)
    columns = ratio.rename(ratio="mean", pairs="replications").assign(n_run=summary["n_run"])
    measured, predicted = (results[name].attrs.get("long_name", symbol(name)) for name in (spec.metric, spec.yardstick))
    raised = {1: "", 2: "square of the "}.get(power, f"power {power:g} of the ") + measured
    words = f"mean of the {raised} over the mean of the {predicted}"
    return columns[[*COLUMNS, "replications", "n_run"]], words, predicted


def tabulate(values: xr.Dataset, data: xr.Dataset, spec: Spec) -> Any:
    """One row per cell: axes, position, values, then the reference, if any; cells that were not run are left out."""
    axes = [*spec.drawn[1:], spec.along]
    whole = values.reset_coords(drop=True)
    beside = [spec.reference] if getattr(spec, "reference", None) else []
    whole = whole.assign({name: data[name] for name in (spec.position, *beside) if name not in axes})
    table = whole.to_dataframe(dim_order=axes).reset_index()
    run = table.pop("n_run") > 0
    names = dict.fromkeys((*axes, spec.position, *values.data_vars, *beside))
    return table.loc[run, [name for name in names if name in table]].reset_index(drop=True)


def ordered(table: Any, data: xr.Dataset, name: str) -> list:
    """Levels that occur in a column: numbers ascending, names in the order of the grid."""
    found = list(dict.fromkeys(table[name].tolist()))
    if table[name].dtype.kind in "iuf":
        return sorted(found)
    return [level for level in dict.fromkeys(data[name].values.ravel().tolist()) if level in found]


def places(table: Any, data: xr.Dataset, name: str) -> np.ndarray:
    """Numbers of a column along an axis of a figure; names are put at 0, 1, 2, …"""
    if table[name].dtype.kind in "iuf":
        return table[name].to_numpy(float)
    order = ordered(table, data, name)
    return np.array([float(order.index(level)) for level in table[name]])


def bars(table: Any, confidence: float, axes: Any, of: str = "the mean") -> str:
    """What the bars in `axes` are, over how many replications, and whether they can be seen."""
    finite = table[np.isfinite(table["mean"])]
    if not len(finite):
        return "No cell has a value."
    if finite["replications"].max() < 2:
        return "One replication per cell: no intervals."
    hidden = "; most are shorter than the marks" if _hidden(table, axes) else ""
    over = replications(finite)
    alike = "; exact where they all agree" if _agree(finite) else ""
    return f"Bars: {percent(confidence)} confidence interval of {of} over {over} replications (t{alike}){hidden}."


def _agree(table: Any) -> bool:
    """Whether some cell's replications all have one value, and its interval a width: see `reduce.summary`."""
    return "mcse" in table and bool(((table["mcse"] == 0) & (table["high"] > table["low"])).any())


def replications(table: Any) -> str:
    """How many there are in a cell: `40`, or `38 to 40`."""
    least, most = int(table["replications"].min()), int(table["replications"].max())
    return f"{least:,} to {most:,}" if least < most else f"{most:,}"


def _hidden(table: Any, axes: Any) -> bool:
    """Whether half of the bars are shorter than a mark is high."""
    scaled = axes.yaxis.get_transform().transform
    low, high = (table[name].to_numpy(float) for name in ("low", "high"))
    good = np.isfinite(low) & np.isfinite(high) & ((low > 0) | (axes.get_yscale() == "linear"))
    bottom, top = scaled(np.array(axes.get_ylim()))
    share = (scaled(high[good]) - scaled(low[good])) / (top - bottom)
    inches = axes.figure.get_size_inches()[1] / axes.get_gridspec().nrows
    return bool(good.any()) and float(np.median(share)) * inches * 72 < 5


def missing(table: Any, drawn: str = "not drawn") -> str:
    """How many cells have no value, and how they are drawn; empty if none."""
    lost = int((~np.isfinite(table["mean"])).sum())
    return f"{count(lost, 'cell')} of {len(table):,} without a value: {drawn}." if lost else ""


def marked(spec: Spec) -> str:
    """What the thin lines at `marks` are; empty without."""
    marks = getattr(spec, "marks", {})
    found = (f"{name}, {symbol(spec.position)} = {number(at, 4)}" if name != number(at, 4) else
             f"{symbol(spec.position)} = {name}" for name, at in marks.items())
    return f"Thin line{'s' * (len(marks) > 1)}: {'; '.join(found)}." if marks else ""


def caption(spec: Spec, data: xr.Dataset, *sentences: str) -> str:
    """The caption: the config's words, the sentences, the marks, what is held, what the symbols mean."""
    fixed = {name: data[name].item() for name in spec.select}
    names = dict.fromkeys((*spec.drawn, spec.position))
    legend = glossary(data[name] for name in names if name != spec.position)
    parts = (spec.caption, *sentences, marked(spec), f"Held: {levels(fixed)}." if fixed else "", legend)
    return " ".join(part for part in parts if part)
