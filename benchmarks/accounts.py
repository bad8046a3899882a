"""Accounts and attacks against dp-accounting and riskcal, on 1,000 drawn cases of each kind.

Composition of randomized response, shuffled answers (alone, and composed), and the best attacks on
flipped bits, Gaussian and Laplace noise. Each line says how many cases there were and the largest
difference; the tests run the first cases of each kind.

`python -m benchmarks accounts 50` runs 50 of each.
"""

import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
import riskcal
import scipy
from dp_accounting.pld import privacy_loss_distribution as peer
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.pld_pmf import SparsePLDPmf, create_pmf_pessimistic_connect_dots

from pipeline.privacy.attacks import Bound, FlippedBits, GaussianShifts, LaplaceShift
from pipeline.privacy.composition import composed_delta
from pipeline.privacy.shuffling import DOTS, shuffled_binary_delta, shuffled_person_delta
from pipeline.study.arrays import Floats
from pipeline.study.disclosure import Attack

COUNT = 1000
BAR = 1e-6
SEED = 45
FALSE_ALARMS = (0.001, 0.01, 0.05, 0.3)
DENSE = 5000  # steps of losses of Laplace noise from 0 to ε, which are not on a grid
Pair = tuple[float, float]  # ours, and the peer's


def composed(rng: np.random.Generator) -> Pair:
    """δ of k answers by randomized response; the peer's grid of losses is that of the answers."""
    answers = int(rng.integers(1, 120))
    answer = float(np.exp(rng.uniform(np.log(0.02), np.log(3))))
    person = float(rng.uniform(0, 1)) * answers * answer
    theirs = _flipped(answer, answers).get_delta_for_epsilon(person)
    return composed_delta(person, answer, answers), theirs


def _flipped(answer: float, answers: int) -> peer.PrivacyLossDistribution:
    promise = DifferentialPrivacyParameters(answer)
    one = peer.from_privacy_parameters(promise, value_discretization_interval=answer)
    return one.self_compose(answers)


