"""Every row of docs/papers.md on Xu, Sun and Cheng: its numbers, computed again, by two ways where it accuses."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special, stats
from scipy.special import expit

from pipeline.privacy.randomized_response_laws import released_probability
from pipeline.problems.ranking.claims import CLAIMS
from pipeline.problems.ranking.derivations import scheme_budget
from pipeline.problems.ranking.estimators.newton import minimise
from pipeline.problems.ranking.theory import tails
from pipeline.problems.ranking.theory.ordering import bernoulli_divergence, excess_risk
from tests.helpers.papers import check_row, check_text, named_claims, rows

T = math.tanh(0.5)  # ε = 1
G = 1 / T**2


def fit(mean, ridge):
    """The estimate of two items from z̄, by the pipeline's solver."""
    return minimise(np.array([[mean, 1 - mean]]), ridge).theta


def x1():
    """z̄ > 1 from 15 of 20 ones on; then the excess risk has no bound as λ → 0. And the exact C, twice."""
    least = next(w for w in range(21) if 0.5 + (w / 20 - 0.5) / T > 1)
    assert stats.binom.sf(least - 1, 20, 0.5) == pytest.approx(0.0207, abs=5e-5)
    risks = [
        excess_risk(fit(0.5 + (least / 20 - 0.5) / T, ridge), np.zeros((1, 2)))[0]
        for ridge in (1e-2, 1e-3, 1e-4)
    ]
    assert (
        risks[1] > 5 * risks[0] and risks[2] > 5 * risks[1] > 5
    )  # as 1/λ: C m²Lδ/ρ is passed, the chance stays
    _x1_constants_of_two_items()
    _x1_constants_of_the_largest_score()
    _x1_constants_that_shrink()
    return (
        "0.0207",
        "0.0125",
        "0.0062",
        "0.106",
        "0.0105",
        "10,000",
        "100",
        "20,000",
        "L = 20",
        "m = 10",
        "m = 2",
        "0.202, 0.0116 and 0.00105 at m = 10², 10⁴ and 10⁶",
        "L = 100",
        "δ = 1",
        "ε = 1",
        "θ* = 0",
        "Theorem 2, eq. (6)",
        "at most where L ≳ G log(mL): see X5",
    )


def _x1_constants_of_two_items():
    """The exact surprisal against binomial tails by hand and Chernoff's bound."""
    constants = []
    for users in (10_000, 20_000):
        gap, ridge, delta = math.sqrt(8 * G / (2 * users)), G / users, users / G / 64
        rho = (1 + math.exp(gap)) * G
        exact = tails.excess_surprisal(delta, gap, ridge, np.array([1.0]), np.array([users]))
        ends = [
            optimize.brentq(
                lambda x, side=side, gap=gap, delta=delta: (
                    float(bernoulli_divergence(gap, side * x)) / 4 - delta
                ),
                0,
                1e6,
            )
            for side in (1, -1)
        ]
        high, low = (
            expit(gap + s * x) + ridge * (gap + s * x) for s, x in zip((1, -1), ends, strict=True)
        )
        p = 0.5 + (expit(gap) - 0.5) * T
        wins = [users * (0.5 + (z - 0.5) * T) for z in (high, low)]
        by_hand = -np.logaddexp(
            stats.binom.logsf(math.ceil(wins[0]) - 1, users, p),
            stats.binom.logcdf(math.floor(wins[1]), users, p),
        )
        if math.isfinite(by_hand):
            assert exact == pytest.approx(by_hand, rel=1e-6)
        # and by Chernoff's bound in closed form, which is the exponent
        divergence = users * sum(
            a * math.log(a / b) for a, b in ((wins[0] / users, p), (1 - wins[0] / users, 1 - p))
        )
        assert exact == pytest.approx(divergence, rel=0.01)
        constants.append(exact * rho / (4 * users * delta))
    assert constants == [pytest.approx(0.0125, abs=5e-5), pytest.approx(0.0062, abs=5e-5)]


