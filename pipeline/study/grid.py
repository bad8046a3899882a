"""The grid of a study: labelled cells, each with a canonical key."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from pipeline.study.parameters import InvalidInput
from pipeline.study.streams import canonical, digest

Level: TypeAlias = int | float | str | bool

CELLS_MOST = 10_000_000


def cell_key(labels: Mapping[str, Level]) -> int:
    """64-bit digest of a cell's canonical labels, by which it is stored and reported; never 0."""
    return int.from_bytes(digest(canonical(labels), 8), "little") or 1


@dataclass(frozen=True)
class Grid:
    """Union of products of levels; cells are numbered in row-major order, product after product.

    products: tuple of products, each a tuple of (axis, levels), all with the same axes in the same order; scalars of
    NumPy become numbers of Python. Raises InvalidInput for a product without axes, an axis without levels, a level
    that is no number, text or truth value, a level or cell that occurs twice, and more than `CELLS_MOST` cells.

    >>> [labels["m"] for labels in Grid.of({"m": [10, 20], "L": [100]})]
    [10, 20]
    """

    products: tuple[tuple[tuple[str, tuple[Level, ...]], ...], ...]

    def __post_init__(self) -> None:
        products = read_products([dict(product) for product in self.products])
        checked = (tuple((axis, _levels(axis, levels)) for axis, levels in product.items()) for product in products)
        object.__setattr__(self, "products", tuple(checked))
        if len(self) > CELLS_MOST:
            raise InvalidInput("grid", "…", f"more than {CELLS_MOST:,} cells; make it smaller")
        if len(self.products) > 1:
            self._check_overlap()

    def _check_overlap(self) -> None:
        seen: set[str] = set()
        for labels in self:
            key = canonical(labels)
            if key in seen:
                raise InvalidInput("grid", key, "cell given twice; products must not overlap")
            seen.add(key)

    @classmethod
    def of(cls, *products: Mapping[str, Sequence[Level]]) -> "Grid":
        """Grid from mappings axis -> levels."""
        return cls(tuple(tuple((axis, tuple(levels)) for axis, levels in p.items()) for p in products))

    @cached_property
    def axes(self) -> dict[str, tuple[Level, ...]]:
        """All levels of every axis, in order of first appearance."""
        union: dict[str, dict[Level, None]] = {}
        for product in self.products:
            for axis, levels in product:
                union.setdefault(axis, {}).update(dict.fromkeys(levels))
        return {axis: tuple(levels) for axis, levels in union.items()}

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
                labels = {}
                for axis, levels in reversed(product):
                    cell, position = divmod(cell, len(levels))
                    labels[axis] = levels[position]
                return {axis: labels[axis] for axis, _ in product}
            cell -= size
        raise IndexError("no such cell")

    def __iter__(self) -> Iterator[dict[str, Level]]:
        return (self.labels(cell) for cell in range(len(self)))


def read_products(grid: Any, named: bool = False) -> list[dict[str, Sequence[Any]]]:
    """The products of a grid, given as a mapping of axes to levels or as a list of such mappings.

    named: instead of levels an axis may have a text, the name of a derivation that gives them.
    Raises InvalidInput unless all have the same axes in the same order, and every axis has a level.
    """
    products = list(grid) if isinstance(grid, (list, tuple)) else [grid]
    if not products:
        raise InvalidInput("grid", grid, "must be a mapping of axes to levels, or a list of such mappings")
    for product in products:
        if not isinstance(product, Mapping) or not all(isinstance(axis, str) for axis in product):
            raise InvalidInput("grid", product, "must be a mapping of names to values")
    for product in products:
        if not product or list(product) != list(products[0]):
            raise InvalidInput("grid", grid, "every product needs the same axes in the same order, at least one")
        for axis, levels in product.items():
            if not isinstance(levels, (list, tuple, str) if named else (list, tuple)) or not levels:
                raise InvalidInput(f"grid.{axis}", levels, "must be a list of levels, at least one")
    return [dict(product) for product in products]


def _levels(axis: str, levels: Sequence[Any]) -> tuple[Level, ...]:
    """Checked levels of an axis."""
    plain = tuple(level.item() if isinstance(level, np.generic) else level for level in levels)
    for level in plain:
        if level is None:
            raise InvalidInput(f"grid.{axis}", list(plain), "a level may not be null")
        if not isinstance(level, Level) or level != level:
            raise InvalidInput(f"grid.{axis}", level, "a level must be a number, a text, true or false")
    if len({(type(level), level) for level in plain}) < len(plain):
        raise InvalidInput(f"grid.{axis}", list(plain), "has a level twice")
    return plain
