"""Privacy accounts against dp-accounting: conversions of zCDP, one noisy count, and the whole release composed."""

import math

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_discrete_gaussian_mechanism
from dp_accounting.rdp.rdp_privacy_accountant import compute_delta, compute_epsilon

from pipeline.privacy import accounting
from pipeline.problems.response.theory import sensitivity as rasch_privacy

# Its bound is the least over orders that it is given: these are dense enough for relative errors of 1e-6.
ORDERS = 1 + np.geomspace(0.011, 1e5, 60_000)
COARSE = [2.0, 4.0, 8.0, 16.0]


@pytest.mark.parametrize("rho", [0.001, 0.05, 0.5, 4.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-4, 1e-2])
def test_epsilon_of_zcdp(rho, delta):
    ours = accounting.zcdp_epsilon(rho, delta)
    theirs, _ = compute_epsilon(ORDERS, rho * ORDERS, delta)
    assert theirs == pytest.approx(ours, rel=1e-6) and theirs >= ours * (1 - 1e-12)
    coarse, _ = compute_epsilon(COARSE, rho * np.array(COARSE), delta)
    twice, _ = compute_epsilon(ORDERS, rho * ORDERS, 2 * delta)
    assert coarse > ours * (1 + 1e-5) and twice < ours * (
        1 - 1e-3
    )  # controls: few orders, twice the δ


@pytest.mark.parametrize(
    "rho, epsilon", [(0.001, 0.1), (0.05, 1.0), (0.5, 5.0), (0.68, 5.0), (4.0, 12.0)]
)
def test_delta_of_zcdp(rho, epsilon):
    ours = accounting.zcdp_delta(rho, epsilon)
    theirs, _ = compute_delta(ORDERS, rho * ORDERS, epsilon)
    assert theirs == pytest.approx(ours, rel=1e-6) and theirs >= ours * (1 - 1e-12)
    assert accounting.zcdp_rho(epsilon, theirs) == pytest.approx(rho, rel=1e-6)


@pytest.mark.parametrize("variance", [1.0, 4.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.5])
def test_exact_delta_of_one_count(variance, epsilon):
    loss = from_discrete_gaussian_mechanism(math.sqrt(variance), value_discretization_interval=1e-5)
    theirs = loss.get_delta_for_epsilon(epsilon)
    ours = accounting.discrete_gaussian_delta(epsilon, variance)
    assert ours == pytest.approx(
        theirs, rel=1e-3, abs=1e-12
    )  # theirs rounds losses up, and truncates at 1e-15
    control = accounting.discrete_gaussian_delta(epsilon, variance * 1.02)
    assert control != pytest.approx(theirs, rel=1e-3, abs=1e-12) or theirs < 1e-12


@pytest.mark.parametrize("neighbours", rasch_privacy.ROWS)
@pytest.mark.parametrize("m, star", [(5, 0.5), (5, 1.1), (10, 1.0)])
def test_the_whole_release_composed_numerically(m, star, neighbours):
    """Worst neighbours shift k = squared sensitivity entries by 1: exact (ε, δ) of k counts, composed by FFT.

    The account never claims less than that, at the tight calibration it is not wasteful, and the printed variance of
    Lemma 4.1 breaks what it claims.
    """
    rho, delta, k = star**2 / 2, 1e-4, rasch_privacy.squared_sensitivity(m, neighbours)

    def exact(variance):
        loss = from_discrete_gaussian_mechanism(
            math.sqrt(variance), value_discretization_interval=1e-3
        )
        return loss.self_compose(k).get_epsilon_for_delta(delta)

    claimed = accounting.zcdp_epsilon(rho, delta)
    tight = exact(rasch_privacy.noise_variance(rho, "tight", m, neighbours))
    paper = exact(rasch_privacy.noise_variance(rho, "paper", m, neighbours))
    print(
        f"m={m} star={star} {neighbours}: claimed {claimed:.4f}, tight {tight:.4f}, paper {paper:.4f}"
    )
    assert paper < tight <= claimed < 1.2 * tight
    if neighbours == "replace_one":
        assert exact(rasch_privacy.printed_variance(star, m)) > accounting.bun_steinke_epsilon(
            rho, delta
        )  # control
