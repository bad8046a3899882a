"""Sample sizes of private item clustering: Banerjee, Hegde and Massoulié.

Upper and lower bounds, their conditions. U users in K classes with shares
α, N items in Lc clusters with shares β; a user rates w items drawn without
replacement, item of cluster ℓ positively with probability b_kℓ. Users
release ε-LDP answers about everything they have rated. f = 1/(1 + e^ε), t =
tanh(ε/2). Lower bounds are on the number of users below which the worst
chance of a wrong clustering exceeds p_max, for the paper's simplest case:
labels uniform on {0, 1}^N, ratings equal to labels. Mutual information is
in bits, see `information`.
"""

from typing import Annotated, cast

import numpy as np
import scipy
from scipy import special

from pipeline.study.arrays import Array, Booleans, Floats

from .information import capacity

# ------------------------------------------------------------------- privacy, separation


def epsilon_hat(epsilon: float) -> Annotated[float, "ε̂ = 2 tanh(ε/2)", "1"]:
    """ε̂ = 2(e^ε − 1)/(e^ε + 1) = 2t: a released bit has mean f + t·(that of the sketch).

    Source: Theorem 15.
    """
    return cast(float, 2 * np.tanh(np.asarray(epsilon) / 2))


def separation(theta: float, alpha: Array, beta: Array, b: Array) -> Floats:
    """(Lc, Lc): Σ_k α_k e^{−θ Σ_j β_j b_kj} (b_kℓ − b_kℓ'); alpha (K,), beta (Lc,), b (K, Lc).

    U·t·(w/N)·p times this is the gap between the expected scores of
    MaxSense, as N → ∞ with 1 ≪ w ≪ N. Where w stays bounded the factor
    e^{−θ…} becomes (1 − (θ/w) Σ_j β_j b_kj)^{w−1}; `sketch_means` has it
    exactly. Source: Theorem 15.
    """
    likes = np.asarray(b, float)
    shares = np.asarray(alpha, float)
    level = (shares * np.exp(-theta * likes @ np.asarray(beta, float))) @ likes
    gaps: Floats = level[:, None] - level
    return gaps


def separability(theta: float, alpha: Array, beta: Array, b: Array) -> float:
    """δ_min, the least |separation| of two clusters; arguments as there, Lc ≥ 2.

    Source: Theorem 15.
    """
    gaps = np.abs(separation(theta, alpha, beta, b))
    return float(gaps[np.triu_indices(len(gaps), 1)].min())


# -------------------------------------------------------------------------- upper bounds


def load(
    U: int, N: int, w: int, epsilon: float, delta: float
) -> Annotated[float, "U w ε̂² δ²/(N² log N), which decides MaxSense", "1"]:
    """U w ε̂² δ²/(N² log N); delta: δ_min. Broadcasts. Source: Theorem 15."""
    signal = U * w * epsilon_hat(epsilon) ** 2 * np.square(delta)
    return cast(float, signal / (np.square(N) * np.log(N)))


def users_of_load(size: float, N: int, w: int, epsilon: float, delta: float) -> Floats:
    """U at which `load` is size; infinite at ε = 0 or δ = 0. Broadcasts."""
    with np.errstate(divide="ignore"):
        users: Floats = np.divide(size, load(1, N, w, epsilon, delta))
    return users


def maxsense_users(
    N: int,
    w: int,
    epsilon: float,
    delta: float,
    theta: float = 1.0,
    exponent: float = 1.0,
    printed: bool = False,
) -> Floats:
    """Users with whom Theorem 15's proof gives success with probability 1 − N^{−exponent}.

    Needs w > θ. 300 N² (log 2 + (1 + d) log N)/(ε̂² δ² w θ (1 − θ/w)²).
    printed: 75 for 300 and without the last factor, as in the paper, whose
    proof loses a factor ½ of Δ_ℓm and (1 − θ/w) on the way.
    """
    users: Floats = (
        300
        * np.square(N)
        * (np.log(2) + (1 + exponent) * np.log(N))
        / (epsilon_hat(epsilon) ** 2 * np.square(delta) * w * theta)
    )
    if printed:
        return users / 4
    corrected: Floats = users / np.square(1 - np.divide(theta, w))
    return corrected


