"""Private one-coin crowds: wisdom, exact errors of votes, bounds of Wang and Xu and where they hold.

n workers of abilities p, m tasks, labels 0 and 1; each answer is flipped with probability 1/(1 + e^ε). An answer is
then right with probability ½ + t(ε)(p − ½), t = tanh(ε/2). ε is per answer, in nats, > 0, and may be infinite.
`right` is the probability that a released answer is right; `answered` that there is one.
"""

from typing import Annotated

import numpy as np
from scipy import stats
from scipy.special import ndtr

from pipeline.parameters import InvalidInput
from pipeline.theory.btl import amplification, attenuation

BERRY_ESSEEN = 0.4748  # Shevtsova (2011)
MOST_STATES = 1 << 22  # outcomes that `oracle_error` enumerates


def private_ability(abilities, epsilon):
    """p̂ = ½ + t(ε)(p − ½): probability that a released answer is right; broadcasts. Source: eq. (22)."""
    return 0.5 + attenuation(epsilon) * (np.asarray(abilities) - 0.5)


def private_effective_ability(abilities, epsilon):
    """μ̂ = max(p̂, 1 − p̂) = t(ε) max(p, 1 − p) + 1/(e^ε + 1); broadcasts. Source: eq. (11), (12)."""
    return 0.5 + attenuation(epsilon) * np.abs(np.asarray(abilities) - 0.5)


def wisdom(abilities, epsilon=np.inf):
    """v̂ = n⁻¹ Σ_i (2μ̂_i − 1)² = t(ε)² n⁻¹ Σ_i (2p_i − 1)²: (..., n) -> (...). Source: eq. (13)."""
    return attenuation(epsilon) ** 2 * ((2 * np.asarray(abilities) - 1) ** 2).mean(axis=-1)


def label_error_bound(n, wisdom):
    """2exp(−n v̂/2), of the share of wrong labels; broadcasts. It says something from n v̂ = 2 log 4 on.

    Source: Wang and Xu, Theorem 2. Its exponent is right to first order for abilities near ½: see `oracle_bounds`.
    """
    return 2 * np.exp(-np.asarray(n) * wisdom / 2)


def initial_error_bound(m):
    """√(log m/m), the most that Theorem 2 allows of the initial vector; broadcasts. Source: eq. (14)."""
    return np.sqrt(np.log(m) / m)


def projection_range(m, wisdom):
    """(low, high) of the projection λ in Theorem 2; empty, low > high, until m is 2·10⁵ or more. Source: eq. (15)."""
    return 16 / np.asarray(wisdom) * initial_error_bound(m), 1 / 8 - initial_error_bound(m) / 2


def theorem_2_holds(n, m, wisdom, projection, initial_error):
    """Whether Theorem 2's printed conditions hold; broadcasts. Its proof needs more: `theorem_2_proved`."""
    low, high = projection_range(m, wisdom)
    return ((n <= m) & (np.log(m) <= n * np.asarray(wisdom)) & (initial_error <= initial_error_bound(m))
            & (low <= projection) & (projection <= high))


def theorem_2_proved(n, m, wisdom, projection, initial_error):
    """Whether the printed conditions and the step from eq. (33) to (34) hold; broadcasts.

    That step needs (4n/λ)√(log m/m) + 4 log(1/λ)√(n log m) ≤ n v̂/2, so v̂ ≥ 16.6 √(log m/n) at least: never for
    experts and spammers with ⌈n^δ⌉ experts, δ < ½.
    """
    lost = 4 * n / projection * initial_error_bound(m) + 4 * np.log(1 / np.asarray(projection)) * np.sqrt(n * np.log(m))
    return theorem_2_holds(n, m, wisdom, projection, initial_error) & (lost <= n * np.asarray(wisdom) / 2)


def ability_error_bound(m: int, epsilon: float) -> Annotated[float, "6√(log m/(mε²)), bound of Theorem 3", "1"]:
    """6 √(log m/(m ε²)), of the largest error of an ability; broadcasts. Source: Wang and Xu, Theorem 3."""
    return 6 / np.asarray(epsilon) * initial_error_bound(m)


