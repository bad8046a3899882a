"""What a worker does with units: simulate, store, tell; and in which order units are best handed out."""

import socket
import traceback
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pipeline.grid import cell_key
from pipeline.registry import NAMES
from pipeline.store import Store
from pipeline.study import Study


class Unit(NamedTuple):
    """One unit: number of the cell in the grid, its row in the store, block of replications."""

    cell: int
    row: int
    block: int


class Work:
    """Callable that simulates and stores units; for each, True if it failed.

    A unit that raises is stored as failed with its traceback. What the machine is to blame for (memory, disk)
    is raised: such units stay not run.
    """

    found = False  # whether the store was seen from here

    def __init__(self, study: Study, store: Store):
        self.study, self.store = study, store

    def __getstate__(self):  # a worker learns the names that were registered here
        return NAMES, self.study, self.store

    def __setstate__(self, state):
        names, self.study, self.store = state
        for kind, targets in names.items():
            NAMES[kind].update(targets)

    def __call__(self, units: list[Unit]) -> list[bool]:
        self.found = self.found or self.store.exists()
        if not self.found:
            raise FileNotFoundError(f"{socket.gethostname()} does not see {self.store.folder}; "
                                    "give outputs on storage that driver and workers share")
        memo: dict = {}
        return [self._one(unit, memo) for unit in units]

    def _one(self, unit: Unit, memo: dict) -> bool:
        try:
            with np.errstate(all="ignore"):  # what goes wrong in a replication is told by its status
                values = self.study.simulate(self.study.grid.labels(unit.cell), unit.block, memo)
        except (MemoryError, OSError):
            raise
        except Exception:
            self.store.fail(self.study, unit.row, unit.block, traceback.format_exc())
            return True
        self.store.write(unit.row, unit.block, values)
        return False


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
        self.done = done | ~self.mine

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

    def __iter__(self) -> Iterator[tuple[Unit, float]]:
        start = 0
        for end in self.ends:
            for block in range(self.study.blocks):
                for cell in self.order[start:end]:
                    if not self.done[cell, block]:
                        yield Unit(int(cell), int(self.rows[cell]), block), float(self.costs[cell])
            start = end


def failures(study: Study, store: Store, rows: np.ndarray) -> Iterator[tuple[int, int, int, str]]:
    """(cell, row, block, text of the error) of every failed unit of the study; the store may hold others."""
    cells = {int(row): cell for cell, row in enumerate(rows)}
    for row, block, text in store.errors():
        if row in cells and block < study.blocks:
            yield cells[row], row, block, text


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
