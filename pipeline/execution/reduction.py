"""Reductions as tasks: what a worker does with cells, or with files, once their units are done."""

import itertools
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from pipeline.execution.schedule import Unit
from pipeline.execution.sight import NeedsStores
from pipeline.execution.stopping import Prefix, Rule, read
from pipeline.storage.datasets import ZarrLocation, across
from pipeline.storage.integrity import Damage, Integrity
from pipeline.storage.layout import Layout, Region, cells_of, counted
from pipeline.storage.replications import Store
from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.parameters import InvalidInput

# Of groups of cells, by their index along the axes that are not paired; None where blocks are
# missing.
Prefixes = dict[tuple[int, ...], Prefix | None]


class Sums(Protocol):
    """Moments of some cells, as `pipeline.analysis.moments.Moments`."""

    @property
    def values(self) -> Floats:
        """(metrics, cells…, statistics)."""

    @property
    def counts(self) -> Array:
        """(cells…, counts) of the status."""

    @property
    def pairs(self) -> Mapping[int, Floats]:
        """Axis of the cells -> (metrics, cells…, levels, statistics of pairs)."""


Sketches: TypeAlias = Any  # what an `Order` makes of values, and reads


class Order(Protocol):
    """Statistics other than moments, as `pipeline.analysis.order_sums.OrderSums`."""

    def of(self, values: Floats, status: Array) -> Sketches:
        """What a block says. values: (metrics, cells…, reps); status: (cells…, reps)."""

    def merge(self, first: Sketches, second: Sketches) -> Sketches:
        """What both say, the same in any order."""

    def estimates(self, sketches: Sketches, shape: tuple[int, ...]) -> Mapping[str, Floats]:
        """Variable -> (cells…, estimate). shape: of the cells."""


# Of (metrics, cells…, reps), (cells…, reps) and the paired axes.
Moments = Callable[[Floats, Array, tuple[int, ...]], Any]
Merge = Callable[[Any, Any], Any]


class Staged(NamedTuple):
    """Keys under which the datasets are being built."""

    results: str
    summary: str


class Reduced(NamedTuple):
    """What came of a region.

    digests: key -> digest of the files written. writers: names of the writers of its units.
    excess: of every group of cells, with targets of precision, first cell -> greatest half-width
    over its target; NaN where blocks are missing.
    """

    digests: dict[str, str]
    writers: set[str]
    excess: dict[int, float]


