"""A claim on people's own answers to named questions: what privacy adds is the first order's."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.measures import Cells, measure_every_cell, ratio_cells
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import Within

from .controls import LOUD

SMALL = 0.01  # logits², squared distance up to which the first order is near
FEW_ITEMS = 13  # of the mathematics exam


def _is_small(cells: xr.Dataset) -> xr.DataArray:
    risk = cells["noise_risk"].median("replication")  # the same in all of them
    small: xr.DataArray = (risk <= SMALL) & (cells["m"] <= FEW_ITEMS)
    return small


@measure_every_cell("mean ‖β̃ − β̂‖₂²/m over that of the first order")
def _over_law(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "error_l2",
        "noise_risk",
        min_levels=dict(m=1, epsilon_user=2, calibration=1),
        within=_is_small,
    )
    data["square"] = data["error_l2"] ** 2
    return ratio_cells(data, "square", "noise_risk", 1)


CLAIMS = (
    Claim(
        id="nguyen.questions",
        statement="What privacy adds to the difficulties of real "
        "questions is what the first order of "
        "the spectral equations says.",
        source="Nguyen and Zhang, §5.2 and Algorithm 2, by the "
        "delta method; mathematics exam and "
        "verbal aggression (Zeileis, Strobl "
        "and Wickelmaier, psychotools)",
        experiment="nguyen/questions",
        measure=_over_law,
        tolerance=Within(1, 0.15),
        why="The noise depends on nothing but the budget, "
        "whatever people answer. The next order "
        "is a tenth where the squared distance is 0.01.",
        conditions="Everybody's answers; cells with a predicted "
        "squared distance of 0.01 at most. "
        "13 items or fewer, of any file of responses or the "
        "synthetic stand-in. Of the 24 statements on "
        "verbal aggression many pairs are so rare that "
        "noisy counts are raised to 1, which takes "
        "off a quarter.",
        control=NegativeControl("errors a quarter larger", scaled("error_l2", 1.25)),
        simulated=LOUD,
    ),
)
