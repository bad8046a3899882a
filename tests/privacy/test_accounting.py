"""Privacy accounts: closed forms, an independent minimisation, exact laws, and the theorem on shuffling enumerated."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from pipeline.privacy import accounting
from pipeline.study.parameters import InvalidInput

RHO = [1e-6, 1e-3, 0.05, 0.5, 3.0, 50.0]
DELTA = [1e-12, 1e-4, 1e-2, 0.3]
EPSILON = [0.01, 0.3, 1.0, 5.0, 20.0]
rhos = st.floats(1e-8, 1e4)
deltas = st.floats(1e-250, 0.999)
epsilons = st.floats(1e-3, 1e4)


def close(a, b, rel=1e-10):
    return a == pytest.approx(b, rel=rel, abs=0)


def printed(a, rho, epsilon):
    """The conversion's δ at α = 1 + a, as Canonne, Kamath and Steinke print it; in logarithms."""
    alpha = 1 + a
    return a * (alpha * rho - epsilon) - math.log(a) + alpha * (math.log(a) - math.log1p(a))


def minimised(rho, epsilon):
    """Least printed δ: a fine grid in log a, then golden section around its best point."""
    grid = np.linspace(-3 * rho - 25, 25, 4001)
    at = np.array([printed(math.exp(u), rho, epsilon) for u in grid])
    if at.min() > -1e-13:
        return 1.0  # flat: nothing to refine
    k = np.clip(np.argmin(at), 1, len(grid) - 2)
    found = optimize.minimize_scalar(
        lambda u: printed(math.exp(u), rho, epsilon),
        method="golden",
        bracket=(grid[k - 1], grid[k], grid[k + 1]),
        tol=1e-12,
    )
    return math.exp(found.fun)


def test_zcdp_of_the_discrete_gaussian_and_back():
    assert accounting.gaussian_rho(1, 4) == 1 / 8 and accounting.gaussian_rho(12, 12) == 0.5
    sensitivity, rho = np.array([[1.0], [12.0]]), np.array([0.1, 2.0, 30.0])
    variance = accounting.calibrated_variance(sensitivity, rho)
    assert variance.shape == (2, 3) and close(
        accounting.gaussian_rho(sensitivity, variance), np.tile(rho, (2, 1))
    )


@given(epsilons, deltas)
def test_bun_steinke_and_its_inverse(epsilon, delta):
    rho, log = accounting.bun_steinke_rho(epsilon, delta), math.log(1 / delta)
    assert close(accounting.bun_steinke_epsilon(rho, delta), epsilon, 1e-12)
    assert math.sqrt(rho) == pytest.approx(math.sqrt(log + epsilon) - math.sqrt(log), rel=1e-6)


def test_the_papers_shortcut_spends_more_than_it_says():
    """ε = 5 at δ = 1e-4 is 5.68 by the conversion that the paper names, and its slip is ρ itself.

    The tighter conversion makes up for the slip up to about ε = 5, not at 7.5.
    """
    rho = accounting.paper_rho(5, 1e-4)
    assert accounting.bun_steinke_epsilon(rho, 1e-4) == pytest.approx(5.68, abs=0.005)
    assert math.sqrt(2 * rho) == pytest.approx(5 / math.sqrt(2 * math.log(1e4)))  # its code's 1/σ
    for epsilon in EPSILON:
        for delta in DELTA:
            rho = accounting.paper_rho(epsilon, delta)
            assert close(accounting.bun_steinke_epsilon(rho, delta), epsilon + rho)
            assert rho > accounting.bun_steinke_rho(epsilon, delta)
    assert accounting.zcdp_epsilon(accounting.paper_rho(5, 1e-4), 1e-4) == pytest.approx(
        5.00098, abs=1e-5
    )
    assert accounting.zcdp_epsilon(accounting.paper_rho(7.5, 1e-4), 1e-4) == pytest.approx(
        8.163, abs=1e-3
    )


