"""Claims of Xu, Sun and Cheng on ideal data, wrong twins, too little data and real simulations."""

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import xarray as xr
from scipy import optimize, stats
from scipy.special import expit

from pipeline.claims.claim import CONTRADICTED, INCONCLUSIVE, SUPPORTED, judge
from pipeline.claims.evidence import LEAST
from pipeline.claims.xu import CLAIMS
from pipeline.grid import Grid
from pipeline.study import Study
from pipeline.theory import btl

NAMES = [claim.id for claim in CLAIMS]
REPLICATIONS = 2 * LEAST
X = [1, 2, 4, 5.6, 8, 11, 16, 32, 64]


def sealed(axes, derived, seed=0, noise=0.05, reps=REPLICATIONS, **means):
    """Dataset with these means over the axes and independent relative noise in every replication."""
    rng = np.random.default_rng(seed)
    coordinates = xr.Dataset(coords=axes)
    template = xr.DataArray(np.ones([len(v) for v in axes.values()]), dims=list(axes), coords=axes)
    data = {}
    for name, mean in means.items():
        mean = (template * mean(coordinates)).transpose(*axes)
        size = (*mean.shape, reps)
        values = mean.values[..., None] * (1 + noise * rng.standard_normal(size))
        data[name] = ((*axes, "replication"), values)
    data["status"] = ((*axes, "replication"), np.ones((*template.shape, reps), "int8"))
    return xr.Dataset(data, axes | {name: make(coordinates) for name, make in derived.items()})


def over(function, array):
    return xr.apply_ufunc(function, array)


@cache
def ideal(experiment, seed=0, reps=REPLICATIONS):
    """Data on which the theorems hold to the letter."""
    if experiment == "xu/lemmas":
        axes = dict(m=[2, 10, 30], L=[50, 400], epsilon=[0.1, 0.5, 1.0, 3.0])
        found = sealed(
            axes, {}, seed, reps=reps, lean_true=lambda c: xr.DataArray(0.2),
            lean_true_squared=lambda c: xr.DataArray(0.05), estimate_sum=lambda c: xr.DataArray(1e-14),
        )
        t = over(btl.attenuation, found["epsilon"])
        noise = xr.DataArray(np.random.default_rng(seed + 1).standard_normal((3, *found["lean_true"].shape)),
                             dims=("k", *found["lean_true"].dims))
        found["lean_released"] = t * (found["lean_true"] + 0.01 * noise[0])
        found["lean_debiased"] = found["lean_released"] / t
        variance = 0.25 / t**2 - found["lean_true_squared"]
        found["error_debiased_squared"] = variance * (1 + 0.02 * noise[1])
        return found
    if experiment == "xu/scenario_2":
        axes = dict(m=[10, 20], L=[100, 200, 400, 800], scheme=["log", "critical", "inverse_log"])

        def epsilon(c):
            return xr.DataArray(
                [[[btl.scheme_budget(s, m, n, 100, 0.5) for s in axes["scheme"]] for n in axes["L"]]
                 for m in axes["m"]], dims=list(axes))

        def error(c):
            return 5 * over(btl.amplification, epsilon(c)) / np.sqrt(c["m"] * c["L"])

        return sealed(axes, {"epsilon": epsilon}, seed, reps=reps, error_l2=error, error_inf=error)
    axes = dict(m=[10, 20, 40], L=[100, 200, 400, 800, 1600], x=X, estimator=["debiased", "plug_in"])

    def epsilon(c):
        return c["x"] / np.sqrt(c["m"] * c["L"])

    def size(c):
        return c["m"] * c["L"] / over(btl.amplification, epsilon(c)) ** 2

    def error(c):
        return 1.1 / np.sqrt(1 + xr.where(c["estimator"] == "debiased", size(c) / 10, size(c) / 1e5))

    def consistent(c):
        return error(c).sel(estimator="debiased", drop=True)

    return sealed(
        axes, {"epsilon": epsilon}, seed, reps=reps,
        error_l2=error, error_inf=lambda c: error(c) * c["m"] ** 0.1,
        minimax_bound=lambda c: 1 / np.sqrt(30 * size(c)), sandwich_risk=lambda c: consistent(c) ** 2,
        cramer_rao_risk=lambda c: consistent(c) ** 2 / 1.15,
    )


