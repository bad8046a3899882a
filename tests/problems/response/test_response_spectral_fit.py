"""The fit that is the truth of recorded responses, against the estimator, the linear system and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.problems.response.estimators.spectral import Spectral
from pipeline.problems.response.releases import Differences
from pipeline.problems.response.theory.spectral_fit import spectral_fit


def solved(counts, pairs):
    """log π of max(Y, 1) + 1 from π (D − R) = 0 and Σπ = 1, one chain at a time."""
    found = []
    for k, one in enumerate(counts):
        m = len(one)
        rates = [
            [
                (max(one[i][j], 1) + 1) * (i != j and (pairs is None or pairs[k][i][j] > 0))
                for j in range(m)
            ]
            for i in range(m)
        ]
        system = np.array(
            [[rates[i][j] if i != j else -sum(rates[i]) for i in range(m)] for j in range(m)], float
        )
        system[0] = 1
        beta = np.log(np.linalg.solve(system, np.eye(m)[0]))
        found.append(beta - beta.mean())
    return np.array(found)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.floats(0, 0.7), st.integers(0, 2**32))
def test_it_is_the_law_of_the_chain(m, absent, seed):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.choice([0.5, 50], (4, m, m)))
    pairs = np.triu(rng.random((4, m, m)) > absent, 1)
    pairs[:, np.arange(m - 1), np.arange(1, m)] = True
    pairs = 7 * (pairs | pairs.swapaxes(1, 2))
    for graph in (None, pairs):
        found = spectral_fit(counts, graph)
        assert (
            np.abs(found - solved(counts, graph)).max() < 1e-9
            and np.abs(found.sum(axis=1)).max() < 1e-9
        )
        edges = None if graph is None else graph > 0
        estimate = Spectral(m=m).fit(Differences(counts, 50, 0.0, edges), None)
        assert estimate.converged.all() and np.abs(found - estimate.theta).max() < 1e-11
        control = (
            Spectral(m=m, pseudo_count=1.1).fit(Differences(counts, 50, 0.0, edges), None).theta
        )
        assert np.abs(found).max() < 0.1 or np.abs(found - control).max() > 1e-6


def test_two_items_by_hand():
    assert spectral_fit(np.array([[[9, 5], [0, 9]]])) == pytest.approx(np.log([[2 / 6, 6 / 2]]) / 2)


def test_items_far_apart_are_no_obstacle():
    counts = np.triu(np.full((200, 200), 10**6), 1)
    found = spectral_fit(counts[None])
    assert (
        np.abs(found - Spectral(m=200).fit(Differences(counts[None], 9, 0.0), None).theta).max()
        < 1e-9
    )
    assert np.isfinite(found).all() and (np.diff(found) > 0).all() and np.ptp(found) > 15


def test_what_cannot_be_fitted_is_said():
    with pytest.raises(ArithmeticError, match="not connected"):
        spectral_fit(np.ones((1, 4, 4)), np.kron(np.eye(2), np.ones((2, 2)))[None])
