"""Tables of a report as CSV files: every cell and metric of its studies."""

import itertools
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import xarray as xr

from pipeline.study.texts import cell

if TYPE_CHECKING:
    from pandas import DataFrame

COUNTS = ("n_run", "n_ok", "n_not_converged", "n_failed", "n_not_finite")
ENDS = ("mcse", "low", "high", "least", "most")


def csv_of(table: "DataFrame") -> bytes:
    """A table as a CSV file that spreadsheets open safely: see `cell` for its texts.

    Numbers stay numbers.
    """
    safe = table.rename(columns=cell)
    for position, kind in enumerate(safe.dtypes):
        column = safe.iloc[:, position]
        if kind.kind not in "biufcM":
            safe.isetitem(position, column.map(cell))
    content: str = safe.to_csv(index=False)
    return content.encode()


def metrics(summary: xr.Dataset) -> list[str]:
    """Names of the metrics in a summary."""
    return [name for name in map(str, summary.data_vars) if f"{name}_mcse" in summary]


def summary_table(section: str, summary: xr.Dataset) -> "DataFrame":
    """One row per cell that was run and metric: labels, derived parameters, mean, error, interval,
    counts.
    """
    import pandas

    axes = list(summary["n_run"].dims)
    derived = [name for name in summary.coords if name not in axes]
    frames = [_of_metric(summary, name, [*axes, *derived]) for name in metrics(summary)]
    if not frames:
        return pandas.DataFrame({"section": []})
    # whole numbers stay whole in a union
    frames = [frame.astype(dict.fromkeys(axes, object)) for frame in frames]
    table = pandas.concat(frames, ignore_index=True)
    table.insert(0, "section", section)
    return table


def _of_metric(summary: xr.Dataset, metric: str, labels: "list[Hashable]") -> "DataFrame":
    """One row per cell that was run: its labels, then the metric's numbers."""
    columns = {"mean": summary[metric]}
    for end in ENDS:
        columns[end] = summary[f"{metric}_{end}"]
    columns["values"] = summary[f"{metric}_n"]
    for name in COUNTS:
        columns[name] = summary[name]
    axes = list(summary["n_run"].dims)
    frame = xr.Dataset(columns).to_dataframe(dim_order=axes).reset_index()
    frame = frame[frame["n_run"] > 0][[*labels, *columns]]
    frame.insert(len(labels), "metric", metric)
    frame.insert(len(labels) + 1, "unit", summary[metric].attrs.get("units", "1"))
    return frame


def union(tables: "Sequence[DataFrame]") -> "DataFrame":
    """Tables one below the other, with the columns of all of them.

    Columns that every table has stand last.
    """
    import pandas

    names = dict.fromkeys(itertools.chain.from_iterable(tables))
    shared = []
    others = []
    for name in names:
        is_shared = name != "section" and all(name in table for table in tables)
        if is_shared:
            shared.append(name)
        else:
            others.append(name)
    whole = pandas.concat([table.astype(object) for table in tables], ignore_index=True)
    return whole[[*others, *shared]]
