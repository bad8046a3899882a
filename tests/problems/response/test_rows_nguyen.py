"""Every row of docs/papers.md on Nguyen and Zhang: its numbers, computed again, by two ways where it accuses."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

import pipeline as pl
from pipeline.privacy import accounting, gaussian_account
from pipeline.privacy.integer_laws import gaussian_normaliser, gaussian_renyi
from pipeline.problems.response.claims import CLAIMS
from pipeline.problems.response.estimators.likelihood import PairwiseLikelihood
from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.mechanisms.randomized_response import RandomizedResponse
from pipeline.problems.response.model import Rasch
from pipeline.problems.response.releases import Differences
from pipeline.problems.response.theory import privacy_loss
from pipeline.problems.response.theory.noise_risk import expected_counts, noise_risk
from tests.helpers.papers import check_row, named_claims, rows


def differences(row):
    """Y of one person's row, by its definition."""
    return np.array([[x * (1 - y) for y in row] for x in row])


def n1():
    """By hand for two rows, the complement of each other: 2·12·13 entries change, each by 1."""
    row = np.arange(25) < 12
    changed = np.abs(differences(row * 1) - differences(1 - row)).sum()
    assert changed == 312 == privacy_loss.changed_entries(25)
    assert changed / math.sqrt(25 * 24) == pytest.approx(12.7, abs=0.05)
    epsilon = 0.2  # ε*; zCDP of discrete Gaussian noise, at an order where it is spent in full
    spent = changed * gaussian_renyi(2.0, 1, math.sqrt(25 * 24) / epsilon**2) / 2 / (epsilon**2 / 2)
    assert spent == pytest.approx(12.7, abs=0.05)
    other = row ^ (np.arange(25) == 3)  # one response changed: then the printed variance is enough
    assert np.abs(differences(row * 1) - differences(other * 1)).sum() == 24 < math.sqrt(25 * 24)
    return "312 entries", "12.7", "m − 1 entries", "m = 25"


def n2():
    """The lines of their code that make the chain, and its stationary law, for every noise from −60 to 60."""
    one, other = differences([0, 1]), differences([1, 0])
    assert (one[0, 1], one[1, 0]) == (0, 1) and (other[0, 1], other[1, 0]) == (1, 0)

    def published(counts, noise):
        """β̃₁ − β̃₂ with λ = 1, as in `construct_markov_chain_private` and `spectral_estimate_private`."""
        M = counts.astype(float)
        for i, j in ((0, 1), (1, 0)):
            if M[i, j] != 0:
                M[i, j] = max(1, M[i, j] + noise)
        M = np.where((M != 0) | (M.T != 0), M + 1, M)
        M /= (M.sum(axis=1) + 1).max()
        M[np.arange(2), np.arange(2)] = 1 - M.sum(axis=1)
        law = np.linalg.matrix_power(M, 4096)[0]
        return math.log(law[0] / law[1])

    noises = range(-60, 61)
    assert min(published(one, noise) for noise in noises) == pytest.approx(math.log(2))
    assert max(published(other, noise) for noise in noises) == pytest.approx(-math.log(2))
    return "(0, 1) and (1, 0)", "≥ log 2 for the first", "≤ −log 2 for the second", "m = 2"


