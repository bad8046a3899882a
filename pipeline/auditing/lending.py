"""What a mechanism gets in place of a data set: a copy, where it changes what it gets.

Else the second call would see the noise, or the order, that the first one left behind.
"""

import copy
import pickle

import numpy as np


class Lending:
    """Lends data sets. The first call on each gets a copy, and if that is changed, all calls do."""

    def __init__(self) -> None:
        self.needs_copies = False
        self._unchanged: dict[int, object] = {}  # by id, which stays theirs as they live here

    def lent(self, dataset: object) -> object:
        """The data set, or a copy of it."""
        if not _may_change(dataset):
            return dataset
        if self.needs_copies or id(dataset) not in self._unchanged:
            return copy.deepcopy(dataset)
        return dataset

    def returned(self, dataset: object, lent: object) -> None:
        """See whether a copy was changed."""
        if lent is dataset or self.needs_copies:
            return
        self._unchanged[id(dataset)] = dataset
        self.needs_copies = pickle.dumps(lent) != pickle.dumps(copy.deepcopy(dataset))


class Nothing(Lending):
    """Lends every data set as it is."""

    def lent(self, dataset: object) -> object:
        """The data set."""
        return dataset


def _may_change(dataset: object) -> bool:
    """Whether it is of a kind that functions change in place: arrays, lists, frames of pandas."""
    return isinstance(dataset, np.ndarray | list | dict | set) or hasattr(dataset, "iloc")
