"""Lemmas of Banerjee, Hegde and Massoulié that no experiment has, over all cases of small size; wrong variants."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special

from pipeline.problems.clustering.theory import sample_sizes

RNG = np.random.default_rng


def labelings(N):
    return np.array(list(itertools.product((0, 1), repeat=N)))


@pytest.mark.parametrize("N, w", [(3, 1), (3, 2), (4, 2), (3, 3)])
def test_lemmas_18_and_25(N, w):
    """Any law of Z, any law of the rated set that is independent of it, any answer: 60 of each, all S = s.

    I(Z; S = s) ≤ Σ p_s(i, z) p_s(i', z') [1{z ≡ z'} p_(i∪i')(z ∪ z')/(p_i(z) p_i'(z')) − 1], in nats.
    """
    rng, z, sets = RNG(N + 10 * w), labelings(N), list(itertools.combinations(range(N), w))
    records = [(items, values) for items in sets for values in itertools.product((0, 1), repeat=w)]
    member = np.array(
        [[(row[list(items)] == values).all() for items, values in records] for row in z], float
    )
    exceeded_half = 0
    for _ in range(60):
        prior = rng.dirichlet(np.full(len(z), 0.5))
        rated = np.repeat(rng.dirichlet(np.ones(len(sets))), 2**w)
        says = rng.uniform(0, 1, len(records))
        known = prior @ member  # p_i(z) of each record
        posterior = rated * known * says
        posterior /= posterior.sum()
        both = (member * prior[:, None]).T @ member  # 1{z ≡ z'} p_(i∪i')(z ∪ z')
        right = posterior @ (both / np.outer(known, known)) @ posterior - 1
        law = prior * (member @ (posterior / known))
        left = special.rel_entr(law, prior).sum()
        assert law.sum() == pytest.approx(1) and left <= right + 1e-12
        exceeded_half += left > right / 2
    assert exceeded_half  # the wrong variant: half of the bound


@pytest.mark.parametrize("D", [4, 6, 8])
def test_lemma_28(D):
    """A linear function over {Σp = 1, 1 − ε' ≤ D p ≤ 1 + ε'} is largest at D/2 values of either kind: 40 directions."""
    rng, width = RNG(D), 0.6
    for _ in range(40):
        direction = rng.normal(size=D)
        best = optimize.linprog(
            -direction,
            A_eq=np.ones((1, D)),
            b_eq=[1],
            bounds=[((1 - width) / D, (1 + width) / D)] * D,
            method="highs-ds",
        ).x
        order = np.argsort(direction)
        expected = np.full(D, (1 - width) / D)
        expected[order[D // 2 :]] = (1 + width) / D
        assert best == pytest.approx(expected)
        expected[order[[D // 2 - 1, D // 2]]] = 1 / D  # the wrong variant: two values between
        assert direction @ expected < direction @ best


def functions(N, epsilon, rng):
    """F(z) = Σ f_i(z_i) with f_i in [e^−ε, e^ε], (2^N,)."""
    f = np.exp(rng.uniform(-epsilon, epsilon, (N, 2)))
    return f[np.arange(N), labelings(N)].sum(axis=1)


def variance_bound(F, deficit):
    """Largest E(F − F̄)² over laws with D(p‖p⁰) ≤ deficit, as the tilted law attains it."""
    square = (F - F.mean()) ** 2

    def tilted(nu):
        law = np.exp(nu * (square - square.max()))
        return law / law.sum()

    def spent(nu):
        return special.rel_entr(tilted(nu), 1 / len(F)).sum() - deficit

    most = 1e4 / square.max()
    return tilted(optimize.brentq(spent, 0, most)) @ square if spent(most) > 0 else square.max()


def test_lemmas_30_and_31():
    """Any law: entropy lost is at least D of F's law, and a ≥ E(F − F̄)² wherever νa − ψ(ν) ≥ that."""
    rng, strict = RNG(5), 0
    for N, epsilon in itertools.product((3, 5), (0.3, 1.0)):
        for _ in range(20):
            F = functions(N, epsilon, rng).round(1)  # values that several labelings share
            law = rng.dirichlet(np.full(2**N, rng.uniform(0.05, 2)))
            lost = special.rel_entr(law, 2.0**-N).sum()
            where = np.unique(F, return_inverse=True)[1]
            p, p0 = np.bincount(where, law), np.bincount(where) / 2**N
            divergence = special.rel_entr(p, p0).sum()
            assert divergence <= lost + 1e-12
            strict += divergence < 0.9 * lost
            square = (F - F.mean()) ** 2
            for nu in (0.01, 0.1, 1.0, 10.0):
                psi = special.logsumexp(nu * square) - N * math.log(2)
                least = (lost + psi) / nu  # of a with νa − ψ(ν) ≥ lost
                assert law @ square <= least + 1e-12
            assert law @ square <= variance_bound(F, lost) * (1 + 1e-6)
    assert strict  # the wrong variant: equality


def test_lemma_32_and_19():
    """All 2^N labelings: Z(ν) ≤ 1 + 4νσ²/(1 − 2νσ²), and Var ≤ σ² max{20, 10δ} for the worst law of each deficit δ."""
    rng, tight = RNG(6), 0.0
    for N, epsilon in itertools.product((2, 6, 10), (0.2, 1.5)):
        for _ in range(10):
            F = functions(N, epsilon, rng)
            square, sigma2 = (F - F.mean()) ** 2, F.var()
            for b in (0.01, 0.2, 0.4, 0.49):
                partition = np.exp(b / sigma2 * square).mean()
                assert partition <= 1 + 4 * b / (1 - 2 * b)
                tight = max(tight, (partition - 1) / (4 * b / (1 - 2 * b)))
            for deficit in (0.1, 1.0, 0.5 * N * math.log(2)):
                assert variance_bound(F, deficit) <= sigma2 * max(20, 10 * deficit)
    assert tight > 1 / 5  # the wrong variant: a fifth of what is added to 1


@pytest.mark.parametrize("told", [3.0, 6.0])
def test_corollary_21_by_enumeration(told):
    """Six items, answers about one each: no decoder errs less than the bound, whatever users say.

    The best decoder of all: of each history the labelings, up to names, within d of most of the
    posterior. told: log-odds at which users tell the label of an item, which says how much.
    """
    N = 6
    users = 4
    z = labelings(N)[: 2 ** (N - 1)]  # up to names: the last half has the opposites
    distance = (z[:, None] != z).sum(axis=2)
    distance = np.minimum(distance, N - distance)
    right = special.expit(told)
    of_pair = np.where(z[:, :-1] == z[:, 1:], right, 1 - right)  # are neighbours alike?
    of_answer = np.concatenate([of_pair, 1 - of_pair], axis=1) / (N - 1)  # pair and answer, uniform
    bits = (special.rel_entr(of_answer, of_answer.mean(axis=0)).sum(axis=1) / np.log(2)).mean()
    histories = of_answer
    for _ in range(users - 1):
        histories = (histories[:, :, None] * of_answer[:, None]).reshape(len(z), -1)
    for d in (0, 1):
        near = distance <= d
        least_error = 1 - (near.astype(float) @ histories).max(axis=0).sum() / len(z)
        bound = sample_sizes.corollary_21(N, d, users * bits)
        print(f"d = {d}: {users} users of {bits:.4f} bits err with {least_error:.4f} ≥ {bound:.4f}")
        assert least_error >= bound
        assert near.sum(axis=1).max() == 2 ** sample_sizes.ball_bits(N, d)
        if d == 0 and told > 5:  # the wrong variant, without what answers tell
            assert least_error < sample_sizes.corollary_21(N, d, 0)


def private_answers(rng, hypotheses, epsilon, users, kinds):
    """P(history | z), (hypotheses, kinds^users): each answer ε-private, its question by history."""
    histories = np.ones((hypotheses, 1))
    for _ in range(users):
        shape = (hypotheses, histories.shape[1], kinds)
        law = rng.dirichlet(np.ones(kinds), histories.shape[1]) * np.exp(
            rng.choice([0, epsilon / 2], shape)  # so that normalising at most doubles the exponent
        )
        law /= law.sum(axis=2, keepdims=True)
        histories = (histories[:, :, None] * law).reshape(hypotheses, -1)
    return histories


def test_lemmas_5_and_20_and_corollary_22_by_enumeration():
    """Adaptive private answers of two users, 40 schemes: the best decoder errs as often as they say.

    Lemma 5 is Lemma 20 with d = 0. Corollary 22 has U ε log₂ e for the information (Lemma 6).
    """
    rng, N, users = RNG(20), 5, 2
    z = labelings(N)[: 2 ** (N - 1)]
    distance = (z[:, None] != z).sum(axis=2)
    distance = np.minimum(distance, N - distance)
    below_half = 0
    for epsilon in (0.3, 2.0, 8.0, 14.0):
        for _ in range(10):
            histories = private_answers(rng, len(z), epsilon, users, 6)
            told = special.rel_entr(histories, histories.mean(axis=0)).sum() / len(z) / math.log(2)
            for d in (0, 1):
                near = (distance <= d).astype(float)
                least_error = 1 - (near @ histories).max(axis=0).sum() / len(z)
                bits = math.log2(len(z) / near.sum(axis=1).max())
                assert least_error >= 1 - (told + 1) / bits
                assert least_error >= 1 - (users * epsilon + 1) / bits / math.log(2)
                below_half += least_error < 1 - told / 2 / bits
    assert below_half  # the wrong variant: half of the information, and without the 1


def test_propositions_2_and_3_by_enumeration():
    """Answers of two private channels have the sum of their budgets, and no channel after adds any."""
    rng = RNG(23)

    def budget(law):
        logs = np.log(law)
        return (logs[:, None] - logs).max()

    def flips(epsilon):
        return np.array([[special.expit(epsilon), special.expit(-epsilon)]] * 2)[
            [[0], [1]], [[0, 1], [1, 0]]
        ]

    for _ in range(50):
        first, second = rng.dirichlet(np.ones(3), 4), rng.dirichlet(np.ones(5), 4)
        both = (first[:, :, None] * second[:, None]).reshape(4, -1)
        assert budget(both) <= budget(first) + budget(second) + 1e-12
        after = first @ rng.dirichlet(np.ones(4), 3)
        assert budget(after) <= budget(first) + 1e-12
    bits = (flips(1.0)[:, :, None] * flips(0.5)[:, None]).reshape(2, -1)
    assert budget(bits) == pytest.approx(1.5)  # attained: no smaller sum would do
