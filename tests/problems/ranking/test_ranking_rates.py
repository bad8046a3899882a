"""Closed forms against exact arithmetic and enumeration, yardsticks against simulation."""

import itertools
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from pipeline.privacy import randomized_response_laws as flips
from pipeline.problems.common import laplacians
from pipeline.problems.ranking import derivations
from pipeline.problems.ranking.theory import rates as btl
from pipeline.problems.ranking.theory import risk as btl_risk
from pipeline.study.parameters import InvalidInput
from tests.helpers.checks import mean_agrees

BUDGETS = [1e-8, 1e-3, 0.2, 1.0, 5.0, 40.0, 700.0, 800.0, np.inf]
PROBABILITIES = [1e-300, 1e-9, 0.1, 0.5, 0.73, 1 - 1e-9, 1.0]


def thetas(reps, m, seed, spread=2.0):
    theta = np.random.default_rng(seed).uniform(-spread, spread, (reps, m))
    return theta - theta.mean(axis=1, keepdims=True)


def laplacian(pairs, m):
    """Laplacian (m, m) with weights in the order of triu_indices, built edge by edge."""
    total = np.zeros((m, m))
    for value, i, j in zip(pairs, *np.triu_indices(m, 1), strict=True):
        edge = np.eye(m)[i] - np.eye(m)[j]
        total += value * np.outer(edge, edge)
    return total


def exact(epsilon, form):
    """A closed form in exp(ε), evaluated with 60 digits."""
    with localcontext() as context:
        context.prec = 60
        return form(Decimal(epsilon).exp())


@pytest.mark.parametrize("epsilon", BUDGETS[:-1])
@pytest.mark.parametrize(
    "function, form",
    [
        (flips.flip_probability, lambda e: 1 / (1 + e)),
        (flips.amplification, lambda e: (e + 1) / (e - 1)),
        (flips.attenuation, lambda e: (e - 1) / (e + 1)),
        (lambda epsilon: btl_risk.debiased_variance(1.0, epsilon), lambda e: e / (e - 1) ** 2),
    ],
)
def test_closed_forms(epsilon, function, form):
    assert function(epsilon) == pytest.approx(float(exact(epsilon, form)), rel=1e-12, abs=0)


@pytest.mark.parametrize("epsilon", BUDGETS[:-1])
def test_laplace_equivalent_adds_the_variance_of_laplace_noise(epsilon):
    with localcontext() as context:
        context.prec = 60
        x = Decimal(epsilon) / Decimal(8).sqrt()
        expected = float(2 * (x + (x * x + 1).sqrt()).ln())  # 2 arsinh
    found = flips.laplace_equivalent(epsilon)
    assert found == pytest.approx(expected, rel=1e-12)
    assert btl_risk.debiased_variance(1.0, found) == pytest.approx(2 / epsilon**2, rel=1e-9)
    assert btl_risk.debiased_variance(1.0, epsilon) != pytest.approx(
        2 / epsilon**2, rel=0.1
    )  # ε itself is not it


def test_no_privacy_is_the_limit():
    assert (
        flips.flip_probability(np.inf),
        flips.amplification(np.inf),
        flips.attenuation(np.inf),
    ) == (0, 1, 1)
    p = np.array(PROBABILITIES)
    assert np.array_equal(flips.released_probability(p, np.inf), p)
    assert np.array_equal(btl_risk.debiased_variance(p, np.inf), p * (1 - p))
    theta = thetas(3, 6, 1)
    sandwich, bound = btl_risk.risks(theta, np.inf, 50)
    assert sandwich == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("epsilon", BUDGETS[:-1])
