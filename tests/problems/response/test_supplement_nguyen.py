"""Lemmas and theorems of Nguyen and Zhang's supplement with their constants: exact laws, and data of 10⁸ persons."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats
from scipy.special import expit

from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.releases import Differences


def outside(m, p):
    """P(a person's number of items is not within half of mp), exactly."""
    return stats.binom.cdf(math.ceil(m * p / 2) - 1, m, p) + stats.binom.sf(
        math.floor(1.5 * m * p), m, p
    )


@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9])
def test_lemma_1_2_for_one_person(p):
    """2exp(−mp/10) is what the proof of Lemma 1.2 has for one person; what it makes of n persons is row N12."""
    sizes = [math.ceil(mean / p) for mean in (5, 20, 80, 320)]
    chances = np.array([outside(m, p) for m in sizes])
    means = np.array(sizes) * p
    assert (chances <= 2 * np.exp(-means / 10)).all()
    if p == 0.01:
        assert (chances > 2 * np.exp(-means / 8)).any()  # the wrong variant: a larger exponent


class Chains:
    """M and M* of n persons of ability 0 whose answers are counted by pattern; what the supplement's bounds need."""

    def __init__(self, beta, n, p, seed):
        self.beta = np.array(beta) - np.mean(beta)
        m, right = len(beta), expit(-self.beta)
        patterns = np.array(
            [*itertools.product((-1, 0, 1), repeat=m)]
            if p < 1
            else [*itertools.product((0, 1), repeat=m)]
        )
        seen = (patterns >= 0).astype(float)
        chance = np.where(patterns < 0, 1 - p, p * np.where(patterns == 1, right, 1 - right)).prod(
            axis=1
        )
        persons = np.random.default_rng(seed).multinomial(n, chance).astype(float)
        solved = (patterns == 1).astype(float)
        self.both = (seen.T * persons) @ seen
        self.counts = (solved.T * persons) @ (seen - solved)
        d, self.m, self.np2, self.np = 1.5 * m * n * p**2, m, n * p**2, n * p
        assert (abs(self.both[~np.eye(m, dtype=bool)] / self.np2 - 1) <= 0.5).all()  # the event 𝒜
        self.found, self.mean = (
            self.whole(self.counts / d),
            self.whole(self.both * np.outer(right, 1 - right) / d),
        )
        self.law = np.exp(self.beta) / np.exp(self.beta).sum()
        self.kappa, self.gamma = np.ptp(self.beta), right.min() * (1 - right.max())
        self.estimate = (
            Spectral(m=m, pseudo_count=0.0, floor=0.0)
            .fit(Differences(np.rint(self.counts)[None].astype(np.int64), n, np.zeros(1)), None)
            .theta[0]
        )
        self.stationary = np.exp(self.estimate) / np.exp(self.estimate).sum()

    def whole(self, rates):
        """The chain with these rates off the diagonal."""
        off = rates * (1 - np.eye(self.m))
        return off + np.diag(1 - off.sum(axis=1))

    def alpha(self, logarithm, C=1.0):
        """α_C of the event of size √(12 C logarithm/(γ np²)), which is checked to hold."""
        alpha = math.sqrt(12 * C * logarithm / (self.gamma * self.np2))
        off = ~np.eye(self.m, dtype=bool)
        assert np.abs(self.found[off] / self.mean[off] - 1).max() <= alpha
        return alpha

    def first(self):
        """I_1 of every item."""
        off = self.found * (1 - np.eye(self.m))
        return (self.stationary - self.law) @ off


ITEMS = {"three": ([0.0, 0.1, 0.2], 0.7), "six": ([0.0, 0.0, 0.1, 0.1, 0.2, 0.2], 1.0)}


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("seed", range(5))
def test_steps_of_lemma_1_4(items, seed):
    """The inequalities of its proof that hold for every data set; α: of the event, with equality."""
    one = Chains(*ITEMS[items][:1], 20_000, ITEMS[items][1], seed)
    off = ~np.eye(one.m, dtype=bool)
    alpha = np.abs(one.found[off] / one.mean[off] - 1).max()
    assert one.law @ one.mean == pytest.approx(
        one.law
    ) and one.stationary @ one.found == pytest.approx(one.stationary)
    gap = 1 - np.sort(np.linalg.eigvals(one.mean).real)[-2]
    assert gap >= one.gamma / (3 * math.exp(2 * one.kappa)) and gap < 4 * one.gamma
    apart = np.linalg.norm(one.found - one.mean, 2)
    assert apart <= 2 * alpha and np.linalg.norm(one.found * off, axis=0).max() <= (
        1 + alpha
    ) / math.sqrt(one.m)
    moved = np.linalg.norm(one.stationary - one.law)
    pushed = np.linalg.norm(one.law @ (one.found - one.mean))
    assert pushed < moved <= pushed / (gap - apart)  # the wrong variant: without the gap
    assert np.abs(one.first()).max() <= moved * (1 + alpha) / math.sqrt(one.m)


