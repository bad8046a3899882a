"""Claims of Xu, Sun and Cheng on ideal data, negative controls, too little data and real simulations."""

import json
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import xarray as xr
from scipy import optimize, stats
from scipy.special import expit

from pipeline.analysis.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    NOT_TESTED,
    SUPPORTED,
    judge,
)
from pipeline.analysis.selection import LEAST
from pipeline.cli import compose
from pipeline.privacy import randomized_response_laws
from pipeline.problems.common.rating_files import MOVIELENS, SMALL_SHA256
from pipeline.problems.ranking.claims import CLAIMS as ALL_CLAIMS
from pipeline.problems.ranking.claims.excess import ratio_of_means
from tests.helpers.ideal_ranking import ideal, over, real

# Those on a person's budget are in test_ranking_promise_claims.
CLAIMS = [claim for claim in ALL_CLAIMS if claim.id.startswith("xu.")]
NAMES = [claim.id for claim in CLAIMS]
ALONE = {"xu.example_1", "xu.figure_4.almost_zero", "xu.movielens.coins"}  # decided by one cell
FILMS = ("xu.figure_7", "xu.movielens")  # decided on MovieLens only
FALSE = (
    "xu.figure_6.classic.kendall",
    "xu.personal.tails.deep",
)  # statements of the paper that do not hold


def enough_of(claim, seed=0):
    """Ideal data for a claim; quantiles need more replications than means."""
    more = {"xu.theorem_1.tail": dict(reps=4000), "xu.same_ranking": dict(same_ranking=True)}
    return ideal(claim.experiment, seed, **more.get(claim.id, {}))


def supported(claim):
    """The best verdict that a claim can have."""
    return claim.best


def by_name(name):
    return next(claim for claim in CLAIMS if claim.id == name)


def test_claims_are_complete():
    assert len(set(NAMES)) == len(NAMES)
    for claim in CLAIMS:
        texts = (
            claim.statement,
            claim.source,
            claim.why,
            claim.conditions,
            claim.estimand,
            claim.claimed,
            claim.control.description,
        )
        assert all(text.strip() for text in texts), claim.id
        assert claim.experiment in compose.options("experiment")
    for row in ("log", "critical", "inverse_log"):
        assert {f"xu.table_1.{row}.l2", f"xu.table_1.{row}.inf"} <= set(NAMES)
    for start in (
        "lemma_1",
        "lemma_2",
        "lemma_3",
        "lemma_4",
        "example_1",
        *(f"theorem_{i}" for i in range(1, 7)),
        "corollary_1",
        "corollary_2",
        "table_1",
        *(f"figure_{i}" for i in (2, 4, 5, 6, 7)),
    ):
        assert any(name.startswith(f"xu.{start}") for name in NAMES), start
    assert sum("Figure 3" in claim.source for claim in CLAIMS) == 6


