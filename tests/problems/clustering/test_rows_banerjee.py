"""Every row of docs/papers.md on Banerjee, Hegde and Massoulié, computed again, by hand where it accuses."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, special

from pipeline.problems.clustering.claims import CLAIMS
from pipeline.problems.clustering.design import Design
from pipeline.problems.clustering.theory import boundary, sketch_means, success
from pipeline.problems.clustering.theory import information as info
from pipeline.problems.clustering.theory import sample_sizes as sizes
from tests.helpers.papers import check_row, check_text, named_claims, rows

LN2 = math.log(2)


def b1():
    """By hand: S leaves 3 of 4 labelings; and by `channel_information` and `lemma_9`."""
    others = (1 - np.eye(4)) / 3
    assert info.channel_information(2, 2, others) == pytest.approx(math.log2(4 / 3))
    assert info.lemma_9(2, 2, others) == pytest.approx(4 / 3 - 1)
    assert math.log(4 / 3) < 1 / 3 < math.log2(4 / 3)  # holds in nats
    # the right side of Lemmas 18 and 25: everybody rates both items, p_i(z) = p_(i ∪ i)(z ∪ z) = ¼, p_s(i, z) = 0 or ⅓
    p = np.array([0, 1, 1, 1]) / 3
    assert np.sum(p[:, None] * p * (np.eye(4) * 0.25 / 0.25**2 - 1)) == pytest.approx(1 / 3)
    return "Lemmas 9, 18 and 25", "0.415", "0.333", "w = 2"


def b2():
    """By hand for N = 2, and from the ends of the range for N up to 20."""
    wrong = 3 / (math.exp(1.3) + 3)
    assert wrong == pytest.approx(0.4498, abs=5e-5) and 2 * LN2 / 1.3 == pytest.approx(
        1.066, abs=5e-4
    )
    for N in range(2, 21):
        low, high = math.log(2**N - 1), N * LN2
        epsilon = (low + high) / 2
        assert low < epsilon < high and math.exp(epsilon) / (math.exp(epsilon) + 2**N - 1) > 0.5
        assert N * LN2 / epsilon > 1 and sizes.users_theorem_7(N, epsilon, printed=True) > 1
    return "0.4498", "1.066", "1.3", "U = 1", "w = 2"


def b3():
    """From the capacity; and by χ² ≥ I, with Var λ ≤ sinh²(ε/2), without it."""
    least, printed = sizes.users_capacity(1e4, 0.01), 1e4 * math.log(1e4) / 0.01
    simple = (1e4 / 2 - 1) * LN2 / math.sinh(0.005) ** 2
    assert least > simple > 10 * printed and least == pytest.approx(2.77e8, rel=2e-3)
    assert info.lemma_6(0.1) / info.capacity(0.1) == pytest.approx(80, abs=0.1)
    assert printed == pytest.approx(9.2e6, rel=2e-3) and least / printed == pytest.approx(
        30, abs=0.5
    )
    tenth = sizes.users_capacity(1e4, 0.001) / (1e4 * math.log(1e4) / 0.001)
    assert tenth / (least / printed) == pytest.approx(10, rel=0.01)
    assert 1e4 * math.log(1e4) / 20 < 1e4 - 1  # at ε = 20: fewer bits than a clustering has
    return (
        "80 times",
        "30 times",
        "10 times as many with each tenth of ε",
        "2.77·10⁸",
        "9.2·10⁶",
        "0.01",
        "0.1",
        "10,000",
        "ε = 1",
    )


def b4():
    """A lower bound on any use of these sketches, by Fano's inequality; and the predicted boundary of spectral ones."""
    N, found = 400, []
    for w, asked, printed, predicted in ((40, 1.1e7, 2.4e5, 2.5e8), (20, 1.8e8, 9.6e5, 4.2e9)):
        assert sizes.fano_users(info.pairwise_information(N, w, 1.0), N) == pytest.approx(
            asked, rel=0.04
        )
        assert N * math.log(N) * (N / w) ** 2 == pytest.approx(printed, rel=0.01)
        at = boundary.users_predicted(
            "pairwise_preference",
            "spectral_clustering",
            N,
            w,
            1.0,
            1.0,
            "1",
            "0.5, 0.5",
            "0.9, 0.1",
        )
        assert at == pytest.approx(predicted, rel=0.02)
        found.append(at)
    assert math.log2(found[1] / found[0]) == pytest.approx(4.1, abs=0.05)
    fano = [sizes.fano_users(info.pairwise_information(N, w, 1.0), N) for w in (40, 20)]
    assert fano[1] / fano[0] == pytest.approx(16, rel=0.06)
    return (
        "1.1·10⁷",
        "1.8·10⁸",
        "2.4·10⁵",
        "9.6·10⁵",
        "2.5·10⁸",
        "4.2·10⁹",
        "400",
        "w = 40",
        "ε = 1",
    )


