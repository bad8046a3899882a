"""What several modules of claims on rankings share: cells, measures, negative controls."""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from pipeline.analysis.claims import NegativeControl
from pipeline.analysis.controls import Make, exchanged, scaled
from pipeline.analysis.estimate import Estimate
from pipeline.analysis.measures import Cells, Measure, exponent, labelled, measure
from pipeline.analysis.selection import LEAST, Condition, NotTested, at_levels, constant, select
from pipeline.analysis.summary import t_interval
from pipeline.analysis.tolerances import AtLeast, AtMost, Tolerance, Within
from pipeline.privacy.randomized_response_laws import amplification

# Variable, symbol.
NORMS = {"l2": ("error_l2", "‖θ̂ − θ*‖₂/√m"), "inf": ("error_inf", "‖θ̂ − θ*‖∞")}
THEOREM_2 = {
    "l2": "Xu, Sun and Cheng, Theorem 2, eq. (6)",
    "inf": "Xu, Sun and Cheng, Theorem 2, eq. (7)",
}
RANKINGS = {
    "kendall": ("kendall", "Kendall distance"),
    "top_k": ("hamming_top_k", "top-K error H_K"),
}
SCHEMES = {  # order of the budget, and how the error goes as users are added
    "log": ("log(mL)/√(mL)", "falls"),
    "critical": ("1/√(mL)", "stays stable"),
    "inverse_log": ("1/(√(mL) log(mL))", "rises"),
}
COMMON = "1:1"  # the profile in which all users have one budget
# t(ε) within 5 % of ε/2, and a comparison's own variance below 15 % of privacy's.
SMALL_BUDGET = 0.75
LARGE = 200  # mL/G(ε) from which the ridge hardly changes an exponent
VERY_LARGE = 800  # mL/G(ε) from which the ridge hardly changes a constant
DIRECTION = "The statement is one of direction."

PLUG_IN_FOR_DEBIASED = NegativeControl(
    "the plug-in estimator, which does not debias, in place of the debiased",
    exchanged("estimator", "debiased", "plug_in"),
)
DEBIASED_FOR_PLUG_IN = NegativeControl(
    "the debiased estimator in place of the plug-in", exchanged("estimator", "debiased", "plug_in")
)
DOUBLED_BUDGETS = NegativeControl(
    "budgets recorded as twice what they are",
    lambda results: results.assign_coords(epsilon=2 * results["epsilon"]),
)


def tilted(metric: str, power: float) -> Make:
    """Control data: errors multiplied by (mL/1000)^power."""
    return scaled(metric, lambda results: (results["m"] * results["L"] / 1000) ** power)


# ------------------------------------------------------------------------------------- cells in use


def one_budget(results: xr.Dataset) -> xr.Dataset:
    """`results`, if all users of the study have one budget.

    Raises `NotTested` for budgets of their own.
    """
    if "profile" in results.coords:
        profiles = np.atleast_1d(results["profile"].values).tolist()
    else:
        profiles = [constant(results, "profile") or COMMON]
    if any(profile != COMMON for profile in profiles):
        raise NotTested(
            f"is stated for one budget of all users, not for profile={', '.join(profiles)}"
        )
    return results


def phase(
    results: xr.Dataset,
    *variables: str,
    estimator: str = "debiased",
    x: int = 3,
    within: Condition | None = None,
) -> xr.Dataset:
    """Cells (m, L, x) of one estimator in xu/phase_transition.

    At least three levels of L and `x` levels of x = ε√(mL) are needed.
    """
    return select(
        one_budget(results),
        *variables,
        at=dict(estimator=estimator),
        min_levels=dict(m=1, L=3, x=x),
        within=within,
    )


def gain(data: xr.Dataset) -> xr.DataArray:
    """G(ε) = coth²(ε/2), factor of privacy in the variance of a comparison of equal items."""
    squared: xr.DataArray = xr.apply_ufunc(amplification, data["epsilon"]) ** 2
    return squared