@pytest.mark.parametrize("items", ITEMS)
def test_theorems_1_5_1_7_1_10_and_3_1(items):
    """With the constants of the text, C = 1 and 10⁸ persons, of whom the theorems need as many to say anything.

    C' = 1 + 3.5/m, so that I_1 may be larger with probability e^−14; C = 8 in Theorem 1.10. Lemmas 1.4 and 1.9 are of
    I_1.
    """
    beta, p = ITEMS[items]
    found = []
    for seed in range(5):
        one = Chains(beta, 10**8, p, seed)
        top, m, kappa, gamma = one.law.max(), one.m, one.kappa, one.gamma
        errors = (
            np.abs(one.first()).max() / top,
            np.abs(one.stationary - one.law).max() / top,
            np.abs(one.estimate - one.beta).max(),
        )
        many = 4 * (1 + 3.5 / m)
        alpha = one.alpha(math.log(one.np2))
        cases = [
            (alpha, math.sqrt(many * max(1, math.log(one.np2) / m) / (3 * one.np2)), 2 * alpha)
        ]
        if p == 1:  # every person answers all, so that 𝒜⁺ holds
            cases.append(
                (
                    one.alpha(math.log(m), 8.0),
                    math.sqrt(many * math.log(m) / (3 * one.np)),
                    2 * math.sqrt(12 * 8 * math.log(m) / (gamma * one.np)),
                )
            )
        for alpha, spread, rest in cases:
            slack = gamma / (3 * math.exp(2 * kappa)) - 2 * alpha
            first = (1 + alpha) / slack * spread
            law = 3 / (gamma * (1 - alpha)) * (first + rest)
            final = 2 * math.exp(2 * kappa) * law
            assert slack > 0 and final < 1  # not empty
            found.append(np.array(errors) / (first, law, final))
    print(f"{items}: n=5 statistic={np.max(found, axis=0)} bound=1")
    assert (1 / 3000 < np.max(found, axis=0)).all() and np.max(found) < 1 / 400
    assert (
        np.max(found, axis=0) * math.sqrt(one.np2) > 1
    ).all()  # the wrong variant: np² in place of its root


def law_of_third(n, m):
    """(values, probabilities) of Σ_l Σ_j [X_lj(1 − X_li) − ¼] for n persons who answer all of m equal items."""
    one = np.zeros((m - 1) * n + 1)
    one[:m] = stats.binom.pmf(range(m), m - 1, 0.5) / 2
    one[0] += 0.5
    law = np.fft.irfft(np.fft.rfft(one) ** n, len(one))
    return np.arange(len(one)) - n * (m - 1) / 4, law


@pytest.mark.parametrize("n, m", [(100, 10), (400, 20), (50, 60)])
def test_lemma_1_8(n, m):
    """I_3 of equal items and persons, all of whom answer all: P(|I_3| > √(C log m/(2np)) ‖π*‖) ≤ 2m^−C, exactly."""
    values, law = law_of_third(n, m)
    third = np.abs(values) / (1.5 * m * n)  # over ‖π*‖
    variance = n * ((m - 1) * m / 4 / 2 - ((m - 1) / 4) ** 2)  # E[S²]/2 − (E S/2)², S binomial
    assert law @ values**2 == pytest.approx(variance, rel=1e-6) and law.sum() == pytest.approx(1)
    sharp = 0
    for C in (0.5, 1, 2, 3):
        bound = math.sqrt(C * math.log(m) / (2 * n))
        assert law[third > bound].sum() <= 2 * m**-C
        sharp = max(sharp, law[third > bound / 8].sum() / (2 * m**-C))
    assert sharp > 1  # the wrong variant: an eighth of the bound