@pytest.mark.parametrize("p", PROBABILITIES)
def test_lemmas_1_and_2_by_enumeration(p, epsilon):
    with localcontext() as context:
        context.prec = 800  # enough for e^800 beside 1
        e = Decimal(epsilon).exp()
        flip, p_exact = 1 / (1 + e), Decimal(p)
        law = {0: Decimal(0), 1: Decimal(0)}
        for raw, flipped in itertools.product((0, 1), repeat=2):
            law[raw ^ flipped] += (p_exact if raw else 1 - p_exact) * (
                flip if flipped else 1 - flip
            )
        z = {y: ((e + 1) * y - 1) / (e - 1) for y in law}
        mean = sum(law[y] * z[y] for y in law)
        variance = sum(law[y] * (z[y] - mean) ** 2 for y in law)
        printed = ((e + 1) / (e - 1)) ** 2 * (
            Decimal("0.25") - ((e - 1) / (e + 1)) ** 2 * (p_exact - Decimal("0.5")) ** 2
        )
        assert abs(mean - p_exact) < Decimal("1e-600")
        assert abs(variance - printed) <= abs(variance) * Decimal("1e-300") + Decimal("1e-600")
    assert flips.released_probability(p, epsilon) == pytest.approx(float(law[1]), rel=1e-12, abs=0)
    assert btl_risk.debiased_variance(p, epsilon) == pytest.approx(
        float(variance), rel=1e-12, abs=0
    )


def test_released_probability_is_a_probability():
    epsilon = np.geomspace(1e-9, 800, 20001)
    for p in (0.0, 1e-17, 1 - 1e-16, 1.0):
        released = flips.released_probability(p, epsilon)
        assert ((released >= 0) & (released <= 1)).all()


def test_group_summaries():
    epsilon, users = np.array([0.3, 1.0, np.inf]), np.array([2, 3, 5])
    each = np.repeat(epsilon, users)
    G = flips.mean_squared_amplification(epsilon, users)
    assert G == pytest.approx(np.mean(1 / np.tanh(each / 2) ** 2))
    assert flips.max_amplification(epsilon) == pytest.approx(1 / np.tanh(0.15))
    assert flips.information(epsilon, users) == pytest.approx(np.sum(np.tanh(each / 2) ** 2))
    # Theorem 2's mean of coth² and Theorem 3's of tanh² are reciprocal for one budget only.
    assert flips.mean_squared_amplification(0.3, 7) * flips.information(0.3, 7) == pytest.approx(7)
    assert G * flips.information(epsilon, users) > 6 * 10
    # A scalar means the same for every group.
    for function in (flips.mean_squared_amplification, flips.information):
        assert function(epsilon, 4) == pytest.approx(function(epsilon, np.array([4, 4, 4])))
    theta = thetas(2, 4, 2)
    assert btl_risk.risks(theta, epsilon, 4) == pytest.approx(
        btl_risk.risks(theta, epsilon, [4, 4, 4])
    )


def test_win_probability_and_condition_number():
    theta = np.array([[np.log(2), 0.0, -np.log(2)], [0.0, 0.0, 0.0]])
    assert btl.win_probability(theta) == pytest.approx(np.array([[2 / 3, 4 / 5, 2 / 3], [0.5] * 3]))
    assert btl.condition_number(theta) == pytest.approx(np.array([4, 1]))
    for m in (1, 2, 3, 5, 9, 40):  # near and far, of any number of items
        theta = (
            np.random.default_rng(m).standard_normal((2, 7, m)) * 10.0 ** np.arange(-4, 3)[:, None]
        )
        first, second = np.triu_indices(m, 1)
        gap = theta[..., first] - theta[..., second]
        np.testing.assert_allclose(btl.win_probability(theta), special.expit(gap), rtol=4e-15)
    np.testing.assert_allclose(
        btl.win_probability(np.array([[0.0, 800.0, -800.0]])), [[0, 1, 1]], atol=1e-307
    )


def test_example_1_has_its_probabilities_swapped():
    # The paper prints 5/9 and 3/5 for items whose preferences increase; these are the chances of ỹ = 0.
    theta = np.log([[1.0, 2.0, 4.0]])
    released = flips.released_probability(btl.win_probability(theta), np.log(2.0))
    assert released == pytest.approx(np.array([[4 / 9, 2 / 5, 4 / 9]]))


