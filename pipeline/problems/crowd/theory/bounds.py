"""Bounds of Wang and Xu for private one-coin crowds, and the conditions under which they hold.

n workers, m tasks, v̂ the collective wisdom of `wisdom`; λ
is the projection, ε the budget of one answer, in nats.
"""

from typing import Annotated, cast

import numpy as np
from scipy.special import ndtr

from pipeline.privacy.randomized_response_laws import amplification
from pipeline.study.arrays import Array, Booleans, Floats

from .wisdom import expert_wisdom, experts, private_ability

BERRY_ESSEEN = (
    0.4748  # constant of the Berry–Esseen theorem for sums of identical variables: Shevtsova (2011)
)

# -------------------------------------------------------------------------------- Theorem 2: labels


def label_error_bound(n: Array | float, wisdom: Array | float) -> Floats:
    """2exp(−n v̂/2), bound on the share of wrong labels; broadcasts.

    Below ½, the error of a guess, where n v̂ > 2 log 4.

    Its exponent is right to first order for abilities near
    ½: see `vote_errors.oracle_bounds`.
    Source: Wang and Xu, Theorem 2.
    """
    bound: Floats = 2 * np.exp(-np.asarray(n) * wisdom / 2)
    return bound


def initial_error_bound(m: Array | float) -> Floats:
    """√(log m/m), the largest error of the initial vector that Theorem 2 allows; broadcasts.

    Source: eq. (14).
    """
    bound: Floats = np.sqrt(np.log(m) / m)
    return bound


def projection_range(m: Array | float, wisdom: Array | float) -> tuple[Floats, Floats]:
    """(low, high) of the projection λ in Theorem 2; empty, low > high, until m is 2·10⁵ or more.

    Source: eq. (15).
    """
    return 16 / np.asarray(wisdom) * initial_error_bound(m), 1 / 8 - initial_error_bound(m) / 2


def theorem_2_holds(
    n: Array | float,
    m: Array | float,
    wisdom: Array | float,
    projection: Array | float,
    initial_error: Array | float,
) -> Booleans:
    """Whether Theorem 2's printed conditions hold; broadcasts.

    Its proof needs more: `theorem_2_proved`.
    """
    low, high = projection_range(m, wisdom)
    holds: Booleans = (
        (n <= m)
        & (np.log(m) <= n * np.asarray(wisdom))
        & (initial_error <= initial_error_bound(m))
        & (low <= projection)
        & (projection <= high)
    )
    return holds


def theorem_2_proved(
    n: Array | float,
    m: Array | float,
    wisdom: Array | float,
    projection: Array | float,
    initial_error: Array | float,
) -> Booleans:
    """Whether the printed conditions and the step from eq. (33) to (34) hold; broadcasts.

    That step needs (4n/λ)√(log m/m) + 4 log(1/λ)√(n log m)
    ≤ n v̂/2, so v̂ ≥ 16.6 √(log m/n) at least: never for
    experts and spammers with ⌈n^δ⌉ experts, δ < ½.
    """
    lost = 4 * n / projection * initial_error_bound(m) + 4 * np.log(
        1 / np.asarray(projection)
    ) * np.sqrt(n * np.log(m))
    proved: Booleans = theorem_2_holds(n, m, wisdom, projection, initial_error) & (
        lost <= n * np.asarray(wisdom) / 2
    )
    return proved


# ----------------------------------------------------------------------------- Theorem 3: abilities


def ability_error_bound(
    m: int, epsilon: float
) -> Annotated[float, "6√(log m/(mε²)), bound of Theorem 3", "1"]:
    """6 √(log m/(m ε²)), of the largest error of an ability; broadcasts.

    Source: Wang and Xu, Theorem 3.
    """
    return cast(float, 6 / np.asarray(epsilon) * initial_error_bound(m))


def ability_error_sharper(m: Array | float, epsilon: Array | float) -> Floats:
    """2a(ε) √(log m/m), a(ε) = coth(ε/2); Theorem 3's bound follows where ε a(ε) ≤ 3, so ε ≤ 2.57.

    Broadcasts.
    """
    bound: Floats = 2 * amplification(epsilon) * initial_error_bound(m)
    return bound


def theorem_3_holds(
    n: Array | float,
    m: Array | float,
    wisdom: Array | float,
    projection: Array | float,
    initial_error: Array | float,
    epsilon: Array | float,
) -> Booleans:
    """Whether Theorem 3's printed conditions hold: Theorem 2's and ε ≤ 1; broadcasts."""
    return theorem_2_holds(n, m, wisdom, projection, initial_error) & (np.asarray(epsilon) <= 1)


# ------------------------------------------------------------------ Theorem 4: experts and spammers


def expert_error_bound(
    n: int, expert_exponent: float, epsilon: float
) -> Annotated[float, "2exp(−½t²⌈n^x⌉), bound of Theorem 4", "1"]:
    """2exp(−½t(ε)²⌈n^x⌉); broadcasts. Source: Wang and Xu, eq. (19)."""
    return cast(float, 2 * np.exp(-expert_wisdom(n, expert_exponent, epsilon) / 2))


def theorem_4_holds(epsilon: Array | float, expert_exponent: Array | float) -> Booleans:
    """Whether Theorem 4's printed conditions but "n > C" hold: ε > ln(85/15), 0 < x < ½.

    Broadcasts.
    """
    exponent = np.asarray(expert_exponent)
    holds: Booleans = (np.asarray(epsilon) > np.log(85 / 15)) & (0 < exponent) & (exponent < 0.5)
    return holds


def theorem_4_proved(
    n: int, expert_exponent: float, epsilon: float, simple: bool = False
) -> Booleans:
    """Whether n is large enough for Theorem 4's proof that voting's error is above the bound.

    Broadcasts.

    The proof, with the right constant of Berry and Esseen:
    (e^ε/(e^ε + 1))^k (Φ(−k/√(n − k)) − 0.4748/√(n − k)) is
    at least the bound, k = ⌈n^x⌉. `simple` leaves the first
    factor out: the vote is wrong wherever the spammers'
    wrong answers outnumber their right ones by more than k,
    even if all k experts are right. So neither that factor
    nor a least ε is needed.
    """
    k = experts(n, expert_exponent)
    rest = np.maximum(np.asarray(n) - k, 1)
    shown = np.where(n > k, ndtr(-k / np.sqrt(rest)) - BERRY_ESSEEN / np.sqrt(rest), 0)
    # In logarithms, as both sides are 0 in floating point for many experts.
    with np.errstate(divide="ignore"):
        log_shown = np.log(np.maximum(shown, 0))
        if not simple:
            log_shown = log_shown + k * np.log(private_ability(1.0, epsilon))
    proved: Booleans = log_shown >= np.log(2) - expert_wisdom(n, expert_exponent, epsilon) / 2
    return proved
