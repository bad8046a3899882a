"""How the datasets of a study are cut into regions, shards and chunks, on every machine
alike.
"""

import itertools
import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pipeline.study.arrays import Array, Booleans, Integers
from pipeline.study.study import Study

# Of all variables of one region: a reduction holds this in memory a few times.
SHARD_BYTES = 2**26
# Of one region, unless there are more in a cell: several workers then share many small
# units.
SHARD_UNITS = 2**14
CHUNK_VALUES = 2**17  # in one checksummed chunk of a shard


class Region(NamedTuple):
    """A group of cells that one task reduces: start and stop along every axis of the grid."""

    starts: tuple[int, ...]
    stops: tuple[int, ...]

    @property
    def slices(self) -> tuple[slice, ...]:
        """The region as slices along the axes of the grid."""
        return tuple(map(slice, self.starts, self.stops))


@dataclass(frozen=True)
class Layout:
    """How a dataset is cut.

    shape: of the grid.
    cells: levels in a shard, along each axis.
    length: replications in a shard.

    Every shard is written by one task, which holds `SHARD_BYTES` of values and reads
    `SHARD_UNITS` units. A shard covers the axes whose levels share their data wholly,
    the others from the last one up, and all replications of a cell if they fit.

    paired: axes whose levels share their data, for the moments of pairs; by their
    numbers.
    """

    shape: tuple[int, ...]
    cells: tuple[int, ...]
    replications: int
    length: int
    paired: tuple[int, ...]

    @classmethod
    def of(cls, study: Study) -> "Layout":
        """The layout of a study: the same on every machine."""
        shape = tuple(len(levels) for levels in study.grid.axes.values())
        paired = tuple(map([*study.grid.axes].index, study.paired_axes))
        together = math.prod(shape[k] for k in paired)
        most = SHARD_BYTES // (8 * (len(study.metrics) + 1)) // together
        length = min(study.replications, max(most // study.block, 1) * study.block)
        cells = [*shape]
        left = max(min(most // length, SHARD_UNITS * study.block // length // together), 1)
        for axis in reversed(range(len(shape))):
            if axis in paired:
                continue
            cells[axis] = min(shape[axis], left)
            is_whole = cells[axis] == shape[axis]
            left = left // shape[axis] if is_whole else 1
        return cls(shape, tuple(cells), study.replications, length, paired)

    def regions(self) -> Iterator[Region]:
        """All regions, in row-major order."""
        starts_of_axes = [
            range(0, size, step) for size, step in zip(self.shape, self.cells, strict=True)
        ]
        for starts in itertools.product(*starts_of_axes):
            ends = map(operator.add, starts, self.cells)
            yield Region(starts, tuple(map(min, ends, self.shape)))

    def spans(self) -> Iterator[slice]:
        """The replications of one shard after another."""
        for start in range(0, self.replications, self.length):
            yield slice(start, min(start + self.length, self.replications))

    @property
    def chunk(self) -> tuple[int, ...]:
        """Shape of a chunk: it divides that of a shard."""
        chunk = []
        left = CHUNK_VALUES
        for size in (self.length, *reversed(self.cells)):
            divisors = (size // k for k in range(1, size + 1) if size % k == 0)
            part = next(divisor for divisor in divisors if divisor <= max(left, 1))
            chunk.append(part)
            left = left // part if part == size else 1
        return tuple(reversed(chunk))


def positions(study: Study, layout: Layout) -> Integers:
    """(cells,) flat position of every cell in an array of all combinations of levels."""
    flat: Integers = np.ravel_multi_index(tuple(study.grid.places()), layout.shape)
    return flat


def counted(study: Study) -> Booleans:
    """(cells, blocks) units that count: all or, with `until`, those before each cell's end."""
    blocks = np.full(len(study.grid), study.blocks)
    if study.until and study.until.stops:
        ends = np.array([end for end, _ in study.until.stops])
        blocks = ends[positions(study, Layout.of(study))] // study.block
    return np.arange(study.blocks) < blocks[:, None]


def cells_of(study: Study, layout: Layout) -> Array:
    """(grid…) number of the cell at every combination of levels, −1 outside of the grid."""
    cells = np.full(int(np.prod(layout.shape)), -1)
    cells[positions(study, layout)] = np.arange(len(study.grid))
    return cells.reshape(layout.shape)