def test_rates():
    kappa, G, m, L = 3.0, 4.0, 10, 100
    squared = G * np.log(1000) / 1000
    assert btl.excess_risk_rate(kappa, G, m, L) == pytest.approx(kappa * squared)
    assert btl.l2_rate(kappa, G, m, L) == pytest.approx(kappa * squared**0.5)
    assert btl.linf_rate(kappa, G, m, L) == pytest.approx(kappa**2 * squared**0.5)
    assert btl.minimax_lower_bound(kappa, m, 25.0) == pytest.approx(1 / np.sqrt(750))
    users = np.array([100, 200, 400])
    for rate in (btl.excess_risk_rate, btl.l2_rate, btl.linf_rate):
        assert (np.diff(rate(kappa, G, m, users)) < 0).all()
        assert (
            np.diff(rate(kappa, flips.amplification(np.array([0.1, 1, 5])) ** 2, m, L)) < 0
        ).all()


def test_theorem_1_conditions():
    theta = np.array([[1.0, -1.0], [0.0, 0.0]])
    edge = 2 * 3.0 * np.log(200) / (100 * 2)  # m G log(mL)/(L‖θ*‖²) of the first row
    assert btl.theorem_1_conditions(theta, edge * 0.999, 3.0, 100).tolist() == [True, True]
    assert btl.theorem_1_conditions(theta, edge * 1.001, 3.0, 100).tolist() == [False, True]
    assert btl.theorem_1_conditions(theta, np.array([edge * 1.5, 1e9]), 3.0, 100, constant=2).all()


@pytest.mark.parametrize("scheme, trend", [("log", -1), ("critical", 0), ("inverse_log", 1)])
def test_schemes(scheme, trend):
    L = np.array([50, 100, 400, 1600])
    for m in (2, 10, 40):
        epsilon = derivations.scheme_budget(scheme, m, L, 100, 0.7)
        assert epsilon[1] == pytest.approx(0.7)
        form = np.log(m * L) ** -trend / np.sqrt(m * L)
        assert epsilon / form == pytest.approx(0.7 / form[1])
        bound = btl.minimax_lower_bound(1.0, m, L * (epsilon / 2) ** 2)  # t(ε) ≈ ε/2
        assert (np.sign(np.round(np.diff(bound), 12)) == trend).all()


@pytest.mark.parametrize("scheme, trend", [("log", -1), ("critical", 0), ("inverse_log", 1)])
def test_schemes_in_items(scheme, trend):
    m = np.array([5, 10, 40, 160])
    epsilon = derivations.scheme_budget_in_items(scheme, m, 400, 10, 0.7)
    assert epsilon[1] == pytest.approx(0.7)
    form = np.log(m * 400) ** -trend / np.sqrt(m * 400)
    assert epsilon / form == pytest.approx(0.7 / form[1])
    with pytest.raises(InvalidInput, match=r"scheme=logs: did you mean 'log'"):
        derivations.scheme_budget_in_items("logs", 10, 400, 10, 0.7)


def test_budgets():
    assert derivations.budget_from_x(x=8, m=10, L=1000) == pytest.approx(0.08)
    assert derivations.critical_budget(10, 1000) == pytest.approx(0.01)
    assert derivations.epsilon_user(1.0, 40) == 780
    with pytest.raises(InvalidInput, match=r"scheme=inverse-log: did you mean 'inverse_log'"):
        derivations.scheme_budget("inverse-log", 10, 100, 100, 1.0)


@pytest.mark.parametrize("epsilon", BUDGETS)
def test_two_items(epsilon):
    theta, users, ridge = np.array([[0.8, -0.8], [0.1, -0.1]]), 30, np.array([0.0, 0.05])
    p = special.expit(theta[:, 0] - theta[:, 1])
    w = p * (1 - p)
    variance = btl_risk.debiased_variance(p, epsilon) / users
    sandwich, bound = btl_risk.risks(theta, epsilon, users, ridge)
    expected = (variance / 4 + (ridge * theta[:, 0]) ** 2) / (w + ridge) ** 2
    assert sandwich == pytest.approx(expected, rel=1e-12)
    released = flips.released_probability(p, epsilon)
    information = users * (flips.attenuation(epsilon) * w) ** 2 / (released * (1 - released))
    assert bound == pytest.approx(1 / (4 * information), rel=1e-9)


