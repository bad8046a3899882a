"""What claims on a person's budget share: boundaries of learning, and wrong worlds.

A boundary is the budget at which the root of the mean squared error is `ERROR`. An
axis x counts budgets in units of the one at which the first order has that error
(`theory.person`), so that its crossing is the constant of the boundary.
"""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from pipeline.analysis.boundaries import INSIDE, boundary_exponent, crossing
from pipeline.analysis.claims import NegativeControl, NotSimulated, SimulatedControl
from pipeline.analysis.controls import scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, Measure, confidence_for, labelled, measure
from pipeline.analysis.measures import measure_every_cell as every_cell
from pipeline.analysis.selection import InsufficientEvidence, Level, select
from pipeline.analysis.summary import summarise
from pipeline.problems.common.changes import in_secret, with_parameters
from pipeline.study.protocols import Components
from pipeline.study.wrong_worlds import Change

from ..design import Budgets
from ..mechanisms.curator import CuratorNoise

ERROR = 0.1  # logits: where learning ends
IN_ITEMS = "in m − 1"
IN_USERS = "in L"
DRAWS = 4000  # of redrawn curves: enough for the ends of simultaneous intervals
FIRST_ORDER = "theory.person; not in the papers"
NEAR = (
    "The first order has neither the ridge nor the curvature of errors of 0.1 "
    "logits; a constant that was forgotten, such as a 2, is ten times as far away."
)
NARROW = (
    "The nearest other order differs by ½. An item is compared with m − 1 others: "
    "to first order √((m − 1)/m) is all that is left beside powers of m − 1, 0.01 "
    "of an exponent."
)
LEAST = dict(m=2, L=2, x=4)  # levels of a boundary whose exponents are wanted
POWER = 0.12  # of the users, by which budgets are wrong in a world


def boundary(
    results: xr.Dataset,
    at: Mapping[str, Level],
    position: str,
    least: Mapping[str, int] = LEAST,
    together: int = 1,
) -> xr.Dataset:
    """Where the root of the mean squared error is `ERROR`, over m and L.

    position: coordinate along x in which the boundary is said. least: levels
    that there must be. together: how many such boundaries are compared. Raises
    `InsufficientEvidence` where a curve does not cross inside its cells.
    """
    data = select(results, "error_l2", at=at, min_levels=least)
    data["square"] = data["error_l2"] ** 2
    cells = summarise(data[["square", "status"]])
    curves = int(data.sizes["m"] * data.sizes["L"])
    edge = crossing(
        cells["square"],
        cells["square_mcse"],
        "x",
        ERROR**2,
        at=data[position],
        draws=DRAWS,
        confidence=confidence_for(together * curves),
    )
    if (edge["side"] != INSIDE).any():
        raise InsufficientEvidence("some curve crosses outside the grid: add levels of x")
    return edge


def exponents(estimand: str, at: Mapping[str, Level], position: str) -> Measure:
    """Exponents of a boundary in the items and in the users."""

    @measure(f"exponents of {estimand}, at which the error is {ERROR:g} logits")
    def in_sizes(results: xr.Dataset) -> Mapping[str, Estimate]:
        edge = boundary(results, at, position)
        others = edge["m"] - 1
        confidence = confidence_for(error_share=0.5)
        rate = boundary_exponent(edge, (), confidence, others=others, L=edge["L"])
        return {IN_ITEMS: rate.exponents["others"], IN_USERS: rate.exponents["L"]}

    return in_sizes


def constants(estimand: str, at: Mapping[str, Level]) -> Measure:
    """A boundary over that of the first order, for each m and L."""

    @every_cell(f"{estimand} at which the error is {ERROR:g} logits, over that of the first order")
    def over_first_order(results: xr.Dataset) -> Cells:
        return in_cells(boundary(results, at, "x"))

    return over_first_order


def in_cells(edge: xr.Dataset) -> Cells:
    """A boundary in each cell."""
    error = edge["standard_error"] * edge["value"]
    cells = xr.Dataset(dict(value=edge[("value")], low=edge["low"], high=edge["high"], error=error))
    return labelled(cells.reset_coords(drop=True))


