"""Claims of Xu, Sun and Cheng: what they say of Figures 2, 4, 5 and 6, on their own designs.

The figures have 50 or 100 replications a cell, so trends are judged over
all cells together.
"""

from collections.abc import Iterator, Mapping

import xarray as xr

from pipeline.analysis.claims import Claim, NegativeControl, PositiveControl
from pipeline.analysis.controls import exchanged, reversed_along, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    Measured,
    difference,
    exponent,
    mean_cells,
    mean_over_cells,
    measure,
    share,
    share_of_exceptions,
)
from pipeline.analysis.selection import select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost, NoException, Tolerance

from .common import (
    DEBIASED_FOR_PLUG_IN,
    DIRECTION,
    NORMS,
    RANKINGS,
    SCHEMES,
    exponent_in_users,
    one_budget,
    tilted,
    trend,
)
from .controls import (
    FAIR_COINS,
    FOLLOWERS,
    GUESSERS,
    LITTLE_NOISE,
    NO_FLIPS,
    NO_PRIVACY,
    RING,
    RING_FOR_DEBIASING,
)

FEW = 50  # replications in a cell of Scenario I
_ERRORS = {**NORMS, "kendall": RANKINGS["kendall"]}
_USERS = "in L at fixed m and ε"
_ITEMS = "in m at fixed L and ε"
_EXPONENT = "exponent in L at fixed m"
_DISTANCE = "mean distance in every cell (simultaneous intervals)"
_OTHER_SCHEME = {"log": "inverse_log", "critical": "log", "inverse_log": "log"}
_WORLDS = {"log": FAIR_COINS, "critical": GUESSERS, "inverse_log": NO_PRIVACY}
_SMALLER = "share of replications with a smaller distance"
_MEAN_LESS = "mean difference over all cells"
_OWN = {"mechanism": "randomized_response", "estimator": "debiased"}
_CLASSIC = {"mechanism": "randomized_response", "estimator": "plug_in"}
_LEAST_FALL_IN_ITEMS = {"l2": -0.4, "inf": -0.2}
_OTHER_AXIS = {"mechanism": "estimator", "estimator": "mechanism"}
_BESIDES = {"l2": ".", "inf": "; the largest of m errors grows like √log m besides."}
_RIVALS = {
    "mechanism": ("laplace", "Laplace noise"),
    "estimator": ("plug_in", "classic randomized response"),
}


def _figure_2(metric: str, symbol: str) -> Measure:
    @measure(f"exponents of the mean {symbol}")
    def exponents(results: xr.Dataset) -> Mapping[str, Estimate]:
        data = select(one_budget(results), metric, min_levels=dict(L=2, m=2, epsilon=1), least=FEW)
        return {
            _USERS: exponent(data, metric, ("m", "epsilon"), error_share=0.5, L=data["L"]),
            _ITEMS: exponent(data, metric, ("L", "epsilon"), error_share=0.5, m=data["m"]),
        }

    return exponents


def _figure_4(metric: str, name: str) -> Measure:
    @measure(
        f"change of the mean {name}, averaged over all other cells, from the smallest to the "
        "largest level "
        "of L, of m and of Δ (simultaneous intervals)"
    )
    def changes(results: xr.Dataset) -> Cells:
        cells = summarise(
            select(one_budget(results), metric, min_levels=dict(L=3, m=3, spacing=2), least=FEW)
        )
        ends = {axis: cells[axis].values[[0, -1]].tolist() for axis in ("L", "m", "spacing")}
        estimates = {}
        for axis, (first, last) in ends.items():
            before = cells.sel({axis: first})
            after = cells.sel({axis: last})
            change = (after[metric] - before[metric]).reset_coords(drop=True)
            error = xr.ufuncs.hypot(after[f"{metric}_mcse"], before[f"{metric}_mcse"])
            estimate = mean_over_cells(
                change, error.reset_coords(drop=True), error_share=1 / len(ends)
            )
            estimates[f"{axis} from {first:g} to {last:g}"] = estimate
        return estimates

    return changes


