"""Whole sizes of the parts of a total."""

import numpy as np

from pipeline.study.arrays import Floats, Integers


def largest_remainder(exact: Floats, total: int) -> Integers:
    """Whole sizes that add up to the total, near exact ones, by the method of largest remainders.

    Ties to the first. exact: (parts,), adding up to the total except for
    rounding. Every size is rounded down, where an integer missed by 1e-9
    counts as that integer; the units that are left go to the parts with the
    largest remainders.

    >>> largest_remainder(np.array([2.5, 1.2, 1.3]), 5).tolist()
    [3, 1, 1]
    """
    sizes: Integers = np.floor(exact + 1e-9).astype(int)
    left = total - sizes.sum()
    by_remainder = np.argsort(sizes - exact, kind="stable")
    sizes[by_remainder[:left]] += 1
    return sizes
