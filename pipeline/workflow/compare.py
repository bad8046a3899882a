"""`task=compare`: the same metrics of two finished studies, cell by cell, with intervals of the
differences.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from pipeline.analysis.summary import (
    REPLICATION,
    mean_over_replications,
    paired_difference,
    t_interval,
)
from pipeline.cli.exit_codes import EXIT_DONE
from pipeline.reporting.formatting import count, levels, number
from pipeline.storage.folder import Folder
from pipeline.storage.results import SEALED, load_from
from pipeline.storage.schemes import check_url, open_backend
from pipeline.study.parameters import InvalidInput, printable
from pipeline.study.status import FAILED
from pipeline.workflow.settings import Storage
from pipeline.workflow.shelf import Shelved, asked_for, named

CONFIDENCE = 0.95  # of all intervals of one metric together
AGAIN = "task=verify repair=true removes it, and run of that study makes it again"
MOST = 5  # cells shown of a metric
FOLDERS = Storage()


def compare(outputs: Path, names: str | None, storage: Storage = FOLDERS) -> int:
    """Print how two studies differ, the first less the second; returns the exit code.

    Raises InvalidInput.

    storage: with a url the studies lie in a bucket.
    """
    if storage.url is None:
        opened = {study.name: _opened(study) for study in named(outputs, names, "compare", 2)}
    else:
        opened = {name: _opened_in_bucket(storage, name) for name in asked_for(names, "compare", 2)}
    (first, one), (second, other) = opened.items()
    one, other, left = _together(one, other, f"{first},{second}")
    metrics = [name for name in map(str, one.data_vars) if name != "status" and name in other]
    if not metrics or not all(one.sizes.values()):
        raise InvalidInput("studies", f"{first},{second}", "have no cell or no metric in common")
    print(f"{first} less {second}")
    cells = int(np.prod([size for name, size in one.sizes.items() if name != REPLICATION]))
    print(f"{count(cells, 'cell')} in common" + "".join(f"; {text}" for text in left))
    paired = shares_streams(one, other)
    print(
        "paired replication by replication: both drew from the same streams of random numbers"
        if paired
        else "not paired: seed, block or axes differ, so each has random numbers of its own"
    )
    for metric in metrics:
        for line in _lines(difference(one, other, metric, paired), one[metric], cells):
            print(printable(line))
    return EXIT_DONE


def _opened(study: Shelved) -> xr.Dataset:
    if study.state != "sealed":
        raise InvalidInput(
            "studies", study.name, f"is {study.state}: only sealed results can be compared"
        )
    try:
        return load_from(Folder(study.path), SEALED, "studies", study.name, AGAIN)
    except InvalidInput:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInput(
            "studies", study.name, f"cannot be read ({error}); task=verify checks it"
        ) from None


def _opened_in_bucket(storage: Storage, name: str) -> xr.Dataset:
    """The sealed results of a study in a bucket, by the last two names of its address, as
    task=status prints it.
    """
    try:
        backend = open_backend(check_url(f"{storage.url}/{name}"), storage.timeout)
    except InvalidInput:
        raise InvalidInput("studies", name, "is no name of a study") from None
    backend.check()
    if backend.stamp(f"{SEALED}/zarr.json") is None:
        raise InvalidInput(
            "studies",
            name,
            f"has no sealed results in {storage.url}; task=status prints the "
            "addresses of studies, which end with their names",
        )
    return load_from(backend, SEALED, "studies", name, AGAIN)


def _together(
    one: xr.Dataset, other: xr.Dataset, names: str
) -> tuple[xr.Dataset, xr.Dataset, list[str]]:
    """Both on the cells that they have in common, and what was left out.

    An axis of one alone must have one level.
    """
    left = []
    for data, beside in ((one, other), (other, one)):
        for axis in set(data.dims) - set(beside.dims):
            if data.sizes[axis] > 1:
                raise InvalidInput(
                    "studies",
                    names,
                    f"axis {axis} has {data.sizes[axis]} levels in one of them and is "
                    "none of the other: compare studies with the same axes",
                )
    one, other = (
        data.squeeze([axis for axis in data.dims if axis not in beside.dims], drop=True)
        for data, beside in ((one, other), (other, one))
    )
    axes = [axis for axis in one.dims if axis != REPLICATION]
    for axis in axes:
        own = one[axis].values.tolist()
        others = other[axis].values.tolist()
        shared = [level for level in own if level in others]
        if lost := len({*own, *others}) - len(shared):
            left.append(f"{lost} level{'s' * (lost > 1)} of {axis} in one of them only")
        one = one.sel({axis: shared})
        other = other.sel({axis: shared})
    return one, other.transpose(*one.dims), left


def shares_streams(one: xr.Dataset, other: xr.Dataset) -> bool:
    """Whether replication k of a cell drew from the same streams in both: the same seed, block and
    axes.
    """
    first, second = (json.loads(data.attrs["study"]) for data in (one, other))
    return all(first[name] == second[name] for name in ("seed", "block", "axes"))


def difference(one: xr.Dataset, other: xr.Dataset, metric: str, paired: bool) -> xr.Dataset:
    """mean, mcse, low and high of the difference of means in every cell.

    The intervals hold together.

    Paired: t intervals of the differences of replications. Otherwise by Welch, with the fewer
    replications less one as degrees of freedom, which is at most too wide.
    """
    cells = int(np.prod([size for name, size in one.sizes.items() if name != REPLICATION]))
    confidence = 1 - (1 - CONFIDENCE) / max(cells, 1)
    both: list[xr.Dataset] = [
        data[[metric, "status"]].reset_coords(drop=True) for data in (one, other)
    ]
    if paired:
        least = min(data.sizes[REPLICATION] for data in both)
        joined: xr.Dataset = xr.concat(
            [data.isel({REPLICATION: slice(least)}) for data in both],
            xr.Variable("study", ["first", "second"]),
            join="override",
            combine_attrs="override",
        )
        return paired_difference(joined, metric, "study", "first", "second", confidence).compute()
    used = (data[metric].where(~data["status"].isin([0, FAILED])) for data in both)
    moments = [mean_over_replications(values) for values in used]
    mean: xr.DataArray = moments[0][0] - moments[1][0]
    mcse: xr.DataArray = (moments[0][1] ** 2 + moments[1][1] ** 2) ** 0.5
    n = moments[0][2]
    other_n = moments[1][2]
    fewer = n.where(n < other_n, other_n)
    low, high = t_interval(mean, mcse, fewer, confidence)
    return xr.Dataset(dict(mean=mean, mcse=mcse, low=low, high=high)).compute()


def _lines(found: xr.Dataset, metric: xr.DataArray, cells: int) -> Iterator[str]:
    """How many cells differ, and those that differ by most standard errors."""
    known = np.isfinite(found["mean"].values)
    apart = known & ((found["low"].values > 0) | (found["high"].values < 0))
    label = metric.attrs.get("long_name", metric.name)
    unit = metric.attrs.get("units", "1")
    yield f"{metric.name}: {label}" + (f" ({unit})" if unit != "1" else "")
    yield (
        f"  {int(apart.sum()):,} of {int(known.sum()):,} cells differ at {100 * CONFIDENCE:g} % "
        "confidence for all together"
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.nan_to_num(
            np.abs(found["mean"].values / found["mcse"].values), nan=-1.0, posinf=1e300
        )
    for index in np.argsort(-far, axis=None, kind="stable")[:MOST]:
        at = np.unravel_index(int(index), far.shape)
        if known[at]:
            one = found.isel(dict(zip(found["mean"].dims, map(int, at), strict=True)))
            labels: dict[str, Any] = {str(axis): one[axis].item() for axis in found["mean"].dims}
            mean, low, high = (number(float(one[name]), 3) for name in ("mean", "low", "high"))
            yield f"  {levels(labels)}: {mean} [{low}, {high}]"
    if cells > MOST:
        yield f"  the {MOST} of {cells:,} cells that differ by most standard errors"
