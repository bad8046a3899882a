"""What a worker does with units: simulate, store, tell; and in which order units are best handed out."""

import socket
import traceback
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipeline import seal
from pipeline.bucket import Unreachable
from pipeline.codes import FAILED
from pipeline.grid import cell_key
from pipeline.parameters import shorten
from pipeline.registry import NAMES
from pipeline.session import sessions
from pipeline.store import Store
from pipeline.study import Study

MOST_LOOKED_AT = 100  # finished units, for one that did not fail: where that many failed, numbers are not the trouble


class Unit(NamedTuple):
    """One unit: number of the cell in the grid, its row in the store, block of replications."""

    cell: int
    row: int
    block: int


class Work:
    """Callable that simulates and stores units; for each, True if it failed.

    A unit that raises is stored as failed with its traceback. What the machine is to blame for (memory, disk)
    is raised: such units stay not run. Before its first unit each process makes the `witness` again, if it is done:
    InvalidInput where the finished numbers come out differently, as under another NumPy or on another type of CPU.
    """

    ready = False  # whether the store was seen, and the witness made again, from here

    def __init__(self, study: Study, store: Store, witness: Unit | None = None):
        self.study, self.store, self.witness = study, store, witness

    def __getstate__(self):  # a worker learns the names that were registered here
        return NAMES, self.study, self.store, self.witness

    def __setstate__(self, state):
        names, self.study, self.store, self.witness = state
        for kind, targets in names.items():
            NAMES[kind].update(targets)

    def __call__(self, units: list[Unit]) -> list[bool]:
        if not self.ready:
            if not self.store.exists():
                raise FileNotFoundError(f"{socket.gethostname()} does not see {self.store.folder}; "
                                        "give outputs on storage that driver and workers share")
            if self.witness:
                self._agree(self.witness)
            self.ready = True
        memo: dict = {}
        return [self._one(unit, memo) for unit in units]

    def _one(self, unit: Unit, memo: dict) -> bool:
        try:
            values = self._simulate(unit, memo)
        except (MemoryError, OSError):
            raise
        except Exception:
            self.store.fail(self.study, unit.row, unit.block, traceback.format_exc())
            return True
        self.store.write(unit.row, unit.block, values)
        return False

    def _simulate(self, unit: Unit, memo: dict | None = None) -> dict[str, np.ndarray]:
        with np.errstate(all="ignore"):  # what goes wrong in a replication is told by its status
            return self.study.simulate(self.study.grid.labels(unit.cell), unit.block, memo)

    def _agree(self, unit: Unit) -> None:
        try:
            again = self._simulate(unit)
        except (MemoryError, OSError):
            raise
        except Exception:
            again = {"status": np.full(self.study.block, FAILED, np.int8)}
        if not self.store.holds(unit.row, unit.block):  # asked now, as another worker may just have finished it
            with self.store.locked():  # or workers of two types might both set the measure
                if not self.store.holds(unit.row, unit.block):
                    if len(again) > 1:
                        self.store.write(unit.row, unit.block, again)
                    return
        name = unit_name(self.study, unit.cell, unit.block)
        try:
            stored = {key: self.store.read(key, unit.row, unit.block) for key in again}
        except Unreachable:
            raise
        except Exception as error:
            raise self.store.invalid(f"unit {name} cannot be read ({shorten(error)}); "
                                     "run task=verify repair=true") from None
        if (stored["status"] == FAILED).any() and len(again) > 1:  # under older code: it holds no numbers to compare
            return
        if different := [key for key in again if again[key].tobytes() != stored[key].tobytes()]:
            then = (sessions(self.store.folder) or [{}])[0].get("versions", {})
            now = seal.versions()
            changed = ", ".join(f"{key} {then.get(key, '?')} → {now[key]}" for key in now if then.get(key) != now[key])
            raise self.store.invalid(
                f"finished unit {name} comes out differently on {socket.gethostname()} ({', '.join(different)}; since "
                f"then: {changed or 'the same versions, so another code or type of CPU'}); go on where it was begun, "
                "on machines of one type, or start anew in another folder with outputs=…")