def _trend_in_users(scheme: str) -> Measure:
    """Exponent of the Kendall distance in L under one scheme.

    Under the critical one also the distance itself.
    """
    levels = dict(scheme=scheme)
    if scheme != "critical":
        return exponent_in_users(
            "exponent of the mean Kendall distance in L, common to all m", "kendall", levels, FEW
        )

    @measure("mean Kendall distance, and its exponent in L, common to all m")
    def flat_and_small(results: xr.Dataset) -> Mapping[str, Measured]:
        data = select(
            one_budget(results), "kendall", at=levels, min_levels=dict(m=1, L=3), least=FEW
        )
        return {
            _EXPONENT: exponent(data, "kendall", ("m",), error_share=0.9, L=data["L"]),
            _DISTANCE: mean_cells(data, "kendall", error_share=0.1),
        }

    return flat_and_small


@measure("mean Kendall distance in the cell with the largest L, m and Δ")
def _last_cell(results: xr.Dataset) -> Estimate:
    data = select(one_budget(results), "kendall", min_levels=dict(L=1, m=1, spacing=1), least=FEW)
    cells = summarise(data).isel(L=[-1], m=[-1], spacing=[-1])
    return mean_over_cells(cells["kendall"], cells["kendall_mcse"])


def _less_rival(error: str, axis: str) -> Measure:
    """Error with debiased randomized response less that with the rival mechanism or estimator."""
    metric, name = _ERRORS[error]
    rival, described = _RIVALS[axis]
    other = _OTHER_AXIS[axis]

    @measure(
        f"mean {name} over all cells, debiased randomized response less {described}, on the same "
        "raw comparisons"
    )
    def apart(results: xr.Dataset) -> Estimate:
        data = select(
            one_budget(results),
            metric,
            at={other: _OWN[other]},
            min_levels={"L": 2, "m": 1, axis: 2},
        )
        cells = difference(data, metric, axis, _OWN[axis], rival)
        return mean_over_cells(cells["mean"], cells["mcse"])

    return apart


@measure("debiased against classic randomized response, on the same release")
def _better_ranking(results: xr.Dataset) -> Mapping[str, Estimate]:
    data = select(
        one_budget(results),
        "kendall",
        at=dict(mechanism="randomized_response"),
        min_levels=dict(estimator=2, L=2, m=1),
    )
    distances = data["kendall"].where(data["status"] > 0)
    debiased = distances.sel(estimator="debiased")
    classic = distances.sel(estimator="plug_in")
    smaller = (debiased < classic - 1e-9).where(debiased.notnull() & classic.notnull())
    cells = difference(data, "kendall", "estimator", "debiased", "plug_in")
    return {
        _SMALLER: share(smaller),
        _MEAN_LESS: mean_over_cells(cells["mean"], cells["mcse"], error_share=0.5),
    }


@measure("share of replications whose Kendall distances differ, on the same release")
def _unlike_rankings(results: xr.Dataset) -> Estimate:
    data = select(
        one_budget(results),
        "kendall",
        at=dict(mechanism="randomized_response"),
        min_levels=dict(estimator=2, L=2, m=1),
    )
    cells = data["kendall"]
    apart = abs(cells.sel(estimator="debiased") - cells.sel(estimator="plug_in"))
    return share_of_exceptions(apart > 1e-9, (data["status"] > 0).all("estimator"))


def _figure_2_claim(norm: str) -> Claim:
    metric, symbol = NORMS[norm]
    return Claim(
        id=f"xu.figure_2.{norm}",
        statement=f"At a fixed budget the error {symbol} falls as users are added and as items "
        "are added.",
        source="Xu, Sun and Cheng, Scenario I, Figure 2",
        experiment="xu/scenario_1",
        measure=_figure_2(metric, symbol),
        tolerance={_USERS: AtMost(-0.4), _ITEMS: AtMost(_LEAST_FALL_IN_ITEMS[norm])},
        why=f"Theorem 2 has −½ for both, up to a logarithm{_BESIDES[norm]}",
        conditions="All cells of the paper's grid, 50 replications each: the cells together "
        "decide.",
        control=NegativeControl("errors multiplied by (mL)^(1/3)", tilted(metric, 1 / 3)),
        simulated=FOLLOWERS,
    )