@pytest.mark.parametrize("rho", RHO)
@pytest.mark.parametrize("epsilon", EPSILON)
def test_the_tight_conversion_is_the_least_of_the_printed_formula(rho, epsilon):
    delta, least = accounting.zcdp_delta(rho, epsilon), minimised(rho, epsilon)
    if least < 1e-290:
        assert delta < 1e-280
        return
    assert close(delta, least)
    assert not close(2 * delta, least) and not close(delta * (1 + 1e-8), least)  # controls
    if 1e-280 < delta < 0.99:
        assert close(accounting.zcdp_epsilon(rho, delta), epsilon)
        assert close(accounting.zcdp_rho(epsilon, delta), rho)


def test_a_coarse_grid_of_orders_is_not_the_infimum():
    """A negative control: whole α only, as accountants of machine learning take them."""
    for rho, epsilon in [(0.05, 0.3), (0.5, 5.0), (3.0, 5.0)]:
        coarse = min(printed(alpha - 1, rho, epsilon) for alpha in range(2, 65))
        assert math.exp(coarse) > accounting.zcdp_delta(rho, epsilon) * 1.0001


@settings(deadline=None)
@given(rhos, deltas)
def test_conversions_are_inverse_and_ordered(rho, delta):
    epsilon = accounting.zcdp_epsilon(rho, delta)
    assert 0 <= epsilon <= accounting.bun_steinke_epsilon(rho, delta)
    if epsilon > 1e-6:
        assert close(accounting.zcdp_rho(epsilon, delta), rho)
        assert math.log(accounting.zcdp_delta(rho, epsilon)) == pytest.approx(
            math.log(delta), rel=1e-9, abs=1e-9
        )
    else:
        assert accounting.zcdp_rho(2e-6, delta) >= rho * (1 - 1e-10)


@settings(deadline=None)
@given(epsilons, deltas)
def test_the_tight_conversion_allows_more(epsilon, delta):
    assert accounting.zcdp_rho(epsilon, delta) >= accounting.bun_steinke_rho(epsilon, delta) * (
        1 - 1e-12
    )


@settings(deadline=None)
@given(rhos, epsilons, st.floats(1.01, 100))
def test_more_spent_is_more_lost(rho, epsilon, factor):
    assert accounting.zcdp_delta(rho * factor, epsilon) >= accounting.zcdp_delta(rho, epsilon)
    assert accounting.zcdp_delta(rho, epsilon * factor) <= accounting.zcdp_delta(rho, epsilon)


def test_everything_broadcasts():
    rho, delta = np.array(RHO)[:, None], np.array(DELTA)
    for convert in (
        accounting.zcdp_epsilon,
        accounting.bun_steinke_epsilon,
        accounting.zcdp_rho,
        accounting.bun_steinke_rho,
        accounting.paper_rho,
    ):
        table = convert(rho, delta)
        assert table.shape == (6, 4) and table[2, 1] == convert(RHO[2], DELTA[1])
    table = accounting.zcdp_delta(rho, np.array(EPSILON))
    assert table.shape == (6, 5) and table[2, 3] == accounting.zcdp_delta(RHO[2], EPSILON[3])
    local = accounting.shuffled_local_epsilon(
        np.array(EPSILON)[:, None], np.array([100, 500, 2000]), 1e-4
    )
    assert (
        local.shape == (5, 3) and np.isnan(local[:, 0]).all() and not np.isnan(local[:, 1:]).any()
    )
    assert local[2, 1] == accounting.shuffled_local_epsilon(EPSILON[2], 500, 1e-4)


def test_pure_budgets():
    """ρ = ε²/2 covers the worst pure mechanism, randomized response, at every α, and ρ = ε²/4 does not."""
    for epsilon in EPSILON[:4]:
        p = 1 / (1 + math.exp(-epsilon))
        spent = max(
            math.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1) / a
            for a in (1.0001, 1.5, 2, 4, 16)
        )
        assert spent <= accounting.pure_rho(epsilon) == epsilon**2 / 2
    assert math.tanh(0.05) * 0.1 > 0.1**2 / 4 * 1.9  # D_1 of it at ε = 0.1, nearly ε²/2
    assert accounting.composed_epsilon(0.25, 4) == 1 and accounting.composed_epsilon(
        [0.1, 1], 3
    ).tolist() == [pytest.approx(0.3), 3]


