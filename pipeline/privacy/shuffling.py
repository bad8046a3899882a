"""Binary answers that leave their people in random order: exact accounts,
also of several a person.

Of n reports on one question, each made by randomized response, a shuffler
shows how many are 1, and no more. Neighbours differ in one person's
answers; what the others answered is the worst that could be.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy import fft

from pipeline.privacy.composition import Test, answer_budget
from pipeline.privacy.gaussian_account import exact_rho
from pipeline.study.arrays import Floats, Integers
from pipeline.study.parameters import InvalidInput

# Numbers of ones among the others that are told apart, from some people on.
OTHERS = 50
# Losses on either side of 0 at which a law of losses has chances.
DOTS = 256
# Times what is unseen: chance of losses beyond the last of these.
NEGLIGIBLE = 10.0
# Of sums of chances by Fourier transforms, which is added.
ROUNDING = 1e-13
# Chance of a total below which it may be rounding.
UNSEEN = 1e-13
# Halvings of an interval of budgets, at most.
STEPS = 60
# Of the budget of an answer, which is never too large.
PRECISION = 1e-3
# Budget of an answer at which hardly any bit is ever flipped.
LARGEST = 40.0


def shuffled_binary_delta(epsilon: float, local_epsilon: float, n: int) -> float:
    """Exact δ at ε of n binary answers, each by ε0 randomized response, in
    random order.

    Only the number of ones can be seen. Neighbours differ in one person's
    answer; the others may have any number of ones, and the worst counts. A
    lower bound for other reports of budget ε0. Absolute error below 1e-12.
    O(n √n). Source: the reference for Feldman, McMillan and Talwar (2022),
    Theorem III.1.
    """
    return _worst(epsilon, local_epsilon, n)[0]


def shuffled_exact_epsilon(local_epsilon: float, n: int, delta: float) -> float:
    """ε at δ of shuffled answers of budget ε0, where
    `shuffled_binary_delta` is δ.

    Between 0 and ε0.
    Solved for one number of ones at a time: from the worst at one ε to the
    worst at the next, until it is the same.
    """
    epsilon = 0.0
    tried: set[int] = set()
    while True:
        largest, answering_one = _worst(epsilon, local_epsilon, n)
        if largest <= delta or answering_one in tried:
            return epsilon
        tried.add(answering_one)
        law = _laws(local_epsilon, n, np.array([answering_one]))
        low = epsilon
        high = float(local_epsilon)
        # No root finder of scipy: it returns other last digits.
        for _ in range(50):
            middle = (low + high) / 2
            if _deltas(middle, local_epsilon, law)[0] > delta:
                low = middle
            else:
                high = middle
        epsilon = high


def shuffled_person_delta(person: float, answer: float, answers: int, reports: int) -> float:
    """δ at ε = `person` of k answers at ε0 = `answer`, each among `reports`
    shuffled ones.

    The answers of a person are to k questions, and may all change. Never
    too small; too large by what 1 in `2·OTHERS` people are worth, and by
    less than 1 % of ε for the steps of losses. For up to `2·OTHERS` reports
    the others' answers are the exact worst of each question. O(answers ·
    DOTS · log) and O(OTHERS · √reports · log). Source: composition by
    dominating pairs (Zhu, Dong and Wang, 2022), their losses on a grid by
    connecting dots (Doroshenko et al., 2022).

    >>> shuffled_person_delta(0.5, 1.0, 1, reports=1000) < 1e-9
    True
    """
    if not 0 < answer < math.inf:
        raise InvalidInput("answer", answer, "must be a number > 0, and finite, in nats")
    if person >= answer * answers:
        return 0.0
    profile = _Profile(answer, reports)
    unseen = answers * (profile.unseen + ROUNDING)
    if answers == 1:
        return min(1.0, float(profile.delta(np.array([person]))[0]) + unseen)
    step, chances, infinite = _dotted(profile)
    first, composed = _composed(chances, answers)
    losses = step * (first + np.arange(len(composed)))
    above = losses > person
    finite = composed[above] @ -np.expm1(person - losses[above])
    lost = -math.expm1(answers * math.log1p(-min(infinite, 0.5)))
    return min(1.0, float(finite) + lost + unseen)


@functools.lru_cache(maxsize=4096)
def shuffled_answer_budget(person: float, answers: int, delta: float, reports: int) -> float:
    """Largest budget ε0 of one of k answers, each among `reports` shuffled
    ones: (ε, δ)-DP.

    ε = `person` of all answers of a person. Never less than without a
    shuffler, `answer_budget`, and up to 0.1 % below the largest that
    `shuffled_person_delta` allows. Some 10 accounts. Raises InvalidInput.

    >>> shuffled_answer_budget(1.0, 1, 1e-6, reports=10_000) > 4
    True
    """
    if not 0 < delta < 1:
        allowed = "must be a number > 0 and < 1: shuffling makes no pure promise larger"
        raise InvalidInput("person_delta", delta, allowed)
    if reports < 1:
        raise InvalidInput("reports", reports, "must be a whole number ≥ 1")
    unshuffled = answer_budget(person, answers, delta)

    def is_private(answer: float) -> bool:
        return shuffled_person_delta(person, answer, answers, reports) <= delta

    guess = _first_order(person, answers, delta, reports)
    low, high = _bracket(is_private, unshuffled, guess)
    for _ in range(STEPS):
        middle = (low + high) / 2
        if high - low < PRECISION * low:
            break
        if is_private(middle):
            low = middle
        else:
            high = middle
    return low


def _first_order(person: float, answers: int, delta: float, reports: int) -> float:
    """Budget of an answer whose shuffled numbers of ones are as noisy as
    Gaussian noise must be.
    """
    rho = exact_rho(person, delta)
    return 2 * math.asinh(math.sqrt(reports * rho / (2 * answers)))


def _bracket(is_private: Test, low: float, guess: float) -> tuple[float, float]:
    """Two budgets, of which the lower one is private.

    The other is not, or is `LARGEST`.
    """
    high = LARGEST
    for share in (1.02, 0.99, 0.95, 0.85, 0.7, 0.5, 0.25):
        probe = share * guess
        if not low < probe < high:
            continue
        if is_private(probe):
            return probe, high
        high = probe
    return low, max(low, high)


class _Profile:
    """The largest δ at each loss of one question, whatever the others
    answered.

    Of c ones among the n − 1 others, c a multiple of g: where it is none,
    the attacker is told the answers of g − 1 of them, ones and zeros, so
    that a multiple is left among n − g. More ones than zeros are the mirror
    image.
    """

    def __init__(self, local_epsilon: float, reports: int) -> None:
        group = max(1, reports // (2 * OTHERS))
        remaining = reports - group + 1
        numbers = np.arange(0, (remaining - 1) // 2 + 1, group)
        laws = _laws(local_epsilon, remaining, numbers)
        laws[laws < UNSEEN] = 0.0
        self.local_epsilon = local_epsilon
        self.unseen = float(np.abs(1 - laws.sum(axis=1)).max())
        flip = 1 / (1 + math.exp(local_epsilon))
        before = np.pad(laws, ((0, 0), (1, 0)))
        after = np.pad(laws, ((0, 0), (0, 1)))
        if_one = (1 - flip) * before + flip * after
        if_zero = flip * before + (1 - flip) * after
        self._directions = [_by_loss(if_one, if_zero), _by_loss(if_zero, if_one)]

    def delta(self, losses: Floats) -> Floats:
        """(losses,): δ at each of these losses ≥ 0, but for what is
        `unseen`.
        """
        odds = np.exp(losses)
        largest = np.zeros(len(losses))
        for law in self._directions:
            for row, falling in enumerate(law.falling):
                # So many totals, from the largest loss on, have a loss
                # above this one.
                many = np.searchsorted(falling, -losses)
                excess = law.true[row, many] - odds * law.false[row, many]
                np.maximum(largest, excess, out=largest)
        largest[losses >= self.local_epsilon] = 0.0
        return largest


class _ByLoss(NamedTuple):
    """Totals from the largest loss of privacy on, for each number of ones
    among the others.

    true, false: (rows, totals + 1), sums of the chances of so many totals.
    falling: (rows, totals), losses with the sign turned, so that they rise.
    """

    true: Floats
    false: Floats
    falling: Floats


def _by_loss(true: Floats, false: Floats) -> _ByLoss:
    """Chances of totals, (rows, totals), under both neighbours, in the
    order of the loss.
    """
    falling = np.full(true.shape, np.inf)
    is_seen = true > 0
    with np.errstate(divide="ignore"):
        falling[is_seen] = np.log(false[is_seen]) - np.log(true[is_seen])
    order = np.argsort(falling, axis=1)
    rising = np.take_along_axis(falling, order, axis=1)
    return _ByLoss(_sums(true, order), _sums(false, order), rising)


def _sums(chances: Floats, order: Integers) -> Floats:
    """Sums of the first chances in an order, from none of them on."""
    ordered = np.take_along_axis(chances, order, axis=1)
    sums: Floats = np.pad(np.cumsum(ordered, axis=1), ((0, 0), (1, 0)))
    return sums


def _dotted(profile: _Profile) -> tuple[float, Floats, float]:
    """Step of losses, their chances (2·DOTS + 1,), and the chance of an
    infinite loss.

    A pair of laws whose δ is that of the profile at each dot, and on the
    line between two dots: never below the profile, which is convex in e^ε.
    """
    halvings = np.arange(60) / 4
    reaches = np.asarray(profile.local_epsilon * np.exp2(-halvings), float)
    tail = profile.delta(reaches)
    reach = float(reaches[tail <= NEGLIGIBLE * (profile.unseen + ROUNDING)].min())
    step = reach / DOTS
    loss = np.asarray(step * np.arange(DOTS + 1), float)
    upper = profile.delta(loss)
    odds = np.exp(loss)
    # δ at −ε is 1 − e^−ε + e^−ε δ at ε.
    lower = -np.expm1(-loss[:0:-1]) + upper[:0:-1] / odds[:0:-1]
    deltas = np.concatenate([[1.0], lower, upper])
    all_odds = np.concatenate([[0.0], 1 / odds[:0:-1], odds])
    slopes = np.append(np.diff(deltas) / np.diff(all_odds), 0.0)
    chances = np.maximum(all_odds[1:] * np.diff(slopes), 0.0)
    return step, chances, float(upper[-1])


def _composed(chances: Floats, times: int) -> tuple[int, Floats]:
    """Number of steps of the first sum, and the law of the sum of so many
    independent losses.

    By Fourier transforms around the mean: what lies outside, and is added
    at the other end, is below `ROUNDING` by Bernstein's inequality.
    """
    steps = np.arange(len(chances)) - DOTS
    total = chances.sum()
    mean = float(chances @ steps) / total
    variance = float(chances @ (steps - mean) ** 2) / total
    surprise = math.log(2 / ROUNDING)
    reach = math.sqrt(2 * times * variance * surprise) + 4 / 3 * DOTS * surprise
    farthest = times * (DOTS + abs(mean))
    half = math.ceil(min(reach, farthest)) + 1
    length = int(fft.next_fast_len(2 * half + 1, real=True))
    first = round(times * mean) - length // 2
    folded = np.bincount(steps % length, chances, length)
    cyclic = fft.irfft(fft.rfft(folded) ** times, length)
    law: Floats = np.maximum(np.roll(cyclic, -(first % length)), 0.0)
    return first, law


def _worst(epsilon: float, local_epsilon: float, n: int) -> tuple[float, int]:
    """The largest δ at ε, and the number of ones among the n − 1 others
    that has it.

    Up to (n − 1)/2 ones are tried: more ones than zeros are the mirror
    image.
    """
    deltas = []
    for numbers in np.array_split(np.arange((n - 1) // 2 + 1), n // 1000 + 1):
        laws = _laws(local_epsilon, n, numbers)
        deltas.append(_deltas(epsilon, local_epsilon, laws))
    every_delta = np.concatenate(deltas)
    return float(every_delta.max()), int(every_delta.argmax())


def _laws(local_epsilon: float, n: int, answering_one: Integers) -> Floats:
    """Laws of the number of ones that n − 1 others report, (k, window).

    answering_one: (k,), how many of them have a one. By Fourier inversion,
    around their means: what lies outside, and is added at the other end, is
    below 1e-18.
    """
    flip = 1 / (1 + math.exp(local_epsilon))
    k = answering_one[:, None]
    # Bernstein's inequality.
    reach = math.sqrt(84 * (n - 1) * flip * (1 - flip)) + 28
    length = 2 * math.ceil(reach) + 4
    first = np.floor(k * (1 - flip) + (n - 1 - k) * flip) - length // 2
    angle = -2j * np.pi / length * np.arange(length // 2 + 1)
    keep = 1 - flip
    # Logarithms of characteristic functions, finite if ε0 is 0.
    of_one = np.log(flip + keep * np.exp(angle) + 1e-300)
    of_zero = np.log(keep + (1 - keep) * np.exp(angle) + 1e-300)
    transform = np.exp(k * of_one + (n - 1 - k) * of_zero - first * angle)
    laws: Floats = np.fft.irfft(transform, length)
    return laws


def _deltas(epsilon: float, local_epsilon: float, laws: Floats) -> Floats:
    """δ at ε for each number of ones among the others, (k,): the larger of
    both directions.
    """
    flip = 1 / (1 + math.exp(local_epsilon))
    odds = math.exp(epsilon)
    more = 1 - flip - odds * flip
    less = odds * (1 - flip) - flip
    before = np.pad(laws, ((0, 0), (1, 0)))
    after = np.pad(laws, ((0, 0), (0, 1)))
    up = np.maximum(more * before - less * after, 0).sum(1)
    down = np.maximum(more * after - less * before, 0).sum(1)
    worse: Floats = np.maximum(up, down)
    return worse