def by_name(name):
    return next(claim for claim in CLAIMS if claim.id == name)


def test_claims_are_complete():
    assert len(set(NAMES)) == len(NAMES)
    for claim in CLAIMS:
        texts = [getattr(claim, f) for f in claim.__dataclass_fields__ if f not in ("check", "twin_data")]
        assert all(isinstance(text, str) and text.strip() for text in texts), claim.id
        assert claim.experiment in ("xu/lemmas", "xu/scenario_2", "xu/phase_transition")
    for row in ("log", "critical", "inverse_log"):
        assert {f"xu.table_1.{row}.l2", f"xu.table_1.{row}.inf"} <= set(NAMES)


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_ideal_data_support_and_the_twin_is_contradicted(claim):
    verdict = judge(claim, ideal(claim.experiment))
    print(verdict.check.text, "| twin:", verdict.twin.text)
    assert verdict.check.verdict == SUPPORTED, verdict.check.text
    assert verdict.twin.verdict == CONTRADICTED, verdict.twin.text
    assert verdict.check.estimate.low <= verdict.check.estimate.value <= verdict.check.estimate.high


@pytest.mark.parametrize("norm", ["l2", "inf"])
def test_plug_in_is_judged_at_one_number_of_items(norm):
    whole = ideal("xu/phase_transition")
    one = whole.isel(m=[0]).assign_coords(epsilon=whole["epsilon"].isel(m=0, drop=True))  # as a sealed study has it
    verdict = judge(by_name(f"xu.plug_in.{norm}"), one)
    assert (verdict.check.verdict, verdict.twin.verdict) == (SUPPORTED, CONTRADICTED)
    assert abs(verdict.check.estimate.value) < 0.02


def test_plug_in_needs_one_budget_at_two_numbers_of_users():
    apart = ideal("xu/phase_transition").sel(x=[1, 5.6, 11, 32]).isel(L=[0, 1, 3]).sel(L=[100, 200, 800])
    apart = apart.assign_coords(epsilon=apart["epsilon"] * (1 + apart["L"] / 1e5))
    verdict = judge(by_name("xu.plug_in.l2"), apart)
    assert verdict.check.verdict == INCONCLUSIVE, verdict.check.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
@pytest.mark.parametrize("cut", ["2 replications", "4 replications", "one cell", "one failure", "no metric"])
def test_too_little_data_are_inconclusive(claim, cut):
    results = ideal(claim.experiment)
    if "replications" in cut:
        results = results.isel(replication=slice(int(cut[0])))
    elif cut == "one cell":
        axes = set(results.dims) - {"estimator", "scheme", "replication"}
        results = results.isel({axis: [-1] for axis in axes})
    elif cut == "one failure":
        status = results["status"].copy()
        status[..., 7] = 3
        results = results.assign(status=status)
    else:
        results = results[["status"]]
    verdict = judge(claim, results)
    assert (verdict.check.verdict, verdict.twin.verdict) == (INCONCLUSIVE, INCONCLUSIVE)
    assert verdict.check.text


@pytest.mark.parametrize("change, verdict", [(1.0, SUPPORTED), (1.003, CONTRADICTED), (1.05, CONTRADICTED)])
def test_an_exact_law_is_tested_as_exact(change, verdict):
    results = ideal("xu/lemmas")
    noise = 1e-3 * np.random.default_rng(5).standard_normal(results["lean_true"].shape)
    released = results["lean_true"] * (change + noise) * over(btl.attenuation, results["epsilon"])
    assert judge(by_name("xu.lemma_1"), results.assign(lean_released=released)).check.verdict == verdict