class Reduce(NeedsStores):
    """Callable that writes regions of results.zarr and of summary.zarr.

    Memory: one shard of every variable, see `Layout`, some times over. partial: units may be
    missing; their replications then have status 0. Otherwise, and where one is damaged,
    InvalidInput names it. rule: of a study with targets of precision; replications after the look
    at which a group met them have status 0, whether simulated or not. order: of a study with
    statistics other than means.
    """

    def __init__(
        self,
        store: Store,
        staged: Staged,
        moments: Moments,
        merge: Merge,
        partial: bool = False,
        rule: Rule | None = None,
        order: Order | None = None,
    ):
        self.store = store
        self.staged = staged
        self.moments = moments
        self.merge = merge
        self.partial = partial
        self.rule = rule
        self.order = order
        self.columns: list[int] = []
        if rule is not None:
            self.columns = rule.columns

    def __getstate__(self) -> dict[str, Any]:
        """Without what is cached here, which each worker makes again."""
        cached = ("layout", "cells", "counted")
        return {name: value for name, value in vars(self).items() if name not in cached}

    def __call__(self, regions: list[Region]) -> list[Reduced]:
        return [self._region(region) for region in regions]

    @cached_property
    def layout(self) -> Layout:
        """How the datasets are cut."""
        return Layout.of(self.store.study)

    @cached_property
    def cells(self) -> Array:
        """(grid…) number of the cell at every combination of levels, −1 outside of the grid."""
        return cells_of(self.store.study, self.layout)

    @cached_property
    def counted(self) -> Integers:
        """(cells,) blocks that count, without those that a rule leaves out."""
        blocks: Integers = counted(self.store.study).sum(1)
        return blocks

    def _region(self, region: Region) -> Reduced:
        results = ZarrLocation(self.store.backend, self.staged.results)
        names = [*self.store.study.metrics, "status"]
        digests: dict[str, str] = {}
        writers: set[str] = set()
        total: Sums | None = None
        sketches: Sketches = None
        prefixes = self._prefixes(region)
        for span in self.layout.spans():
            values, status = self._gather(region, span, writers, prefixes)
            for name, array in zip(names, (*values, status), strict=True):
                digests |= results.write(name, (*region.slices, span), array)
            part = self.moments(values, status, self.layout.paired)
            if total is None:
                total = part
            else:
                total = self.merge(total, part)
            sketches = self._with_order(sketches, values, status)
        assert total is not None  # there is one span at least
        digests |= self._summarise(region, total)
        digests |= self._order_statistics(region, sketches)
        return Reduced(digests, writers, self._excess(region, prefixes))

    def _excess(self, region: Region, prefixes: Prefixes) -> dict[int, float]:
        """First cell of every group -> greatest half-width over its target."""
        cells = self._paired_last(self.cells[region.slices], 0)
        excess: dict[int, float] = {}
        for at, prefix in prefixes.items():
            of_group = cells[at]
            first_cell = int(of_group[of_group >= 0][0])
            excess[first_cell] = math.nan
            if prefix is not None:
                excess[first_cell] = prefix.excess
        return excess

    def _prefixes(self, region: Region) -> Prefixes:
        """The prefixes of a region's groups, before their first blocks; none without a rule."""
        if self.rule is None:
            return {}
        there = self._paired_last(self.cells[region.slices], 0) >= 0
        groups = np.ndindex(there.shape[: there.ndim - len(self.layout.paired)])
        return {at: self.rule.start(there[at]) for at in groups if there[at].any()}

    def _paired_last(self, array: Array, before: int) -> Array:
        """The same array with the paired axes of the grid after its others.

        before: number of axes that precede the grid's.
        """
        paired = [before + axis for axis in self.layout.paired]
        end = before + len(self.layout.shape)
        return np.moveaxis(array, paired, range(end - len(paired), end))

    def _summarise(self, region: Region, total: Sums) -> dict[str, str]:
        """Write the region's moments; key -> digest of the files."""
        summary = ZarrLocation(self.store.backend, self.staged.summary)
        study = self.store.study
        columns = dict(zip((*study.metrics, "status"), (*total.values, total.counts), strict=True))
        axes = [*study.grid.axes]
        for axis, pairs in total.pairs.items():
            for name, of_metric in zip(study.metrics, pairs, strict=True):
                columns[across(name, axes[axis])] = of_metric
        digests: dict[str, str] = {}
        for name, array in columns.items():
            digests |= summary.write(name, region.slices, array)
        return digests

    def _with_order(self, sketches: Sketches, values: Floats, status: Array) -> Sketches:
        """Sketches of the values before and of these; None without other statistics than means."""
        if self.order is None:
            return None
        part = self.order.of(values, status)
        if sketches is None:
            return part
        return self.order.merge(sketches, part)

    def _order_statistics(self, region: Region, sketches: Sketches) -> dict[str, str]:
        """Write the region's other statistics; key -> digest of the files."""
        digests: dict[str, str] = {}
        if self.order is None:
            return digests
        summary = ZarrLocation(self.store.backend, self.staged.summary)
        shape = self.cells[region.slices].shape
        for name, estimates in self.order.estimates(sketches, shape).items():
            digests |= summary.write(name, region.slices, estimates)
        return digests

    def _gather(
        self, region: Region, span: slice, writers: set[str], prefixes: Prefixes
    ) -> tuple[Floats, Array]:
        """(metrics, cells…, reps) values and (cells…, reps) status of a region's units.

        Adds who wrote them.
        """
        part = _Span(self.store, self.cells[region.slices], span, writers, self.partial)
        if self.rule is None:
            self._read_counted(part)
        for at, prefix in prefixes.items():
            if prefix is None:  # blocks before are missing
                part.read(self._in_group(part, at), part.blocks)
            elif not self._until_met(part, at, prefix):
                prefixes[at] = None
        return part.values, part.status

    def _read_counted(self, part: "_Span") -> None:
        """Read the blocks of a span that count, of all cells."""
        there = part.cells >= 0
        ends = self.counted[part.cells]
        for end in np.unique(ends[there]).tolist():
            blocks = range(part.blocks.start, min(part.blocks.stop, end))
            part.read(there & (ends == end), blocks)

    def _until_met(self, part: "_Span", at: tuple[int, ...], prefix: Prefix) -> bool:
        """Read the blocks of a group until its targets are met.

        False where blocks before that are missing.
        """
        group = self._in_group(part, at)
        metrics_last = np.moveaxis(self._paired_last(part.values, 1), 0, -1)
        values = metrics_last[at]  # (levels…, reps, metrics)
        status = self._paired_last(part.status, 0)[at]  # (levels…, reps)
        block = part.blocks.start
        while prefix.counted is None and block < part.blocks.stop:
            until_look = range(block, min(prefix.next_look, part.blocks.stop))
            part.read(group, until_look)
            for block in until_look:
                within = part.replications(block)
                if (status[..., within] == 0)[prefix.present].any():  # of an interim report
                    part.read(group, range(until_look.stop, part.blocks.stop))
                    return False
                columns = np.moveaxis(values[..., within, self.columns], -1, 0)
                prefix.add(columns, status[..., within])
            block = until_look.stop
        return True

    def _in_group(self, part: "_Span", at: tuple[int, ...]) -> Array:
        """(cells…) whether a cell of the region belongs to a group.

        at: index of the group along the axes that are not paired.
        """
        belongs = np.zeros(part.cells.shape, bool)
        self._paired_last(belongs, 0)[at] = self._paired_last(part.cells, 0)[at] >= 0
        return belongs