def ability_error_sharper(m, epsilon):
    """2a(ε) √(log m/m), from which Theorem 3's bound follows for ε a(ε) ≤ 3, ε ≤ 2.57; a = coth(ε/2); broadcasts."""
    return 2 * amplification(epsilon) * initial_error_bound(m)


def theorem_3_holds(n, m, wisdom, projection, initial_error, epsilon):
    """Whether Theorem 3's printed conditions hold: Theorem 2's and ε ≤ 1; broadcasts."""
    return theorem_2_holds(n, m, wisdom, projection, initial_error) & (np.asarray(epsilon) <= 1)


def experts(n, expert_exponent):
    """⌈n^x⌉, the number of experts among n workers; whole powers are not rounded up. Source: Wang and Xu, §4."""
    return np.ceil(np.asarray(n, float) ** expert_exponent - 1e-9).astype(int)


def expert_wisdom(
    n: int, expert_exponent: float, epsilon: float
) -> Annotated[float, "t(ε)²⌈n^x⌉, wisdom of all workers", "1"]:
    """n v̂ = t(ε)²⌈n^x⌉ of perfect experts among spammers; broadcasts. Source: Wang and Xu, §4."""
    return attenuation(epsilon) ** 2 * experts(n, expert_exponent)


def expert_error_bound(
    n: int, expert_exponent: float, epsilon: float
) -> Annotated[float, "2exp(−½t²⌈n^x⌉), bound of Theorem 4", "1"]:
    """2exp(−½t(ε)²⌈n^x⌉); broadcasts. Source: Wang and Xu, eq. (19)."""
    return 2 * np.exp(-expert_wisdom(n, expert_exponent, epsilon) / 2)


def theorem_4_holds(epsilon, expert_exponent):
    """Whether Theorem 4's printed conditions but "n > C" hold: ε > ln(85/15), 0 < x < ½; broadcasts."""
    exponent = np.asarray(expert_exponent)
    return (np.asarray(epsilon) > np.log(85 / 15)) & (0 < exponent) & (exponent < 0.5)


def theorem_4_proved(n, expert_exponent, epsilon, simple=False):
    """Whether n is large enough for Theorem 4's proof that voting's error is above the bound; broadcasts.

    The proof, with the right constant of Berry and Esseen: (e^ε/(e^ε + 1))^k (Φ(−k/√(n − k)) − 0.4748/√(n − k)) is at
    least the bound, k = ⌈n^x⌉. `simple` leaves the first factor out, all experts being right: the vote is wrong
    wherever k spammers too many are, whatever experts say, so it is not needed, nor a least ε.
    """
    k = experts(n, expert_exponent)
    rest = np.maximum(np.asarray(n) - k, 1)
    shown = np.where(n > k, ndtr(-k / np.sqrt(rest)) - BERRY_ESSEEN / np.sqrt(rest), 0)
    if not simple:
        shown = shown * private_ability(1.0, epsilon) ** k
    return shown >= expert_error_bound(n, expert_exponent, epsilon)


def expert_vote_error(
    n: int, expert_exponent: float, epsilon: float
) -> Annotated[float, "exact error of private majority vote", "1"]:
    """Exact error of private majority vote, perfect experts among spammers, ties by a fair coin; one number.

    A tie is wrong for one label and right for the other by the paper's rule, so this is also its mean error over both
    labels. O(experts). Source: Wang and Xu, eq. (18); the sum of two binomials.
    """
    k = int(experts(n, expert_exponent))
    for_right = np.arange(k + 1)
    wrong = stats.binom.cdf(np.stack([np.ceil(n / 2) - 1 - for_right, np.floor(n / 2) - for_right]), n - k, 0.5)
    return float(stats.binom.pmf(for_right, k, private_ability(1.0, epsilon)) @ wrong.mean(axis=0))