def test_a_noisy_law_is_not_support():
    results = ideal("xu/lemmas")
    noise = 1 + 2 * np.random.default_rng(6).standard_normal(results["lean_true"].shape)
    released = results["lean_true"] * noise * over(btl.attenuation, results["epsilon"])
    assert judge(by_name("xu.lemma_1"), results.assign(lean_released=released)).check.verdict == INCONCLUSIVE


def test_a_true_law_is_seldom_contradicted():
    claim, n = by_name("xu.lemma_2.variance"), 80
    wrong = 0
    for seed in range(n):
        results = ideal.__wrapped__("xu/lemmas", 10 + seed, LEAST)
        wrong += claim.check(results).verdict == CONTRADICTED
    bound = stats.binom.isf(1e-6, n, 0.01)
    print(f"contradicted truths: n={n} statistic={wrong} bound={bound:g} alpha=1e-06")
    assert wrong <= bound


def test_one_sum_that_is_not_zero_contradicts_lemma_3():
    results = ideal("xu/lemmas").copy(deep=True)
    results["estimate_sum"][1, 1, 2, 3] = 1e-6
    check = judge(by_name("xu.lemma_3"), results).check
    assert check.verdict == CONTRADICTED
    assert check.estimate.value == 1 / results["status"].size and check.estimate.covers(check.estimate.value)
    assert check.estimate.low > 0 and check.estimate.high < 0.01


def test_failures_matter_only_in_the_cells_of_a_claim():
    results = ideal("xu/phase_transition").copy(deep=True)
    results["status"][0, 0, 0, 0, 3] = 3  # x = 1, debiased
    assert judge(by_name("xu.sharp.sandwich"), results).check.verdict == SUPPORTED
    assert judge(by_name("xu.plug_in.l2"), results).check.verdict == SUPPORTED
    assert judge(by_name("xu.corollary_2.l2"), results).check.verdict == INCONCLUSIVE


@pytest.mark.parametrize("name", ["xu.threshold.l2", "xu.threshold.inf"])
def test_a_threshold_outside_the_grid_is_inconclusive(name):
    results = ideal("xu/phase_transition").sel(x=[1, 2, 4])
    verdict = judge(by_name(name), results)
    assert verdict.check.verdict == INCONCLUSIVE and "outside the grid" in verdict.check.text


def test_one_cell_below_the_minimax_bound_is_enough():
    results = ideal("xu/phase_transition").copy(deep=True)
    results["error_l2"][1, 2, 3, 0] /= 20
    verdict = judge(by_name("xu.theorem_3.lower"), results)
    assert verdict.check.verdict == CONTRADICTED and "m=20, L=400, x=5.6" in verdict.check.text


def test_a_further_axis_is_inconclusive():
    results = ideal("xu/scenario_2")
    results = xr.concat([results, results], dim="spread").assign_coords(spread=[1, 2])
    verdict = judge(by_name("xu.table_1.log.l2"), results)
    assert verdict.check.verdict == INCONCLUSIVE and "spread" in verdict.check.text


def simulated(name, grid, derive, metrics, **parameters):
    """Real data, sealed in memory."""
    parameters = {"model": "btl", "mechanism": "randomized_response", **parameters}
    study = Study(name, 20240120, 400, 400, Grid.of(grid), parameters, metrics, derive)
    units = [study.simulate(labels, 0) for labels in study.grid]
    shape = [len(levels) for levels in grid.values()]
    data = {n: ((*grid, "replication"), np.reshape([u[n] for u in units], (*shape, -1))) for n in units[0]}
    derived = {n: (tuple(grid), np.reshape([study.derived(labels)[n] for labels in study.grid], shape))
               for n in derive}
    return xr.Dataset(data, dict(grid) | derived)


