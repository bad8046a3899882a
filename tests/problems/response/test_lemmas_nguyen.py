"""Lemmas of Nguyen and Zhang's supplement that are inequalities of every data set, or of numbers, checked as such."""

import math

import numpy as np
import pytest
from scipy.special import expit

from pipeline.problems.response.model import Rasch
from pipeline.problems.response.theory.noise_risk import expected_counts


def chains(seed, m=6, n=400, p=0.7):
    """Data of one replication: chains M and M* of the counts and of their means given who answered what, π*, B, γ."""
    rng = np.random.default_rng(seed)
    model = Rasch(n=n, m=m, p=p, item_law="uniform", person_law="uniform")
    truth = model.truth(rng, 1, rng)
    data = model.simulate(truth, rng)
    right = expit(truth.ability[0][:, None] - truth.theta[0])
    seen = data.observed[0].astype(float)
    mean = (seen * right).T @ (seen * (1 - right))
    both, d = data.pairs()[0].astype(float), 1.5 * m * n * p**2
    gamma = min(
        expit(a - truth.theta[0].max()) * (1 - expit(a - truth.theta[0].min()))
        for a in truth.ability[0]
    )
    law = np.exp(truth.theta[0]) / np.exp(truth.theta[0]).sum()
    found = [counts * (1 - np.eye(m)) / d for counts in (data.differences()[0].astype(float), mean)]
    return *found, law, both, gamma


def test_the_chain_of_means_is_reversible():
    """Proposition 2.1 of Nguyen and Zhang (2022), on which Lemma 1.3 rests: π*_i M*_ij = π*_j M*_ji."""
    _, mean, law, _, _ = chains(1)
    flow = law[:, None] * mean
    assert flow == pytest.approx(flow.T)
    wrong = law[::-1, None] * mean  # negative control
    off = ~np.eye(6, dtype=bool)
    assert np.abs(wrong[off] / wrong.T[off] - 1).max() > 0.1
    whole = expected_counts(np.zeros((1, 3)), np.zeros((1, 5)))[0]
    assert whole == pytest.approx(whole.T)  # of equal items


@pytest.mark.parametrize("seed", range(5))
def test_lemma_1_3(seed):
    """α: the largest relative deviation of M_ij, so that its event holds with equality. 1 − M_ii stands for 1/I_2."""
    found, mean, law, both, gamma = chains(seed)
    m, off = len(law), ~np.eye(len(law), dtype=bool)
    least = (both[off] / (2 / 3 * 1.5 * 400 * 0.7**2)).min()
    alpha = np.abs(found[off] / mean[off] - 1).max()
    third = (law[:, None] * (found - mean)).sum(axis=0)
    fourth = law * (mean - found).sum(axis=1)
    assert max(np.abs(third / law).max(), np.abs(fourth / law).max()) <= alpha + 1e-12
    assert max(np.abs(third).max(), np.abs(fourth).max()) > alpha * law.max() / 50  # not by far
    leaving = found.sum(axis=1)
    assert least > 0.5 and (leaving >= (1 - alpha) * gamma / 3 * (m - 1) / m).all()


@pytest.mark.parametrize("gap", [0.01, 0.5, 2.0])
@pytest.mark.parametrize("items", [1, 7])
def test_lemmas_2_4_and_2_6(gap, items):
    """Exact divergences of one response to `items` items that are `gap` apart, against e²/(2c*) δ², δ² = items·gap²."""

    def chance(difficulty):
        return math.exp(0.5) / (math.exp(0.5) + math.exp(difficulty))

    p, q = chance(0.0), chance(gap)
    divergence = items * max(
        a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b)) for a, b in ((p, q), (q, p))
    )
    least = min(q, 1 - p)  # c*: of the largest and of the smallest difficulty
    bound = math.e**2 / (2 * least) * items * gap**2
    assert 0 < divergence <= bound and divergence > bound / 400
    assert (math.exp(gap) - 1) / ((math.exp(0.5) + math.exp(gap)) * (math.exp(0.5) + 1)) <= gap / (
        2 * math.e
    )
