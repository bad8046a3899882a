"""The raw store of a study: one Zarr group, dimensions (cell, replication), one chunk per unit and variable.

A unit is done exactly when its `status` chunk exists. Workers write whole chunks, status last; each chunk lands
whole or not at all, and carries a CRC-32C. Cells are only ever appended: a row keeps its labels for good, so grids
may grow and replications be added. In a folder or in a bucket: see `places`.

    status      (cell, replication) int8     0 not run, 1 ok, 2 not converged, 3 failed
    <metric>    (cell, replication) float64
    error       (cell, block, byte) uint8    text of what made a unit fail; chunks only where one did
    key         (cell,) uint64               digest of the cell's canonical labels
    label_<axis> (cell,)                     the labels
"""

import json
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec

from pipeline.bucket import Bucket, Unreachable
from pipeline.codes import FAILED, NOT_CONVERGED, OK
from pipeline.grid import cell_key
from pipeline.parameters import InvalidInput, shorten
from pipeline.places import Folder, locked
from pipeline.study import Study, label_type

ERROR_BYTES = 8192
CELL_CHUNK = 4096
ATTRIBUTE = "study"
RAW = "replications.zarr"


class Damage(NamedTuple):
    """One damaged place: variable, row and block (or -1), and what is wrong with it."""

    variable: str
    row: int
    block: int
    what: str


