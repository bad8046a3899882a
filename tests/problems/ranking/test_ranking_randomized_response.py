"""Randomized response: exact laws of what is released, the privacy guarantee, groups of users."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.privacy.no_privacy import NoPrivacy
from pipeline.privacy.randomized_response_laws import flip_probability, released_probability
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.model import Comparisons
from pipeline.problems.ranking.releases import FlippedWins
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import counts_agree

REPS = 200_000
PROBABILITY = np.array([0.1, 0.5, 0.8])  # of three pairs


def rng(seed):
    return np.random.default_rng(seed)


def released(mechanism, seed=1, reps=REPS):
    data = Comparisons(np.broadcast_to(PROBABILITY, (reps, 3)), mechanism.L, 3, rng(seed))
    return data, mechanism.release(data, rng(seed + 1))


def law_by_enumeration(probability, sizes, flips):
    """Law of released wins per group, over all answers and all flips of every user; flips per group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    one = [{1: probability * (1 - flips[g]) + (1 - probability) * flips[g]} for g in group]
    law = np.zeros([s + 1 for s in sizes])
    for answers in itertools.product((0, 1), repeat=len(group)):
        weight = math.prod(p[1] if a else 1 - p[1] for a, p in zip(answers, one, strict=True))
        law[tuple(np.bincount(group, answers, len(sizes)).astype(int))] += weight
    return law


def law_holds(wins, law, what):
    """Chi-square of the joint released wins of all groups of one pair; wins (reps, groups)."""
    cells = np.ravel_multi_index(wins.T, law.shape)
    return counts_agree(np.bincount(cells, minlength=law.size), law, what)


@pytest.mark.parametrize("draw", ["conditional", "marginal"])
@pytest.mark.parametrize(
    "L, epsilon, profile",
    [
        (3, 0.7, "1:1"),
        (3, 1e-8, "1:1"),
        (4, 1.0, "0.5:1,0.5:4"),
        (4, 0.3, "0.25:0.5,0.75:2"),
        (5, 0.5, "0.2:1,0.4:2,0.4:6"),
    ],
)
def test_law_of_every_released_count(draw, L, epsilon, profile):
    mechanism = RandomizedResponse(m=3, L=L, epsilon=epsilon, profile=profile, draw=draw)
    _, release = released(mechanism)
    groups = [float(part.split(":")[1]) for part in profile.split(",")]
    flips = [1 / (1 + math.exp(epsilon * multiple)) for multiple in groups]
    assert release.users.sum() == L and release.wins.shape == (REPS, len(groups), 3)
    for pair, probability in enumerate(PROBABILITY):
        law = law_by_enumeration(probability, release.users, flips)
        assert law.sum() == pytest.approx(1, abs=1e-12)
        assert law_holds(release.wins[:, :, pair], law, f"pair {pair}")
        if probability != 0.5:  # at ½ no flip changes the law
            control = law_by_enumeration(probability, release.users, [f * 0.97 for f in flips])
            assert not law_holds(release.wins[:, :, pair], control, "flips 3 % too rare")


@pytest.mark.parametrize("draw", ["conditional", "marginal"])
def test_a_last_pair_without_noise_is_found(draw):
    class Careless(RandomizedResponse):
        """A negative control: it forgets the last coordinate."""

        def release(self, data, rng):
            whole = super().release(data, rng)
            whole.wins[:, :, -1] = data.split(self.users, rng)[:, :, -1]
            return whole

    flips = [float(flip_probability(1.0))]
    for kind, fine in ((RandomizedResponse, True), (Careless, False)):
        _, release = released(kind(m=3, L=3, epsilon=1.0, draw=draw))
        laws = [law_by_enumeration(probability, [3], flips) for probability in PROBABILITY]
        assert fine == law_holds(release.wins[:, :, 2], laws[2], f"{kind.__name__}, last pair")
        assert all(
            law_holds(release.wins[:, :, k], laws[k], f"{kind.__name__}, pair {k}") for k in (0, 1)
        )


def test_the_release_given_the_data():
    """Given the data, the law is that of every answer flipped by itself: on this the guarantee rests."""
    L, epsilon = 3, 0.8
    data, release = released(RandomizedResponse(m=3, L=L, epsilon=epsilon))
    for pair, raw in itertools.product(range(3), range(L + 1)):
        found = np.bincount(release.wins[data.wins[:, pair] == raw, 0, pair], minlength=L + 1)
        answers, one_group = [1] * raw + [0] * (L - raw), np.zeros(L, int)
        flip = flip_probability([epsilon])
        assert counts_agree(
            found, answers_law(answers, one_group, flip, [L]), f"pair {pair} given {raw}"
        )
        if found.sum() > 10_000:
            control = answers_law(answers, one_group, flip * 0.9, [L])
            assert not counts_agree(found, control, "flips 10 % too rare")


