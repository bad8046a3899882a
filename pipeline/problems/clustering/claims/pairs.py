"""Claims of Banerjee, Hegde and Massoulié on Pairwise-Preference: users against items and against the budget."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import measure
from pipeline.analysis.tolerances import Within

from .common import boundary, epsilon_hat, exponents, users_times

RATED = 50 * 49 / (100 * 99)  # chance that both items of a pair are rated


@measure("exponent in N of the users over log N at the boundary")
def _in_items(results: xr.Dataset) -> Estimate:
    users = boundary(results, "margin", unit="users_over_log", at=dict(reading="agree", epsilon=1),
                     min_levels=dict(N=2))
    return exponents(users, N=users["N"])["in N"]


def _low_budgets(results: xr.Dataset) -> xr.Dataset:
    users = boundary(results, "margin", at=dict(N=100, reading="agree"), min_levels=dict(epsilon=3))
    return users.where(users["epsilon"] <= 1, drop=True)


@measure("exponent in ε of the users at the boundary")
def _in_epsilon(results: xr.Dataset) -> Estimate:
    users = _low_budgets(results)
    return exponents(users, epsilon=users["epsilon"])["in epsilon"]


@measure("exponent in ε̂ of the users over π at the boundary")
def _in_epsilon_hat(results: xr.Dataset) -> Estimate:
    users = _low_budgets(results)
    budget = epsilon_hat(users["epsilon"])
    ones = 0.5 - budget / 2 * (0.5 - RATED / 2)  # π: half of the pairs are alike
    return exponents(users.assign(value=users["value"] / ones), epsilon_hat=budget)["in epsilon_hat"]


CLAIMS = (
    Claim(
        id="banerjee.theorem_8",
        statement="Where half of the items are rated, Pairwise-Preference needs users like N log N.",
        source="Banerjee, Hegde and Massoulié, Theorem 8",
        experiment="banerjee/pairs",
        measure=_in_items,
        tolerance=Within(1, 0.1),
        why="Half of what separates N log N from N and from N log² N between N = 50 and 400, 0.2 either way.",
        conditions="N = 50 to 400, w = N/2, ε = 1, both items rated and alike (Appendix B).",
        control=NegativeControl("users times √N", users_times(lambda r: xr.ufuncs.sqrt(r["N"]))),
    ),
    Claim(
        id="banerjee.informal_2",
        statement="As printed: Pairwise-Preference needs users like 1/ε.",
        source="Banerjee, Hegde and Massoulié, Informal Theorem 2",
        experiment="banerjee/pairs",
        measure=_in_epsilon,
        tolerance=Within(-1, 0.25),
        why="From ε = 1 on tanh(ε/2) bends, and neither exponent, −1 nor −2, could be decided there.",
        conditions="ε = 0.25 to 1, N = 100, w = 50. Does not hold; Theorem 8 itself has no ε. "
                   "banerjee.informal_2.corrected has it.",
        control=NegativeControl("users times ε³", users_times(lambda r: r["epsilon"] ** 3)),
    ),
    Claim(
        id="banerjee.informal_2.corrected",
        statement="Corrected: Pairwise-Preference needs users like π/ε̂², ε̂ = 2 tanh(ε/2), π the share of ones "
                  "released.",
        source="as Theorem 15 of Banerjee, Hegde and Massoulié has it for MaxSense",
        experiment="banerjee/pairs",
        measure=_in_epsilon_hat,
        tolerance=Within(-2, 0.25),
        why="The mean of a released bit changes by tanh(ε/2) times the change of the sketch's, and the number of ones "
            "has variance π a user; π goes from 0.45 to 0.33 here, which alone is 0.3 in the exponent.",
        conditions="ε = 0.25 to 1, N = 100, w = 50.",
        control=NegativeControl("users times ε", users_times(lambda r: r["epsilon"])),
    ),
)
