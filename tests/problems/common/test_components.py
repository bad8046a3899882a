"""Items outside the largest connected component."""

import numpy as np

from pipeline.problems.common.components import outside_largest, unconnected


def test_items_outside_the_largest_component_are_named():
    first, second = np.array([0, 3]), np.array([1, 1])
    assert unconnected(first, second, 4, "abcd") == ["c"]
    assert unconnected(np.array([0, 1, 2]), np.array([1, 2, 3]), 4, "abcd") == []
    assert unconnected(first[:0], second[:0], 3, "abc") == ["b", "c"]


def test_components_are_compared_by_their_items():
    """A person who answered two items outweighs many who answered another one only."""
    assert unconnected(np.array([3, 3, 4, 5, 6]), np.array([0, 1, 2, 2, 2]), 7, "abc") == ["c"]
    assert outside_largest(np.array([1, 0, 1]), "abc") == ["b"]