def masses(variance, reach):
    weight = [math.exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)]
    return np.array(weight) / math.fsum(weight)


@pytest.mark.parametrize("variance", [0.05, 0.4, 1.0, 2.5, 90.0])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_exact_delta_of_one_count(variance, epsilon):
    p = masses(variance, 400)
    first, second = np.append(p, 0), np.append(0, p)  # laws of Z and Z + 1 on −400 … 401
    exact = accounting.discrete_gaussian_delta(epsilon, variance)
    for one, other in ((first, second), (second, first)):
        terms = one - math.exp(epsilon) * other
        assert exact == pytest.approx(math.fsum(terms[terms > 0]), rel=1e-9, abs=1e-15)
    rho = accounting.gaussian_rho(1, variance)
    claimed = accounting.zcdp_delta(rho, epsilon)
    assert exact <= claimed
    if 1e-8 < exact and variance >= 1:
        assert exact > claimed / 30  # not vacuous
        assert exact > accounting.zcdp_delta(
            rho / 2.5, epsilon
        )  # control: a budget that is too small is found out


def clones(epsilon, local, n):
    """δ(ε) of the pair that dominates n shuffled ε0-local reports (Feldman, McMillan and Talwar, Theorem 3.2).

    C ~ Bin(n−1, e^−ε0), A ~ Bin(C, ½): (A + Δ, C − A + 1 − Δ), Δ ~ Bernoulli(e^ε0/(e^ε0+1)) or the opposite.
    """
    keep, delta = 1 / (1 + math.exp(-local)), 0.0
    for c, weight in enumerate(stats.binom.pmf(np.arange(n), n - 1, math.exp(-local))):
        a = stats.binom.pmf(np.arange(-1, c + 2), c, 0.5)
        p = keep * a[:-1] + (1 - keep) * a[1:]
        q = (1 - keep) * a[:-1] + keep * a[1:]
        delta += weight * np.maximum(p - math.exp(epsilon) * q, 0).sum()
    return delta


@pytest.mark.parametrize("n, delta", [(200, 1e-4), (1000, 1e-4), (400, 1e-3)])
def test_the_theorem_on_shuffling_holds_for_the_dominating_pair(n, delta):
    limit = accounting.shuffling_limit(n, delta)
    assert limit == pytest.approx(math.log(n / (16 * math.log(2 / delta))))
    for share in (0.2, 0.7, 1.0):
        local = limit * share
        epsilon = accounting.shuffled_epsilon(local, n, delta)
        lam = math.exp(local)
        assert epsilon == pytest.approx(
            math.log(
                1
                + (lam - 1)
                / (lam + 1)
                * (8 * math.sqrt(lam * math.log(4 / delta)) / math.sqrt(n) + 8 * lam / n)
            )
        )
        assert clones(epsilon, local, n) <= delta
        assert (
            clones(accounting.shuffled_epsilon(local, 10**4 * n, delta), local, n) > delta
        )  # control: too strong


def test_shuffled_randomized_response_enumerated():
    """n − 1 persons answer 0, one answers 0 or 1: the sum is all there is to see."""
    n, delta = 1000, 1e-4
    for local in (0.3, 1.0, 1.8):
        flip, k = 1 / (1 + math.exp(local)), np.arange(n + 1)
        rest = stats.binom.pmf(np.arange(-1, n + 1), n - 1, flip)  # one more place on the left
        zero = (1 - flip) * rest[1:] + flip * rest[:-1]
        one = flip * rest[1:] + (1 - flip) * rest[:-1]
        assert zero.sum() == pytest.approx(1) and len(zero) == len(k)
        bound = math.exp(accounting.shuffled_epsilon(local, n, delta))
        assert (
            max(np.maximum(zero - bound * one, 0).sum(), np.maximum(one - bound * zero, 0).sum())
            <= delta
        )
        assert np.maximum(one - zero, 0).sum() > delta


