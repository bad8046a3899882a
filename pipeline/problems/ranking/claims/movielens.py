"""Claims on films: Figure 7 of Xu, Sun and Cheng, the error of privacy, the share of coin flips."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import xarray as xr

from pipeline.analysis.claims import (
    Claim,
    NegativeControl,
    NotSimulated,
    PositiveControl,
    SimulatedControl,
)
from pipeline.analysis.controls import exchanged, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    confidence_for,
    difference,
    exact_cells,
    exponent,
    mean_over_cells,
    measure,
)
from pipeline.analysis.rates import fit_rate
from pipeline.analysis.selection import RecordedData, select
from pipeline.analysis.tolerances import AtLeast, AtMost
from pipeline.problems.common.rating_files import MOVIELENS

from .common import DIRECTION, NORMS, SCHEMES, one_budget, trend
from .controls import FADING, FADING_SUPPORTS, FOLLOWERS, INDEPENDENT, NO_PRIVACY, SWAPPED

_ERRORS = {
    **NORMS,
    "kendall": ("kendall", "Kendall distance"),
    "top_k": ("hamming_top_k", "top-10 error H₁₀"),
}
_RECORDED = RecordedData(dict.fromkeys(MOVIELENS, "MovieLens"), "data.path=ratings.csv")
_SLOPE = "exponent in L with ε ∝ log(mL)/√(mL)"
_APART = "scheme log less scheme inverse_log at the largest L, on the same users"
_RATED = "two unequal ratings"
_COINS = "a coin"
_PRIVATE = dict(mechanism="randomized_response")


def _films(
    results: xr.Dataset,
    *variables: str,
    comparisons: str = "users",
    at: Mapping[str, str],
    min_levels: Mapping[str, int],
) -> xr.Dataset:
    """`select` at the rules of the paper, for users' own comparisons or for independent ones."""
    return select(
        one_budget(results),
        *variables,
        at=dict(rule="paper", comparisons=comparisons) | dict(at),
        min_levels=min_levels,
    )


def _falls(metric: str, name: str) -> Measure:
    @measure(f"mean {name}")
    def slope_and_difference(results: xr.Dataset) -> Mapping[str, Estimate]:
        data = _films(results, metric, at=_PRIVATE, min_levels=dict(scheme=3, L=3))
        last = difference(data.isel(L=[-1]), metric, "scheme", "log", "inverse_log")
        return {
            _SLOPE: exponent(data.sel(scheme="log"), metric, (), error_share=0.5, L=data["L"]),
            _APART: mean_over_cells(last["mean"], last["mcse"], error_share=0.5),
        }

    return slope_and_difference


def _in_users(metric: str, name: str, comparisons: str) -> Measure:
    @measure(f"exponent of the mean {name} in L")
    def in_users(results: xr.Dataset) -> Estimate:
        data = _films(
            results,
            metric,
            comparisons=comparisons,
            at=_PRIVATE | dict(scheme="inverse_log"),
            min_levels=dict(L=3),
        )
        return exponent(data, metric, (), L=data["L"])

    return in_users


def _added(scheme: str) -> Measure:
    """Exponent of the squared error that privacy adds.

    For other schemes than the critical, of its ratio to that under the
    critical scheme.
    """

    estimand = (
        "exponent in L of mean ‖θ̂ − θ*‖₂²/m with randomized response less the same without, on "
        "the same users "
        "and coins"
    )
    if scheme != "critical":
        estimand += "; over that under the critical scheme"

    @measure(estimand)
    def in_users(results: xr.Dataset) -> Estimate:
        data = _films(results, "error_l2", at={}, min_levels=dict(scheme=3, mechanism=2, L=3))
        data["square"] = (data["error_l2"] ** 2).assign_attrs(units="logits²")
        added = difference(data, "square", "mechanism", "randomized_response", "none")
        mean = added["mean"].sel(scheme=scheme)
        mcse = added["mcse"].sel(scheme=scheme)
        if scheme != "critical":
            base = added.sel(scheme="critical")
            mcse = xr.ufuncs.hypot(mcse / mean, base["mcse"] / base["mean"]) * mean / base["mean"]
            mean = mean / base["mean"]
        return fit_rate(mean, mcse, confidence=confidence_for(), L=added["L"]).exponents["L"]

    return in_users


@measure("share of the comparisons of all users that is decided by")
def _deciders(results: xr.Dataset) -> Mapping[str, Cells]:
    shares = {_RATED: "share_two_ratings", _COINS: "share_coin_flips"}
    data = _films(
        results, *shares.values(), at=_PRIVATE | dict(scheme="critical"), min_levels=dict(L=1)
    )
    return {part: exact_cells(data[name]) for part, name in shares.items()}


_OURS = (
    "Rule paper, L = 100 to 600 of the 610 users without replacement, ε = 1 at L = 100: the paper "
    "leaves the L "
    "and the way of drawing open."
)
_FIGURE_7 = "Xu, Sun and Cheng, MovieLens, Figure 7 (schemes by formula: the text swaps 1 and 3)"
_EXCHANGED = NegativeControl(
    "schemes log and inverse_log under each other's name", exchanged("scheme", "log", "inverse_log")
)


_FALLING_WORLDS = {"top_k": FADING_SUPPORTS}  # where another world than independent comparisons


class _Added(NamedTuple):
    """What differs between schemes in the claims on the error that privacy adds.

    relative: to what. power, written: of L/100 in the negative control.
    margin: of the tolerance.
    """

    relative: str
    power: float
    written: str
    margin: float
    world: SimulatedControl


