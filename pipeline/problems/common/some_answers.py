"""Some answers of each person, drawn at random from those that the person gave.

So a survey that asks fewer questions is simulated with data that were recorded.
"""

import numpy as np

from pipeline.study.arrays import Integers


def places_of_each(rng: np.random.Generator, sizes: Integers, most: int) -> Integers:
    """(people, most): which of a person's answers are drawn.

    Each subset is equally likely. sizes: (people,), answers of each. Of
    a person who gave no more than `most` all are drawn; −1 fills the
    rest. Floyd's algorithm for all people at once, O(people · most²).
    Source: Bentley and Floyd (1987).

    >>> places_of_each(np.random.default_rng(0), np.array([1, 0, 5]), 2)[:2].tolist()
    [[0, -1], [-1, -1]]
    """
    everything = np.arange(most)
    places = np.where(everything < sizes[:, None], everything, -1)
    has_more = np.flatnonzero(sizes > most)
    chosen = np.full((len(has_more), most), -1)
    for step in range(most):
        last = sizes[has_more] - most + step
        drawn = rng.integers(0, last + 1)
        is_there = (chosen == drawn[:, None]).any(axis=1)
        chosen[:, step] = np.where(is_there, last, drawn)
    places[has_more] = chosen
    return places
