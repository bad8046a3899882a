"""Every row of docs/papers.md on Wang and Xu: its numbers, computed again, by hand where it accuses."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

from pipeline.problems.crowd.claims import CLAIMS
from pipeline.problems.crowd.theory import bounds, vote_errors
from tests.helpers.papers import check_row, named_claims, rows


def w1():
    """By hand, the jump at the middle: C(100, 50)/2¹⁰⁰/2; and over all points."""
    assert math.comb(100, 50) / 2**101 == pytest.approx(0.0398, abs=5e-5)
    s = np.arange(101)
    normal = stats.norm.cdf((s - 50) / 5)
    distance = max(
        np.abs(stats.binom.cdf(s, 100, 0.5) - normal).max(),
        np.abs(stats.binom.cdf(s - 1, 100, 0.5) - normal).max(),
    )
    assert distance == pytest.approx(0.0398, abs=5e-5)
    assert 1 / (16 * math.sqrt(100)) == 0.00625 and 0.4748 * (1 / 8) / (
        0.5**3 * 10
    ) == pytest.approx(0.0475, abs=5e-5)
    return "0.0398", "0.00625", "0.0475", "0.4748", "100"


def w2():
    assert bounds.label_error_bound(50, 0.0) == 2 == 2 * math.exp(0) and 2 * math.log(
        4
    ) == pytest.approx(2.8, abs=0.03)
    return "2exp(0)", "2.8"


def w3():
    """The least n of the step, over λ by a search; by hand for the λ that is best for the second term alone."""
    m, log_m = 10**6, math.log(10**6)

    def least(projection):  # (4n/λ)√(log m/m) + 4 log(1/λ)√(n log m) = n/2
        left = 0.5 - 4 / projection * math.sqrt(log_m / m)
        return 16 * math.log(1 / projection) ** 2 * log_m / left**2 if left > 0 else math.inf

    low, high = bounds.projection_range(m, 1.0)
    best = optimize.minimize_scalar(least, bounds=(low, high), method="bounded").fun
    workers = math.ceil(min(best, least(high)))
    assert workers == 6742
    allowed = np.linspace(low, high, 20_001)
    assert bounds.theorem_2_proved(workers, m, 1.0, allowed, 0.0).any()
    assert not bounds.theorem_2_proved(workers - 1, m, 1.0, allowed, 0.0).any()
    assert (
        8 * math.log(8) == pytest.approx(16.6, abs=0.05)
        and math.ceil((8 * math.log(8)) ** 2 * log_m) == 3824
    )
    n, m, projection, v = 25, 800_000, 0.1175, 0.75**2
    assert v == pytest.approx(0.56, abs=0.005)
    first = 4 * n / projection * math.sqrt(math.log(m) / m)
    second = 4 * math.log(1 / projection) * math.sqrt(n * math.log(m))
    assert (first, second, n * v / 2) == pytest.approx((3.5, 158, 7.0), rel=0.01)
    for n, m in ((100, 10**6), (10**4, 10**9), (10**6, 10**6)):  # v̂ = log m/n and the largest λ, ⅛
        assert (
            4 * math.log(8) * math.sqrt(n * math.log(m)) >= 16.6 * math.log(m) / 2
            and math.log(m) <= n
        )
    return (
        "6,742",
        "3,824",
        "16.6 times",
        "3.5",
        "158",
        "7.0",
        "0.1175",
        "0.56",
        "10⁶",
        "800,000",
        "n = 25",
        "v̂ = 1",
    )


def w4():
    n, x = 10**6, 0.49
    assert math.ceil(n**x) / n == pytest.approx(0.0009, abs=5e-5)
    least = 8 * math.log(8)
    assert least == pytest.approx(16.6, abs=0.05)
    assert least * math.sqrt(math.log(n) / n) == pytest.approx(0.0618, abs=5e-5)
    worst = [
        math.ceil(n**0.4999) / n / (8 * math.log(8) * math.sqrt(math.log(n) / n))
        for n in (10, 10**4, 10**8)
    ]
    assert max(worst) < 0.1  # at m = n, the fewest tasks that are allowed
    return "0.0009", "0.0618", "0.49", "10⁶", "16.6"


def w5():
    assert 1 / (math.exp(math.log(7)) + 1) == pytest.approx(1 / 8) and math.log(7) == pytest.approx(
        1.946, abs=5e-4
    )
    t, bound = math.tanh(2), 6 * math.sqrt(math.log(800_000) / (800_000 * 16))
    assert bounds.ability_error_bound(800_000, 4.0) == pytest.approx(bound)
    lost = (0.5 + t * (0.942 - 0.5) - (1 - 0.1175)) / t
    assert lost / bound == pytest.approx(7.3, abs=0.05)
    return "1.946", "7.3 times", "0.1175", "0.942", "800,000", "ε = 4"


def w6():
    """By hand: 16√(log m/m) = ⅛ − ½√(log m/m), so √(log m/m) = 1/132; at ε = 1 with v̂ = tanh²(½)."""
    for v, tasks, rel in ((1.0, 214_000, 2e-3), (math.tanh(0.5) ** 2, 5.7e6, 8e-3)):
        r = 0.125 / (16 / v + 0.5)
        m = math.exp(optimize.brentq(lambda x, r=r: x * math.exp(-x) - r**2, 3, 50))
        low, high = bounds.projection_range(m, v)
        assert m == pytest.approx(tasks, rel=rel) and low == pytest.approx(high)
    assert math.ceil(math.log(m) / v) == 73
    return "214,000", "5.7·10⁶", "73 workers", "v̂ = 1", "ε = 1"


def w7():
    assert optimize.brentq(lambda e: e / math.tanh(e / 2) - 3, 1, 5) == pytest.approx(
        2.575, abs=1e-3
    )
    assert bounds.ability_error_sharper(1000, 2.57) < bounds.ability_error_bound(1000, 2.57)
    assert bounds.ability_error_sharper(1000, 2.58) > bounds.ability_error_bound(1000, 2.58)
    return ("2.57",)


def w8():
    """By the proof's inequality; and by the exact error of the vote, which is above the bound there."""

    def first(epsilon, simple):
        """The least n from which on the inequality holds."""
        holds = [bounds.theorem_4_proved(n, 0.45, epsilon, simple) for n in range(3000)]
        return 3000 - holds[::-1].index(False)

    assert (first(1.75, True), first(1.0, True), first(1.75, False)) == (160, 824, 1254)
    assert not any(bounds.theorem_4_proved(10**k, 0.45, 1.0) for k in range(1, 10))
    for n, epsilon in ((160, 1.75), (824, 1.0)):
        assert vote_errors.expert_vote_error(n, 0.45, epsilon) > bounds.expert_error_bound(
            n, 0.45, epsilon
        )
    v = optimize.brentq(lambda v: (2 * v - 1) ** 2 / 2 + math.log(v), 0.6, 0.99)
    assert math.log(v / (1 - v)) == pytest.approx(1.50, abs=5e-3)
    return "160", "824", "1,254", "1.50", "0.45", "1.75", "ε = 1"