class _Span:
    """Values and status of the replications of one shard, read from what is stored of their units.

    cells: (cells…) numbers, −1 outside of the grid. values: (metrics, cells…, reps), NaN until they
    are read. status: (cells…, reps), 0 until then. blocks: that the span has. writers: of the
    units, added to.
    """

    def __init__(self, store: Store, cells: Array, span: slice, writers: set[str], partial: bool):
        self.store = store
        self.cells = cells
        self.start = span.start
        self.writers = writers
        self.partial = partial
        self.size = store.study.block
        self.blocks = range(span.start // self.size, -(-span.stop // self.size))
        shape = (*cells.shape, span.stop - span.start)
        self.values = np.full((len(store.study.metrics), *shape), np.nan)
        self.status = np.zeros(shape, np.int8)

    def replications(self, block: int) -> slice:
        """The replications of a block, from the start of the span."""
        return slice(block * self.size - self.start, (block + 1) * self.size - self.start)

    def read(self, chosen: Array, blocks: range) -> None:
        """Fill in some blocks of some cells. chosen: (cells…) whether a cell is one of them."""
        cells = map(tuple, np.argwhere(chosen).tolist())
        units = itertools.product(cells, blocks)
        for _ in self.store.backend.map(self._fill, units):
            pass

    def _fill(self, unit: tuple[tuple[Any, ...], int]) -> None:
        at, block = unit
        try:
            record = read(self.store, Unit(int(self.cells[at]), block))
        except InvalidInput:
            if self.partial and not self.store.holds(int(self.cells[at]), block):
                return
            raise
        if not record.failed:  # it has no numbers
            self.writers.add(record.writer)
        self.values[:, *at, self.replications(block)] = record.metrics
        self.status[*at, self.replications(block)] = record.status


class PackFiles(NeedsStores):
    """Callable that packs files of units, and returns how many keys each of the lists had."""

    def __init__(self, store: Store):
        self.store = store

    def __call__(self, groups: list[list[str]]) -> list[int]:
        return [self.store.pack(keys) for keys in groups]


class FileCheck(NeedsStores):
    """Callable that reads files of units and packs, and says of each what is wrong, None if nothing
    is.
    """

    def __init__(self, integrity: Integrity):
        self.integrity = integrity
        self.store = integrity.store

    def __call__(self, keys: list[str]) -> list[Damage | None]:
        return list(self.store.backend.map(self.integrity.check_file, keys))


class Digest(NeedsStores):
    """Callable that reads files of a sealed dataset, and returns key and digest of each.

    key: of the dataset.
    """

    def __init__(self, store: Store, key: str):
        self.store = store
        self.key = key

    def __call__(self, keys: list[str]) -> list[tuple[str, str]]:
        return [(key, ZarrLocation(self.store.backend, self.key).file_digest(key)) for key in keys]
