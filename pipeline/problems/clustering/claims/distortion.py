"""Claims of Banerjee, Hegde and Massoulié on distortion: some items may be in the wrong cluster."""

import numpy as np
import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, labelled, measure, measure_every_cell
from pipeline.analysis.tolerances import AtLeast, Within

from ..theory import sample_sizes as blocks
from . import controls
from .common import HARDLY_ANY_USERS, above_zero, boundary, boundary_over, exponents, users_times


def _least_users(N: int, distortion: float) -> float:
    return max(float(blocks.users_theorem_23(N, int(distortion * N + 1e-9), 1.0)), 1.0)


@measure_every_cell("users at the boundary of success up to d errors over that number")
def _over_bound(results: xr.Dataset) -> Cells:
    users = boundary(
        results, "maxsense_load", metric="recovered_within", min_levels=dict(N=2, distortion=2)
    )
    least: xr.DataArray = xr.apply_ufunc(
        np.vectorize(_least_users), users["N"], users["distortion"]
    )
    return labelled(boundary_over(users, least))


@measure("exponent in N of the users at the boundary")
def _in_items(results: xr.Dataset) -> Estimate:
    users = boundary(
        above_zero(results, "distortion"),
        "maxsense_load",
        metric="recovered_within",
        min_levels=dict(N=3, distortion=1),
    )
    return exponents(users, ("distortion",), N=users["N"])["in N"]


CLAIMS = (
    Claim(
        id="banerjee.theorem_23",
        row="B14",
        statement="No ε-LDP scheme gets all but d of N labels right with fewer than "
        "((½)log₂(M/M_d) − 1)/(ε log₂ e) users.",
        source="Banerjee, Hegde and Massoulié, Theorem 23, with the ball of labelings "
        "counted exactly",
        experiment="banerjee/distortion",
        simulated=controls.ABOVE_ALL,
        measure=_over_bound,
        tolerance=AtLeast(1),
        only_refutable=True,  # MaxSense needs several hundred times as many users
        why="A lower bound on all schemes, of which MaxSense is one.",
        conditions="N = 100 to 400, w = 20, ε = 1, d/N = 0 to 0.2.",
        control=HARDLY_ANY_USERS,
    ),
    Claim(
        id="banerjee.distortion.order",
        statement="Where a fixed share of the items may be wrong, MaxSense needs users "
        "of order N², without a logarithm.",
        source="finding, beside Theorems 15 and 23 of Banerjee, Hegde and Massoulié",
        experiment="banerjee/distortion",
        simulated=controls.MUCH_MORE_NOISE_WITH_ITEMS,
        measure=_in_items,
        tolerance=Within(2, 0.15),
        why="The share of wrong items is a function of U w/N². With the logarithm the "
        "exponent over N = 100 to 400 would be 2.19.",
        conditions="N = 100 to 400, w = 20, ε = 1, a share of 0.02 to 0.2: one exponent, "
        "a constant for each share.",
        control=NegativeControl("users times √N", users_times(lambda r: xr.ufuncs.sqrt(r["N"]))),
    ),
)
