"""Claims of Banerjee, Hegde and Massoulié on privacy: what a user's bits spend of her budget."""

from typing import cast

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.measures import Cells, measure_every_cell, normal_cells
from pipeline.analysis.selection import constant, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import Within

from ..derivations import questions_that_fit
from . import controls

ALWAYS = "1, 1"  # chances that an item is liked: all sketches are 1
NEVER = "0, 0"  # all sketches are 0


@measure_every_cell(
    "log of how much more often a bit is 1 where its sketch is 1 than where it is 0, "
    "times a user's bits, over ε"
)
def _spent(results: xr.Dataset) -> Cells:
    data = select(
        results, "ones_released", min_levels=dict(epsilon=3, b=2, mechanism=1, estimator=1)
    )
    has_several = data["mechanism"] == "multi_max_sense"
    several = questions_that_fit(
        "multi_max_sense",
        cast(int, constant(results, "N")),
        cast(int, constant(results, "w")),
        cast(float, constant(results, "theta")),
    )
    bits = 1 + has_several * (several - 1)
    cells = summarise(data)
    share = cells["ones_released"]
    relative = cells["ones_released_mcse"] / share
    loss = xr.ufuncs.log(share.sel(b=ALWAYS, drop=True) / share.sel(b=NEVER, drop=True))
    error = xr.ufuncs.hypot(relative.sel(b=ALWAYS, drop=True), relative.sel(b=NEVER, drop=True))
    each = bits / data["epsilon"]
    return normal_cells(data, loss * each, error * each)


CLAIMS = (
    Claim(
        id="banerjee.local_privacy",
        statement="A user's bits spend ε, no more and no less, in MaxSense, "
        "Multi-MaxSense and Pairwise-Preference.",
        source="Banerjee, Hegde and Massoulié, first sentences of Theorems 8, 15 and 16, "
        "with Proposition 4",
        experiment="banerjee/privacy",
        simulated=controls.TWICE_RELEASED,
        measure=_spent,
        tolerance=Within(1, 0.1),
        why="A bit is kept with probability e^ε/(1 + e^ε), or e^(ε/Q)/(1 + e^(ε/Q)) if "
        "it is one of Q. The errors of 400,000 users are below 0.03.",
        conditions="Bits depend on a record through the sketches only, so no two records "
        "differ more than that of a user who likes all of her items and that of one who "
        "likes none. N = w = 20, ε = ½ to 4, Q = 2.",
        control=NegativeControl(
            "budgets half of what they are",
            lambda results: results.assign_coords(epsilon=results["epsilon"] / 2),
        ),
    ),
)