def w9():
    t, flip = math.tanh(0.5), 1 / (1 + math.e)
    p = 1 * t + flip  # eq. (22) at p* = 1
    assert abs(p - t + flip) == pytest.approx(0.538, abs=5e-4) and abs(p - t - flip) < 1e-15
    return "0.538", "p* = 1", "ε = 1"


def w10():
    """The mean error of one worker's ability, labels known, by the binomial law: 16 times mε², a quarter of the error.

    So it does of the bound, but for its logarithm; a rate of 1/(mε²) would make it a sixteenth.
    """

    def error(m, epsilon):  # of a worker with p* = ¾
        t, right = math.tanh(epsilon / 2), np.arange(m + 1)
        chance = 0.5 + t / 4
        return stats.binom.pmf(right, m, chance) @ np.abs((right / m - 0.5) / t + 0.5 - 0.75)

    assert error(16_000, 0.4) / error(1000, 0.4) == pytest.approx(1 / 4, rel=0.01)
    assert error(16_000, 0.4) / error(16_000, 0.1) == pytest.approx(1 / 4, rel=0.02)
    for m, epsilon in ((16_000, 0.1), (1000, 0.4)):
        assert bounds.ability_error_bound(m, epsilon) == pytest.approx(
            6 * math.sqrt(math.log(m) / (m * epsilon**2))
        )
    return "its root", "`wang.theorem_3.tasks`", "`wang.theorem_3.budget`"


