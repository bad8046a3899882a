"""The labelled datasets of a study while they are built: variables, still empty, with their coordinates."""

import hashlib
import itertools
import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.storage.backend import Backend
from pipeline.storage.layout import Layout, positions
from pipeline.study.checks import ROLES
from pipeline.study.parameters import arguments, fields, outcome
from pipeline.study.study import Study

if TYPE_CHECKING:  # imported where it is used: asking for the status must not wait for it
    import xarray as xr
    import zarr

REPLICATION = "replication"
ROLE_NAMES = {
    "model": {"long_name": "model of the data"},
    "mechanism": {"long_name": "privacy mechanism"},
    "estimator": {"long_name": "estimator"},
    REPLICATION: {"long_name": "number of the replication"},
}


class ZarrLocation(NamedTuple):
    """A Zarr group by its backend and key: its arrays, and the digests of its files."""

    backend: Backend
    key: str

    def array(self, name: str) -> "zarr.Array[Any]":
        """A variable, to be written region by region."""
        import zarr

        array = zarr.open_array(self.backend.zarr(f"{self.key}/{name}"), mode="r+")
        return array.with_config({"write_empty_chunks": True})

    def file_digest(self, path: str) -> str:
        """Digest of the content of a file, by its path within the group."""
        return file_digest(self.backend.read(f"{self.key}/{path}") or b"")


def file_digest(content: bytes) -> str:
    """Digest of the content of a file."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def template(study: Study, location: ZarrLocation) -> None:
    """Create the group with its coordinates and its variables, whose chunks are still empty. See `Layout`."""
    layout = Layout.of(study)
    group, own = _new_group(location, coordinates_of(study))
    for variable in (*study.metrics, "status"):
        status = variable == "status"
        group.create_array(
            variable, shape=(*layout.shape, layout.replications), dtype="i1" if status else "f8",
            fill_value=0 if status else np.nan, chunks=layout.chunk, shards=(*layout.cells, layout.length),
            compressors=_checked(), dimension_names=(*study.grid.axes, REPLICATION),
            attributes={**describe(study, variable), **own})


def across(metric: str, axis: str) -> str:
    """Name of the variable of summary.zarr that holds the moments of a metric for pairs of levels of an axis."""
    return f"{metric}_across_{axis}"


def summary_template(
    study: Study, location: ZarrLocation, statistics: tuple[str, ...], counts: tuple[str, ...], pair: tuple[str, ...]
) -> None:
    """Create the group of summary.zarr: (grid…, statistic) for every metric, (grid…, count) for the status.

    For every axis whose levels share their data also (grid…, other level, pair_statistic), see `across`.
    """
    import xarray as xr

    layout, axes = Layout.of(study), study.grid.axes
    coordinates = {name: one for name, one in coordinates_of(study).items() if name != REPLICATION}
    paired = [axis for k, axis in enumerate(axes) if k in layout.paired]
    labels = {"statistic": statistics, "count": counts, **({"pair_statistic": pair} if paired else {})}
    coordinates |= {name: xr.Variable((name,), np.array(one)) for name, one in labels.items()}
    coordinates |= {f"other_{axis}": xr.Variable((f"other_{axis}",), np.array(axes[axis]), coordinates[axis].attrs)
                    for axis in paired}
    group, own = _new_group(location, coordinates)
    for metric, axis in itertools.product(study.metrics, paired):
        more = (len(axes[axis]), len(pair))
        described = describe(study, metric)
        group.create_array(
            across(metric, axis), shape=(*layout.shape, *more), dtype="f8", fill_value=np.nan,
            chunks=(*layout.cells, *more), compressors=_checked(),
            dimension_names=(*axes, f"other_{axis}", "pair_statistic"),
            attributes={"units": described["units"], **own,
                        "long_name": f"{described['long_name']}, moments of pairs of levels of {axis}"})
    for variable in (*study.metrics, "status"):
        status = variable == "status"
        axis, names = ("count", counts) if status else ("statistic", statistics)
        group.create_array(
            variable, shape=(*layout.shape, len(names)), dtype="i8" if status else "f8",
            fill_value=0 if status else np.nan, chunks=(*layout.cells, len(names)), compressors=_checked(),
            dimension_names=(*study.grid.axes, axis), attributes={**describe(study, variable), **own})


def _new_group(location: ZarrLocation, coordinates: "Mapping[str, xr.Variable]") -> "tuple[zarr.Group, dict[str, str]]":
    """A group of coordinates only, and the attribute with which variables name the coordinates that are no axes."""
    import xarray as xr
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Zarr 3 has yet to specify its text type
        xr.Dataset(coords=coordinates).to_zarr(
            location.backend.zarr(location.key), mode="w", consolidated=False,
            encoding={name: {"compressors": _checked()} for name in coordinates})
    derived = " ".join(name for name in coordinates if coordinates[name].dims != (name,))
    group = zarr.open_group(location.backend.zarr(location.key), mode="r+")
    return group, {"coordinates": derived} if derived else {}


def _checked() -> list[Any]:
    """Every chunk carries a CRC-32C."""
    from zarr.codecs import Crc32cCodec

    return [Crc32cCodec()]


def _declared(study: Study) -> dict[str, Any]:
    parts = [study.part("metric", name) for name in study.metrics]
    for role in ROLES:
        names = study.grid.axes.get(role, (study.parameters.get(role),))
        parts += [study.part(role, name) for name in names]
    inputs = [arguments(function) for function, _ in study.derivations.values()]
    return {name: declared for group in (*inputs, *map(fields, parts)) for name, declared in group.items()}


def coordinates_of(study: Study) -> "dict[str, xr.Variable]":
    """Levels of the axes, replications, and derived parameters over the axes that they depend on."""
    import xarray as xr

    layout, declared, axes = Layout.of(study), _declared(study), study.grid.axes

    def about(name: str) -> dict[str, Any]:
        if name in declared:
            return {"long_name": declared[name].metadata["meaning"], "units": declared[name].metadata["unit"]}
        return outcome(study.derivations[name][0]) if name in study.derivations else ROLE_NAMES.get(name, {})

    coordinates = {axis: xr.Variable((axis,), np.array(levels), about(axis)) for axis, levels in axes.items()}
    coordinates[REPLICATION] = xr.Variable((REPLICATION,), np.arange(study.replications), about(REPLICATION))
    cells = positions(study, layout) if study.derivations else np.array([])
    derived = [study.derived(labels) for labels in study.grid] if study.derivations else []
    for name in study.derivations:
        values = np.array([one[name] for one in derived])
        text = values.dtype.kind in "US"
        whole = np.full(math.prod(layout.shape), "" if text else np.nan, values.dtype if text else float)
        whole[cells] = values
        variable = xr.Variable(tuple(axes), whole.reshape(layout.shape), about(name))
        for axis in axes:  # drop axes that it does not depend on
            first = variable.isel({axis: 0}) if axis in variable.dims else variable
            if axis in variable.dims and bool((variable == first).all()):
                variable = first
        coordinates[name] = variable
    return coordinates


def describe(study: Study, name: str) -> dict[str, Any]:
    """Attributes of a metric, or of the status, in a dataset."""
    if name == "status":
        return {"long_name": "what became of the replication", "flag_values": [0, 1, 2, 3],
                "flag_meanings": "not_run ok not_converged failed"}
    metric = study.part("metric", name)
    limits = {k: getattr(metric, k) for k in ("least", "most", "expected") if hasattr(metric, k)}
    return {"long_name": metric.long_name, "units": metric.units, **limits}
