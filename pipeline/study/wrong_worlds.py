"""A world that is not what its labels say: some parts of a cell are changed, and everything else
believes them right.

It serves controls: a claim that is judged on what such a world gives must see
that something is wrong.
"""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from pipeline.study.arrays import Array
from pipeline.study.protocols import Components
from pipeline.study.study import Study
from pipeline.study.untyped import CellLabels

Change: TypeAlias = Callable[
    [Components], Components
]  # the parts of a cell -> those that simulate it in their place


def unchanged(parts: Components) -> Components:
    """The parts as they are."""
    return parts


@dataclass(frozen=True)
class WrongWorld(Study):
    """A study whose cells are simulated by changed parts, with the labels and random streams of the
    right ones.

    change: the parts of a cell -> those that simulate it in their place; see
    `pipeline.problems.common.changes`.
    """

    change: Change = field(default=unchanged, metadata={"meaning": "of the parts of every cell"})

    @classmethod
    def of(cls, study: Study, change: Change) -> "WrongWorld":
        """The world that is simulated in place of a study."""
        names = [field.name for field in dataclasses.fields(study)]
        values = {name: getattr(study, name) for name in names}
        return cls(**{**values, "change": change})

    def components(self, labels: CellLabels) -> Components:
        """The changed parts of a cell. TypeError where the change gives something else."""
        changed = self.change(super().components(labels))
        if not isinstance(changed, Components):
            raise TypeError(f"the change must give Components, gives {type(changed).__name__}")
        return changed

    def simulated(self, cells: Iterable[int]) -> dict[int, dict[str, Array]]:
        """Number of a cell -> (replications,) float64 per metric and `status`, int8.

        cells: numbers in the order of the grid. An error in a part is raised as
        it is. O(units).

        >>> parts = dict(model="btl", mechanism="randomized_response", estimator="debiased")
        >>> study = Study("small", "ranking", seed=1, replications=20, block=10,
        ...               grid={"m": [5, 10]}, metrics=("error_l2",),
        ...               parameters={**parts, "L": 50, "epsilon": 1.0})
        >>> same = WrongWorld.of(study, unchanged).simulated([1])[1]["error_l2"]
        >>> bool((same[:10] == study.simulate({"m": 10}, block=0)["error_l2"]).all())
        True
        """
        labels = [*self.grid]
        units: dict[int, list[dict[str, Array]]] = {number: [] for number in sorted(cells)}
        memo: dict[str, Any] = {}
        with np.errstate(all="ignore"):
            for block in range(self.blocks):
                for number, blocks in units.items():
                    blocks.append(self.simulate(labels[number], block, memo))
        names = (*self.metrics, "status")
        return {number: _joined(blocks, names) for number, blocks in units.items()}


def _joined(blocks: list[dict[str, Array]], names: Iterable[str]) -> dict[str, Array]:
    """Values of all replications, from those of blocks."""
    return {name: np.concatenate([unit[name] for unit in blocks]) for name in names}
