"""The best attack on every mechanism: against independent forms, against simulation, and within the budget."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pipeline.privacy.attacks import Bound, FlippedBits, GaussianShifts, LaplaceShift, ShuffledBit
from pipeline.privacy.integer_laws import gaussian_pmf, laplace_pmf
from pipeline.privacy.integer_noise import discrete_laplace
from pipeline.problems.clustering.mechanisms.max_sense import MaxSense
from pipeline.problems.clustering.mechanisms.multi_max_sense import MultiMaxSense
from pipeline.problems.crowd.mechanisms.curator import NoisyVotes
from pipeline.problems.crowd.mechanisms.randomized_response import RandomizedResponse as Crowd
from pipeline.problems.ranking.mechanisms.curator import NoisyCounts
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse as Ranking
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse as Response

RATES = (0.001, 0.01, 0.05, 0.3)
MIXED = dict(m=6, L=50, epsilon=0.4, profile="0.5:1, 0.5:3")  # of ranking: 15 pairs
BUDGETS = {  # of all that a person gives, by hand
    "ranking": (Ranking(**MIXED), 15 * 3 * 0.4),
    "ranking, given": (Ranking(**MIXED, given=7), 7 * 3 * 0.4),
    "laplace": (Laplace(**MIXED), 15 * 3 * 0.4),
    "crowd": (Crowd(n=4, m=9, epsilon=0.5), 9 * 0.5),
    "crowd, given": (Crowd(n=4, m=9, epsilon=0.5, given=2), 2 * 0.5),
    "response": (Response(n=50, m=6, epsilon_user=1.5), 1.5),
    "max_sense": (MaxSense(N=20, w=5, epsilon=2.5), 2.5),
    "multi_max_sense": (MultiMaxSense(N=20, w=5, epsilon=2.5), 2.5),
    "multi_max_sense, few ratings": (
        MultiMaxSense(N=40, w=1, epsilon=2.5, theta=0.1, Q=5),
        2 * 2.5 / 5,
    ),
}


def best(false, true, level):
    """The most powerful randomised test, by sorting all outcomes by their likelihood ratio: knows no formula."""
    power = 0.0
    for p, q in sorted(zip(false, true, strict=True), key=lambda one: -one[1] / one[0]):
        share = min(1.0, level / p)
        power, level = power + share * q, level - share * p
    return power


@pytest.mark.parametrize("bits, each", [(1, 1.0), (5, 0.3), (9, 2.0)])
def test_flipped_bits_against_all_their_outcomes(bits, each):
    keep = 1 / (1 + math.exp(-each))
    outcomes = [sum(one) for one in itertools.product((0, 1), repeat=bits)]
    law = [[p**k * (1 - p) ** (bits - k) for k in outcomes] for p in (1 - keep, keep)]
    for rate in RATES:
        assert FlippedBits(each, bits).power(rate) == pytest.approx(best(*law, rate), rel=1e-9)


def reports(rows, each):
    """Chance of every multiset of the rows' reports in random order; all outcomes, one row after the other."""
    keep = 1 / (1 + math.exp(-each))
    words = list(itertools.product((0, 1), repeat=len(rows[0])))
    law = {(0,) * len(words): 1.0}
    for row in rows:
        chances = [
            math.prod(
                keep if bit == said else 1 - keep for bit, said in zip(row, word, strict=True)
            )
            for word in words
        ]
        more = {}
        for multiset, chance in law.items():
            for k, own in enumerate(chances):
                other = (*multiset[:k], multiset[k] + 1, *multiset[k + 1 :])
                more[other] = more.get(other, 0.0) + chance * own
        law = more
    return law


def found_out(rows, each, rates):
    """Power of the best attack on the first bit of the first row, at each rate, knowing all other bits."""
    first, *others = rows
    false, true = (
        reports([first, *others], each),
        reports([(1 - first[0], *first[1:]), *others], each),
    )
    return np.array([best(false.values(), [true[key] for key in false], rate) for rate in rates])


