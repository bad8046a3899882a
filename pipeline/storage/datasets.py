"""The labelled datasets of a study while they are built: still empty, with their
coordinates.
"""

import hashlib
import itertools
import json
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.storage.backend import ROOT, Files
from pipeline.storage.layout import Layout, positions
from pipeline.study.arrays import Array
from pipeline.study.checks import ROLES
from pipeline.study.parameters import arguments, fields, outcome
from pipeline.study.statistics import as_attribute
from pipeline.study.study import Study
from pipeline.study.untyped import JsonObject

if TYPE_CHECKING:  # imported where it is used: asking for the status must not wait for it
    import xarray as xr
    import zarr
    from zarr.core.buffer import Buffer

REPLICATION = "replication"
DIGEST_BYTES = 16
ROLE_NAMES = {
    "model": {"long_name": "model of the data"},
    "mechanism": {"long_name": "privacy mechanism"},
    "estimator": {"long_name": "estimator"},
    REPLICATION: {"long_name": "number of the replication"},
}

FilesInMemory = dict[str, "Buffer"]  # of a Zarr hierarchy, by their paths


class ZarrLocation(NamedTuple):
    """A Zarr group by its backend and key.

    Zarr writes into memory, which is faster, and whole files are then put.
    """

    backend: Files
    key: str

    def write(self, name: str, at: tuple[slice, ...], values: Array) -> dict[str, str]:
        """Write whole shards of a variable; key -> digest of the files.

        OSError where the variable is not there.
        """
        import zarr
        from zarr.core.buffer import default_buffer_prototype

        described = self.backend.read(f"{self.key}/{name}/{ROOT}")
        if described is None:
            raise FileNotFoundError(f"{self.key}/{name}/{ROOT}")
        buffer = default_buffer_prototype().buffer
        files: FilesInMemory = {ROOT: buffer.from_bytes(described)}
        array = zarr.open_array(zarr.storage.MemoryStore(files), mode="r+")
        array.with_config({"write_empty_chunks": True})[at] = values
        digests = {}
        for path, file in files.items():
            if path != ROOT:
                key = f"{self.key}/{name}/{path}"
                content = file.to_bytes()
                self.backend.put(key, content)
                digests[key] = file_digest(content)
        return digests

    def put(self, files: FilesInMemory) -> None:
        """Write all files of a hierarchy, all metadata also in its root document."""
        import zarr

        with warnings.catch_warnings():
            # Zarr 3 has yet to specify consolidated metadata.
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(zarr.storage.MemoryStore(files))

        def put(path: str) -> None:
            self.backend.put(f"{self.key}/{path}", files[path].to_bytes())

        for _ in self.backend.map(put, files):
            pass

    def file_digest(self, path: str) -> str:
        """Digest of the content of a file, by its path within the group."""
        return file_digest(self.backend.read(f"{self.key}/{path}") or b"")


class FileDigest:
    """Digest of the content of a file that is read part by part."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(digest_size=DIGEST_BYTES)

    def add(self, part: bytes) -> None:
        """Take the next part."""
        self._digest.update(part)

    def text(self) -> str:
        """The digest, as `file_digest` gives it."""
        return self._digest.hexdigest()


def file_digest(content: bytes) -> str:
    """Digest of the content of a file."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def template(study: Study, location: ZarrLocation) -> None:
    """Create the group with its coordinates and its variables, whose chunks are still empty.

    See `Layout`.
    """
    layout = Layout.of(study)
    files: FilesInMemory = {}
    new = _new_group(files, coordinates_of(study))
    form = Form(
        shape=(*layout.shape, layout.replications),
        chunks=layout.chunk,
        shards=(*layout.cells, layout.length),
        dimension_names=(*study.grid.axes, REPLICATION),
    )
    for metric in study.metrics:
        new.add_numbers(metric, form, describe(study, metric))
    new.add_counts("status", "i1", form, describe(study, "status"))
    location.put(files)


