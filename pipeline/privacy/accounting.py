"""Privacy accounts: concentrated, approximate and pure privacy,
amplification by shuffling.

ρ: zero-concentrated budget (zCDP), D_α ≤ αρ for all α > 1; ε: nats; δ in
(0, 1). Everything broadcasts over arrays unless it says scalar, and raises
`InvalidInput` for budgets that are not positive and finite and for δ
outside (0, 1).
"""

import math
from collections.abc import Callable

import numpy as np

from pipeline.privacy.integer_laws import gaussian_pmf, positive
from pipeline.study.arrays import Floats, Numbers
from pipeline.study.parameters import InvalidInput

HALVINGS = 100  # of the interval: to the last digit of a double


def zcdp_account(rho: float, delta: float) -> dict[str, float]:
    """What a release with ρ-zCDP states: ρ, δ, and ε at δ by the sharp and
    the usual conversion.
    """
    return {
        "rho": rho,
        "delta": delta,
        "epsilon": float(zcdp_epsilon(rho, delta)),
        "epsilon_bun_steinke": float(bun_steinke_epsilon(rho, delta)),
    }


def _log_inverse(delta: Numbers) -> Floats:
    """log(1/δ), checked."""
    delta = np.asarray(delta, float)
    bad = ~((delta > 0) & (delta < 1))
    if bad.any():
        raise InvalidInput("delta", delta[bad].flat[0], "must be a number > 0 and < 1")
    return -np.log(delta)


