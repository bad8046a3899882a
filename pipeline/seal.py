"""Seal a complete sweep: one N-d labelled dataset, `results.zarr`, that anyone opens with `xarray.open_zarr`."""

import json
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.bucket import Unreachable
from pipeline.parameters import arguments, fields, outcome, shorten
from pipeline.registry import lookup
from pipeline.store import Store
from pipeline.streams import canonical, digest
from pipeline.study import ROLES, Study

if TYPE_CHECKING:  # imported where it is used: asking for the status must not wait for it
    import xarray as xr

PACKAGES = ("numpy", "scipy", "xarray", "zarr", "dask", "distributed", "hydra-core")
MOST_CHUNK = 2**22  # values in one chunk
SEALED = "results.zarr"
ROOT = f"{SEALED}/zarr.json"


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


def is_sealed(store: Store, study: Study) -> bool:
    """Whether results.zarr holds exactly this study."""
    try:
        return json.loads(store.place.read(ROOT) or b"{}")["attributes"]["request"] == request(study)
    except Unreachable:
        raise
    except (OSError, ValueError, KeyError):
        return False


def stamp(store: Store) -> str | None:
    """What changes whenever results.zarr is made anew; None if there is none."""
    return store.place.stamp(ROOT)


@contextmanager
def unsealed(store: Store) -> Iterator[None]:
    """Remove results.zarr; inside, units may be taken back, and nobody seals what is about to go."""
    with store.locked():
        store.place.remove(SEALED)
        yield


def load(store: Store) -> "xr.Dataset":
    """What results.zarr holds, read when it is asked for."""
    import xarray as xr

    return xr.open_zarr(store.place.zarr(SEALED), consolidated=True)


def seal(store: Store, study: Study, rows: np.ndarray, text: dict[str, str]) -> None:
    """Write results.zarr, what makes it count at the end; the same numbers give the same bytes.

    Nothing happens where it is sealed already, perhaps by another driver, whose readers must not be disturbed.
    Raises InvalidInput when a chunk is damaged or missing.

    Dimensions: the axes of the grid, then replication. Cells outside a non-rectangular grid hold NaN and
    status 0. Derived parameters are coordinates. Memory: one variable.
    """
    import xarray as xr

    axes = study.grid.axes
    shape = tuple(len(levels) for levels in axes.values())
    places = _places(study, shape)
    coordinates = _coordinates(study, shape, places)
    derived = {name: coordinates[name] for name in study.derivations}
    attributes = {
        **text, "request": request(study), "study": json.dumps(study.identity, sort_keys=True),
        "replications": study.replications, "versions": json.dumps(versions(), sort_keys=True),
    }
    partial = store.folder / f"{SEALED}.partial"
    dimensions = (*axes, "replication")
    with store.locked(), warnings.catch_warnings():
        if is_sealed(store, study):
            return
        shutil.rmtree(partial, ignore_errors=True)
        warnings.simplefilter("ignore")  # Zarr 3 has yet to specify its text type
        xr.Dataset(coords=coordinates, attrs=attributes).to_zarr(partial, mode="w", consolidated=False)
        for name in (*study.metrics, "status"):
            values = _gather(store, study, name, rows, places, shape)
            variable = xr.Variable(dimensions, values, _describe(study, name))
            variable.encoding = {"chunks": _chunks(values.shape)}
            part = xr.Dataset({name: variable}, derived, attributes)  # without them it would erase those of the group
            part.to_zarr(partial, mode="a", consolidated=False)
        _consolidate(partial)
        store.place.publish(partial, SEALED)


def altered(store: Store, study: Study, rows: np.ndarray) -> list[str]:
    """Variables of results.zarr that are missing, unreadable or not what the replications say.

    Their own descriptions are read as well as the root's copies.
    """
    import xarray as xr

    shape = tuple(len(levels) for levels in study.grid.axes.values())
    places = _places(study, shape)
    expected = {**_coordinates(study, shape, places), **dict.fromkeys((*study.metrics, "status"))}
    try:
        stored, own = load(store), xr.open_zarr(store.place.zarr(SEALED), consolidated=False)
    except Unreachable:
        raise
    except Exception:  # whatever a damaged file makes a reader raise
        return list(expected)
    found = []
    for name, variable in expected.items():
        values = variable.values if variable is not None else _gather(store, study, name, rows, places, shape)
        try:
            same = np.array_equal(stored[name].values, values, equal_nan=values.dtype.kind == "f")
            same &= all(getattr(stored[name], fact) == getattr(own[name], fact) for fact in ("dtype", "sizes", "attrs"))
        except Unreachable:
            raise
        except Exception:
            same = False
        if not same:
            found.append(name)
    return found


