"""The labelled datasets of a study while they are built: variables, still empty, with their
coordinates.
"""

import hashlib
import itertools
import json
import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.storage.backend import Backend
from pipeline.storage.layout import Layout, positions
from pipeline.study.arrays import Array
from pipeline.study.checks import ROLES
from pipeline.study.parameters import arguments, fields, outcome
from pipeline.study.study import Study

if TYPE_CHECKING:  # imported where it is used: asking for the status must not wait for it
    import xarray as xr
    import zarr
    from zarr.core.buffer import Buffer

REPLICATION = "replication"
ROLE_NAMES = {
    "model": {"long_name": "model of the data"},
    "mechanism": {"long_name": "privacy mechanism"},
    "estimator": {"long_name": "estimator"},
    REPLICATION: {"long_name": "number of the replication"},
}


Files = dict[str, "Buffer"]  # of a Zarr hierarchy in memory, by their paths


class ZarrLocation(NamedTuple):
    """A Zarr group by its backend and key.

    Zarr writes into memory, which is quicker, and whole files are then put.
    """

    backend: Backend
    key: str

    def write(self, name: str, at: tuple[slice, ...], values: Array) -> dict[str, str]:
        """Write whole shards of a variable; key -> digest of the files.

        OSError where the variable is not there.
        """
        import zarr
        from zarr.core.buffer import default_buffer_prototype

        described = self.backend.read(f"{self.key}/{name}/zarr.json")
        if described is None:
            raise FileNotFoundError(f"{self.key}/{name}/zarr.json")
        files: Files = {"zarr.json": default_buffer_prototype().buffer.from_bytes(described)}
        array = zarr.open_array(zarr.storage.MemoryStore(files), mode="r+")
        array.with_config({"write_empty_chunks": True})[at] = values
        written = {
            f"{self.key}/{name}/{path}": one.to_bytes()
            for path, one in files.items()
            if path != "zarr.json"
        }
        for key, content in written.items():
            self.backend.put(key, content)
        return {key: file_digest(content) for key, content in written.items()}

    def put(self, files: Files) -> None:
        """Write all files of a hierarchy, all metadata also in its root document."""
        import zarr

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Zarr 3 has yet to specify consolidated metadata
            zarr.consolidate_metadata(zarr.storage.MemoryStore(files))
        for _ in self.backend.map(
            lambda path: self.backend.put(f"{self.key}/{path}", files[path].to_bytes()), files
        ):
            pass

    def file_digest(self, path: str) -> str:
        """Digest of the content of a file, by its path within the group."""
        return file_digest(self.backend.read(f"{self.key}/{path}") or b"")


