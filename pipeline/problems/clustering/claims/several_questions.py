"""Claims of Banerjee, Hegde and Massoulié on several questions to a user, who splits her budget."""

from collections.abc import Callable

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, PositiveControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, Measure, labelled, measure, measure_every_cell
from pipeline.analysis.tolerances import AtMost

from . import controls
from .common import boundary, boundary_ratio, exponents, users_times

_CASE = "N = 100, w = 25, θ = 1, two equal clusters, 0.9 and 0.1 liked."
_TEN_TIMES = NegativeControl(
    "ten times the users with ⌈ε⌉ questions",
    users_times(lambda r: 1 + 9 * (r["questions"] == "rounded_up")),
)


def _boundary_of(results: xr.Dataset, mechanism: str, questions: str) -> xr.Dataset:
    return boundary(
        results,
        "margin",
        at=dict(mechanism=mechanism, questions=questions),
        min_levels=dict(epsilon=2),
    )


def _several_over_one(
    mechanism: str, questions: str, budgets: Callable[[xr.DataArray], xr.DataArray]
) -> Measure:
    """Users with ⌈ε⌉ questions over users with one, asked by this mechanism, at some budgets."""

    @measure_every_cell("users at the boundary with ⌈ε⌉ questions over users with one")
    def ratio(results: xr.Dataset) -> Cells:
        several = _boundary_of(results, "multi_max_sense", "rounded_up")
        single = _boundary_of(results, mechanism, questions)
        several = several.assign(value=several["value"].where(budgets(several["epsilon"])))
        return labelled(boundary_ratio(several, single))

    return ratio


@measure("exponent in ε of the users at the boundary")
def _in_epsilon(results: xr.Dataset) -> Estimate:
    users = _boundary_of(results, "multi_max_sense", "rounded_up")
    users = users.where(users["epsilon"] >= 1, drop=True)
    return exponents(users, epsilon=users["epsilon"])["in epsilon"]


CLAIMS = (
    Claim(
        id="banerjee.theorem_16",
        statement="With ⌈ε⌉ questions of budget ε/⌈ε⌉ the users needed fall about as "
        "fast as 1/ε or faster, from ε = 1 on.",
        source="Banerjee, Hegde and Massoulié, Theorem 16",
        experiment="banerjee/multi",
        simulated=controls.MORE_NOISE_WITH_LARGE_BUDGET,
        measure=_in_epsilon,
        tolerance=AtMost(-0.85),
        why="Predicted: −1.15, as sets of several questions cover more of the items. "
        "Below ε = 1 there is one question, and 1/ε̂² users.",
        conditions="ε = 1 to 16. " + _CASE,
        control=NegativeControl("users times ε", users_times(lambda r: r["epsilon"])),
    ),
    Claim(
        id="banerjee.theorem_16.saves",
        row="B11",
        statement="Just above ε = 1, too, ⌈ε⌉ questions need no more users than one.",
        source="a reading of Theorem 16 of Banerjee, Hegde and Massoulié, which has Q = "
        "⌈ε⌉ for the order at large ε and says nothing about constants",
        experiment="banerjee/multi",
        simulated=controls.SEVERAL_SPENT,
        tolerance=AtMost(1),
        measure=_several_over_one(
            "multi_max_sense", "best", lambda epsilon: (epsilon > 1) & (epsilon <= 2)
        ),
        why="Each bit has a smaller budget: Q tanh²(ε/2Q) with Q = ⌈ε⌉ is below "
        "tanh²(ε/2) up to ε = 4.7, and from 5 to 5.13.",
        conditions="ε = 1.5 and 2, one question about a set of the same fixed size. "
        + _CASE
        + " Does not hold. MaxSense's sets of random size need 30 % more users for that "
        "alone: sets of fixed size sense every item more evenly.",
        control=_TEN_TIMES,
        positive=PositiveControl(
            "a third of the users with ⌈ε⌉ questions",
            users_times(lambda r: 1 / (1 + 2 * (r["questions"] == "rounded_up"))),
        ),
    ),
    Claim(
        id="banerjee.theorem_16.corrected",
        statement="With constants: at ε = 8 and 16 ⌈ε⌉ questions need fewer users than "
        "MaxSense's one.",
        source="beside Theorem 16 of Banerjee, Hegde and Massoulié; by Q tanh²(ε/2Q), of "
        "the first order",
        experiment="banerjee/multi",
        simulated=controls.MORE_NOISE_OF_SEVERAL,
        measure=_several_over_one("max_sense", "one", lambda epsilon: epsilon > 5.2),
        tolerance=AtMost(1),
        why="Q tanh²(ε/2Q) with Q = ⌈ε⌉ is above tanh²(ε/2) from ε = 5.13 on. Sets of "
        "fixed size, which MaxSense does not have, are 30 % of it.",
        conditions=_CASE,
        control=_TEN_TIMES,
    ),
)