def test_the_suite_decides_every_claim():
    suite = {raw["name"] for raw in compose.compose(["suite=xu"])}
    assert (
        {claim.experiment for claim in CLAIMS}
        <= suite
        == {name for name in compose.options("experiment") if name.startswith("xu/")}
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_ideal_data_support_and_the_negative_control_is_rejected(claim):
    judgement = judge(claim, enough_of(claim))
    print(judgement.check.text, "| control:", judgement.control.text)
    assert judgement.check.verdict == supported(claim), judgement.check.text
    assert judgement.control.verdict == CONTRADICTED, judgement.control.text
    assert (
        judgement.check.estimate.low
        <= judgement.check.estimate.value
        <= judgement.check.estimate.high
    )


@pytest.mark.parametrize("norm", ["l2", "inf"])
def test_plug_in_is_judged_at_one_number_of_items(norm):
    whole = ideal("xu/phase_transition")
    one = whole.isel(m=[0]).assign_coords(
        epsilon=whole["epsilon"].isel(m=0, drop=True)
    )  # as a sealed study has it
    judgement = judge(by_name(f"xu.plug_in.{norm}"), one)
    assert (judgement.check.verdict, judgement.control.verdict) == (SUPPORTED, CONTRADICTED)
    assert abs(judgement.check.estimate.value) < 0.02


def test_plug_in_needs_one_budget_at_two_numbers_of_users():
    apart = (
        ideal("xu/phase_transition")
        .sel(x=[1, 5.6, 11, 32])
        .isel(L=[0, 1, 3])
        .sel(L=[100, 200, 800])
    )
    apart = apart.assign_coords(epsilon=apart["epsilon"] * (1 + apart["L"] / 1e5))
    judgement = judge(by_name("xu.plug_in.l2"), apart)
    assert judgement.check.verdict == INCONCLUSIVE, judgement.check.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
@pytest.mark.parametrize(
    "cut", ["2 replications", "4 replications", "one cell", "one failure", "no metric"]
)
def test_too_little_data_decide_nothing(claim, cut):
    results = enough_of(claim)
    if cut == "one cell" and claim.id in ALONE:
        pytest.skip("one cell decides it")
    if "replications" in cut:
        results = results.isel(replication=slice(int(cut[0])))
    elif cut == "one cell":
        axes = set(results.dims) - {
            "estimator",
            "scheme",
            "rule",
            "mechanism",
            "matched",
            "theta",
            "comparisons",
            "replication",
        }
        results = results.isel({axis: [-1] for axis in axes})
    elif cut == "one failure":
        status = results["status"].copy()
        status[..., 7] = 3
        results = results.assign(status=status)
    else:
        results = results[["status"]]
    judgement = judge(claim, results)
    verdicts = (
        (NOT_TESTED,)
        if cut == "no metric"
        else (INCONCLUSIVE, NOT_TESTED)
        if cut == "one cell"
        else (INCONCLUSIVE,)
    )
    assert (
        judgement.check.verdict in verdicts
        and judgement.control.verdict in verdicts
        and judgement.check.text
    )


@pytest.mark.parametrize(
    "change, verdict", [(1.0, SUPPORTED), (1.003, CONTRADICTED), (1.05, CONTRADICTED)]
)
def test_an_exact_law_is_tested_as_exact(change, verdict):
    results = ideal("xu/lemmas")
    noise = 1e-3 * np.random.default_rng(5).standard_normal(results["lean_true"].shape)
    released = (
        results["lean_true"]
        * (change + noise)
        * over(randomized_response_laws.attenuation, results["epsilon"])
    )
    assert (
        judge(by_name("xu.lemma_1"), results.assign(lean_released=released)).check.verdict
        == verdict
    )


def test_a_noisy_law_is_not_support():
    results = ideal("xu/lemmas")
    noise = 1 + 2 * np.random.default_rng(6).standard_normal(results["lean_true"].shape)
    released = (
        results["lean_true"]
        * noise
        * over(randomized_response_laws.attenuation, results["epsilon"])
    )
    assert (
        judge(by_name("xu.lemma_1"), results.assign(lean_released=released)).check.verdict
        == INCONCLUSIVE
    )


def test_a_true_law_is_seldom_contradicted():
    claim, n = by_name("xu.lemma_2.variance"), 80
    wrong = 0
    for seed in range(n):
        results = ideal.__wrapped__("xu/lemmas", 10 + seed, LEAST)
        wrong += claim.decide(results).verdict == CONTRADICTED
    bound = stats.binom.isf(1e-6, n, 0.01)
    print(f"contradicted truths: n={n} statistic={wrong} bound={bound:g} alpha=1e-06")
    assert wrong <= bound


def test_one_sum_that_is_not_zero_contradicts_lemma_3():
    results = ideal("xu/lemmas").copy(deep=True)
    results["estimate_sum"][1, 1, 2, 3] = 1e-6
    check = judge(by_name("xu.lemma_3"), results).check
    assert check.verdict == CONTRADICTED
    assert check.estimate.value == 1 / results["status"].size and check.estimate.covers(
        check.estimate.value
    )
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
    judgement = judge(by_name(name), results)
    assert judgement.check.verdict == INCONCLUSIVE and "outside the grid" in judgement.check.text


def test_one_cell_below_the_minimax_bound_is_enough():
    results = ideal("xu/phase_transition").copy(deep=True)
    results["error_l2"][1, 2, 3, 0] /= 20
    judgement = judge(by_name("xu.theorem_3.lower"), results)
    assert judgement.check.verdict == CONTRADICTED and "m=20, L=400, x=5.6" in judgement.check.text


def test_a_further_axis_is_not_tested():
    results = ideal("xu/scenario_2")
    results = xr.concat([results, results], dim="spread").assign_coords(spread=[1, 2])
    judgement = judge(by_name("xu.table_1.log.l2"), results)
    assert judgement.check.verdict == NOT_TESTED and "spread" in judgement.check.text


@cache
def judged(name):
    claim = by_name(name)
    return judge(claim, real(claim.experiment))


@pytest.mark.parametrize("name", NAMES)
def test_real_simulations_never_decide_against_the_paper(name):
    judgement = judged(name)
    print(judgement.check.text, "| control:", judgement.control.text)
    if name.startswith(FILMS):
        assert (
            judgement.check.verdict == NOT_TESTED and "MovieLens" in judgement.check.text
        )  # it is a stand-in
        return
    undecided = (INCONCLUSIVE, NOT_TESTED)
    allowed = (CONTRADICTED if name.startswith(FALSE) else supported(by_name(name)), *undecided)
    assert judgement.check.verdict in allowed, judgement.check.text
    assert judgement.sound or judgement.control.verdict in undecided, judgement.control.text


def test_debiasing_changes_no_ranking():
    """What §5.3 finds of Figure 6 is not only unlikely: it is so in no replication."""
    judgement = judged("xu.figure_6.classic.kendall")
    check = judgement.check
    assert judgement.control.verdict == SUPPORTED, judgement.control.text
    assert check.verdict == CONTRADICTED
    assert check.estimate.value == check.estimate.low == 0 < check.estimate.high < 0.01


def test_a_small_simulation_decides_much():
    names = [name for name in NAMES if not name.startswith(FILMS)]
    hold = [name for name in names if judged(name).check.verdict == supported(by_name(name))]
    rejected = [name for name in names if judged(name).sound]
    print(
        f"of {len(names)}: {len(hold)} supported or not refuted, {len(rejected)} controls came out as they must"
    )
    assert len(hold) >= len(names) // 2 and len(rejected) >= len(names) * 3 // 4


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
        return np.logaddexp(
            0, gap
        ).sum() - mean @ gap + ridge * theta @ theta, slope + 2 * ridge * theta

    found = optimize.minimize(loss, np.ones(m), jac=True, options={"gtol": 1e-10}).x
    assert (abs(found.sum()) < 1e-7) == zero


def test_claims_need_neither_dask_nor_zarr():
    code = (
        "import sys; from pipeline.problems.ranking.claims import CLAIMS; "
        "print(sorted({'dask', 'distributed', 'zarr', 'hydra', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "claim",
    [c for c in CLAIMS if "personal" not in c.id],
    ids=[name for name in NAMES if "personal" not in name],
)
def test_personal_budgets_are_not_judged_as_common_ones(claim):
    results = enough_of(claim)
    common = json.loads(results.attrs.get("study", '{"parameters": {}}'))["parameters"]

    def study(profile):
        return json.dumps({"parameters": common | {"profile": profile}})

    for changed in (
        results.assign_attrs(study=study("0.5:1,0.5:4")),
        results.assign_coords(profile="0.5:1,0.5:4"),
    ):
        judgement = judge(claim, changed)
        assert judgement.check.verdict == judgement.control.verdict == NOT_TESTED
        assert "one budget of all users" in judgement.check.text
    assert judge(claim, results.assign_attrs(study=study("1:1"))).check.verdict == supported(claim)


@pytest.mark.parametrize("name", ["xu.personal.plain", "xu.theorem_3.personal"])
def test_mixed_budgets_need_one_budget_to_compare_with(name):
    results = ideal("xu/personalised")
    profiles = [
        "2:1" if profile == "1:1" else profile for profile in results["profile"].values.tolist()
    ]
    judgement = judge(by_name(name), results.assign_coords(profile=profiles))
    assert judgement.check.verdict == NOT_TESTED and "profile=1:1" in judgement.check.text


def test_films_are_recognised_by_their_digest():
    assert set(MOVIELENS) == {f"sha256:{digest}" for digest in SMALL_SHA256}


def test_the_error_of_a_ratio_of_means():
    """Of xu.theorem_1.tail: against the spread of many ratios. The error of the difference alone is the control."""
    sets, n = 4000, 10
    noise = np.random.default_rng(3).multivariate_normal(
        [1.5, 1.0], [[0.01, -0.003], [-0.003, 0.01]], (sets, n)
    )
    first, second = (xr.DataArray(noise[..., k], dims=("set", "replication")) for k in range(2))
    ratio, error = ratio_of_means(first, second)
    alone = (first - second).std("replication", ddof=1) / n**0.5 / second.mean("replication")
    low, high = 1 / stats.f.ppf([1 - 5e-7, 5e-7], sets * (n - 1), sets - 1)
    found, control = (float(ratio.var(ddof=1) / (one**2).mean()) for one in (error, alone))
    print(
        f"variance over its estimate: n={sets} statistic={found:.3f} bounds={low:.3f} to {high:.3f} alpha=1e-06; "
        f"control {control:.3f}"
    )
    assert low < found < high < control
