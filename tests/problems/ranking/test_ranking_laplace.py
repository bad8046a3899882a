"""Laplace noise: its law in every released coordinate, its independence, and the guarantee as a density ratio."""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

from pipeline.problems.ranking.derivations import epsilon_user
from pipeline.problems.ranking.mechanisms.laplace import Laplace
from pipeline.problems.ranking.model import Comparisons
from pipeline.problems.ranking.releases import LaplaceWins
from pipeline.study.parameters import InvalidInput
from pipeline.study.study import build
from tests.helpers.checks import counts_agree

REPS, ALPHA = 60_000, 1e-6
PROBABILITY = np.array([0.1, 0.5, 0.8])  # of three pairs
TAILS = {
    1: [1],
    2: [2, 1],
    3: [8, 5, 1],
}  # P(|sum of n| > x) = e^-x · polynomial, coefficients over the first


def noise_cdf(x, n):
    """Law of the sum of n Laplace variables of scale 1, in closed form."""
    x = np.asarray(x, float)
    tail = np.exp(-np.abs(x)) * np.polynomial.Polynomial(TAILS[n])(np.abs(x)) / TAILS[n][0] / 2
    return np.where(x < 0, tail, 1 - tail)


def follows(noise, n, scale, what):
    """Kolmogorov's test at alpha = 1e-6, with the bound of Dvoretzky, Kiefer, Wolfowitz and Massart."""
    statistic = stats.kstest(noise / scale, lambda x: noise_cdf(x, n)).statistic
    bound = np.sqrt(np.log(2 / ALPHA) / 2 / len(noise))
    print(f"{what}: n={len(noise)} statistic={statistic:.4g} bound={bound:.4g} alpha={ALPHA:g}")
    return statistic <= bound


def rng(seed):
    return np.random.default_rng(seed)


def noise_of(mechanism, reps=REPS):
    """(reps, groups, pairs): what is added to the wins."""
    data = Comparisons(np.broadcast_to(PROBABILITY, (reps, 3)), mechanism.L, 3, rng(1))
    release = mechanism.release(data, rng(2))
    return release.wins - data.split(
        mechanism.users, rng(2)
    )  # the same split as the mechanism's, drawn first


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_closed_form_is_the_law_of_a_sum(n):
    """Against the inverse of the characteristic function (1 + t²)⁻ⁿ."""
    for x in (0.0, 0.3, 1.0, 4.0):
        density, _ = integrate.quad(
            lambda t, x=x: np.cos(t * x) / (1 + t * t) ** n / np.pi, 0, 2000, limit=5000
        )
        step = 1e-4
        assert (noise_cdf(x + step, n) - noise_cdf(x - step, n)) / (2 * step) == pytest.approx(
            density, abs=2e-4
        )
    assert noise_cdf([-50, 0, 50], n) == pytest.approx([0, 0.5, 1])


@pytest.mark.parametrize(
    "L, epsilon, profile, sizes",
    [
        (1, 0.7, "1:1", [1]),
        (2, 1e-8, "1:1", [2]),
        (3, 5.0, "1:1", [3]),
        (3, 0.4, "0.34:1,0.66:4", [1, 2]),
        (5, 1.0, "0.4:0.5,0.6:2", [2, 3]),
    ],
)
def test_law_of_the_noise_in_every_coordinate(L, epsilon, profile, sizes):
    mechanism = Laplace(m=3, L=L, epsilon=epsilon, profile=profile)
    noise = noise_of(mechanism)
    assert mechanism.users.tolist() == sizes and noise.shape == (REPS, len(sizes), 3)
    for g, n in enumerate(sizes):
        scale = 1 / (epsilon * float(profile.split(",")[g].split(":")[1]))
        for pair in range(3):
            assert follows(noise[:, g, pair], n, scale, f"group {g}, pair {pair}")
            assert not follows(noise[:, g, pair], n, 0.9 * scale, "control: scale 0.9/ε")
            assert not follows(noise[:, g, pair], n, 2 * scale, "control: scale 2/ε")
            if n > 1:
                assert not follows(
                    noise[:, g, pair], n - 1, scale, "control: noise of one user forgotten"
                )


def test_a_last_pair_without_noise_is_found():
    class Careless(Laplace):
        """A negative control: it forgets the last coordinate."""

        def release(self, data, rng):
            whole = super().release(data, rng)
            whole.wins[:, :, -1] = data.wins[:, None, -1]
            return whole

    for kind, fine in ((Laplace, True), (Careless, False)):
        noise = noise_of(kind(m=3, L=3, epsilon=1.0))
        assert fine == follows(noise[:, 0, 2], 3, 1, f"{kind.__name__}, last pair")
        assert all(follows(noise[:, 0, k], 3, 1, f"{kind.__name__}, pair {k}") for k in (0, 1))