def _root(increasing: Callable[[Floats], Floats], low: Numbers, high: Numbers) -> Floats:
    """Where an increasing function changes sign in [low, high], by
    bisection; all broadcast.

    Not `scipy.optimize.elementwise.find_root`: its last digits differ, and
    published results have these.
    """
    low, high = np.broadcast_arrays(low, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = increasing(middle) < 0
        low = np.where(below, middle, low)
        high = np.where(below, high, middle)
    return low


def gaussian_rho(squared_sensitivity: Numbers, variance: Numbers) -> Floats:
    """ρ = Δ²/(2σ²) of independent discrete Gaussians added to an integer
    vector.

    squared_sensitivity: Δ², squared L2 distance of the vectors of
    neighbours; variance: the parameter σ².
    Source: Canonne, Kamath and Steinke (2020), Theorem 4, composed over
    coordinates.
    """
    square = positive("squared_sensitivity", squared_sensitivity)
    return square / (2 * positive("variance", variance))


def calibrated_variance(squared_sensitivity: Numbers, rho: Numbers) -> Floats:
    """σ² = Δ²/(2ρ) at which discrete Gaussian noise spends ρ: inverse of
    `gaussian_rho`.
    """
    return positive("squared_sensitivity", squared_sensitivity) / (2 * positive("rho", rho))


def bun_steinke_epsilon(rho: Numbers, delta: Numbers) -> Floats:
    """ε = ρ + √(4ρ log(1/δ)) of ρ-zCDP at δ, in nats.

    Source: Bun and Steinke (2016), Proposition 1.3.
    """
    rho = positive("rho", rho)
    return rho + np.sqrt(4 * rho * _log_inverse(delta))


def bun_steinke_rho(epsilon: Numbers, delta: Numbers) -> Floats:
    """ρ with √ρ = √(log(1/δ) + ε) − √log(1/δ), the inverse of
    `bun_steinke_epsilon`.
    """
    epsilon = positive("epsilon", epsilon)
    log = _log_inverse(delta)
    root: Floats = epsilon / (np.sqrt(log + epsilon) + np.sqrt(log))  # no cancellation
    return root**2


def paper_rho(epsilon: Numbers, delta: Numbers) -> Floats:
    """ρ ≈ ε²/(4 log(1/δ)), which spends more than the nominal ε.

    It is ε = ρ + √(4ρ log(1/δ)) without its first term. With nominal ε = 5
    at δ = 1e-4 the true one is 5.68, by Bun and Steinke. Its noise has
    1/σ = ε/√(2 log(1/δ)).
    Source: Nguyen and Zhang, supplement, `find_effective_epsilon0_zgauss`;
    for reproduction only.
    """
    return positive("epsilon", epsilon) ** 2 / (4 * _log_inverse(delta))


# The conversion of Canonne, Kamath and Steinke: with a = α − 1 = e^u >
# 0, ρ-zCDP is (ε, δ)-DP if for some a   log δ ≥ a((1 + a)ρ − ε) + a log
# a − (1 + a) log(1 + a). The right-hand side is convex in a, so, with
# the other two given, each of δ, ε and ρ is optimal at the root of a
# monotone function. Every a gives a valid account, so the error of the
# root only makes it a little less tight.


def zcdp_delta(rho: Numbers, epsilon: Numbers) -> Floats:
    """δ = inf over α > 1 of e^{(α−1)(αρ−ε)} (1 − 1/α)^α / (α − 1) for
    ρ-zCDP at ε.

    The smallest that this bound gives.
    Source: Canonne, Kamath and Steinke (2020), Corollary 13.
    """
    rho = positive("rho", rho)
    epsilon = positive("epsilon", epsilon)
    high = np.maximum(np.log(epsilon) - np.log(rho), -np.log(rho) / 2)
    low = np.minimum(-3 * rho, high)

    def slope(u: Floats) -> Floats:
        """That of log δ, which is least where it vanishes."""
        return (2 * np.exp(u) + 1) * rho - epsilon - np.logaddexp(0, -u)

    u = _root(slope, low, high)
    a = np.exp(u)
    delta: Floats = np.exp(a * ((1 + a) * rho - epsilon) + a * u - (1 + a) * np.log1p(a))
    return delta


def zcdp_epsilon(rho: Numbers, delta: Numbers) -> Floats:
    """ε at δ of ρ-zCDP, the inverse of `zcdp_delta` in ε; 0 where ρ-zCDP
    implies (0, δ)-DP.

    ε = inf over α of αρ + log(1 − 1/α) − log(αδ)/(α − 1), at the root of
    (α−1)²ρ + log α = log(1/δ); in nats, never above `bun_steinke_epsilon`.
    Source: Canonne, Kamath and Steinke (2020), Corollary 13.
    """
    rho = positive("rho", rho)
    log = _log_inverse(delta)
    low = np.minimum(np.log(log / 2), (np.log(log / 2) - np.log(rho)) / 2)
    high = np.minimum(log, (np.log(log) - np.log(rho)) / 2)

    def excess(u: Floats) -> Floats:
        return np.exp(2 * u + np.log(rho)) + np.logaddexp(0, u) - log

    u = _root(excess, low, high)
    a = np.exp(u)
    epsilon = (1 + a) * rho - np.logaddexp(0, -u) + (log - np.log1p(a)) / a
    return np.maximum(epsilon, 0)


def zcdp_rho(epsilon: Numbers, delta: Numbers) -> Floats:
    """Largest ρ for which `zcdp_delta` gives (ε, δ)-DP: inverse of
    `zcdp_epsilon` in ρ.

    Never below `bun_steinke_rho`. ρ = sup over α of
    (ε − log(1 − 1/α) + log(αδ)/(α − 1))/α.
    Source: Canonne, Kamath and Steinke (2020), Corollary 13.
    """
    epsilon = positive("epsilon", epsilon)
    log = _log_inverse(delta)
    low = np.minimum(np.log(log / 4), np.log(log / (4 * epsilon)) / 2)

    def excess(u: Floats) -> Floats:
        """ε minus the ε that is optimal at this u, by the root of
        `zcdp_epsilon`.
        """
        shared = log - np.logaddexp(0, u)
        return epsilon + np.logaddexp(0, -u) - (2 * np.exp(-u) + np.exp(-2 * u)) * shared

    u = _root(excess, low, np.log(np.expm1(np.minimum(log, 700))))
    a = np.exp(u)
    rho: Floats = (epsilon + np.logaddexp(0, -u) - (log - np.log1p(a)) / a) / (1 + a)
    return rho


def pure_rho(epsilon: Numbers) -> Floats:
    """ρ = ε²/2 implied by pure ε-DP. Source: Bun and Steinke (2016),
    Proposition 1.4.
    """
    return positive("epsilon", epsilon) ** 2 / 2


def composed_epsilon(epsilon: Numbers, times: Numbers) -> Floats:
    """kε, pure, in nats: of k releases about one person, or of one release
    about k persons.
    """
    return positive("epsilon", epsilon) * positive("times", times)


def discrete_gaussian_delta(epsilon: float, variance: float) -> float:
    """Exact δ(ε) = Σ_y max(0, P(Z+1=y) − e^ε P(Z=y)) of one count with
    discrete Gaussian noise Z.

    The count has sensitivity 1. Scalars; variance: the parameter σ². For
    audits. O(σ) terms, all positive: relative error 1e-12.
    Source: Canonne, Kamath and Steinke (2020), Theorem 7; the same in the
    other direction, by symmetry.
    """
    epsilon = float(positive("epsilon", epsilon))
    variance = float(positive("variance", variance))
    terms = math.ceil(40 * math.sqrt(variance)) + 40
    noise = math.floor(epsilon * variance + 0.5) + np.arange(terms)  # y − 1
    # Of privacy, at y; above ε from the first term on.
    loss = (2 * noise + 1) / (2 * variance)
    excess = -np.expm1(np.minimum(epsilon - loss, 0))
    return float((gaussian_pmf(noise, variance) * excess).sum())


def shuffling_limit(n: Numbers, delta: Numbers) -> Floats:
    """log(n/(16 log(2/δ))), the largest local ε0 that the theorem of
    `shuffled_epsilon` covers.

    The theorem covers none if it is ≤ 0.
    """
    limit: Floats = np.log(positive("n", n) / (16 * (np.log(2) + _log_inverse(delta))))
    return limit


def _shuffled(local: Numbers, n: Numbers, log: Numbers) -> Floats:
    spread = 8 * np.sqrt(np.exp(local) * (np.log(4) + log) / n) + 8 * np.exp(local) / n
    epsilon: Floats = np.log1p(np.tanh(local / 2) * spread)
    return epsilon


def shuffled_epsilon(local_epsilon: Numbers, n: Numbers, delta: Numbers) -> Floats:
    """ε at δ of n reports in random order, each from the same ε0-DP local
    randomizer.

    NaN where ε0 > `shuffling_limit`. ε = log(1 + (e^ε0 − 1)/(e^ε0 + 1)
    (8√(e^ε0 log(4/δ)/n) + 8e^ε0/n)), neighbours by replacement of one
    person. The report is all that a person sends: if it has several
    answers, ε0 is their composed budget. It must also hide which items were
    answered. Where it is public which answers are missing, reports can be
    told apart, and shuffling does not amplify privacy.
    Source: Feldman, McMillan and Talwar (2022), Theorem III.1 (3.1 of
    arXiv:2012.12803). The supplement of Nguyen and Zhang prints it as Lemma
    4.1 without the term 8e^ε0/n; their code has it.
    """
    local = positive("local_epsilon", local_epsilon)
    log = _log_inverse(delta)
    limit = shuffling_limit(n, delta)
    amplified = _shuffled(np.minimum(local, np.maximum(limit, 0)), n, log)
    return np.where(local <= limit, amplified, np.nan)[()]


def shuffled_local_epsilon(epsilon: Numbers, n: Numbers, delta: Numbers) -> Floats:
    """Largest ε0 covered by the theorem with `shuffled_epsilon` ≤ ε.

    NaN where it covers none, at small n. Where even `shuffling_limit` costs
    less than ε, it is that limit. It may be less than ε: see
    `local_budget`.
    """
    epsilon = positive("epsilon", epsilon)
    log = _log_inverse(delta)
    limit = shuffling_limit(n, delta)
    high = np.maximum(limit, 0)

    def excess(local: Floats) -> Floats:
        return _shuffled(local, n, log) - epsilon

    is_reached = _shuffled(high, n, log) > epsilon
    local = np.where(is_reached, _root(excess, np.zeros_like(epsilon), high), high)
    return np.where(limit > 0, local, np.nan)[()]


def local_budget(epsilon: float, n: float, delta: float) -> tuple[float, str | None]:
    """(ε0, reason): largest budget of a report known to give (ε, δ)-DP
    after shuffling; scalars.

    ε0 is `shuffled_local_epsilon` and the reason None where that is more
    than ε. Elsewhere ε0 = ε, which needs no shuffling, and the reason is a
    line that says why the theorem does not apply or does not help.
    """
    local = float(shuffled_local_epsilon(epsilon, n, delta))
    limit = float(shuffling_limit(n, delta))
    if local > epsilon:
        return local, None
    if limit <= 0:
        needed = math.floor(16 * math.log(2 / delta)) + 1
        reason = f"does not apply at n={n:g}, delta={delta:g}: it needs at least {needed} persons"
    elif epsilon >= limit:
        reason = f"covers local budgets only up to {limit:.4g} at n={n:g}, delta={delta:g}"
    else:
        reason = f"would ask for the smaller local budget {local:.4g} at n={n:g}, delta={delta:g}"
    remark = f"amplification by shuffling {reason}; the local budget is epsilon itself, {epsilon:g}"
    return float(epsilon), remark
