"""Claims read the cells that their conditions name: those just inside of a limit, and none just outside of it."""

import math

import numpy as np
import pytest
import xarray as xr

from pipeline.analysis.selection import NotTested
from pipeline.identity.registry import problems
from tests.helpers.ideal_crowd import IDEAL as CROWD
from tests.helpers.ideal_response import IDEAL as RESPONSE

CLAIMS = {claim.id: claim for one in problems().values() for claim in one.load(one.claims)}
IDEAL = {**CROWD, **RESPONSE}
LIMITS = [  # as conditions state them: coordinate, least, most
    ("wang.labels.strong", "crowd_strength", 3.4, 25),
    ("wang.labels.weak", "crowd_strength", None, 2.3),
    ("wang.experts.below", "epsilon", None, math.log(85 / 15)),
    ("wang.start.majority", "crowd_strength", 3, None),
    ("nguyen.theorem_3_1.few", "density", 20, None),
]
ENDS = [
    (name, axis, end, side)
    for name, axis, least, most in LIMITS
    for end, side in ((least, 1), (most, -1))
    if end is not None
]


def moved(data, axis, end, side):
    """The data, with all cells within a few millionths of that end, on one side of it."""
    if axis in data.dims:
        return data.assign_coords(
            {axis: end * (1 + side * 1e-6 * np.arange(1, data.sizes[axis] + 1))}
        )
    return data.assign_coords({axis: xr.full_like(data[axis], end * (1 + side * 1e-6), float)})


@pytest.mark.parametrize("name, axis, end, side", ENDS)
def test_cells_just_inside_are_read_and_those_just_outside_are_not(name, axis, end, side):
    claim = CLAIMS[name]
    data = IDEAL[claim.experiment]()
    claim.measure.compute(moved(data, axis, end, side))
    with pytest.raises(NotTested):
        claim.measure.compute(moved(data, axis, end, -side))
