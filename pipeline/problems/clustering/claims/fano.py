"""A claim on Corollary 21 of Banerjee, Hegde and Massoulié: errors at a given information."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.measures import Cells, measure_every_cell, normal_cells
from pipeline.analysis.selection import select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast

from . import controls

EXPERIMENT = "banerjee/fano"
TELLING = 0.05  # a bound below is not worth a test


@measure_every_cell("share of runs with more than d items wrong less the least that it may be")
def _over_least(results: xr.Dataset) -> Cells:
    data = select(
        results,
        "recovered_within",
        min_levels=dict(mechanism=1, estimator=1, w=1, information_share=2, distortion=2),
        within=lambda cells: cells["error_least"] >= TELLING,
    )
    means = summarise(data)
    wrong = 1 - means["recovered_within"]
    return normal_cells(data, wrong - results["error_least"], means["recovered_within_mcse"])


CLAIMS = (
    Claim(
        id="banerjee.corollary_21",
        statement="Clusterings are wrong as often as the bits of all answers over those of the "
        "clusterings say at least, more than d items or any.",
        source="Banerjee, Hegde and Massoulié, Corollary 21, with M/M_d counted exactly",
        experiment=EXPERIMENT,
        simulated=controls.ALL_TOLD,
        measure=_over_least,
        tolerance=AtLeast(0),
        why="A lower bound on the error of all schemes at their exact information. Those here, "
        "with 8 times as many bits, are right in half of the runs.",
        conditions="N = 40, labels drawn uniformly; MaxSense and pairs at ε = 1, and single "
        "ratings as they are; d/N = 0 and 0.1; bounds of 0.05 and more.",
        control=NegativeControl(
            "success and failure exchanged",
            lambda r: r.assign(recovered_within=1 - r["recovered_within"]),
        ),
    ),
)
