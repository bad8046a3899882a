"""Claims of Wang and Xu, Theorem 3: errors of abilities."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import replaced, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    confidence_for,
    exponent,
    labelled,
    measure,
    measure_every_cell,
)
from pipeline.analysis.selection import select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, NoException, Within

from ..theory import bounds as crowd
from . import controls
from .common import FEW, TAIL, above_bound

TASKS = 800_000  # of wang/theorem_2
PROOF_HOLDS = 2.57  # ε up to which the proof of Theorem 3 holds; its ε ≤ 1 asks for 6·10⁶ tasks


def _bound(data: xr.Dataset) -> xr.DataArray:
    tasks = data["m"] if "m" in data.coords else TASKS
    bound: xr.DataArray = xr.apply_ufunc(crowd.ability_error_bound, tasks, data["epsilon"])
    return bound


def _informative(data: xr.Dataset) -> xr.DataArray:
    return (data["epsilon"] <= 1) & (_bound(data) < 0.5)


def _above_range(data: xr.Dataset) -> xr.DataArray:
    """Private abilities above 1 − λ, with p and λ of wang/theorem_2."""
    above: xr.DataArray = 0.5 + xr.ufuncs.tanh(data["epsilon"] / 2) * (0.942 - 0.5) > 1 - 0.1175
    return above


@measure_every_cell("mean of the largest error of an ability over 6√(log m/(mε²))")
def _over_bound(results: xr.Dataset) -> Cells:
    data = select(
        results, "ability_error_inf", min_levels=dict(epsilon=1), least=FEW, within=_above_range
    )
    cells = summarise(data, confidence_for(data)) / _bound(data)
    name = "ability_error_inf"
    return labelled(
        cells.reset_coords(drop=True), name, f"{name}_low", f"{name}_high", f"{name}_mcse"
    )


@measure("exponent in m of the mean of the largest error of an ability, at fixed ε")
def _in_tasks(results: xr.Dataset) -> Estimate:
    data = select(results, "ability_error_inf", min_levels=dict(m=3, epsilon=1))
    return exponent(data, "ability_error_inf", ("epsilon",), m=data["m"])


@measure("exponent in ε of the mean of the largest error of an ability, at fixed m")
def _in_epsilon(results: xr.Dataset) -> Estimate:
    data = select(
        results,
        "ability_error_inf",
        min_levels=dict(m=1, epsilon=2),
        within=lambda d: d["epsilon"] <= 1,
    )
    return exponent(data, "ability_error_inf", ("m",), epsilon=data["epsilon"])


_NOT_DEBIASED = NegativeControl(
    "abilities that are not debiased", replaced("ability_error_inf", "ability_error_inf_plain")
)

CLAIMS = (
    Claim(
        id="wang.theorem_3.bound",
        row="W7",
        statement="No ability is wrong by more than 6√(log m/(mε²)).",
        source="Wang and Xu, Theorem 3",
        experiment="wang/abilities",
        simulated=controls.COINS,
        measure=above_bound(
            "ability_error_inf", _bound, min_levels=dict(m=2, epsilon=1), within=_informative
        ),
        tolerance=NoException(0.05),
        only_refutable=True,  # abilities that are not debiased, too, are within the bound
        why=TAIL,
        conditions=(
            "ε ≤ 1 and a bound below ½; n = 200, from the mean vote, λ = 0.001. At ε ≤ 1 the "
            "theorem's own λ needs 6,000,000 tasks and 73 workers."
        ),
        control=NegativeControl("errors with a 64th of the tasks", scaled("ability_error_inf", 8)),
    ),
    Claim(
        id="wang.theorem_3.conditions",
        statement=(
            "The same where all conditions but ε ≤ 1 hold, and ε is at most 2.57, all that the "
            "proof uses."
        ),
        source="Wang and Xu, Theorem 3, with (e^ε + 1)/(e^ε − 1) ≤ 3/ε for ε ≤ 2.57",
        experiment="wang/theorem_2",
        simulated=controls.FEWER_TASKS,
        measure=above_bound(
            "ability_error_inf",
            _bound,
            min_levels=dict(epsilon=1),
            least=FEW,
            within=lambda d: d["epsilon"] <= PROOF_HOLDS,
        ),
        tolerance=NoException(0.2),
        why=TAIL,
        conditions=(
            "ε = 2.5, n = 25, m = 800,000, λ = 0.1175; all private abilities are within [λ, 1 − λ]."
        ),
        control=_NOT_DEBIASED,
    ),
    Claim(
        id="wang.theorem_3.projected",
        statement=(
            "That fails where a private ability is above 1 − λ: projection keeps the estimate "
            "away from it."
        ),
        source=(
            "against the step from eq. (23), which is of abilities before projection, to Theorem 3"
        ),
        experiment="wang/theorem_2",
        simulated=controls.UNPROJECTED,
        measure=_over_bound,
        tolerance=AtLeast(1),
        why="Such an ability is off by up to λ, whatever m is.",
        conditions=(
            "ε = 4, n = 25, m = 800,000, λ = 0.1175, p = 0.942. Up to ε = ln 7 no private ability "
            "can be there."
        ),
        control=NegativeControl("a hundredth of the errors", scaled("ability_error_inf", 0.01)),
    ),
    Claim(
        id="wang.theorem_3.tasks",
        statement="The largest error of an ability falls like 1/√m.",
        source="Wang and Xu, Theorem 3 (its discussion prints 1/(mε²), without the root)",
        experiment="wang/abilities",
        simulated=controls.FLIP_NOT_TOLD,
        measure=_in_tasks,
        tolerance=Within(-0.5, 0.05),
        why="Distinguishes ½ from 1; n is fixed, so that there is no log m.",
        conditions="m = 500 to 4,000, ε = 0.5 to 2, n = 200, abilities uniform on [0.6, 1].",
        control=_NOT_DEBIASED,
    ),
    Claim(
        id="wang.theorem_3.budget",
        statement="The largest error of an ability falls like 1/ε for small ε.",
        source="Wang and Xu, Theorem 3",
        experiment="wang/abilities",
        simulated=controls.FLIP_NOT_TOLD,
        measure=_in_epsilon,
        tolerance=Within(-1, 0.1),
        why="coth(ε/2), which it follows, has −0.92 between ½ and 1.",
        conditions="ε = 0.5 to 1, m = 500 to 4,000, n = 200, abilities uniform on [0.6, 1].",
        control=_NOT_DEBIASED,
    ),
)