def _places(study: Study, shape: tuple[int, ...]) -> np.ndarray:
    """(cells,) flat position of every cell in an array of all combinations of levels."""
    position = {axis: {level: i for i, level in enumerate(levels)} for axis, levels in study.grid.axes.items()}
    return np.array([np.ravel_multi_index([position[a][v] for a, v in labels.items()], shape)
                     for labels in study.grid])


def _consolidate(path: Path) -> None:
    import zarr

    zarr.consolidate_metadata(path)


def _gather(store: Store, study: Study, name: str, rows: np.ndarray, places: np.ndarray, shape: tuple) -> np.ndarray:
    status = name == "status"
    values = np.full((int(np.prod(shape)), study.replications), 0 if status else np.nan, "i1" if status else "f8")
    units = ((int(row), place, block) for row, place in zip(rows, places, strict=True) for block in range(study.blocks))

    def fill(unit: tuple) -> None:
        row, place, block = unit
        try:
            values[place, block * study.block : (block + 1) * study.block] = store.read(name, row, block)
        except (ValueError, KeyError) as error:  # a checksum or a size that is wrong
            raise store.invalid(f"{name} of row {row} is damaged ({shorten(error)}); "
                                "run task=verify repair=true, then this command again") from None

    for _ in store.place.map(fill, units):
        pass
    return values.reshape(*shape, study.replications)


def _chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    chunks = list(shape)
    for axis in range(len(chunks)):
        if np.prod(chunks) <= MOST_CHUNK:
            break
        chunks[axis] = max(1, int(chunks[axis] // -(-np.prod(chunks) // MOST_CHUNK)))
    return tuple(chunks)


def _declared(study: Study) -> dict[str, Any]:
    parts = [lookup("metric", name) for name in study.metrics]
    for role in ROLES:
        names = study.grid.axes.get(role, (study.parameters.get(role),))
        parts += [lookup(role, name) for name in names]
    inputs = [arguments(function) for function, _ in study.derivations.values()]
    return {name: found for given in (*inputs, *map(fields, parts)) for name, found in given.items()}


def _coordinates(study: Study, shape: tuple, places: np.ndarray) -> "dict[str, xr.Variable]":
    import xarray as xr

    declared = _declared(study)
    axes = study.grid.axes

    def about(name):
        if name not in declared:
            return outcome(study.derivations[name][0]) if name in study.derivations else {}
        return {"long_name": declared[name].metadata["meaning"], "units": declared[name].metadata["unit"]}

    found = {axis: xr.Variable((axis,), np.array(levels), about(axis)) for axis, levels in axes.items()}
    found["replication"] = xr.Variable(("replication",), np.arange(study.replications))
    for name in study.derivations:
        given = np.array([study.derived(labels)[name] for labels in study.grid])
        text = given.dtype.kind in "US"
        values = np.full(int(np.prod(shape)), "" if text else np.nan, given.dtype if text else float)
        values[places] = given
        whole = xr.Variable(tuple(axes), values.reshape(shape), about(name))
        for axis in axes:  # drop axes that it does not depend on
            first = whole.isel({axis: 0}) if axis in whole.dims else whole
            if axis in whole.dims and bool((whole == first).all()):
                whole = first
        found[name] = whole
    return found


def _describe(study: Study, name: str) -> dict[str, Any]:
    if name == "status":
        return {"long_name": "what became of the replication", "flag_values": [0, 1, 2, 3],
                "flag_meanings": "not_run ok not_converged failed"}
    metric = lookup("metric", name)
    limits = {k: getattr(metric, k) for k in ("least", "most") if hasattr(metric, k)}
    return {"long_name": metric.long_name, "units": metric.units, **limits}