def file_digest(content: bytes) -> str:
    """Digest of the content of a file."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def template(study: Study, location: ZarrLocation) -> None:
    """Create the group with its coordinates and its variables, whose chunks are still empty.

    See `Layout`.
    """
    layout = Layout.of(study)
    files: Files = {}
    group, own = _new_group(files, coordinates_of(study))
    for variable in (*study.metrics, "status"):
        status = variable == "status"
        group.create_array(
            variable,
            shape=(*layout.shape, layout.replications),
            dtype="i1" if status else "f8",
            fill_value=0 if status else np.nan,
            chunks=layout.chunk,
            shards=(*layout.cells, layout.length),
            compressors=_checked(),
            dimension_names=(*study.grid.axes, REPLICATION),
            attributes={**describe(study, variable), **own},
        )
    location.put(files)


def blank(study: Study) -> "xr.Dataset":
    """Results of a study before anything was run, in memory: (grid…, replication) NaN, with
    `status` 0.
    """
    import xarray as xr

    layout = Layout.of(study)
    dims = (*study.grid.axes, REPLICATION)
    shape = (*layout.shape, layout.replications)
    variables = {
        name: (dims, np.full(shape, np.nan), describe(study, name)) for name in study.metrics
    }
    status = {"status": (dims, np.zeros(shape, np.int8), describe(study, "status"))}
    attributes = {
        "experiment": study.name,
        "study": json.dumps(study.identity, sort_keys=True),
        "replications": study.replications,
    }
    return xr.Dataset(variables | status, coordinates_of(study), attributes)


def across(metric: str, axis: str) -> str:
    """Name of the variable of summary.zarr that holds the moments of a metric for pairs of levels
    of an axis.
    """
    return f"{metric}_across_{axis}"


def summary_template(
    study: Study,
    location: ZarrLocation,
    statistics: tuple[str, ...],
    counts: tuple[str, ...],
    pair: tuple[str, ...],
) -> None:
    """Create the group of summary.zarr: (grid…, statistic) for every metric, (grid…, count) for the
    status.

    For every axis whose levels share their data also (grid…, other level, pair_statistic), see
    `across`.
    """
    import xarray as xr

    layout = Layout.of(study)
    axes = study.grid.axes
    coordinates = {name: one for name, one in coordinates_of(study).items() if name != REPLICATION}
    paired = [axis for k, axis in enumerate(axes) if k in layout.paired]
    labels = {
        "statistic": statistics,
        "count": counts,
        **({"pair_statistic": pair} if paired else {}),
    }
    coordinates |= {name: xr.Variable((name,), np.array(one)) for name, one in labels.items()}
    coordinates |= {
        f"other_{axis}": xr.Variable(
            (f"other_{axis}",), np.array(axes[axis]), coordinates[axis].attrs
        )
        for axis in paired
    }
    files: Files = {}
    group, own = _new_group(files, coordinates)
    for metric, axis in itertools.product(study.metrics, paired):
        more = (len(axes[axis]), len(pair))
        described = describe(study, metric)
        group.create_array(
            across(metric, axis),
            shape=(*layout.shape, *more),
            dtype="f8",
            fill_value=np.nan,
            chunks=(*layout.cells, *more),
            compressors=_checked(),
            dimension_names=(*axes, f"other_{axis}", "pair_statistic"),
            attributes={
                "units": described["units"],
                **own,
                "long_name": f"{described['long_name']}, moments of pairs of levels of {axis}",
            },
        )
    for variable in (*study.metrics, "status"):
        status = variable == "status"
        axis, names = ("count", counts) if status else ("statistic", statistics)
        group.create_array(
            variable,
            shape=(*layout.shape, len(names)),
            dtype="i8" if status else "f8",
            fill_value=0 if status else np.nan,
            chunks=(*layout.cells, len(names)),
            compressors=_checked(),
            dimension_names=(*study.grid.axes, axis),
            attributes={**describe(study, variable), **own},
        )
    location.put(files)


def _new_group(
    files: Files, coordinates: "Mapping[str, xr.Variable]"
) -> "tuple[zarr.Group, dict[str, str]]":
    """A group of coordinates only, and the attribute with which variables name the coordinates that
    are no axes.
    """
    import xarray as xr
    import zarr

    store = zarr.storage.MemoryStore(files)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Zarr 3 has yet to specify its text type
        xr.Dataset(coords=coordinates).to_zarr(
            store,
            mode="w",
            consolidated=False,
            encoding={name: {"compressors": _checked()} for name in coordinates},
        )
    derived = " ".join(name for name in coordinates if coordinates[name].dims != (name,))
    group = zarr.open_group(store, mode="r+")
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
    return {
        name: declared
        for group in (*inputs, *map(fields, parts))
        for name, declared in group.items()
    }


def coordinates_of(study: Study) -> "dict[str, xr.Variable]":
    """Levels of the axes, replications, and derived parameters over the axes that they depend on."""
    import xarray as xr

    layout = Layout.of(study)
    declared = _declared(study)
    axes = study.grid.axes

    def about(name: str) -> dict[str, Any]:
        if name in declared:
            return {
                "long_name": declared[name].metadata["meaning"],
                "units": declared[name].metadata["unit"],
            }
        return (
            outcome(study.derivations[name][0])
            if name in study.derivations
            else ROLE_NAMES.get(name, {})
        )

    coordinates = {
        axis: xr.Variable((axis,), np.array(levels), about(axis)) for axis, levels in axes.items()
    }
    coordinates[REPLICATION] = xr.Variable(
        (REPLICATION,), np.arange(study.replications), about(REPLICATION)
    )
    cells = positions(study, layout) if study.derivations else np.array([])
    derived = [study.derived(labels) for labels in study.grid] if study.derivations else []
    for name in study.derivations:
        values = np.array([one[name] for one in derived])
        text = values.dtype.kind in "US"
        whole = np.full(
            math.prod(layout.shape), "" if text else np.nan, values.dtype if text else float
        )
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
        return {
            "long_name": "what became of the replication",
            "flag_values": [0, 1, 2, 3],
            "flag_meanings": "not_run ok not_converged failed",
        }
    metric = study.part("metric", name)
    limits = {k: getattr(metric, k) for k in ("least", "most", "expected") if hasattr(metric, k)}
    return {"long_name": metric.long_name, "units": metric.units, **limits}