class Store:
    """Raw store of a study: replications.zarr under `folder` or, if given, under `url`.

    With a url the folder holds what is for people, and files on their way to the bucket; `timeout` is for how
    many seconds a failing request is tried again. `Store(folder)` touches nothing.
    """

    def __init__(self, folder: Path | str, url: str | None = None, timeout: float = 60.0):
        self.folder, self.url, self.timeout = Path(folder), url, timeout
        self.place = Bucket(url, timeout) if url else Folder(self.folder)
        self._arrays: dict[str, zarr.Array] = {}

    def exists(self) -> bool:
        """Whether the store was ever created."""
        return self.place.read(f"{RAW}/zarr.json") is not None

    def prepare(self, study: Study) -> np.ndarray:
        """Create the store or let it grow to hold the study's cells and replications; (cells,) their rows.

        Safe to repeat and to interrupt anywhere. Raises InvalidInput when the folder holds another study, or
        cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._arrays.clear()
            if self.exists() and (rows := self._ready(study)) is not None:
                return rows
            with self.locked():
                if not self.exists():
                    self._create(study)
                self.check_identity(study)
                return self._append(study)
        except Unreachable:
            raise
        except OSError as error:
            raise InvalidInput("outputs", self.folder, f"cannot write there: {error.strerror or error}") from None

    def check_identity(self, study: Study) -> None:
        """Raise InvalidInput unless the store belongs to this study."""
        try:
            found = dict(self._identity())
        except (ValueError, KeyError, TypeError):
            raise self.invalid("is not a store of this program; choose another folder", RAW) from None
        if found != (wanted := json.loads(json.dumps(study.identity))):
            different = sorted(k for k in wanted if found.get(k) != wanted[k])
            raise self.invalid(f"holds another study ({', '.join(different)} differ); choose another folder")

    def invalid(self, advice: str, key: str = "") -> InvalidInput:
        """What to raise when the place itself, or what lies there under a key, is not as it must be."""
        return InvalidInput(self.place.setting, f"{self.place}/{key}" if key else self.place, advice)

    def rows(self, study: Study) -> np.ndarray:
        """(cells,) row of each cell of the grid, -1 where the store has none yet. O(cells log rows)"""
        wanted = np.fromiter(study.grid.keys(), np.uint64, len(study.grid))
        known = self._known()
        if not known.size:
            return np.full(wanted.size, -1)
        order = np.argsort(known, kind="stable")
        place = np.minimum(np.searchsorted(known[order], wanted), known.size - 1)
        return np.where(known[order][place] == wanted, order[place], -1)

    def done(self, study: Study, rows: np.ndarray) -> np.ndarray:
        """(cells, blocks) bool: which units of the grid are done. One listing; O(units) bits of memory."""
        present = np.zeros((int(rows.max(initial=-1)) + 1, study.blocks), bool)
        for row, block in self._chunks("status"):
            if row < present.shape[0] and block < study.blocks:
                present[row, block] = True
        return np.where(rows[:, None] >= 0, present[rows] if present.size else False, False)

    def write(self, row: int, block: int, values: Mapping[str, np.ndarray], error: str | None = None) -> None:
        """Store one finished unit: its error if it failed, its data, and last its status."""
        if error is not None:
            padded = error.encode()[-ERROR_BYTES:].ljust(ERROR_BYTES, b"\0")
            self.array("error")[row, block] = np.frombuffer(padded, np.uint8)
        for name, given in values.items():
            array = self.array(name)
            size = array.chunks[1]
            if given.shape != (size,) or (block + 1) * size > array.shape[1] or row >= array.shape[0]:
                raise ValueError(f"unit ({row}, {block}) of {name} is not one whole chunk of the store")

        def put(name: str) -> None:
            array = self.array(name)
            array[row, block * array.chunks[1] : (block + 1) * array.chunks[1]] = values[name]

        list(self.place.map(put, values.keys() - {"status"}))
        put("status")

    def fail(self, study: Study, row: int, block: int, error: str) -> None:
        """Store a unit that raised: no values, status failed, the error's text."""
        values = {name: np.full(study.block, np.nan) for name in study.metrics}
        self.write(row, block, values | {"status": np.full(study.block, FAILED, np.int8)}, error)

    def read(self, name: str, row: int, block: int) -> np.ndarray:
        """(block,) one chunk of a variable. Raises ValueError if it is damaged or missing."""
        values = self.array(name).get_block_selection((row, block)).ravel()
        if not np.nan_to_num(values).any() and self.place.stamp(f"{RAW}/{name}/c/{row}/{block}") is None:
            raise ValueError("its chunk is missing")
        return values

    def failed(self) -> Iterator[tuple[int, int]]:
        """(row, block) of every failed unit: its status says so, a text alone may be left from a kill."""
        for row, block, _ in sorted(self._chunks("error")):
            try:
                if (self.array("status").get_block_selection((row, block)) == FAILED).any():
                    yield row, block
            except (ValueError, KeyError):  # a checksum or a size that is wrong
                yield row, block

    def error(self, row: int, block: int) -> str:
        """What made a unit fail."""
        try:
            return bytes(self.array("error")[row, block]).rstrip(b"\0").decode(errors="replace")
        except (ValueError, KeyError):
            return "what it said is damaged; run task=verify repair=true"

    def holds(self, row: int, block: int) -> bool:
        """Whether a unit is done."""
        return self.place.stamp(f"{RAW}/status/c/{row}/{block}") is not None

    def units(self) -> int:
        """Number of done units in the whole store."""
        return sum(1 for _ in self._chunks("status"))

    def forget(self, row: int, block: int) -> None:
        """Mark a unit as not run: only its status goes, as another driver may be writing the rest just now."""
        self.place.delete(f"{RAW}/status/c/{row}/{block}")

    def verify(self) -> Iterator[Damage]:
        """Read every chunk of every done unit; yield what is missing, truncated, altered or stray."""
        for partial in self.place.left_over(RAW):
            yield Damage(partial, -1, -1, "left over from an interrupted write")
        unreadable = set()
        for name in (*self._cell_arrays(), "status", *self._variables(), "error"):
            try:
                self.array(name)
            except Unreachable:
                raise
            except Exception as error:
                unreadable.add(name)
                yield Damage(name, -1, -1, f"its description is unreadable: {shorten(error)}")
        cell_arrays = [name for name in self._cell_arrays() if name not in unreadable]
        damaged = [Damage(name, row, -1, what) for name in cell_arrays for row, what in self._holes(name)]
        yield from damaged
        if not damaged and len(cell_arrays) == len(self._cell_arrays()):
            known = self._known()
            for row in np.flatnonzero(self._keys_of_labels(known.size) != known):
                yield Damage("cell", int(row), -1, "its key is not that of its labels")
        if "status" not in unreadable:
            yield from self._verify_units([name for name in self._variables() if name not in unreadable])

    def repair(self, damage: Damage, study: Study) -> bool:
        """Mark the damaged unit as not run, sweep a leftover, or make keys and labels anew from one another.

        False where that is impossible: a label of a cell not in the grid, or with its key, an array's description.
        """
        self._arrays.clear()  # they may have grown since the damage was found
        if damage.block >= 0:
            self.forget(damage.row, damage.block)
        elif damage.variable.endswith(".partial"):
            self.place.delete(f"{RAW}/{damage.variable}")
        elif damage.row < 0 or damage.variable not in self._cell_arrays():
            return False
        elif damage.variable == "key":
            return self._rebuild_keys()
        else:
            return self._rebuild_labels(damage.variable, damage.row, study)
        return True

    def array(self, name: str) -> zarr.Array:
        """One array of the store, opened once per process."""
        if name not in self._arrays:
            try:
                array = zarr.open_array(self.place.zarr(f"{RAW}/{name}"), mode="r+")
            except Unreachable:
                raise
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                raise self._damaged(name) from None
            # Chunks that hold nothing but NaN are written as well: a missing one is then always damage.
            self._arrays[name] = array.with_config({"write_empty_chunks": True})
        return self._arrays[name]

    def __reduce__(self):
        return Store, (self.folder.absolute(), self.url, self.timeout)  # a worker may be in another folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One driver at a time may create, append, seal or take back; the lock ends with its process."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder) as owner, self.place.locked(owner):
            yield

    def _create(self, study: Study) -> None:
        if next(self._chunks("status"), None):
            raise self.invalid("is lost, while units are there; put it back, or choose another", f"{RAW}/zarr.json")
        partial = self.folder / f"{RAW}.partial"  # published when whole, so never half a store
        shutil.rmtree(partial, ignore_errors=True)
        root = zarr.create_group(partial, attributes={ATTRIBUTE: study.identity})
        checked = dict(compressors=[Crc32cCodec()])
        rows = ("cell", "replication")
        root.create_array("status", shape=(0, 0), chunks=(1, study.block), dtype="i1", fill_value=0,
                          dimension_names=rows, **checked)
        for name in study.metrics:
            root.create_array(name, shape=(0, 0), chunks=(1, study.block), dtype="f8", fill_value=np.nan,
                              dimension_names=rows, **checked)
        root.create_array("error", shape=(0, 0, ERROR_BYTES), chunks=(1, 1, ERROR_BYTES), dtype="u1",
                          fill_value=0, dimension_names=("cell", "block", "byte"), **checked)
        for axis, levels in study.grid.axes.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Zarr 3 has yet to specify its text type
                root.create_array(f"label_{axis}", shape=(0,), chunks=(CELL_CHUNK,), dtype=label_type(levels),
                                  dimension_names=("cell",), **checked)
        root.create_array("key", shape=(0,), chunks=(CELL_CHUNK,), dtype="u8", fill_value=0,
                          dimension_names=("cell",), **checked)
        self.place.publish(partial, RAW)

    def _ready(self, study: Study) -> np.ndarray | None:
        """(cells,) rows if nothing has to be created or appended, which needs no lock; else None."""
        self.check_identity(study)
        rows = self.rows(study)
        if (rows < 0).any():
            return None
        arrays = self.place.map(self.array, ("error", "status", *self._variables()))
        (_, blocks), *shapes = (array.shape[:2] for array in arrays)
        return rows if blocks >= study.blocks and min(n for _, n in shapes) >= study.replications else None

    def _append(self, study: Study) -> np.ndarray:
        """Rows of the grid's cells, appending those that are new: labels first, their keys last."""
        self._arrays.clear()
        rows, used = self.rows(study), self._known().size
        new = np.flatnonzero(rows < 0)
        if new.size and used < self._used():  # rows with data but without key: not a row may be given twice
            raise self._damaged("key")
        total = max(used + new.size, self.array("status").shape[0])
        for name in ("status", *self._variables()):
            self._grow(name, total, study.replications)
        self._grow("error", total, study.blocks, ERROR_BYTES)
        if new.size:
            labels = [study.grid.labels(int(cell)) for cell in new]
            place = slice(used, used + new.size)
            for axis, levels in study.grid.axes.items():
                array = self.array(f"label_{axis}")
                self._grow(f"label_{axis}", total)
                array[place] = np.array([cell[axis] for cell in labels], label_type(levels))
            keys = self.array("key")
            self._grow("key", total)
            keys[place] = np.array([cell_key(cell) for cell in labels], np.uint64)
            rows[new] = np.arange(used, used + new.size)
        return rows

    def _grow(self, name: str, *shape: int) -> None:
        array = self.array(name)
        if (larger := tuple(np.maximum(array.shape, shape).tolist())) != array.shape:
            array.resize(larger)

    def _known(self) -> np.ndarray:
        try:
            keys = self.array("key")[:]
        except Unreachable:
            raise
        except Exception:
            raise self._damaged("key") from None
        return keys[: np.flatnonzero(keys == 0)[0]] if (keys == 0).any() else keys

    def _damaged(self, name: str) -> InvalidInput:
        return self.invalid(f"{name} is damaged; run task=verify repair=true", RAW)

    def _used(self) -> int:
        """Number of rows up to the last that holds data."""
        return 1 + max((row for row, _ in self._chunks("status")), default=-1)

    def _holes(self, name: str) -> Iterator[tuple[int, str]]:
        """(first row, what is wrong) of every chunk of a key or label array that is missing or unreadable."""
        array, present = self.array(name), set(self._chunks(name))
        for chunk in range(-(-self._used() // CELL_CHUNK)):
            if (chunk,) not in present:
                yield chunk * CELL_CHUNK, "chunk is missing"
        for (chunk,) in sorted(present):
            try:
                array.get_block_selection(chunk)
            except Unreachable:
                raise
            except Exception as error:
                yield chunk * CELL_CHUNK, shorten(f"unreadable: {error}", 100)

    def _verify_units(self, variables: list[str]) -> Iterator[Damage]:
        done, failed = sorted(self._chunks("status")), []

        def look(place: tuple[int, ...]) -> Damage | None:
            if place not in present:
                return Damage(name, *place[:2], missing)
            try:
                values = array.get_block_selection(place)
                if name == "status" and not np.isin(values, (OK, NOT_CONVERGED, FAILED)).all():
                    return Damage(name, *place, "a status that means nothing")
                if name == "status" and (values == FAILED).any():
                    failed.append((*place, 0))
            except Unreachable:
                raise
            except Exception as error:
                return Damage(name, *place[:2], shorten(f"unreadable: {error}", 100))

        missing = "chunk is missing"
        for name in ("status", *variables):
            array, present = self.array(name), set(self._chunks(name))
            yield from filter(None, self.place.map(look, done))
        name, missing = "error", "the text of the failure is missing"
        if failed:
            array, present = self.array(name), set(self._chunks(name))
            yield from filter(None, self.place.map(look, sorted(failed)))

    def _keys_of_labels(self, count: int) -> np.ndarray:
        """(count,) keys of the first rows, from their labels."""
        names = self._cell_arrays()[1:]
        columns = [self.array(name)[:count].tolist() for name in names]
        axes = [name.removeprefix("label_") for name in names]
        return np.fromiter((cell_key(dict(zip(axes, row, strict=True))) for row in zip(*columns, strict=True)),
                           np.uint64, count)

    def _rebuild_keys(self) -> bool:
        if any(True for name in self._cell_arrays()[1:] for _ in self._holes(name)):
            return False
        keys = self._keys_of_labels(count := min(self.array(n).shape[0] for n in self._cell_arrays()[1:]))  # also empty
        self.place.delete(*(f"{RAW}/key/c/{chunk}" for (chunk,) in self._chunks("key")))
        self.array("key")[:count] = keys
        return True

    def _rebuild_labels(self, name: str, start: int, study: Study) -> bool:
        if any(True for _ in self._holes("key")):
            return False
        axis, keys = name.removeprefix("label_"), self._known()[start : start + CELL_CHUNK]
        levels = {cell_key(labels): labels[axis] for labels in study.grid}
        if not all(int(key) in levels for key in keys):
            return False
        array = self.array(name)
        self.place.delete(f"{RAW}/{name}/c/{start // CELL_CHUNK}")
        array[start : start + keys.size] = np.array([levels[int(key)] for key in keys], array.dtype)
        return True

    def _identity(self) -> dict[str, Any]:
        return json.loads(self.place.read(f"{RAW}/zarr.json") or b"{}")["attributes"][ATTRIBUTE]

    def _variables(self) -> list[str]:
        return sorted(self._identity()["metrics"])

    def _cell_arrays(self) -> list[str]:
        return ["key", *(f"label_{axis}" for axis in self._identity()["axes"])]

    def _chunks(self, name: str) -> Iterator[tuple[int, ...]]:
        """Indices of the chunks of an array that exist."""
        for key in self.place.keys(f"{RAW}/{name}/c"):
            parts = key.split("/")
            if all(p.isdigit() for p in parts):
                yield tuple(int(p) for p in parts)
