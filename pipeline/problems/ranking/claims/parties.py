"""A claim on people who compared all pairs themselves: what privacy adds to their errors."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.measures import Cells, measure_every_cell, ratio_cells
from pipeline.analysis.selection import NotTested, select
from pipeline.analysis.tolerances import Within

from .common import LARGE, one_budget, released_sample
from .controls import HALF_IN_SECRET

EXPERIMENT = "xu/parties"
PRIVATE = "randomized_response"


@measure_every_cell(
    "mean ‖θ̂ − θ*‖₂²/m with randomized response less the same without, on the same people, over "
    "the same difference of the first order"
)
def _added(results: xr.Dataset) -> Cells:
    data = select(
        one_budget(results),
        "error_l2",
        "law_risk",
        min_levels=dict(m=1, mechanism=2, L=2, epsilon=2),
        within=lambda cells: released_sample(cells) >= LARGE,
    )
    for level in (PRIVATE, "none"):
        if level not in data["mechanism"].values.tolist():
            raise NotTested(f"needs mechanism={level}")
    private = data.sel(mechanism=PRIVATE, drop=True)
    plain = data.sel(mechanism="none", drop=True)
    private["added"] = private["error_l2"] ** 2 - plain["error_l2"] ** 2
    private["predicted"] = private["law_risk"] - plain["law_risk"]
    return ratio_cells(private, "added", "predicted", 1)


CLAIMS = (
    Claim(
        id="xu.parties.added",
        headline=True,
        statement="What privacy adds to the squared error is what Lemma 2 says of independent "
        "comparisons, though those of one person hang together.",
        source="Xu, Sun and Cheng, Lemma 2 and eq. (3), by the delta method; German parties 2009 "
        "(Zeileis, Strobl and Wickelmaier, psychotools)",
        experiment=EXPERIMENT,
        measure=_added,
        tolerance=Within(1, 0.15),
        why="The noise of an answer depends on nothing but its budget. The next order is some ten "
        "per cent where mL/G(ε) is 200.",
        conditions="Cells with mL/G(ε) ≥ 200; the same people with and without privacy. Any file "
        "of comparisons will do, and the synthetic stand-in.",
        control=NegativeControl("errors a quarter larger", scaled("error_l2", 1.25)),
        simulated=HALF_IN_SECRET,
    ),
)
