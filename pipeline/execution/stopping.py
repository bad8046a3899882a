"""Which blocks of a cell are still needed, in a study with targets of precision, while its sweep
goes on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pipeline.execution.schedule import Unit, unit_name
from pipeline.execution.sight import NeedsStores
from pipeline.storage.replications import Store
from pipeline.storage.units import Damaged, Record
from pipeline.study.arrays import Array, Booleans, Floats, Integers
from pipeline.study.pairing import Pairing


class Prefix(Protocol):
    """The blocks of a group of cells from the first on, until its targets are met.

    See `analysis.precision`.
    """

    present: Booleans
    blocks: int
    counted: int | None
    excess: float

    @property
    def next_look(self) -> int:
        """Blocks at the next look."""

    @property
    def predicted(self) -> int:
        """Blocks that will count, as far as is known."""

    def add(self, values: Floats, status: Array) -> None:
        """Add the next block. values: (columns, levels…, reps); status: (levels…, reps)."""


class Rule(Protocol):
    """Makes prefixes of groups.

    columns: indices of the metrics that they need. pairing: the study's groups.
    """

    columns: list[int]
    pairing: Pairing

    def start(self, present: Booleans) -> Prefix:
        """The prefix of a group of cells before its first block.

        present: (levels…), whether there is such a cell.
        """


class PrefixReader(NeedsStores):
    """Callable that reads the finished blocks of groups of cells, in order, and returns the prefix
    of each group.
    """

    def __init__(self, store: Store, rule: Rule):
        self.store = store
        self.rule = rule

    def __call__(self, groups: list[int]) -> list[Prefix]:
        prefixes = [self.rule.start(self.rule.pairing.present(group)) for group in groups]
        for group, prefix in zip(groups, prefixes, strict=True):
            advance(self.store, self.rule, group, prefix, self.store.holds)
        return prefixes


def advance(
    store: Store, rule: Rule, group: int, prefix: Prefix, done: Callable[[int, int], bool]
) -> None:
    """Add the finished blocks that follow to the prefix of a group.

    done: whether a cell's unit of a block is finished.
    """
    cells = rule.pairing.cells[group]
    there = cells[cells >= 0].tolist()
    while prefix.counted is None and all(done(cell, prefix.blocks) for cell in there):
        prefix.add(*stored_block(store, rule, cells, prefix.blocks))


def stored_block(store: Store, rule: Rule, cells: Integers, block: int) -> tuple[Floats, Array]:
    """(columns, levels…, reps) values and (levels…, reps) status of a block.

    InvalidInput names a damaged unit.
    """
    size = store.study.block
    values = np.full((len(rule.columns), *cells.shape, size), np.nan)
    status = np.zeros((*cells.shape, size), np.int8)

    def fill(at: tuple[Any, ...]) -> None:
        record = read(store, Unit(int(cells[at]), block))
        values[:, *at] = record.metrics[rule.columns]
        status[at] = record.status

    for _ in store.backend.map(fill, [at for at in np.ndindex(cells.shape) if cells[at] >= 0]):
        pass
    return values, status


def read(store: Store, unit: Unit) -> Record:
    """What is stored of a unit; InvalidInput, which names it, where it is missing or damaged."""
    try:
        return store.read(*unit)
    except Damaged as error:
        raise store.invalid(
            f"unit {unit_name(store.study, unit)} is damaged: {error}; run task=verify "
            "repair=true, then this command again"
        ) from None


@dataclass(frozen=True)
class Settled:
    """What counts of sealed results. predicted: (cells,) blocks; done: (cells, blocks)."""

    predicted: Integers
    done: Booleans

    def decided(self, cell: int) -> bool:
        """Always true: a cell needs no more units."""
        return True

    def learn(self, units: Iterable[Unit]) -> None:
        """Do nothing: no further unit counts."""


class Stopping:
    """How many blocks of every cell are wanted: all, until the targets of its group are met.

    Units that were finished are added to the prefix of their group once all cells of a block are
    there; what is simulated beyond the prefix is surplus, which does not count. done: (cells,
    blocks).
    """

    def __init__(self, store: Store, rule: Rule, prefixes: Iterable[Prefix], done: Booleans):
        self.store = store
        self.rule = rule
        self.prefixes = [*prefixes]
        self.done = done.copy()

    @property
    def predicted(self) -> Integers:
        """(cells,) blocks that will count, as far as is known."""
        return np.array([prefix.predicted for prefix in self.prefixes])[self.rule.pairing.of_cell]

    def decided(self, cell: int) -> bool:
        """Whether a cell needs no more units."""
        return self.prefixes[self.rule.pairing.of_cell[cell]].counted is not None

    def learn(self, units: Iterable[Unit]) -> None:
        """Take note of finished units.

        Those that follow the prefix of their group are read and added to it.
        """
        groups = set()
        for unit in units:
            self.done[unit] = True
            groups.add(int(self.rule.pairing.of_cell[unit.cell]))
        for group in sorted(groups):
            advance(
                self.store,
                self.rule,
                group,
                self.prefixes[group],
                lambda *unit: bool(self.done[unit]),
            )
