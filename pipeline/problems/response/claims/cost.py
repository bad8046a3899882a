"""A claim on what releases cost: random numbers of noise on counts and of randomized response."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged
from pipeline.analysis.measures import Cells, measure, ratio_cells
from pipeline.analysis.selection import Level, select
from pipeline.analysis.tolerances import Within

from .controls import HALF_OF_ALL

_COUNTS = "noise on counts, over p0 m(m − 1)"
_FLIPS = "flipped answers, over npm"
NOISE = "discrete_gaussian"
FLIPS = "randomized_response"
HALF = 0.5  # share of the pairs that are released, and of the responses that are there


def _over(results: xr.Dataset, mechanism: str, persons: int, items: int) -> Cells:
    """Numbers drawn over ½ n^persons · m · (m − 1)^(items − 1), whichever count."""
    at: dict[str, Level] = dict(mechanism=mechanism)
    data = select(results, "numbers_drawn", at=at, min_levels=dict(m=2, n=2))
    m = data["m"]
    of_items = m * (m - 1) ** (items - 1)
    data["number"] = xr.ones_like(data["numbers_drawn"]) * HALF * data["n"] ** persons * of_items
    return ratio_cells(data, "numbers_drawn", "number", 1)


@measure("random numbers that a release takes, in every cell")
def _numbers(results: xr.Dataset) -> Mapping[str, Cells]:
    return {
        _COUNTS: _over(results, NOISE, persons=0, items=2),
        _FLIPS: _over(results, FLIPS, persons=1, items=1),
    }


CLAIMS = (
    Claim(
        id="nguyen.cost",
        statement="Noise on counts takes one random number for each of the p0 m(m − 1) "
        "counts that are released, whatever n; randomized response one for each of "
        "npm answers.",
        source="Nguyen and Zhang, supplement, section 4: O(m²) and O(mn)",
        experiment="nguyen/cost",
        measure=_numbers,
        tolerance={_COUNTS: Within(1, 0.05), _FLIPS: Within(1, 0.01)},
        why="Counted, not timed. A graph is drawn again until it connects the items, "
        "which adds a hundredth of its edges at m = 10.",
        conditions="m = 10 to 40, n = 100 and 400, half of the responses missing, half "
        "of the pairs released. To count pairs takes nm² steps under either "
        "release, as without privacy.",
        control=NegativeControl(
            "the two mechanisms under each other's name",
            exchanged("mechanism", NOISE, FLIPS),
        ),
        simulated=HALF_OF_ALL,
    ),
)