def test_released_pairs_are_flipped_independently():
    data = Comparisons(
        np.ones((REPS, 3)), 1, 3, rng(1)
    )  # raw: all ones, so that the release shows the flips
    release = RandomizedResponse(m=3, L=1, epsilon=1.0).release(data, rng(2))
    flip = 1 / (1 + math.e)
    law = [
        math.prod(1 - flip if b else flip for b in bits)
        for bits in itertools.product((0, 1), repeat=3)
    ]
    cells = release.wins[:, 0] @ [4, 2, 1]
    assert counts_agree(np.bincount(cells, minlength=8), law, "three flips at once")
    one_flip_for_all = np.zeros(8)
    one_flip_for_all[[0, 7]] = flip, 1 - flip
    copied = np.bincount(release.wins[:, 0, 0] * 7, minlength=8)
    assert not counts_agree(copied, law, "one flip for all pairs")


# The guarantee, exactly: the law of one released comparison under either answer.
@pytest.mark.parametrize("epsilon", [1e-300, 1e-8, 0.1, 0.5, 1.0, 3.0, 10.0, 30.0])
def test_privacy_of_one_comparison(epsilon):
    yes, no = (released_probability(answer, epsilon) for answer in (1.0, 0.0))
    ratios = [a / b for a, b in ((yes, no), (1 - no, 1 - yes)) if b > 0]
    ratios += [1 / r for r in ratios]
    assert (
        max(ratios) <= math.exp(epsilon) * (1 + 1e-12) or epsilon > 20
    )  # 1 − yes loses digits there
    assert math.log(yes / no) == pytest.approx(epsilon, rel=1e-7, abs=1e-12)
    assert flip_probability(epsilon) == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-14)
    control = (1 - 0.9 * flip_probability(epsilon)) / (0.9 * flip_probability(epsilon))
    assert control > math.exp(epsilon) * (1 + 1e-12)  # flipping less breaks the promise


@pytest.mark.parametrize("profile", ["1:1", "0.5:1,0.5:4", "0.25:0.5,0.75:2"])
def test_privacy_of_all_that_is_released(profile):
    """Law of the whole release of L users under data that differ in one comparison, by enumeration."""
    mechanism = RandomizedResponse(m=3, L=4, epsilon=0.9, profile=profile)
    flips = flip_probability(mechanism.budgets)
    group = np.repeat(np.arange(len(flips)), mechanism.users)
    for user in range(4):
        budget = mechanism.budgets[group[user]]
        worst = 0.0
        for data in itertools.product((0, 1), repeat=4):
            neighbour = [1 - a if k == user else a for k, a in enumerate(data)]
            laws = [
                answers_law(answers, group, flips, mechanism.users) for answers in (data, neighbour)
            ]
            assert (laws[0] > 0).all() and (laws[1] > 0).all()
            worst = max(worst, np.abs(np.log(laws[0] / laws[1])).max())
        assert worst <= budget + 1e-12
        if (
            mechanism.users[group[user]] == 1
        ):  # alone in his group: nothing hides him, the budget is used up
            assert worst == pytest.approx(budget, abs=1e-12)


def answers_law(answers, group, flips, sizes):
    """Law of the released wins per group, given every user's answer."""
    law = np.ones(1)
    for g, size in enumerate(sizes):
        one = np.ones(1)
        for answer in (a for a, k in zip(answers, group, strict=True) if k == g):
            yes = 1 - flips[g] if answer else flips[g]
            one = np.convolve(one, [1 - yes, yes])
        assert one.size == size + 1
        law = np.multiply.outer(law, one)
    return law[0]


def test_a_huge_budget_releases_the_data():
    for profile in ("1:1", "0.5:1,0.5:4"):
        data, release = released(
            RandomizedResponse(m=3, L=6, epsilon=1e4, profile=profile), reps=50
        )
        assert (release.wins.sum(axis=1) == data.wins).all()
    plain = NoPrivacy().release(data, rng(0))
    assert (plain.wins[:, 0] == data.wins).all()
    assert plain.users.tolist() == [6] and plain.epsilon.tolist() == [np.inf]
    assert plain.debiased_mean() == pytest.approx(plain.raw_mean()) and plain.items == 3


