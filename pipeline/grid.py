"""The grid of a study: labelled cells, each with a canonical key."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipeline.parameters import InvalidInput
from pipeline.streams import canonical, digest

Level = int | float | str | bool


def cell_key(labels: Mapping[str, Level]) -> int:
    """64-bit digest of a cell's canonical labels: its name wherever it is stored or talked about; never 0."""
    return int.from_bytes(digest(canonical(labels), 8), "little") or 1


@dataclass(frozen=True)
class Grid:
    """Union of products of levels; cells are numbered in row-major order, product after product.

    products: tuple of products, each a tuple of (axis, levels), all with the same axes in the same order.
    Raises InvalidInput when a cell occurs twice.
    """

    products: tuple[tuple[tuple[str, tuple[Level, ...]], ...], ...]

    def __post_init__(self):
        if len(self.products) > 1:
            seen: set[str] = set()
            for labels in self:
                key = canonical(labels)
                if key in seen:
                    raise InvalidInput("grid", key, "cell given twice; let the products not overlap")
                seen.add(key)

    @classmethod
    def of(cls, *products: Mapping[str, Sequence[Level]]) -> "Grid":
        """Grid from mappings axis -> levels."""
        return cls(tuple(tuple((axis, tuple(levels)) for axis, levels in p.items()) for p in products))

    @cached_property
    def axes(self) -> dict[str, tuple[Level, ...]]:
        """All levels of every axis, in order of first appearance."""
        levels: dict[str, dict[Level, None]] = {}
        for product in self.products:
            for axis, given in product:
                levels.setdefault(axis, {}).update(dict.fromkeys(given))
        return {axis: tuple(found) for axis, found in levels.items()}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each product."""
        return tuple(math.prod(len(levels) for _, levels in product) for product in self.products)

    def keys(self) -> Iterator[int]:
        """Key of every cell, in order."""
        return map(cell_key, self)

    def __len__(self) -> int:
        return sum(self.sizes)

    def labels(self, cell: int) -> dict[str, Level]:
        """Labels of a cell, by its number; IndexError if there is no such cell."""
        if cell < 0:
            raise IndexError("no such cell")
        for product, size in zip(self.products, self.sizes, strict=True):
            if cell < size:
                found = {}
                for axis, levels in reversed(product):
                    cell, position = divmod(cell, len(levels))
                    found[axis] = levels[position]
                return {axis: found[axis] for axis, _ in product}
            cell -= size
        raise IndexError("no such cell")

    def __iter__(self) -> Iterator[dict[str, Level]]:
        return (self.labels(cell) for cell in range(len(self)))
