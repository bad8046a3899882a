"""Results as files of other programs: tidy tables as CSV or Parquet, or the dataset as netCDF.

A table has one row for each replication of each cell, or in a summary for each metric of each cell.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from pipeline.analysis.control_variates import controlled
from pipeline.analysis.summary import REPLICATION, summarise
from pipeline.study.files import write_whole
from pipeline.study.parameters import InvalidInput, path_of
from pipeline.study.untyped import LoadedTable
from pipeline.workflow.compare import opened_studies
from pipeline.workflow.settings import Storage

TASK = "export"
TABLES = ("replications", "summary")
COLUMNS = ("mean", "mcse", "low", "high")  # of a metric in a summary; the mean has its plain name
COUNTS = ("n_run", "n_ok", "n_not_converged", "n_failed", "n_not_finite")  # of a cell
CONFIDENCE = 0.95  # of the intervals of a summary


def export(outputs: Path, names: str | None, storage: Storage, save: str, table: str) -> Path:
    """Write a table of a finished study to a file; returns its path. table: one of TABLES.

    Raises InvalidInput for a study that is not there, and for a file of no known kind.
    """
    if table not in TABLES:
        raise InvalidInput("table", table, f"must be one of {', '.join(TABLES)}")
    path = _path(save)
    [data] = opened_studies(outputs, names, storage, TASK, 1).values()
    if table == "summary":
        data = summarise(data, CONFIDENCE).assign(controlled(data, CONFIDENCE))
    write(data, save)
    return path


def write(data: xr.Dataset, save: str) -> None:
    """Write a dataset of this program: as a tidy table (.csv, .parquet), or as netCDF (.nc).

    Raises InvalidInput for a file of another kind, or where a package for it is missing.
    """
    path = _path(save)
    _WRITERS[path.suffix.lower()](data, path)


def tidy(data: xr.Dataset) -> LoadedTable:
    """The table of pandas that a dataset of this program is, axes first.

    Results: a row for each replication that was run, with its status in words. Summaries: a row for
    each metric of each cell. Others, as boundaries: a row for each cell.

    >>> cells = xr.Dataset({"loss": ("m", [0.5]), "loss_mcse": ("m", [0.1])}, {"m": [4]})
    >>> tidy(cells).to_dict("records")
    [{'m': 4, 'metric': 'loss', 'mean': 0.5, 'mcse': 0.1}]
    """
    if "status" in data and REPLICATION in data["status"].dims:
        return _replications(data)
    if any(str(name).endswith("_mcse") for name in data.data_vars):
        return _summary(data)
    return data.to_dataframe().reset_index()


def with_plain_attributes(data: xr.Dataset) -> xr.Dataset:
    """The dataset whose attributes are texts and numbers, as netCDF takes them: JSON for others.

    >>> with_plain_attributes(xr.Dataset(attrs={"files": {"a": "b"}, "cells": 4})).attrs
    {'files': '{"a": "b"}', 'cells': 4}
    """
    attributes = {}
    for name, value in data.attrs.items():
        is_nested = isinstance(value, (Mapping, list, tuple))
        attributes[name] = json.dumps(value, sort_keys=True) if is_nested else value
    plain = data.copy(deep=False)
    plain.attrs = attributes
    return plain


def _replications(data: xr.Dataset) -> LoadedTable:
    """A row for each replication that was run."""
    names = data["status"].attrs["flag_meanings"].split()
    on_all_axes = [name for name in data.data_vars if data[name].dims == data["status"].dims]
    axes = [*data["status"].dims]
    table = data[on_all_axes].load().to_dataframe(dim_order=axes).reset_index()
    status = table["status"].to_numpy()
    table["status"] = np.array(names, object)[status]
    return table[status > 0].reset_index(drop=True)


def _summary(data: xr.Dataset) -> LoadedTable:
    """A row for each metric of each cell."""
    errors = [str(name) for name in data.data_vars if str(name).endswith("_mcse")]
    metrics = [name.removesuffix("_mcse") for name in errors]
    counts = [name for name in COUNTS if name in data]
    parts = []
    for metric in metrics:
        sources = {column: f"{metric}_{column}" for column in COLUMNS}
        sources["mean"] = metric
        there = {column: source for column, source in sources.items() if source in data}
        columns = {column: data[source] for column, source in there.items()}
        columns |= {count: data[count] for count in counts}
        axes = [*data[metric].dims]
        table = xr.Dataset(columns).load().to_dataframe(dim_order=axes).reset_index()
        table.insert(len(axes), "metric", metric)
        parts.append(table)
    rows = parts[0].iloc[:0]
    joined: LoadedTable = type(rows)(
        {column: np.concatenate([part[column] for part in parts]) for column in rows.columns}
    )
    return joined


def _to_csv(data: xr.Dataset, path: Path) -> None:
    write_whole(path, tidy(data).to_csv(index=False, lineterminator="\n").encode())


def _to_parquet(data: xr.Dataset, path: Path) -> None:
    try:
        import fastparquet
    except ImportError:
        allowed = "needs the package fastparquet: pip install fastparquet; or save=….csv"
        raise InvalidInput("save", str(path), allowed) from None
    fastparquet.write(str(path), tidy(data))


def _to_netcdf(data: xr.Dataset, path: Path) -> None:
    with_plain_attributes(data).to_netcdf(path)


_WRITERS: dict[str, Callable[[xr.Dataset, Path], None]] = {
    ".csv": _to_csv,
    ".parquet": _to_parquet,
    ".nc": _to_netcdf,
}


def _path(save: str) -> Path:
    """The path of a file to write. Raises InvalidInput."""
    path = path_of(save, "save")
    if path.suffix.lower() not in _WRITERS or not path.absolute().parent.is_dir():
        kinds = ", ".join(_WRITERS)
        raise InvalidInput("save", save, f"must be a file that ends with {kinds}, in a folder")
    return path
