"""Sentences of a caption: what the bars are, what is not drawn, what is fixed, what the symbols
mean.
"""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pipeline.reporting.formatting import count, glossary, levels, number, percent, symbol
from pipeline.reporting.specs import Spec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


def caption(spec: Spec, data: xr.Dataset, *sentences: str) -> str:
    """The caption: the config's text, the sentences, the marks, the fixed axes, the meaning of the
    symbols.
    """
    fixed = {name: data[name].item() for name in spec.select}
    names = dict.fromkeys((*spec.drawn, spec.position))
    legend = glossary(data[name] for name in names if name != spec.position)
    parts = (
        spec.caption,
        *sentences,
        _marks(spec),
        f"Fixed: {levels(fixed)}." if fixed else "",
        legend,
    )
    return " ".join(part for part in parts if part)


def bars(table: "DataFrame", confidence: float, axes: "Axes", of: str = "the mean") -> str:
    """What the bars in `axes` are, over how many replications, and whether they can be seen."""
    finite = table[np.isfinite(table["mean"])]
    if not len(finite):
        return "No cell has a value."
    if finite["replications"].max() < 2:
        return "One replication per cell: no intervals."
    hidden = "; most are shorter than the marks" if _are_hidden(table, axes) else ""
    exact = "; exact where they all agree" if _some_agree(finite) else ""
    return (
        f"Bars: {percent(confidence)} confidence interval of {of} over {replications(finite)} "
        f"replications (corrected for skewness{exact}){hidden}."
    )


def replications(table: "DataFrame") -> str:
    """How many there are in a cell: `40`, or `38 to 40`."""
    least = int(table["replications"].min())
    most = int(table["replications"].max())
    return f"{least:,} to {most:,}" if least < most else f"{most:,}"


def missing(table: "DataFrame", drawn: str = "not drawn") -> str:
    """How many cells have no value, and how they are drawn; empty if none."""
    lost = int((~np.isfinite(table["mean"])).sum())
    return f"{count(lost, 'cell')} of {len(table):,} without a value: {drawn}." if lost else ""


def _some_agree(table: "DataFrame") -> bool:
    """Whether some cell's replications all have one value, and its interval a width: see
    `analysis.summary`.
    """
    return "mcse" in table and bool(((table["mcse"] == 0) & (table["high"] > table["low"])).any())


def _are_hidden(table: "DataFrame", axes: "Axes") -> bool:
    """Whether half of the bars are shorter than a mark is high (5 points)."""
    scaled = axes.yaxis.get_transform().transform
    low, high = (table[name].to_numpy(float) for name in ("low", "high"))
    good = np.isfinite(low) & np.isfinite(high) & ((low > 0) | (axes.get_yscale() == "linear"))
    bottom, top = scaled(np.array(axes.get_ylim()))
    share = (scaled(high[good]) - scaled(low[good])) / (top - bottom)
    figure = axes.get_figure(root=True)
    gridspec = axes.get_gridspec()
    assert figure is not None and gridspec is not None
    inches = figure.get_size_inches()[1] / gridspec.nrows
    return bool(good.any()) and float(np.median(share)) * inches * 72 < 5


def _marks(spec: Spec) -> str:
    """What the thin lines at `marks` are; empty without."""
    marks = getattr(spec, "marks", {})
    named = (
        f"{name}, {symbol(spec.position)} = {number(at, 4)}"
        if name != number(at, 4)
        else f"{symbol(spec.position)} = {name}"
        for name, at in marks.items()
    )
    return f"Thin line{'s' * (len(marks) > 1)}: {'; '.join(named)}." if marks else ""