class Agenda:
    """Units still to do, most costly first; cells that share their data next to each other.

    Holds two bytes per unit and a few numbers per cell, and yields units lazily. shard: (number, how many), to
    deal the units out to several drivers: whatever is done, each deals alike, and cells that share data go together.
    `mine` (cells, blocks) are this shard's; the others' count as done.
    """

    def __init__(self, study: Study, rows: np.ndarray, done: np.ndarray, shard: tuple[int, int] = (0, 1)):
        self.study, self.rows = study, rows
        self.costs = np.array([study.work(labels) for labels in study.grid])
        paired = set(study.paired)
        shared = np.fromiter(
            (cell_key({n: v for n, v in labels.items() if n not in paired}) for labels in study.grid),
            np.uint64, len(study.grid))
        _, group = np.unique(shared, return_inverse=True)
        weight = np.bincount(group, self.costs)[group]
        self.order = np.lexsort((group, -weight))  # stable: cells of a group stay in the grid's order
        self.ends = np.flatnonzero(np.diff(group[self.order], append=-1)) + 1
        rank = np.empty(len(self.order), int)
        rank[self.order] = np.searchsorted(self.ends, np.arange(len(self.order)), side="right")
        self.mine = (rank[:, None] * study.blocks + np.arange(study.blocks)) % shard[1] == shard[0]
        self.finished, self.done = done, done | ~self.mine

    @property
    def pending(self) -> int:
        """Number of units to do."""
        return int(self.done.size - self.done.sum())

    @property
    def units(self) -> int:
        """Number of units of this shard."""
        return int(self.mine.sum())

    @property
    def cost(self) -> float:
        """Sum of the predicted costs of the units to do."""
        return float(((~self.done).sum(axis=1) * self.costs).sum())

    def witness(self, store: Store, elsewhere: bool = False) -> Unit | None:
        """The unit by which workers see whether they agree: the most costly one that is done and did not fail.

        The more arithmetic, the less likely it comes out alike elsewhere. While none is done: the most costly of all
        if others work `elsewhere`, where the first to finish it sets the measure.
        """
        for place, block in np.argwhere(self.finished[self.order])[:MOST_LOOKED_AT]:
            unit = self._unit(self.order[place], block)
            try:
                if not (store.read("status", unit.row, unit.block) == FAILED).any():
                    return unit
            except (ValueError, KeyError):  # damaged: whoever compares will say so
                return unit
        return self._unit(self.order[0], 0) if elsewhere else None

    def __iter__(self) -> Iterator[tuple[Unit, float]]:
        start = 0
        for end in self.ends:
            for block in range(self.study.blocks):
                for cell in self.order[start:end]:
                    if not self.done[cell, block]:
                        yield self._unit(cell, block), float(self.costs[cell])
            start = end

    def _unit(self, cell: int, block: int) -> Unit:
        return Unit(int(cell), int(self.rows[cell]), int(block))


def failures(study: Study, store: Store, rows: np.ndarray) -> Iterator[Unit]:
    """Every failed unit of the study; the store may hold others."""
    cells = {int(row): cell for cell, row in enumerate(rows)}
    for row, block in store.failed():
        if row in cells and block < study.blocks:
            yield Unit(cells[row], row, block)


def unit_name(study: Study, cell: int, block: int) -> str:
    """Short name of a unit, for `task=replay unit=…`: stable, made of the cell's labels."""
    return f"c{cell_key(study.grid.labels(cell)):016x}-{block}"


def find_unit(study: Study, name: str) -> tuple[int, int] | None:
    """(cell, block) of a unit's name, None if the study has no such unit."""
    key, _, block = name.removeprefix("c").partition("-")
    try:
        wanted, number = int(key, 16), int(block)
    except ValueError:
        return None
    cell = next((cell for cell, found in enumerate(study.grid.keys()) if found == wanted), None)
    return (cell, number) if cell is not None and 0 <= number < study.blocks else None
