"""Claims on where consistency ends: Table 1 and Corollaries 1 and 2 of Xu, Sun and Cheng.

The paper's orders leave constants open, so exponents are tested: how the
mean error changes with L or with x = ε√(mL), in fits of logarithms in which
every m (or m and x) has its own constant.
"""

from collections.abc import Iterator, Mapping

import xarray as xr

from pipeline.analysis.boundaries import INSIDE, boundary_exponent, crossing
from pipeline.analysis.claims import Claim, NegativeControl
from pipeline.analysis.controls import exchanged
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import (
    Measure,
    Measured,
    confidence_for,
    exponent,
    mean_cells,
    measure,
)
from pipeline.analysis.selection import InsufficientEvidence, select
from pipeline.analysis.summary import summarise
from pipeline.analysis.tolerances import AtLeast, AtMost, Tolerance, Within

from .common import (
    NORMS,
    PLUG_IN_FOR_DEBIASED,
    SCHEMES,
    SMALL_BUDGET,
    above_log,
    exponent_in_users,
    one_budget,
    phase,
    tilted,
    trend,
)
from .controls import FAIR_COINS, FOLLOWERS, NO_PRIVACY

_NOT_IN_ITEMS = {"l2": "", "inf": " ‖·‖∞ also grows with m, so the exponent in m is not judged."}
STABLE = 0.03  # exponent in L below which an error is stable
LEARNED = {"l2": 0.5, "inf": 1.0}  # logits: less than half of the error of no data, whatever m
PLATEAU = 0.7  # share of the error at vanishing ε that defines the threshold ε*
_FLAT = "exponent in L at fixed m and x"
_IN_USERS = "exponent in L at fixed m"
_FLOOR = "mean error in every cell (simultaneous intervals)"
_THRESHOLDS = {
    "l2": {"in m": "m", "in L": "L"},
    "inf": {"in L at fixed m": "L"},
}  # exponents that are claimed


def _trend_in_users(scheme: str, norm: str) -> Measure:
    """Exponent of an error in L under one scheme.

    Under the critical one also the error itself, in every cell.
    """
    metric, symbol = NORMS[norm]
    levels = dict(scheme=scheme)
    if scheme != "critical":
        return exponent_in_users(
            f"exponent of the mean {symbol} in L, common to all m", metric, levels
        )

    @measure(f"mean {symbol}, and its exponent in L, common to all m")
    def flat_and_small(results: xr.Dataset) -> Mapping[str, Measured]:
        data = select(one_budget(results), metric, at=levels, min_levels=dict(m=1, L=3))
        return {
            _IN_USERS: exponent(data, metric, ("m",), error_share=0.9, L=data["L"]),
            _FLOOR: mean_cells(data, metric, error_share=0.1),
        }

    return flat_and_small


def _threshold(norm: str) -> Measure:
    """Exponents of ε*, where the mean error is `PLATEAU` of its value at the smallest x."""
    metric, symbol = NORMS[norm]
    sizes = _THRESHOLDS[norm]

    @measure(f"exponents of ε*, at which the mean {symbol} is {100 * PLATEAU:g} % of its plateau")
    def exponents(results: xr.Dataset) -> Mapping[str, Estimate]:
        data = phase(results, metric)
        cells = summarise(data)
        plateau = cells[metric].sel(x=data["x"].min()).mean("L")
        boundary = crossing(
            cells[metric] / plateau,
            cells[f"{metric}_mcse"] / plateau,
            "x",
            PLATEAU,
            at=data["epsilon"],
        )
        if (boundary["side"] != INSIDE).any():
            raise InsufficientEvidence(
                "some curve reaches its threshold outside the grid: add levels of x"
            )
        boundary = boundary.sel(L=(boundary["value"] <= SMALL_BUDGET).all("m"))
        groups = tuple({"m"} - set(sizes.values()))
        rate = boundary_exponent(
            boundary,
            groups,
            confidence_for(error_share=1 / len(sizes)),
            **{size: boundary[size] for size in sizes.values()},
        )
        return {part: rate.exponents[size] for part, size in sizes.items()}

    return exponents


def _corollary_1(norm: str) -> Measure:
    metric, symbol = NORMS[norm]

    @measure(f"exponent of the mean {symbol} in x = ε√(mL)")
    def in_x(results: xr.Dataset) -> Estimate:
        data = phase(results, metric, within=above_log)
        return exponent(data, metric, ("m", "L"), x=data["x"])

    return in_x


def _corollary_2(norm: str) -> Measure:
    metric, symbol = NORMS[norm]

    @measure(f"mean {symbol}")
    def flat_and_floor(results: xr.Dataset) -> Mapping[str, Measured]:
        data = phase(results, metric, x=1, within=lambda d: d["x"] <= 8)
        return {
            _FLAT: exponent(data, metric, ("m", "x"), error_share=0.5, L=data["L"]),
            _FLOOR: mean_cells(data, metric, error_share=0.5),
        }

    return flat_and_floor


_SWAPPED = NegativeControl(
    "schemes log and inverse_log swapped, as in the paper's discussion of Figure 3",
    exchanged("scheme", "log", "inverse_log"),
)
_CONTROLS = {
    "log": _SWAPPED,
    "critical": NegativeControl("the errors of scheme log", exchanged("scheme", "log", "critical")),
    "inverse_log": _SWAPPED,
}
_WORLDS = {"log": FAIR_COINS, "critical": FOLLOWERS, "inverse_log": NO_PRIVACY}
_SLOWER_BUDGETS = NegativeControl(
    "budgets multiplied by (mL)^(1/6)",
    lambda r: r.assign_coords(epsilon=r["epsilon"] * (r["m"] * r["L"] / 1000) ** (1 / 6)),
)


