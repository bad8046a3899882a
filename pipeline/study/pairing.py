"""Which cells of a study share their data: they are simulated side by side and counted alike."""

from functools import cached_property

import numpy as np

from pipeline.study.arrays import Booleans, Integers
from pipeline.study.study import Study


class Pairing:
    """Groups of cells that differ in the levels of paired axes only.

    of_cell: (cells,) number of a cell's group. axes: see `Study.paired_axes`.
    """

    def __init__(self, study: Study):
        paired = set(study.paired)
        self.study = study
        self.axes = study.paired_axes
        self.of_cell: Integers = np.unique(study.grid.digests(without=paired), return_inverse=True)[
            1
        ]

    @cached_property
    def cells(self) -> Integers:
        """(groups, levels…): the cell at every combination of levels of `axes`, −1 outside of the
        grid.
        """
        grid = self.study.grid
        names = list(grid.axes)
        places = grid.places()
        along = [places[names.index(axis)] for axis in self.axes]
        sizes = [len(grid.axes[axis]) for axis in self.axes]
        table = np.full((int(self.of_cell.max()) + 1, *sizes), -1)
        table[(self.of_cell, *along)] = np.arange(len(grid))
        return table

    def present(self, group: int) -> Booleans:
        """(levels…): which combinations of levels the grid has in a group."""
        there: Booleans = self.cells[group] >= 0
        return there