def shuffled(rng: np.random.Generator) -> Pair:
    """δ of one shuffled answer; the peer is told both laws for each number of ones of the others,
    of which the worst counts.
    """
    reports = int(rng.integers(2, 50))
    answer = float(rng.uniform(0.2, 4))
    epsilon = float(rng.uniform(0, 0.95)) * answer
    theirs = 0.0
    for ones in range((reports - 1) // 2 + 1):
        pair = [_law(answer, reports, ones, own) for own in (0, 1)]
        logs = [dict(enumerate(np.log(law).tolist())) for law in pair]
        losses = peer.from_two_probability_mass_functions(
            *logs, value_discretization_interval=1e-8, symmetric=False
        )
        theirs = max(theirs, losses.get_delta_for_epsilon(epsilon))
    return shuffled_binary_delta(epsilon, answer, reports), theirs


def _law(answer: float, reports: int, ones: int, own: int) -> Floats:
    """Law of the number of ones among all reports, where `ones` of the others' are true."""
    flip = 1 / (1 + math.exp(answer))
    zeros = reports - 1 - ones
    of_ones = scipy.stats.binom.pmf(np.arange(ones + 1), ones, 1 - flip)
    of_zeros = scipy.stats.binom.pmf(np.arange(zeros + 1), zeros, flip)
    chance = 1 - flip if own else flip
    law: Floats = np.convolve(np.convolve(of_ones, of_zeros), [1 - chance, chance])
    return law


def shuffled_answers(rng: np.random.Generator) -> Pair:
    """δ of k shuffled answers: the peer has the worst δ at each loss by laws of its own, connects
    the dots at the same losses, and composes.
    """
    answers = int(rng.integers(2, 20))
    reports = int(rng.integers(2, 50))
    answer = float(rng.uniform(0.3, 2))
    person = float(rng.uniform(0.05, 0.8)) * answers * answer
    steps = np.arange(DOTS + 1)
    deltas = _worst(answer, reports, answer / DOTS * steps)
    negative = -np.expm1(-answer / DOTS * steps[:0:-1]) + deltas[:0:-1] * np.exp(
        -answer / DOTS * steps[:0:-1]
    )
    losses = np.concatenate([-steps[:0:-1], steps])
    every = np.minimum.accumulate(np.concatenate([negative, deltas]))
    one = create_pmf_pessimistic_connect_dots(answer / DOTS, losses, every)
    whole = peer.PrivacyLossDistribution(one).self_compose(answers)
    theirs = whole.get_delta_for_epsilon(person)
    return shuffled_person_delta(person, answer, answers, reports), theirs


def _worst(answer: float, reports: int, losses: Floats) -> Floats:
    """(losses,): the largest δ over all that the others may have answered, in both directions."""
    largest = np.zeros(len(losses))
    odds = np.exp(losses)[:, None]
    for ones in range((reports - 1) // 2 + 1):
        zero, one = (_law(answer, reports, ones, own) for own in (0, 1))
        for true, false in ((zero, one), (one, zero)):
            excess = np.maximum(true - odds * false, 0).sum(axis=1)
            largest = np.maximum(largest, excess)
    largest[-1] = 0.0  # no loss is above ε of the answer
    return largest


def attacked_bits(rng: np.random.Generator) -> Pair:
    """True alarms of the best attack on k flipped bits."""
    bits = int(rng.integers(1, 60))
    each = float(np.exp(rng.uniform(np.log(0.05), np.log(2))))
    return _powers(FlippedBits(each, bits), _flipped(each, bits), rng)


def attacked_counts(rng: np.random.Generator) -> Pair:
    """The same of k counts with discrete Gaussian noise, whose losses are on a grid."""
    entries = int(rng.integers(1, 30))
    variance = float(np.exp(rng.uniform(np.log(2), np.log(60))))
    reach = math.ceil(12 * math.sqrt(variance))
    noise = np.arange(-reach, reach + 1)
    chances = np.exp(-(noise**2) / (2 * variance))
    chances /= chances.sum()
    # Of noise x the loss is (2x + 1)/(2σ²): the peer's own rounding would move some by a step.
    by_loss = dict(zip((2 * noise + 1).tolist(), chances.tolist(), strict=True))
    one = peer.PrivacyLossDistribution(SparsePLDPmf(by_loss, 1 / (2 * variance), 0.0, True))
    attack = GaussianShifts(variance, entries, delta=1e-6)
    return _powers(attack, one.self_compose(entries), rng)


def attacked_number(rng: np.random.Generator) -> Pair:
    """The same of a number with Laplace noise."""
    epsilon = float(rng.uniform(0.1, 4))
    losses = peer.from_laplace_mechanism(1 / epsilon, value_discretization_interval=epsilon / DENSE)
    return _powers(LaplaceShift(epsilon), losses, rng)


def attacked_promise(rng: np.random.Generator) -> Pair:
    """The same of whatever (ε, δ) allows."""
    epsilon = float(rng.uniform(0.05, 5))
    delta = float(10 ** rng.uniform(-9, -2))
    alarms = float(rng.choice(FALSE_ALARMS))
    missed = riskcal.analysis.get_beta_from_adp(epsilon=epsilon, delta=delta, alpha=alarms)
    return Bound(epsilon, delta).power(alarms), 1 - float(missed)


def _powers(attack: Attack, losses: peer.PrivacyLossDistribution, rng: np.random.Generator) -> Pair:
    """True alarms by our attack, and by riskcal from losses."""
    alarms = float(rng.choice(FALSE_ALARMS))
    missed = riskcal.analysis.get_beta_from_pld(losses, alpha=alarms)
    return attack.power(alarms), 1 - float(missed)


KINDS: dict[str, Callable[[np.random.Generator], Pair]] = {
    "composition": composed,
    "one shuffled answer": shuffled,
    "several shuffled answers": shuffled_answers,
    "attacks on flipped bits": attacked_bits,
    "attacks on Gaussian counts": attacked_counts,
    "attacks on Laplace noise": attacked_number,
    "attacks on (ε, δ)": attacked_promise,
}


def differences(kind: str, count: int) -> Iterator[float]:
    """Of each of the first cases of a kind, how far ours is from the peer's."""
    for number in range(count):
        rng = np.random.default_rng([SEED, [*KINDS].index(kind), number])
        ours, theirs = KINDS[kind](rng)
        yield abs(ours - theirs)


def main(count: int = COUNT) -> None:
    """Run so many cases of all kinds; one line each."""
    for kind in KINDS:
        found = np.array([*differences(kind, count)])
        print(
            f"{kind}: {count:,} cases, largest difference {found.max():.1e}, bar {BAR:g}",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