def blank(study: Study) -> "xr.Dataset":
    """Results before anything was run, in memory: (grid…, replication) NaN, with `status` 0."""
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
        "study": json.dumps(study.description, sort_keys=True),
        "replications": study.replications,
        **as_attribute(study.statistics),
    }
    return xr.Dataset(variables | status, coordinates_of(study), attributes)


def across(metric: str, axis: str) -> str:
    """Name of the variable with the moments of a metric for pairs of levels of an axis."""
    return f"{metric}_across_{axis}"


class Columns(NamedTuple):
    """Names of the numbers that a summary holds of a cell.

    moments: of a metric. counts: of the status. pair: of two levels that share data. estimate: of
    a statistic, such as a median.
    """

    moments: tuple[str, ...]
    counts: tuple[str, ...]
    pair: tuple[str, ...]
    estimate: tuple[str, ...]


def summary_template(study: Study, location: ZarrLocation, columns: Columns) -> None:
    """Create the group of summary.zarr, whose variables are still empty.

    Shapes: (grid…, statistic) for every metric, (grid…, count) for the status, and for
    every axis whose levels share their data (grid…, other level, pair_statistic), see
    `across`; and (grid…, estimate) for the study's statistics.
    """
    import xarray as xr

    layout = Layout.of(study)
    axes = study.grid.axes
    paired = [axis for k, axis in enumerate(axes) if k in layout.paired]
    coordinates = coordinates_of(study)
    del coordinates[REPLICATION]
    coordinates["statistic"] = xr.Variable(("statistic",), np.array(columns.moments))
    coordinates["count"] = xr.Variable(("count",), np.array(columns.counts))
    if paired:
        coordinates["pair_statistic"] = xr.Variable(("pair_statistic",), np.array(columns.pair))
    if study.statistics:
        coordinates["estimate"] = xr.Variable(("estimate",), np.array(columns.estimate))
    for axis in paired:
        other = f"other_{axis}"
        levels = np.array(axes[axis])
        coordinates[other] = xr.Variable((other,), levels, coordinates[axis].attrs)
    files: FilesInMemory = {}
    new = _new_group(files, coordinates)

    def form(*more: tuple[str, int]) -> Form:
        """The same form with further dimensions, each a name and a size."""
        sizes = [size for _, size in more]
        return Form(
            shape=(*layout.shape, *sizes),
            chunks=(*layout.cells, *sizes),
            dimension_names=(*axes, *(name for name, _ in more)),
        )

    for metric, axis in itertools.product(study.metrics, paired):
        described = describe(study, metric)
        attributes = {
            "units": described["units"],
            **new.more,
            "long_name": f"{described['long_name']}, moments of pairs of levels of {axis}",
        }
        others = (f"other_{axis}", len(axes[axis]))
        of_pairs = form(others, ("pair_statistic", len(columns.pair)))
        new.add_numbers(across(metric, axis), of_pairs, attributes)
    for metric in study.metrics:
        of_moments = form(("statistic", len(columns.moments)))
        new.add_numbers(metric, of_moments, describe(study, metric))
    for statistic in study.statistics:
        attributes = statistic.attributes(describe(study, statistic.metric))
        of_estimate = form(("estimate", len(columns.estimate)))
        new.add_numbers(statistic.variable, of_estimate, attributes)
    new.add_counts("status", "i8", form(("count", len(columns.counts))), describe(study, "status"))
    location.put(files)


