"""The raw store of a study: one Zarr group, dimensions (cell, replication), one chunk per unit and variable.

A unit is done exactly when its `status` chunk exists. Workers write whole chunks, status last; each chunk
lands by an atomic rename and carries a CRC-32C. Cells are only ever appended: a row keeps its labels for
good, so grids may grow and replications be added.

    status      (cell, replication) int8     0 not run, 1 ok, 2 not converged, 3 failed
    <metric>    (cell, replication) float64
    error       (cell, block, byte) uint8    text of what made a unit fail; chunks only where one did
    key         (cell,) uint64               digest of the cell's canonical labels
    label_<axis> (cell,)                     the labels
"""

import fcntl
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
from zarr.core.sync import collect_aiterator, sync
from zarr.storage import LocalStore

from pipeline.codes import FAILED, NOT_CONVERGED, OK
from pipeline.grid import cell_key
from pipeline.parameters import InvalidInput, shorten
from pipeline.study import Study

ERROR_BYTES = 8192
CELL_CHUNK = 4096
ATTRIBUTE = "study"


class Damage(NamedTuple):
    """One damaged place: variable, row and block (or -1), and what is wrong with it."""

    variable: str
    row: int
    block: int
    what: str


class Store:
    """Raw store of a study under `folder`/replications.zarr; `Store(folder)` touches nothing on disk."""

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self.path = self.folder / "replications.zarr"
        self._arrays: dict[str, zarr.Array] = {}

    def exists(self) -> bool:
        """Whether the store was ever created."""
        return (self.path / "zarr.json").exists()

    def prepare(self, study: Study) -> np.ndarray:
        """Create the store or let it grow to hold the study's cells and replications; (cells,) their rows.

        Safe to repeat and to interrupt anywhere. Raises InvalidInput when the folder holds another study, or
        cannot be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self.locked():
                if not self.exists():
                    self._create(study)
                self.check_identity(study)
                return self._append(study)
        except OSError as error:
            raise InvalidInput("outputs", self.folder, f"cannot write there: {error.strerror or error}") from None

    def check_identity(self, study: Study) -> None:
        """Raise InvalidInput unless the store belongs to this study."""
        try:
            found = dict(self._identity())
        except (ValueError, KeyError, TypeError):
            raise InvalidInput("outputs", self.path, "is not a store of this program; choose another folder") from None
        if found != (wanted := json.loads(json.dumps(study.identity))):
            different = sorted(k for k in wanted if found.get(k) != wanted[k])
            raise InvalidInput(
                "outputs", self.folder, f"holds another study ({', '.join(different)} differ); choose another folder"
            )

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
            text = error.encode()[-ERROR_BYTES:]
            padded = np.zeros(ERROR_BYTES, np.uint8)
            padded[: len(text)] = np.frombuffer(text, np.uint8)
            self.array("error")[row, block] = padded
        for name in (*(n for n in values if n != "status"), "status"):
            array = self.array(name)
            size = array.chunks[1]
            if values[name].shape != (size,) or (block + 1) * size > array.shape[1] or row >= array.shape[0]:
                raise ValueError(f"unit ({row}, {block}) of {name} is not one whole chunk of the store")
            array[row, block * size : (block + 1) * size] = values[name]

    def fail(self, study: Study, row: int, block: int, error: str) -> None:
        """Store a unit that raised: no values, status failed, the error's text."""
        values = {name: np.full(study.block, np.nan) for name in study.metrics}
        self.write(row, block, values | {"status": np.full(study.block, FAILED, np.int8)}, error)

    def read(self, name: str, row: int, block: int) -> np.ndarray:
        """(block,) one chunk of a variable."""
        return self.array(name).get_block_selection((row, block)).ravel()

    def errors(self) -> Iterator[tuple[int, int, str]]:
        """(row, block, text) of every failed unit: its status says so, a text alone may be left from a kill."""
        for row, block, _ in sorted(self._chunks("error")):
            try:
                if (self.read("status", row, block) == FAILED).any():
                    text = bytes(self.array("error")[row, block]).rstrip(b"\0").decode(errors="replace")
                    yield row, block, text
            except (ValueError, KeyError):  # a checksum or a size that is wrong
                yield row, block, "what it said is damaged; run task=verify repair=true"

    def units(self) -> int:
        """Number of done units in the whole store."""
        return sum(1 for _ in self._chunks("status"))

    def forget(self, row: int, block: int) -> None:
        """Mark a unit as not run: its status chunk goes first, so a half-forgotten unit is simply not done."""
        for name in ("status", *self._variables()):
            sync(self.array(name).store.delete(f"c/{row}/{block}"))
        sync(self.array("error").store.delete(f"c/{row}/{block}/0"))

    def verify(self) -> Iterator[Damage]:
        """Read every chunk of every done unit; yield what is missing, truncated, altered or stray."""
        for partial in sorted(self.path.rglob("*.partial")):
            yield Damage(str(partial.relative_to(self.path)), -1, -1, "left over from an interrupted write")
        unreadable = set()
        for name in (*self._cell_arrays(), "status", *self._variables(), "error"):
            try:
                self.array(name)
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

        False when nothing can be done: a label of a cell that the study's grid does not have, a key and a
        label of one cell both lost, or an array's description.
        """
        if damage.block >= 0:
            self.forget(damage.row, damage.block)
        elif damage.variable.endswith(".partial"):
            (self.path / damage.variable).unlink(missing_ok=True)
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
                array = zarr.open_array(self.path / name, mode="r+")
            except (OSError, ValueError, KeyError, TypeError):
                raise self._damaged(name) from None
            # Chunks that hold nothing but NaN are written as well: a missing one is then always damage.
            self._arrays[name] = array.with_config({"write_empty_chunks": True})
        return self._arrays[name]

    def __reduce__(self):
        return Store, (self.folder,)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One driver at a time may create, append or seal; the lock ends with its process."""
        with open(self.folder / ".lock", "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _create(self, study: Study) -> None:
        partial = self.folder / "replications.zarr.partial"  # renamed when whole, so never half a store
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
                root.create_array(f"label_{axis}", shape=(0,), chunks=(CELL_CHUNK,), dtype=_label_type(levels),
                                  dimension_names=("cell",), **checked)
        root.create_array("key", shape=(0,), chunks=(CELL_CHUNK,), dtype="u8", fill_value=0,
                          dimension_names=("cell",), **checked)
        partial.rename(self.path)

    def _append(self, study: Study) -> np.ndarray:
        """Rows of the grid's cells, appending those that are new: labels first, their keys last."""
        self._arrays.clear()
        rows, used = self.rows(study), self._known().size
        new = np.flatnonzero(rows < 0)
        if new.size and used < self._used():  # rows with data but without key: not a row may be given twice
            raise self._damaged("key")
        total = max(used + new.size, self.array("status").shape[0])
        for name in ("status", *self._variables()):
            array = self.array(name)
            array.resize((total, max(study.replications, array.shape[1])))
        errors = self.array("error")
        errors.resize((total, max(study.blocks, errors.shape[1]), ERROR_BYTES))
        if new.size:
            labels = [study.grid.labels(int(cell)) for cell in new]
            place = slice(used, used + new.size)
            for axis, levels in study.grid.axes.items():
                array = self.array(f"label_{axis}")
                array.resize((total,))
                array[place] = np.array([cell[axis] for cell in labels], _label_type(levels))
            keys = self.array("key")
            keys.resize((total,))
            keys[place] = np.array([cell_key(cell) for cell in labels], np.uint64)
            rows[new] = np.arange(used, used + new.size)
        return rows

    def _known(self) -> np.ndarray:
        try:
            keys = self.array("key")[:]
        except Exception:
            raise self._damaged("key") from None
        return keys[: np.flatnonzero(keys == 0)[0]] if (keys == 0).any() else keys

    def _damaged(self, name: str) -> InvalidInput:
        return InvalidInput("outputs", self.path / name, "is damaged; run task=verify repair=true")

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
            except Exception as error:
                yield chunk * CELL_CHUNK, shorten(f"unreadable: {error}", 100)

    def _verify_units(self, variables: list[str]) -> Iterator[Damage]:
        done, failed = sorted(self._chunks("status")), set()
        for name in ("status", *variables):
            array, present = self.array(name), set(self._chunks(name))
            for row, block in done:
                if (row, block) not in present:
                    yield Damage(name, row, block, "chunk is missing")
                    continue
                try:
                    values = array.get_block_selection((row, block))
                    if name == "status" and not np.isin(values, (OK, NOT_CONVERGED, FAILED)).all():
                        yield Damage(name, row, block, "a status that means nothing")
                    elif name == "status" and (values == FAILED).any():
                        failed.add((row, block))
                except Exception as error:
                    yield Damage(name, row, block, shorten(f"unreadable: {error}", 100))
        present = {(row, block) for row, block, _ in self._chunks("error")}
        for row, block in sorted(failed):
            try:
                if (row, block) not in present:
                    yield Damage("error", row, block, "the text of the failure is missing")
                else:
                    self.array("error").get_block_selection((row, block, 0))
            except Exception as error:
                yield Damage("error", row, block, shorten(f"unreadable: {error}", 100))

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
        keys = self._keys_of_labels(count := self._used())
        for (chunk,) in list(self._chunks("key")):
            sync(self.array("key").store.delete(f"c/{chunk}"))
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
        sync(array.store.delete(f"c/{start // CELL_CHUNK}"))
        array[start : start + keys.size] = np.array([levels[int(key)] for key in keys], array.dtype)
        return True

    def _identity(self) -> dict[str, Any]:
        return json.loads((self.path / "zarr.json").read_text("utf-8"))["attributes"][ATTRIBUTE]

    def _variables(self) -> list[str]:
        return sorted(self._identity()["metrics"])

    def _cell_arrays(self) -> list[str]:
        return ["key", *(f"label_{axis}" for axis in self._identity()["axes"])]

    def _chunks(self, name: str) -> Iterator[tuple[int, ...]]:
        """Indices of the chunks of an array that exist."""
        for key in collect_aiterator(LocalStore(self.path / name).list_prefix("c/")):
            parts = key.removeprefix("c/").split("/")
            if all(p.isdigit() for p in parts):
                yield tuple(int(p) for p in parts)


def _label_type(levels: tuple) -> Any:
    kinds = {type(level) for level in levels}
    if kinds <= {bool}:
        return np.dtype(bool)
    if kinds <= {int}:
        return np.dtype("i8")
    return np.dtype("f8") if kinds <= {int, float} else np.dtypes.StringDType()