def n3():
    """ρ + √(4ρ log(1/δ)) by hand, the tight conversion, and Gaussian tails by SciPy."""
    for epsilon, cited, tight in ((5, 5.68, 5.001), (7.5, 9.03, 8.16)):
        rho = epsilon**2 / (4 * math.log(1e4))
        assert rho + math.sqrt(4 * rho * math.log(1e4)) == pytest.approx(cited, abs=0.005)
        assert float(accounting.zcdp_epsilon(rho, 1e-4)) == pytest.approx(
            tight, abs=0.005 if tight > 8 else 5e-4
        )
    for epsilon, holds in ((7.52, True), (7.54, False)):
        shift = epsilon / math.sqrt(2 * math.log(1e4))  # √(2ρ)
        exact = stats.norm.cdf(shift / 2 - epsilon / shift) - math.exp(epsilon) * stats.norm.cdf(
            -shift / 2 - epsilon / shift
        )
        assert (exact <= 1e-4) == holds and exact == pytest.approx(
            privacy_loss.gaussian_delta(epsilon, shift**2 / 2)
        )

    def discrete(epsilon, m, charged):
        """Exact δ of discrete noise on the 2⌊m²/4⌋ entries that a row changes, of which so many are charged."""
        rho = epsilon**2 / (4 * math.log(1e4))
        return gaussian_account.discrete_gaussians_delta(
            epsilon, privacy_loss.changed_entries(m), charged / (2 * rho)
        )

    for m, delta in ((3, 1.060e-4), (4, 1.023e-4), (5, 1.002e-4)):
        entries = privacy_loss.changed_entries(m)
        assert discrete(7.5, m, entries) == pytest.approx(delta, abs=5e-8)
        law, loss = (
            np.ones(1),
            np.arange(-40, 41),
        )  # and by convolution: the loss is (2T + entries)/(2σ²)
        variance = entries * 2 * math.log(1e4) / 7.5**2
        one = np.exp(-(loss**2) / (2 * variance)) / gaussian_normaliser(variance)
        for _ in range(entries):
            law = np.convolve(law, one)
        total = np.arange(law.size) - law.size // 2
        lost = (2 * total + entries) / (2 * variance)
        assert law @ np.maximum(0, -np.expm1(7.5 - lost)) == pytest.approx(delta, abs=5e-8)
    for m in (2, 3, 4, 5, 6, 7, 12):
        entries = privacy_loss.changed_entries(m)
        assert (discrete(7.5, m, entries) <= 1e-4) == (m > 5)
        for epsilon in (0.01, 0.1, 0.5, 1, 2.5, 5):
            assert discrete(epsilon, m, entries) <= 1e-4
        if m > 2:
            assert discrete(7.5, m, m * (m - 1)) <= 7.2e-7
    return (
        "5.68",
        "5.001",
        "9.03",
        "8.16",
        "7.52",
        "1.060e-4, 1.023e-4 and 1.002e-4 at m = 3, 4 and 5",
        "for m ≤ 5",
        "m ≥ 3",
        "at most 7.2e-7",
        "1e-4",
        "7.5",
    )


def n4():
    """The ε that the noise's law has with the ρ of the tight conversion; and the ratio of variances."""
    for asked, spent in ((1, 0.897), (5, 4.56), (7.5, 6.88)):
        rho = float(accounting.zcdp_rho(asked, 1e-4))
        shift = math.sqrt(2 * rho)
        exact = optimize.brentq(
            lambda e, s=shift: (
                stats.norm.cdf(s / 2 - e / s) - math.exp(e) * stats.norm.cdf(-s / 2 - e / s) - 1e-4
            ),
            0.1,
            20,
        )
        assert exact == pytest.approx(spent, rel=1e-3)
        assert 0.815 < rho / gaussian_account.exact_rho(asked, 1e-4) < 0.875
    return "0.897, 4.56 and 6.88", "0.82 to 0.87", "1e-4", "7.5", "ε = 1"


