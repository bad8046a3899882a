"""Mutual information of private sketches: against a slow enumeration, closed forms, and every bound over a grid."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pipeline.problems.clustering.metrics import information
from pipeline.problems.clustering.theory import answer_tables
from pipeline.problems.clustering.theory import information as info
from pipeline.study.parameters import InvalidInput

BUDGETS = (0.1, 0.5, 1.0, 3.0, np.inf)


def slow(N, w, answers):
    """I(Z; S) bits by listing all (z, record, s); answers(question, items, labels) -> {s: chance}, by question."""
    total, questions = 0.0, list(answers)
    for question in questions:
        joint = {}
        sets = list(itertools.combinations(range(N), w))
        for z in itertools.product((0, 1), repeat=N):
            for items in sets:
                for s, chance in question(items, tuple(z[i] for i in items)).items():
                    joint[z, s] = joint.get((z, s), 0) + chance / len(sets) / 2**N
        marginal = {}
        for (_, s), chance in joint.items():
            marginal[s] = marginal.get(s, 0) + chance
        total += sum(
            c * math.log2(c * 2**N / marginal[s]) for (_, s), c in joint.items() if c
        ) / len(questions)
    return total


def noisy(epsilon, holds):
    keep = 1.0 if epsilon == np.inf else math.exp(epsilon) / (1 + math.exp(epsilon))
    return lambda items, labels: (
        {1: keep, 0: 1 - keep} if holds(items, labels) else {1: 1 - keep, 0: keep}
    )


@pytest.mark.parametrize("epsilon", [0.5, 3.0, np.inf])
@pytest.mark.parametrize("N, w", [(2, 1), (3, 2), (4, 2), (4, 3)])
def test_sketches_against_enumeration(N, w, epsilon):
    p, each = 0.4, []
    for sensed in itertools.product((0, 1), repeat=N):
        question = noisy(
            epsilon,
            lambda items, labels, h=sensed: any(
                h[i] and z for i, z in zip(items, labels, strict=True)
            ),
        )
        each.append(p ** sum(sensed) * (1 - p) ** (N - sum(sensed)) * slow(N, w, [question]))
    assert info.maxsense_information(N, w, epsilon, p) == pytest.approx(sum(each), abs=1e-12)

    def rating(i, items, labels):
        return labels[items.index(i)] if i in items else None

    readings = {
        "agree": lambda a, b: a is not None and a == b,
        "positive": lambda a, b: a == b == 1,
        "equal": lambda a, b: (a or 0) == (b or 0),
    }
    for reading, holds in readings.items():
        pair = noisy(
            epsilon,
            lambda items, labels, f=holds: f(rating(0, items, labels), rating(1, items, labels)),
        )
        assert info.pairwise_information(N, w, epsilon, reading) == pytest.approx(
            slow(N, w, [pair]), abs=1e-12
        )
    count = noisy(epsilon, lambda items, labels: sum(labels) >= w // 2 + 1)
    assert info.count_information(N, w, epsilon) == pytest.approx(slow(N, w, [count]), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.5, np.inf])
@pytest.mark.parametrize("N, w", [(2, 1), (3, 1), (3, 2), (3, 3)])
def test_best_question_against_all_questions(N, w, epsilon):
    """Every subset of the records, one by one, in other code paths. The negative control: sets of one parity only."""
    records = [
        (items, labels)
        for items in itertools.combinations(range(N), w)
        for labels in itertools.product((0, 1), repeat=w)
    ]
    D = len(records)
    keep = 1.0 if epsilon == np.inf else 1 / (1 + math.exp(-epsilon))
    found = {}
    for chosen in itertools.product((0, 1), repeat=D):
        if D <= 6:
            accepted = frozenset(r for r, c in zip(records, chosen, strict=True) if c)
            value = slow(N, w, [noisy(epsilon, lambda i, z, A=accepted: (i, z) in A)])
        else:
            one = np.where(chosen, keep, 1 - keep)
            value = info.channel_information(N, w, np.stack([one, 1 - one], axis=1))
        found[sum(chosen) % 2] = max(found.get(sum(chosen) % 2, 0), value)
    best = info.best_information(N, w, epsilon)
    assert (
        best == pytest.approx(max(found.values()), abs=1e-12) and min(found.values()) < best - 1e-4
    )


def test_best_question_in_closed_form():
    for epsilon in BUDGETS:
        keep = 1 / (1 + math.exp(-epsilon))
        two_labels = 1 - float(info.entropy(keep))
        assert info.best_information(3, 3, epsilon) == pytest.approx(
            two_labels
        )  # any balanced function of Z
        # N = 2, w = 1: with "is your label 1?", P(S = 1 | z) is f, ½, ½ or 1 − f.
        assert info.best_information(2, 1, epsilon) == pytest.approx(two_labels / 2)
    assert info.best_information(1, 1, np.inf) == 1


def test_representatives_are_the_known_classes():
    """4 and 14 NPN classes of functions of two and three variables."""
    assert [len(info.representatives(w)) for w in (1, 2, 3)] == [2, 4, 14]


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=12, max_size=12), st.sampled_from(BUDGETS))
def test_no_question_beats_the_best(chosen, epsilon):
    """Random questions at N = 3, w = 2, deterministic or not, by the dense formula."""
    best = info.best_information(3, 2, epsilon)
    keep = 1 / (1 + math.exp(-epsilon))
    one = np.where(chosen, keep, 1 - keep)
    assert info.channel_information(3, 2, np.stack([one, 1 - one], axis=1)) <= best + 1e-12


@pytest.mark.parametrize(
    "N, w", [(1, 1), (2, 1), (3, 1), (8, 1), (40, 1), (3, 2), (4, 2), (2, 2), (5, 5)]
)
def test_bounds_hold_over_a_grid(N, w):
    """All of them, for the best one-bit sketch; some would fail with a smaller constant, as the controls below show."""
    for epsilon in BUDGETS:
        best = info.best_information(N, w, epsilon)
        bounds = [
            info.lemma_6(epsilon),
            info.contraction_one_bit(N, w, epsilon),
            w / N * np.tanh(epsilon / 2) ** 2,
        ]
        if epsilon < np.inf:
            bounds += [
                info.capacity(epsilon),
                info.theorem_13(N, w, epsilon),
                info.contraction(N, w, epsilon),
            ]
            if epsilon < math.log(2):
                bounds.append(info.theorem_14(N, w, epsilon))
        if w == 1:
            bounds.append(info.theorem_10(N))
        assert all(best <= bound + 1e-12 for bound in bounds)
        for sketch in (
            info.maxsense_information(N, w, epsilon, 0.5),
            info.count_information(N, w, epsilon),
        ):
            assert sketch <= best + 1e-12
        if N > 1:
            assert info.pairwise_information(N, w, epsilon) <= best + 1e-12


def test_bounds_have_no_room_for_half_of_them():
    """The negative controls: half of each sharp bound is exceeded somewhere."""
    assert info.best_information(2, 1, np.inf) > info.theorem_10(2) / 2
    assert info.best_information(20, 1, 0.1) > info.contraction_one_bit(20, 1, 0.1) / 2 * 0.99
    assert info.best_information(3, 3, 0.1) > info.capacity(0.1) / 2


@st.composite
def private_channels(draw):
    """(N, w, ε, P(S = s | X)): any ε-LDP answer with up to four values."""
    N, w = draw(st.sampled_from([(2, 1), (3, 1), (3, 2), (4, 2), (3, 3)]))
    epsilon, values = draw(st.floats(0.05, 4.0)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    D = len(info.records(N, w)[0])
    raw = np.exp(
        epsilon / 2 * rng.choice([0, 0.5, 1], (D, values))
    )  # rows then differ by e^ε/2 twice at most
    return N, w, epsilon, raw / raw.sum(axis=1, keepdims=True)


@settings(deadline=None)
@given(private_channels())
def test_bounds_hold_for_any_private_answer(channel):
    N, w, epsilon, chances = channel
    ratio = (chances.max(axis=0) / chances.min(axis=0)).max()
    assert ratio <= math.exp(epsilon) * (1 + 1e-12)
    found = info.channel_information(N, w, chances)
    limits = [
        info.lemma_6(epsilon),
        info.capacity(epsilon),
        info.contraction(N, w, epsilon),
        info.theorem_13(N, w, epsilon),
        info.lemma_9(N, w, chances) * info.NAT,
    ]
    assert all(found <= limit + 1e-12 for limit in limits)
    # Lemma 11: posterior over prior is within [e^−ε, e^ε], and its values for one s within a factor e^ε.
    density = chances / chances.mean(axis=0)
    assert (
        density.max() <= math.exp(epsilon) + 1e-12 and density.min() >= math.exp(-epsilon) - 1e-12
    )
    variance = np.square(density - 1).mean(axis=0)
    assert info.lemma_9(N, w, chances) <= (chances.mean(axis=0) * variance).sum() * w / N + 1e-12


def test_lemma_9_against_sums_by_hand_and_its_slip():
    N, w = 3, 2
    rng = np.random.default_rng(3)
    chances = rng.dirichlet(np.ones(3), 12)
    items, labels = info.records(N, w)
    posterior = chances / chances.sum(axis=0)
    total = 0.0
    for i, j in itertools.product(range(12), repeat=2):
        first, second = (dict(zip(items[k], labels[k], strict=True)) for k in (i, j))
        shared = first.keys() & second.keys()
        value = 2 ** len(shared) * all(first[x] == second[x] for x in shared) - 1
        total += (chances.mean(axis=0) * posterior[i] * posterior[j]).sum() * value
    assert info.lemma_9(N, w, chances) == pytest.approx(total)
    assert info.channel_information(N, w, chances) == pytest.approx(
        slow(
            N,
            w,
            [
                lambda i, z: dict(
                    enumerate(
                        chances[
                            next(
                                k
                                for k in range(12)
                                if tuple(items[k]) == i and tuple(labels[k]) == z
                            )
                        ]
                    )
                )
            ],
        )
    )
    # In bits it is wrong: S uniform on the labelings that are not Z.
    other = (1 - np.eye(4)) / 3
    assert info.lemma_9(2, 2, other) == pytest.approx(1 / 3)
    assert (
        info.channel_information(2, 2, other) == pytest.approx(math.log2(4 / 3))
        and math.log2(4 / 3) > 1 / 3
    )


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.3, 1.0, 4.0, 30.0])
def test_capacity_is_the_best_of_two_valued_densities(epsilon):
    def minus(a):
        low = 1 / (1 + a * math.expm1(epsilon))
        high = low * math.exp(epsilon)
        return -(a * high * math.log(high) + (1 - a) * low * math.log(low))

    if epsilon > 1e-2:
        found = -optimize.minimize_scalar(
            minus, bounds=(1e-15, 1), method="bounded", options=dict(xatol=1e-14)
        ).fun
        assert info.capacity(epsilon) * math.log(2) == pytest.approx(found, rel=1e-6)
    else:
        assert info.capacity(epsilon) * math.log(2) == pytest.approx(epsilon**2 / 8, rel=1e-3)
    assert info.capacity(epsilon) <= info.lemma_6(epsilon)


def test_capacity_is_attained():
    """Subsets of half of eight labelings, each e^ε times likelier if it holds one's own: within 5 % at ε = 1."""
    epsilon, sets = 1.0, list(itertools.combinations(range(8), 3))
    raw = np.array(
        [[math.exp(epsilon) if z in chosen else 1.0 for chosen in sets] for z in range(8)]
    )
    found = info.channel_information(3, 3, raw / raw.sum(axis=1, keepdims=True))
    assert 0.95 * info.capacity(epsilon) < found <= info.capacity(epsilon)
    assert found > info.best_information(3, 3, epsilon)  # more than one bit helps


