"""The sealed results of a study: one N-d labelled dataset, `results.zarr`, that `xarray.open_zarr` opens.

Dimensions: the axes of the grid, then replication. Cells outside of a non-rectangular grid hold NaN and status 0.
Written region by region, in shards of checksummed chunks, one writer a shard; the root document comes last. It holds a
digest of every file and of itself, so that a copy can be checked without the study.
"""

import hashlib
import itertools
import json
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pipeline.storage.backend import Backend, Unreachable
from pipeline.storage.replications import Store
from pipeline.study.arrays import Integers
from pipeline.study.checks import ROLES
from pipeline.study.parameters import arguments, fields, outcome
from pipeline.study.streams import canonical, digest
from pipeline.study.study import Study

if TYPE_CHECKING:  # imported where it is used: asking for the status must not wait for it
    import xarray as xr
    import zarr

PACKAGES = ("numpy", "scipy", "xarray", "zarr", "dask", "distributed", "hydra-core")
SHARD_BYTES = 2**26  # of all variables of one region: what a reduction holds in memory at once, some times over
IN_MEMORY = 2**28  # bytes of a dataset that a process may read at once
CHUNK_VALUES = 2**17  # in one checksummed chunk of a shard
SEALED = "results.zarr"
SUMMARY = "summary.zarr"
REPLICATION = "replication"


def versions() -> dict[str, str]:
    """Versions that numbers may depend on."""
    import platform

    return {"python": platform.python_version(), "pipeline": version("private-learning-pipeline"),
            **{name: version(name) for name in PACKAGES}}


def request(study: Study) -> str:
    """Digest of all that a sealed dataset shows: identity, levels and replications."""
    products = [[[axis, list(levels)] for axis, levels in product] for product in study.grid.products]
    return digest(canonical({**study.identity, "grid": products, "replications": study.replications,
                             "coordinates": list(study.coordinates)}), 8).hex()


class Region(NamedTuple):
    """A group of cells that one task reduces: start and stop along every axis of the grid."""

    starts: tuple[int, ...]
    stops: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        """The region as slices along the axes of the grid."""
        return tuple(map(slice, self.starts, self.stops))