def net_votes(right, answered=1.0):
    """Law of right minus wrong answers to a task, −n … n: (..., n) -> (..., 2n + 1); both arguments broadcast.

    Exact, by adding workers one by one: O(n²) for each law. Poisson–binomial where all answer.
    """
    right, answered = np.broadcast_arrays(np.asarray(right, float), answered)
    n = right.shape[-1]
    law = np.zeros((*right.shape[:-1], 2 * n + 1))
    law[..., n] = 1
    for i in range(n):
        up, none = (right[..., i] * answered[..., i])[..., None], (1 - answered[..., i])[..., None]
        before, middle = law[..., n - i : n + i + 1].copy(), slice(n - i, n + i + 1)
        law[..., middle] *= none
        law[..., n - i + 1 : n + i + 2] += up * before
        law[..., n - i - 1 : n + i] += (1 - none - up) * before
    return law


def vote_error(right, answered=1.0, ties=0.5):
    """Exact error of majority vote: (..., n) -> (...). ties: probability that a tie, or no answer at all, goes wrong.

    By the paper's rule ties say 1: 1 for label 0, 0 for label 1, ½ on average over both. Source: eq. (18).
    """
    law = net_votes(right, answered)
    n = law.shape[-1] // 2
    return law[..., :n].sum(axis=-1) + ties * law[..., n]


def _net_group(right, count, answered):
    """(2 count + 1,): law of right minus wrong answers of workers who are all alike, by repeated squaring."""
    law, power = np.ones(1), np.array([answered * (1 - right), 1 - answered, answered * right])
    while count:
        if count & 1:
            law = np.convolve(law, power)
        count >>= 1
        power = np.convolve(power, power) if count else power
    return law


def oracle_error(right, counts=None, answered=1.0):
    """Exact least error by one who knows the abilities, labels alike likely: ½ Σ_s min(P(s), P(−s)); one number.

    right: (groups,). counts: (groups,), workers of each, 1 if None. Enumerates the net votes s of all groups: equal
    abilities should be one group, as experts and spammers are. Raises `InvalidInput` above 4·10⁶ outcomes.
    """
    right = np.asarray(right, float)
    counts = np.ones(len(right), int) if counts is None else np.asarray(counts)
    telling = right != 0.5
    sizes = 2 * counts[telling] + 1
    if np.log(sizes).sum() > np.log(MOST_STATES):
        raise InvalidInput("right", f"{len(sizes)} groups", "has too many outcomes to enumerate; use oracle_bracket")
    law = np.ones(1)
    for one, count in zip(right[telling], counts[telling], strict=True):
        law = np.multiply.outer(law, _net_group(one, int(count), answered)).ravel()
    return float(np.minimum(law, law[::-1]).sum() / 2)


def oracle_bounds(right, answered=1.0):
    """(least, most) of the oracle's error from Bhattacharyya's ρ: ½(1 − √(1 − ρ²)) and ½ρ; (..., n) -> (...) each.

    ρ = Π_i (1 − a + 2a√(p̂_i(1 − p̂_i))), a: `answered`. −log 2√(p̂(1 − p̂)) ≥ ½(2p̂ − 1)², equal to first order at ½:
    where all answer, ½ρ is at most a quarter of Theorem 2's bound.
    """
    right = np.asarray(right, float)
    rho = (1 - answered + 2 * answered * np.sqrt(right * (1 - right))).prod(axis=-1)
    return rho**2 / 2 / (1 + np.sqrt(1 - rho**2)), rho / 2