def test_theorem_13_by_hand():
    chance = [Fraction(math.comb(2, k) * math.comb(3, 2 - k), math.comb(5, 2)) for k in range(3)]
    expected = chance[1] / 2 + chance[2] * 3 / 4
    assert info.theorem_13(5, 2, 0.5) == pytest.approx(math.e * float(expected) / math.log(2))
    rest = 3 * float(chance[2])
    assert info.theorem_14(5, 2, 0.5) == pytest.approx(
        (2 * math.expm1(0.5) ** 2 * 0.4 + math.e * rest) / math.log(2)
    )


def test_scaling_in_items_ratings_and_budget():
    """Order w/N and ε²: what Theorems 13 and 14 are about. MaxSense is within a constant of every bound."""
    for N, w in ((100, 4), (400, 4), (400, 100), (1000, 30)):
        share = info.maxsense_information(N, w, 0.5, 1 / w) / (w / N * np.tanh(0.25) ** 2)
        bound = info.contraction_one_bit(N, w, 0.5) / (w / N * np.tanh(0.25) ** 2)
        assert 0.05 < share < bound < 1.5
    assert info.pairwise_information(1000, 30, 0.5) < 0.01 * info.maxsense_information(
        1000, 30, 0.5, 1 / 30
    )


def test_sizes_that_cannot_be_searched_are_refused():
    for N, w in (
        (5, 2),
        (4, 3),
        (6, 5),
        (1000, 5),
        (100_000, 50_000),
    ):  # told before any table is made
        with pytest.raises(InvalidInput, match=f"N={N}: with w={w} has too many questions"):
            info.best_information(N, w, 1.0)
    with pytest.raises(InvalidInput, match="w=4: must be 1 to N=3"):
        info.best_information(3, 4, 1.0)
    with pytest.raises(InvalidInput, match="reading=same"):
        info.pairwise_information(3, 2, 1.0, "same")


