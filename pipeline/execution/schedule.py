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

SHARE, SECONDS = 0.005, 2.0  # of the study's cost, or in time: what comparing a new writer may cost
COST_OF_A_SECOND = 1e9  # predicted costs are in steps of about a nanosecond


class Unit(NamedTuple):
    """One unit: number of the cell in the grid, block of replications."""

    cell: int
    block: int


class Limits(Protocol):
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
    """Units still to do: block after block across all cells, so that at half of a sweep all cells have half.

    Within a block the most costly cells come first, and cells that share their data stand next to each other. Holds
    about four bytes per unit and a few numbers per cell, and yields units lazily. shard: (number, how many), to deal
    the units out to several drivers; all deal in the same way, whatever is done, and cells that share data go together.
    `mine` (cells, blocks) are this shard's, of those that count; the others' count as done. limits: of a study with
    targets of precision; all blocks of a group of cells then belong to one shard, and no unit of a group is yielded
    once it is decided.
    """

    def __init__(self, study: Study, listing: Listing, shard: tuple[int, int] = (0, 1), limits: Limits | None = None):
        self.study, self.listing, self.limits = study, listing, limits
        self.costs: Floats = study.costs
        group = Pairing(study).of_cell
        weight = np.bincount(group, self.costs)[group]
        self.order: Integers = np.lexsort((group, -weight))  # stable: cells of a group stay in the grid's order
        ends = np.flatnonzero(np.diff(group[self.order], append=-1)) + 1
        self._last = set(self.order[ends - 1].tolist())  # cells of their groups
        rank = np.empty(len(self.order), int)
        rank[self.order] = np.searchsorted(ends, np.arange(len(self.order)), side="right")
        self.mine: Booleans = counted(study)
        if shard != (0, 1):
            dealt = rank[:, None] if study.precision else rank[:, None] * study.blocks + np.arange(study.blocks)
            self.mine &= dealt % shard[1] == shard[0]
        self.done: Booleans = listing.done | ~self.mine

    def shares(self, unit: Unit) -> bool:
        """Whether the cell after this one shares its data."""
        return unit.cell not in self._last

    @property
    def _wanted(self) -> Booleans:
        """(cells, blocks): units of this shard that count, as far as is known."""
        if self.limits is None:
            return self.mine
        return self.mine & (np.arange(self.study.blocks) < self.limits.predicted[:, None])

    @property
    def _left(self) -> Booleans:
        return self._wanted & ~(self.limits.done if self.limits else self.done)

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
        """Units by which a new writer is compared: of every combination of model, mechanism and estimator, and more.

        Of each combination the most costly unit that is done and did not fail: the more arithmetic, the more likely it
        shows a difference. While none is done, the least costly, which the first writer simulates before all others.
        Then other finished units, drawn at random, until all cost `SHARE` of the study or `SECONDS`: an iteration may
        amplify a last digit in some units only. Small studies are so compared wholly.
        """
        good = self.listing.done & ~self.listing.failed
        chosen = dict.fromkeys(self._reference(cells, good) for cells in self._combinations.values())
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
        """Cells by which parts are tried: of each combination the least costly, and the next one if it has several."""
        by_cost = (sorted(cells, key=lambda cell: self.costs[cell]) for cells in self._combinations.values())
        return tuple(tuple(cells[:2]) for cells in by_cost)

    @cached_property
    def _combinations(self) -> dict[tuple[object, ...], list[int]]:
        """Cells of every combination of model, mechanism and estimator, in the order of their first cells."""
        cells: dict[tuple[object, ...], list[int]] = {}
        for cell, labels in enumerate(self.study.grid):
            cells.setdefault(tuple([labels.get(role) for role in ROLES]), []).append(cell)
        return cells

    def _reference(self, cells: list[int], good: Booleans) -> Unit:
        among = np.array(cells)
        finished = among[good[among].any(axis=1)]
        if not len(finished):
            return Unit(int(among[self.costs[among].argmin()]), 0)
        cell = int(finished[self.costs[finished].argmax()])
        return Unit(cell, int(good[cell].argmax()))

    def __iter__(self) -> Iterator[tuple[Unit, float]]:
        for block in range(self.study.blocks):
            for cell in self.order.tolist():
                if not self.done[cell, block] and not (self.limits and self.limits.decided(cell)):
                    yield Unit(cell, block), float(self.costs[cell])


def failures(listing: Listing) -> Iterator[Unit]:
    """Every failed unit of the study."""
    return (Unit(int(cell), int(block)) for cell, block in np.argwhere(listing.failed))


def unit_name(study: Study, unit: Unit) -> str:
    """Short name of a unit, for `task=replay unit=…`: stable, made of the cell's labels."""
    return f"c{cell_key(study.grid.labels(unit.cell)):016x}-{unit.block}"


def find_unit(study: Study, name: str) -> Unit | None:
    """The unit of a name; None if the study has no such unit."""
    key, _, block = name.removeprefix("c").partition("-")
    try:
        wanted, number = int(key, 16), int(block)
    except ValueError:
        return None
    cell = next((cell for cell, one in enumerate(study.grid.keys()) if one == wanted), None)
    return Unit(cell, number) if cell is not None and 0 <= number < study.blocks else None