@given(st.floats(0.001, 20), st.integers(2, 10**6), st.floats(1e-10, 0.5))
@settings(deadline=None)
def test_local_budgets(epsilon, n, delta):
    local = accounting.shuffled_local_epsilon(epsilon, n, delta)
    limit = accounting.shuffling_limit(n, delta)
    budget, reason = accounting.local_budget(epsilon, n, delta)
    assert budget >= epsilon and (reason is None) == (budget > epsilon)
    if limit <= 0:
        assert np.isnan(local) and "does not apply" in reason
        assert np.isnan(accounting.shuffled_epsilon(1e-3, n, delta))
    else:
        assert 0 < local <= limit
        assert accounting.shuffled_epsilon(local, n, delta) <= epsilon * (1 + 1e-10)
        assert local == limit or close(accounting.shuffled_epsilon(local, n, delta), epsilon)
        assert reason is not None or budget == local
        assert np.isnan(accounting.shuffled_epsilon(limit * 1.001, n, delta))


def test_reasons_can_be_read():
    assert accounting.local_budget(1, 1000, 1e-4) == (pytest.approx(1.84225, abs=1e-4), None)
    for epsilon, n, words in [
        (1, 100, "does not apply at n=100, delta=0.0001: it needs at least 159 persons"),
        (7.5, 2000, "covers local budgets only up to 2.535"),
        (0.01, 165, "smaller local budget"),
    ]:
        budget, reason = accounting.local_budget(epsilon, n, 1e-4)
        assert (
            budget == epsilon and words in reason and "the local budget is epsilon itself" in reason
        )
    assert accounting.shuffling_limit(158, 1e-4) < 0 < accounting.shuffling_limit(159, 1e-4)


BUDGETS = {
    "epsilon": [
        lambda x: accounting.bun_steinke_rho(x, 0.1),
        lambda x: accounting.zcdp_rho(x, 0.1),
        lambda x: accounting.paper_rho(x, 0.1),
        lambda x: accounting.zcdp_delta(1, x),
        accounting.pure_rho,
        lambda x: accounting.composed_epsilon(x, 2),
        lambda x: accounting.discrete_gaussian_delta(x, 1),
        lambda x: accounting.local_budget(x, 500, 0.1),
    ],
    "rho": [
        lambda x: accounting.bun_steinke_epsilon(x, 0.1),
        lambda x: accounting.zcdp_epsilon(x, 0.1),
        lambda x: accounting.zcdp_delta(x, 1),
        lambda x: accounting.calibrated_variance(1, x),
    ],
    "variance": [
        lambda x: accounting.gaussian_rho(1, x),
        lambda x: accounting.discrete_gaussian_delta(1, x),
    ],
    "squared_sensitivity": [
        lambda x: accounting.gaussian_rho(x, 1),
        lambda x: accounting.calibrated_variance(x, 1),
    ],
    "local_epsilon": [lambda x: accounting.shuffled_epsilon(x, 500, 0.1)],
    "n": [
        lambda x: accounting.shuffling_limit(x, 0.1),
        lambda x: accounting.shuffled_local_epsilon(1, x, 0.1),
    ],
}


@pytest.mark.parametrize("key", BUDGETS)
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_budgets_are_positive_and_finite(key, value):
    for function in BUDGETS[key]:
        with pytest.raises(InvalidInput, match=f"^{key}="):
            function(value)
    with pytest.raises(InvalidInput, match="^rho=0"):
        accounting.zcdp_epsilon([1.0, 0.0], 0.1)


@pytest.mark.parametrize("delta", [0, 1, -1e-4, 1.5, math.nan])
def test_delta_lies_inside_its_range(delta):
    for function in (
        accounting.bun_steinke_epsilon,
        accounting.bun_steinke_rho,
        accounting.zcdp_epsilon,
        accounting.zcdp_rho,
        accounting.paper_rho,
        accounting.shuffling_limit,
    ):
        with pytest.raises(InvalidInput, match="^delta="):
            function(1.0, delta)
    for function in (
        accounting.shuffled_epsilon,
        accounting.shuffled_local_epsilon,
        accounting.local_budget,
    ):
        with pytest.raises(InvalidInput, match="^delta="):
            function(1.0, 500, delta)
