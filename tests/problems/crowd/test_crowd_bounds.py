"""Crowd theory: exact errors against enumeration and peers, bounds against transcriptions, and the
paper's gaps.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from pipeline.privacy.randomized_response_laws import amplification, flip_probability
from pipeline.problems.crowd import derivations
from pipeline.problems.crowd.theory import bounds, vote_errors
from pipeline.problems.crowd.theory import wisdom as crowd_wisdom
from pipeline.study.parameters import InvalidInput

PROBABILITY = st.floats(0, 1).map(lambda p: round(p, 3))
EPSILON = st.floats(0.01, 20)


def outcomes(right, answered):
    """(answers, probability) over all 3ⁿ answers to one task of label 1: +1 right, −1 wrong, 0
    none.
    """
    for answers in itertools.product((1, -1, 0), repeat=len(right)):
        yield (
            answers,
            math.prod(
                {1: a * p, -1: a * (1 - p), 0: 1 - a}[x]
                for x, p, a in zip(answers, right, answered, strict=True)
            ),
        )


@settings(max_examples=60)
@given(st.lists(st.tuples(PROBABILITY, PROBABILITY), min_size=1, max_size=6), PROBABILITY)
def test_majority_vote_errs_as_enumerated(workers, ties):
    right, answered = np.array(workers).T
    law = np.zeros(2 * len(right) + 1)
    for answers, p in outcomes(right, answered):
        law[sum(answers) + len(right)] += p
    assert vote_errors.net_votes(right, answered) == pytest.approx(law, abs=1e-14)
    wrong = law[: len(right)].sum() + ties * law[len(right)]
    assert vote_errors.vote_error(right, answered, ties) == pytest.approx(wrong, abs=1e-14)


@pytest.mark.parametrize("n", [1, 2, 25, 60])
def test_majority_vote_agrees_with_scipys_poisson_binomial(n):
    right = np.random.default_rng(n).uniform(0.3, 0.95, (3, n))
    for row, error in zip(right, vote_errors.vote_error(right, ties=1.0), strict=True):
        assert error == pytest.approx(
            stats.poisson_binom.cdf(n // 2 if n % 2 == 0 else (n - 1) // 2, row), rel=1e-9
        )
    fewer = stats.binom.cdf(math.ceil(n / 2) - 1, n, 0.7)
    assert vote_errors.vote_error(np.full(n, 0.7), ties=0) == pytest.approx(fewer)


def test_far_tails_keep_their_digits():
    n, p = 201, 0.99
    assert vote_errors.vote_error(np.full(n, p)) == pytest.approx(
        stats.binom.cdf(100, n, p), rel=1e-10
    )
    assert stats.binom.cdf(100, n, p) < 1e-100


def test_the_papers_vote_errs_differently_for_the_two_labels():
    """I(ΣX ≥ n/2): the proof of Theorem 4 has the error of label 1 for both."""
    right = np.array([0.7, 0.6])
    for label, ties in ((1, 0.0), (0, 1.0)):
        error = sum(
            p
            for answers, p in outcomes(right, (1, 1))
            if (sum((x == 1) == (label == 1) for x in answers) >= 1) != (label == 1)
        )
        assert vote_errors.vote_error(right, ties=ties) == pytest.approx(error)
    assert vote_errors.vote_error(right, ties=1.0) - vote_errors.vote_error(
        right, ties=0.0
    ) == pytest.approx(0.46)


@settings(max_examples=40)
@given(st.integers(1, 300), st.floats(0, 1), EPSILON)
def test_experts_and_spammers_are_a_special_case(n, exponent, epsilon):
    k = int(crowd_wisdom.experts(n, exponent))
    abilities = np.where(np.arange(n) < k, 1, 0.5)
    error = vote_errors.vote_error(crowd_wisdom.private_ability(abilities, epsilon))
    assert vote_errors.expert_vote_error(n, exponent, epsilon) == pytest.approx(
        error, rel=1e-9, abs=1e-300
    )
    wisdom = n * crowd_wisdom.wisdom(abilities, epsilon)
    assert crowd_wisdom.expert_wisdom(n, exponent, epsilon) == pytest.approx(wisdom, rel=1e-9)


def test_whole_powers_are_not_rounded_up():
    assert crowd_wisdom.experts([8, 27, 64, 125, 216, 10**6], 1 / 3).tolist() == [
        2,
        3,
        4,
        5,
        6,
        100,
    ]
    assert (
        crowd_wisdom.experts(10, 0.5) == 4
        and crowd_wisdom.experts(1, 0.3) == 1
        and crowd_wisdom.experts(7, 0) == 1
    )


@settings(max_examples=60)
@given(st.lists(PROBABILITY, min_size=1, max_size=6), PROBABILITY.filter(bool))
def test_the_oracle_errs_as_enumerated(right, answered):
    """Bayes error of two laws of all answers, label 1 and label 0."""
    mirrored = {
        tuple(-x for x in answers): p for answers, p in outcomes(right, [answered] * len(right))
    }
    error = (
        sum(min(p, mirrored[answers]) for answers, p in outcomes(right, [answered] * len(right)))
        / 2
    )
    assert vote_errors.oracle_error(right, answered=answered) == pytest.approx(error, abs=1e-14)
    least, most = vote_errors.oracle_bounds(np.array(right), answered)
    assert least - 1e-12 <= error <= most + 1e-12
    low, high = vote_errors.oracle_bracket(right, answered)
    assert low - 1e-12 <= error <= high + 1e-12
    assert error <= vote_errors.vote_error(np.array(right), answered) + 1e-12


def test_groups_of_equals_are_the_same_crowd():
    right, counts = np.array([0.9, 0.6, 0.5, 0.2]), np.array([2, 3, 4, 1])
    one_by_one = np.repeat(right, counts)
    for answered in (1.0, 0.7):
        assert vote_errors.oracle_error(right, counts, answered) == pytest.approx(
            vote_errors.oracle_error(one_by_one, answered=answered), rel=1e-12
        )
    assert vote_errors.oracle_error([0.8], [101]) == pytest.approx(
        stats.binom.cdf(50, 101, 0.8), rel=1e-12
    )
    with pytest.raises(InvalidInput, match="too many outcomes to enumerate; use oracle_bracket"):
        vote_errors.oracle_error(np.linspace(0.6, 0.9, 30))


@pytest.mark.parametrize("answered", [1.0, 0.4])
def test_the_bracket_holds_the_oracle_and_narrows(answered):
    right, counts = np.array([0.55, 0.62, 0.7, 0.86]), np.array([20, 15, 6, 2])
    error = vote_errors.oracle_error(right, counts, answered)
    widths = []
    for cells in (1 << 10, 1 << 13, 1 << 16):
        low, high = vote_errors.oracle_bracket(np.repeat(right, counts), answered, cells)
        assert low <= error <= high
        widths.append((high - low) / error)
    assert widths[2] < 0.03 < 0.15 < widths[0]
    many = np.random.default_rng(1).uniform(0.5, 0.95, 50)
    (low, high), (lower, higher) = (
        vote_errors.oracle_bracket(many, answered, cells) for cells in (1 << 12, 1 << 16)
    )
    assert low < lower < higher < high and 10 * (higher - lower) < high - low


def test_a_perfect_worker_is_enough():
    assert vote_errors.oracle_error([1.0, 0.6]) == 0 and vote_errors.oracle_bracket([1.0, 0.6]) == (
        0,
        0,
    )
    low, high = vote_errors.oracle_bracket([1.0, 0.6], 0.5)
    assert low - 1e-12 <= vote_errors.oracle_error([1.0, 0.6], answered=0.5) <= high + 1e-12 < 0.3


@given(PROBABILITY, EPSILON)
def test_abilities_after_randomized_response(p, epsilon):
    """Eq. (11), (12), (22) as printed, and by the flip itself."""
    flip, e = float(flip_probability(epsilon)), math.exp(epsilon)
    assert crowd_wisdom.private_ability(p, epsilon) == pytest.approx(
        p * (1 - flip) + (1 - p) * flip, abs=1e-12
    )
    mu = p if p >= 0.5 else 1 - p
    printed = (e - 1) / (e + 1) * mu + 1 / (e + 1)
    assert crowd_wisdom.private_effective_ability(p, epsilon) == pytest.approx(printed, abs=1e-12)


def test_wisdom_is_the_mean_over_workers():
    p = np.array([[0.2, 0.9, 0.5], [1.0, 1.0, 1.0]])
    expected = [
        np.mean([(2 * crowd_wisdom.private_effective_ability(x, 1.3) - 1) ** 2 for x in row])
        for row in p
    ]
    assert crowd_wisdom.wisdom(p, 1.3) == pytest.approx(expected) and crowd_wisdom.wisdom(p)[1] == 1
    assert crowd_wisdom.wisdom(p, 1e-6) == pytest.approx(0, abs=1e-12)  # ε → 0: spammers all
    assert crowd_wisdom.wisdom(p, 40) == pytest.approx(crowd_wisdom.wisdom(p))  # ε → ∞: no privacy


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=30), EPSILON)
def test_the_oracle_is_within_a_quarter_of_theorem_2(abilities, epsilon):
    right = crowd_wisdom.private_ability(np.array(abilities), epsilon)
    bound = bounds.label_error_bound(len(right), crowd_wisdom.wisdom(np.array(abilities), epsilon))
    assert vote_errors.oracle_bounds(right)[1] <= bound / 4 + 1e-15


@pytest.mark.parametrize("epsilon, least", [(np.inf, 213_849), (1.0, 5_661_147)])
def test_theorem_2_has_no_projection_until_m_is_huge(epsilon, least):
    v = crowd_wisdom.wisdom(np.ones(1), epsilon)
    for m, some in ((least * 0.9999, False), (least * 1.0001, True)):
        low, high = bounds.projection_range(m, v)
        assert (low <= high) == some
        rate = math.sqrt(math.log(m) / m)
        assert (low, high) == pytest.approx((16 / v * rate, 0.125 - rate / 2))
        n = math.ceil(math.log(m) / v)
        assert bounds.theorem_2_holds(n, m, v, high, 0.0) == some
        assert not bounds.theorem_2_holds(n - 2, m, v, high, 0.0)  # log m > n v̂
        assert not bounds.theorem_2_holds(n, m, v, high, 1.01 * bounds.initial_error_bound(m))
        assert not bounds.theorem_2_proved(
            n, m, v, high, 0.0
        )  # (33) to (34) needs far more workers
        assert bounds.theorem_3_holds(n, m, v, high, 0.0, 1.0) == some
        assert not bounds.theorem_3_holds(n, m, v, high, 0.0, 1.1)


def test_theorem_2_is_proved_for_crowds_of_thousands():
    m, n, v = 10**12, 20_000, 1.0
    low, high = bounds.projection_range(m, v)
    assert bounds.theorem_2_proved(n, m, v, high, 0.0) and not bounds.theorem_2_proved(
        n, m, v, low, 0.0
    )
    r = bounds.initial_error_bound(m)  # eq. (33), and what (34) makes of it
    assert (
        4 * n / high * r + 4 * math.log(1 / high) * math.sqrt(n * math.log(m)) - n * v <= -n * v / 2
    )
    assert bounds.theorem_2_proved(4000, m, v, high, 0.0) == (
        16 * math.log(8) ** 2 * 4 * math.log(m) <= 0.9 * 4000
    )


@given(
    st.integers(1, 10**9),
    st.floats(0, 0.49),
    st.floats(0.01, 50),
    st.floats(1, 60),
    st.floats(0.001, 0.125),
)
def test_the_proof_of_theorem_2_never_covers_theorem_4(n, exponent, epsilon, log_m, projection):
    v = crowd_wisdom.expert_wisdom(n, exponent, epsilon) / n
    assert not bounds.theorem_2_proved(n, math.exp(log_m), v, projection, 0.0)


def test_theorem_3_follows_from_its_last_line_beyond_epsilon_1():
    epsilon = np.linspace(0.01, 2.57, 300)
    assert (
        bounds.ability_error_sharper(1000, epsilon) <= bounds.ability_error_bound(1000, epsilon)
    ).all()
    assert bounds.ability_error_sharper(1000, 2.6) > bounds.ability_error_bound(1000, 2.6)
    assert bounds.ability_error_bound(1000, 0.5) == pytest.approx(
        6 * math.sqrt(math.log(1000) / (1000 * 0.25))
    )
    assert 2 * amplification(1.0) == pytest.approx(4.328, abs=1e-3)  # where 6 is printed


def test_theorem_4_does_not_need_its_least_epsilon():
    """Below ln(85/15) too the vote errs more than 2exp(−½t²⌈n^δ⌉), about from where that is below
    ½, t²⌈n^δ⌉ = 2 log 4.
    """
    for n in np.geomspace(15_963, 10**7, 50).astype(int):
        assert vote_errors.expert_vote_error(int(n), 0.4, 0.5) >= bounds.expert_error_bound(
            int(n), 0.4, 0.5
        )
    assert not bounds.theorem_4_holds(0.5, 0.4) and bounds.theorem_4_proved(
        30_000, 0.4, 0.5, simple=True
    )
    assert not bounds.theorem_4_proved(
        10**9, 0.4, 0.5
    )  # the printed lower bound is never enough here
    assert vote_errors.expert_vote_error(15_962, 0.4, 0.5) < bounds.expert_error_bound(
        15_962, 0.4, 0.5
    )
    wisdom = crowd_wisdom.expert_wisdom(15_962, 0.4, 0.5)
    assert (
        wisdom == pytest.approx(math.tanh(0.25) ** 2 * 48) and 1 < wisdom / (2 * math.log(4)) < 1.04
    )  # 47.99 experts


def test_theorem_4s_own_threshold():
    """½(2v − 1)² + log v is above 0 from ε = 1.4992 on, not only from ln(85/15) = 1.7346."""
    v = optimize.brentq(lambda v: (2 * v - 1) ** 2 / 2 + math.log(v), 0.6, 0.99)
    assert math.log(v / (1 - v)) == pytest.approx(1.4992, abs=1e-4) and math.log(85 / 15) > 1.73
    exact = [
        bool(bounds.theorem_4_holds(e, x))
        for e, x in ((1.73, 0.3), (1.74, 0.3), (9, 0.5), (9, 0.0))
    ]
    assert exact == [False, True, False, False]


@settings(max_examples=200)
@given(st.integers(1, 10**6), st.floats(0.01, 0.49), st.floats(0.05, 30), st.booleans())
def test_where_theorem_4_is_proved_it_holds(n, exponent, epsilon, simple):
    if bounds.theorem_4_proved(n, exponent, epsilon, simple):
        assert vote_errors.expert_vote_error(n, exponent, epsilon) >= bounds.expert_error_bound(
            n, exponent, epsilon
        )
        assert bounds.theorem_4_proved(n, exponent, epsilon, simple=True)


@pytest.mark.parametrize("n", [100, 1001, 10_000])
def test_the_printed_berry_esseen_constant_is_too_small(n):
    law = stats.binom(n, 0.5)
    k = np.arange(n + 1)
    normal = stats.norm.cdf((k - n / 2) / (math.sqrt(n) / 2))
    distance = max(np.abs(law.cdf(k) - normal).max(), np.abs(law.cdf(k - 1) - normal).max())
    assert 6 / 16 / math.sqrt(n) < distance < bounds.BERRY_ESSEEN / math.sqrt(n)


@given(st.integers(1, 10**4), st.floats(0.05, 8), st.floats(0.5, 0.9), st.floats(0.01, 0.1))
def test_designs_are_what_they_ask_for(n, epsilon, low, width):
    total = crowd_wisdom.total_wisdom(n, epsilon, low, low + width)
    p = np.linspace(low, low + width, 2001)
    assert total == pytest.approx(n * crowd_wisdom.wisdom(p, epsilon), rel=1e-2)
    assert derivations.epsilon_from_wisdom(total, n, low, low + width) == pytest.approx(
        epsilon, rel=1e-6
    )
    assert derivations.workers_from_wisdom(total, epsilon, low, low + width) == n
    m = 10 * n
    assert derivations.epsilon_from_private_tasks(
        derivations.private_tasks(m, epsilon), m
    ) == pytest.approx(epsilon)
    assert derivations.answers_per_task(
        n, derivations.answered_from_answers(n / 3, n)
    ) == pytest.approx(n / 3)


@pytest.mark.parametrize(
    "design, given, key",
    [
        (derivations.epsilon_from_wisdom, (5.0, 4, 0.5, 1.0), "wanted_wisdom"),
        (derivations.epsilon_from_wisdom, (0.0, 4, 0.5, 1.0), "wanted_wisdom"),
        (derivations.workers_from_wisdom, (5.0, 1.0, 0.5, 0.5), "wanted_wisdom"),
        (derivations.workers_from_wisdom, (1e-3, 1.0, 0.5, 1.0), "wanted_wisdom"),
        (derivations.epsilon_from_private_tasks, (-1.0, 5), "wanted_tasks"),
        (derivations.answered_from_answers, (6.0, 5), "wanted_answers"),
    ],
)
def test_designs_that_cannot_be_are_refused(design, given, key):
    with pytest.raises(InvalidInput, match=f"^{key}="):
        design(*given)


@pytest.mark.parametrize("right", [0.5, 0.51, 0.6, 0.8, 0.95, 1.0])
def test_the_lower_bound_on_the_oracle_is_exact_for_one_worker(right):
    least, most = vote_errors.oracle_bounds(np.array([right]))
    assert least == pytest.approx(1 - right, abs=1e-12) and least == pytest.approx(
        vote_errors.oracle_error([right])
    )
    assert most >= least