@pytest.mark.parametrize("count", [2, 3, 8])
def test_answers_that_name_a_set_spend_their_budget(count):
    for epsilon in (0.1, 2.0):
        for size, chances in enumerate(answer_tables.private_answers(count, epsilon), 1):
            assert np.allclose(chances.sum(axis=1), 1) and np.allclose(chances.sum(axis=0), 1)
            loss = np.log(chances[:, None] / chances[None]).max()
            assert loss == pytest.approx(epsilon), size
            assert np.isclose(chances, chances.max()).sum() == size * count


def test_all_answers_are_laws_and_some_spend_everything():
    tried = answer_tables.all_answers(4)
    assert all(np.allclose(chances.sum(axis=1), 1) for chances in tried)
    assert (
        len(tried)
        == 2 + 3 * len(answer_tables.BUDGETS) + len(answer_tables.VALUES) * answer_tables.DRAWN
    )
    assert any((chances == 0).any() for chances in tried)


@pytest.mark.parametrize("N, w", [(2, 1), (3, 2), (4, 4)])
def test_the_largest_information_is_that_of_the_best_answer_by_enumeration(N, w):
    """Of one bit where that is the best, and of a set of records where that is, which one bit never reaches."""
    items, values = info.records(N, w)
    records = [
        (tuple(one), tuple(labels))
        for one, labels in zip(items.tolist(), values.tolist(), strict=True)
    ]

    def named(chances):
        return lambda rated, labels: dict(enumerate(chances[records.index((rated, labels))]))

    for epsilon in (0.5, 4.0):
        of_sets = [
            slow(N, w, [named(chances)])
            for chances in answer_tables.private_answers(len(records), epsilon)
        ]
        best = info.best_information(N, w, epsilon)
        found = information.information_largest(N=N, w=w, epsilon=epsilon).value
        assert found == pytest.approx(max(best, *of_sets), rel=1e-9)
        assert found <= info.capacity(epsilon) * (1 + 1e-12)
    assert max(of_sets) > 1.3 * best  # at ε = 4


