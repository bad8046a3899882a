"""Claims of Banerjee, Hegde and Massoulié on rich and scarce information.

MaxSense against Pairwise-Preference.
"""

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, PositiveControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, Measure, labelled, measure, measure_every_cell
from pipeline.analysis.tolerances import AtLeast, AtMost, Within

from . import controls
from .common import (
    ESTIMATOR_OF,
    HARDLY_ANY_USERS,
    boundary,
    boundary_ratio,
    cells_over,
    exponents,
    users_times,
)

SCARCE = 0.4  # w/N up to which users are called information-scarce
RICH = 0.8
_SHARES = "N = 50 to 200, w/N = 0.1 to 1, ε = 1, two equal clusters, 0.9 and 0.1 liked."
_SCARCE = f"w/N up to {SCARCE:g}. {_SHARES}"


def _boundary_of(results: xr.Dataset, mechanism: str, shares: int = 1) -> xr.Dataset:
    return boundary(
        results,
        "margin",
        at=dict(mechanism=mechanism, estimator=ESTIMATOR_OF[mechanism]),
        min_levels=dict(N=1, share=shares),
    )


def _above(bound: str) -> Measure:
    """Boundaries of both algorithms over a lower bound on the users of all schemes."""

    @measure_every_cell("users at the boundary over that number, of both algorithms")
    def over(results: xr.Dataset) -> Cells:
        cells: dict[str, Estimate] = {}
        for mechanism in ("max_sense", "pairwise_preference"):
            users = _boundary_of(results, mechanism)
            axes = [axis for axis in results[bound].dims if axis not in users["value"].dims]
            cells |= cells_over(mechanism, users, results[bound].max(axes), error_share=0.5)
        return cells

    return over


def _in_share(mechanism: str) -> Measure:
    """Exponent of a mechanism's users in the share of items that a user rates, if it is small."""

    @measure("exponent in w/N of the users at the boundary, at fixed N")
    def exponent(results: xr.Dataset) -> Estimate:
        users = _boundary_of(results, mechanism, shares=2)
        users = users.where(users["share"] <= SCARCE, drop=True)
        return exponents(users, ("N",), share=users["share"])["in share"]

    return exponent


_UP_TO = f"up to w/N = {SCARCE:g}"
_FROM = f"from w/N = {RICH:g} on"


@measure_every_cell("users of Pairwise-Preference over users of MaxSense, at their boundaries")
def _pairs_over_maxsense(results: xr.Dataset) -> dict[str, Cells]:
    pairs = _boundary_of(results, "pairwise_preference")
    maxsense = _boundary_of(results, "max_sense")
    ratio = boundary_ratio(pairs, maxsense)
    return {
        _UP_TO: labelled(ratio.where(ratio["share"] <= SCARCE)),
        _FROM: labelled(ratio.where(ratio["share"] >= RICH)),
    }


CLAIMS = (
    Claim(
        id="banerjee.theorem_7",
        row="B7",
        statement="No ε-LDP scheme is reliable with fewer than (N/2 − 1)/(ε log₂ e) users.",
        source="Banerjee, Hegde and Massoulié, Theorem 7, with the ½ of Fano's inequality",
        experiment="banerjee/rich_scarce",
        simulated=controls.ABOVE_ALL,
        measure=_above("users_least"),
        tolerance=AtLeast(1),
        only_refutable=True,  # the better of the two algorithms needs 200 times as many users
        why="A lower bound on all schemes, of which two are simulated.",
        conditions=_SHARES,
        control=HARDLY_ANY_USERS,
    ),
    Claim(
        id="banerjee.theorem_13_14.users",
        statement="No ε-LDP scheme with questions fixed beforehand is reliable with "
        "fewer users than (N/2 − 1) over the most information that an answer from w "
        "ratings carries: Ω(N²/w) users where w is small.",
        source="Theorems 13 and 14 of Banerjee, Hegde and Massoulié, in the form that "
        "holds for all w and ε",
        experiment="banerjee/rich_scarce",
        simulated=controls.ABOVE_ALL,
        measure=_above("users_least_scarce"),
        tolerance=AtLeast(1),
        only_refutable=True,  # the better of the two algorithms needs 25 times as many users
        why="A lower bound on all schemes, of which two are simulated.",
        conditions=_SHARES,
        control=HARDLY_ANY_USERS,
    ),
    Claim(
        id="banerjee.rich_scarce.maxsense",
        statement="MaxSense needs users of order 1/w as ratings become scarce.",
        source="Banerjee, Hegde and Massoulié, Theorem 15",
        experiment="banerjee/rich_scarce",
        simulated=controls.MORE_NOISE_WITH_SCARCITY,
        measure=_in_share("max_sense"),
        tolerance=Within(-1, 0.2),
        why="Predicted: −0.96 between w/N = 0.1 and 0.4.",
        conditions=_SCARCE,
        control=NegativeControl("users times (w/N)^−½", users_times(lambda r: r["share"] ** -0.5)),
    ),
    Claim(
        id="banerjee.section_5.pairs",
        row="B4",
        statement="As printed: Pairwise-Preference needs users of order (N/w)² as "
        "ratings become scarce.",
        source="Banerjee, Hegde and Massoulié, §5",
        experiment="banerjee/rich_scarce",
        simulated=controls.NEAR_BOUNDARY,
        measure=_in_share("pairwise_preference"),
        tolerance=Within(-2, 0.4),
        why="The sketch is 1 with a chance of order (w/N)², and so is the difference of "
        "its means; but the released bit has the noise of a fair coin, so that the "
        "square of the difference counts.",
        conditions=_SCARCE
        + " Does not hold; banerjee.section_5.pairs.corrected has the right power.",
        control=NegativeControl("users times w/N", users_times(lambda r: r["share"])),
        positive=PositiveControl("users times (w/N)²", users_times(lambda r: r["share"] ** 2)),
    ),
    Claim(
        id="banerjee.section_5.pairs.corrected",
        statement="Corrected: Pairwise-Preference needs users of order (N/w)⁴ as ratings "
        "become scarce.",
        source="against §5 of Banerjee, Hegde and Massoulié: order N log N/(t²ρ²), ρ = "
        "w(w−1)/(N(N−1))",
        experiment="banerjee/rich_scarce",
        simulated=controls.MORE_NOISE_WITH_SCARCITY,
        measure=_in_share("pairwise_preference"),
        tolerance=Within(-4, 0.4),
        why="Predicted: −4.0 to −4.2 between w/N = 0.1 and 0.4.",
        conditions=_SCARCE,
        control=NegativeControl("users times w/N", users_times(lambda r: r["share"])),
    ),
    Claim(
        id="banerjee.rich_scarce.change",
        headline=True,
        statement="MaxSense needs fewer users where at most 40 % of the items are rated, "
        "Pairwise-Preference where at least 80 % are.",
        source="finding; Banerjee, Hegde and Massoulié leave open where their two regimes meet",
        experiment="banerjee/rich_scarce",
        simulated=controls.UNLIKE_BUDGETS,
        measure=_pairs_over_maxsense,
        tolerance={_UP_TO: AtLeast(1), _FROM: AtMost(1)},
        why="Predicted to change at w/N = 0.6, at N = 50 to 400.",
        conditions=_SHARES + " At other b and ε the change is elsewhere.",
        control=NegativeControl(
            "100 times the users of MaxSense",
            users_times(lambda r: 1 + 99 * (r["mechanism"] == "max_sense")),
        ),
    ),
)
