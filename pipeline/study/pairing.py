"""Which cells of a study share their data: they are simulated side by side and counted alike."""

from functools import cached_property

import numpy as np

from pipeline.study.arrays import Booleans, Integers
from pipeline.study.grid import cell_key
from pipeline.study.study import Study


class Pairing:
    """Groups of cells that differ in the levels of paired axes only.

    of_cell: (cells,) number of a cell's group. axes: see `Study.paired_axes`.
    """

    def __init__(self, study: Study):
        paired = set(study.paired)
        self.study, self.axes = study, study.paired_axes
        keys = (cell_key({n: v for n, v in labels.items() if n not in paired}) for labels in study.grid)
        self.of_cell: Integers = np.unique(np.fromiter(keys, np.uint64, len(study.grid)), return_inverse=True)[1]

    @cached_property
    def cells(self) -> Integers:
        """(groups, levels…): the cell at every combination of levels of `axes`, −1 outside of the grid."""
        index = [{level: k for k, level in enumerate(self.study.grid.axes[axis])} for axis in self.axes]
        table = np.full((int(self.of_cell.max()) + 1, *map(len, index)), -1)
        for cell, labels in enumerate(self.study.grid):
            table[(self.of_cell[cell], *(at[labels[axis]] for axis, at in zip(self.axes, index, strict=True)))] = cell
        return table

    def present(self, group: int) -> Booleans:
        """(levels…): which combinations of levels the grid has in a group."""
        there: Booleans = self.cells[group] >= 0
        return there
