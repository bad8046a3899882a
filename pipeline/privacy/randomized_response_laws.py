"""Randomized response on one bit: what flipping costs, in closed form.

A bit is flipped with probability 1/(1 + e^ε). Two numbers give the cost of
privacy: the amplification a(ε) = coth(ε/2), by which debiasing multiplies
the standard deviation, and the attenuation t(ε) = tanh(ε/2) = 1/a(ε), by
which the release multiplies P(bit = 1) − ½. Budgets ε are per bit, in
nats, > 0, and may be infinite (no privacy). Users who share a budget form a
group: `epsilon` (group,) or scalar goes with counts `users` of that shape.
"""

import numpy as np
from scipy.special import expit

from pipeline.study.arrays import Floats, Numbers


def flip_probability(epsilon: Numbers) -> Floats:
    """Probability 1/(1 + e^ε) that randomized response flips a comparison;
    shape of `epsilon`.

    Source: Xu, Sun and Cheng, §3.1.
    """
    probability: Floats = expit(-np.asarray(epsilon, float))
    return probability


def attenuation(epsilon: Numbers) -> Floats:
    """t(ε) = tanh(ε/2) = 1 − 2/(1 + e^ε): factor of P(bit = 1) − ½ in the
    release.

    Shape of `epsilon`.
    Source: Xu, Sun and Cheng, Lemma 1.
    """
    return np.tanh(np.asarray(epsilon, float) / 2)


def amplification(epsilon: Numbers) -> Floats:
    """a(ε) = (e^ε + 1)/(e^ε − 1) = coth(ε/2): factor of the standard
    deviation of a debiased bit.

    Shape of `epsilon`.
    Source: Xu, Sun and Cheng, Lemma 2.
    """
    return 1 / attenuation(epsilon)


def laplace_equivalent(epsilon: Numbers) -> Floats:
    """ε' = 2 arsinh(ε/√8): budget at which randomized response adds
    Laplace's variance, 2/ε².

    Shape of `epsilon`. e^ε'/(e^ε' − 1)² = 1/(4 sinh²(ε'/2)) = 2/ε². About
    0.71 ε for small ε.
    Source: Lemma 2 of Xu, Sun and Cheng, solved for the variance 2/ε² of
    Lap(1/ε).
    """
    budget: Floats = 2 * np.arcsinh(np.asarray(epsilon, float) / np.sqrt(8))
    return budget


def mean_squared_amplification(epsilon: Numbers, users: Numbers) -> float:
    """G(ε) = L⁻¹ Σ_l a(ε_l)², the mean over users; scalar.

    epsilon, users: (group,) or scalar.
    Source: Xu, Sun and Cheng, Theorem 1.
    """
    gain, users = np.broadcast_arrays(amplification(epsilon), np.asarray(users, float))
    mean: float = np.sum(users * gain**2) / np.sum(users)
    return mean


def max_amplification(epsilon: Numbers) -> Floats:
    """H(ε) = max_l a(ε_l); scalar. epsilon: (group,) or scalar.

    Source: Xu, Sun and Cheng, Theorem 1.
    """
    return amplification(np.min(epsilon))


def information(epsilon: Numbers, users: Numbers) -> float:
    """Σ_l t(ε_l)²: number of unperturbed users with the same information as
    the release; scalar.

    epsilon, users: (group,) or scalar.
    Source: Xu, Sun and Cheng, Theorem 3.
    """
    return np.sum(np.asarray(users, float) * attenuation(epsilon) ** 2)


def released_probability(probability: Numbers, epsilon: Numbers) -> Floats:
    """P(ỹ = 1) = ½ + (p − ½) t(ε) of a comparison released by randomized
    response.

    Broadcasts, in [0, 1].
    Source: Xu, Sun and Cheng, Lemma 1.
    """
    # The same as p̃ = f + p t with f the flip probability; in this form a
    # small p keeps its digits at large ε.
    released = np.asarray(probability, float) * attenuation(epsilon)
    released += flip_probability(epsilon)
    return released