def w11():
    """Even n: a tie is wrong for one label and right for the other."""
    spammers = stats.binom(94, 0.5)
    error = (spammers.cdf(43) + spammers.cdf(44)) / 2  # experts right: wrong below 44, a tie at 44
    assert error == pytest.approx(0.269, abs=5e-4) and spammers.sf(43) == pytest.approx(
        0.765, abs=5e-4
    )
    assert error == pytest.approx(
        vote_errors.expert_vote_error(100, math.log(6) / math.log(100), 50.0)
    )
    return "0.269", "0.765", "100", "k = 6"


def w12():
    """The mean of |T − p| by hand, and (23) with signs on drawn answers, for either label."""
    rng = np.random.default_rng(12)
    m = 1000
    right = rng.random(m) < 0.5
    label = rng.random(m) < 0.3
    said_one = right == label
    soft = np.clip(label + rng.normal(0, 0.1, m), 0, 1)
    ability = ((1 - said_one) * (1 - soft) + said_one * soft).mean()
    signed = (right + (2.0 * said_one - 1) * (soft - label)).mean()
    assert ability == pytest.approx(signed)
    distance = abs(ability - 0.5)
    assert distance <= abs((right - 0.5).mean()) + np.abs(soft - label).mean()
    assert np.abs(right - 0.5).mean() == 2 * 0.5 * 0.5 == 0.5
    assert math.sqrt(math.log(m) / m) == pytest.approx(0.083, abs=5e-4)
    return "p = ½", "0.5", "0.083", "m = 1,000"


def w13():
    """By hand, and the slope of log-odds over a grid of pairs in [λ, 1 − λ]."""
    odds = 0.1 / 0.9, 0.9 / 0.1
    assert math.log(odds[1] / odds[0]) == pytest.approx(4.39, abs=5e-3)
    assert (odds[1] - odds[0]) / odds[0] == pytest.approx(80)
    assert 2 / 0.1 * (0.9 - 0.1) == pytest.approx(16)
    grid = np.linspace(0.1, 0.9, 41)
    apart = np.abs(special.logit(grid[:, None]) - special.logit(grid))
    assert (apart <= np.abs(grid[:, None] - grid) / (0.1 * 0.9) + 1e-12).all()
    return "λ = 0.1", "p = 0.1", "p' = 0.9", "4.39", "16.0", "80.0"


def w14():
    """Projected points are no farther apart, whatever they are: (28) without its second term."""
    points = np.random.default_rng(14).normal(0.5, 2, (2, 1000))
    projected = np.clip(points, 0.1, 0.9)
    assert (np.abs(np.diff(projected, axis=0)) <= np.abs(np.diff(points, axis=0))).all()
    assert 2 * 0.1 + 0.25 > 0.25
    return "λ = 0.1", "r = 0.25", "`wang.lemma_3`"


def w15():
    """The exact chance, by the binomial law: 2 or fewer of 20, or 18 or more, are right."""
    far = math.sqrt(math.log(20) / 20)
    count = np.arange(21)
    is_far = np.abs(count / 20 - 0.5) > far
    each = stats.binom.pmf(count, 20, 0.5)[is_far].sum()
    assert each == pytest.approx(2 * sum(math.comb(20, k) for k in range(3)) / 2**20)
    assert 1 - (1 - each) ** 10_000 == pytest.approx(0.982, abs=5e-4)
    hoeffding = 2 * 20 * math.exp(-2 * math.log(20))  # of 20 workers: 2n/m²
    assert hoeffding == pytest.approx(2 * 20 / 400) and 1 - (1 - each) ** 20 < hoeffding
    return "10,000", "m = 20", "0.982", "C' = 4", "`wang.lemma_1`"


