"""Exact audit of randomized response: laws of whole releases over all inputs, by enumeration in rationals."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from pipeline.privacy.randomized_response_laws import flip_probability
from pipeline.problems.ranking.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.ranking.model import Comparisons
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree

REPS = 100_000


def bits(n):
    return list(itertools.product((0, 1), repeat=n))


def vector_law(answers, flips):
    """Law of the released vector of a user: every answer is flipped by itself, with its own probability."""
    return {
        out: math.prod(f if a != b else 1 - f for a, b, f in zip(answers, out, flips, strict=True))
        for out in bits(len(answers))
    }


def worst_ratio(flips, changed):
    """Largest likelihood ratio over all outcomes and all inputs that differ in that many answers; may be infinite."""
    worst = Fraction(0)
    for x, y in itertools.product(bits(len(flips)), repeat=2):
        if sum(a != b for a, b in zip(x, y, strict=True)) == changed:
            first, second = vector_law(x, flips), vector_law(y, flips)
            assert sum(first.values()) == 1
            for out, p in first.items():
                if p:
                    worst = max(worst, p / second[out] if second[out] else math.inf)
    return worst


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("odds", [Fraction(101, 100), Fraction(2), Fraction(1000)])  # e^ε
@pytest.mark.parametrize("multiples", [[1], [1, 3]])  # budgets of the groups, as multiples of ε
def test_the_budget_is_kept_and_used_up(m, odds, multiples):
    epsilon, pairs = math.log(odds), m * (m - 1) // 2
    profile = ",".join(f"{1 / len(multiples)}:{k}" for k in multiples)
    mechanism = RandomizedResponse(m=m, L=2, epsilon=epsilon, profile=profile)
    for k, budget in zip(
        multiples, mechanism.budgets, strict=True
    ):  # whoever else releases is independent of him
        flip = 1 / (1 + odds**k)
        assert flip_probability(budget) == pytest.approx(float(flip), rel=1e-12)
        assert worst_ratio([flip] * pairs, 1) == odds**k
        assert worst_ratio([flip] * pairs, pairs) == odds ** (k * pairs)
        # Negative controls.
        assert worst_ratio([1 / (2 + odds**k)] * pairs, 1) > odds**k
        assert (
            worst_ratio([(flip + Fraction(1, 2)) / 2] * pairs, 1) < odds**k
        )  # flips too often: wasted
        assert (
            worst_ratio([flip] * (pairs - 1) + [Fraction(0)], 1) == math.inf
        )  # the last one is not flipped
    spent, k = mechanism.spent(), max(multiples)
    assert spent["one comparison"] == pytest.approx(math.log(odds**k))
    assert spent["all comparisons of a user"] == pytest.approx(math.log(odds ** (k * pairs)))


@pytest.mark.parametrize("draw", ["conditional", "marginal"])
def test_the_sampler_has_the_law_of_the_vector_whatever_the_answers(draw):
    """One user, three comparisons: all eight inputs, all eight outcomes."""
    mechanism, flip = RandomizedResponse(m=3, L=1, epsilon=1.2, draw=draw), 1 / (1 + math.exp(1.2))
    for seed, answers in enumerate(bits(3)):
        data = Comparisons(
            np.broadcast_to(np.array(answers, float), (REPS, 3)), 1, 3, np.random.default_rng(seed)
        )
        cells = mechanism.release(data, np.random.default_rng(seed + 50)).wins[:, 0] @ [4, 2, 1]
        found = np.bincount(cells, minlength=8)
        assert counts_agree(
            found, list(vector_law(answers, [flip] * 3).values()), f"answers {answers}"
        )
        careless = vector_law(answers, [flip, flip, 0.9 * flip])
        assert not counts_agree(found, list(careless.values()), "control: last flip 10 % too rare")
        other = vector_law([1 - answers[0], *answers[1:]], [flip] * 3)
        assert not counts_agree(found, list(other.values()), "control: the neighbour")


@pytest.mark.parametrize("sizes", [(1,), (2,), (3,), (1, 1), (1, 2)])
def test_counts_have_the_law_of_summed_bits(sizes):
    """Over all released bits of all users, for every input: the two binomials that the sampler draws."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    flips = [1 / (1 + math.exp(e)) for e in (0.4, 1.6)]
    for answers in bits(len(groups)):
        law = np.zeros([n + 1 for n in sizes])
        for out, p in vector_law(answers, [flips[g] for g in groups]).items():
            law[tuple(np.bincount(groups, out, len(sizes)).astype(int))] += p
        drawn, raw = np.ones(1), np.bincount(groups, answers, len(sizes)).astype(int)
        for n, won, flip in zip(sizes, raw, flips, strict=False):
            kept, turned = (
                stats.binom.pmf(range(k + 1), k, p) for k, p in ((won, 1 - flip), (n - won, flip))
            )
            drawn = np.multiply.outer(drawn, np.convolve(kept, turned))
        assert drawn[0] == pytest.approx(law, abs=1e-15)
        if len(sizes) == 2 and len(set(answers)) == 2:
            assert drawn[0] != pytest.approx(law[::-1], abs=1e-3)