def test_a_vanishing_budget_releases_coin_flips():
    _, release = released(RandomizedResponse(m=3, L=2, epsilon=1e-12))
    for pair in range(3):
        counts = np.bincount(release.wins[:, 0, pair], minlength=3)
        assert counts_agree(counts, [0.25, 0.5, 0.25], "coin flips")


@given(st.integers(0, 2**32))
def test_mechanisms_share_the_raw_wins(seed):
    """The same data address, whichever mechanism looks first: paired comparisons need it."""

    def data():
        return Comparisons(np.broadcast_to(PROBABILITY, (5, 3)), 8, 3, rng(seed))

    first, second = data(), data()
    RandomizedResponse(m=3, L=8, epsilon=1.0, profile="0.5:1,0.5:2").release(first, rng(1))
    RandomizedResponse(m=3, L=8, epsilon=0.1).release(second, rng(2))
    plain = NoPrivacy().release(data(), rng(3))
    assert (first.wins == second.wins).all() and (plain.wins[:, 0] == first.wins).all()


def test_extreme_data_and_budgets_are_released():
    for epsilon, draw in itertools.product(
        (1e-320, 1e-8, 700.0, 1e300), ("conditional", "marginal")
    ):
        mechanism = RandomizedResponse(m=3, L=5, epsilon=epsilon, draw=draw)
        for probability in (0.0, 1.0, 1 - 2**-53, 5e-324):
            release = mechanism.release(
                Comparisons(np.full((20, 1), probability), 5, 2, rng(1)), rng(2)
            )
            assert ((release.wins >= 0) & (release.wins <= 5)).all()
            if epsilon >= 700:
                assert (release.wins == 5 * round(probability)).all()


# Groups of users.
SHARES = st.lists(st.integers(1, 1000), min_size=1, max_size=8)


def profile_of(weights):
    return ",".join(f"{w / sum(weights)!r}:{k + 1}" for k, w in enumerate(weights))


@given(SHARES, st.integers(1, 10**9 - 1))
def test_sizes_add_up_by_largest_remainder(weights, L):
    exact = [L * w / sum(weights) for w in weights]
    assume(min(exact) >= 1)
    mechanism = RandomizedResponse(m=3, L=L, epsilon=0.5, profile=profile_of(weights))
    assert mechanism.users.sum() == L
    assert all(abs(size - e) < 1 + 1e-6 for size, e in zip(mechanism.users, exact, strict=True))
    assert mechanism.budgets == pytest.approx([0.5 * (k + 1) for k in range(len(weights))])


@pytest.mark.parametrize(
    "L, profile, users",
    [
        (10, "0.5:1,0.5:4", [5, 5]),
        (3, "0.5:1,0.5:4", [2, 1]),
        (100, "0.333:1,0.667:2", [33, 67]),
        (10, "0.1:1,0.2:2,0.7:3", [1, 2, 7]),
        (999_999_999, "0.999999999:1", [999_999_999]),
        (999_999_999, "0.3333333333:1,0.3333333333:2,0.3333333333:3", [333_333_333] * 3),
    ],
)
def test_sizes_by_hand(L, profile, users):
    assert RandomizedResponse(m=3, L=L, epsilon=1.0, profile=profile).users.tolist() == users


@pytest.mark.parametrize(
    "profile", ["", "1", "0.5:1", "0.6:1,0.5:1", "1:0", "-1:1,2:1", "nan:1", "1:inf"]
)
def test_bad_profiles_are_refused(profile):
    with pytest.raises(InvalidInput, match="profile="):
        RandomizedResponse(m=3, L=10, epsilon=1.0, profile=profile)


def test_a_group_without_users_is_refused():
    with pytest.raises(InvalidInput, match="no user at L=100"):
        RandomizedResponse(m=3, L=100, epsilon=1.0, profile="0.999:1,0.001:2")


def test_statement_of_privacy():
    guarantee = RandomizedResponse.guarantee
    assert guarantee.unit == "answer" and "ε-LDP" in guarantee.budget
    of_person = RandomizedResponse(m=4, L=10, person=2.0, questions=4).promise()
    assert (of_person.unit, of_person.epsilon, of_person.answer_epsilon) == ("person", 2.0, 0.5)
    assert RandomizedResponse.accepts is Comparisons and RandomizedResponse.releases is FlippedWins