def oracle_bracket(right, answered=1.0, cells=1 << 14):
    """(least, most) of the oracle's error, any abilities: weights on a lattice, rounding accounted for; two numbers.

    right: (n,). The weighted vote Σ ±log(p̂/(1 − p̂)) is within `slack` of its lattice version, whose law is exact.
    O(n · cells); the bracket narrows as 1/cells.
    """
    right = np.maximum(right, 1 - np.asarray(right, float))
    unsure = right[(right > 0.5) & (right < 1)]
    missed = (1 - answered) ** np.count_nonzero(right == 1)  # no perfect worker answered
    if missed == 0 or not len(unsure):
        return missed / 2, missed / 2
    weights = np.log(unsure / (1 - unsure))
    step = weights.sum() / cells
    places = np.rint(weights / step).astype(int)
    slack = np.abs(weights / step - places).sum() + 1e-6  # also for rounding of floats
    top = int(places.sum())
    law = np.zeros(2 * top + 1)
    law[top], reach = 1, 0
    for one, place in zip(unsure, places, strict=True):
        before = law[top - reach : top + reach + 1].copy()
        law[top - reach : top + reach + 1] *= 1 - answered
        law[top - reach + place : top + reach + 1 + place] += answered * one * before
        law[top - reach - place : top + reach + 1 - place] += answered * (1 - one) * before
        reach += place
    none, at = (1 - answered) ** len(unsure), np.arange(-top, top + 1)  # no answer at all: a fair coin
    law[top] -= none
    return tuple(float(missed * (law[at < bound].sum() + none / 2)) for bound in (-slack, slack))


def _uniform_wisdom(low, high):
    """Mean of (2p − 1)², p uniform."""
    a, b = 2 * low - 1, 2 * high - 1
    return (a * a + a * b + b * b) / 3


def total_wisdom(
    n: int, epsilon: float, ability_low: float, ability_high: float
) -> Annotated[float, "n v̂, expected wisdom of all workers", "1"]:
    """n t(ε)² E(2p − 1)², abilities uniform; broadcasts. Source: Wang and Xu, eq. (13)."""
    return n * attenuation(epsilon) ** 2 * _uniform_wisdom(ability_low, ability_high)


def epsilon_from_wisdom(
    wanted_wisdom: Annotated[float, "n v̂"], n: int, ability_low: float, ability_high: float
) -> float:
    """ε at which n workers of uniform ability have n v̂ as wanted; InvalidInput if they have less without privacy."""
    most = n * _uniform_wisdom(ability_low, ability_high)
    if not 0 < wanted_wisdom < most:
        raise InvalidInput("wanted_wisdom", wanted_wisdom, f"must be above 0 and below {most:.4g}, what {n:,} workers "
                           "have without privacy")
    return float(2 * np.arctanh(np.sqrt(wanted_wisdom / most)))


def workers_from_wisdom(
    wanted_wisdom: Annotated[float, "n v̂"], epsilon: float, ability_low: float, ability_high: float
) -> int:
    """n of uniform ability with n v̂ as wanted, rounded; InvalidInput outside 1 to 10⁷ workers."""
    one = attenuation(epsilon) ** 2 * _uniform_wisdom(ability_low, ability_high)
    n = wanted_wisdom / one if one > 0 else np.inf
    if not 0.5 <= n < 1e7:
        raise InvalidInput("wanted_wisdom", wanted_wisdom, f"asks for {n:.3g} workers; must ask for 1 to 10⁷")
    return round(float(n))


def private_tasks(m: int, epsilon: float) -> Annotated[float, "mε², which rules errors of abilities", "1"]:
    """mε²; broadcasts. Source: Wang and Xu, Theorem 3."""
    return m * epsilon**2


def epsilon_from_private_tasks(wanted_tasks: Annotated[float, "mε²"], m: int) -> float:
    """ε = √(wanted/m); InvalidInput unless above 0."""
    if not wanted_tasks > 0:
        raise InvalidInput("wanted_tasks", wanted_tasks, "must be above 0 (mε²)")
    return float(np.sqrt(wanted_tasks / m))


def answers_per_task(n: int, answered: float) -> Annotated[float, "answers of a task on average", "answers"]:
    """n · answered; broadcasts."""
    return n * answered


def answered_from_answers(wanted_answers: Annotated[float, "answers of a task on average"], n: int) -> float:
    """Probability of an answer, wanted/n; InvalidInput unless above 0 and at most n."""
    if not 0 < wanted_answers <= n:
        raise InvalidInput("wanted_answers", wanted_answers, f"must be above 0 and at most n={n:,}")
    return wanted_answers / n
