"""The Cramér–Rao bound of the Rasch model: against the joint information inverted, by hand, and in its orders."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from pipeline.problems.response.theory import cramer_rao
from pipeline.problems.response.theory.cramer_rao import cramer_rao_risk, item_information
from tests.helpers.reference.rasch_information import information_sums


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
    assert found == pytest.approx(
        [by_inversion(*row) for row in zip(theta, ability, strict=True)], rel=1e-9
    )
    known = [
        ((m - 1) / m**2 / (expit(a[:, None] - t) * expit(t - a[:, None])).sum(axis=0)).sum()
        for t, a in zip(theta, ability, strict=True)
    ]
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
    assert cramer_rao_risk(theta[:, ::-1] + 3, ability[:, ::-1] + 3) == pytest.approx(
        risk
    )  # names and origin
    assert cramer_rao_risk(theta, np.repeat(ability, 4, axis=1)) == pytest.approx(risk / 4)


@pytest.mark.parametrize("n, r", [(1, 2), (3, 5), (4, 8), (50, 31)])
def test_sums_over_persons_are_those_of_numpy(n, r):
    rng = np.random.default_rng(n)
    points, basis, ability = (
        rng.normal(size=(2, r)),
        rng.normal(size=(2, r + 3, r)) ** 2,
        rng.normal(size=(2, n)),
    )
    odds = np.exp(points)
    own, core = information_sums(odds, odds * basis.sum(axis=1), ability)
    found = cramer_rao._sums(points, basis, ability)
    assert found[0] == pytest.approx(np.matvec(basis, odds * own), rel=1e-12)
    assert found[2] == pytest.approx(core * odds[:, :, None] * odds[:, None], rel=1e-12)


def information_by_definition(theta, ability):
    """Σ_l (diag(v_l) − v_l v_lᵀ/Σ_i v_li), every v_li computed."""
    v = expit(ability[:, :, None] - theta[:, None]) * expit(theta[:, None] - ability[:, :, None])
    own = np.einsum("rni,ij->rij", v, np.eye(theta.shape[1]))
    return own - np.einsum("rni,rnj,rn->rij", v, v, 1 / v.sum(axis=2))


@pytest.mark.parametrize("spread, shift", [(0.01, 0), (2, 0), (2, 6), (3.9, -5), (6, 0)])
def test_many_items_are_interpolated(spread, shift, monkeypatch):
    """From fewer points than items the same as from all; with too few, or items too far apart for it, another."""
    rng = np.random.default_rng(3)
    theta, ability = rng.uniform(-spread, spread, (3, 60)), rng.normal(shift, 1, (3, 40))
    assert all(
        (part.basis.shape[2] < 60) == (spread < 4) for part in cramer_rao._parts(theta, ability)
    )
    expected = information_by_definition(theta, ability)
    found = item_information(theta, ability)
    assert np.abs(found - expected).max() < 1e-13 * expected.max()
    trace = np.trace(np.linalg.pinv(expected, rcond=1e-12, hermitian=True), axis1=1, axis2=2)
    assert cramer_rao_risk(theta, ability) == pytest.approx(trace / 60, rel=1e-12, abs=0)
    monkeypatch.setattr(cramer_rao, "DIGITS", 15.0)
    fewer = np.abs(item_information(theta, ability) - expected).max()
    assert (fewer > 1e-11 * expected.max()) == (1 < spread < 4)


def test_every_replication_by_itself():
    """The same bytes, however wide the difficulties of others are."""
    rng = np.random.default_rng(4)
    theta, ability = (
        rng.uniform(-1, 1, (5, 50)) * np.array([[0.1], [1], [2], [5], [0]]),
        rng.normal(size=(5, 30)),
    )
    whole = cramer_rao_risk(theta, ability)
    assert all(
        cramer_rao_risk(theta[k : k + 1], ability[k : k + 1])[0] == whole[k] for k in range(5)
    )
    assert whole == pytest.approx(
        [by_inversion(*row) for row in zip(theta, ability, strict=True)], rel=1e-9
    )


def test_logits_without_bounds():
    ability = np.array([[0.0, 1.0, np.inf]])
    assert np.isnan(cramer_rao_risk(np.array([[0.5, -0.5]]), ability)).all()
    assert np.isnan(cramer_rao_risk(np.array([[np.nan, 0.0]]), ability[:, :2])).all()
