"""The exact account of Gaussian noise: (ε, δ) of its own law, not of a
class of mechanisms.

ρ: the zCDP budget of noise N(0, σ²) on a vector that neighbours move by Δ,
ρ = Δ²/(2σ²); ε: nats. Scalars.
"""

import math

import numpy as np
import scipy
from scipy import special

# Standard deviation of the summed noise from which its steps change δ by
# less than 1e-5 of itself.
SMOOTH = 2000
# By which variances are larger than for continuous noise: more than such a step.
MARGIN = 1e-4
LARGEST = 1e6  # ε up to which the account is computed


def gaussian_delta(epsilon: float, rho: float) -> float:
    """Exact δ at ε of continuous Gaussian noise that is ρ-zCDP.

    Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), μ = √(2ρ). Discrete Gaussian noise of
    a standard deviation well above 1 has nearly the same: see
    `discrete_gaussians_delta`.
    Source: Balle and Wang (2018), Theorem 8.
    """
    shift = math.sqrt(2 * rho)

    def normal_cdf(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    above = normal_cdf(shift / 2 - epsilon / shift)
    below = normal_cdf(-shift / 2 - epsilon / shift)
    return above - math.exp(epsilon) * below


def exact_rho(epsilon: float, delta: float) -> float:
    """Largest ρ whose continuous Gaussian noise is (ε, δ)-DP, the inverse
    of `gaussian_delta`.

    Relative accuracy 1e-12. Larger than `accounting.zcdp_rho`: at δ = 1e-4
    and ε = 1 the noise of that spends ε = 0.90.
    Source: Balle and Wang (2018), §3.
    """

    def excess(u: float) -> float:
        shift = math.exp(u)
        above = special.log_ndtr(shift / 2 - epsilon / shift)
        below = special.log_ndtr(-shift / 2 - epsilon / shift)
        log_ratio = min(epsilon + float(below - above), 0.0)
        log_share = math.log(max(-math.expm1(log_ratio), 1e-300))
        return float(above) + log_share - math.log(delta)

    spread = math.sqrt(2 * math.log(1 / delta) + 2 * epsilon)
    low = math.log(epsilon) - math.log(2 * spread + 40)
    high = math.log(2 * math.sqrt(2 * epsilon + 2 * math.log(1 / delta)) + 40)
    root = float(scipy.optimize.brentq(excess, low, high, xtol=1e-13))
    return math.exp(min(2 * root, 700.0)) / 2


def discrete_gaussians_delta(epsilon: float, entries: int, variance: float) -> float:
    """Exact δ at ε of `entries` integers with independent noise N_Z(0, σ²)
    on each.

    Neighbours move each of them by 1. The privacy loss is (2T + n)/(2σ²), n
    entries, T the sum of the noise: δ = E max(0, 1 − e^{ε − loss}). The law
    of T is found by Fourier inversion, tilted to where the loss is ε, so
    that all terms are positive and relatively accurate to 1e-9. Fewer
    changed entries have a smaller δ. O(s log s), s = σ√n.
    Source: Canonne, Kamath and Steinke (2020), Theorem 7, for one entry.
    """
    spread = math.sqrt(variance * entries)
    start = max(epsilon * variance - entries / 2, 0.0)  # of the sums that count
    # Makes N_Z(0, σ²) into N_Z(tilt σ², σ²), and moves the sum there.
    tilt = start / spread**2
    reach = math.ceil(13 * spread) + 40
    length = 2 * reach
    noise = np.arange(-reach, reach)  # of one entry
    weights = np.exp(-((noise - tilt * variance) ** 2) / (2 * variance))
    plain = np.exp(-(noise**2) / (2 * variance)).sum()
    first = round(start) - reach
    frequency = np.arange(length // 2 + 1) / length
    transform = np.fft.rfft(np.roll(weights, -reach) / weights.sum())
    shift = np.exp(2j * np.pi * frequency * first)
    law = np.fft.irfft(transform**entries * shift, length)  # at the totals
    total = first + np.arange(length)
    log_ratio = math.log(weights.sum()) - math.log(plain)
    log_mass = entries * (log_ratio + tilt**2 * variance / 2)
    loss = (2 * total + entries) / (2 * variance)
    counts = (loss > epsilon) & (law > 0)
    excess = -np.expm1(epsilon - loss[counts])
    terms = np.log(law[counts]) - tilt * total[counts] + np.log(excess)
    return float(np.exp(special.logsumexp(terms) + log_mass))


def exact_variance(entries: int, epsilon: float, delta: float) -> float:
    """σ² of discrete Gaussian noise that is (ε, δ)-DP by its own law.

    It is on `entries` integers that neighbours move by 1 each. That of
    continuous noise and a ten thousandth more; where the sum of the noise
    has a standard deviation below `SMOOTH`, enlarged until the exact δ is
    small enough.
    """
    variance = entries / (2 * exact_rho(epsilon, delta)) * (1 + MARGIN)
    while variance * entries < SMOOTH**2:
        if discrete_gaussians_delta(epsilon, entries, variance) <= delta:
            break
        variance *= 1.002
    return variance
