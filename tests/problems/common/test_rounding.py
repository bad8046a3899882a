"""Whole sizes by largest remainders."""

import numpy as np
import pytest

from pipeline.problems.common.rounding import largest_remainder


@pytest.mark.parametrize(
    "exact, sizes",
    [
        ([2.5, 1.2, 1.3], [3, 1, 1]),
        ([0.5, 0.5], [1, 0]),
        ([1 / 3 * 7] * 3, [3, 2, 2]),
        ([3 - 1e-12, 2 + 1e-12], [3, 2]),
    ],
)
def test_sizes_add_up_and_ties_go_to_the_first(exact, sizes):
    assert largest_remainder(np.array(exact), sum(sizes)).tolist() == sizes
