"""Private Bradley–Terry–Luce model: closed forms, rates, thresholds and budgets of Xu, Sun and Cheng.

m items, L users; every user compares every pair once, P(i beats j) = σ(θ_i − θ_j), Σθ = 0; each comparison
is flipped with probability 1/(1 + e^ε). Two numbers give the cost of privacy: the amplification
a(ε) = coth(ε/2), by which debiasing multiplies the standard deviation of a comparison, and the attenuation
t(ε) = tanh(ε/2) = 1/a(ε), by which the release multiplies its lean, the probability that the better item wins
less ½. Budgets ε are per comparison, in nats, > 0, and may be infinite (no privacy).
Users who share a budget form a group: `epsilon` (group,) or scalar goes with counts `users` of that shape.
The paper's constants are unspecified: rates here have constant 1 and are for slopes and orders only.
"""

import math
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from pipeline.privacy.budget_groups import groups_of
from pipeline.privacy.randomized_response_laws import (
    amplification,
    attenuation,
    information,
    mean_squared_amplification,
)
from pipeline.problems.common.rounding import largest_remainder
from pipeline.study.arrays import Booleans, Floats, Integers, Numbers
from pipeline.study.kernels import function
from pipeline.study.parameters import InvalidInput, nearest

_win_probabilities = function(
    __file__,
    "win_probabilities",
    """
    reps: size
    m: size; m >= 1
    theta: f8[reps, m]
    chances: out f8[reps, m * (m - 1) // 2]
""",
)