def test_sets_of_the_best_share_reach_the_capacity():
    """And twice the budget, the wrong variant, is beyond it."""
    reached = [
        information.information_largest(N=4, w=4, epsilon=epsilon).value
        / float(info.capacity(epsilon))
        for epsilon in (0.1, 1.0, 4.0)
    ]
    assert min(reached) > 0.995 and max(reached) <= 1
    assert information.information_largest(N=4, w=4, epsilon=2.0).value > float(info.capacity(1.0))


@pytest.mark.parametrize("N, w", [(2, 2), (8, 1), (4, 2)])
def test_the_largest_share_of_lemma_9_is_over_all_answers(N, w):
    largest, one = (
        information.lemma_9_largest(N=N, w=w).value,
        information.lemma_9_share(N=N, w=w).value,
    )
    assert one <= largest <= 1
    assert np.isnan(information.lemma_9_largest(N=9, w=1).value) == np.isnan(
        information.lemma_9_share(N=9, w=1).value
    )


def test_odds_of_sets_are_those_of_the_posterior():
    N, w, epsilon = 3, 2, 1.5
    worst = 0.0
    for chances in answer_tables.private_answers(12, epsilon):
        posterior = chances / chances.sum(axis=0)
        worst = max(worst, np.abs(np.log(posterior * 12)).max())
    assert information.odds_largest_of_sets(N=N, w=w, epsilon=epsilon).value == pytest.approx(
        worst / epsilon
    )
    assert information.odds_largest_of_sets(N=1000, w=30, epsilon=epsilon).value == 0
