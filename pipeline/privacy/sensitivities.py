"""What neighbouring data sets can change in a table of counts."""

from typing import NamedTuple


class Sensitivity(NamedTuple):
    """Largest changes: absolute, Δ₁, the sum of |changes|; squared, Δ₂²,
    the sum of their squares.

    >>> Sensitivity(absolute=4, squared=8).squared
    8
    """

    absolute: int
    squared: int