def released_sample(data: xr.Dataset) -> xr.DataArray:
    """mL/G(ε): the size of the released sample in unperturbed users, times items."""
    return data["m"] * data["L"] / gain(data)


def large_sample_small_budget(data: xr.Dataset) -> xr.DataArray:
    """Cells whose exponent the ridge hardly changes, and whose error is not yet below the rate."""
    return (released_sample(data) >= LARGE) & (data["epsilon"] <= SMALL_BUDGET)


def above_log(data: xr.Dataset) -> xr.DataArray:
    """Cells with ε ≥ log(mL)/√(mL), the condition of Corollary 1 with constant 1."""
    least: xr.DataArray = xr.ufuncs.log(data["m"] * data["L"])
    return data["x"] >= least


# ----------------------------------------------------------------------------------------- measures


def over_common(
    mean: xr.DataArray, mcse: xr.DataArray, n: xr.DataArray, confidence: float
) -> Cells:
    """Mean with mixed budgets over that with one budget, another cell with data of its own."""
    cells = xr.Dataset(dict(mean=mean, relative=mcse / mean))
    common = at_levels(cells, dict(profile=COMMON))
    ratio = cells["mean"] / common["mean"]
    error = ratio * xr.ufuncs.hypot(cells["relative"], common["relative"])
    low, high = t_interval(ratio, error, n, confidence)
    ratios = xr.Dataset(dict(value=ratio, low=low, high=high, error=error))
    return labelled(ratios.sel(profile=ratio["profile"] != COMMON).reset_coords(drop=True))


def exponent_in_users(
    estimand: str, metric: str, at: Mapping[str, str], least: int = LEAST
) -> Measure:
    """Exponent of a mean in the users L, common to all m, at these levels of the other axes."""

    @measure(estimand)
    def in_users(results: xr.Dataset) -> Estimate:
        data = select(one_budget(results), metric, at=at, min_levels=dict(m=1, L=3), least=least)
        return exponent(data, metric, ("m",), L=data["L"])

    return in_users


IN_SAMPLE = "in mL/G(ε) at fixed m"
RATIO_IN_ITEMS = "of its ratio to the power of mL/G(ε), in m at fixed L and x"
RATIO_IN_USERS = "of its ratio to the rate, in L at fixed m and x"


def rate_and_ratio(
    metric: str,
    symbol: str,
    over_rate: Callable[[xr.Dataset], xr.DataArray],
    power: float | None = None,
) -> Measure:
    """Exponents of a mean in the released sample, and of its ratio to a rate in the users.

    power: also the exponent of mean · (mL/G(ε))^power in the number of
    items.
    """
    exponents_claimed = 2 if power is None else 3
    share = 1 / exponents_claimed

    @measure(f"exponents of the mean {symbol}")
    def exponents(results: xr.Dataset) -> Mapping[str, Estimate]:
        large = phase(results, metric, within=large_sample_small_budget)
        in_sample = exponent(large, metric, ("m",), share, size=released_sample(large))
        data = phase(results, metric)
        data[metric] = over_rate(data)
        in_users = exponent(data, metric, ("m", "x"), share, L=data["L"])
        if power is None:
            return {IN_SAMPLE: in_sample, RATIO_IN_USERS: in_users}
        large[metric] = large[metric] * released_sample(large) ** power
        in_items = exponent(large, metric, ("L", "x"), share, m=large["m"])
        return {IN_SAMPLE: in_sample, RATIO_IN_ITEMS: in_items, RATIO_IN_USERS: in_users}

    return exponents


# --------------------------------------------------------------------------------------- tolerances


def trend(scheme: str, size: float) -> Tolerance:
    """What the exponent in L of an error may be under a scheme of budgets that depend on L."""
    tolerances: dict[str, Tolerance] = {
        "log": AtMost(-size),
        "critical": Within(0, size),
        "inverse_log": AtLeast(size),
    }
    return tolerances[scheme]