def _figure_4_claim(ranking: str) -> Claim:
    metric, name = RANKINGS[ranking]
    return Claim(
        id=f"xu.figure_4.{ranking}",
        statement=f"The {name} falls from the smallest to the largest L, m or gap Δ between "
        "neighbours, on average.",
        source="Xu, Sun and Cheng, Scenario III, Figure 4",
        experiment="xu/scenario_3",
        measure=_figure_4(metric, name),
        tolerance=AtMost(0),
        why=DIRECTION,
        conditions="θ* evenly spaced, ε = 1, K = m/2, 100 replications a cell. The axis spacing "
        "is Δ.",
        control=NegativeControl("errors in the opposite order of L", reversed_along(metric, "L")),
        simulated=GUESSERS,
    )


def _figure_5_claim(scheme: str) -> Claim:
    order, verb = SCHEMES[scheme]
    other = _OTHER_SCHEME[scheme]
    tolerance: Tolerance | dict[str, Tolerance] = trend(scheme, 0.05)
    if scheme == "critical":
        tolerance = {_EXPONENT: trend(scheme, 0.05), _DISTANCE: AtMost(1 / 3)}
    return Claim(
        id=f"xu.figure_5.{scheme}",
        statement=f"With a budget ε ∝ {order} the Kendall distance {verb} as users are added.",
        source="Xu, Sun and Cheng, Scenario IV, Figure 5 (schemes by formula: the text swaps 1 "
        "and 3)",
        experiment="xu/scenario_4",
        measure=_trend_in_users(scheme),
        tolerance=tolerance,
        why="From L = 50 to 400 the factor log(mL) alone changes the exponent by ±0.1 or more. "
        "Stable at ½ would be "
        "coins.",
        conditions="θ* evenly spaced with Δ = 0.1, which the paper leaves open, as it does the "
        "replications; ε = 1 at "
        "L = 50 for every m.",
        control=NegativeControl(
            f"scheme {other} in place of {scheme}", exchanged("scheme", other, scheme)
        ),
        simulated=_WORLDS[scheme],
    )


_FIGURE_6 = "Xu, Sun and Cheng, Scenario V, Figure 6"
_EXCHANGED_ESTIMATORS = NegativeControl(
    "the two estimators under each other's name", exchanged("estimator", "debiased", "plug_in")
)


def _laplace_claim(error: str) -> Claim:
    _, name = _ERRORS[error]
    return Claim(
        id=f"xu.figure_6.laplace.{error}",
        statement=f"At the same ε the {name} is smaller with debiased randomized response than "
        "with Laplace noise, on "
        "average over cells.",
        source=_FIGURE_6,
        experiment="xu/scenario_5",
        measure=_less_rival(error, "mechanism"),
        tolerance=AtMost(0),
        why=f"{DIRECTION} Laplace noise at ε = 2 is as precise as randomized response at ε = 1.32 "
        "(equal variance of "
        "a debiased comparison, 2 arsinh(ε/√8)).",
        conditions="ε = 2. Both use λ = G/L with their own G, the variance of a debiased "
        "comparison of equal items "
        "in units of ¼.",
        control=NegativeControl(
            "the two mechanisms under each other's name",
            exchanged("mechanism", "laplace", "randomized_response"),
        ),
        simulated=LITTLE_NOISE,
    )


def _classic_claim(norm: str) -> Claim:
    _, symbol = NORMS[norm]
    return Claim(
        id=f"xu.figure_6.classic.{norm}",
        statement=f"The error {symbol} is smaller with debiased than with classic randomized "
        "response, on average.",
        source=_FIGURE_6,
        experiment="xu/scenario_5",
        measure=_less_rival(norm, "estimator"),
        tolerance=AtMost(0),
        why=DIRECTION,
        conditions="ε = 2, where the released lean is 0.76 of the true one.",
        control=_EXCHANGED_ESTIMATORS,
        simulated=NO_FLIPS,
    )