@dataclass(frozen=True)
class Form:
    """Shape of a variable, and how it is cut. shards: None if each chunk is a file."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dimension_names: tuple[str, ...]
    shards: tuple[int, ...] | None = None


class NewGroup(NamedTuple):
    """A Zarr group to which variables are added.

    more: attributes of all of them, which name the coordinates that are no axes.
    """

    group: "zarr.Group"
    more: Mapping[str, str]

    def add_numbers(self, name: str, form: Form, attributes: Mapping[str, Any]) -> None:
        """Add a variable of numbers, all of them NaN."""
        self._add(name, form, attributes, "f8", np.nan)

    def add_counts(self, name: str, kind: str, form: Form, attributes: Mapping[str, Any]) -> None:
        """Add a variable of whole numbers of a kind, all of them 0."""
        self._add(name, form, attributes, kind, 0)

    def _add(
        self, name: str, form: Form, attributes: Mapping[str, Any], kind: str, fill: float
    ) -> None:
        self.group.create_array(
            name,
            shape=form.shape,
            dtype=kind,
            fill_value=fill,
            chunks=form.chunks,
            shards=form.shards,
            compressors=_checked(),
            dimension_names=form.dimension_names,
            attributes={**attributes, **self.more},
        )


def _new_group(files: FilesInMemory, coordinates: "Mapping[str, xr.Variable]") -> NewGroup:
    """A group of coordinates only."""
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
    more = {"coordinates": derived} if derived else {}
    return NewGroup(zarr.open_group(store, mode="r+"), more)


def _checked() -> list[Any]:
    """Every chunk carries a CRC-32C."""
    from zarr.codecs import Crc32cCodec

    return [Crc32cCodec()]


def _declared(study: Study) -> dict[str, Any]:
    """What the study's derivations and parts declare, by name; parts count more."""
    declared: dict[str, Any] = {}
    for function, _ in study.derivations.values():
        declared |= arguments(function)
    for metric in study.metrics:
        declared |= fields(study.part("metric", metric))
    for role in ROLES:
        for name in study.grid.axes.get(role, (study.parameters.get(role),)):
            declared |= fields(study.part(role, name))
    return declared


def coordinates_of(study: Study) -> "dict[str, xr.Variable]":
    """Levels, replications, and derived parameters over the axes that they depend on."""
    import xarray as xr

    declared = _declared(study)
    coordinates = {
        axis: xr.Variable((axis,), np.array(levels), _about(study, declared, axis))
        for axis, levels in study.grid.axes.items()
    }
    coordinates[REPLICATION] = xr.Variable(
        (REPLICATION,), np.arange(study.replications), ROLE_NAMES[REPLICATION]
    )
    if not study.derivations:
        return coordinates
    layout = Layout.of(study)
    cells = positions(study, layout)
    derived = [study.derived(labels) for labels in study.grid]
    for name in study.derivations:
        values = np.array([parameters[name] for parameters in derived])
        whole = _everywhere(values, cells, layout)
        variable = xr.Variable(tuple(study.grid.axes), whole, _about(study, declared, name))
        coordinates[name] = _without_constant_axes(variable)
    return coordinates


def _about(study: Study, declared: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Attributes of a coordinate: what it means, and its unit."""
    if name in declared:
        metadata = declared[name].metadata
        return {"long_name": metadata["meaning"], "units": metadata["unit"]}
    if name in study.derivations:
        return outcome(study.derivations[name][0])
    return ROLE_NAMES.get(name, {})


def _everywhere(values: Array, cells: Array, layout: Layout) -> Array:
    """(grid…) values of the cells at their positions, missing at all others."""
    size = math.prod(layout.shape)
    if values.dtype.kind in "US":
        whole = np.full(size, "", values.dtype)
    else:
        whole = np.full(size, np.nan, float)
    whole[cells] = values
    return whole.reshape(layout.shape)


def _without_constant_axes(variable: "xr.Variable") -> "xr.Variable":
    """The variable without those axes along which it does not change."""
    for axis in variable.dims:
        first = variable.isel({axis: 0})
        if bool((variable == first).all()):
            variable = first
    return variable


def describe(study: Study, name: str) -> JsonObject:
    """Attributes of a metric, or of the status, in a dataset."""
    if name == "status":
        return {
            "long_name": "what became of the replication",
            "flag_values": [0, 1, 2, 3],
            "flag_meanings": "not_run ok not_converged failed",
        }
    metric = study.metric(name)
    numbers = {"least": metric.least, "most": metric.most, "expected": metric.expected}
    stated = {
        key: number
        for key, number in numbers.items()
        if number is not None and math.isfinite(number)
    }
    return {"long_name": metric.long_name, "units": metric.units, **stated}