def b5():
    exact = special.comb(300, 100) / special.comb(400, 100)
    assert exact - (1 - 25) == pytest.approx(24) and 100**4 / 400**2 == 625
    assert math.comb(9, 1) / math.comb(10, 1) - (1 - 1 / 10) == pytest.approx(0, abs=1e-15)
    return "24", "625", "100", "400", "w = 1"


def b6():
    """Exact means of finite N; by hand at w = 1: P(sketch = 1 | i sensed) = (b̄_i + θ Σ_(j≠i) b̄_j)/N, b̄ = 0.55."""
    alpha, b = [0.5, 0.5], np.array([[0.9, 0.5], [0.2, 0.6]])
    assert sizes.separability(0.5, alpha, [0.5, 0.5], b) == pytest.approx(0.0228, abs=5e-5)
    assert (alpha @ b) == pytest.approx(0.55)
    for N in (10, 100, 1000):
        means = alpha @ sketch_means.maxsense_means(1, 0.5, [N // 2, N // 2], b)
        assert means == pytest.approx((0.55 + 0.5 * 0.55 * (N - 1)) / N, rel=1e-12)
    law = dict(alpha="0.5, 0.5", beta="0.5, 0.5", b="0.9, 0.5; 0.2, 0.6", theta=0.5)
    assert success.maxsense_success(1e12, Design(100, 1, 1.0, **law)) < 1e-6
    assert (
        success.maxsense_success(1e12, Design(100, 50, 1.0, **law)) > 0.99
    )  # many ratings: the theorem holds
    assert 1 - 0.5 / 2 == 0.75 and math.exp(-0.5) == pytest.approx(0.61, abs=0.005)
    one, half = np.array([[0.9, 0.1]]), [500, 500]  # one class; p = θ/w
    for w, theta in ((1, 0.5), (2, 1.0), (2, 1.9), (4, 2.0)):
        gap = -np.diff(sketch_means.maxsense_means(w, theta / w, half, one)[0])[0]
        factor = (1 - theta / w) * (1 - theta / w * 0.5) ** (w - 1)
        assert gap == pytest.approx(w / 1000 * factor * 0.8, rel=5e-3)
        assert (
            success.maxsense_success(1e12, Design(1000, w, 1.0, "1", "0.5, 0.5", "0.9, 0.1", theta))
            > 0.99
        )
    for w in (1, 2, 4):  # θ = w: all have one mean
        means = sketch_means.maxsense_means(w, 1.0, half, one)[0]
        assert means[0] == pytest.approx(means[1], rel=1e-12)
    assert sketch_means.maxsense_means(1, 1.0, half, one) == pytest.approx(0.5)
    assert sizes.separability(1.0, [1.0], [0.5, 0.5], one) == pytest.approx(0.485, abs=5e-4)
    return (
        "0.0228",
        "0.75",
        "0.61",
        "0.485",
        "both means 0.5",
        "where θ < w",
        "w = 1",
        "w = 2",
        "θ = 1",
    )


def b7():
    users = 100 * LN2
    assert users == pytest.approx(69.3, abs=0.05)
    assert 1 - (users / LN2 + 1) / 100 == pytest.approx(-0.01)
    return "69.3", "−0.01", "100", "ε = 1"


def b8():
    """The capacity as in `information`, and as the maximum over two-valued densities, found numerically."""

    def capacity(epsilon):  # nats: share a of records has density λe^ε, the others λ, with mean 1
        def spent(a):
            low = 1 / (1 + a * math.expm1(epsilon))
            return -(
                a * special.xlogy(low * math.exp(epsilon), low * math.exp(epsilon))
                + (1 - a) * special.xlogy(low, low)
            )

        return -optimize.minimize_scalar(spent, bounds=(1e-6, 1 - 1e-6), method="bounded").fun

    for epsilon, N, users, least in ((1.0, 100, 69, 0.867), (5.0, 61, 61 * LN2 / 5, 0.50006)):
        assert info.capacity(epsilon) * LN2 == pytest.approx(capacity(epsilon), rel=1e-6)
        assert 1 - (users * info.capacity(epsilon) + 1) / N == pytest.approx(
            least, abs=1e-3 if epsilon == 1 else 1e-5
        )
    assert 1 - (60 * LN2 / 5 * info.capacity(5.0) + 1) / 60 < 0.5
    assert optimize.brentq(lambda e: capacity(e) / e - 0.5, 1, 10) == pytest.approx(5.287, abs=1e-3)
    below = np.linspace(0.01, 5, 500)
    assert (np.diff(info.capacity(below) / below) > 0).all()  # so that ε = 5 is the worst
    return "0.867", "0.50006", "5.28", "100", "N = 61", "U = 69", "ε = 1", "ε = 5"


def b9():
    needed = LN2 + 2 * math.log(500)
    gap = 1 / 25 * (25 - 1) / 500 * math.tanh(0.5) * 0.4  # Δ/U
    users = 75 * 500**2 * needed / ((2 * math.tanh(0.5)) ** 2 * 0.4**2 * 25)
    assert users == pytest.approx(sizes.maxsense_users(500, 25, 1.0, 0.4, printed=True))
    assert users * gap**2 / (75 / 25) / needed == pytest.approx(0.23, abs=0.005)
    right = sizes.maxsense_users(500, 25, 1.0, 0.4)
    assert right * gap**2 / (75 / 25) / needed == pytest.approx(
        1
    ) and right / users == pytest.approx(4 / 0.96**2)
    near = [float(sizes.maxsense_users(500, 25, 1.0, 0.4, theta)) for theta in (24, 24.9, 24.99)]
    assert near[2] > 50 * near[1] > 2000 * near[0]  # none is enough at θ = w
    return "0.23", "300/(1 − θ/w)²", "for θ < w", "500", "w = 25", "θ = 1"


def b10():
    N, theta, b = 40, 6.0, np.repeat([0.9, 0.8], 20)
    q = np.prod(1 - theta * b / N)
    left = q * 0.1 / ((1 - theta * 0.9 / N) * (1 - theta * 0.8 / N))
    assert (left, 0.1 * math.exp(-theta * 0.85)) == pytest.approx((0.00056, 0.00061), abs=5e-6)
    return "0.00056", "0.00061", "N = 40", "θ = 6"


def b11():
    def worth(Q, epsilon):
        return Q * math.tanh(epsilon / Q / 2) ** 2

    assert (
        2 * math.tanh(1.01 / 4) == pytest.approx(0.495, abs=5e-4)
        and round(2 * math.tanh(1 / 4), 2) == 0.49
    )
    assert 2 * (math.e - 1) / (math.e + 2) == pytest.approx(0.728, abs=5e-4)
    worse = [worth(math.ceil(e), e) < worth(1, e) for e in (1.01, 2, 4, 4.6, 4.7, 5.01, 5.13)]
    assert all(worse) and worth(5, 4.8) > worth(1, 4.8) and worth(6, 5.14) > worth(1, 5.14)
    assert optimize.brentq(lambda x: math.sinh(x) - 2 * x, 1, 4) == pytest.approx(2.18, abs=0.005)
    return "0.495", "0.728", "4.7", "5.13", "2.18", "0.49", "1.01"


def b12():
    rated = np.array(
        [[i in pair for i in range(4)] for pair in itertools.combinations(range(4), 2)]
    )  # w = 2 of 4
    first, second = rated[:, :2].any(axis=1), rated[:, 2:].any(axis=1)
    assert (first & second).mean() - first.mean() * second.mean() == pytest.approx(-1 / 36)
    # By hand: each is 0 with chance ⅙, where both rated items are the other's, and never both are.
    assert (1 - first.mean(), 1 - second.mean(), (~first & ~second).mean()) == pytest.approx(
        (1 / 6, 1 / 6, 0)
    )
    return "−1/36", "N = 4", "b = 1", "w = 2"


def b13():
    """All histories of six adaptive answers, ε = 1: Lemma 19 in each, and the completed sum over them."""
    for N in (3, 4):
        z = np.array(list(itertools.product((-1, 1), repeat=N)))
        keep, epsilon = 1 / (1 + math.exp(-1)), 1.0

        def answer(history, z=z, N=N, keep=keep):
            """P(S = 1 | z): does her one label agree with the guess, which depends on the history?"""
            guess = np.where([(sum(history) + i * len(history)) % 3 == 0 for i in range(N)], -1, 1)
            return 1 - keep + (2 * keep - 1) * (z == guess).mean(axis=1)

        def deficit(law):
            return (special.xlogy(law, law * len(law))).sum()

        level = {(): np.full(2**N, 2.0**-N)}  # history -> P(z, history)
        for users in range(1, 7):
            following = {}
            for history, joint in level.items():
                law, yes = joint / joint.sum(), answer(history)
                for s, chance in ((1, yes), (0, 1 - yes)):
                    following[*history, s] = joint * chance
                    F = N * chance / (law @ chance)  # F(z) = Σ f_i(z_i)
                    variance, mean = (law @ F**2) - (law @ F) ** 2, F.mean()
                    prior = ((F - mean) ** 2).mean()
                    assert law @ F == pytest.approx(N) and prior <= N * math.expm1(epsilon) ** 2 / 4
                    assert variance <= prior * max(20, 10 * deficit(law))
                    gain = (law * chance / (law @ chance)) @ np.log(F / N)
                    assert gain <= variance / N**2 + 1e-15
            level = following
            known = sum(joint.sum() * deficit(joint / joint.sum()) for joint in level.values())
            assert known <= 2 * ((1 + 2.5 * math.expm1(epsilon) ** 2 / N) ** users - 1)
    orders = [sizes.users_adaptive(N, 1.0) / (N * math.log(N)) for N in (1e6, 1e12, 1e24)]
    assert orders == pytest.approx([1 / (2.5 * math.expm1(1) ** 2)] * 3, rel=0.15)
    return "20 + 10x", "N = 3"


def b14():
    assert (900 * 9 * (8 / 9) ** 2 / 3, 900 * math.log(9)) == pytest.approx((2133, 1978), abs=0.5)
    printed = 0.5 * 100 * 2 * 0.4**2 / 3
    ball = sum(math.comb(100, i) for i in range(11))
    right = (0.5 * math.log2(2**100 / ball) - 1) * LN2
    assert printed == pytest.approx(5.3, abs=0.05) and right == pytest.approx(18.7, abs=0.05)
    for N, p_max in itertools.product((20, 100, 400), (0.1, 0.5, 0.6, 0.9)):
        for d in range(
            (N + 1) // 2
        ):  # labels; and clusterings, half as many, of which the ball has as many
            for bits in (N - sizes.ball_bits(N, d), N - 1 - sizes.ball_bits(N, d)):
                if (1 - p_max) * bits >= 2:
                    assert sizes.users_theorem_23(
                        N, d, 1.0, p_max=p_max, printed=True
                    ) <= sizes.fano_users(1 / LN2, bits, p_max)
    # near N/2 a guess, with no user, errs less often than p_max, though the printed number of users is above 0
    chance = np.array([math.comb(100, errors) for errors in range(101)]) / 2**100
    errors = np.arange(101)
    assert sizes.users_theorem_23(100, 49, 1e-4, p_max=0.6, printed=True) == pytest.approx(
        26.7, abs=0.05
    )
    assert (
        chance[errors > 49].sum() == pytest.approx(0.540, abs=5e-4)
        and chance[errors > 49].sum() < 0.6
    )
    for d, least in (
        (47, 0.383),
        (48, 0.236),
        (49, 0.080),
    ):  # up to relabelling: min(errors, N − errors) > d
        missed = chance[np.minimum(errors, 100 - errors) > d].sum()
        assert missed == pytest.approx(least, abs=5e-4) and missed < 0.5
        assert sizes.users_theorem_23(100, d, 1e-4, printed=True) > 1
        assert 0.5 * (99 - sizes.ball_bits(100, d)) < 2
    assert chance[np.minimum(errors, 100 - errors) > 46].sum() > 0.5
    return (
        "2133",
        "1978",
        "5.3",
        "18.7",
        "(1 − p_max) log₂(M/M_d) ≥ 2",
        "26.7",
        "0.540",
        "p_max = 0.6",
        "d = 47, 48 and 49: with 0.383, 0.236 and 0.080",
        "100",
        "1e-4",
        "900",
        "K = 2",
        "K = 9",
        "M_0 = 1",
        "d = 0",
        "d = 10",
        "d = 49",
        "ε = 1",
    )


def b15():
    """In closed form, and by the eigenvalues: E Â has π₀ within and π₁ across clusters, up to 2U/(N(N−1))."""
    N, each = 400, 2e6 / (400 * 399)
    for w, telling, shift, rounding in ((20, 1.8, 3.4, 0.05), (400, 741, 8.1, 0.5)):
        rated = w * (w - 1) / (N * (N - 1))
        within, across = (
            special.expit(-1) + math.tanh(0.5) * rated * chance for chance in (0.82, 0.18)
        )
        assert each * N / 2 * (within - across) == pytest.approx(telling, abs=rounding)
        assert each * within == pytest.approx(shift, abs=0.05)
        filled = each * np.kron([[within, across], [across, within]], np.ones((N // 2, N // 2)))
        values, empty = (
            np.linalg.eigvalsh(filled),
            np.linalg.eigvalsh(filled - np.diag(np.diag(filled))),
        )
        assert values[-2] == pytest.approx(
            telling, abs=rounding
        ) and values - empty == pytest.approx(shift, abs=0.05)
        largest = np.sort(np.abs(empty))[
            -2
        ]  # of the zero diagonal: the telling one, or one of no meaning
        assert largest == pytest.approx(telling - shift if w == 400 else shift, abs=0.6)
    return "−3.4", "1.8", "741", "400", "w = 20", "ε = 1", "−8.1"


def b16():
    def crossing(bound, low, high, printed=False):
        return math.exp(
            optimize.brentq(
                lambda x: math.log(
                    bound(math.exp(x), 1.0) / sizes.users_theorem_7(math.exp(x), 1.0, printed)
                ),
                low,
                high,
            )
        )

    assert crossing(sizes.users_theorem_17, 30, 60) == pytest.approx(1.7e18, rel=0.02)
    assert crossing(sizes.users_theorem_17, 60, 100, True) == pytest.approx(1.0e36, rel=0.05)
    assert math.ceil(crossing(sizes.users_adaptive, 1.5, 30)) == 55
    assert math.ceil(crossing(sizes.users_adaptive, 5, 30, True)) == 940
    C = 40 * (math.e - 1) ** 2  # by hand, as the end of the proof has it
    assert math.log(159 * LN2) / math.log(1 + C / 320) == pytest.approx(15, abs=0.05)
    assert sizes.users_adaptive(320, 1.0) == pytest.approx(176.6, abs=0.05)
    assert (159 * LN2, 320 * LN2) == pytest.approx((110.2, 221.8), abs=0.05)
    return (
        "1.7·10^18",
        "1.0·10^36",
        "N = 55 and 940",
        "15 users",
        "176.6",
        "110.2",
        "221.8",
        "N = 320",
        "ε = 1",
    )


def b17():
    N = 50
    assert math.comb(N, 2) * 2 / (N * (N - 1)) == 1
    users = 10**6 * math.log(10**6)
    assert users**2 / 10**24 == pytest.approx(math.log(10**6) ** 2 / 10**12)
    return ("2/(N(N−1))",)


def b18():
    """P(sketch = 0) over what is sensed, rated and liked, N = 2 items, as the proof has it: independently."""

    def silent(liked, sensed=0.5, rated=0.5):  # of a class's user: all 2⁶ cases
        total = 0.0
        for case in itertools.product((0, 1), repeat=6):
            chances = [sensed, sensed, rated, rated, *liked]
            weight = math.prod(p if x else 1 - p for x, p in zip(case, chances, strict=True))
            total += weight * (
                not any(
                    h and r and b for h, r, b in zip(case[:2], case[2:4], case[4:], strict=True)
                )
            )
        return total

    for shares, classes, printed in (
        ((0.5, 0.5), ((0, 0), (0, 0)), 2),
        ((0.3, 0.7), ((0.9, 0.1), (0.2, 0.6)), None),
    ):
        q = [math.prod(1 - 0.25 * b for b in liked) for liked in classes]
        of_all = sum(share * silent(liked) for share, liked in zip(shares, classes, strict=True))
        assert of_all == pytest.approx(np.dot(shares, q)) and sum(q) > 1 >= of_all
        assert printed is None or sum(q) == printed
    return ("the sum is 2",)


def b19():
    """Any basis of the span gives rows as far apart; and signs by turned Gaussian points, simulated."""
    rng = np.random.default_rng(19)
    matrix = rng.normal(size=(12, 12))
    matrix = matrix + matrix.T
    top = np.linalg.eigh(matrix)[1][:, -4:]
    turned = top @ np.linalg.qr(rng.normal(size=(4, 4)))[0]

    def distances(vectors):
        points = matrix @ vectors
        return np.linalg.norm(points[:, None] - points, axis=2)

    assert distances(turned) == pytest.approx(distances(top), abs=1e-9)
    four = ("0.5, 0.5", "0.25, 0.25, 0.25, 0.25", "0.9, 0.9, 0.1, 0.1; 0.9, 0.1, 0.9, 0.1")
    predicted = boundary.users_predicted_pairs("spectral_signs", 100, 50, 1.0, *four, "agree")
    design = Design(100, 50, 1.0, *four)
    chances = sketch_means.pair_means(
        sketch_means.rated_chances(100, 50), design.law.alpha, design.law.b
    )
    for times, right in ((4, 0.595), (16, 0.803)):
        signs = boundary.signs_predicted(round(times * predicted), 100, 50, 1.0, *four)
        assert signs == pytest.approx(right, abs=5e-4)
        values, profiles, noise = success.pair_signal(times * predicted, 1.0, design.sizes, chances)
        overlap = math.sqrt(1 - 100 * noise**2 / values[1] ** 2)
        reach = np.hypot(*profiles[0, 1:3]) * overlap  # all four corners are as far from the middle
        angle = rng.uniform(0, math.pi / 2, 4000)
        corners = math.pi / 4 + math.pi / 2 * np.arange(4).repeat(25) + angle[:, None]
        points = reach * np.exp(1j * corners)
        noisy = points + noise * (
            rng.normal(size=points.shape) + 1j * rng.normal(size=points.shape)
        )
        same = (np.sign(points.real) == np.sign(noisy.real)) & (
            np.sign(points.imag) == np.sign(noisy.imag)
        )
        assert same.all(axis=1).mean() == pytest.approx(right, abs=0.04)  # n = 4,000, 4.9 errors
    return "0.595", "0.803", "N = 100", "4 and 16", "45"


def b20():
    """Bayes' rule of a fair bit that is flipped, by the formula and by counting all cases."""
    kept = math.e / (math.e + 1)
    ratio = (kept + (1 - kept)) / 2 / kept
    joint = {(a, s): 0.5 * (kept if a == s else 1 - kept) for a in (0, 1) for s in (0, 1)}
    assert joint[1, 1] / (joint[0, 1] + joint[1, 1]) == pytest.approx(0.5 / ratio)
    assert 0.5 / ratio == pytest.approx(0.731, abs=5e-4)
    assert 0.5 * ratio == pytest.approx(0.342, abs=5e-4)
    return "0.731", "0.342", "ε = 1"


def b21():
    """A vector of two clusters that one class of users has no second entry for."""
    vector = np.array([0.0, 1.0])
    assert np.array([1.0]) @ vector[:1] ** 2 == 0
    assert np.array([0.5, 0.5]) @ vector**2 == 0.5
    return "0.5", "K = 1", "L = 2"


def b22():
    """Half and a quarter of ε̂ is 1 at most, whatever ε."""
    assert 2 * math.tanh(1) == pytest.approx(1.52, abs=5e-3)
    assert max(0.5 + 2 * math.tanh(epsilon / 2) / 4 for epsilon in (1, 2, 10, 50)) <= 1
    return "1.52", "ε = 2"


IN_ORDER = (
    3,
    2,
    7,
    8,
    19,
    21,
    15,
    1,
    20,
    5,
    4,
    6,
    22,
    9,
    10,
    18,
    11,
    12,
    13,
    16,
    14,
    17,
)  # of the paper
ROWS = {f"B{number}": globals()[f"b{number}"] for number in IN_ORDER}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_is_computed(row):
    check_row(row, ROWS[row]())


def test_users_of_several_questions():
    """Over those of one question: by exact means and Gaussian scores, and to first order by tanh²."""

    def users(mechanism, questions, epsilon):
        return boundary.users_predicted_multi(
            mechanism, 100, 25, epsilon, 1.0, questions, "1", "0.5, 0.5", "0.9, 0.1"
        )

    for epsilon, ratio, first in ((1.5, 1.6, 1.57), (2.0, 1.4, 1.36)):
        one = users("multi_max_sense", 1, epsilon)
        assert users("multi_max_sense", 2, epsilon) / one == pytest.approx(ratio, abs=0.05)
        assert math.tanh(epsilon / 2) ** 2 / (2 * math.tanh(epsilon / 4) ** 2) == pytest.approx(
            first, abs=0.005
        )
        assert one / users("max_sense", 1, epsilon) == pytest.approx(0.75, abs=0.02)
    check_text(
        "⌈ε⌉ questions need 1.6 and 1.4 times the users of one at ε = 1.5 and 2 (N = 100, w = 25)",
        "save a quarter",
    )


def test_every_row_has_its_computation_and_every_claim_named_is_there():
    assert rows("B") == list(ROWS)
    assert named_claims("banerjee") <= {claim.id for claim in CLAIMS}


def test_a_number_that_is_not_computed_is_noticed():
    for texts in (("0.416",), (*b1(), "0.416"), b1()[:-1]):
        with pytest.raises(AssertionError):
            check_row("B1", texts)
