"""Claim on privacy: what one report tells."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.measures import Cells, measure_every_cell, normal_cells
from pipeline.analysis.selection import constant, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import Within

from .common import WANG, YE

ONE_SIZE = ("randomized_response", "subset_selection")  # every report supports as many values


@measure_every_cell("log of the largest ratio of probabilities of a report, over ε")
def _loss(results: xr.Dataset) -> Cells:
    data = select(
        results, "support_held", "support_absent", min_levels=dict(mechanism=2, epsilon=2)
    )
    cells, k = summarise(data), constant(results, "k")
    held, other = cells["support_held"], cells["support_absent"]
    share = (held + (k - 1) * other) / k  # of the values that a report supports
    reference = other.where(~data["mechanism"].isin(ONE_SIZE), share)
    error = xr.ufuncs.hypot(
        cells["support_held_mcse"] / (held * (1 - held)),
        cells["support_absent_mcse"] / (other * (1 - other)),
    )
    spent = xr.ufuncs.log(held / (1 - held) * (1 - reference) / reference)
    return normal_cells(data, spent / data["epsilon"], error / data["epsilon"])


CLAIMS = (
    Claim(
        id="frequency.privacy",
        statement="A report spends its budget ε, and no more, whatever the mechanism.",
        source=f"{WANG}; {YE}",
        experiment="frequency/privacy",
        measure=_loss,
        tolerance=Within(1, 0.05),
        why="The log ratio is ε exactly. The Monte Carlo error is up to 2 % at ε = 0.5.",
        conditions=(
            "ε = 0.5 to 4, k = 8; all people hold one value. With unary bits and hashing the "
            "report that tells most supports one of two values, and p(1 − q)/(q(1 − p)) is its "
            "ratio; with sets of d values it is p/(1 − p) · (k − d)/d."
        ),
        control=NegativeControl(
            "half as much support of other values", scaled("support_absent", 0.5)
        ),
    ),
)