_RELATIVE = ", relative to ε ∝ 1/√(mL),"
_ADDED = {
    "log": _Added(_RELATIVE, 0.5, "1/2", 0.05, SWAPPED),
    "critical": _Added("", 0.5, "1/2", 0.15, FOLLOWERS),
    "inverse_log": _Added(_RELATIVE, -0.5, "−1/2", 0.05, SWAPPED),
}


def _log_claim(error: str) -> Claim:
    metric, name = _ERRORS[error]
    return Claim(
        id=f"xu.figure_7.log.{error}",
        statement=f"With ε ∝ log(mL)/√(mL) the {name} of the films' ranking falls as users are "
        "added, and ends below "
        "that with ε ∝ 1/(√(mL) log(mL)).",
        source=_FIGURE_7,
        experiment="xu/movielens",
        measure=_falls(metric, name),
        tolerance={_SLOPE: AtMost(-0.05), _APART: AtMost(0)},
        simulated=FADING,
        why="A tenth of −½. The error falls under every scheme, so the difference between schemes "
        "is judged as well.",
        conditions=_OURS,
        control=_EXCHANGED,
        recorded=_RECORDED,
    )


def _inverse_log_claim(error: str) -> Claim:
    metric, name = _ERRORS[error]
    return Claim(
        id=f"xu.figure_7.inverse_log.{error}",
        row="X11",
        statement=f"With ε ∝ 1/(√(mL) log(mL)) the {name} of the films' ranking rises as users "
        "are added.",
        source=_FIGURE_7,
        experiment="xu/movielens",
        measure=_in_users(metric, name, "users"),
        tolerance=AtLeast(0),
        why=f"{DIRECTION} The factor log(mL) changes the exponent by 0.1 or so.",
        conditions=_OURS
        + " Users' own comparisons. These depend on each other, so that the part of the error that "
        "is not due to privacy is the larger one at L = 100, and is gone at L = 610: the error "
        "falls under every scheme. With independent comparisons it rises "
        "(xu.figure_7.independent).",
        control=_EXCHANGED,
        positive=PositiveControl(
            "errors multiplied by √(L/100)", scaled(metric, lambda r: (r["L"] / 100) ** 0.5)
        ),
        simulated=_FALLING_WORLDS.get(error, INDEPENDENT),
        recorded=_RECORDED,
    )


def _independent_claim(error: str) -> Claim:
    metric, name = _ERRORS[error]
    return Claim(
        id=f"xu.figure_7.independent.{error}",
        statement=f"With ε ∝ 1/(√(mL) log(mL)) the {name} rises as users are added, if films are "
        "compared "
        "independently, as in the model at θ*.",
        source=_FIGURE_7,
        experiment="xu/movielens",
        measure=_in_users(metric, name, "independent"),
        tolerance=AtLeast(0),
        why=f"{DIRECTION} The factor log(mL) changes the exponent by 0.1 or so.",
        conditions=_OURS
        + " Comparisons drawn independently from the model at θ*, not those of the users.",
        control=_EXCHANGED,
        simulated=NO_PRIVACY,
        recorded=_RECORDED,
    )


def _added_claim(scheme: str) -> Claim:
    order, verb = SCHEMES[scheme]
    of_scheme = _ADDED[scheme]

    def tilt(results: xr.Dataset) -> xr.Dataset:
        chosen = results["scheme"] == scheme
        return results.assign(
            error_l2=results["error_l2"] * (results["L"] / 100) ** (of_scheme.power * chosen)
        )

    return Claim(
        id=f"xu.figure_7.added.{scheme}",
        statement=f"With ε ∝ {order} the squared error that privacy adds to the films' "
        f"preferences {verb}{of_scheme.relative} as "
        "users are added.",
        source="Xu, Sun and Cheng, Table 1 and Figure 7; the separation is not in the paper",
        experiment="xu/movielens",
        measure=_added(scheme),
        tolerance=trend(scheme, of_scheme.margin),
        why="From L = 100 to 600 the factor log²(mL) changes the exponent by ±0.2 or more.",
        conditions=_OURS,
        control=NegativeControl(
            f"this scheme's errors multiplied by (L/100)^({of_scheme.written})", tilt
        ),
        simulated=of_scheme.world,
        recorded=_RECORDED,
    )


def _figure_7_claims() -> Iterator[Claim]:
    for error in _ERRORS:
        yield from (_log_claim(error), _inverse_log_claim(error), _independent_claim(error))


CLAIMS = (
    *_figure_7_claims(),
    *map(_added_claim, SCHEMES),
    Claim(
        id="xu.movielens.coins",
        statement="Of the comparisons that the paper's rules make of ratings, more than half are "
        "coin flips and few "
        "come from two unequal ratings.",
        source="Xu, Sun and Cheng, section 5.4: equal ratings and two missing ones are decided by "
        "a coin, a missing "
        "one loses",
        experiment="xu/movielens",
        measure=_deciders,
        tolerance={_RATED: AtMost(0.15), _COINS: AtLeast(0.5)},
        why="A count, not an estimate: MovieLens has 12.4 % and 54.4 %.",
        conditions="All users and the 40 films with most ratings, whatever L. The study is also "
        "run without the coins "
        "(rule decided) and on two ratings alone (rule rated).",
        control=NegativeControl(
            "the two shares under each other's name",
            lambda r: r.assign(
                share_two_ratings=r["share_coin_flips"], share_coin_flips=r["share_two_ratings"]
            ),
        ),
        simulated=NotSimulated("Nothing is random: it counts the ratings of the file."),
        recorded=_RECORDED,
    ),
)
