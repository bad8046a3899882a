"""Exact errors of votes on a task: of majority vote, and of the oracle who knows the
workers' abilities.

Labels are 0 and 1, and equally likely. `right` is the
probability that a worker's released answer is right,
`answered` that there is one; workers answer independently,
given the label.
"""

from typing import Annotated

import numpy as np
import scipy

from pipeline.study.arrays import Array, Floats, Integers
from pipeline.study.parameters import InvalidInput

from .wisdom import experts, private_ability

MOST_STATES = 1 << 22  # outcomes that `oracle_error` enumerates


def expert_vote_error(
    n: int, expert_exponent: float, epsilon: float
) -> Annotated[float, "exact error of private majority vote", "1"]:
    """Exact error of private majority vote, perfect experts among spammers, ties by a fair coin.

    One number.

    A tie is wrong for one label and right for the other by
    the paper's rule, so this is also its mean error over
    both labels. O(experts). Source: Wang and Xu, eq. (18);
    the sum of two binomials.
    """
    k = int(experts(n, expert_exponent))
    for_right = np.arange(k + 1)
    wrong = scipy.stats.binom.cdf(
        np.stack([np.ceil(n / 2) - 1 - for_right, np.floor(n / 2) - for_right]), n - k, 0.5
    )
    return float(
        scipy.stats.binom.pmf(for_right, k, private_ability(1.0, epsilon)) @ wrong.mean(axis=0)
    )


def net_votes(right: Array, answered: Array | float = 1.0) -> Floats:
    """Law of the number of right minus wrong answers to a task, which runs from −n to n.

    right, answered: (..., n), broadcast against each other.
    Returns (..., 2n + 1) probabilities. Exact, by adding
    workers one by one: O(n²) for each law. Right answers
    are Poisson–binomial where all answer.
    """
    right, answered = np.broadcast_arrays(np.asarray(right, float), answered)
    n = right.shape[-1]
    law = np.zeros((*right.shape[:-1], 2 * n + 1))
    law[..., n] = 1
    for i in range(n):
        is_right = (right[..., i] * answered[..., i])[..., None]
        is_missing = (1 - answered[..., i])[..., None]
        before = law[..., n - i : n + i + 1].copy()
        law[..., n - i : n + i + 1] *= is_missing
        law[..., n - i + 1 : n + i + 2] += is_right * before
        law[..., n - i - 1 : n + i] += (1 - is_missing - is_right) * before
    return law


def vote_error(right: Array, answered: Array | float = 1.0, ties: Array | float = 0.5) -> Floats:
    """Exact error of majority vote.

    right, answered: (..., n), as in `net_votes`. ties:
    (...), probability that a tie, or no answer at all, goes
    wrong: by the paper's rule ties say 1, so 1 for label 0,
    0 for label 1, ½ on average over both. Returns (...).
    Source: Wang and Xu, eq. (18).
    """
    law = net_votes(right, answered)
    n = law.shape[-1] // 2
    error: Floats = law[..., :n].sum(axis=-1) + ties * law[..., n]
    return error


def oracle_error(right: Array, counts: Array | None = None, answered: float = 1.0) -> float:
    """Exact least error of any rule that knows the abilities, labels equally likely:
    ½ Σ_s min(P(s), P(−s)).

    right: (groups,). counts: (groups,), workers of each, 1
    if None. Enumerates the net votes s of all groups: equal
    abilities should be one group, as experts and spammers
    are. Raises `InvalidInput` above 4·10⁶ outcomes.
    """
    right = np.asarray(right, float)
    if counts is None:
        counts = np.ones(len(right), int)
    counts = np.asarray(counts)
    informative = right != 0.5
    sizes = 2 * counts[informative] + 1
    if np.log(sizes).sum() > np.log(MOST_STATES):
        raise InvalidInput(
            "right",
            f"{len(sizes)} groups",
            "has too many outcomes to enumerate; use oracle_bracket",
        )
    law = np.ones(1)
    for ability, count in zip(right[informative], counts[informative], strict=True):
        of_group = _net_votes_of_group(ability, int(count), answered)
        law = np.multiply.outer(law, of_group).ravel()
    return float(np.minimum(law, law[::-1]).sum() / 2)


