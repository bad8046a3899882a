"""Claims of Banerjee, Hegde and Massoulié on single ratings, with adaptive questions or not."""

from collections.abc import Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    Measured,
    labelled,
    mean_cells,
    mean_over_cells,
    measure,
    measure_every_cell,
)
from pipeline.analysis.selection import select
from pipeline.analysis.tolerances import AtLeast, Within

from ..theory import sample_sizes as blocks
from . import controls
from .common import (
    ESTIMATOR_OF,
    HARDLY_ANY_USERS,
    boundary,
    boundary_over,
    cells_over,
    exponents,
    users_times,
)

_CASE = "w = 1, N = 20 to 320, ratings are labels."
_OVER_BOUND = "over the bound"
_OVER_ORDER = "over N log N"
_POWER = "exponent in N"
_MEAN = "mean over N"
_BITS = "bits a user, in every cell (simultaneous intervals)"


def _boundary_of(results: xr.Dataset, mechanism: str, unit: str = "U") -> xr.Dataset:
    return boundary(
        results,
        "margin",
        unit=unit,
        min_levels=dict(N=3),
        at=dict(mechanism=mechanism, estimator=ESTIMATOR_OF[mechanism]),
    )


def _in_items(mechanism: str) -> Measure:
    """Exponent of a mechanism's users in the number of items."""

    @measure("exponent in N of the users over log N at the boundary")
    def exponent(results: xr.Dataset) -> Estimate:
        users = _boundary_of(results, mechanism, "users_over_log")
        return exponents(users, N=users["N"])["in N"]

    return exponent


@measure(
    "exponent in N of the users over log² N at the boundary, and log₂ N times the share "
    "of users who tell"
)
def _average_bit(results: xr.Dataset) -> Mapping[str, Measured]:
    users = _boundary_of(results, "average_one_bit", "users_over_log")
    users = users.assign(value=users["value"] / xr.ufuncs.log(users["N"]))
    data = select(
        results,
        "ratings_seen",
        min_levels=dict(N=3, margin=3),
        at=dict(mechanism="average_one_bit", estimator=ESTIMATOR_OF["average_one_bit"]),
    )
    bits = data["ratings_seen"] * xr.ufuncs.log2(data["N"])
    data["ratings_seen"] = bits.transpose(*data["ratings_seen"].dims)
    return {
        _POWER: exponents(users, error_share=0.5, N=users["N"])["in N"],
        _BITS: mean_cells(data, "ratings_seen", error_share=0.5),
    }


@measure_every_cell("users at the boundary over 2N²")
def _one_by_one(results: xr.Dataset) -> Cells:
    users = _boundary_of(results, "adaptive")
    return labelled(boundary_over(users, 2 * users["N"] ** 2))


@measure_every_cell("users at the boundary of both private mechanisms")
def _private(results: xr.Dataset) -> Mapping[str, Cells]:
    over_bound: dict[str, Estimate] = {}
    over_order: dict[str, Estimate] = {}
    for mechanism in ("max_sense", "adaptive_one_bit"):
        users = _boundary_of(results, mechanism)
        bound: xr.DataArray = xr.apply_ufunc(blocks.users_adaptive, users["N"], 1.0)
        order = users["N"] * xr.ufuncs.log(users["N"])
        over_bound |= cells_over(mechanism, users, bound, error_share=1 / 4)
        over_order |= cells_over(mechanism, users, order, error_share=1 / 4)
    return {_OVER_BOUND: over_bound, _OVER_ORDER: over_order}


@measure("users at the boundary over those of the same questions fixed beforehand")
def _over_fixed(results: xr.Dataset) -> Mapping[str, Estimate]:
    users = _boundary_of(results, "adaptive_one_bit")
    fixed: xr.DataArray = xr.apply_ufunc(blocks.users_fixed_questions, users["N"], 1.0)
    over = users.assign(value=users["value"] / fixed)
    error = over["value"] * over["standard_error"]
    return {
        _POWER: exponents(over, error_share=0.5, N=users["N"])["in N"],
        _MEAN: mean_over_cells(over["value"], error, error_share=0.5),
    }


