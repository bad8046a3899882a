"""What a person's budget buys, to first order: questions, people, and where
learning ends.

Items are nearly equal, so that every comparison has the variance ¼, and each of the
P = m(m−1)/2 pairs is compared n = Lk/P times. If privacy adds the variance N to a
pair's wins, the mean of a pair has the variance v = 1/(4n) + N/n², and the fit the
squared error ‖θ̂ − θ*‖₂²/m = 16 v (m − 1)/m². All boundaries follow: where the
error is what one asks for.
"""

import math

import scipy

from pipeline.privacy.accounting import zcdp_epsilon
from pipeline.privacy.gaussian_account import gaussian_delta
from pipeline.privacy.sensitivities import Sensitivity
from pipeline.problems.common.spending import best_questions as best_questions
from pipeline.problems.common.spending import worth as worth
from pipeline.study.parameters import InvalidInput


def pairs_of(m: int) -> int:
    """Pairs of m items."""
    return m * (m - 1) // 2


def pair_variance(error: float, m: int) -> float:
    """Variance of a pair's mean at which the root of the mean squared error is
    `error`.
    """
    return error**2 * m**2 / (16 * (m - 1))


def wins_noise(error: float, m: int, users: int, questions: int) -> float:
    """Variance that privacy may add to a pair's wins, for an error of that size.

    Raises InvalidInput where already the answers themselves have a larger error.
    """
    reports = users * questions / pairs_of(m)
    noise = reports**2 * pair_variance(error, m) - reports / 4
    if noise <= 0:
        raise InvalidInput(("L"), users, f"is too few for an error of {error:g} at m={m}")
    return noise


def local_person(noise: float, users: int, m: int, questions: int) -> float:
    """Budget E of k answers, E/k each, whose flips add this variance to a pair's
    wins.

    n/(4 sinh²(E/(2k))) of n answers.
    """
    reports = users * questions / pairs_of(m)
    return 2 * questions * math.asinh(math.sqrt(reports / (4 * noise)))


def laplace_person(variance: float, sensitivity: Sensitivity) -> float:
    """Budget E of Laplace noise of that variance, 2(Δ₁/E)²."""
    return sensitivity.absolute * math.sqrt(2 / variance)


def gaussian_rho(variance: float, sensitivity: Sensitivity) -> float:
    """Budget ρ of Gaussian noise of that variance, Δ₂²/(2ρ)."""
    return sensitivity.squared / (2 * variance)


def shuffled_rho(noise: float, questions: int) -> float:
    """Budget ρ of Gaussian noise that tells as little as shuffled flips: k/(2N).

    Of n flipped answers the number of ones has the variance n/(4 cosh²(ε₀/2)), and
    an answer moves its mean by tanh(ε₀/2): k of them are as far apart as Gaussians
    with 2ρ = 4k sinh²(ε₀/2)/n. Flips add N = n/(4 sinh²(ε₀/2)) to the debiased
    wins. So it is what a curator's Gaussian noise on both counts spends, if n·e^−ε₀
    is large.
    """
    return questions / (2 * noise)


def concentrated_epsilon(rho: float, delta: float) -> float:
    """ε at δ of ρ-zCDP, as a curator's promise says it."""
    return float(zcdp_epsilon(rho, delta))


def gaussian_epsilon(rho: float, delta: float) -> float:
    """ε at δ of Gaussian noise that is ρ-zCDP, by its own law.

    Relative accuracy 1e-10.
    """
    high = concentrated_epsilon(rho, delta)

    def excess(epsilon: float) -> float:
        return math.log(max(gaussian_delta(epsilon, rho), 1e-300)) - math.log(delta)

    if gaussian_delta(0.0, rho) <= delta:
        raise InvalidInput(("person_delta"), delta, "is as large as what no ε at all would give")
    root: float = scipy.optimize.brentq(excess, 0.0, high, rtol=1e-10, xtol=1e-14)
    return root