def best_split(epsilon: float, most: int = 1 << 20) -> int:
    """Number Q of questions with budget ε/Q each that maximises Q t(ε/Q)², at most `most`.

    MaxSense with Q disjoint sensing sets needs 1/(Q t(ε/Q)²) of the users,
    to first order. Best near ε/Q = 2.177, the root of sinh x = 2x: 1.36
    times as good as ⌈ε⌉ of Theorem 16 at large ε, 1.8 times just above ε =
    1. Up to ε = 4.7 one question is better than ⌈ε⌉.
    """
    near = epsilon / 2.1773
    choices = np.unique(np.clip([np.floor(near), np.ceil(near)], 1, most))
    return int(choices[np.argmax(choices * np.tanh(epsilon / choices / 2) ** 2)])


def pairwise_users(
    N: Array | float, w: Array | float, epsilon: Array | float, contrast: float
) -> Floats:
    """N log N/(t² ρ² Δ²), the order of the users with whom Pairwise-Preference succeeds.

    Infinite where t·ρ·Δ = 0. ρ = w(w − 1)/(N(N − 1)), chance that both
    items are rated; Δ, contrast: chance that two ratings of one cluster
    agree minus that of two clusters. The sketch is 1 with chance O(ρ), but
    its released bit has the noise of a fair coin: so ρ², not the ρ of the
    paper's §5, and N⁵ log N/w⁴ where w = o(N). At w ∝ N it is Theorem 8,
    with its missing 1/t².
    """
    rated = w * (w - 1) / (N * (N - 1))
    signal = np.square(np.tanh(np.asarray(epsilon) / 2) * rated * contrast)
    with np.errstate(divide="ignore"):
        users: Floats = np.divide(N * np.log(N), signal)
    return users


def coupon_users(N: Array | float, w: Array | float = 1) -> Floats:
    """Users until every item has been rated by one of them: N(H_N)/w, exact at w = 1.

    The reference without privacy.
    H_N is the harmonic number. For w > 1 within a factor 1 + O(w/N).
    Source: §1.1, coupon collector, Θ(N log N).
    """
    users: Floats = N * (special.digamma(np.add(N, 1.0)) + np.euler_gamma) / w
    return users


# -------------------------------------------------------------------------- lower bounds


def fano_users(information: Array | float, bits: Array | float, p_max: float = 0.5) -> Floats:
    """Users below which the error exceeds p_max if each brings at most `information` bits.

    bits: log₂ of the number of hypotheses. ((1 − p_max) bits −
    1)/information, at least 0: Fano's inequality, Lemma 5. bits = N for
    labels, N − 1 for clusterings, log₂(M/M_d) with distortion (Lemma 20).
    """
    users: Floats = np.maximum((1 - p_max) * np.asarray(bits, float) - 1, 0) / information
    return users


def users_theorem_7(
    N: Array | float, epsilon: Array | float, printed: bool = False
) -> Array | float:
    """(N/2 − 1)/(ε log₂ e): any ε-LDP answers.

    printed: N/(ε log₂ e), of which Fano's inequality gives half.
    """
    each: Array | float = epsilon / np.log(2)
    if printed:
        return N / each
    return fano_users(each, N)


def users_capacity(N: Array | float, epsilon: Array | float) -> Floats:
    """Theorem 7 with the largest information of an ε-LDP answer in place of Lemma 6.

    Of order N/ε² at small ε.
    """
    return fano_users(capacity(epsilon), N)


def theorem_14_applies(N: Array | float, w: Array | float, epsilon: Array | float) -> Booleans:
    """Conditions of Theorem 14 read for one (N, w): w³ < N and ε < ln 2."""
    applies: Booleans = (np.power(w, 3.0) < N) & (np.asarray(epsilon) < np.log(2))
    return applies


def users_theorem_17(N: Array | float, epsilon: Array | float) -> Floats:
    """log((N/2 − 1) ln 2)/log(1 + C/N), C = 40(e^ε − 1)²: adaptive ε-LDP answers.

    For w = 1; needs N > 4. Below it no more than (N/2 − 1) bits are known.
    The constant is such that this exceeds Theorem 7's number at ε = 1 only
    for N > 1.7·10^18, and `users_capacity`, which holds for adaptive
    answers too, at no real size. Source: Theorem 17, end of the proof, with
    Var⁰[F] ≤ 2Nε'². Its induction has a gap: see `users_adaptive`.
    """
    growth = 40 * np.expm1(epsilon) ** 2 / N
    users: Floats = np.log((N / 2 - 1) * np.log(2)) / np.log1p(growth)
    return users