@pytest.mark.parametrize(
    "n, m, each", [(2, 1, 0.6), (5, 1, 1.2), (2, 2, 1.2), (4, 2, 0.5), (3, 3, 0.7)]
)
def test_no_attack_on_a_shuffled_answer_is_better_than_the_bound(n, m, each):
    """Of all answers that the persons may have given, by all outcomes; alone, and of few, the bound is attained."""
    words, rates = list(itertools.product((0, 1), repeat=m)), (0.01, 0.05, 0.3, 0.6, 0.9)
    found = np.max(
        [
            found_out([first, *others], each, rates)
            for first in words
            for others in itertools.combinations_with_replacement(words, n - 1)
        ],
        axis=0,
    )
    bound = np.array([ShuffledBit(each, m, n - 1).power(rate) for rate in rates])
    assert (found <= bound + 1e-12).all()
    assert ShuffledBit(each, m, 0).power(0.3) == pytest.approx(
        FlippedBits(each, 1).power(0.3), rel=1e-12
    )


def test_many_reports_hide_a_shuffled_answer():
    """All others gave the opposite of every answer, where the best attack was better than on any other answers."""
    each, rates = 0.9, (0.05, 0.3)
    found = found_out([(0, 1)] + [(1, 0)] * 24, each, rates)
    bound, open_order = (
        np.array([attack.power(rate) for rate in rates])
        for attack in (ShuffledBit(each, 2, 24), FlippedBits(each, 1))
    )
    print(f"found {found}, at most {bound}, in the order of the persons {open_order}")
    assert (
        (found <= bound).all() and (bound < 0.9 * open_order).all() and (found > 0.7 * bound).all()
    )
    assert not ShuffledBit.exact and FlippedBits.exact
    few, many = (ShuffledBit(each, 2, others).power(0.05) for others in (100, 10**6))
    assert 0.05 < many < 0.0503 and many < few < bound[0]


def test_one_flipped_bit_is_the_bound_and_several_are_less():
    for rate in RATES:
        assert FlippedBits(0.7, 1).power(rate) == pytest.approx(Bound(0.7).power(rate), rel=1e-12)
        assert FlippedBits(0.7, 4).power(rate) <= Bound(2.8).power(rate) * (1 + 1e-9)
    assert FlippedBits(0.7, 4).power(0.05) < 0.8 * Bound(2.8).power(0.05)


@pytest.mark.parametrize("variance, entries", [(0.4, 1), (2.0, 3)])
def test_gaussian_shifts_against_all_their_outcomes(variance, entries):
    noise = np.arange(-20, 21)
    one = gaussian_pmf(noise, variance)
    shifted = gaussian_pmf(noise - 1, variance)
    false, true = (
        np.prod(np.array(list(itertools.product(law[10:31], repeat=entries))), axis=1)
        for law in (one, shifted)
    )
    for rate in RATES:
        assert GaussianShifts(variance, entries, 1e-6).power(rate) == pytest.approx(
            best(false, true, rate), rel=1e-6
        )


def test_wide_gaussian_shifts_are_those_of_a_normal_law():
    attack = GaussianShifts(1000.0, 50, 1e-6)
    shift = math.sqrt(50 / 1000)
    for rate in RATES:
        normal = stats.norm.sf(stats.norm.isf(rate) - shift)
        assert (
            attack.power(rate)
            == pytest.approx(normal, rel=1e-5)
            != FlippedBits(shift, 1).power(rate)
        )


def test_a_laplace_shift_against_numbers_on_a_fine_grid():
    x = np.linspace(-40, 41, 80_001)
    false, true = (np.exp(-0.8 * np.abs(x - shift)) for shift in (0, 1))
    for rate in RATES:
        assert LaplaceShift(0.8).power(rate) == pytest.approx(
            best(false / false.sum(), true / true.sum(), rate), rel=1e-3
        )