@pytest.mark.parametrize("m", [2, 3, 10, 11, 23])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_yardsticks_from_their_definitions(m, ridge):
    theta = thetas(60 if m < 20 else 150, m, 3)  # several slices at m = 23
    epsilon, users, weights = (
        np.array([0.5, 2.0, np.inf]),
        np.array([10, 30, 5]),
        np.array([0.2, 0.6, 1.0]),
    )
    sandwich, bound = btl_risk.risks(theta, epsilon, users, ridge, weights)
    covariance = btl_risk.sandwich_covariance(theta, epsilon, users, ridge, weights)
    projector = np.eye(m) - 1 / m
    for row in (0, 1, len(theta) - 1):
        p = btl.win_probability(theta[row])
        w, t = p * (1 - p), flips.attenuation(epsilon)[:, None]
        middle = 0.25 - t**2 * (p - 0.5) ** 2
        score = (users * weights**2) @ (middle / t**2) / (users @ weights) ** 2
        inverse = np.linalg.pinv(laplacian(w, m) + 2 * ridge * projector)
        expected = inverse @ laplacian(score, m) @ inverse
        bias = 2 * ridge * inverse @ theta[row]
        assert covariance[row] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert sandwich[row] == pytest.approx((np.trace(expected) + bias @ bias) / m, rel=1e-10)
        fisher = laplacian(users @ (t**2 * w**2 / middle), m)
        assert bound[row] == pytest.approx(np.trace(np.linalg.pinv(fisher)) / m, rel=1e-10)
    ridges = np.full(len(theta), ridge)
    assert btl_risk.sandwich_risk(theta, epsilon, users, ridges, weights) == pytest.approx(sandwich)
    assert btl_risk.cramer_rao_risk(theta, epsilon, users) == pytest.approx(bound)


def test_one_theta_for_all_replications_is_computed_once(monkeypatch):
    theta, sizes = thetas(1, 7, 5), []
    function = btl_risk._compiled
    monkeypatch.setattr(
        btl_risk, "_compiled", lambda m, reps, *rest: sizes.append(reps) or function(m, reps, *rest)
    )
    whole = btl_risk.risks(np.repeat(theta, 30, axis=0), 0.5, 20, 0.1)
    assert np.array_equal(
        btl_risk.risks(np.broadcast_to(theta, (30, 7)), 0.5, 20, 0.1), whole
    ) and sizes == [30, 1]
    ridges = np.linspace(0.1, 0.2, 30)
    assert np.ptp(btl_risk.risks(np.broadcast_to(theta, (30, 7)), 0.5, 20, ridges)[0]) > 0


@pytest.mark.parametrize("m", [2, 3, 6, 13, 40, 85])
def test_compiled_risks_are_those_of_numpy(m, monkeypatch):
    """Of inverses by LAPACK, which serve where there are many items."""
    theta, ridges = thetas(9, m, m, 1.5), np.geomspace(1e-4, 1, 9)
    groups = np.array([0.5, 2.0, np.inf]), np.array([10, 20, 5])
    found = np.array([btl_risk.risks(theta, *groups, ridge) for ridge in (0.0, ridges)])
    alone = [btl_risk.risks(theta[k : k + 1], *groups, ridges[k])[:, 0] for k in range(9)]
    assert np.array_equal(np.transpose(alone), found[1])
    monkeypatch.setattr(btl_risk, "MANY", 0)
    expected = np.array([btl_risk.risks(theta, *groups, ridge) for ridge in (0.0, ridges)])
    apart = np.abs(found / expected - 1).max()
    print(f"m={m}: {expected.size} values, largest relative difference {apart:.1e}, bound 1e-12")
    assert (
        apart
        <= 1e-12
        < np.abs(btl_risk.risks(theta, *groups, ridges * (1 + 1e-9)) / expected[1] - 1).max()
    )


