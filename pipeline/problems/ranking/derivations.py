"""Parameters of studies made from others: budgets, numbers of users, gaps, signals."""

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from scipy.special import logsumexp

from pipeline.privacy.randomized_response_laws import (
    amplification,
    attenuation,
    information,
    mean_squared_amplification,
)
from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput, nearest

from .design import group_sizes, multiples_of

Profile = Annotated[str, "groups of users, share:multiple of epsilon"]
Signal = Annotated[float, "signal mLΔ²/G(ε)"]
CommonBudget = Annotated[float, "budget of one comparison, the same for all users"]

# Powers of log(mL) in the budgets of Scenario II.
_SCHEMES = {"log": 1, "critical": 0, "inverse_log": -1}


def critical_budget(m: int, L: int) -> float:
    """Budget 1/√(mL) whose order divides consistency from its loss; broadcasts.

    Source: Xu, Sun and Cheng, Corollaries 1 and 2, Table 1.
    """
    return budget_from_x(1.0, m, L)


def budget_from_x(
    x: Annotated[float, "ε√(mL), the budget in units of the critical one"], m: int, L: int
) -> float:
    """Budget ε = x/√(mL) at x times the critical one; broadcasts.

    Errors at one x agree across m and L while ε is small.
    Source: Xu, Sun and Cheng, Table 1.
    """
    budget: float = x / np.sqrt(m * L)
    return budget


def scheme_budget(
    scheme: Annotated[str, "how ε falls with the data"],
    m: int,
    L: int,
    reference_L: Annotated[int, "users at which ε = reference_epsilon"],
    reference_epsilon: Annotated[float, "ε at L = reference_L"],
) -> float:
    """Budget ε ∝ log(mL)^k/√(mL), with k = 1 (`log`), 0 (`critical`), −1 (`inverse_log`).

    Scalar or (L,). The constant makes ε = reference_epsilon at L =
    reference_L for the same m. mL ≥ 2. As L grows the error falls, stays
    and grows. Raises `InvalidInput` for another scheme. Source: Xu, Sun and
    Cheng, §5.1, Scenario II, schemes 1, 2, 3 as the formulas define them
    (the text on the figures swaps 1 and 3).
    """
    power = _power_of_log(scheme)
    logs = np.log(m * L) / np.log(m * reference_L)
    budget: float = reference_epsilon * np.sqrt(reference_L / L) * logs**power
    return budget


def scheme_budget_in_items(
    scheme: Annotated[str, "how ε falls with the data"],
    m: int,
    L: int,
    reference_m: Annotated[int, "items at which ε = reference_epsilon"],
    reference_epsilon: Annotated[float, "ε at m = reference_m"],
) -> float:
    """Budget of `scheme_budget` as items are added: ε = reference_epsilon at m = reference_m.

    Scalar or (m,), for the same L. mL ≥ 2. Raises `InvalidInput` for another scheme. Source:
    Xu, Sun and Cheng, Table 1.
    """
    power = _power_of_log(scheme)
    logs = np.log(m * L) / np.log(reference_m * L)
    budget: float = reference_epsilon * np.sqrt(reference_m / m) * logs**power
    return budget


def _power_of_log(scheme: str) -> int:
    """Power of log(mL) in the budgets of a scheme. Raises `InvalidInput` for another."""
    if scheme not in _SCHEMES:
        raise InvalidInput("scheme", scheme, nearest(scheme, _SCHEMES))
    return _SCHEMES[scheme]


def epsilon_user(
    epsilon: float, m: int
) -> Annotated[float, "budget of all comparisons of a user", "nats"]:
    """Budget ε m(m−1)/2 of all a user releases, by basic composition over the pairs; broadcasts."""
    return epsilon * (m * (m - 1) / 2)


def matched_budget(
    profile: Profile,
    matched: Annotated[str, "what mixed budgets have in common with one for all"],
    common_epsilon: CommonBudget,
    L: int,
) -> float:
    """Budget ε at which L users in the groups of a profile are worth as much as at a common budget.

    matched: `G`, the mean of coth²(ε_l/2), which Theorem 2's rate depends
    on, or `information`, the mean of tanh²(ε_l/2), which Theorem 3's does.
    Both are monotone in ε, and at common_epsilon/multiple all budgets lie
    on one side of the common one for the largest and for the smallest
    multiple: these enclose the root. Relative accuracy 1e-12. Raises
    `InvalidInput` for another `matched`, a bad profile, or a budget that is
    not positive and finite. Source: Xu, Sun and Cheng, Theorems 2 and 3.
    """
    from scipy.optimize import brentq  # slow to import, and needed here only

    if matched not in _MATCHED:
        raise InvalidInput("matched", matched, nearest(matched, _MATCHED))
    if not 0 < common_epsilon < math.inf:
        raise InvalidInput("common_epsilon", common_epsilon, "must be a number > 0, and finite")
    worth = _MATCHED[matched]
    shares = group_sizes(profile, L) / L
    multiples = multiples_of(profile)
    target = worth(np.array([common_epsilon]), np.ones(1))

    def excess(log_ratio: float) -> float:
        budgets = common_epsilon * math.exp(log_ratio) * multiples
        return worth(budgets, shares) - target

    rounding = 1e-3  # at the ends
    low = -math.log(multiples.max()) - rounding
    high = -math.log(multiples.min()) + rounding
    log_ratio = brentq(excess, low, high, xtol=1e-14, rtol=1e-14)
    return common_epsilon * math.exp(log_ratio)


