"""The exact account of Gaussian noise: (ε, δ) of its own law, where zCDP bounds a whole class of mechanisms.

ρ: the zCDP budget of noise N(0, σ²) on a vector that neighbours move by Δ, ρ = Δ²/(2σ²); ε: nats. Scalars.
"""

import math

import numpy as np
import scipy
from scipy import special

SMOOTH = 2000  # standard deviation of the summed noise from which its steps change δ by less than 1e-5 of itself
MARGIN = 1e-4  # by which variances are larger than for continuous noise: more than such a step
LARGEST = 1e6  # ε up to which the account is computed


def gaussian_delta(epsilon: float, rho: float) -> float:
    """Exact δ at ε of continuous Gaussian noise that is ρ-zCDP: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = √(2ρ).

    Discrete Gaussian noise of a standard deviation well above 1 has nearly the same: see `discrete_gaussians_delta`.
    Source: Balle and Wang (2018), Theorem 8.
    """
    shift = math.sqrt(2 * rho)

    def normal_cdf(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    return normal_cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * normal_cdf(
        -shift / 2 - epsilon / shift
    )


def exact_rho(epsilon: float, delta: float) -> float:
    """Largest ρ whose continuous Gaussian noise is (ε, δ)-DP, the inverse of `gaussian_delta`; relative accuracy 1e-12.

    Larger than `accounting.zcdp_rho`: at δ = 1e-4 and ε = 1 the noise of that spends ε = 0.90.
    Source: Balle and Wang (2018), §3.
    """

    def excess(u: float) -> float:
        shift = math.exp(u)
        high, low = shift / 2 - epsilon / shift, -shift / 2 - epsilon / shift
        log_ratio = min(epsilon + float(special.log_ndtr(low) - special.log_ndtr(high)), 0.0)
        return (
            float(special.log_ndtr(high))
            + math.log(max(-math.expm1(log_ratio), 1e-300))
            - math.log(delta)
        )

    low = math.log(epsilon) - math.log(2 * math.sqrt(2 * math.log(1 / delta) + 2 * epsilon) + 40)
    high = math.log(2 * math.sqrt(2 * epsilon + 2 * math.log(1 / delta)) + 40)
    return math.exp(min(2 * float(scipy.optimize.brentq(excess, low, high, xtol=1e-13)), 700.0)) / 2


def discrete_gaussians_delta(epsilon: float, entries: int, variance: float) -> float:
    """Exact δ at ε of `entries` integers that neighbours move by 1 each, with independent noise N_Z(0, σ²) on each.

    The privacy loss is (2T + n)/(2σ²), n entries, T the sum of the noise: δ = E max(0, 1 − e^{ε − loss}). The law of T
    is found by Fourier inversion, tilted to where the loss is ε, so that all terms are positive and relatively
    accurate to 1e-9. Fewer changed entries have a smaller δ. O(s log s), s = σ√n.
    Source: Canonne, Kamath and Steinke (2020), Theorem 7, for one entry.
    """
    spread = math.sqrt(variance * entries)
    start = max(epsilon * variance - entries / 2, 0.0)  # of the sums that count
    tilt = start / spread**2  # makes N_Z(0, σ²) into N_Z(tilt σ², σ²), and moves the sum there
    reach = math.ceil(13 * spread) + 40
    length = 2 * reach
    own = np.arange(-reach, reach)
    weights = np.exp(-((own - tilt * variance) ** 2) / (2 * variance))
    plain = np.exp(-(own**2) / (2 * variance)).sum()
    first = round(start) - reach
    frequency = np.arange(length // 2 + 1) / length
    transform = np.fft.rfft(np.roll(weights, -reach) / weights.sum())
    law = np.fft.irfft(
        transform**entries * np.exp(2j * np.pi * frequency * first), length
    )  # at first, first + 1, …
    total = first + np.arange(length)
    log_mass = entries * (math.log(weights.sum()) - math.log(plain) + tilt**2 * variance / 2)
    loss = (2 * total + entries) / (2 * variance)
    used = (loss > epsilon) & (law > 0)
    terms = np.log(law[used]) - tilt * total[used] + np.log(-np.expm1(epsilon - loss[used]))
    return float(np.exp(special.logsumexp(terms) + log_mass))


def exact_variance(entries: int, epsilon: float, delta: float) -> float:
    """σ² of discrete Gaussian noise on `entries` integers that neighbours move by 1 each, (ε, δ)-DP by its own law.

    That of continuous noise and a ten thousandth more; where the sum of the noise has a standard deviation below
    `SMOOTH`, enlarged until the exact δ is small enough.
    """
    variance = entries / (2 * exact_rho(epsilon, delta)) * (1 + MARGIN)
    while (
        variance * entries < SMOOTH**2
        and discrete_gaussians_delta(epsilon, entries, variance) > delta
    ):
        variance *= 1.002
    return variance
