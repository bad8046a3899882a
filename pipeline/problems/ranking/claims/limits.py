"""Claims on limits: Table 1 in the items, ε → ∞, rankings before preferences, the top K's end."""

from collections.abc import Iterator, Mapping

import xarray as xr

from pipeline.analysis.boundaries import INSIDE, boundary_exponent, crossing
from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Cells,
    Measure,
    Measured,
    confidence_for,
    exponent,
    labelled,
    mean_cells,
    measure,
    measure_every_cell,
    ratio_cells,
)
from pipeline.analysis.selection import InsufficientEvidence, NotTested, select
from pipeline.analysis.summary import summarise, t_interval
from pipeline.analysis.tolerances import AtMost, Tolerance, Within

from .common import SCHEMES, gain, one_budget, trend
from .controls import FAIR_COINS, FOLLOWERS, HALF_BUDGETS, NO_PRIVACY

STABLE = 0.03  # exponent in m below which an error is stable
LEARNED = 0.5  # logits: half of the error of no data
CERTAIN = 8  # nats from which hardly any comparison is flipped
MISSED = 0.1  # share of the top K that is missed at the boundary
_IN_ITEMS = "exponent in m"
_FLOOR = "mean error in every cell (simultaneous intervals)"
_IN_M = "in m"
_IN_L = "in L"
_IN_GAP = "in Δ_K"
_FOURFOLD = 4  # growth of the sample between two levels
_WORLDS = {"log": FAIR_COINS, "critical": NO_PRIVACY, "inverse_log": NO_PRIVACY}
_OTHER = {"log": "inverse_log", "critical": "log", "inverse_log": "log"}


def _trend_in_items(scheme: str) -> Measure:
    """Exponent of the error in m under one scheme; under the critical one also the error."""

    @measure("mean ‖θ̂ − θ*‖₂/√m, and its exponent in m at fixed L")
    def trend_and_size(results: xr.Dataset) -> Mapping[str, Measured]:
        data = select(one_budget(results), "error_l2", at=dict(scheme=scheme), min_levels=dict(m=3))
        in_items = exponent(data, "error_l2", (), error_share=0.9, m=data["m"])
        if scheme != "critical":
            return {_IN_ITEMS: in_items}
        return {_IN_ITEMS: in_items, _FLOOR: mean_cells(data, "error_l2", error_share=0.1)}

    return trend_and_size


@measure_every_cell(
    "mean ‖θ̂ − θ*‖₂²/m with randomized response over the same without, on the same comparisons"
)
def _over_plain(results: xr.Dataset) -> Cells:
    data = select(
        one_budget(results),
        "error_l2",
        min_levels=dict(m=1, L=2, mechanism=2, epsilon=1),
        within=lambda cells: cells["epsilon"] >= CERTAIN,
    )
    for level in ("randomized_response", "none"):
        if level not in data["mechanism"].values.tolist():
            raise NotTested(f"needs mechanism={level}")
    private = data.sel(mechanism="randomized_response", drop=True)
    private["private"] = private["error_l2"] ** 2
    private["plain"] = data["error_l2"].sel(mechanism="none", drop=True) ** 2
    return ratio_cells(private, "private", "plain", 1)


def _of_last_step(metric: str, error_share: float, results: xr.Dataset) -> Cells:
    """Mean at the largest sample over that at a quarter of it, in every other cell."""
    data = select(one_budget(results), metric, min_levels=dict(m=1, epsilon=1, size=2))
    cells = summarise(data)
    last = cells.isel(size=-1, drop=True)
    before = cells.isel(size=-2, drop=True)
    largest = cells["size"].values[-2:]
    if largest[1] != _FOURFOLD * largest[0]:
        raise NotTested("needs a last level of size four times that before it")
    ratio = last[metric] / before[metric]
    relative = xr.ufuncs.hypot(
        last[f"{metric}_mcse"] / last[metric], before[f"{metric}_mcse"] / before[metric]
    )
    confidence = confidence_for(ratio.size, error_share)
    low, high = t_interval(ratio, ratio * relative, last[f"{metric}_n"], confidence)
    ratios = xr.Dataset(dict(value=ratio, low=low, high=high, error=ratio * relative))
    return labelled(ratios.reset_coords(drop=True))


@measure("mean at a fourfold sample over the mean before, in every cell (simultaneous intervals)")
def _falls_of_both(results: xr.Dataset) -> Mapping[str, Cells]:
    return {
        "‖θ̂ − θ*‖₂/√m": _of_last_step("error_l2", 0.5, results),
        "Kendall distance": _of_last_step("kendall", 0.5, results),
    }