def _log_excess_gain(epsilon: Floats, shares: Floats) -> float:
    """log((G − 1)/4), which keeps its digits where G is 1 and where it overflows."""
    log_gain: float = logsumexp(-epsilon - 2 * np.log(-np.expm1(-epsilon)), b=shares)
    return log_gain


def _information_odds(epsilon: Floats, shares: Floats) -> float:
    """Log odds of the mean t², which keep their digits where it is near 0 and near 1."""
    log_squared = 2 * np.log(attenuation(epsilon))  # log t²
    log_lost = np.log(4) - epsilon - 2 * np.log1p(np.exp(-epsilon))  # log(1 − t²)
    log_odds: float = logsumexp(log_squared, b=shares) - logsumexp(log_lost, b=shares)
    return log_odds


_MATCHED: dict[str, Callable[[Floats, Floats], float]] = {
    "G": _log_excess_gain,
    "information": _information_odds,
}


def users_from_size(
    size: Annotated[float, "released sample mL/G(ε)"], m: int, epsilon: float
) -> int:
    """Users L = size·G(ε)/m, rounded, whose released comparisons are worth `size`.

    Raises InvalidInput below one user.
    """
    return _whole_users("size", size, size * float(amplification(epsilon)) ** 2 / m)


def users_from_signal(
    signal: Signal,
    m: int,
    spacing: Annotated[float, "gap Δ between neighbours in θ*, logits"],
    epsilon: float,
) -> int:
    """Users L = signal·G(ε)/(mΔ²), rounded. Raises InvalidInput below one user."""
    gain = float(amplification(epsilon) ** 2)
    return _whole_users("signal", signal, gain * signal / (m * spacing**2))


def _whole_users(name: str, value: float, users: float) -> int:
    """Users rounded to a whole number.

    InvalidInput, blaming the parameter they follow from, outside 1 to 10⁹.
    """
    if not 1 <= users < 1e9:
        raise InvalidInput(name, value, f"asks for {users:.3g} users; must ask for 1 to 10⁹")
    return round(users)


def spacing_from_signal(signal: Signal, m: int, L: int, common_epsilon: CommonBudget) -> float:
    """Gap Δ = √(signal·G/(mL)), logits, at the G of one budget for all.

    Mixed budgets may be matched to it.
    """
    gain: Any = amplification(common_epsilon) ** 2  # of the shape of its argument: a number here
    spacing: float = np.sqrt(signal * gain / (m * L))
    return spacing


def size(epsilon: float, m: int, L: int) -> Annotated[float, "released sample mL/G(ε)", "1"]:
    """Released sample mL/G(ε), counted in unperturbed comparisons of an item; broadcasts.

    Source: Xu, Sun and Cheng, Theorems 1 and 2.
    """
    a: Any = amplification(epsilon)  # of the shape of its argument: a number here
    worth: float = m * L / a**2
    return worth


def signal(
    epsilon: float, m: int, L: int, spacing: float
) -> Annotated[float, "signal mLΔ²/G(ε)", "1"]:
    """Signal mLΔ²/G(ε) between items Δ = `spacing` logits apart; broadcasts.

    The ranking errors fall as exp(−C · signal/κ⁴).
    Source: Xu, Sun and Cheng, Theorems 5 and 6.
    """
    return size(epsilon, m, L) * spacing**2


def signal_over_log(
    epsilon: float, m: int, L: int, spacing: float
) -> Annotated[float, "signal over log(mL), mLΔ²/(G(ε) log(mL))", "1"]:
    """Signal over log(mL), which must be large for the top K to be recovered exactly.

    Broadcasts, mL ≥ 2.
    Source: Xu, Sun and Cheng, Theorem 4.
    """
    over_log: float = signal(epsilon, m, L, spacing) / np.log(m * L)
    return over_log


def signal_share(epsilon: float) -> Annotated[float, "t(ε) = tanh(ε/2) = 1/√G(ε)", "1"]:
    """t(ε), by which randomized response multiplies a lean; broadcasts.

    t√(mL) is the root of the released sample.
    Source: Xu, Sun and Cheng, Lemma 1 and Theorem 2.
    """
    share: float = np.tanh(epsilon / 2)
    return share


def mean_gain(
    epsilon: float, profile: Profile, L: int
) -> Annotated[float, "G(ε), mean of coth²(ε/2)", "1"]:
    """G(ε) of L users who share out as `profile` says; scalar.

    Raises `InvalidInput` for a bad profile.
    Source: Xu, Sun and Cheng, Theorem 1.
    """
    shares = group_sizes(profile, L) / L
    return float(mean_squared_amplification(epsilon * multiples_of(profile), shares))


def concentration(
    epsilon: float, profile: Profile, m: int, L: int
) -> Annotated[float, "H(ε)/(mG(ε)), which Theorems 5 and 6 ask to be bounded", "1"]:
    """H(ε)/(mG(ε)), H the largest coth(ε_l/2): above 1 one user's noise stands out; scalar.

    Raises `InvalidInput` for a bad profile.
    Source: Xu, Sun and Cheng, Theorems 1, 5 and 6.
    """
    largest = float(amplification(epsilon * multiples_of(profile).min()))
    return largest / (m * mean_gain(epsilon, profile, L))


def information_share(
    epsilon: float, profile: Profile, L: int
) -> Annotated[float, "mean of tanh²(ε/2)", "1"]:
    """Mean t(ε_l)² of L users in the groups of a profile: what is left of a user's information.

    Raises `InvalidInput` for a bad profile.
    Source: Xu, Sun and Cheng, Theorem 3.
    """
    shares = group_sizes(profile, L) / L
    return float(information(epsilon * multiples_of(profile), shares) / shares.sum())