def _net_votes_of_group(right: float, count: int, answered: float) -> Floats:
    """(2 count + 1,): law of right minus wrong answers of workers of one ability, by
    repeated squaring.
    """
    law = np.ones(1)
    power = np.array([answered * (1 - right), 1 - answered, answered * right])
    while count:
        if count & 1:
            law = np.convolve(law, power)
        count >>= 1
        if count:
            power = np.convolve(power, power)
    return law


def oracle_bounds(right: Array, answered: Array | float = 1.0) -> tuple[Floats, Floats]:
    """(least, most) of the oracle's error from Bhattacharyya's ρ: ½(1 − √(1 − ρ²)) and ½ρ.

    right, answered: (..., n). Returns (...) each; the lower
    bound is exact for one worker who answers. ρ = Π_i (1 −
    a + 2a√(p̂_i(1 − p̂_i))), a: `answered`. −log 2√(p̂(1 −
    p̂)) ≥ ½(2p̂ − 1)², equal to first order at ½: where all
    answer, ½ρ is at most a quarter of Theorem 2's bound.
    """
    right = np.asarray(right, float)
    rho: Floats = (1 - answered + 2 * answered * np.sqrt(right * (1 - right))).prod(axis=-1)
    return rho**2 / 2 / (1 + np.sqrt(1 - rho**2)), rho / 2


def oracle_bracket(
    right: Array, answered: float = 1.0, cells: int = 1 << 14
) -> tuple[float, float]:
    """(least, most) of the oracle's error for any abilities, from a vote with weights
    rounded to a lattice.

    right: (n,). cells: points of the lattice. The weighted
    vote Σ ±log(p̂/(1 − p̂)) is within `slack` steps of its
    lattice version, whose law is exact; so the oracle is
    wrong at least where that is below −slack, at most where
    it is below slack. O(n · cells); the bracket narrows as
    1/cells.
    """
    right = np.maximum(right, 1 - np.asarray(right, float))
    unsure = right[(right > 0.5) & (right < 1)]
    missed: float = (1 - answered) ** np.count_nonzero(right == 1)  # no perfect worker answered
    if missed == 0 or not len(unsure):
        return missed / 2, missed / 2
    weights = np.log(unsure / (1 - unsure))
    step = weights.sum() / cells
    rounded = np.rint(weights / step).astype(int)
    slack = np.abs(weights / step - rounded).sum() + 1e-6  # also for rounding of floats
    law = _weighted_votes(unsure, rounded, answered)
    top = len(law) // 2
    no_answer: float = (1 - answered) ** len(unsure)  # then a fair coin decides
    law[top] -= no_answer
    vote = np.arange(-top, top + 1)
    least = float(missed * (law[vote < -slack].sum() + no_answer / 2))
    most = float(missed * (law[vote < slack].sum() + no_answer / 2))
    return least, most


def _weighted_votes(right: Floats, weights: Integers, answered: float) -> Floats:
    """(2W + 1,): law of Σ ±weights, + for a right answer, − for a wrong one, none at all else.

    W = Σ weights.

    right: (n,) probabilities of a right answer. weights:
    (n,), whole numbers ≥ 0.
    """
    top = int(weights.sum())
    law = np.zeros(2 * top + 1)
    law[top] = 1
    reach = 0
    for ability, weight in zip(right, weights, strict=True):
        before = law[top - reach : top + reach + 1].copy()
        law[top - reach : top + reach + 1] *= 1 - answered
        law[top - reach + weight : top + reach + 1 + weight] += answered * ability * before
        law[top - reach - weight : top + reach + 1 - weight] += answered * (1 - ability) * before
        reach += weight
    return law
