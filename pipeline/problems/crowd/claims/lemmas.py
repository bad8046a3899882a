"""Claims of Wang and Xu's appendix: Lemmas 1 and 3."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    measure,
    measure_every_cell,
    normal_cells,
    share_above,
)
from pipeline.analysis.selection import select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtMost, NoException

from . import controls

EXPERIMENT = "wang/lemmas"
_AXES = dict(n=1, m=1, epsilon=1, projection=1, initial_error=1)
_CONDITIONS = (
    "n = 20 and 40, m = 20 to 80 tasks, n ≤ m, ε = 1 and 3, abilities uniform on [0, 1]; λ = 0.01 "
    "to 0.1."
)


@measure_every_cell("share of data sets in which E₁ or E₂ fails, less 2n/m² + 2/m⁷")
def _fails(results: xr.Dataset) -> Cells:
    data = select(results, "lemma_1_holds", min_levels=_AXES)
    means = summarise(data)
    failing = 1 - means["lemma_1_holds"]
    return normal_cells(data, failing - results["lemma_1_most"], means["lemma_1_holds_mcse"])


@measure("share of data sets with some log-odds farther than Lemma 3 says, in 5 steps of EM")
def _farther(results: xr.Dataset) -> Estimate:
    data = select(results, "lemma_3_share", min_levels=_AXES)
    return share_above(data, "lemma_3_share", xr.ones_like(data["m"], dtype=float))


CLAIMS = (
    Claim(
        id="wang.lemma_1",
        statement="E₁ and E₂ occur together but for a chance of 2n/m² + 2/m⁷: Lemma 1 with C' = 4.",
        source="Wang and Xu, Lemma 1, with the numbers that Lemma 2 gives",
        experiment=EXPERIMENT,
        simulated=controls.ONE_FLIP,
        measure=_fails,
        tolerance=AtMost(0),
        why="Hoeffding's inequality for n workers and m tasks. It needs n ≤ m, which the lemma does "
        "not name and Theorem 2 has. Normal tails are a tenth of it.",
        conditions=_CONDITIONS,
        control=NegativeControl(
            "data sets in which neither occurs",
            lambda r: r.assign(lemma_1_holds=1 - r["lemma_1_holds"]),
        ),
    ),
    Claim(
        id="wang.lemma_3",
        row="W14",
        statement="Where E₁ occurs all log-odds are within Lemma 3's bound after each of five steps "
        "of EM, and need neither 2λ + r ≤ ¼ nor m ≥ 9 for it.",
        source="Wang and Xu, Lemma 3",
        experiment=EXPERIMENT,
        simulated=controls.INEQUALITY,
        measure=_farther,
        tolerance=NoException(0.001),
        why="A projection moves no two points apart, and the slope of log-odds on [λ, 1 − λ] is at "
        "most 1/(λ(1 − λ)) ≤ 2/λ.",
        conditions=_CONDITIONS + " Initial errors r of 0 to 0.25.",
        control=NegativeControl("distances a hundred times as large", scaled("lemma_3_share", 100)),
    ),
)
