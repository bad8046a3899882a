"""Claims of Nguyen and Zhang, Theorems 3.2 and 3.4: persons needed to find the top K items."""

from collections.abc import Callable, Mapping

import xarray as xr

from pipeline.analysis.boundaries import INSIDE, boundary_exponent, crossing
from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    confidence_for,
    labelled,
    measure,
    measure_every_cell,
)
from pipeline.analysis.selection import Condition, InsufficientEvidence, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost, Within

from .controls import CROWD, NEWCOMERS, SIXTEENTH


def _signal(data: xr.Dataset) -> xr.DataArray:
    """npΔ²/log m, from n, p, Δ and m."""
    signal: xr.DataArray = data["n"] * data["p"] * data["spacing"] ** 2 / xr.ufuncs.log(data["m"])
    return signal


def _recovered(within: Condition) -> Measure:
    @measure_every_cell("share of replications with the exact top K")
    def recovered(results: xr.Dataset) -> Cells:
        data = select(
            results, "exact_top_k", min_levels=dict(m=1, spacing=1, p=1, recovery=2), within=within
        )
        cells = summarise(data, confidence_for(data))
        columns = ("exact_top_k", "exact_top_k_low", "exact_top_k_high", "exact_top_k_mcse")
        return labelled(cells, *columns)

    return recovered


@measure("exponents of the n at which 8 of 10 replications find the exact top K, at fixed m")
def _persons_needed(results: xr.Dataset) -> Mapping[str, Estimate]:
    data = select(
        results,
        "exact_top_k",
        min_levels=dict(m=1, spacing=2, p=2, recovery=3),
        within=lambda d: d["m"] >= 20,
    )
    cells = summarise(data).sel(m=data["m"] >= 20)
    boundary = crossing(
        cells["exact_top_k"], cells["exact_top_k_mcse"], "recovery", 0.8, at=cells["n"]
    )
    if (boundary["side"] != INSIDE).any():
        raise InsufficientEvidence(
            "some curve reaches 0.8 outside the grid: add levels of recovery"
        )
    rate = boundary_exponent(
        boundary, ("m",), confidence_for(error_share=0.5), gap=boundary["spacing"], p=boundary["p"]
    )
    return {"in Δ": rate.exponents["gap"], "in p": rate.exponents["p"]}


def _gaps_read_as(
    gap: Callable[[xr.DataArray], xr.DataArray],
) -> Callable[[xr.Dataset], xr.Dataset]:
    return lambda results: results.assign_coords(spacing=gap(results["spacing"]))


CLAIMS = (
    Claim(
        id="nguyen.theorem_3_2",
        statement="Where np is at least 8 log m/Δ², the top K are found.",
        source="Nguyen and Zhang, Theorem 3.2, with 8 for its constant",
        experiment="nguyen/top_k",
        measure=_recovered(lambda d: _signal(d) >= 7.9),
        tolerance=AtLeast(0.8),
        why="The theorem's probability tends to 1, and its constant is open: "
        "with 8 Gaussian errors give 0.88 to 0.96 here.",
        conditions="Cells with npΔ²/log m ≥ 7.9; β* evenly spaced, K = m/2.",
        control=NegativeControl(
            "gaps read as twice what they are", _gaps_read_as(lambda gap: 2 * gap)
        ),
        simulated=SIXTEENTH,
    ),
    Claim(
        id="nguyen.theorem_3_4",
        statement="Where np is at most ¼ log m/Δ², the top K are missed in half "
        "of the cases or more.",
        source="Nguyen and Zhang, Theorem 3.4, with ¼ for its constant",
        experiment="nguyen/top_k",
        measure=_recovered(lambda d: _signal(d) <= 0.26),
        tolerance=AtMost(0.5),
        why="The theorem is about every estimator and the worst items; this is "
        "one estimator and one set of items. Its constant is open: with ¼ "
        "Gaussian errors give 0.14 to 0.27 here.",
        conditions="Cells with npΔ²/log m ≤ 0.26; β* evenly spaced, K = m/2.",
        control=NegativeControl(
            "gaps read as a quarter of what they are", _gaps_read_as(lambda gap: gap / 4)
        ),
        simulated=CROWD,
    ),
    Claim(
        id="nguyen.theorem_3_2.scaling",
        headline=True,
        statement="The number of persons needed to find the top K is proportional to 1/(pΔ²).",
        source="Nguyen and Zhang, Theorems 3.2 and 3.4",
        experiment="nguyen/top_k",
        measure=_persons_needed,
        tolerance={"in Δ": Within(-2, 0.3), "in p": Within(-1, 0.45)},
        why="Distinguishes 2 from 1 and 3, and 1 from ½ and from 2, the exponent "
        "if pairs of responses (np²) counted.",
        conditions="m ≥ 20: with fewer items mp ≳ log n, a condition of the "
        "theorem, does not hold at p = ½.",
        control=NegativeControl(
            "gaps Δ raised to the power 3/2", _gaps_read_as(lambda gap: gap**1.5)
        ),
        simulated=NEWCOMERS,
    ),
)
