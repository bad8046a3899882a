"""Claims on where randomized response is overtaken."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.boundaries import crossing
from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.measures import (
    Cells,
    Measure,
    confidence_for,
    labelled,
    measure,
    measure_every_cell,
)
from pipeline.analysis.selection import select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtMost, Within

from .common import WANG, YE, mechanism_ratio, swapped

SHARES = 5  # levels of k over 3e^ε + 2, at least
DRAWS = 1000
OTHERS = {
    "randomized_response": "randomized response",
    "optimised_unary": "optimised unary encoding",
}


def _crossing(metric: str, position: str, what: str) -> Measure:
    """Where randomized response has the variance of optimised unary encoding, for every k."""

    @measure_every_cell(f"{what} where randomized response and optimised unary encoding err alike")
    def found(results: xr.Dataset) -> Cells:
        data = select(
            results,
            metric,
            position,
            at=dict(mechanism="randomized_response"),
            min_levels=dict(k=2, share=SHARES),
        )
        cells = summarise(data[[metric, "status"]])
        where = crossing(
            cells[metric],
            cells[f"{metric}_mcse"],
            "share",
            1.0,
            data[position],
            draws=DRAWS,
            confidence=confidence_for(data.sizes["k"]),
        )
        end = where["high"].where(where["side"] < 0, where["low"])  # of the interval, off the grid
        return labelled(where.assign(value=where["value"].fillna(end)), error="standard_error")

    return found


@measure("squared error of subset selection over that of another mechanism, in every cell")
def _subsets(results: xr.Dataset) -> Mapping[str, Cells]:
    data = select(results, "error_squared", min_levels=dict(mechanism=3, k=2, share=SHARES))
    return {
        f"over {words}": mechanism_ratio(data, "error_squared", "subset_selection", name, 0.5)
        for name, words in OTHERS.items()
    }


_CONDITIONS = "k = 16 to 256, k/(3e^ε + 2) = 0.4 to 2.5; half of the values are held by nobody."

CLAIMS = (
    Claim(
        id="frequency.crossover",
        headline=True,
        statement=(
            "Where nobody holds a value, optimised unary encoding overtakes randomized response "
            "at k = 3e^ε + 2."
        ),
        source=f"{WANG}, on which protocol to use: randomized response is best for k < 3e^ε + 2",
        experiment="frequency/crossover",
        measure=_crossing("absent_over_unary", "crossover_share", "k/(3e^ε + 2)"),
        tolerance=Within(1, 0.12),
        why="The grid of positions and the Monte Carlo error leave 0.03 to 0.08.",
        conditions=f"{_CONDITIONS} The paper compares variances at f = 0.",
        control=NegativeControl(
            "errors of randomized response a fifth larger", scaled("absent_over_unary", 1.2)
        ),
    ),
    Claim(
        id="frequency.crossover_total",
        statement=(
            "All frequencies together cross earlier, where (k − 1)(k − 2 − 2e^ε) = (e^ε + 1)²: at "
            "about (1 + √2)e^ε in place of 3e^ε."
        ),
        source=f"beyond {WANG}: exact risks at all frequencies, summed",
        experiment="frequency/crossover",
        measure=_crossing(
            "error_over_unary", "total_crossover_share", "k over its value at equal exact risks"
        ),
        tolerance=Within(1, 0.08),
        why="3e^ε + 2 is 1.15 to 1.24 of that.",
        conditions=_CONDITIONS,
        control=NegativeControl(
            "the crossover at 3e^ε + 2",
            lambda r: r.assign_coords(total_crossover_share=r["crossover_share"]),
        ),
    ),
    Claim(
        id="frequency.subset_selection",
        statement=(
            "Subset selection errs no more than either of the two, on both sides of the crossover."
        ),
        source=YE,
        experiment="frequency/crossover",
        measure=_subsets,
        tolerance={f"over {words}": AtMost(1.08) for words in OTHERS.values()},
        why=(
            "Equal where sets of one value are best, as that is randomized response; the rest is "
            "Monte Carlo error."
        ),
        conditions=_CONDITIONS,
        control=NegativeControl(
            "optimised unary encoding under its name",
            swapped("subset_selection", "optimised_unary"),
        ),
    ),
)