@pytest.mark.parametrize("m, sizes", [(2, (1, 2)), (3, (1, 1)), (3, (2,))])
def test_privacy_of_the_released_counts_of_all_users(m, sizes):
    """The release of all pairs and groups at once, for neighbours in one answer of one user: at most his budget."""
    groups, pairs = np.repeat(np.arange(len(sizes)), sizes), m * (m - 1) // 2
    budgets = np.array([0.4, 1.6])[: len(sizes)]
    flips = 1 / (1 + np.exp(budgets))

    def law(answers):
        """Of (pair, group) counts, flat; answers (pairs, users)."""
        total = np.ones(1)
        for pair, g in itertools.product(range(pairs), range(len(sizes))):
            one = np.ones(1)
            for a in answers[pair, groups == g]:
                yes = 1 - flips[g] if a else flips[g]
                one = np.convolve(one, [1 - yes, yes])
            total = np.multiply.outer(total, one).ravel()
        return total

    laws = {x: law(np.reshape(x, (pairs, -1))) for x in bits(pairs * len(groups))}
    for user in range(len(groups)):
        worst, all_worst = 0.0, 0.0
        for x, one in laws.items():
            near, far = np.reshape(x, (pairs, -1)).copy(), np.reshape(x, (pairs, -1)).copy()
            near[0, user] ^= 1
            far[:, user] ^= 1
            worst = max(worst, np.abs(np.log(one / laws[tuple(near.ravel().tolist())])).max())
            all_worst = max(
                all_worst, np.abs(np.log(one / laws[tuple(far.ravel().tolist())])).max()
            )
        budget = budgets[groups[user]]
        assert worst <= budget + 1e-12 and all_worst <= pairs * budget + 1e-12
        if sizes[groups[user]] == 1:  # nobody hides him
            assert worst == pytest.approx(budget, abs=1e-12) and all_worst == pytest.approx(
                pairs * budget, abs=1e-12
            )


class Some(Comparisons):
    """Data in which each group of users made between 0 and 3 comparisons of a pair."""

    def compared(self, sizes):
        return np.random.default_rng(7).integers(0, 4, (REPS, len(sizes), 3))

    def split(self, sizes, rng):
        return rng.binomial(self.compared(sizes), 0.8)


@pytest.mark.parametrize(
    "draw, known", [("conditional", True), ("marginal", True), ("marginal", False)]
)
def test_what_nobody_compared_is_not_released(draw, known):
    mechanism = RandomizedResponse(m=3, L=8, epsilon=0.5, profile="0.5:1,0.5:4", draw=draw)
    data = Some(np.full((REPS, 3), 0.8) if known else None, 8, 3, np.random.default_rng(1))
    release, made = (
        mechanism.release(data, np.random.default_rng(2)),
        data.compared(mechanism.users),
    )
    assert (release.compared == made).all() and (release.wins[made == 0] == 0).all()
    assert (release.wins >= 0).all() and (release.wins <= made).all()
    flips = flip_probability(mechanism.budgets)
    for g, pair, n in itertools.product((0, 1), range(3), (1, 2, 3)):
        found = np.bincount(release.wins[made[:, g, pair] == n, g, pair], minlength=n + 1)
        laws = [
            stats.binom.pmf(range(n + 1), n, 0.8 * (1 - f) + 0.2 * f)
            for f in (flips[g], 0.9 * flips[g], 0)
        ]
        assert counts_agree(found, laws[0], f"group {g}, pair {pair}, {n} made")
        assert not counts_agree(found, laws[2], "control: raw")
        if g == 0 and n == 3:  # the noisiest group and the most comparisons
            assert not counts_agree(found, laws[1], "control: flips 10 % too rare")


@pytest.mark.parametrize("epsilon", [0, -1e-300, -1, np.inf, np.nan, "1", None, True])
def test_a_budget_is_positive_and_finite(epsilon):
    with pytest.raises(InvalidInput, match="epsilon"):
        build(RandomizedResponse, {"m": 3, "L": 5, "epsilon": epsilon})


def test_budgets_in_range_are_taken_as_they_are():
    for epsilon in (5e-324, 1e-8, 800.0, 1.7e308):
        assert build(RandomizedResponse, {"m": 3, "L": 5, "epsilon": epsilon}).budgets.tolist() == [
            epsilon
        ]
    data = Comparisons(np.broadcast_to([0.1, 0.5, 0.8], (1000, 3)), 5, 3, np.random.default_rng(1))
    loud = RandomizedResponse(m=3, L=5, epsilon=800.0).release(data, np.random.default_rng(2))
    assert (loud.wins[:, 0] == data.wins).all()  # nothing is flipped