@dataclass(frozen=True)
class Layout:
    """How a dataset is cut: shape of the grid, levels per shard along each axis, replications, and these per shard.

    Every shard is written by one task, which holds `SHARD_BYTES` of values. A shard covers whole axes from the last
    one up, and all replications of a cell if they fit.
    """

    shape: tuple[int, ...]
    cells: tuple[int, ...]
    replications: int
    length: int

    @classmethod
    def of(cls, study: Study) -> "Layout":
        """The layout of a study: the same on every machine."""
        shape = tuple(len(levels) for levels in study.grid.axes.values())
        most = max(SHARD_BYTES // (8 * (len(study.metrics) + 1)), study.block)
        length = min(study.replications, most // study.block * study.block)
        cells, left = [], max(most // length, 1)
        for size in reversed(shape):
            cells.append(min(size, left))
            left = left // size if cells[-1] == size else 1
        return cls(shape, tuple(reversed(cells)), study.replications, length)

    def regions(self) -> Iterator[Region]:
        """All regions, in row-major order."""
        for starts in itertools.product(*map(range, (0,) * len(self.shape), self.shape, self.cells)):
            yield Region(starts, tuple(map(min, map(sum, zip(starts, self.cells, strict=True)), self.shape)))

    def spans(self) -> Iterator[slice]:
        """The replications of one shard after another."""
        return (slice(k, min(k + self.length, self.replications)) for k in range(0, self.replications, self.length))

    @property
    def chunk(self) -> tuple[int, ...]:
        """Shape of a chunk: it divides that of a shard."""
        chunk, left = [], CHUNK_VALUES
        for size in (self.length, *reversed(self.cells)):
            part = next(size // k for k in range(1, size + 1) if size % k == 0 and size // k <= max(left, 1))
            chunk.append(part)
            left = left // part if part == size else 1
        return tuple(reversed(chunk))


class Place(NamedTuple):
    """Where a region's arrays are: what zarr opens as the group, and the paths of its files, for their digests."""

    backend: Backend
    staged: str

    def array(self, name: str) -> "zarr.Array[Any]":
        """A variable, to be written region by region."""
        import zarr

        array = zarr.open_array(self.backend.zarr(f"{self.staged}/{name}"), mode="r+")
        return array.with_config({"write_empty_chunks": True})

    def file_digest(self, key: str) -> str:
        """Digest of a file that was just written."""
        return hashlib.blake2b(self.backend.read(f"{self.staged}/{key}") or b"", digest_size=16).hexdigest()


def is_sealed(store: Store) -> bool:
    """Whether results.zarr holds exactly what the study asks for."""
    return root_attributes(store.backend).get("request") == request(store.study)


def root_attributes(backend: Backend) -> dict[str, Any]:
    """Attributes of results.zarr; none where there is no root document, or a damaged one."""
    try:
        attributes = json.loads(backend.read(f"{SEALED}/zarr.json") or b"{}")["attributes"]
        return attributes if isinstance(attributes, dict) else {}
    except Unreachable:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def stamp(store: Store) -> str | None:
    """A text that changes whenever results.zarr is made again; None if there is none."""
    return store.backend.stamp(f"{SEALED}/zarr.json")


def unseal(store: Store) -> None:
    """Remove the sealed results, before units are taken back; the caller holds the lock."""
    store.backend.remove(SEALED)
    store.backend.remove(SUMMARY)


def template(study: Study, place: Place) -> None:
    """Create the group with its coordinates and, chunk by chunk still empty, its variables. See `Layout`."""
    layout = Layout.of(study)
    group, own = _new_group(place, _coordinates(study, layout))
    for variable in (*study.metrics, "status"):
        status = variable == "status"
        group.create_array(
            variable, shape=(*layout.shape, layout.replications), dtype="i1" if status else "f8",
            fill_value=0 if status else np.nan, chunks=layout.chunk, shards=(*layout.cells, layout.length),
            compressors=_checked(), dimension_names=(*study.grid.axes, REPLICATION),
            attributes={**_describe(study, variable), **own})


def summary_template(study: Study, place: Place, statistics: tuple[str, ...], counts: tuple[str, ...]) -> None:
    """Create the group of summary.zarr: (grid…, statistic) for every metric, (grid…, count) for the status."""
    import xarray as xr

    layout = Layout.of(study)
    coordinates = {name: one for name, one in _coordinates(study, layout).items() if name != REPLICATION}
    coordinates |= {name: xr.Variable((name,), np.array(names))
                    for name, names in (("statistic", statistics), ("count", counts))}
    group, own = _new_group(place, coordinates)
    for variable in (*study.metrics, "status"):
        status = variable == "status"
        axis, names = ("count", counts) if status else ("statistic", statistics)
        group.create_array(
            variable, shape=(*layout.shape, len(names)), dtype="i8" if status else "f8",
            fill_value=0 if status else np.nan, chunks=(*layout.cells, len(names)), compressors=_checked(),
            dimension_names=(*study.grid.axes, axis), attributes={**_describe(study, variable), **own})


def _new_group(place: Place, coordinates: "Mapping[str, xr.Variable]") -> "tuple[zarr.Group, dict[str, str]]":
    """A group that holds coordinates only, and the attribute by which its variables name those that are no axis."""
    import xarray as xr
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Zarr 3 has yet to specify its text type
        xr.Dataset(coords=coordinates).to_zarr(
            place.backend.zarr(place.staged), mode="w", consolidated=False,
            encoding={name: {"compressors": _checked()} for name in coordinates})
    derived = " ".join(name for name in coordinates if coordinates[name].dims != (name,))
    group = zarr.open_group(place.backend.zarr(place.staged), mode="r+")
    return group, {"coordinates": derived} if derived else {}


def _checked() -> list[Any]:
    """Every chunk carries a CRC-32C."""
    from zarr.codecs import Crc32cCodec

    return [Crc32cCodec()]


def positions(study: Study, layout: Layout) -> Integers:
    """(cells,) flat position of every cell in an array of all combinations of levels."""
    index = {axis: {level: i for i, level in enumerate(levels)} for axis, levels in study.grid.axes.items()}
    return np.array([np.ravel_multi_index([index[a][v] for a, v in labels.items()], layout.shape)
                     for labels in study.grid])


def finish(
    backend: Backend, staged: str, name: str, attributes: Mapping[str, Any], digests: Mapping[str, str]
) -> None:
    """Publish a dataset whose regions are all written. digests: of the files that the tasks wrote."""
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.consolidate_metadata(backend.zarr(staged))
    document = json.loads(backend.read(f"{staged}/zarr.json") or b"{}")
    document["attributes"] = {**document.get("attributes", {}), **attributes}
    place = Place(backend, staged)
    files = {key: digests.get(key) or place.file_digest(key) for key in sorted(backend.keys(staged))
             if key != "zarr.json" and not key.endswith(".partial")}
    document["attributes"] |= {"files": files}
    document["attributes"]["digest"] = _digest(document)
    backend.publish(staged, name, _serialise(document))
    backend.delete("zarr.json")  # zarr makes a group of the whole prefix of a bucket, too


def problems_of(backend: Backend, name: str = SEALED, thorough: bool = True) -> list[str]:
    """What is wrong with a sealed dataset, file by file; empty if nothing is.

    thorough: read every byte. Else only the root document, the metadata, and whether all files are there.
    """
    content = backend.read(f"{name}/zarr.json")
    if content is None:
        return ["zarr.json: is missing"]
    try:
        document = json.loads(content)
        files = document["attributes"]["files"]
        if document["attributes"]["digest"] != _digest(document) or _serialise(document) != content:
            return ["zarr.json: is not what this program wrote"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ["zarr.json: is not what this program wrote"]
    place, present = Place(backend, name), set(backend.keys(name)) - {"zarr.json"}
    wrong = [f"{key}: is missing" for key in files if key not in present]
    wrong += [f"{key}: does not belong here" for key in sorted(present - files.keys())]
    checked = [key for key in files if key in present and (thorough or key.endswith("zarr.json"))]
    digests = backend.map(place.file_digest, checked)
    return wrong + [f"{key}: is not what was written" for key, one in zip(checked, digests, strict=True)
                    if one != files[key]]


def load(store: Store, name: str = SEALED) -> "xr.Dataset":
    """What a dataset holds: in memory or, if it is large, in chunks of a shard that are read when they are needed."""
    import xarray as xr

    dataset: xr.Dataset = xr.open_zarr(store.backend.zarr(name), consolidated=True, chunks=None)
    if dataset.nbytes <= IN_MEMORY:
        return dataset.load()
    shards = dataset["status"].encoding.get("shards") or dataset["status"].encoding["chunks"]
    return dataset.chunk(dict(zip(dataset["status"].dims, shards, strict=True)))


def shard_key(layout: Layout, region: Region, span: slice, variable: str) -> str:
    """Path of a shard's file within the dataset."""
    indices = [start // size for start, size in zip(region.starts, layout.cells, strict=True)]
    return "/".join([variable, "c", *map(str, indices), str(span.start // layout.length)])


def _serialise(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def _digest(document: Mapping[str, Any]) -> str:
    attributes = {key: value for key, value in document["attributes"].items() if key != "digest"}
    return hashlib.blake2b(_serialise({**document, "attributes": attributes}), digest_size=16).hexdigest()


def _declared(study: Study) -> dict[str, Any]:
    parts = [study.part("metric", name) for name in study.metrics]
    for role in ROLES:
        names = study.grid.axes.get(role, (study.parameters.get(role),))
        parts += [study.part(role, name) for name in names]
    inputs = [arguments(function) for function, _ in study.derivations.values()]
    return {name: declared for group in (*inputs, *map(fields, parts)) for name, declared in group.items()}


def _coordinates(study: Study, layout: Layout) -> "dict[str, xr.Variable]":
    """Levels of the axes, replications, and derived parameters over the axes that they depend on."""
    import xarray as xr

    declared, axes = _declared(study), study.grid.axes

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


ROLE_NAMES = {
    "model": {"long_name": "model of the data"},
    "mechanism": {"long_name": "privacy mechanism"},
    "estimator": {"long_name": "estimator"},
    REPLICATION: {"long_name": "number of the replication"},
}


def _describe(study: Study, name: str) -> dict[str, Any]:
    if name == "status":
        return {"long_name": "what became of the replication", "flag_values": [0, 1, 2, 3],
                "flag_meanings": "not_run ok not_converged failed"}
    metric = study.part("metric", name)
    limits = {k: getattr(metric, k) for k in ("least", "most") if hasattr(metric, k)}
    return {"long_name": metric.long_name, "units": metric.units, **limits}

