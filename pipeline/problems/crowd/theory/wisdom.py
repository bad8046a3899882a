"""How right a crowd is: abilities before and after randomized response, and the
collective wisdom of all workers.

n workers of abilities p. An answer is flipped with
probability 1/(1 + e^ε), so it is released right with
probability p̂ = ½ + t(ε)(p − ½), t = tanh(ε/2). ε is per
answer, in nats, > 0, and may be infinite.
"""

from typing import Annotated, cast

import numpy as np

from pipeline.privacy.randomized_response_laws import attenuation
from pipeline.study.arrays import Array, Floats, Integers


def private_ability(abilities: Array | float, epsilon: Array | float) -> Floats:
    """p̂ = ½ + t(ε)(p − ½), the probability that a released answer is right; broadcasts.

    Source: Wang and Xu, eq. (22).
    """
    right: Floats = 0.5 + attenuation(epsilon) * (np.asarray(abilities) - 0.5)
    return right


def private_effective_ability(abilities: Array | float, epsilon: Array | float) -> Floats:
    """μ̂ = max(p̂, 1 − p̂) = t(ε) max(p, 1 − p) + 1/(e^ε + 1); broadcasts.

    Source: Wang and Xu, eqs. (11) and (12).
    """
    effective: Floats = 0.5 + attenuation(epsilon) * np.abs(np.asarray(abilities) - 0.5)
    return effective


def wisdom(abilities: Array | float, epsilon: Array | float = np.inf) -> Floats:
    """v̂ = n⁻¹ Σ_i (2μ̂_i − 1)² = t(ε)² n⁻¹ Σ_i (2p_i − 1)².

    abilities: (..., n). Returns (...). Source: Wang and Xu,
    eq. (13).
    """
    mean_square: Floats = attenuation(epsilon) ** 2 * ((2 * np.asarray(abilities) - 1) ** 2).mean(
        axis=-1
    )
    return mean_square


def uniform_wisdom(low: float, high: float) -> float:
    """E(2p − 1)² of abilities p that are uniform on [low, high]."""
    a = 2 * low - 1
    b = 2 * high - 1
    return (a * a + a * b + b * b) / 3


def total_wisdom(
    n: int, epsilon: float, ability_low: float, ability_high: float
) -> Annotated[float, "n v̂, expected wisdom of all workers", "1"]:
    """n t(ε)² E(2p − 1)², abilities uniform; broadcasts. Source: Wang and Xu, eq. (13)."""
    return cast(float, n * attenuation(epsilon) ** 2 * uniform_wisdom(ability_low, ability_high))


def experts(n: Array | float, expert_exponent: Array | float) -> Integers:
    """⌈n^x⌉, the number of experts among n workers; whole powers are not rounded up; broadcasts.

    Source: Wang and Xu, §4.
    """
    return np.ceil(np.asarray(n, float) ** expert_exponent - 1e-9).astype(int)


def expert_wisdom(
    n: int, expert_exponent: float, epsilon: float
) -> Annotated[float, "t(ε)²⌈n^x⌉, wisdom of all workers", "1"]:
    """n v̂ = t(ε)²⌈n^x⌉ of perfect experts among spammers; broadcasts. Source: Wang and Xu, §4."""
    return cast(float, attenuation(epsilon) ** 2 * experts(n, expert_exponent))
