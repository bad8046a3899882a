"""Claim of Wang and Xu, after eq. (10): projecting abilities frees EM from wrong initial labels."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import first_level
from pipeline.analysis.measures import Cells, measure_every_cell, paired_cells
from pipeline.analysis.selection import NotTested, select
from pipeline.analysis.tolerances import AtMost

from . import controls

OFF = 1e-12  # λ that lets an ability be 1 up to rounding


@measure_every_cell(
    "mean share of wrong labels at the largest λ less that without projection, on the same release"
)
def _freed(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "label_error",
        min_levels=dict(epsilon=1, projection=2),
        within=lambda d: d["epsilon"] >= 4,
    )
    projections = data["projection"].values
    largest = projections.max()
    off = projections.min()
    if off > OFF:
        raise NotTested(f"needs a projection of at most {OFF:g}, which is none")
    return paired_cells(data, "label_error", "projection", largest, off)


CLAIMS = (
    Claim(
        id="wang.projection",
        statement=(
            "Projection frees EM from wrong initial labels that some worker wholly agrees with: λ "
            "= 0.1 leaves fewer of them wrong than none."
        ),
        source="Wang and Xu, after eq. (10): an ability of 0 or 1 is trapped",
        experiment="wang/projection",
        simulated=controls.UNPROJECTED,
        measure=_freed,
        tolerance=AtMost(-0.05),
        why="One label in twenty; a third of the initial labels are wrong.",
        conditions=(
            "ε ≥ 4; n = 50, m = 6: few tasks, so that some of the workers agree with all initial "
            "labels, 2 of 6 of them wrong. Started at the mean vote λ gains nothing, and large "
            "ones cost."
        ),
        control=NegativeControl("projection off", first_level("label_error", "projection")),
    ),
)