def test_curvature_is_the_derivative_of_the_score():
    theta, step = thetas(1, 5, 4)[0], 1e-5

    def score(x):
        return special.expit(x[:, None] - x[None, :]).sum(axis=1)

    numeric = np.stack(
        [(score(theta + step * e) - score(theta - step * e)) / (2 * step) for e in np.eye(5)]
    )
    weights = btl_risk.curvature(theta)
    hessian = np.diag(weights.sum(axis=1)) - weights
    assert hessian == pytest.approx(numeric, abs=1e-9)
    # Lemma S5, and what it leaves out: away from 1 the least eigenvalue is at least m κ/(1+κ)².
    eigenvalues, kappa = np.linalg.eigvalsh(hessian), btl.condition_number(theta)
    assert eigenvalues[-1] <= 2 * weights.sum(axis=1).max()
    assert eigenvalues[1] >= 5 * kappa / (1 + kappa) ** 2


def test_information_by_enumeration_of_releases():
    theta, epsilons = thetas(1, 3, 5), np.array([0.7, 2.5])
    outcomes = np.array(list(itertools.product((0, 1), repeat=3)))
    total, step = np.zeros((3, 3)), 1e-30
    for epsilon in epsilons:

        def law(x, epsilon=epsilon):
            first, second = np.triu_indices(3, 1)
            p = 0.5 + np.tanh(epsilon / 2) * (1 / (1 + np.exp(x[second] - x[first])) - 0.5)
            return np.prod(np.where(outcomes, p, 1 - p), axis=1)

        derivative = np.stack([law(theta[0] + 1j * step * e).imag / step for e in np.eye(3)])
        assert law(theta[0]).sum() == pytest.approx(1)
        total += (derivative / law(theta[0])) @ derivative.T
    bound = btl_risk.cramer_rao_risk(theta, epsilons, np.array([1, 1]))
    assert bound == pytest.approx([np.trace(np.linalg.pinv(total)) / 3], rel=1e-10)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 14),
    st.integers(0, 10**6),
    st.floats(0, 4),
    st.lists(
        st.tuples(st.floats(1e-3, 20), st.integers(1, 1000), st.floats(0.01, 1)),
        min_size=1,
        max_size=4,
    ),
)
def test_no_weighting_beats_the_cramer_rao_bound(m, seed, spread, groups):
    epsilon, users, weights = np.array(groups).T
    theta = thetas(3, m, seed, spread)
    for choice in (None, weights, flips.attenuation(epsilon) ** 2):
        sandwich, bound = btl_risk.risks(theta, epsilon, users, weights=choice)
        assert (sandwich >= bound * (1 - 1e-9)).all()
    # Attenuation² is the best weighting where privacy's variance does not depend on the pair: at θ* = 0.
    level = np.zeros((1, m))
    best = btl_risk.sandwich_risk(level, epsilon, users, weights=flips.attenuation(epsilon) ** 2)
    assert best == pytest.approx(btl_risk.cramer_rao_risk(level, epsilon, users), rel=1e-9)


def test_yardsticks_are_monotone():
    theta = thetas(4, 8, 6)
    for values in (
        [btl_risk.risks(theta, epsilon, 100) for epsilon in BUDGETS[:5]],
        [btl_risk.risks(theta, 1.0, users) for users in (10, 20, 1000)],
    ):
        assert (np.diff(values, axis=0) < 0).all()
    assert btl_risk.risks(theta, 1e-8, 100)[0] * 100 / (2e8) ** 2 == pytest.approx(
        btl_risk.risks(theta, 1e-4, 100)[0] * 100 / (2e4) ** 2, rel=1e-6
    )