def test_noise_is_independent_across_pairs_and_groups():
    noise = noise_of(Laplace(m=3, L=2, epsilon=0.5, profile="0.5:1,0.5:2"), 200_000)
    quarter = np.floor(4 * noise_cdf(noise * np.array([[0.5], [1.0]]), 1)).astype(int)
    uniform = np.full(64, 1 / 64)
    for name, entries in (
        ("pairs", [(0, 0), (0, 1), (0, 2)]),
        ("groups", [(0, 0), (1, 0), (1, 2)]),
    ):
        columns = [quarter[:, g, pair] for g, pair in entries]
        assert counts_agree(
            np.bincount(np.array([16, 4, 1]) @ columns, minlength=64), uniform, name
        )
        columns[2] = columns[1]
        assert not counts_agree(
            np.bincount(np.array([16, 4, 1]) @ columns, minlength=64), uniform, "one noise twice"
        )


def log_density(released, answers, scale):
    """Of the release of one user's comparisons, given his answers; (..., pairs) -> (...)."""
    return -(np.abs(released - answers) / scale + np.log(2 * scale)).sum(axis=-1)


@pytest.mark.parametrize("epsilon", [1e-8, 0.3, 2.0])
def test_privacy_as_a_density_ratio(epsilon):
    """Largest log ratio on a grid that holds its extremes: ε for one answer replaced, 3ε for all three."""
    mechanism = Laplace(m=3, L=1, epsilon=epsilon)
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 3, 21)] * 3, indexing="ij"), axis=-1).reshape(
        -1, 3
    )
    answers = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1).T

    def worst(scale, changed):
        """Over all releases and all inputs that differ in that many answers."""
        return max(
            np.abs(log_density(grid, x, scale) - log_density(grid, y, scale)).max()
            for x in answers
            for y in answers
            if (x != y).sum() == changed
        )

    spent = mechanism.spent()
    assert worst(1 / epsilon, 1) == pytest.approx(epsilon, rel=1e-6) == spent["one comparison"]
    assert worst(1 / epsilon, 3) == pytest.approx(spent["all comparisons of a user"], rel=1e-6)
    assert (
        spent["all comparisons of a user"] == pytest.approx(epsilon_user(epsilon, 3)) == 3 * epsilon
    )
    assert (
        worst(0.9 / epsilon, 1) > epsilon * 1.1 and worst(2 / epsilon, 1) < epsilon * 0.51
    )  # too little, wasted


class Some(Comparisons):
    """Data in which each group of users made 0, 1 or 2 comparisons of a pair."""

    def compared(self, sizes):
        return rng(7).integers(0, 3, (len(self.probability), len(sizes), 3))

    def split(self, sizes, rng):
        return rng.binomial(self.compared(sizes), self.probability[:, None])


def test_noise_is_added_where_comparisons_were_made():
    mechanism = Laplace(m=3, L=8, epsilon=0.5, profile="0.5:1,0.5:4")
    data = Some(np.broadcast_to(PROBABILITY, (REPS, 3)), 8, 3, rng(1))
    release, made = mechanism.release(data, rng(2)), data.compared(mechanism.users)
    noise = release.wins - data.split(mechanism.users, rng(2))
    assert (release.compared == made).all() and isinstance(release, LaplaceWins)
    assert (release.wins[made == 0] == 0).all() and (noise[made > 0] != 0).all()
    for g, pair, n in itertools.product((0, 1), range(3), (1, 2)):
        here = noise[made[:, g, pair] == n, g, pair] * mechanism.budgets[g]
        assert follows(here, n, 1, f"group {g}, pair {pair}, {n} made")
        assert not follows(here, 3 - n, 1, "control: as if another number had been made")


@pytest.mark.parametrize("epsilon", [0, -1, np.inf, np.nan, "1", None, True])
def test_a_budget_is_positive_and_finite(epsilon):
    with pytest.raises(InvalidInput, match="epsilon"):
        build(Laplace, {"m": 3, "L": 5, "epsilon": epsilon})


def test_statement_of_privacy():
    assert Laplace.guarantee.unit == "answer" and "ε-LDP" in Laplace.guarantee.budget
    assert Laplace.accepts is Comparisons and Laplace.releases is LaplaceWins
    mixed = Laplace(m=4, L=10, epsilon=0.5, profile="0.5:1,0.5:4").spent()
    assert mixed == {
        "one comparison": 2.0,
        "all comparisons of a user": 12.0,
    }  # of the worst protected user