def users_adaptive(N: Array | float, epsilon: Array | float) -> Floats:
    """log(1 + (N/2 − 1) ln 2/2)/log(1 + 5(e^ε − 1)²/(2N)): Theorem 17 with its proof completed.

    For adaptive answers, w = 1, N ≥ 2. Lemma 19 holds for each history h
    with its own deficit x_h = H(Z) − H(Z | h), in nats, whose mean is I(Z;
    S₁ᵀ). max{20, 10x} ≤ 20 + 10x is linear, so I(Z; S₁ᵀ⁺¹) ≤ I + Var⁰[F](20
    + 10 I)/N², I ≤ 2((1 + 10 Var⁰[F]/N²)ᵀ − 1). F is a sum of N terms in
    some [λ₀, λ₀e^ε], λ₀ ≤ 1, of two values alike likely: Var⁰[F] ≤ N(e^ε −
    1)²/4. Source: Theorem 17 and Lemmas 18 and 19.
    """
    growth = 2.5 * np.expm1(epsilon) ** 2 / N
    users: Floats = np.log1p((N / 2 - 1) * np.log(2) / 2) / np.log1p(growth)
    return users


def users_fixed_questions(N: Array | float, epsilon: Array | float) -> Floats:
    """(N Φ⁻¹(2^(−1/N))/tanh(ε/2))²: private one-bit answers about one rating, Gaussian.

    Questions are fixed beforehand. A user says whether a guess of her
    rating, a label, is right, and every guess is a fair coin: an item's sum
    has mean ± U t/N and variance U, so that half of all replications have
    all N signs right. Of order N² log N.
    """
    quantile = scipy.special.ndtri(2.0 ** (-1 / np.asarray(N)))
    users: Floats = (N * quantile / np.tanh(np.asarray(epsilon) / 2)) ** 2
    return users


def ball_bits(N: int, d: int, Lc: int = 2) -> float:
    """log₂ Σ_{i≤d} C(N, i)(Lc − 1)^i: labelings within Hamming distance d of one of them.

    Source: Appendix A.
    """
    if d >= N:
        return float(N * np.log2(Lc))
    tail = scipy.stats.binom.logcdf(d, N, 1 - 1 / Lc)
    return float(N * np.log2(Lc) + tail / np.log(2))


def corollary_21(N: int, d: int, bits: float) -> float:
    """1 − (U I + 1)/(log₂ M − log₂ M_d): least chance of more than d wrong items, or 0.

    bits: U I, of all answers, non-adaptive ones of one law. Two clusters up to their names: M =
    2^(N−1) clusterings, each with Σ_{i≤d} C(N, i) within distance d < N/2. Source: Corollary 21.

    >>> round(corollary_21(40, 0, 19.5), 3)
    0.474
    """
    room = N - 1 - ball_bits(N, d)
    if room <= 0:
        return 0.0
    return max(1 - (bits + 1) / room, 0.0)


def users_theorem_23(
    N: int, d: int, epsilon: Array | float, Lc: int = 2, p_max: float = 0.5, printed: bool = False
) -> Array | float:
    """Users below which more than d of N labels are wrong with probability over p_max, ε-LDP.

    ((1 − p_max) log₂(M/M_d) − 1)/(ε log₂ e) with the ball counted exactly.
    printed: the paper's form (1 − p_max) N Lc (1 − d/N − 1/Lc)²/(3ε), which
    drops Fano's 1 and whose Chernoff bound needs Lc(1 − d/N) ≤ 2.
    """
    if printed:
        return (1 - p_max) * N * Lc * (1 - d / N - 1 / Lc) ** 2 / (3 * epsilon)
    return fano_users(epsilon / np.log(2), N * np.log2(Lc) - ball_bits(N, d, Lc), p_max)


def theorem_23_applies(N: int, d: int, Lc: int = 2) -> bool:
    """Whether the Chernoff bound in the proof holds: 1 ≤ Lc(1 − d/N) ≤ 2.

    Always for two clusters and d ≤ N/2.
    """
    return (1 <= Lc * (1 - d / N)) & (Lc * (1 - d / N) <= 2)


def disjoint_share(N: Array | float, w: Array | float) -> Floats:
    """P(two users' rated sets are disjoint) = C(N−w, w)/C(N, w); broadcasts. Source: Lemma 12."""
    share: Floats = scipy.stats.hypergeom.pmf(0, N, w, w)
    return share


def lemma_12_remainder(N: Array | float, w: Array | float) -> Floats:
    """Bonferroni bound C(w, 2)²/C(N, 2) on C(N−w, w)/C(N, w) − (1 − w²/N), which is never negative.

    The paper has Θ(w⁴/N²) for w = o(N): true as O, not as Θ (0 at w = 1;
    about w²/N where w ≫ √N).
    """
    bound: Floats = np.square(special.comb(w, 2)) / special.comb(N, 2)
    return bound
