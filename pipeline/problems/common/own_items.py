"""What privacy does to each item of a person's own data: metrics of one item, by its name, or of all on average.

Truth and estimate hold `theta`, (reps, m), and the truth `names`, (m,): θ* is the fit to the same data without privacy.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pipeline.study.arrays import Array, Floats
from pipeline.study.parameters import Checked, InvalidInput, parameter

from .recovery import levels

ALL = "all items"


def ranks(theta: Floats) -> Floats:
    """Ranks by descending θ, 1 is the highest; items that tie share the mean of their ranks. (…, m) both.

    >>> ranks(np.array([[0.0, 2.0, -1.0]])).tolist()
    [[2.0, 1.0, 3.0]]
    """
    level = levels(theta)
    above = (level[..., None, :] > level[..., :, None]).sum(axis=-1)
    tied = (level[..., None, :] == level[..., :, None]).sum(axis=-1)
    values: Floats = 1 + above + (tied - 1) / 2
    return values


def position(item: str, names: tuple[str, ...]) -> int:
    """Index of an item by its name; InvalidInput if there is none."""
    if item not in names:
        raise InvalidInput(
            "item", item, "there is no such item in the data; names are case-sensitive"
        )
    return names.index(item)


def of_item(item: str, names: tuple[str, ...], values: Array) -> float:
    """The value of an item, by its name, or the mean of all. names, values: (m,)."""
    value = float(np.mean(values) if item == ALL else values[position(item, names)])
    return value if abs(value) > 1e-9 else 0.0  # centred scores have the mean 0, not −4e−17


def with_all(names: tuple[str, ...]) -> tuple[str, ...]:
    """Levels of an axis of items: all on average, then each. InvalidInput where an item is called so."""
    if ALL in names:
        raise InvalidInput(
            "data_path", ALL, "is the name of an item, and of the mean of all here; rename the item"
        )
    return ALL, *names


@dataclass(frozen=True)
class _OfItem(Checked, ABC):
    item: str = parameter("items in their order without privacy", default=ALL)

    least: ClassVar[float] = 0.0

    def __call__(self, truth: Any, release: Any, estimate: Any) -> Floats:
        """One value per replication, (reps,); NaN where the estimate is not finite. O(reps · m²)."""
        finite = np.isfinite(estimate.theta).all(axis=1)
        values = self._each(truth.theta, np.where(finite[:, None], estimate.theta, 0))
        chosen = (
            values.mean(axis=1) if self.item == ALL else values[:, position(self.item, truth.names)]
        )
        return np.where(finite, chosen, np.nan)

    @abstractmethod
    def _each(self, theta: Floats, estimate: Floats) -> Floats:
        """(reps, m): the value of every item. theta, estimate: (reps, m)."""


@dataclass(frozen=True)
class RankKept(_OfItem):
    """1 where the item has the rank that it has without privacy, else 0: its mean says how often it keeps it."""

    long_name: ClassVar[str] = "item keeps its rank"
    units: ClassVar[str] = "probability"
    most: ClassVar[float] = 1.0

    def _each(self, theta: Floats, estimate: Floats) -> Floats:
        kept: Floats = (ranks(estimate) == ranks(theta)).astype(float)
        return kept


@dataclass(frozen=True)
class RanksMoved(_OfItem):
    """By how many ranks the item moves from that without privacy, up or down."""

    long_name: ClassVar[str] = "ranks that an item moves"
    units: ClassVar[str] = "ranks"

    def _each(self, theta: Floats, estimate: Floats) -> Floats:
        moved: Floats = np.abs(ranks(estimate) - ranks(theta))
        return moved


@dataclass(frozen=True)
class PairsReversed(_OfItem):
    """Share of the other items whose order with the item is reversed by privacy; a tie counts one half.

    The mean over all items is the Kendall distance of the two rankings, where neither has ties.
    """

    long_name: ClassVar[str] = "share of other items on the wrong side"
    units: ClassVar[str] = "share of pairs"
    most: ClassVar[float] = 1.0

    def _each(self, theta: Floats, estimate: Floats) -> Floats:
        ranked, known = levels(estimate), levels(theta)
        total: Floats = np.zeros(theta.shape)
        for other in range(theta.shape[1]):
            total += (
                np.abs(
                    np.sign(ranked - ranked[:, other, None])
                    - np.sign(known - known[:, other, None])
                )
                / 2
            )
        total /= theta.shape[1] - 1
        return total


@dataclass(frozen=True)
class ScoreMoved(_OfItem):
    """Distance |θ̂ − θ*| of the item's score from that without privacy."""

    long_name: ClassVar[str] = "distance of an item's score from that without privacy"
    units: ClassVar[str] = "logits"

    def _each(self, theta: Floats, estimate: Floats) -> Floats:
        distance: Floats = np.abs(estimate - theta)
        return distance