def test_discrete_laplace_counts_are_flipped_bits():
    """Simulated: the best test, which counts the counts that are nearer to one neighbour, at its own false alarms."""
    rng, entries, scale, n = np.random.default_rng(1), 6, 2.5, 40_000
    false, true = (
        ((discrete_laplace(rng, scale, (n, entries)) + shift) >= 1).sum(axis=1) for shift in (0, 1)
    )
    exact = FlippedBits(1 / scale, entries)
    for border in (3, 5):
        rate = stats.binom.sf(border - 1, entries, 1 / (1 + math.exp(1 / scale)))
        low, high = (
            stats.binom.ppf(5e-7, n, exact.power(rate)),
            stats.binom.isf(5e-7, n, exact.power(rate)),
        )
        caught, alarms = (true >= border).sum(), (false >= border).sum()
        print(
            f"n={n} statistic={caught} bounds={low:g} to {high:g} alpha=1e-6; false alarms {alarms}"
        )
        assert low <= caught <= high and not low <= n * Bound(entries / scale).power(rate) <= high
        assert stats.binom.ppf(5e-7, n, rate) <= alarms <= stats.binom.isf(5e-7, n, rate)


@pytest.mark.parametrize("epsilon, delta", [(0.7, 0.0), (2.0, 1e-3), (0.1, 0.05)])
def test_the_bound_holds_for_an_event_and_for_its_complement(epsilon, delta):
    """P(E) ≤ e^ε Q(E) + δ, and Q(not E) ≤ e^ε P(not E) + δ: the lesser of the two, on both sides of the corner."""
    corner = (1 - delta) / (1 + math.exp(epsilon))
    for rate in (*RATES, 0.5, 0.9, 0.99, 0.999):
        event = math.exp(epsilon) * rate + delta
        complement = 1 - (1 - rate - delta) / math.exp(epsilon)
        assert (event < complement) == (rate < corner)
        assert Bound(epsilon, delta).power(rate) == pytest.approx(
            min(event, complement, 1.0), rel=1e-12
        )


def test_one_flipped_bit_is_the_bound_where_most_alarms_are_false():
    exact = FlippedBits(0.7, 1).power(0.6)
    assert exact == pytest.approx(Bound(0.7).power(0.6), rel=1e-12) and exact < 1


def test_many_shifts_in_very_wide_noise_are_one_shift_of_a_normal_law():
    """√(entries/σ²) standard deviations: 10¹⁰ entries at σ² = 10¹² are a tenth of one."""
    for rate in RATES:
        assert GaussianShifts(1e12, 10**10, 1e-6).power(rate) == pytest.approx(
            stats.norm.sf(stats.norm.isf(rate) - 0.1), rel=1e-9
        )


@pytest.mark.parametrize("name", BUDGETS)
def test_the_attack_on_a_person_has_the_budget_that_is_stated_of_a_person(name):
    mechanism, budget = BUDGETS[name]
    assert mechanism.attacks()["person"].epsilon == pytest.approx(budget)
    assert any(value == pytest.approx(budget) for value in mechanism.spent().values())


@pytest.mark.parametrize("person_delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    ("kind", "settings", "moved"),
    [
        (NoisyCounts, dict(m=5, L=60), (1, -1)),
        (NoisyCounts, dict(m=5, L=60, neighbours_are="add_remove"), (1,)),
        (NoisyCounts, dict(m=5, L=60, compared_are="public"), (1,)),
        (NoisyVotes, dict(n=60, m=5), (1, -1)),
        (NoisyVotes, dict(n=60, m=5, neighbours_are="add_remove"), (1,)),
    ],
)
def test_the_attack_on_a_person_of_one_answer_sees_what_this_person_changes(
    kind, settings, moved, person_delta
):
    """All outcomes of the counts that one other answer moves. The noise of a file hides more, what
    one of its rows can change: an attack that sees as much, the control, finds more.
    """
    mechanism = kind(**settings, person=1.0, person_delta=person_delta, questions=1)
    noisy = np.arange(-140, 141)
    law_of = laplace_pmf if person_delta == 0 else gaussian_pmf
    false = true = np.ones(1)
    for shift in moved:
        false = np.outer(false, law_of(noisy, mechanism.width)).ravel()
        true = np.outer(true, law_of(noisy - shift, mechanism.width)).ravel()
    person = mechanism.attacks()["person"]
    for rate in RATES:
        assert person.power(rate) == pytest.approx(best(false, true, rate), rel=1e-6)
    charged = mechanism.noise.attack(mechanism.width, mechanism.charge)
    if mechanism.charge > len(moved):
        assert charged.power(0.05) > 1.05 * person.power(0.05)
