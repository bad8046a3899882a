"""Budgets of all answers of one person, from the budget of one of them, and
back.

Every answer is released by randomized response at ε₀, on its own. This is
the worst case of all mechanisms that are ε₀-DP (Kairouz, Oh and Viswanath),
so that what holds for it holds for them.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy import special

from pipeline.study.arrays import Floats
from pipeline.study.parameters import InvalidInput

Test = Callable[[float], bool]
# Of an interval, at most: until no double lies between its ends.
HALVINGS = 200


def composed_delta(person: float, answer: float, answers: int) -> float:
    """Exact δ at ε = `person` of k answers at budget ε₀ = `answer` each,
    all of which may change.

    δ = Σ_b max(0, P(b) − e^ε Q(b)). b ~ P is the number of flipped answers
    if one neighbour is true, Binomial(k, 1/(1 + e^ε₀)); Q is the law of
    k − b. Scalars; person ≥ 0, in nats. O(k), all terms positive: relative
    error about k·1e-16. Raises InvalidInput.
    Source: Kairouz, Oh and Viswanath (2015), Theorem 3.3.

    >>> round(composed_delta(0.0, 1.0, 1), 4)  # tanh(1/2)
    0.4621
    >>> composed_delta(2.0, 1.0, 2)
    0.0
    """
    answer = _positive("answer", answer)
    answers = _whole("answers", answers)
    if not person >= 0:
        raise InvalidInput("person", person, "must be a number ≥ 0, in nats")
    # Of these numbers of flips the loss ε₀(k − 2b) is above ε.
    most_flips = math.ceil((answers - person / answer) / 2) - 1
    flips = np.arange(most_flips + 1)
    loss = answer * (answers - 2 * flips)
    excess = -np.expm1(np.minimum(person - loss, 0.0))
    return float((np.exp(_log_chance(flips, answers, answer)) * excess).sum())


def _log_chance(flips: np.ndarray, answers: int, answer: float) -> Floats:
    """Logarithm of P(b flips among k answers), each flipped with chance
    1/(1 + e^ε₀).
    """
    ways = (
        special.gammaln(answers + 1)
        - special.gammaln(flips + 1)
        - special.gammaln(answers - flips + 1)
    )
    log_chance: Floats = ways - flips * answer - answers * np.log1p(math.exp(-answer))
    return log_chance


@functools.lru_cache(maxsize=65536)
def answer_budget(person: float, answers: int, delta: float = 0.0) -> float:
    """Largest budget ε₀ of one of k answers, all of which together are
    (ε, δ)-DP for a person.

    ε = `person`, in nats. With δ = 0 it is ε/k; otherwise the root of
    `composed_delta` in ε₀, rounded down, so that δ is never passed.
    Scalars. O(k) for each of about 60 halvings. Raises InvalidInput.
    Source: Kairouz, Oh and Viswanath (2015), Theorem 3.3.

    >>> answer_budget(1.0, 4)
    0.25
    >>> answer_budget(1.0, 100, delta=1e-6) > 0.0158
    True
    """
    person = _positive("person", person)
    answers = _whole("answers", answers)
    _check_delta(delta)
    if delta == 0:
        return person / answers
    # One of several answers has at most what one alone may have.
    low = person / answers
    high = _single_budget(person, delta)

    def is_private(answer: float) -> bool:
        return composed_delta(person, answer, answers) <= delta

    largest, _ = _border(low, high, is_private)
    return largest


def _single_budget(person: float, delta: float) -> float:
    """Budget ε₀ at which one answer alone is (ε, δ)-DP:
    1 + e^ε₀ = (1 + e^ε)/(1 − δ).
    """
    log_sum = np.logaddexp(0.0, person) - math.log1p(-delta)
    return float(log_sum + math.log(-math.expm1(-log_sum)))


def person_budget(answer: float, answers: int, delta: float = 0.0) -> float:
    """ε at δ, in nats, of k answers at budget ε₀ = `answer` each: the
    inverse of `answer_budget`.

    With δ = 0 it is kε₀; otherwise the smallest ε ≥ 0 with
    `composed_delta` ≤ δ, rounded up. Scalars. Raises InvalidInput.

    >>> person_budget(0.25, 4)
    1.0
    """
    answer = _positive("answer", answer)
    answers = _whole("answers", answers)
    _check_delta(delta)
    high = answer * answers
    if delta == 0:
        return high
    low = 0.0
    if composed_delta(low, answer, answers) <= delta:
        return low

    def is_exceeded(person: float) -> bool:
        return composed_delta(person, answer, answers) > delta

    _, least = _border(low, high, is_exceeded)
    return least


def _border(low: float, high: float, is_below: Test) -> tuple[float, float]:
    """Two neighbouring numbers: `is_below` is true at the lower one only."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if is_below(middle):
            low = middle
        else:
            high = middle
    return low, high


def _positive(key: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise InvalidInput(key, value, "must be a number > 0, and finite, in nats")
    return float(value)


def _check_delta(delta: float) -> None:
    if not 0 <= delta < 1:
        allowed = "must be a number ≥ 0 and < 1"
        raise InvalidInput("person_delta", delta, allowed)


def _whole(key: str, value: int) -> int:
    if value != int(value) or value < 1:
        raise InvalidInput(key, value, "must be a whole number ≥ 1")
    return int(value)