def _x1_constants_of_the_largest_score():
    largest = []
    for m in (10, 100):  # s_1 > m − 1, exactly; then only λ holds θ̂_1
        answers, mean = 20 * (m - 1), (m - 1) / 2
        ones = next(
            w
            for w in range(answers // 2, answers)
            if mean + (w / answers - 0.5) * (m - 1) / T > m - 1
        )
        surprisal = -stats.binom.logsf(ones - 1, answers, 0.5)
        score = mean + (ones / answers - 0.5) * (m - 1) / T
        scores = np.r_[score, np.full(m - 1, (m * (m - 1) / 2 - score) / (m - 1))][None]
        risks = [
            excess_risk(minimise(scores, ridge).theta, np.zeros((1, m)))[0]
            for ridge in (1e-3, 1e-4)
        ]
        assert risks[1] > 5 * risks[0] > 0.1
        largest.append(surprisal * 2 * G / (m**2 * 20))
    assert largest == [pytest.approx(0.106, abs=5e-4), pytest.approx(0.0105, abs=5e-5)]


def _x1_constants_that_shrink():
    shrinking = []
    for m in (
        60,
        10**2,
        10**4,
        10**6,
    ):  # δ = m^(−½): item 1's score alone, by concavity, makes such a risk
        answers, ridge = 100 * (m - 1), G * math.log(100 * m) / 100
        half = math.sqrt(m) * m / (m - 1)  # m⁻²(m − 1) log cosh(lead/2) = δ
        lead = 2 * (half + math.log1p(math.sqrt(-math.expm1(-2 * half))))
        score = (m - 1) * expit(lead) + 2 * ridge * lead * (m - 1) / m
        ones = math.ceil(answers * (0.5 + (score / (m - 1) - 0.5) * T))
        least = stats.binom.logpmf(np.arange(ones, ones + 20_000), answers, 0.5)
        share = ones / answers
        exponent = answers * (
            math.log(2) + special.xlogy(share, share) + special.xlogy(1 - share, 1 - share)
        )
        assert -special.logsumexp(least) == pytest.approx(exponent, rel=0.03)  # Chernoff's
        shrinking.append(-special.logsumexp(least) * 2 * G / (m**2 * 100 * m**-0.5))
        if m == 60:  # whole data sets in which item 1 has that score
            rng, (i, j) = np.random.default_rng(1), np.triu_indices(m, 1)
            won = np.where(i == 0, 0, rng.binomial(100, 0.5, (5, len(i))))
            won[:, i == 0] = rng.multivariate_hypergeometric([100] * (m - 1), ones, 5)
            z = np.zeros((5, m, m))
            z[:, i, j] = 0.5 + (won / 100 - 0.5) / T
            z[:, j, i] = 1 - z[:, i, j]
            assert (
                excess_risk(minimise(z.sum(axis=2), ridge).theta, np.zeros((5, m))) >= m**-0.5
            ).all()
    assert shrinking[1:] == [
        pytest.approx(0.202, abs=5e-4),
        pytest.approx(0.0116, abs=5e-5),
        pytest.approx(0.00105, abs=5e-6),
    ]


def x2():
    """θ* = 0 and no noise in ε: the variance is gap²/4, the mean log cosh(gap/2)."""
    assert 40**2 / 4 == 400 and 16 * math.log(math.cosh(20)) == pytest.approx(309, abs=0.5)
    assert 16 * float(bernoulli_divergence(0.0, 40.0)) == pytest.approx(309, abs=0.5)
    # κ = e: a pair of equal items, 2√(m/2) apart in θ = (√(m/2), −√(m/2), 0, …), whose norm is √m log κ
    m = 2000
    gap = 2 * math.sqrt(m / 2)
    assert gap == pytest.approx(63.2, abs=0.05) and gap**2 / 2 == pytest.approx(
        m * math.log(math.e) ** 2
    )
    assert gap**2 / 4 == pytest.approx(1000) and 8 * (1 + math.e) * float(
        bernoulli_divergence(0.0, gap)
    ) == (pytest.approx(920, abs=0.5))
    return "400 > 309", "gap 40", "m = 2,000, gap 63.2", "1,000 > 920", "θ* = 0", "κ = 1"


def x3():
    """Scores of a random tournament rank alike, debiased or not, whatever λ; with mixed budgets they may not."""
    rng, (i, j) = np.random.default_rng(1), np.triu_indices(10, 1)
    released = rng.binomial(50, 0.6, (20, 45)) / 50

    def orders(mean, ridge):
        z = np.zeros((20, 10, 10))
        z[:, i, j], z[:, j, i] = mean, 1 - mean
        return np.argsort(minimise(z.sum(axis=2), ridge).theta.round(9), axis=1, kind="stable")

    first = orders(released, 0.02)
    for t, ridge in ((0.76, 0.02), (0.3, 0.5)):
        assert np.array_equal(orders(0.5 + (released - 0.5) / t, ridge / t**2), first)
    assert not np.array_equal(orders(0.5 + (released - 0.5) * rng.uniform(1, 3, 45), 0.02), first)
    return ("difference 0 in every replication",)


def x4():
    """Without noise, one item 1 above all others; the equation of two unknowns against the solver at m = 20."""

    def error(m, users):
        square = (1 - 1 / m) ** 2 + (m - 1) / m**2
        ridge = m * G * math.log(m * users) / (users * square)
        gap = optimize.brentq(lambda d: expit(d) - expit(1) + 2 * ridge * d / m, 0, 1)
        return (1 - gap) * (1 - 1 / m), ridge

    found, ridge = error(20, 50)
    truth = np.r_[1, np.zeros(19)] - 0.05
    scores = (expit(truth[:, None] - truth).sum(axis=1) - 0.5)[None]
    assert np.abs(minimise(scores, ridge).theta[0] - truth).max() == pytest.approx(found, rel=1e-6)
    assert error(4000, 50)[0] == pytest.approx(0.91, abs=0.005)
    assert math.e**2 * math.sqrt(G * math.log(200_000) / 200_000) == pytest.approx(0.125, abs=5e-4)
    assert error(10**7, 50)[0] > error(4000, 50)[0]  # no matter of size
    assert error(10**7, 10**4)[0] == pytest.approx(0.105, abs=5e-4)
    assert math.e**2 * math.sqrt(G * math.log(1e11) / 1e11) == pytest.approx(0.00025, abs=5e-6)
    bias = [
        error(10**7, users)[0] / (G * math.log(1e7 * users) / users)
        for users in (10**4, 10**6, 10**8)
    ]
    assert 4 < bias[0] < bias[1] < bias[2] < 12  # 2/σ′(1) = 10.2 in the limit
    return "0.91", "0.125", "4,000", "L = 50", "ε = 1", "0.105", "0.00025", "m = 10⁷", "10,000"


def missed_by_lead(c, m):
    """P(item 1 is not first) of Gaussian scores, ½√(c log m) standard deviations above those of m − 1 others.

    At mLΔ² = cG log m and small Δ that is its lead; the covariance of scores, −Var z̄, orders them as independent ones.
    """
    z = np.linspace(-12, 12, 48_001)
    first = stats.norm.pdf(z) * np.exp(
        (m - 1) * stats.norm.logcdf(z + math.sqrt(c * math.log(m)) / 2)
    )
    return 1 - first.sum() * (z[1] - z[0])


def x17():
    """By an integral, and by simulated scores; from c = 8 on the chance falls, below it rises to 1."""
    for c, m, missed in (
        (1, 10**3, 0.9663),
        (1, 10**6, 0.9983),
        (4, 10**3, 0.718),
        (4, 10**6, 0.867),
    ):
        assert missed_by_lead(c, m) == pytest.approx(
            missed, abs=5e-5 if c == 1 else 5e-4
        ) and missed > m ** (-1 / 16)
    for c, rises in ((1, True), (4, True), (7, True), (12, False), (16, False)):
        assert (missed_by_lead(c, 1e24) > missed_by_lead(c, 1e3)) == rises
    assert missed_by_lead(1, 10**3) <= (10**3 - 1) * math.exp(
        -math.log(10**3) / 16
    )  # with the factor
    rng, n, users = np.random.default_rng(2), 2000, 10**6
    gap = math.sqrt(G * math.log(100) / (100 * users))  # m = 100, c = 1
    wins = rng.binomial(users, 0.5, (n, 99 * 98 // 2))
    i, j = np.triu_indices(99, 1)
    others = np.zeros((n, 99))
    for k in range(99):  # scores of item k + 1 against its like
        others[:, k] = wins[:, i == k].sum(axis=1) + (users - wins[:, j == k]).sum(axis=1)
    against = rng.binomial(users, 0.5 + (expit(gap) - 0.5) * T, (n, 99))
    missed = np.mean(against.sum(axis=1) <= (others + users - against).max(axis=1))
    expected = missed_by_lead(1, 100)
    bound = stats.norm.isf(5e-7) * math.sqrt(expected * (1 - expected) / n)
    print(f"n={n} statistic={missed - expected:.4f} bound={bound:.4f} alpha=1e-06")
    assert abs(missed - expected) < bound < abs(missed_by_lead(2, 100) - expected)
    return (
        "0.9663 at m = 10³",
        "0.9983 at 10⁶",
        "c = 1",
        "0.718",
        "0.867",
        "c = 4",
        "c < 8",
        "K = 1",
    )


def x5():
    """By two solvers; and s_1 > m − 1, from where θ̂_1 ≥ (s_1 − m + 1)/(2λ), by the binomial law of item 1's wins."""

    def alone(m, users, epsilon):
        """s_1 − (m − 1), the least that is above 0, and −log P of it or more; θ* = 0."""
        t, answers = math.tanh(epsilon / 2), users * (m - 1)
        ones = math.floor(answers * (1 + t) / 2) + 1
        return (ones / answers - (1 + t) / 2) * (m - 1) / t, -stats.binom.logsf(
            ones - 1, answers, 0.5
        )

    m, gain = 10**6, 1 / math.tanh(0.025) ** 2
    above, surprisal = alone(m, 1, 0.05)
    for ridge in (1e-6, 1e-9):  # the error passes any multiple of the rate
        assert above / (2 * ridge) / math.sqrt(m) > 1e-6 / ridge * math.sqrt(gain * math.log(m) / m)
    assert surprisal == pytest.approx(316.5, abs=0.05) and m * math.log(m) == pytest.approx(
        1.38e7, rel=2e-3
    )
    assert surprisal == pytest.approx(
        (m - 1) * 2 * (math.tanh(0.025) / 2) ** 2, rel=0.02
    )  # Chernoff's exponent
    assert (surprisal + math.log(2)) / (m * math.log(m)) == pytest.approx(2.3e-5, rel=5e-3)
    for m, users, epsilon in (
        (10**6, 1, 0.05),
        (10**5, 10, 0.05),
        (10**4, 100, 0.5),
        (10**3, 400, 1.0),
    ):
        least = tails.surprisal_below(-1e-12, 0.0, np.array([epsilon]), np.array([users * (m - 1)]))
        largest = (least + math.log(2)) / (m * math.log(m * users))  # C
        order = users * math.tanh(epsilon / 2) ** 2 / math.log(m * users)  # L/(G log(mL))
        assert least == pytest.approx(surprisal, rel=1e-3) or m < 10**6
        assert 0.45 < largest / order < 0.6
    for ridge, expected in ((0.064, 2.6), (0.0094, 10.6), (0.001, 100.0)):
        by_root = optimize.brentq(lambda x, ridge=ridge: expit(x) + ridge * x - 1.1, 0, 1e4)
        assert by_root == pytest.approx(expected, abs=0.05) == np.ptp(fit(1.1, ridge))
    return (
        "2.6, 10.6 and 100.0",
        "0.064, 0.0094 and 0.001",
        "1.1",
        "m = 10⁶",
        "0.05",
        "316.5",
        "1.38·10⁷",
        "2.3·10⁻⁵",
        "L/(G log(mL))",
        "L = 1",
        "m = 2",
        "θ* = 0",
    )


def x6():
    """Twice the second moment of a hexagon of circumradius √(2/3) log 10; and of its lattice points."""
    moment = 2 * 5 * (2 / 3 * math.log(10) ** 2) / 12
    assert moment == pytest.approx(2.95, abs=0.005) and moment / 0.05**2 == pytest.approx(
        1178, abs=1
    )
    side = np.linspace(-1, 1, 401) * math.log(10)
    a, b = np.meshgrid(side, side)  # θ_1 − θ_2 and θ_2 − θ_3: an affine picture, so uniform
    inside = np.abs(a + b) <= math.log(10)
    theta = np.stack([(2 * a + b), (b - a), (-a - 2 * b)]) / 3
    assert 2 * (theta**2).sum(axis=0)[inside].mean() == pytest.approx(moment, rel=0.01)
    return "2.95", "1,178", "0.05", "m = 3", "κ = 10"


def x7():
    d, q = math.tanh(0.15), expit(0.3)
    released = q * math.e / (1 + math.e) + (1 - q) / (1 + math.e)
    assert released - 0.5 == pytest.approx(0.03440, abs=5e-6) == 0.5 * T * d and d == pytest.approx(
        2 * (q - 0.5)
    )
    assert math.e / (1 + math.e) * d == pytest.approx(0.10884, abs=5e-6)
    return "0.03440", "0.10884", "0.3", "ε = 1", "\\|D\\| = 2\\|q − ½\\|"


def x8():
    """4√(κδ) at the proof's δ over √(G log(mL)/(mL)); and that an error of 4√(κδ) has an excess risk of δ or more."""
    for kappa, gain, m, users in ((1.0, 1.5, 10, 50), (3.7, 40.0, 200, 7)):
        rate = math.sqrt(gain * math.log(m * users) / (m * users))
        delta = 2 * kappa * gain * math.log(m * users) / (m * users)
        assert 4 * math.sqrt(kappa * delta) / rate == pytest.approx(5.66 * kappa, rel=1e-3)
        assert (
            4 * math.sqrt(kappa * delta)
            == pytest.approx(4 * math.sqrt(2) * kappa * rate)
            != 4 * kappa * rate
        )
        theta = np.linspace(-0.5, 0.5, m) * math.log(
            kappa
        )  # shrunk to 0: stays within the range of θ*
        assert np.square(theta).mean() <= 16 * kappa * excess_risk(0 * theta[None], theta[None])[0]
    return "5.66 κ", "δ = 2κG"


def x9():
    """κ²/(1 + κ)⁴ is at least 1/(16 κ²); the exponent itself is tested by enumeration.

    Of h items missing from the top K come h² wrong pairs or more: all orders of six items.
    """
    for order in itertools.permutations(range(6)):
        for top in range(1, 6):
            missing = sum(item >= top for item in order[:top])
            wrong = sum(order.index(j) < order.index(i) for i in range(top) for j in range(top, 6))
            assert missing <= missing**2 <= wrong
    for kappa in (1.0, 1.5, 10.0, 1e4):
        exponent = tails.ordering_exponent(3.0, kappa)
        assert exponent == pytest.approx(3 * kappa**2 / (1 + kappa) ** 4) and exponent >= 3 / (
            16 * kappa**2
        ) * (1 - 1e-12)
    return "C₀ = 1/16", "a factor m − K"


def x10():
    """One user of 10⁴ with 79 % of the noise, H = 20 mG: the exact probability of the error of Theorem 2's proof."""
    budgets, users = np.array([10.42, 0.01042]), np.array([9999, 1])
    gain = float((users / np.tanh(budgets / 2) ** 2).sum() / 10**4)
    assert 1 / math.tanh(budgets[1] / 2) > 15 * 2 * gain
    for gap in (0.05, 0.5):
        radius = 4 * math.exp(gap) * math.sqrt(gain * math.log(2e4) / 2e4)
        assert tails.error_surprisal(radius, gap, gain / 10**4, budgets, users) > math.log(10**8)
    return "1 − 2/(mL²) holds there too", "min{G/H, 1}"


def x11():
    """On the real films only: see the claims on Figure 7."""
    assert any(claim.id.startswith("xu.figure_7") and claim.recorded for claim in CLAIMS)
    return "`xu/movielens`", "Figure 7"


def x12():
    sizes = [
        scheme_budget(s, 20, 1600, 100, 1.0) * math.sqrt(20 * 1600)
        for s in ("log", "critical", "inverse_log")
    ]
    assert sizes[0] > math.sqrt(2000) > sizes[2] and sizes[1] == pytest.approx(math.sqrt(2000))
    return "`xu/scenario_2`", "the other way round"


def x13():
    assert (math.e + 1) ** 2 / (math.e - 1) == pytest.approx(8.05, abs=0.005) and pytest.approx(
        4.68, abs=0.005
    ) == G
    return "8.05/L", "4.68/L", "ε = 1"


def x14():
    up, down = math.exp(0.1) + 1, math.exp(0.1) - 1
    assert up / math.sqrt(100 * down) == pytest.approx(0.649, abs=5e-4)
    assert (
        up / (10 * down)
        == pytest.approx(2.002, abs=5e-4)
        == 1 / math.sqrt(100 * math.tanh(0.05) ** 2)
    )
    return "0.649", "2.002", "0.1", "100"


def x15():
    p, q = (0.5 + (expit(d) - 0.5) * T for d in (1.0, 0.3))
    half = T * (math.tanh(0.5) - math.tanh(0.15)) / 2
    assert p - q == pytest.approx(0.07237, abs=5e-6) == half
    assert half / 2 / (q * (1 - q)) == pytest.approx(0.14544, abs=5e-6)
    for a, b in itertools.product(
        np.linspace(-3, 3, 13), repeat=2
    ):  # the next line, from the right form
        one, other = 0.5 + (expit(a) - 0.5) * T, 0.5 + (expit(b) - 0.5) * T
        assert (one - other) ** 2 <= T**2 * (a - b) ** 2 / 16 + 1e-15
    return "0.07237", "0.14544", "0.3", "ε = 1"


def x16():
    for gap, kept, other in ((-math.log(2), 4 / 9, 5 / 9), (-2 * math.log(2), 2 / 5, 3 / 5)):
        p = 1 / (1 + math.exp(-gap))
        assert p * 2 / 3 + (1 - p) / 3 == pytest.approx(kept) == 1 - other
        assert released_probability(expit(gap), math.log(2)) == pytest.approx(kept)
    return "4/9, 2/5", "5/9, 3/5", "P(Ỹ = 0)"


def x18():
    """The mean error of two items over all numbers of wins, by the solver and as the root of the gradient."""
    wins = np.arange(21)
    means = 0.5 + (wins / 20 - 0.5) / T
    chances = stats.binom.pmf(wins, 20, 0.5)
    ridges = (G / 20, 0.01, 0.001, 1e-4, 1e-5)
    errors = []
    for ridge in ridges:
        fitted = minimise(np.stack([means, 1 - means], 1), ridge).theta
        halves = [
            optimize.brentq(lambda d, z=z, r=ridge: expit(d) + r * d - z, -1e7, 1e7) / 2
            for z in means
        ]
        errors.append(chances @ np.abs(fitted).max(1))
        assert errors[-1] == pytest.approx(chances @ np.abs(halves), rel=1e-6)
        assert errors[-1] > chances @ np.maximum(means - 1, 0) / (2 * ridge)
    assert errors == pytest.approx([0.201, 0.543, 2.04, 16.9, 165.5], rel=3e-3)
    return (
        "0.201 at λ = G/L",
        "0.543, 2.04, 16.9 and 165.5 at λ = 0.01, 0.001, 1e-4 and 1e-5",
        "m = 2",
        "θ* = 0",
        "L = 20",
        "ε = 1",
    )


IN_ORDER = (16, 1, 5, 2, 8, 4, 10, 18, 14, 6, 7, 15, 17, 9, 13, 12, 3, 11)  # of the paper
ROWS = {f"X{number}": globals()[f"x{number}"] for number in IN_ORDER}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_is_computed(row):
    check_row(row, ROWS[row]())


def test_mean_square_and_largest_amplification_of_mixed_budgets():
    def both(budgets):
        a = 1 / np.tanh(np.asarray(budgets) / 2)
        return np.mean(a**2), a.max()

    assert both([0.1] + [5.0] * 99) == pytest.approx((5.02, 20.0), rel=1e-3)
    assert both([0.1, 0.2]) == pytest.approx((250.7, 20.0), rel=1e-3)
    check_text(
        "may fail where they differ: one user at ε = 0.1 among 99 at 5 gives G = 5.02, H = 20.0",
        "half of the users at 0.1 and half at 0.2 give 250.7 and 20.0",
    )
    for epsilon in (0.01, 1.0, 10.0):
        square, largest = both([epsilon] * 3)
        assert square > largest


def test_every_row_has_its_computation_and_every_claim_named_is_there():
    assert rows("X") == list(ROWS)
    assert named_claims("xu") <= {claim.id for claim in CLAIMS}


def test_a_number_that_is_not_computed_is_noticed():
    for texts in (("0.650",), (*x14(), "0.650"), x14()[:-1]):
        with pytest.raises(AssertionError):
            check_row("X14", texts)
