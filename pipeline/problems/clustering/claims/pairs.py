"""Claims of Banerjee, Hegde and Massoulié on the users that Pairwise-Preference needs."""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, PositiveControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, Measure, labelled, measure, measure_every_cell
from pipeline.analysis.tolerances import Within

from . import controls
from .common import boundary, boundary_over, epsilon_hat, exponents, users_times

RATED = 50 * 49 / (100 * 99)  # chance that both items of a pair are rated


def _in_items(**at: float | str) -> Measure:
    """Exponent of the users over log N in the number of items, at these levels."""

    @measure("exponent in N of the users over log N at the boundary")
    def exponent(results: xr.Dataset) -> Estimate:
        users = boundary(results, "margin", unit="users_over_log", at=at, min_levels=dict(N=2))
        return exponents(users, N=users["N"])["in N"]

    return exponent


def _over_predicted(*axes: str) -> Measure:
    """Boundaries over the predicted ones in all cells."""

    @measure_every_cell("users at the boundary over those predicted")
    def over(results: xr.Dataset) -> Cells:
        levels = dict.fromkeys(axes, 1)
        users = boundary(results, "margin", unit="over_predicted", min_levels=levels)
        return labelled(boundary_over(users))

    return over


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
    pi = 0.5 - budget / 2 * (0.5 - RATED / 2)  # half of the pairs are alike
    users = users.assign(value=users["value"] / pi)
    return exponents(users, epsilon_hat=budget)["in epsilon_hat"]


_HALF = (
    "Half of what separates N log N from N and from N log² N between N = 50 and 400, 0.2 "
    "either way."
)
_PLACE = (
    "The prediction takes the noise of all entries as alike, and is of first "
    "order in it. With each cluster's own variance, and the eigenvectors of "
    "simulated Gaussian matrices, the boundary is at {} of it. Levels of U are a "
    "factor of 1.4 apart, so that 99 % intervals of all cells together reach a "
    "quarter further."
)
_MORE_USERS = NegativeControl("users times √N", users_times(lambda r: xr.ufuncs.sqrt(r["N"])))
_TWICE = NegativeControl("twice the users", users_times(lambda r: 2))

CLAIMS = (
    Claim(
        id="banerjee.theorem_8",
        headline=True,
        statement="Where half of the items are rated, Pairwise-Preference needs users of "
        "order N log N.",
        source="Banerjee, Hegde and Massoulié, Theorem 8",
        experiment="banerjee/pairs",
        simulated=controls.MORE_NOISE_WITH_ITEMS,
        measure=_in_items(reading="agree", epsilon=1),
        tolerance=Within(1, 0.1),
        why=_HALF,
        conditions="N = 50 to 400, w = N/2, ε = 1, both items rated and alike (Appendix B).",
        control=_MORE_USERS,
    ),
    Claim(
        id="banerjee.theorem_8.public",
        statement="Where rated sets are public, Pairwise-Preference needs users of order "
        "N log N with five ratings each.",
        source="Banerjee, Hegde and Massoulié, §3, the second of its two conditions, and "
        "the proof of Theorem 8",
        experiment="banerjee/public",
        simulated=controls.MORE_NOISE_WITH_ITEMS,
        measure=_in_items(),
        tolerance=Within(1, 0.1),
        why=_HALF,
        conditions="N = 50 to 400, w = 5, ε = 1 for the ratings; which items are rated "
        "is not protected.",
        control=_MORE_USERS,
    ),
    Claim(
        id="banerjee.theorem_8.place",
        statement="All three readings of the sketch at ε = 1, and Appendix B's at other "
        "budgets, have their boundary where Gaussian points with exact means put it.",
        source="exact means of sketches and the central limit theorem; the paper has the "
        "order only",
        experiment="banerjee/pairs",
        simulated=controls.MORE_NOISE_OF_FEW,
        measure=_over_predicted("N", "epsilon", "reading"),
        tolerance=Within(1.12, 0.36),
        why=_PLACE.format("0.96 to 1.18"),
        conditions="Appendix B's sketch, N = 50 to 400, w = N/2, ε = 0.25 to 2 at N = "
        "100; and those of §3.2 and of Figure 1, N = 50 to 200.",
        control=_TWICE,
    ),
    Claim(
        id="banerjee.shapes.place",
        statement="So have MaxSense and Pairwise-Preference with other shares of "
        "clusters, three and four clusters, two classes of users, and MaxSense with "
        "other θ.",
        source="exact means of sketches and the central limit theorem; the paper has the "
        "order only",
        experiment="banerjee/shapes",
        simulated=controls.MORE_NOISE,
        measure=_over_predicted(
            "N", "theta", "alpha", "beta", "b", "share", "mechanism", "estimator"
        ),
        tolerance=Within(1.05, 0.3),
        why=_PLACE.format("1.00 to 1.10") + " That was computed for up to three clusters.",
        conditions="β = (0.8, 0.2), (0.4, 0.3, 0.3) and (0.3, 0.3, 0.2, 0.2), α = (0.7, "
        "0.3) and (½, ½), θ = ½ and 2; N = 50 to 200, ε = 1, w = N/5 for MaxSense (5 with four "
        "clusters and N ≥ 100) and N/2 for pairs.",
        control=_TWICE,
    ),
    Claim(
        id="banerjee.informal_2",
        row="B3",
        statement="As printed: Pairwise-Preference needs users of order 1/ε.",
        source="Banerjee, Hegde and Massoulié, Informal Theorem 2",
        experiment="banerjee/pairs",
        simulated=controls.NEAR_BOUNDARY,
        measure=_in_epsilon,
        tolerance=Within(-1, 0.25),
        why="From ε = 1 on tanh(ε/2) bends, and neither exponent, −1 nor −2, could be "
        "decided there.",
        conditions="ε = 0.25 to 1, N = 100, w = 50. Does not hold; Theorem 8 itself has no ε. "
        "banerjee.informal_2.corrected has it.",
        control=NegativeControl("users times ε³", users_times(lambda r: r["epsilon"] ** 3)),
        positive=PositiveControl("users times ε^1.15", users_times(lambda r: r["epsilon"] ** 1.15)),
    ),
    Claim(
        id="banerjee.informal_2.corrected",
        statement="Corrected: Pairwise-Preference needs users of order π/ε̂², ε̂ = 2 "
        "tanh(ε/2), π the share of ones released.",
        source="as Theorem 15 of Banerjee, Hegde and Massoulié has it for MaxSense",
        experiment="banerjee/pairs",
        simulated=controls.MORE_NOISE_WITH_BUDGET,
        measure=_in_epsilon_hat,
        tolerance=Within(-2, 0.25),
        why="The mean of a released bit changes by tanh(ε/2) times the change of the "
        "sketch's, and the number of ones has variance π a user; π goes from 0.45 to "
        "0.33 here, which alone is 0.3 in the exponent.",
        conditions="ε = 0.25 to 1, N = 100, w = 50.",
        control=NegativeControl("users times ε", users_times(lambda r: r["epsilon"])),
    ),
)