def w16():
    """Wisdom of k answers at E/k: falling in k, and by the flips themselves."""
    for questions, carried in ((1, 0.2136), (20, 0.0125)):
        flip = 1 / (1 + math.exp(1 / questions))
        assert questions * (1 - 2 * flip) ** 2 == pytest.approx(carried, abs=5e-5)
    carried = [k * math.tanh(1 / (2 * k)) ** 2 for k in range(1, 40)]
    assert (np.diff(carried) < 0).all()
    return "0.2136", "0.0125", "k = 1", "k = 20", "E = 1", "`wang.surveys.nobody`"


def w17():
    """Largest odds of two released answers, over all records that differ in one answer, and in any."""
    kept = math.e / (math.e + 1)
    records = list(itertools.product((0, 1), repeat=2))

    def odds(first, second):
        chances = [
            [
                math.prod(kept if a == r else 1 - kept for a, r in zip(one, released, strict=True))
                for one in (first, second)
            ]
            for released in records
        ]
        return max(one / other for one, other in chances)

    pairs = list(itertools.permutations(records, 2))
    assert max(odds(*pair) for pair in pairs) == pytest.approx(7.39, abs=5e-3)
    near = [pair for pair in pairs if sum(a != b for a, b in zip(*pair, strict=True)) == 1]
    assert max(odds(*pair) for pair in near) == pytest.approx(2.72, abs=5e-3)
    assert math.exp(2) == pytest.approx(odds((0, 0), (1, 1)))
    return "7.39", "2.72", "m = 2", "ε = 1"


def w18():
    """The oracle's error by the binomial law, and by Bahadur and Rao's order of it."""
    wins = np.arange(401)
    law = stats.binom.pmf(wins, 400, 0.6)
    error = law[wins < 200].sum() + law[200] / 2  # equal abilities: a vote, ties by a coin
    assert error == pytest.approx(2.7e-5, rel=0.01)
    assert error == pytest.approx(stats.norm.sf(0.2 * 400 / math.sqrt(400 * 4 * 0.24)), rel=0.3)
    exponent = 400 * 0.2**2
    assert math.exp(-exponent) == pytest.approx(1.1e-7, rel=0.03)
    assert math.exp(-exponent) < error / 100
    assert 2 * math.exp(-exponent / 2) == pytest.approx(6.7e-4, rel=0.01)
    assert 2 * math.exp(-exponent / 2) > error
    return "2.7e-5", "1.1e-7", "6.7e-4", "400", "0.6"


def w19():
    """The integral of Φ(−e√x) over e, by quadrature and by parts; the bound at ē = ½."""
    x = 32
    error = integrate.quad(lambda e: special.ndtr(-e * math.sqrt(x)), 0, 1)[0]
    root = math.sqrt(x)
    by_parts = special.ndtr(-root) + (1 - math.exp(-x / 2)) / (root * math.sqrt(2 * math.pi))
    assert error == pytest.approx(by_parts) == pytest.approx(0.0705, abs=5e-5)
    assert error == pytest.approx(1 / math.sqrt(2 * math.pi * x), rel=1e-3)
    assert 2 * math.exp(-x / 4 / 2) == pytest.approx(0.0366, abs=5e-5)
    return "n v̂ = 32", "0.0705", "0.0366", "`wang.task_difficulty.sure`"


IN_ORDER = (18, 17, 19, 6, 3, 2, 9, 5, 7, 10, 8, 4, 11, 16, 15, 14, 12, 13, 1)  # of the paper
ROWS = {f"W{number}": globals()[f"w{number}"] for number in IN_ORDER}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_is_computed(row):
    check_row(row, ROWS[row]())


def test_every_row_has_its_computation_and_every_claim_named_is_there():
    assert rows("W") == list(ROWS)
    assert named_claims("wang") <= {claim.id for claim in CLAIMS}


def test_a_number_that_is_not_computed_is_noticed():
    for texts in (("0.0399",), (*w1(), "0.0399"), w1()[:-1]):
        with pytest.raises(AssertionError):
            check_row("W1", texts)
