"""Claims of Nguyen and Zhang on ideal data, wrong twins, too little data and real simulations."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from ideal_xu import levels, over, real, sealed
from scipy import stats

from pipeline import compose
from pipeline.claims.claim import CONTRADICTED, INCONCLUSIVE, SUPPORTED, judge
from pipeline.claims.nguyen import CLAIMS, DELTA, largest_gaussian
from pipeline.theory.accounting import zcdp_rho

NAMES = [claim.id for claim in CLAIMS]


def entrywise():
    def error(c):
        return 2 / np.sqrt(c["n"] * c["p"]) * c["m"] ** 0

    return sealed(dict(m=[25, 50, 100], n=[500, 1000, 2000], p=[0.5, 1.0]), {}, error_l2=error,
                  error_inf=lambda c: error(c) * over(np.vectorize(largest_gaussian), c["m"]))


def consistency():
    def error(c):
        return 3 / np.sqrt(c["n"]) * c["m"] ** 0 + xr.where(c["estimator"] == "joint_likelihood", 0.5, 0.0)

    return sealed(dict(m=[3, 5], n=[1000, 3000, 10000, 30000], estimator=["spectral", "joint_likelihood"]), {},
                  error_l2=error, error_inf=error)


def top_k():
    axes = dict(m=[10, 20, 40], spacing=[0.05, 0.1], p=[0.5, 1.0], recovery=[0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
    return sealed(axes, {"n": lambda c: c["recovery"] * np.log(c["m"]) / (c["p"] * c["spacing"] ** 2)}, noise=0.02,
                  exact_top_k=lambda c: 1 - np.exp(-c["recovery"] / 2) + 0 * c["m"])


def price():
    axes = dict(m=[10, 20, 40], epsilon_user=[0.25, 0.5, 1.0], private=[0.3, 1.0, 3.0, 10.0],
                mechanism=["discrete_gaussian", "none"])

    def persons(c):
        return c["private"] * (c["m"] / c["epsilon_user"]) ** 2

    def error(c):
        base = 4 / persons(c)
        excess = 2 * c["m"] / (persons(c) * xr.apply_ufunc(zcdp_rho, c["epsilon_user"], DELTA))
        return np.sqrt(base * (1 + xr.where(c["mechanism"] == "none", 0, excess)))

    return sealed(axes, {"n": persons}, noise=0.01, error_l2=error)


def figure_1():
    axes = dict(n=[200, 1000], m=[25, 200], epsilon_user=[0.01, 0.5, 2.5, 7.5],
                mechanism=["discrete_gaussian", "discrete_laplace", "randomized_responses"],
                graph=["dense", "sparse"], calibration=["paper", "tight"], estimator=["spectral", "spectral_debiased"])

    def error(c):
        scale = levels(c, "mechanism", discrete_gaussian=0.5, discrete_laplace=3, randomized_responses=12) * levels(
            c, "calibration", paper=1.5, tight=1) * levels(c, "estimator", spectral=1, spectral_debiased=0.7)
        corner = (c["n"] < 500) & (c["m"] > 100)
        sparse = xr.where(c["epsilon_user"] < 1, 2, xr.where(corner, 0.8, 1.3))
        return xr.where(c["graph"] == "sparse", sparse, 1) / (1 + c["epsilon_user"] / scale)

    return sealed(axes, {}, error_l2=error)


IDEAL = {f"nguyen/{make.__name__}": cache(make) for make in (entrywise, consistency, top_k, price, figure_1)}


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_ideal_data_support_and_the_twin_is_contradicted(claim):
    verdict = judge(claim, IDEAL[claim.experiment]())
    print(verdict.check.text, "| twin:", verdict.twin.text)
    assert verdict.check.verdict == SUPPORTED, verdict.check.text
    assert verdict.twin.verdict == CONTRADICTED, verdict.twin.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
@pytest.mark.parametrize("cut", ["2 replications", "one failure", "no metric"])
def test_too_little_data_are_inconclusive(claim, cut):
    results = IDEAL[claim.experiment]()
    if "replications" in cut:
        results = results.isel(replication=slice(2))
    elif cut == "one failure":
        status = results["status"].copy()
        status[..., 7] = 3
        results = results.assign(status=status)
    else:
        results = results[["status"]]
    verdict = judge(claim, results)
    assert (verdict.check.verdict, verdict.twin.verdict) == (INCONCLUSIVE, INCONCLUSIVE) and verdict.check.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_real_simulations_never_decide_against_the_claims(claim):
    verdict = judge(claim, real(claim.experiment, 100))
    print(verdict.check.text, "| twin:", verdict.twin.text)
    assert verdict.check.estimate is not None, verdict.check.text
    assert verdict.check.verdict in (SUPPORTED, INCONCLUSIVE), verdict.check.text
    assert verdict.twin.verdict in (CONTRADICTED, INCONCLUSIVE), verdict.twin.text


def test_claims_are_complete():
    assert len(set(NAMES)) == len(NAMES)
    suite = {raw["name"] for raw in compose.compose(["suite=nguyen"])}
    assert {claim.experiment for claim in CLAIMS} <= suite
    for claim in CLAIMS:
        texts = [getattr(claim, f) for f in claim.__dataclass_fields__ if f not in ("check", "twin_data")]
        assert all(isinstance(text, str) and text.strip() for text in texts), claim.id


@pytest.mark.parametrize("m", [1, 2, 25, 200])
def test_largest_gaussian(m):
    drawn = np.abs(np.random.default_rng(1).standard_normal((200_000, m))).max(axis=1)
    statistic = abs(drawn.mean() - largest_gaussian(m)) / stats.sem(drawn)
    bound = stats.norm.isf(5e-7)
    print(f"largest of {m}: n=200000 statistic={statistic:.2f} bound={bound:.2f} alpha=1e-06")
    assert statistic < bound
    assert abs(drawn.mean() - largest_gaussian(2 * m)) / stats.sem(drawn) > bound  # the twin
