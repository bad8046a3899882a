"""`task=compare`: the same metrics of two finished studies, cell by cell, with intervals of the
differences.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from pipeline.reporting.formatting import count
from pipeline.storage.folder import Folder
from pipeline.storage.results import SEALED, load_from
from pipeline.storage.schemes import check_url, open_backend
from pipeline.study.arrays import Array
from pipeline.study.parameters import InvalidInput
from pipeline.study.status import FAILED
from pipeline.study.untyped import CellLabels
from pipeline.workflow.settings import Storage
from pipeline.workflow.shelf import Shelved, named, names_in
from pipeline.workflow.variants import of_descriptions

CONFIDENCE = 0.95  # of all intervals of one metric together
AGAIN = "task=verify repair=true removes it, and run of that study makes it again"
FOLDERS = Storage()


@dataclass(frozen=True)
class CellDifference:
    """By how much a cell's mean in the first study exceeds that in the second.

    labels: axis -> level. low, high: of the interval.
    """

    labels: CellLabels
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class MetricDifference:
    """How a metric differs. label, unit: of it. values: mean, mcse, low and high in every cell."""

    metric: str
    label: str
    unit: str
    values: xr.Dataset

    @property
    def _known(self) -> Array:
        """(axes…) whether a cell has a difference."""
        known: Array = np.isfinite(self.values["mean"].values)
        return known

    @property
    def known(self) -> int:
        """How many cells have a difference."""
        return int(self._known.sum())

    @property
    def apart(self) -> int:
        """How many cells differ: their intervals, which hold together, exclude 0."""
        excluded = (self.values["low"].values > 0) | (self.values["high"].values < 0)
        return int((self._known & excluded).sum())

    def furthest(self, most: int) -> list[CellDifference]:
        """The cells that differ by most standard errors; as many as `most`."""
        mean = self.values["mean"]
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.abs(mean.values / self.values["mcse"].values)
        errors = np.nan_to_num(errors, nan=-1.0, posinf=1e300)
        cells = []
        for index in np.argsort(-errors, axis=None, kind="stable")[:most]:
            place = np.unravel_index(int(index), errors.shape)
            if self._known[place]:
                cells.append(self._cell(dict(zip(mean.dims, map(int, place), strict=True))))
        return cells

    def _cell(self, place: Mapping[Any, int]) -> CellDifference:
        """The difference in one cell. place: axis -> position."""
        cell = self.values.isel(place)
        labels = {str(axis): cell[axis].item() for axis in self.values["mean"].dims}
        return CellDifference(labels, float(cell["mean"]), float(cell["low"]), float(cell["high"]))


@dataclass(frozen=True)
class Comparison:
    """How two studies differ, the first less the second. first, second: their names.

    cells: how many they have in common. left_out: what only one of them has, in words. paired:
    whether both drew from the same streams of random numbers, replication by replication. variants:
    of both what differs from the experiment, in words.
    """

    first: str
    second: str
    cells: int
    left_out: Sequence[str]
    paired: bool
    metrics: Sequence[MetricDifference]
    variants: tuple[str, str] = ("", "")


def compare(outputs: Path, names: str | None, storage: Storage = FOLDERS) -> Comparison:
    """How two studies differ. names: theirs, with a comma between.

    storage: with a url the studies lie in a bucket. Raises InvalidInput for a study that is not
    there or not sealed, and for studies with other axes.
    """
    opened = opened_studies(outputs, names, storage, "compare", 2)
    first_name, second_name = opened
    both = f"{first_name},{second_name}"
    first, second, left_out = _together(opened[first_name], opened[second_name], both)
    metrics = [name for name in map(str, first.data_vars) if name != "status" and name in second]
    if not metrics or not all(first.sizes.values()):
        raise InvalidInput("studies", both, "have no cell or no metric in common")
    paired = shares_streams(first, second)
    return Comparison(
        first=first_name,
        second=second_name,
        cells=_cells(first),
        left_out=left_out,
        paired=paired,
        metrics=[_metric(first, second, metric, paired) for metric in metrics],
        variants=_variants(opened),
    )


def _variants(opened: Mapping[str, xr.Dataset]) -> tuple[str, str]:
    """What each of two studies differs in, in words, by the descriptions in their results."""
    descriptions = {name: json.loads(dataset.attrs["study"]) for name, dataset in opened.items()}
    first, second = of_descriptions(descriptions).values()
    return first, second


def _metric(first: xr.Dataset, second: xr.Dataset, metric: str, paired: bool) -> MetricDifference:
    """How one metric differs."""
    attributes = first[metric].attrs
    return MetricDifference(
        metric=metric,
        label=str(attributes.get("long_name", metric)),
        unit=str(attributes.get("units", "1")),
        values=difference(first, second, metric, paired),
    )


def _cells(data: xr.Dataset) -> int:
    """How many cells a dataset has."""
    return int(np.prod([size for name, size in data.sizes.items() if name != REPLICATION]))


def opened_studies(
    outputs: Path, names: str | None, storage: Storage, task: str, how_many: int
) -> dict[str, xr.Dataset]:
    """The sealed results of the studies that a command names. Raises InvalidInput."""
    if storage.url is None:
        studies = named(outputs, names, task, how_many)
        return {study.name: _opened(study) for study in studies}
    return {name: _opened_in_bucket(storage, name) for name in names_in(names, task, how_many)}


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
    first: xr.Dataset, second: xr.Dataset, names: str
) -> tuple[xr.Dataset, xr.Dataset, list[str]]:
    """Both on the cells that they have in common, and what was left out.

    An axis of one alone must have one level.
    """
    first = _on_axes_of(second, first, names)
    second = _on_axes_of(first, second, names)
    left_out = []
    for axis in [axis for axis in first.dims if axis != REPLICATION]:
        of_first = first[axis].values.tolist()
        of_second = second[axis].values.tolist()
        shared = [level for level in of_first if level in of_second]
        lost = len({*of_first, *of_second}) - len(shared)
        if lost:
            left_out.append(f"{count(lost, 'level')} of {axis} in one of them only")
        first = first.sel({axis: shared})
        second = second.sel({axis: shared})
    return first, second.transpose(*first.dims), left_out


def _on_axes_of(other: xr.Dataset, data: xr.Dataset, names: str) -> xr.Dataset:
    """Results without the axes that others lack; InvalidInput where these have several levels."""
    lacking = [axis for axis in data.dims if axis not in other.dims]
    for axis in lacking:
        if data.sizes[axis] > 1:
            raise InvalidInput(
                "studies",
                names,
                f"axis {axis} has {data.sizes[axis]} levels in one of them and is "
                "no axis of the other: compare studies with the same axes",
            )
    return data.squeeze(lacking, drop=True)


def shares_streams(first: xr.Dataset, second: xr.Dataset) -> bool:
    """Whether replication k of a cell drew from the same streams in both: the same seed, block and
    axes.
    """
    identity = json.loads(first.attrs["study"])
    other = json.loads(second.attrs["study"])
    return all(identity[name] == other[name] for name in ("seed", "block", "axes"))


def difference(first: xr.Dataset, second: xr.Dataset, metric: str, paired: bool) -> xr.Dataset:
    """mean, mcse, low and high of the difference of means in every cell.

    The intervals hold together.

    Paired: t intervals of the differences of replications. Otherwise by Welch, with one less
    than the fewer replications as degrees of freedom: such intervals are rather too wide than
    too narrow.
    """
    confidence = 1 - (1 - CONFIDENCE) / max(_cells(first), 1)
    both = (_alone(first, metric), _alone(second, metric))
    if paired:
        least = min(data.sizes[REPLICATION] for data in both)
        joined: xr.Dataset = xr.concat(
            [data.isel({REPLICATION: slice(least)}) for data in both],
            xr.Variable("study", ["first", "second"]),
            join="override",
            combine_attrs="override",
        )
        return paired_difference(joined, metric, "study", "first", "second", confidence).compute()
    first_mean, first_error, first_n = mean_over_replications(_good(first, metric))
    second_mean, second_error, second_n = mean_over_replications(_good(second, metric))
    mean: xr.DataArray = first_mean - second_mean
    mcse: xr.DataArray = (first_error**2 + second_error**2) ** 0.5
    fewer = first_n.where(first_n < second_n, second_n)
    low, high = t_interval(mean, mcse, fewer, confidence)
    return xr.Dataset(dict(mean=mean, mcse=mcse, low=low, high=high)).compute()


def _alone(data: xr.Dataset, metric: str) -> xr.Dataset:
    """One metric and the status of each replication, without the other variables of the results."""
    return data[[metric, "status"]].reset_coords(drop=True)


def _good(data: xr.Dataset, metric: str) -> xr.DataArray:
    """A metric, NaN in replications that are missing or failed."""
    alone = _alone(data, metric)
    return alone[metric].where(~alone["status"].isin([0, FAILED]))
