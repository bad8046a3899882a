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
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zarr
from zarr.codecs import Crc32cCodec
from zarr.core.sync import collect_aiterator, sync

from pipeline.grid import Grid
from pipeline.parameters import InvalidInput, shorten
from pipeline.streams import canonical, digest
from pipeline.study import FAILED, Study

ERROR_BYTES = 8192
CELL_CHUNK = 4096
ATTRIBUTE = "study"


class Damage(NamedTuple):
    """One damaged place: variable, row and block (or -1), and what is wrong with it."""

    variable: str
    row: int
    block: int
    what: str


def cell_keys(grid: Grid) -> np.ndarray:
    """(cells,) uint64: 64-bit digest of each cell's canonical labels; never 0."""
    count = len(grid)
    return np.fromiter(
        (int.from_bytes(digest(canonical(labels), 8), "little") or 1 for labels in grid), np.uint64, count
    )


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
            with self._locked():
                if not self.exists():
                    self._create(study)
                self.check_identity(study)
                return self._append(study)
        except OSError as error:
            raise InvalidInput("outputs", self.folder, f"cannot write there: {error.strerror or error}") from None

    def check_identity(self, study: Study) -> None:
        """Raise InvalidInput unless the store belongs to this study."""
        try:
            found = json.loads((self.path / "zarr.json").read_text())["attributes"][ATTRIBUTE]
        except (ValueError, KeyError, TypeError):
            raise InvalidInput("outputs", self.path, "is not a store of this program; choose another folder") from None
        if found != (wanted := json.loads(json.dumps(study.identity))):
            different = sorted(k for k in wanted if found.get(k) != wanted[k])
            raise InvalidInput(
                "outputs", self.folder, f"holds another study ({', '.join(different)} differ); choose another folder"
            )

    def rows(self, study: Study) -> np.ndarray:
        """(cells,) row of each cell of the grid, -1 where the store has none yet. O(cells log rows)"""
        wanted = cell_keys(study.grid)
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
        """(row, block, text) of every failed unit."""
        for row, block, _ in sorted(self._chunks("error")):
            text = bytes(self.array("error")[row, block])
            yield row, block, text.rstrip(b"\0").decode(errors="replace")

    def forget(self, row: int, block: int) -> None:
        """Mark a unit as not run: its status chunk goes first, so a half-forgotten unit is simply not done."""
        for name in ("status", *self._variables()):
            sync(self.array(name).store.delete(f"c/{row}/{block}"))
        sync(self.array("error").store.delete(f"c/{row}/{block}/0"))

    def verify(self) -> Iterator[Damage]:
        """Read every chunk of every done unit; yield what is missing, truncated, altered or stray."""
        for partial in sorted(self.path.rglob("*.partial")):
            yield Damage(str(partial.relative_to(self.path)), -1, -1, "left over from an interrupted write")
        for name in ("key", *(n for n in self._names() if n.startswith("label_"))):
            try:
                self.array(name)[:]
            except Exception as error:
                yield Damage(name, -1, -1, shorten(f"unreadable: {error}"))
        done = sorted(self._chunks("status"))
        for name in ("status", *self._variables()):
            array, present = self.array(name), set(self._chunks(name))
            for row, block in done:
                if (row, block) not in present:
                    yield Damage(name, row, block, "chunk is missing")
                    continue
                try:
                    values = array.get_block_selection((row, block))
                    if name == "status" and not np.isin(values, (1, 2, 3)).all():
                        yield Damage(name, row, block, "a status that means nothing")
                except Exception as error:
                    yield Damage(name, row, block, shorten(f"unreadable: {error}", 100))

    def repair(self, damage: Damage) -> bool:
        """Mark the damaged unit as not run, or sweep a leftover; False when nothing can be done."""
        if damage.block >= 0:
            self.forget(damage.row, damage.block)
        elif damage.variable.endswith(".partial"):
            (self.path / damage.variable).unlink(missing_ok=True)
        else:
            return False
        return True

    def array(self, name: str) -> zarr.Array:
        """One array of the store, opened once per process."""
        if name not in self._arrays:
            self._arrays[name] = zarr.open_array(self.path / name, mode="r+")
        return self._arrays[name]

    def __reduce__(self):
        return Store, (self.folder,)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One driver at a time may create or append; the lock goes with its process, however it ends."""
        with open(self.folder / ".lock", "w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _create(self, study: Study) -> None:
        root = zarr.create_group(self.path, attributes={ATTRIBUTE: study.identity}, overwrite=True)
        checked = dict(compressors=[Crc32cCodec()], config={"write_empty_chunks": True})
        rows = ("cell", "replication")
        root.create_array("status", shape=(0, 0), chunks=(1, study.block), dtype="i1", fill_value=0,
                          dimension_names=rows, **checked)
        for name in study.metrics:
            root.create_array(name, shape=(0, 0), chunks=(1, study.block), dtype="f8", fill_value=np.nan,
                              dimension_names=rows, **checked)
        root.create_array("error", shape=(0, 0, ERROR_BYTES), chunks=(1, 1, ERROR_BYTES), dtype="u1",
                          fill_value=0, compressors=[Crc32cCodec()], dimension_names=("cell", "block", "byte"))
        for axis, levels in study.grid.axes.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Zarr 3 has yet to specify its text type
                root.create_array(f"label_{axis}", shape=(0,), chunks=(CELL_CHUNK,), dtype=_label_type(levels),
                                  dimension_names=("cell",), **checked)
        root.create_array("key", shape=(0,), chunks=(CELL_CHUNK,), dtype="u8", fill_value=0,
                          dimension_names=("cell",), **checked)

    def _append(self, study: Study) -> np.ndarray:
        """Rows of the grid's cells, appending those that are new: labels first, their keys last."""
        self._arrays.clear()
        rows, used = self.rows(study), self._known().size
        new = np.flatnonzero(rows < 0)
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
            keys[place] = cell_keys(study.grid)[new]
            rows[new] = np.arange(used, used + new.size)
        return rows

    def _known(self) -> np.ndarray:
        keys = self.array("key")[:]
        return keys[: np.flatnonzero(keys == 0)[0]] if (keys == 0).any() else keys

    def _names(self) -> list[str]:
        return sorted(p.parent.name for p in self.path.glob("*/zarr.json"))

    def _variables(self) -> list[str]:
        return [n for n in self._names() if n not in ("status", "error", "key") and not n.startswith("label_")]

    def _chunks(self, name: str) -> Iterator[tuple[int, ...]]:
        """Indices of the chunks of an array that exist."""
        for key in collect_aiterator(self.array(name).store.list_prefix("c/")):
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