def test_lemma_1_8_needs_its_condition():
    """The mean square of I_3 is of order 1/(np) where mp is large, and 1/(np²) where a person answers few items.

    W = A_i Σ_j A_j π_j (X_j(1 − X_i) − ¼) of one person, equal items: by the formula, and over all patterns of m = 3.
    """

    def mean_square(m, p):
        return p * ((m - 1) * p * 3 / 16 + (m - 1) * (m - 2) * p**2 / 16) / m**2

    total = 0.0
    for seen, solved in itertools.product(itertools.product((0, 1), repeat=3), repeat=2):
        chance = math.prod(0.3 if a else 0.7 for a in seen) / 8
        total += (
            chance
            * (seen[0] * sum(seen[j] * (solved[j] * (1 - solved[0]) - 0.25) for j in (1, 2)) / 3)
            ** 2
        )
    assert total == pytest.approx(mean_square(3, 0.3))

    def exponent(m, p):  # in p, of n E(I_3/‖π*‖)² = mean square · m²/(3/2 m p²)²
        ends = [math.log(mean_square(m, q) / q**4) for q in (p, p / 1.01)]
        return (ends[0] - ends[1]) / math.log(1.01)

    assert exponent(1000, 0.5) == pytest.approx(-1, abs=0.05) and exponent(
        10, 0.01
    ) == pytest.approx(-2, abs=0.05)


@pytest.mark.parametrize("m", [5, 8, 10])
def test_lemma_2_2(m):
    """Taking binary vectors greedily gives exp(cm) of them, αm or more apart, c > 0; more than 2^m there are not (N18).

    c as in Shah et al. (2015), Lemma 7: (log 2 + 2α log 2α + (1 − 2α) log(1 − 2α))/2.
    """
    for alpha in (0.1, 0.24):
        kept = np.array([], int)
        for word in range(2**m):
            if (np.bitwise_count(kept ^ word) >= alpha * m).all():
                kept = np.append(kept, word)
        c = (
            math.log(2)
            + 2 * alpha * math.log(2 * alpha)
            + (1 - 2 * alpha) * math.log(1 - 2 * alpha)
        ) / 2
        assert c > 0 and math.exp(c * m) <= len(kept) <= 2**m < math.exp(m)


def test_lemma_2_5():
    """Exact least error of any test, 1 − Σ_y max_a P^a(y)/L, of 100 sets of laws; without log 2 it is broken."""
    rng, broken, near = np.random.default_rng(1), 0, 1.0
    for _ in range(100):
        many = int(rng.integers(2, 9))
        mean = rng.dirichlet(np.ones(int(rng.integers(2, 12))))
        laws = rng.dirichlet(mean * rng.uniform(1, 200) + 0.05, size=many)
        laws = (laws + 1e-6) / (laws + 1e-6).sum(axis=1, keepdims=True)
        divergence = special.rel_entr(laws[:, None], laws).sum(axis=2).max()
        error = 1 - laws.max(axis=0).sum() / many
        bound = 1 - (divergence + math.log(2)) / math.log(many)
        assert error >= bound - 1e-12
        near = min(near, error - bound)
        broken += error < 1 - divergence / math.log(many)
    print(
        f"Fano's inequality: n=100 statistic={near:.3f} bound=0; without log 2 broken {broken} times"
    )
    assert broken > 0


def zcdp(pairs):
    """The least ξ with D_α ≤ ξα for these pairs of laws, both ways, at 400 orders α."""
    order = np.geomspace(1.0001, 1e4, 400)
    sums = [
        special.logsumexp(order[:, None] * np.log(a) + (1 - order[:, None]) * np.log(b), axis=1)
        for one, other in pairs
        for a, b in ((one, other), (other, one))
    ]
    return (np.array(sums) / (order - 1) / order).max()


def test_supplement_lemma_3_1():
    """Two mechanisms, the second of which sees the first one's answer: (ξ + ξ')-zCDP, all outcomes enumerated."""
    rng, alone = np.random.default_rng(2), 0
    for _ in range(20):
        first = rng.dirichlet(np.full(3, 2.0), 2)  # a law for either data set
        second = rng.dirichlet(np.full(4, 2.0), (2, 3))  # and for every answer of the first
        both = [(a[:, None] * b).ravel() for a, b in zip(first, second, strict=True)]
        parts = zcdp([tuple(first)]), zcdp(zip(*second, strict=True))
        spent = zcdp([tuple(both)])
        assert spent <= sum(parts) * (1 + 1e-9)
        alone += spent > max(parts)
    assert alone  # the wrong variant: the larger of the two