def _inconsistent_claim(norm: str) -> Claim:
    metric, symbol = NORMS[norm]
    return Claim(
        id=f"xu.figure_6.inconsistent.{norm}",
        statement=f"With classic randomized response the error {symbol} does not vanish as users "
        "are added.",
        source=_FIGURE_6,
        experiment="xu/scenario_5",
        measure=exponent_in_users(
            "exponent of the plug-in's mean error in L at fixed m", metric, _CLASSIC
        ),
        tolerance=AtLeast(-0.25),
        why="Half of the exponent −½ of consistent estimators; a floor bends the curve further as "
        "L grows.",
        conditions="ε = 2, L from 50 to 400. For the floor itself see xu.plug_in.",
        control=DEBIASED_FOR_PLUG_IN,
        simulated=NO_FLIPS,
    )


def _claims_of_norms() -> Iterator[Claim]:
    for norm in NORMS:
        yield _laplace_claim(norm)
        yield _classic_claim(norm)
        yield _inconsistent_claim(norm)


CLAIMS = (
    *map(_figure_2_claim, NORMS),
    *map(_figure_4_claim, RANKINGS),
    Claim(
        id="xu.figure_4.almost_zero",
        statement="At L = 400, m = 30, Δ = 0.2 the full ranking error is almost zero.",
        source="Xu, Sun and Cheng, Scenario III, Figure 4",
        experiment="xu/scenario_3",
        measure=_last_cell,
        tolerance=AtMost(0.004),
        why="0.004 is less than 2 of 435 pairs; guessing has one half.",
        conditions="θ* evenly spaced, ε = 1.",
        control=NegativeControl(
            "errors in the opposite order of Δ", reversed_along("kendall", "spacing")
        ),
        simulated=FAIR_COINS,
    ),
    *map(_figure_5_claim, SCHEMES),
    *_claims_of_norms(),
    _laplace_claim("kendall"),
    Claim(
        id="xu.figure_6.classic.kendall",
        row="X3",
        statement="Debiasing also improves the ranking: the Kendall distance is smaller than with "
        "classic randomized "
        "response.",
        source=_FIGURE_6,
        experiment="xu/scenario_5",
        measure=_better_ranking,
        tolerance={_SMALLER: AtLeast(0.05), _MEAN_LESS: AtMost(0)},
        why="A ranking that improves is better in some releases: one in twenty is the least that "
        "could be called so.",
        conditions="The statement is false, and must be: with one budget for all and complete "
        "comparisons both "
        "estimators order the items by their scores Σ_j z̄_ij, since θ̂_i > θ̂_k exactly if the "
        "score of i is "
        "larger, and debiasing only stretches the scores. The rankings are the same in every "
        "replication.",
        control=_EXCHANGED_ESTIMATORS,
        simulated=RING_FOR_DEBIASING,
        positive=PositiveControl(
            "a tenth more Kendall distance with classic randomized response",
            scaled("kendall", lambda r: 1 + 0.1 * (r["estimator"] == "plug_in")),
        ),
    ),
    Claim(
        id="xu.same_ranking",
        statement="With one budget for all, classic and debiased randomized response rank the "
        "items alike in every "
        "replication.",
        source="eq. (3) of Xu, Sun and Cheng; against their finding of Figure 6",
        by_construction=True,
        experiment="xu/scenario_5",
        measure=_unlike_rankings,
        tolerance=NoException(0.01),
        why="Both order the items by their scores Σ_j z̄_ij, which debiasing only stretches, "
        "whatever is released.",
        conditions="Complete comparisons, one ε.",
        control=NegativeControl(
            "maximum likelihood in place of classic randomized response",
            exchanged("estimator", "likelihood", "plug_in"),
        ),
        simulated=RING,
    ),
)
