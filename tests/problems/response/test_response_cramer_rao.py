"""The Cramér–Rao bound of the Rasch model: against the joint information inverted, by hand, and in its orders."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from pipeline.problems.response.theory.cramer_rao import cramer_rao_risk, item_information


def by_inversion(theta, ability):
    """tr over β of the pseudo-inverse of the whole information of (θ, β), β̂ centred, over m."""
    v = expit(ability[:, None] - theta) * expit(theta - ability[:, None])
    n, m = v.shape
    joint = np.block([[np.diag(v.sum(axis=1)), -v], [-v.T, np.diag(v.sum(axis=0))]])
    centre = np.eye(m) - 1 / m
    return np.trace(centre @ np.linalg.pinv(joint, rcond=1e-12)[n:, n:] @ centre) / m


@pytest.mark.parametrize("n, m", [(1, 2), (5, 3), (40, 7), (3, 30)])
def test_against_the_joint_information(n, m):
    rng = np.random.default_rng(n)
    theta, ability = rng.normal(size=(4, m)), rng.normal(size=(4, n))
    found = cramer_rao_risk(theta, ability)
    assert found == pytest.approx([by_inversion(*row) for row in zip(theta, ability, strict=True)], rel=1e-9)
    known = [((m - 1) / m**2 / (expit(a[:, None] - t) * expit(t - a[:, None])).sum(axis=0)).sum()
             for t, a in zip(theta, ability, strict=True)]
    if n > 1:  # the control: abilities known, which matters but for one person
        assert (found > 1.0001 * np.array(known)).all()


def test_by_hand():
    """All logits 0: v = ¼, I = n/4 (identity − 11ᵀ/m), so the bound is 4 (m − 1)/(n m); p counts responses."""
    theta, ability = np.zeros((1, 5)), np.zeros((1, 8))
    assert cramer_rao_risk(theta, ability)[0] == pytest.approx(4 * 4 / 40)
    assert cramer_rao_risk(theta, ability, 0.5)[0] == pytest.approx(8 * 4 / 40)
    assert np.isnan(cramer_rao_risk(theta, np.empty((1, 0)))[0])  # recorded responses


@settings(deadline=None)
@given(st.integers(2, 8), st.integers(1, 20), st.integers(0, 1000))
def test_invariants(m, n, seed):
    rng = np.random.default_rng(seed)
    theta, ability = rng.normal(size=(2, m)), rng.normal(size=(2, n))
    information, risk = item_information(theta, ability), cramer_rao_risk(theta, ability)
    assert np.abs(information.sum(axis=2)).max() < 1e-12 * n
    assert cramer_rao_risk(theta[:, ::-1] + 3, ability[:, ::-1] + 3) == pytest.approx(risk)  # names and origin
    assert cramer_rao_risk(theta, np.repeat(ability, 4, axis=1)) == pytest.approx(risk / 4)


def test_slices_of_persons_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    theta, ability = rng.normal(size=(2, 6)), rng.normal(size=(2, 50))
    whole = cramer_rao_risk(theta, ability)
    monkeypatch.setattr("pipeline.problems.response.theory.cramer_rao.SLICE_CELLS", 42)
    assert cramer_rao_risk(theta, ability) == pytest.approx(whole, rel=1e-12)
