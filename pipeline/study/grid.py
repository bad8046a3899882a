"""The grid of a study: labelled cells, each with a canonical key."""

import hashlib
import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from pipeline.study.arrays import Array, Integers
from pipeline.study.parameters import InvalidInput
from pipeline.study.streams import canonical, digest

Level: TypeAlias = int | float | str | bool
Product: TypeAlias = tuple[tuple[str, tuple[Level, ...]], ...]  # axes with their levels

CELLS_MOST = 10_000_000


def cell_key(labels: Mapping[str, Level]) -> int:
    """64-bit digest of a cell's canonical labels, by which it is stored and reported; never 0."""
    return int.from_bytes(digest(canonical(labels), 8), "little") or 1


@dataclass(frozen=True)
class Grid:
    """Union of products of levels; cells are numbered in row-major order, product after product.

    products: tuple of products, each a tuple of (axis, levels), all with the
    same axes in the same order; scalars of NumPy become numbers of Python.
    Raises InvalidInput for a product without axes, an axis without levels, a
    level that is no number, text or truth value, a level or cell that occurs
    twice, and more than `CELLS_MOST` cells.

    >>> [labels["m"] for labels in Grid.of({"m": [10, 20], "L": [100]})]
    [10, 20]
    """

    products: tuple[Product, ...]

    def __post_init__(self) -> None:
        if isinstance(self.products, Mapping):
            raise InvalidInput("products", self.products, "are levels of axes; write Grid.of(…)")
        products = read_products([dict(product) for product in self.products])
        object.__setattr__(self, "products", tuple(_checked(product) for product in products))
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
        return cls(tuple(_as_tuple(product) for product in products))

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
        return tuple(math.prod(_shape(product)) for product in self.products)

    def keys(self) -> Iterator[int]:
        """Key of every cell, in order."""
        return map(int, self.digests())

    def digests(self, without: Collection[str] = ()) -> Array:
        """(cells,) uint64: key of every cell, in order. without: axes that are left out of its
        labels.
        """
        return np.concatenate([_digests(product, without) for product in self.products])

    def places(self) -> Integers:
        """(axes, cells): number of every cell's level among all levels of each axis."""
        numbers = {axis: _numbered(levels) for axis, levels in self.axes.items()}
        of_products = []
        for product in self.products:
            along = []
            for axis, levels in product:
                number_of = numbers[axis]
                along.append([number_of[level] for level in levels])
            crossed = np.meshgrid(*along, indexing="ij")
            of_products.append(np.stack([along_axis.ravel() for along_axis in crossed]))
        return np.concatenate(of_products, axis=1)

    def combinations(self, axes: Collection[str]) -> Iterator[dict[str, Level]]:
        """Labels of the first cell with each combination of levels of some axes, product after
        product, in order.

        >>> list(Grid.of({"m": [10, 20], "L": [1, 2]}).combinations(["L"]))
        [{'m': 10, 'L': 1}, {'m': 10, 'L': 2}]
        """
        for product in self.products:
            names = [axis for axis, _ in product]
            choices = [levels if axis in axes else levels[:1] for axis, levels in product]
            for levels in itertools.product(*choices):
                yield dict(zip(names, levels, strict=True))

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
        return self.combinations(self.axes)

    def __getstate__(self) -> dict[str, Any]:
        return {"products": self.products}  # what was computed from them can be computed again


def read_products(grid: object, named: bool = False) -> list[dict[str, Sequence[Any]]]:
    """The products of a grid, given as a mapping of axes to levels or as a list of such mappings.

    named: instead of levels an axis may have a text, the name of a derivation
    that gives them. Raises InvalidInput unless all have the same axes in the
    same order, and every axis has a level.
    """
    products: list[Any] = [grid]
    if isinstance(grid, (list, tuple)):
        products = list(grid)
    if not products:
        allowed = "must be a mapping of axes to levels, or a list of such mappings"
        raise InvalidInput("grid", grid, allowed)
    kinds = (list, tuple, str) if named else (list, tuple)
    for product in products:
        if not isinstance(product, Mapping) or not all(isinstance(axis, str) for axis in product):
            raise InvalidInput("grid", product, "must be a mapping of names to values")
    for product in products:
        if not product or list(product) != list(products[0]):
            allowed = "every product needs the same axes in the same order, at least one"
            raise InvalidInput("grid", grid, allowed)
    listed = [{axis: listed_levels(levels) for axis, levels in p.items()} for p in products]
    for product in listed:
        for axis, levels in product.items():
            if not isinstance(levels, kinds) or not levels:
                raise InvalidInput(f"grid.{axis}", levels, "must be a list of levels, at least one")
    return listed


def listed_levels(levels: Any) -> Any:  # noqa: ANN401 - whatever a person gives
    """Levels as a list where they are a range or an array, (levels,); anything else as it is.

    >>> listed_levels(range(2, 4)), listed_levels(np.array([0.5, 1.0]))
    ([2, 3], [0.5, 1.0])
    """
    if isinstance(levels, range):
        return list(levels)
    if isinstance(levels, np.ndarray) and levels.ndim == 1:
        return levels.tolist()
    return levels


def _as_tuple(product: Mapping[str, Sequence[Level]]) -> Product:
    return tuple((axis, tuple(levels)) for axis, levels in product.items())


def _checked(product: Mapping[str, Sequence[Any]]) -> Product:
    return tuple((axis, _levels(axis, levels)) for axis, levels in product.items())


def _shape(product: Product) -> tuple[int, ...]:
    return tuple(len(levels) for _, levels in product)


def _numbered(levels: tuple[Level, ...]) -> dict[Level, int]:
    return {level: number for number, level in enumerate(levels)}


def _digests(product: Product, without: Collection[str]) -> Array:
    """(cells of the product,) uint64: as `cell_key` of their labels, each level written as a text
    only once.
    """
    shape = _shape(product)
    distinct = tuple(1 if axis in without else len(levels) for axis, levels in product)
    named = [(axis, levels) for axis, levels in product if axis not in without]
    texts = [_texts(axis, levels) for axis, levels in named]
    by_name = sorted(range(len(named)), key=lambda position: named[position][0])
    digests = []
    for parts in itertools.product(*texts):
        ordered = [parts[position] for position in by_name]
        content = ("{" + ",".join(ordered) + "}").encode()
        digests.append(hashlib.blake2b(content, digest_size=8).digest())
    joined = b"".join(digests)
    keys = np.frombuffer(joined, "<u8").astype(np.uint64)
    keys[keys == 0] = 1
    return np.broadcast_to(keys.reshape(distinct), shape).ravel()


def _texts(axis: str, levels: tuple[Level, ...]) -> list[str]:
    """How each level of an axis is written in canonical labels, without the braces."""
    return [canonical({axis: level})[1:-1] for level in levels]


def _levels(axis: str, levels: Sequence[Any]) -> tuple[Level, ...]:
    """Checked levels of an axis."""
    plain = tuple(level.item() if isinstance(level, np.generic) else level for level in levels)
    for level in plain:
        if level is None:
            raise InvalidInput(
                f"grid.{axis}", list(plain), "a level may not be null; must be left out"
            )
        if not isinstance(level, Level) or level != level:
            allowed = "a level must be a number, a text, true or false"
            raise InvalidInput(f"grid.{axis}", level, allowed)
    if len({(type(level), level) for level in plain}) < len(plain):
        raise InvalidInput(f"grid.{axis}", list(plain), "has a level twice")
    return plain