def _by_users(results: xr.Dataset) -> xr.DataArray:
    logs = xr.ufuncs.log(results["L"])
    factor: xr.DataArray = xr.ufuncs.exp(POWER * (logs - logs.mean()))
    return factor


LARGER_BY_USERS = NegativeControl(
    f"errors multiplied by a power {POWER:g} of the users", scaled(("error_l2"), _by_users)
)
A_FIFTH_LARGER = NegativeControl("errors a fifth larger", scaled("error_l2", 1.2))


def weaker_by_users(middle: int, power: float = POWER) -> Change:
    """Budgets that fall as a power of the users, and are the declared ones at so
    many of these.
    """

    def change(parts: Components) -> Components:
        users = getattr(parts.mechanism, "L", middle)
        factor = float((middle / users) ** power)
        return with_parameters(("mechanism"), person=lambda person: factor * person)(parts)

    return change


def _whole_each(parts: Components) -> Components:
    """Every answer has the budget of all of them."""
    mechanism = parts.mechanism
    if not isinstance(mechanism, Budgets) or mechanism.person is None:
        return parts
    whole = mechanism.person
    return with_parameters(("mechanism"), epsilon=whole, person=None, person_delta=0.0)(parts)


def _without_noise(parts: Components) -> Components:
    return with_parameters("mechanism", person=1e4)(parts)


def _more_for_more(parts: Components) -> Components:
    """A curator's noise as if sensitivities grew with k² more than they do."""
    mechanism: Any = parts.mechanism
    if not isinstance(mechanism, CuratorNoise):
        return parts
    share = float(mechanism.answers) ** -2
    return with_parameters("mechanism", person=lambda person: share * person)(parts)


def _half(person: float | None) -> float | None:
    return None if person is None else person / 2


def _most(person: float | None) -> float | None:
    return None if person is None else 0.8 * person


OUT_OF_BUDGETS = NotSimulated(
    "A world that moves a boundary by a factor of four or more moves it out of the budgets that "
    "are simulated."
)
HALF = SimulatedControl(
    "half of the budget is spent, and nobody says so",
    in_secret(with_parameters("mechanism", person=_half), "variance"),
)
HALF_OF_FLIPS = SimulatedControl(
    "half of the budget is spent, and nobody says so",
    in_secret(with_parameters("mechanism", person=_half)),
)
BY_USERS = SimulatedControl(
    "budgets that fall with an eighth root of the users, and nobody says so",
    in_secret(weaker_by_users(80_000), "variance"),
)
BY_USERS_KNOWN = SimulatedControl(
    "budgets that fall with a fourth root of the users", weaker_by_users(80_000, 1 / 4)
)
BY_MANY_USERS_KNOWN = SimulatedControl(
    "budgets that fall with an eighth root of the users", weaker_by_users(3_200_000)
)
FOUR_FIFTHS = SimulatedControl(
    "four fifths of the budget are spent, and nobody says so",
    in_secret(with_parameters("mechanism", person=_most), "variance"),
)
WHOLE_EACH = SimulatedControl(
    "every answer has the budget of all of them, and estimators know it", _whole_each
)
WITHOUT_NOISE = SimulatedControl(
    "a curator who adds no noise", in_secret(_without_noise, "variance")
)
MORE_FOR_MORE = SimulatedControl(
    "noise that grows with the square of the number of questions",
    in_secret(_more_for_more, "variance"),
)
ONE_COUNT = SimulatedControl(
    "which pairs are compared is public everywhere",
    in_secret(with_parameters("mechanism", compared_are="public"), "variance"),
)
THRICE = SimulatedControl(
    "a third of the budget is spent where pairs are protected",
    in_secret(
        lambda parts: (
            with_parameters("mechanism", person=lambda person: person / 3)(parts)
            if getattr(parts.mechanism, "compared_are", "") == "protected"
            else parts
        ),
        "variance",
    ),
)