def n5():
    every = [differences(row) for row in itertools.product((0, 1), repeat=5)]
    assert max(np.abs(a - b).sum() for a in every for b in every) == 12 == 2 * (25 // 4)
    assert max(a.sum() for a in every) == 6
    return "12 and 6 of 20 entries", "m = 5"


def n6():
    """c from the first-order formula over the error simulated without noise; ρ over ε² of the tight conversion.

    The formula is tested against derivatives, and met by simulated noise in nguyen/price_estimators.
    """
    n, found = 3000, {}
    uniform = dict(item_law="uniform", item_spread=2.0)
    for law, m, reps in ((uniform, 10, 300), (uniform, 100, 30), ({}, 10, 300), ({}, 100, 30)):
        model = Rasch(n=n, m=m, **law)
        truth = model.truth(np.random.default_rng(1), reps, np.random.default_rng(0))
        release = model.simulate(truth, np.random.default_rng(2)).release_plainly()
        counts = expected_counts(truth.theta, truth.ability)
        for kind, name in (
            (Spectral(m=m), "spectral"),
            (PairwiseLikelihood(m=m), "pairwise_likelihood"),
        ):
            error = np.square(kind.fit(release, np.random.default_rng(0)).theta - truth.theta).mean(
                axis=1
            )
            added = noise_risk(
                name, truth.theta, counts, np.full(reps, 2 * (m**2 // 4) / 2)
            )  # ρ = 1
            found[name, len(law), m] = added.mean() / error.mean() * n / m
    print(f"c={found}")
    for m in (10, 100):
        assert 15 < found["spectral", 2, m] < 19
        assert found["pairwise_likelihood", 2, m] == pytest.approx(7.2, rel=0.08)
        assert found["pairwise_likelihood", 0, m] == pytest.approx(
            6.4, rel=0.08
        )  # "about 6" of the claim nguyen.price
    assert (
        found["spectral", 0, 100] > 1.1 * found["spectral", 0, 10] > 1.1 * found["spectral", 2, 10]
    )
    for epsilon, share in ((0.5, 21), (2.0, 29)):
        assert epsilon**2 / float(accounting.zcdp_rho(epsilon, 1e-4)) == pytest.approx(
            share, abs=0.5
        )
    return (
        "16 to 18 for the spectral algorithm",
        "about 7 for pairwise",
        "m = 10 to 100",
        "ε²/21 at ε = ½",
        "ε²/29 at 2",
        "p = 1",
    )


def n7():
    assert math.log(2000 / (16 * math.log(2e4))) == pytest.approx(2.54, abs=0.005)
    assert privacy_loss.published_local_epsilon(7.5, 2000, 1e-4) == pytest.approx(2.54, abs=0.005)
    assert accounting.local_budget(7.5, 2000, 1e-4)[0] == 7.5
    return "7.5, not 2.54", "2,000"


def n8():
    assert {f"nguyen.figure_3.many.{name}" for name in ("paper", "tight")} <= {
        claim.id for claim in CLAIMS
    }
    return "`data.path=ratings.csv`", "200"


def n9():
    """Responses of the model, five items, 1,000 persons, ε = 0.01: the estimate is nearly 0, so the error is ‖β̂‖."""
    model = Rasch(n=1000, m=5)
    truth = model.truth(np.random.default_rng(1), 50, np.random.default_rng(0))
    data = model.simulate(truth, np.random.default_rng(2))
    flipped = RandomizedResponse(m=5, n=1000, epsilon_user=0.01).release(
        data, np.random.default_rng(3)
    )
    own, private = (
        Spectral(m=5).fit(x, np.random.default_rng(0)).theta
        for x in (data.release_plainly(), flipped)
    )
    share = np.linalg.norm(private - own) / np.linalg.norm(own)
    assert share == pytest.approx(1, abs=0.03)
    return ("0.87 and 0.869",)


def n10():
    claims = {claim.id: claim for claim in CLAIMS if claim.id.startswith("nguyen.figure_p0.low")}
    assert claims and all("n = 200 and 1,000" in claim.conditions for claim in claims.values())
    errors = pl.simulate(
        "nguyen/figure_p0",
        seed=10,
        replications=60,
        block=60,
        grid=dict(
            n=[200, 1000], p0=[0.07, 0.2, 1.0], epsilon_user=[7.5], calibration=["paper", "tight"]
        ),
    )["error_l2"].squeeze()
    apart = errors.sel(p0=1.0) - errors.sel(p0=[0.07, 0.2])
    gained, noise = apart.mean("replication"), apart.std("replication", ddof=1) / math.sqrt(60)
    for calibration, persons, stated in (
        ("paper", 200, (0.10, 0.13)),
        ("paper", 1000, (0.0, 0.016)),
        ("tight", 200, (0.0, 0.08)),
        ("tight", 1000, (-0.028, -0.009)),
    ):
        at = dict(calibration=calibration, n=persons)
        print(
            f"{at}: n=60 gain={gained.sel(at).values.round(3)} error={noise.sel(at).values.round(4)}"
        )
        assert (abs(gained.sel(at) - stated) < 4 * noise.sel(at) + 0.01).all()
    assert (gained > 4 * noise).sel(calibration="paper", n=200).all() and (gained < -4 * noise).sel(
        calibration="tight", n=1000, p0=0.07
    )
    return (
        "m = 100",
        "0.10 to 0.13",
        "0.016 at p0 = 0.2",
        "0.08 at p0 = 0.2",
        "0.028 at its own p0",
        "1,000",
        "200",
        "7.5",
    )


def n11():
    spread = 8 * math.sqrt(math.e * math.log(4e4) / 1000)
    printed, right = (
        math.log(1 + math.tanh(0.5) * (spread + extra)) for extra in (0, 8 * math.e / 1000)
    )
    assert (printed, right) == (pytest.approx(0.487, abs=5e-4), pytest.approx(0.493, abs=5e-4))
    assert float(accounting.shuffled_epsilon(1.0, 1000, 1e-4)) == pytest.approx(right)
    return "0.487", "0.493", "1,000", "1e-4", "ε0 = 1"


def n12():
    """Exactly, by SciPy's law and by sums of log-gamma terms; the claimed exponent is not reached as m grows.

    With larger constants it is: by Chernoff's bound for one count, and exactly at the least np² and mp.
    """
    rate = 1.5 * math.log(1.5) - 0.5  # and 0.5 + 0.5 log 0.5 below, which is larger
    assert rate == pytest.approx(0.1082, abs=5e-5) and 0.5 + 0.5 * math.log(0.5) > rate
    assert (math.ceil(2 / (rate - 0.1)), round(1 / (rate - 0.1))) == (244, 122)
    for count in (10, 1000):  # items, and persons
        for mean, many in (
            (244 * math.log(count), count * (count - 1) / 2),
            (122 * math.log(2 * count), count),
        ):
            law = stats.binom(math.ceil(mean / 0.05), 0.05)
            assert many * (law.cdf(mean / 2) + law.sf(1.5 * mean)) <= math.exp(-mean / 10)
    ratios = []
    for m in (100, 10**8, 10_000):
        n = math.ceil(20 * math.log(m) / 0.05**2)
        mean = n * 0.05**2
        inside = range(math.ceil(mean / 2), math.floor(1.5 * mean) + 1)
        missed = stats.binom.cdf(inside[0] - 1, n, 0.05**2) + stats.binom.sf(inside[-1], n, 0.05**2)
        terms = [
            math.exp(
                math.lgamma(n + 1)
                - math.lgamma(k + 1)
                - math.lgamma(n - k + 1)
                + k * math.log(0.05**2)
                + (n - k) * math.log1p(-(0.05**2))
            )
            for k in range(int(4 * mean))
            if k not in inside
        ]
        assert sum(terms) == pytest.approx(missed, rel=1e-6)
        disjoint, printed = -math.expm1(m // 2 * math.log1p(-missed)), math.exp(-mean / 10)
        ratios.append(math.log(disjoint) / math.log(printed))
    assert disjoint == pytest.approx(5.5e-7, rel=0.01) and printed == pytest.approx(1e-8, rel=0.01)
    assert ratios == [
        pytest.approx(0.949, abs=5e-3),
        pytest.approx(0.69, abs=5e-3),
        pytest.approx(0.78, abs=5e-3),
    ]
    assert (20 * rate - 1) / 2 == pytest.approx(0.58, abs=5e-3)
    assert math.exp(-mean / 10) * m**2 > 0.9  # as it should be: it says nothing there
    m, p = 2300, 0.05  # Lemma 1.2: the persons are independent
    n = math.floor(math.exp(m * p / 10))
    inside = range(math.ceil(m * p / 2), math.floor(1.5 * m * p) + 1)
    one = stats.binom.cdf(inside[0] - 1, m, p) + stats.binom.sf(inside[-1], m, p)
    terms = [
        math.exp(
            math.lgamma(m + 1)
            - math.lgamma(k + 1)
            - math.lgamma(m - k + 1)
            + k * math.log(p)
            + (m - k) * math.log1p(-p)
        )
        for k in range(m)
        if k not in inside
    ]
    assert sum(terms) == pytest.approx(one, rel=1e-6)
    found, printed = (
        -math.expm1(n * math.log1p(-one)),
        math.exp(-n * p**2 / 10) + math.exp(-m * p / 10),
    )
    assert n == 98_715 and n * p**2 > 20 * math.log(m) and m * p >= 10 * math.log(n)
    assert found == pytest.approx(0.0127, rel=0.005) and printed == pytest.approx(1.0e-5, rel=0.02)
    return (
        "5.5e-7",
        "1.0e-8",
        "98,715",
        "0.0127",
        "1.0e-5",
        "0.108",
        "np² ≥ 244 log m",
        "mp ≥ 122 log(2n)",
        "0.05",
        "0.1",
        "10,000",
        "2,300",
        "5,000",
        "np² = 20 log m",
        "0.78",
        "0.69",
        "0.58",
        "m = 10⁸",
    )


def n13():
    """By hand, and by the program's own estimator on the same counts."""
    law = np.array([1, 1000]) / 1001
    error = np.abs(np.log(law) - np.log(law).mean()).max()
    counts = np.array([[[0, 1000], [1, 0]]])
    fitted = (
        Spectral(m=2, pseudo_count=0.0, floor=0.0)
        .fit(Differences(counts, 1001, np.zeros(1)), None)
        .theta[0]
    )
    bound = 2 * 2 * np.abs(law - 0.5).max()
    assert (
        np.abs(fitted).max() == pytest.approx(error) == pytest.approx(3.45, abs=0.005)
        and error > bound
    )
    assert bound == pytest.approx(2.00, abs=0.005)
    near = np.array([0.26, 0.74])  # half of the least entry away: there the right one holds
    assert np.abs(np.log(near) - np.log(near).mean()).max() <= 4 * 2 * np.abs(near - 0.5).max()
    return "3.45", "2.00", "1,000", "Y_21 = 1", "m = 2", "β* = 0"


def n14():
    """The printed condition holds for every δ; the constant estimate has a smaller risk than the bound."""
    models = np.random.default_rng(1).uniform(-1, 1, (16, 5))
    models *= 0.001 / np.linalg.norm(models[:, None] - models, axis=2).max()
    printed = 10**2 / 2 * (1 - math.log(2) / math.log(16))
    risk = max(np.square(models - one).sum(axis=1).max() for one in models)
    assert printed == pytest.approx(37.5) and risk <= 1.0001e-6 and risk <= 10**2
    # at least δ apart: with posterior chances q the least risk is ½ Σ q_a q_b d_ab², and so ½ δ²(1 − max q) or more
    apart = np.square(models[:, None] - models).sum(axis=2)
    chances = np.random.default_rng(2).dirichlet(np.full(16, 0.3), 100)
    least = (chances[:, None] @ apart @ chances[..., None]).ravel() / 2
    means = chances @ models
    assert least == pytest.approx(
        (chances * np.square(models - means[:, None]).sum(axis=2)).sum(axis=1)
    )
    assert (least >= apart[apart > 0].min() / 2 * (1 - chances.max(axis=1))).all()
    return "37.5", "1e-6", "0.001", "δ = 10"


def n15():
    """By the formula and by SciPy; both readings of the distance for all pairs of coins, as χ² shows."""
    found = 0.9 * math.log(1.8) + 0.1 * math.log(0.2)
    assert (
        found
        == pytest.approx(stats.entropy([0.9, 0.1], [0.5, 0.5]))
        == pytest.approx(0.368, abs=5e-4)
    )
    printed = 0.4**2 / 0.5
    assert printed == pytest.approx(0.320) and found > printed
    for p, q in itertools.product(np.arange(0.05, 1, 0.05), repeat=2):
        assert stats.entropy([p, 1 - p], [q, 1 - q]) <= 2 * (p - q) ** 2 / min(q, 1 - q) + 1e-12
        assert 2 * (p - q) ** 2 <= (abs(p - q) + abs(q - p)) ** 2  # the sum, squared
    assert (2 * 0.4) ** 2 / 0.5 == pytest.approx(1.28)
    return "0.368", "0.320", "1.280", "0.9"


def n16():
    assert (
        1 - 10 + 2 * 10**2 / 46 + math.exp(-4.6) < 5 < 1 + 2 * 10**2 / 46
    )  # the first term may be as small as 0
    return "more than 5", "C = 1", "m = 10", "np² = 46"


def n17():
    """The item that most fail, of 50: found exactly, by SciPy's binomial law, and by Boole's inequality by hand."""
    m, delta = 50, 8
    chance = {x: math.exp(0.5) / (math.exp(0.5) + math.exp(x)) for x in (0, delta)}
    c = math.e**2 / (2 * min(chance[delta], 1 - chance[0]))
    n = math.floor(c * math.log(m) / (8 * delta**2))
    solved = np.arange(n + 1)
    found = stats.binom.pmf(solved, n, chance[delta]) @ stats.binom.sf(solved, n, chance[0]) ** (
        m - 1
    )
    few = [math.comb(n, k) * chance[0] ** k * (1 - chance[0]) ** (n - k) for k in range(11)]
    many = math.comb(n, 11) * chance[delta] ** 11  # 11 or more of n
    assert 1 - found <= many + (m - 1) * sum(few) < 1e-6 and n == 51
    assert c == pytest.approx(6684, abs=1)
    divergence = max(
        a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))
        for a, b in (chance.values(), reversed(chance.values()))
    )
    assert (
        4 * delta**2 / c < 2 * divergence <= c * delta**2
    )  # of two items: as printed, and by Lemma 2.6
    return "c = 6,684", "51 persons", "10⁻⁶", "K = 1", "m = 50", "p = 1", "δ = 8"


def n18():
    assert 2**20 == 1_048_576 < math.exp(20) == pytest.approx(4.9e8, rel=0.02)
    return "1,048,576", "4.9·10⁸", "m = 20"


def n19():
    """E‖π*ᵀ(M − M*)‖² by its formula, and of simulated responses; equal items and persons, all answer all."""
    rng, n = np.random.default_rng(3), 1000
    for m, ratio in ((100, 0.90), (400, 2.77)):
        formula = n * m * (m * (m - 1) / 4) / (m * 1.5 * m * n) ** 2
        drawn = []
        for _ in range(20):
            solved = rng.random((n, m), dtype=np.float32) < 0.5
            score, total = solved.sum(axis=0), solved.sum()  # Σ_l Σ_j (X_lj − X_li)/(md)
            drawn.append(np.square((total - m * score) / (m * 1.5 * m * n)).sum())
        printed = 4 * 2 * math.log(m) / (3 * n) / m**2  # of C₁ = 2, squared
        bound = stats.t.isf(5e-7, 19) * stats.sem(drawn) / formula
        print(
            f"m={m}: n=20 statistic={np.mean(drawn) / formula - 1:.3f} bound={bound:.3f} alpha=1e-06"
        )
        assert abs(np.mean(drawn) / formula - 1) < bound < 0.3
        assert formula / printed == pytest.approx(ratio, abs=0.005) and (min(drawn) > printed) == (
            m == 400
        )
    assert 4 * (2 - 1) * 400 == 1600
    return "2.77", "C₁ = 2", "m = 400", "exp(−1,600)", "p = 1"


def n20():
    """Errors of less than the gap, of opposite signs, change the order; those below half of it cannot."""
    truth, errors = np.array([0.5, -0.5]), np.array([-0.6, 0.6])
    estimates = truth + errors
    gap = truth[0] - truth[1]
    assert np.abs(errors).max() < gap and estimates[0] < estimates[1]
    for half in itertools.product((-0.49 * gap, 0.49 * gap), repeat=2):
        first, second = truth + np.array(half)
        assert first > second
    assert estimates == pytest.approx([-0.1, 0.1])
    return "β* = (0.5, −0.5)", "errors −0.6 and 0.6", "−0.1 and 0.1", "K = 1", "Δ_K = 1"


def n21():
    assert 2 / 10 ** (2.5 - 2) == pytest.approx(0.632, abs=5e-4)
    return "0.632", "m = 10", "C = 2.5"


IN_ORDER = (
    21,
    1,
    5,
    4,
    9,
    8,
    12,
    16,
    13,
    19,
    20,
    14,
    18,
    15,
    17,
    6,
    10,
    11,
    7,
    2,
    3,
)  # of the paper
ROWS = {f"N{number}": globals()[f"n{number}"] for number in IN_ORDER}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_is_computed(row):
    check_row(row, ROWS[row]())


def test_every_row_has_its_computation_and_every_claim_named_is_there():
    assert rows("N") == list(ROWS)
    assert {name.rstrip(".") for name in named_claims("nguyen")} <= {claim.id for claim in CLAIMS}


def test_a_number_that_is_not_computed_is_noticed():
    for texts in (("0.494",), (*n11(), "0.494"), n11()[:-1]):
        with pytest.raises(AssertionError):
            check_row("N11", texts)