@cache
def real(experiment):
    if experiment == "xu/lemmas":
        return simulated(experiment, dict(m=[2, 20], L=[50, 400], epsilon=[0.1, 1.0, 3.0]), {}, (
            "lean_true", "lean_true_squared", "lean_released", "lean_debiased", "error_debiased_squared",
            "estimate_sum"), estimator="debiased")
    if experiment == "xu/scenario_2":
        return simulated(
            experiment, dict(m=[10, 20], L=[100, 400, 1600], scheme=["log", "critical", "inverse_log"]),
            {"epsilon": "scheme_budget"}, ("error_l2", "error_inf"), estimator="debiased", draw="marginal",
            reference_L=100, reference_epsilon=1.0)
    return simulated(
        experiment,
        dict(m=[10, 20], L=[100, 400, 1600], x=[float(x) for x in X], estimator=["debiased", "plug_in"]),
        {"epsilon": "budget_from_x"},
        ("error_l2", "error_inf", "minimax_bound", "sandwich_risk", "cramer_rao_risk"), draw="marginal")


@cache
def judged(name):
    claim = by_name(name)
    return judge(claim, real(claim.experiment))


@pytest.mark.parametrize("name", NAMES)
def test_real_simulations_never_decide_against_the_paper(name):
    verdict = judged(name)
    print(verdict.check.text, "| twin:", verdict.twin.text)
    assert verdict.check.estimate is not None, verdict.check.text
    assert verdict.check.verdict in (SUPPORTED, INCONCLUSIVE), verdict.check.text
    assert verdict.twin.verdict in (CONTRADICTED, INCONCLUSIVE), verdict.twin.text


def test_a_small_simulation_decides_much():
    supported = [name for name in NAMES if judged(name).check.verdict == SUPPORTED]
    contradicted = [name for name in NAMES if judged(name).twin.verdict == CONTRADICTED]
    print(f"of {len(NAMES)}: {len(supported)} supported, {len(contradicted)} twins contradicted")
    assert len(supported) >= len(NAMES) // 2 and len(contradicted) >= len(NAMES) * 3 // 4


@pytest.mark.parametrize("ridge, zero", [(0.05, True), (0.0, False)])
def test_lemma_3_for_the_free_minimum(ridge, zero):
    """Minimum of eq. (3) over all of R^m: its sum is zero, but for λ = 0, where it stays what it was."""
    m, rng = 6, np.random.default_rng(3)
    first, second = np.triu_indices(m, 1)
    mean = rng.uniform(0.2, 0.8, first.size)

    def loss(theta):
        gap = theta[first] - theta[second]
        slope = np.zeros(m)
        np.add.at(slope, first, expit(gap) - mean)
        np.add.at(slope, second, mean - expit(gap))
        return np.logaddexp(0, gap).sum() - mean @ gap + ridge * theta @ theta, slope + 2 * ridge * theta

    found = optimize.minimize(loss, np.ones(m), jac=True, options={"gtol": 1e-10}).x
    assert (abs(found.sum()) < 1e-7) == zero


def test_claims_need_neither_dask_nor_zarr():
    code = ("import sys; from pipeline.claims.xu import CLAIMS; "
            "print(sorted({'dask', 'distributed', 'zarr', 'hydra', 'matplotlib'} & set(sys.modules)))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_personal_budgets_are_not_judged_as_common_ones(claim):
    results = ideal(claim.experiment)
    mixed = '{"parameters": {"profile": "0.5:1,0.5:4"}}'
    for changed in (results.assign_attrs(study=mixed), results.assign_coords(profile="0.5:1,0.5:4")):
        verdict = judge(claim, changed)
        assert verdict.check.verdict == verdict.twin.verdict == INCONCLUSIVE
        assert "one budget of all users" in verdict.check.text
    assert judge(claim, results.assign_attrs(study='{"parameters": {"profile": "1:1"}}')).check.verdict == SUPPORTED
