"""Sentences of a caption: what the bars are, what is not drawn, what is fixed, what the symbols
mean.
"""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from pipeline.analysis.order_sums import CONFIDENCE
from pipeline.reporting.formatting import (
    capitalised,
    count,
    glossary,
    levels,
    number,
    percent,
    symbol,
)
from pipeline.reporting.specs import Spec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


def caption(spec: Spec, data: xr.Dataset, *sentences: str) -> str:
    """The caption: the config's text, the sentences, the marks, the fixed axes, the meaning of the
    symbols.
    """
    symbols = [name for name in spec.drawn if name != spec.position]
    meanings = glossary(data[name] for name in dict.fromkeys(symbols))
    parts = (spec.caption, *sentences, _marks(spec), _fixed(spec, data), meanings)
    return " ".join(filter(None, parts))


def _fixed(spec: Spec, data: xr.Dataset) -> str:
    """At which level an axis is fixed; empty if none is."""
    if not spec.select:
        return ""
    fixed = {name: data[name].item() for name in spec.select}
    return f"Fixed: {levels(fixed)}."


def shown(summary: xr.Dataset, metric: str, label: str) -> str:
    """What a figure of a summary shows of a metric: its mean, or the statistic that it is."""
    if "statistic" in summary[metric].attrs:
        return capitalised(label)
    return f"Mean of the {label}"


def bars_of(summary: xr.Dataset, metric: str, table: "DataFrame", axes: "Axes") -> str:
    """What the bars are of a column of a summary: of a mean, or of a statistic such as a median."""
    attributes = summary[metric].attrs
    confidence = summary.attrs["confidence"]
    if "statistic" not in attributes:
        return bars(table, confidence, axes)
    of = f"the {attributes['statistic']}"
    return bars(table, CONFIDENCE, axes, of, attributes["interval"])


def bars(
    table: "DataFrame",
    confidence: float,
    axes: "Axes",
    of: str = "the mean",
    remark: str = "corrected for skewness",
) -> str:
    """What the bars in `axes` are, over how many replications, and whether they can be seen."""
    finite = table[np.isfinite(table["mean"])]
    if not len(finite):
        return "No cell has a value."
    if finite["replications"].max() < 2:
        return "One replication per cell: no intervals."
    if _some_agree(finite):
        remark += "; exact where they all agree"
    sentence = (
        f"Bars: {percent(confidence)} confidence interval of {of} over {replications(finite)} "
        f"replications ({remark})"
    )
    if _are_hidden(table, axes):
        sentence += "; most are shorter than the marks"
    return f"{sentence}."


def replications(table: "DataFrame") -> str:
    """How many there are in a cell: `40`, or `38 to 40`."""
    least = int(table["replications"].min())
    most = int(table["replications"].max())
    if least == most:
        return f"{most:,}"
    return f"{least:,} to {most:,}"


def missing(table: "DataFrame", drawn: str = "not drawn") -> str:
    """How many cells have no value, and how they are drawn; empty if none."""
    lost = int((~np.isfinite(table["mean"])).sum())
    if not lost:
        return ""
    return f"{count(lost, 'cell')} of {len(table):,} without a value: {drawn}."


def _some_agree(table: "DataFrame") -> bool:
    """Whether some cell's replications all have one value, and its interval a width: see
    `analysis.summary`.
    """
    if "mcse" not in table:
        return False
    agree = (table["mcse"] == 0) & (table["high"] > table["low"])
    return bool(agree.any())


def _are_hidden(table: "DataFrame", axes: "Axes") -> bool:
    """Whether half of the bars are shorter than a mark is high (5 points)."""
    scaled = axes.yaxis.get_transform().transform
    low = table["low"].to_numpy(float)
    high = table["high"].to_numpy(float)
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
    lines = []
    for name, at in spec.thin_lines.items():
        place = f"{symbol(spec.position)} = {number(at, 4)}"
        is_named = name != number(at, 4)
        lines.append(f"{name}, {place}" if is_named else place)
    if not lines:
        return ""
    heading = "Thin line" if len(lines) == 1 else "Thin lines"
    return f"{heading}: {'; '.join(lines)}."