def test_out_of_reach_is_nan_and_alone():
    theta = np.array([[1.0, 0.0, -1.0], [50.0, 49.0, -99.0], [0.5, 0.0, -0.5]])
    both, covariance = btl_risk.risks(theta, 1.0, 10), btl_risk.sandwich_covariance(theta, 1.0, 10)
    assert np.isnan(both[:, 1]).all() and np.isnan(covariance[1]).all()
    assert np.array_equal(both[:, [0, 2]], btl_risk.risks(theta[[0, 2]], 1.0, 10))
    for m in (2, 21):  # swept, and by LAPACK
        matrices = np.ones((3, m, m))
        matrices[1] += np.eye(m)
        inverse = laplacians.invert(matrices)
        assert not np.isfinite(inverse[[0, 2]]).any()
        assert inverse[1] == pytest.approx(np.eye(m) - 1 / (m + 1), abs=1e-12)


@pytest.mark.parametrize("m", [2, 3, 10, 11, 20, 21, 40])
def test_inverses_agree_with_lapack_whatever_the_batch(m):
    rng = np.random.default_rng(m)
    factor = rng.normal(size=(7, m, m + 3))
    matrices = factor @ factor.mT * np.geomspace(1e-150, 1e150, 7)[:, None, None]
    inverse = laplacians.invert(matrices)
    assert np.abs(inverse @ matrices - np.eye(m)).max() < 1e-7
    lapack = np.linalg.inv(matrices)
    assert (np.abs(inverse - lapack) / np.abs(lapack).max(axis=(1, 2), keepdims=True)).max() < 1e-10
    for rows in (slice(0, 1), slice(2, 4), slice(4, 7)):
        assert np.array_equal(laplacians.invert(matrices[rows]), inverse[rows])


@pytest.mark.parametrize("weighted", [False, True])
def test_estimator_has_the_sandwich_covariance(weighted):
    rng, m, ridge = np.random.default_rng(7), 4, 1e-4
    epsilon, users = np.array([0.5, 2.0]), np.array([3000, 5000])
    theta = thetas(1, m, 8)
    weights = flips.attenuation(epsilon) ** 2 if weighted else np.ones(2)
    p = flips.released_probability(btl.win_probability(theta), epsilon[:, None])
    wins = rng.binomial(users[:, None], p, (2000, 2, p.shape[1]))
    z = 0.5 + flips.amplification(epsilon)[:, None] * (wins / users[:, None] - 0.5)
    mean = (users * weights) @ z / (users @ weights)
    incidence = np.array(list(itertools.combinations(np.eye(m), 2)))
    incidence = incidence[:, 0] - incidence[:, 1]

    def gradient(x, mean):
        return (special.expit(incidence @ x) - mean) @ incidence + 2 * ridge * x

    solved = [optimize.root(gradient, theta[0], args=(row,), tol=1e-10) for row in mean]
    assert all(s.success for s in solved)
    error = np.array([s.x for s in solved]) - theta
    inside = weights if weighted else None
    covariance = btl_risk.sandwich_covariance(theta, epsilon, users, ridge, inside)[0]
    squared = np.einsum("ri,ij,rj->r", error, np.linalg.pinv(covariance), error)
    assert mean_agrees(squared, m - 1, "Mahalanobis distance² of the M-estimator")
    risk = (error**2).sum(axis=1) / m
    assert mean_agrees(
        risk, btl_risk.sandwich_risk(theta, epsilon, users, ridge, inside)[0], "squared error"
    )
    # Negative controls: a for a² (the same as a larger budget), and the other weighting.
    gentler = 2 * np.arctanh(flips.attenuation(epsilon) ** 0.5)
    assert not mean_agrees(
        risk, btl_risk.sandwich_risk(theta, gentler, users, ridge, inside)[0], "control: a for a²"
    )
    other = None if weighted else flips.attenuation(epsilon) ** 2
    assert not mean_agrees(
        risk, btl_risk.sandwich_risk(theta, epsilon, users, ridge, other)[0], "control: weights"
    )