def _table_1_claim(scheme: str, norm: str) -> Claim:
    _, symbol = NORMS[norm]
    order, verb = SCHEMES[scheme]
    tolerance: Tolerance | dict[str, Tolerance] = trend(scheme, STABLE)
    if scheme == "critical":
        tolerance = {_IN_USERS: trend(scheme, STABLE), _FLOOR: AtMost(LEARNED[norm])}
    return Claim(
        id=f"xu.table_1.{scheme}.{norm}",
        headline=(scheme, norm) == ("critical", "l2"),
        statement=f"With a budget ε ∝ {order} the error {symbol} {verb} as users are added.",
        source="Xu, Sun and Cheng, Table 1 and Figure 3 (Scenario II)",
        experiment="xu/scenario_2",
        measure=_trend_in_users(scheme, norm),
        tolerance=tolerance,
        why="From L = 100 to 1600 the factor log(mL) alone changes the exponent by ±0.11 or more; "
        "0.03 is a quarter "
        "of that. The critical scheme itself has −0.01, because ε = 1 is not yet small, and an "
        "error that shows "
        "something was learned: coins, too, would be stable.",
        conditions="The scheme's constant makes ε = 1 at L = 100 for every m, so that only L can "
        "be judged, at fixed "
        "m. The discussion of Figure 3 swaps log and inverse_log. ‖·‖∞ also grows slowly with m.",
        control=_CONTROLS[scheme],
        simulated=_WORLDS[scheme],
    )


def _threshold_claim(norm: str) -> Claim:
    _, symbol = NORMS[norm]
    return Claim(
        id=f"xu.threshold.{norm}",
        headline=norm == "l2",
        statement=f"The budget at which the error {symbol} leaves its plateau shrinks like "
        "1/√(mL).",
        source="Xu, Sun and Cheng, Corollaries 1 and 2: the critical order of ε",
        experiment="xu/phase_transition",
        measure=_threshold(norm),
        tolerance=dict.fromkeys(_THRESHOLDS[norm], Within(-0.5, 0.03)),
        why="The nearest other plausible order, (mL)^(−1/3), is more than five times as far away.",
        conditions=f"Levels of L with ε* ≤ {SMALL_BUDGET:g} at every m. The plateau is the mean "
        "error at the smallest "
        f"x at that m, because θ* spreads a little more when m is larger.{_NOT_IN_ITEMS[norm]}",
        control=_SLOWER_BUDGETS,
        simulated=FOLLOWERS,
    )


def _corollary_1_claim(norm: str) -> Claim:
    _, symbol = NORMS[norm]
    return Claim(
        id=f"xu.corollary_1.{norm}",
        statement=f"With ε at least log(mL)/√(mL) the error {symbol} goes to zero.",
        source="Xu, Sun and Cheng, Corollary 1",
        experiment="xu/phase_transition",
        measure=_corollary_1(norm),
        tolerance=AtMost(-0.5),
        why="Any negative exponent takes the error to zero as x grows. Theorem 2 has −1, up to "
        "its logarithm; −½ is "
        "half of that, and an estimator whose error has a floor cannot reach it.",
        conditions="Cells with x ≥ log(mL); every m and L has its own constant. At one x the "
        "error does not depend on "
        "L (Corollary 2): an error that falls in x falls along all budgets that grow faster than "
        "1/√(mL). "
        "For ε ∝ log(mL)/√(mL) itself see xu.table_1.log.",
        control=PLUG_IN_FOR_DEBIASED,
        simulated=FAIR_COINS,
    )


def _corollary_2_claim(norm: str) -> Claim:
    metric, symbol = NORMS[norm]
    return Claim(
        id=f"xu.corollary_2.{norm}",
        statement=f"With ε of order 1/√(mL) the error {symbol} stays where it is, away from zero, "
        "as users are added.",
        source="Xu, Sun and Cheng, Corollary 2 (proved for the worst θ* of any estimator)",
        experiment="xu/phase_transition",
        measure=_corollary_2(norm),
        tolerance={_FLAT: Within(0, 0.02), _FLOOR: AtLeast(0.5)},
        why="With 0.02 a 16-fold L changes the error by at most 6 %, where 1/√L would change it "
        "by 75 %. θ* has a "
        "standard deviation of 1.15 logits, so half a logit is not small.",
        conditions="Cells with x = ε√(mL) ≤ 8. The exponent is in L only, because the error grows "
        "a little with m "
        "(θ* spreads more); the floor is for all cells, over which mL grows 64-fold. Coins agree "
        "with it.",
        control=NegativeControl("errors multiplied by (mL)^(−1/6)", tilted(metric, -1 / 6)),
        simulated=NO_PRIVACY,
    )


def _claims() -> Iterator[Claim]:
    for norm in NORMS:
        for scheme in SCHEMES:
            yield _table_1_claim(scheme, norm)
    for norm in NORMS:
        yield from (_threshold_claim(norm), _corollary_1_claim(norm), _corollary_2_claim(norm))


CLAIMS = tuple(_claims())
