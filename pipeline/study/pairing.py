"""Which cells of a study share their data: they are simulated side by side and counted alike."""

from functools import cached_property

import numpy as np

from pipeline.study.arrays import Booleans, Integers
from pipeline.study.grid import cell_key
from pipeline.study.study import Study


class Pairing:
    """Groups of cells that differ in the levels of paired axes only.

    of_cell: (cells,) number of a cell's group. axes: paired axes with more than one level, in the order of the grid.
    """

    def __init__(self, study: Study):
        paired = set(study.paired)
        self.axes = tuple(axis for axis, levels in study.grid.axes.items() if axis in paired and len(levels) > 1)
        self.levels = tuple(study.grid.axes[axis] for axis in self.axes)
        self.study = study
        keys = (cell_key({n: v for n, v in labels.items() if n not in paired}) for labels in study.grid)
        self.of_cell: Integers = np.unique(np.fromiter(keys, np.uint64, len(study.grid)), return_inverse=True)[1]

    @cached_property
    def cells(self) -> Integers:
        """(groups, levels…): the cell at every combination of levels of `axes`, −1 outside of the grid."""
        shape = tuple(map(len, self.levels))
        index = [{level: k for k, level in enumerate(levels)} for levels in self.levels]
        table = np.full((int(self.of_cell.max()) + 1, *shape), -1)
        for cell, labels in enumerate(self.study.grid):
            table[(self.of_cell[cell], *(at[labels[axis]] for axis, at in zip(self.axes, index, strict=True)))] = cell
        return table

    def present(self, group: int) -> Booleans:
        """(levels…): which combinations of levels the grid has in a group."""
        there: Booleans = self.cells[group] >= 0
        return there