@measure("exponents of G(ε) at which a tenth of the top K are missed")
def _boundary_of_top_k(results: xr.Dataset) -> Mapping[str, Estimate]:
    data = select(
        one_budget(results), "hamming_top_k", min_levels=dict(m=2, L=2, spread=2, epsilon=3)
    )
    cells = summarise(data).rename(spread="half_gap")
    edge = crossing(
        cells["hamming_top_k"],
        cells["hamming_top_k_mcse"],
        "epsilon",
        MISSED,
        at=gain(cells),
    )
    if (edge["side"] != INSIDE).any():
        raise InsufficientEvidence("some curve crosses outside the grid: add levels of epsilon")
    confidence = confidence_for(error_share=1 / 3)
    rate = boundary_exponent(
        edge, (), confidence, m=edge["m"], L=edge["L"], gap=2 * edge["half_gap"]
    )
    exponents = rate.exponents
    return {_IN_M: exponents["m"], _IN_L: exponents["L"], _IN_GAP: exponents["gap"]}


def _table_1_claim(scheme: str) -> Claim:
    order, verb = SCHEMES[scheme]
    tolerance: dict[str, Tolerance] = {_IN_ITEMS: trend(scheme, STABLE)}
    if scheme == "critical":
        tolerance[_FLOOR] = AtMost(LEARNED)
    return Claim(
        id=f"xu.table_1.items.{scheme}",
        headline=scheme == "critical",
        statement=f"With a budget ε ∝ {order} the error ‖θ̂ − θ*‖₂/√m {verb} as items are added.",
        source="Xu, Sun and Cheng, Table 1: as m or L increases",
        experiment="xu/items",
        measure=_trend_in_items(scheme),
        tolerance=tolerance,
        why="From m = 10 to 160 at L = 400 the factor log(mL) alone changes the exponent by ±0.1; "
        "0.03 is a third of that.",
        conditions="L = 400, ε = ½ at m = 10 for every scheme, items in two groups 2 logits apart "
        "at every m.",
        control=NegativeControl(
            f"the errors of scheme {_OTHER[scheme]}",
            exchanged("scheme", _OTHER[scheme], scheme),
        ),
        simulated=_WORLDS[scheme],
    )


def _claims() -> Iterator[Claim]:
    for scheme in SCHEMES:
        yield _table_1_claim(scheme)
    yield Claim(
        id="xu.certain",
        statement="From ε = 8 on the squared error is that of comparisons that nobody protects.",
        source="Xu, Sun and Cheng, remark after Theorem 2: ε → ∞ gives the results without privacy",
        experiment="xu/certain",
        measure=_over_plain,
        tolerance=Within(1, 0.02),
        why="At ε = 8 one comparison in 3,000 is flipped, and G(ε) is 1.0013.",
        conditions="m = 10, L = 100 and 400; the same comparisons with and without privacy.",
        control=NegativeControl("errors a tenth larger with privacy", _larger_with_privacy),
        simulated=HALF_BUDGETS,
    )
    yield Claim(
        id="xu.faster",
        headline=True,
        statement="Rankings are learned before preferences: a fourfold sample halves the error of "
        "the preferences, and leaves a fifth of the ranking errors, or less.",
        source="Xu, Sun and Cheng, §5.2 (Scenario III) and Theorem 6 beside Theorem 2",
        experiment="xu/faster",
        measure=_falls_of_both,
        tolerance={"‖θ̂ − θ*‖₂/√m": Within(0.5, 0.05), "Kendall distance": AtMost(0.2)},
        why="½ is the rate of Theorem 2. An error that fell by the same rate would halve, too; an "
        "exponential one falls by more than any factor in the end.",
        conditions="θ* evenly spaced with Δ = 0.15; from mL/G(ε) = 800 to 3,200.",
        control=NegativeControl(
            "Kendall distances that fall like the error", _kendall_like_the_error
        ),
        simulated=FOLLOWERS,
    )
    yield Claim(
        id="xu.top_k.boundary",
        headline=True,
        statement="The budget at which a tenth of the top K are missed has G(ε) ≍ mLΔ_K².",
        source="Xu, Sun and Cheng, Theorem 5 and the remark after it: E(H_K) goes to 0 for G(ε) = "
        "O(mL/log(mL))",
        experiment="xu/top_k_boundary",
        measure=_boundary_of_top_k,
        tolerance={_IN_M: Within(1, 0.08), _IN_L: Within(1, 0.05), _IN_GAP: Within(2, 0.1)},
        why="H_K depends on mLΔ_K²/G(ε) alone, to first order; the logarithm of the remark is what "
        "takes H_K to 0, and is none of the boundary at a fixed share. In m the exponent is of "
        "m − 1, which adds 0.03.",
        conditions="Two groups of items Δ_K = 0.2 and 0.4 apart, K = m/2, m = 20 to 80, L = 100 "
        "and 400.",
        control=NegativeControl(
            "errors of half as many users at the larger L",
            scaled("hamming_top_k", lambda results: (results["L"] / 100) ** 0.25),
        ),
        simulated=FOLLOWERS,
    )


def _larger_with_privacy(results: xr.Dataset) -> xr.Dataset:
    factor = 1 + 0.1 * (results["mechanism"] == "randomized_response")
    return results.assign(error_l2=results["error_l2"] * factor)


def _kendall_like_the_error(results: xr.Dataset) -> xr.Dataset:
    return results.assign(kendall=0.1 * results["error_l2"])


CLAIMS = tuple(_claims())