CLAIMS = (
    Claim(
        id="banerjee.theorem_17",
        row="B16",
        statement="No private scheme with w = 1, adaptive or not, learns the clusters "
        "with o(N log N) users.",
        source="Banerjee, Hegde and Massoulié, Theorem 17, with the constant of its "
        "proof, completed",
        experiment="banerjee/adaptive",
        simulated=controls.ABOVE_ALL,
        measure=_private,
        tolerance={_OVER_BOUND: AtLeast(1), _OVER_ORDER: AtLeast(1)},
        only_refutable=True,  # the better scheme needs 100 times N log N users or more
        why="A lower bound on all schemes, of which two are simulated: MaxSense, and one "
        "whose questions depend on earlier private answers.",
        conditions=_CASE
        + " ε = 1, where the bound is 177 users at N = 320; with the constant as printed "
        "15, less than Theorem 7 until N = 1.7·10^18. The ratio is the smallest "
        "exaggeration of the bound that these data refute.",
        control=HARDLY_ANY_USERS,
    ),
    Claim(
        id="banerjee.theorem_17.open",
        statement="Private users who are only asked about items that are still open are "
        "needed in numbers of order N² log N, as with fixed questions: what adaptivity "
        "saves there is at most the noise of bits that are half 0, half 1, beyond that "
        "of bits that are 0.",
        source="finding; Banerjee, Hegde and Massoulié leave open whether adaptive "
        "answers reach Theorem 17's N log N",
        experiment="banerjee/adaptive",
        simulated=controls.FEWER_USERS,
        measure=_over_fixed,
        tolerance={_POWER: Within(0, 0.15), _MEAN: AtLeast(0.786)},
        why="An open item gains no more from a user than one among N open ones, but for "
        "the noise of her released bit: its variance falls from ¼ to ¼/cosh²(ε/2), 0.786 "
        "times that. A scheme with N log N users would have the exponent −1.",
        conditions=_CASE + " ε = 1; ten rounds.",
        control=NegativeControl("users over √N", users_times(lambda r: r["N"] ** -0.5)),
    ),
    Claim(
        id="banerjee.theorem_10.adaptive",
        statement="Asking for one item's rating after the other, yes or no, needs 2N² users.",
        source="Banerjee, Hegde and Massoulié, §4.2, after Theorem 10",
        experiment="banerjee/adaptive",
        simulated=controls.TWO_ANSWERS,
        measure=_one_by_one,
        tolerance=Within(1, 0.25),
        why="The users up to the last of N answers have mean 2N² and standard deviation "
        "2N^1.5. The last answers may be guessed, so that half of the replications are "
        "right at 1 − 4/(3N) times the mean, 0.93 at N = 20; an interval reaches a tenth "
        "further.",
        conditions=_CASE,
        control=NegativeControl("half of the users", users_times(lambda r: 0.5)),
    ),
    Claim(
        id="banerjee.theorem_10.fixed",
        statement="One bit a user, asked without knowing earlier answers, needs users of "
        "order N² log N.",
        source="Banerjee, Hegde and Massoulié, Theorem 10: at least N² are needed",
        experiment="banerjee/adaptive",
        simulated=controls.FEWER_USERS,
        measure=_in_items("one_bit"),
        tolerance=Within(2, 0.15),
        why="Scores of the question of the largest information. The slope cannot decide "
        "whether the logarithm is needed; the bound is without it.",
        conditions=_CASE,
        control=NegativeControl("users over √N", users_times(lambda r: r["N"] ** -0.5)),
    ),
    Claim(
        id="banerjee.average_bit",
        statement="One bit a user on average, without privacy, needs only users of order N log² N.",
        source="Banerjee, Hegde and Massoulié, §1.1, against exactly one bit in Theorem 10",
        experiment="banerjee/adaptive",
        simulated=controls.FEWER_USERS,
        measure=_average_bit,
        tolerance={_POWER: Within(1, 0.15), _BITS: Within(1, 0.1)},
        why="Against the exponent 2 of one-bit answers. One user in log₂ N tells her "
        "rating: coupons, log₂ N times.",
        conditions=_CASE + " A bit is what it takes to name one of N items, told by so many.",
        control=NegativeControl("users times √N", users_times(lambda r: xr.ufuncs.sqrt(r["N"]))),
    ),
    Claim(
        id="banerjee.coupons",
        statement="Without privacy and with whole ratings, users of order N log N are enough.",
        source="Banerjee, Hegde and Massoulié, §1.1, coupon collector",
        experiment="banerjee/adaptive",
        simulated=controls.FEWER_USERS,
        measure=_in_items("none"),
        tolerance=Within(1, 0.15),
        why="Against the exponent 2 of one-bit answers.",
        conditions=_CASE,
        control=NegativeControl("users times √N", users_times(lambda r: xr.ufuncs.sqrt(r["N"]))),
    ),
)