def win_probability(theta: Floats) -> Floats:
    """σ(θ_i − θ_j) for i < j, in the order of `numpy.triu_indices(m, 1)`.

    theta: (reps, m), logits -> (reps, pairs). O(reps · m²). Source: Xu, Sun and Cheng, §2.
    """
    *lengths, m = theta.shape
    rows = np.ascontiguousarray(theta, float).reshape(-1, m)
    chances = np.empty((len(rows), m * (m - 1) // 2))
    _win_probabilities(len(rows), m, rows, chances)
    return chances.reshape(*lengths, -1)


def condition_number(theta: Floats) -> Floats:
    """κ = max_i e^{θ_i} / min_i e^{θ_i}; theta: (reps, m) -> (reps,). Source: Xu, Sun and Cheng, §4.1."""
    values: Floats = np.exp(np.ptp(np.asarray(theta, float), axis=-1))
    return values


def excess_risk_rate(kappa: Numbers, G: Numbers, m: Numbers, L: Numbers) -> Floats:
    """Upper rate κ G log(mL)/(mL) of the excess risk e_L(θ̂, θ*), constant 1; broadcasts.

    kappa: condition number; G: mean squared amplification. Source: Xu, Sun and Cheng, Theorem 1 (the text
    after it prints (1 + κ)² for κ; the proof uses κ).
    """
    return kappa * G * np.log(m * L) / (m * L)


def l2_rate(kappa: Numbers, G: Numbers, m: Numbers, L: Numbers) -> Floats:
    """Upper rate κ √(G log(mL)/(mL)) of ‖θ̂ − θ*‖₂/√m, constant 1, logits; broadcasts.

    Source: Xu, Sun and Cheng, Theorem 2, eq. (6).
    """
    return kappa * np.sqrt(G * np.log(m * L) / (m * L))


def linf_rate(kappa: Numbers, G: Numbers, m: Numbers, L: Numbers) -> Floats:
    """Upper rate κ² √(G log(mL)/(mL)) of ‖θ̂ − θ*‖_∞, constant 1, logits; broadcasts.

    Source: Xu, Sun and Cheng, Theorem 2, eq. (7).
    """
    return kappa * l2_rate(kappa, G, m, L)


def theorem_1_conditions(
    theta: Floats, ridge: Numbers, G: Numbers, L: Numbers, constant: float = 1.0
) -> Booleans:
    """Whether λ ≤ constant · m G log(mL)/(L ‖θ*‖²), which Theorems 1 and 2 ask of the ridge.

    theta: (reps, m); ridge λ: scalar or (reps,) -> (reps,) bool. The paper leaves the constant open.
    Source: Xu, Sun and Cheng, Theorem 1.
    """
    theta = np.asarray(theta, float)
    m = theta.shape[-1]
    values: Booleans = ridge * L * np.vecdot(theta, theta) <= constant * m * G * np.log(m * L)
    return values


def minimax_lower_bound(kappa: Numbers, m: Numbers, information: Numbers) -> Floats:
    """Lower rate 1/√(κ m Σ_l t(ε_l)²) of the worst-case mean ‖θ̂ − θ*‖₂/√m, constant 1, logits; broadcasts.

    The paper's constant is unspecified, and the bound only speaks while it is smaller than the diameter of
    the parameter set (2 log κ or so): no error can exceed that. It falls with κ though the problem gets
    harder, so at large κ it is loose. Source: Xu, Sun and Cheng, Theorem 3, eq. (8).
    """
    return 1 / np.sqrt(kappa * m * information)


def critical_budget(m: int, L: int) -> float:
    """Budget 1/√(mL) whose order divides consistency from its loss; broadcasts.

    Source: Xu, Sun and Cheng, Corollaries 1 and 2, Table 1.
    """
    return budget_from_x(1.0, m, L)


def budget_from_x(
    x: Annotated[float, "ε√(mL), the budget in units of the critical one"], m: int, L: int
) -> float:
    """Budget ε = x/√(mL) at x times the critical one; broadcasts.

    Errors at one x agree across m and L while ε is small. Source: Xu, Sun and Cheng, Table 1.
    """
    value: float = x / np.sqrt(m * L)
    return value


def signal_share(epsilon: float) -> Annotated[float, "t(ε) = tanh(ε/2) = 1/√G(ε)", "1"]:
    """t(ε), by which randomized response multiplies a lean; t√(mL) is the root of the released sample; broadcasts.

    Source: Xu, Sun and Cheng, Lemma 1 and Theorem 2.
    """
    share: float = np.tanh(epsilon / 2)
    return share


_SCHEMES = {"log": 1, "critical": 0, "inverse_log": -1}


def scheme_budget(
    scheme: Annotated[str, "how ε falls with the data"],
    m: int,
    L: int,
    reference_L: Annotated[int, "users at which ε = reference_epsilon"],
    reference_epsilon: Annotated[float, "ε at L = reference_L"],
) -> float:
    """Budget ε ∝ log(mL)^k/√(mL), with k = 1 (`log`), 0 (`critical`), −1 (`inverse_log`); scalar or (L,).

    The constant makes ε = reference_epsilon at L = reference_L for the same m. mL ≥ 2. As L grows the
    error falls, stays and grows. Raises `InvalidInput` for another scheme. Source: Xu, Sun and Cheng, §5.1,
    Scenario II, schemes 1, 2, 3 as the formulas define them (the text on the figures swaps 1 and 3).
    """
    if scheme not in _SCHEMES:
        raise InvalidInput("scheme", scheme, nearest(scheme, _SCHEMES))
    logs = np.log(m * L) / np.log(m * reference_L)
    value: float = reference_epsilon * np.sqrt(reference_L / L) * logs ** _SCHEMES[scheme]
    return value


def whole_users(name: str, value: float, users: float) -> int:
    """Users rounded to a whole number; InvalidInput, blaming the parameter they follow from, outside 1 to 10⁹."""
    if not 1 <= users < 1e9:
        raise InvalidInput(name, value, f"asks for {users:.3g} users; must ask for 1 to 10⁹")
    return round(users)


def users_from_size(
    size: Annotated[float, "released sample mL/G(ε)"], m: int, epsilon: float
) -> int:
    """Users L = size·G(ε)/m, rounded, whose released comparisons are worth `size`; InvalidInput below one user."""
    return whole_users("size", size, size * float(amplification(epsilon)) ** 2 / m)


def epsilon_user(
    epsilon: float, m: int
) -> Annotated[float, "budget of all comparisons of a user", "nats"]:
    """Budget ε m(m−1)/2 of all a user releases, by basic composition over the pairs; broadcasts."""
    return epsilon * (m * (m - 1) / 2)


Profile = Annotated[str, "groups of users, share:multiple of epsilon"]


def group_sizes(profile: str, L: int) -> Integers:
    """(groups,): how many of L users are in each group of a profile, by largest remainder.

    Raises `InvalidInput` for a bad profile, and where a group has no user.
    """
    shares = np.array([share for share, _ in groups_of(profile)])
    sizes = largest_remainder(
        shares / shares.sum() * L, L
    )  # shares may miss 1 by rounding, sizes may not miss L
    if (sizes == 0).any():
        raise InvalidInput("profile", profile, f"a group has no user at L={L}; raise its share")
    return sizes


def _groups(profile: str, L: int) -> tuple[Floats, Floats]:
    """Share of the L users who are in each group, (groups,), and multiple of ε that each has, (groups,)."""
    return group_sizes(profile, L) / L, np.array([multiple for _, multiple in groups_of(profile)])


def mean_gain(
    epsilon: float, profile: Profile, L: int
) -> Annotated[float, "G(ε), mean of coth²(ε/2)", "1"]:
    """G(ε) of L users who share out as `profile` says; scalar.

    Raises `InvalidInput` for a bad profile. Source: Xu, Sun and Cheng, Theorem 1.
    """
    shares, multiples = _groups(profile, L)
    return float(mean_squared_amplification(epsilon * multiples, shares))


def concentration(
    epsilon: float, profile: Profile, m: int, L: int
) -> Annotated[float, "H(ε)/(mG(ε)), which Theorems 5 and 6 ask to be bounded", "1"]:
    """H(ε)/(mG(ε)), H the largest coth(ε_l/2): above 1 one user's noise stands out; scalar.

    Raises `InvalidInput` for a bad profile. Source: Xu, Sun and Cheng, Theorems 1, 5 and 6.
    """
    _, multiples = np.transpose(groups_of(profile))
    return float(amplification(epsilon * multiples.min())) / (m * mean_gain(epsilon, profile, L))


def information_share(
    epsilon: float, profile: Profile, L: int
) -> Annotated[float, "mean of tanh²(ε/2)", "1"]:
    """Mean t(ε_l)² of L users who share out as `profile` says: what is left of a user's information; scalar.

    Raises `InvalidInput` for a bad profile. Source: Xu, Sun and Cheng, Theorem 3.
    """
    shares, multiples = _groups(profile, L)
    return float(information(epsilon * multiples, shares) / shares.sum())


def _log_excess_gain(epsilon: Floats, shares: Floats) -> float:
    """log((G − 1)/4), which keeps its digits where G is 1 and where it overflows."""
    value: float = logsumexp(-epsilon - 2 * np.log(-np.expm1(-epsilon)), b=shares)
    return value


def _information_odds(epsilon: Floats, shares: Floats) -> float:
    """Log odds of the mean t², which keep their digits where it is near 0 and near 1."""
    lost = np.log(4) - epsilon - 2 * np.log1p(np.exp(-epsilon))  # log(1 − t²)
    value: float = logsumexp(2 * np.log(attenuation(epsilon)), b=shares) - logsumexp(lost, b=shares)
    return value


_MATCHED = {"G": _log_excess_gain, "information": _information_odds}


def matched_budget(
    profile: Profile,
    matched: Annotated[str, "what mixed budgets have in common with one for all"],
    common_epsilon: Annotated[float, "budget of one comparison, the same for all users"],
    L: int,
) -> float:
    """Budget ε at which L users who share out as `profile` says are worth as much as with `common_epsilon` each.

    matched: `G`, the mean of coth²(ε_l/2), which Theorem 2's rate depends on, or `information`, the mean of
    tanh²(ε_l/2), which Theorem 3's does. Both are monotone in ε, and at common_epsilon/multiple all budgets lie on
    one side of the common one for the largest and for the smallest multiple: these enclose the root.
    Relative accuracy 1e-12. Raises `InvalidInput` for another `matched`, a bad profile, or a budget that is not
    positive and finite. Source: Xu, Sun and Cheng, Theorems 2 and 3.
    """
    from scipy.optimize import brentq  # slow to import, and needed here only

    if matched not in _MATCHED:
        raise InvalidInput("matched", matched, nearest(matched, _MATCHED))
    if not 0 < common_epsilon < math.inf:
        raise InvalidInput("common_epsilon", common_epsilon, "must be a number > 0, and finite")
    measure, (shares, multiples) = _MATCHED[matched], _groups(profile, L)
    target = measure(np.array([common_epsilon]), np.ones(1))
    low, high = (
        -math.log(multiples.max()) - 1e-3,
        -math.log(multiples.min()) + 1e-3,
    )  # rounding at the ends
    ratio = brentq(
        lambda x: measure(common_epsilon * math.exp(x) * multiples, shares) - target,
        low,
        high,
        xtol=1e-14,
        rtol=1e-14,
    )
    return common_epsilon * math.exp(ratio)
