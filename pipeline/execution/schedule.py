"""Which units are left to do, and in which order they are handed out."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from pipeline.storage.layout import counted
from pipeline.storage.replications import Listing
from pipeline.study.arrays import Booleans, Floats, Integers
from pipeline.study.checks import ROLES
from pipeline.study.grid import cell_key
from pipeline.study.pairing import Pairing
from pipeline.study.study import Study

# What comparing a new writer may cost: a share of the study's cost, or so many seconds.
SHARE = 0.005
SECONDS = 2.0
COST_OF_A_SECOND = 1e9  # predicted costs are in steps of about a nanosecond


class Unit(NamedTuple):
    """One unit: number of the cell in the grid, block of replications."""

    cell: int
    block: int


class NeededBlocks(Protocol):
    """How many blocks the cells of a study with targets of precision still need; see `stopping`."""

    @property
    def done(self) -> Booleans:
        """(cells, blocks): units finished so far, also while a sweep goes on."""

    def learn(self, units: Iterable[Unit]) -> None:
        """Take note of finished units."""

    @property
    def predicted(self) -> Integers:
        """(cells,) blocks that will count, as far as is known."""

    def decided(self, cell: int) -> bool:
        """Whether a cell needs no more units."""


class Schedule:
    """Units still to do: block after block across all cells.

    So halfway through a sweep every cell has half of its units. Within a block the most costly
    cells come first, and cells that share their data stand next to each other. Holds about four
    bytes per unit and a few numbers per cell, and yields units lazily. `mine` (cells, blocks) are
    this shard's units, of those that count; the others' count as done.

    Args:
        shard: (number, how many), to deal the units out to several drivers; all deal in the same
            way, whatever is done, and cells that share data go together.
        needed: of a study with targets of precision; all blocks of a group of cells then belong to
            one shard, and no unit of a group is yielded once it is decided.
        chance: draws the order of blocks, of cells in a block, and of those that share data, so
            that several drivers of one study seldom begin the same unit; the more a cell costs, the
            earlier it comes. With targets of precision blocks stay in their order, as later ones
            may not be needed. None for the same order again.
    """

    def __init__(
        self,
        study: Study,
        listing: Listing,
        shard: tuple[int, int] = (0, 1),
        needed: NeededBlocks | None = None,
        chance: np.random.Generator | None = None,
    ):
        self.study = study
        self.listing = listing
        self.needed = needed
        self.costs: Floats = study.costs
        self.chance = chance
        self._group: Integers = Pairing(study).of_cell
        self._weights = np.bincount(self._group, self.costs)
        # A stable sort: cells of a group stay in the grid's order.
        self.order: Integers = np.lexsort((self._group, -self._weights[self._group]))
        self._within = np.arange(len(self._group))
        if chance is not None:
            self._within = chance.permutation(len(self._group))
        ends = np.cumsum(np.bincount(self._group)) - 1
        last = np.lexsort((self._within, self._group))[ends]
        self._last = set(last.tolist())  # cells of their groups
        self.mine: Booleans = counted(study)
        if shard != (0, 1):
            self.mine &= self._dealt_to(*shard)
        self.done: Booleans = listing.done | ~self.mine
        self.suspects: dict[Unit, int] = {}  # not yielded: they come last, see `suspects`
        self.given_up: list[Unit] = []  # of these, what ended too many jobs

    def _dealt_to(self, number: int, shards: int) -> Booleans:
        """(cells, blocks) or (cells, 1): units that belong to one of several shards."""
        ends = np.flatnonzero(np.diff(self._group[self.order], append=-1)) + 1
        rank = np.empty(len(self.order), int)  # of each cell's group
        rank[self.order] = np.searchsorted(ends, np.arange(len(self.order)), side="right")
        dealt = rank[:, None]
        if not self.study.precision:
            dealt = rank[:, None] * self.study.blocks + np.arange(self.study.blocks)
        belongs: Booleans = dealt % shards == number
        return belongs

    def shares(self, unit: Unit) -> bool:
        """Whether the cell after this one shares its data."""
        return unit.cell not in self._last

    @property
    def _wanted(self) -> Booleans:
        """(cells, blocks): units of this shard that count, as far as is known."""
        if self.needed is None:
            return self.mine
        return self.mine & (np.arange(self.study.blocks) < self.needed.predicted[:, None])

    @property
    def _left(self) -> Booleans:
        if self.needed is None:
            return self._wanted & ~self.done
        return self._wanted & ~self.needed.done

    @property
    def pending(self) -> int:
        """Number of units to do, as far as is known."""
        return int(self._left.sum())

    @property
    def units(self) -> int:
        """Number of units of this shard, as far as is known."""
        return int(self._wanted.sum())

    @property
    def cost(self) -> float:
        """Sum of the predicted costs of the units to do, as far as is known."""
        return float((self._left.sum(axis=1) * self.costs).sum())

    @cached_property
    def references(self) -> tuple[Unit, ...]:
        """Units by which a new writer is compared.

        Of every combination of model, mechanism and estimator one, and more.

        Of each combination the most costly unit that is done and did not fail: the more arithmetic,
        the more likely it shows a difference. While none is done, the least costly, which the first
        writer simulates before all others. Then other finished units, drawn at random, until all
        cost `SHARE` of the study or `SECONDS`: an iteration may amplify a last digit in some units
        only. Small studies are so compared wholly.
        """
        good = self.listing.done & ~self.listing.failed
        chosen = dict.fromkeys(
            self._reference(cells, good) for cells in self._combinations.values()
        )
        budget = max(SHARE * self.study.blocks * self.costs.sum(), SECONDS * COST_OF_A_SECOND)
        spent = sum(self.costs[unit.cell] for unit in chosen)
        for number in np.random.default_rng(0).permutation(np.flatnonzero(good)):
            unit = Unit(*divmod(int(number), self.study.blocks))
            if spent + self.costs[unit.cell] > budget:
                break
            if unit not in chosen:
                chosen[unit] = None
                spent += self.costs[unit.cell]
        return tuple(chosen)

    @cached_property
    def trials(self) -> tuple[tuple[int, ...], ...]:
        """Cells by which parts are tried: of each combination the two least costly, or its one."""
        trials: list[tuple[int, ...]] = []
        for cells in self._combinations.values():
            by_cost = sorted(cells, key=lambda cell: self.costs[cell])
            trials.append(tuple(by_cost[:2]))
        return tuple(trials)

    @cached_property
    def _combinations(self) -> dict[tuple[object, ...], list[int]]:
        """Cells of every combination of parts, in the order of their first cells.

        A combination is of a model, a mechanism and an estimator.
        """
        cells: dict[tuple[object, ...], list[int]] = {}
        for cell, labels in enumerate(self.study.grid):
            combination = tuple([labels.get(role) for role in ROLES])
            cells.setdefault(combination, []).append(cell)
        return cells

    def _reference(self, cells: list[int], good: Booleans) -> Unit:
        among = np.array(cells)
        finished = among[good[among].any(axis=1)]
        if not len(finished):
            return Unit(int(among[self.costs[among].argmin()]), 0)
        cell = int(finished[self.costs[finished].argmax()])
        return Unit(cell, int(good[cell].argmax()))

    @property
    def _blocks(self) -> Integers:
        """All blocks; in an order that is drawn, unless later ones may not be needed."""
        if self.chance is None or self.study.precision:
            return np.arange(self.study.blocks)
        return self.chance.permutation(self.study.blocks)

    @property
    def _cells(self) -> Integers:
        """All cells, group by group.

        For each block the groups come in an order that is drawn: each next group is one of those
        left, with a probability in proportion to its cost.
        """
        if self.chance is None:
            return self.order
        costs = np.maximum(self._weights, np.finfo(float).tiny)
        waits = self.chance.exponential(size=len(costs)) / costs
        order: Integers = np.lexsort((self._within, self._group, waits[self._group]))
        return order

    def __iter__(self) -> Iterator[tuple[Unit, float]]:
        for block in self._blocks.tolist():
            for cell in self._cells.tolist():
                unit = Unit(cell, block)
                if self.done[unit] or unit in self.suspects:
                    continue
                if self.needed is not None and self.needed.decided(cell):
                    continue
                yield unit, float(self.costs[cell])


def failures(listing: Listing) -> Iterator[Unit]:
    """Every failed unit of the study."""
    return (Unit(int(cell), int(block)) for cell, block in np.argwhere(listing.failed))


def unit_name(study: Study, unit: Unit) -> str:
    """Short name of a unit, for `task=replay unit=…`: stable, made of the cell's labels."""
    return f"c{cell_key(study.grid.labels(unit.cell)):016x}-{unit.block}"


def cell_in_words(study: Study, cell: int) -> str:
    """A cell by its labels, without those that all cells have, such as `m=10, epsilon=0.5`."""
    labels = study.grid.labels(cell)
    varying = [name for name in labels if len(study.grid.axes[name]) > 1]
    return ", ".join(f"{name}={labels[name]}" for name in varying)


def unit_in_words(study: Study, unit: Unit) -> str:
    """A unit for a person, such as `m=10, epsilon=0.5, block 3`."""
    block = f"block {unit.block}"
    cell = cell_in_words(study, unit.cell)
    if not cell:
        return block
    return f"{cell}, {block}"


def find_unit(study: Study, name: str) -> Unit | None:
    """The unit of a name; None if the study has no such unit."""
    key_text, _, block_text = name.removeprefix("c").partition("-")
    try:
        wanted = int(key_text, 16)
        block = int(block_text)
    except ValueError:
        return None
    if not 0 <= block < study.blocks:
        return None
    for cell, key in enumerate(study.grid.keys()):
        if key == wanted:
            return Unit(cell, block)
    return None
