"""Claims of Banerjee, Hegde and Massoulié on ideal data, negative controls, too little data and real simulations."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from pipeline.analysis.boundaries import crossing
from pipeline.analysis.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    NOT_TESTED,
    SUPPORTED,
    InsufficientEvidence,
    judge,
)
from pipeline.analysis.measures import labelled, spending
from pipeline.analysis.tolerances import Within, open_for_good
from pipeline.cli import compose
from pipeline.library.controls import judge_control
from pipeline.problems.clustering.claims import CLAIMS as ALL_CLAIMS
from pipeline.problems.clustering.claims.common import boundary_over, exponents
from tests.helpers.ideal_clustering import ideal
from tests.helpers.ideal_ranking import real

# Those on intervals are in test_inference_claims.
CLAIMS = [claim for claim in ALL_CLAIMS if not claim.id.startswith("inference.")]
NAMES = [claim.id for claim in CLAIMS]
# What does not hold as printed: these stay in the list, as contradicted.
MISTAKES = {
    "banerjee.lemma_6.order",
    "banerjee.lemma_9.bits",
    "banerjee.lemma_12",
    "banerjee.section_5.pairs",
    "banerjee.informal_2",
    "banerjee.theorem_16.saves",
}
WITHOUT_BOUNDARIES = (
    "banerjee/information",
    "banerjee/fano",
    "banerjee/recommendations",
    "person/clustering",
)


def data_for(claim):
    return ideal(claim.experiment, claim.id in MISTAKES)


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_ideal_data_support_and_the_negative_control_is_rejected(claim):
    judgement = judge(claim, data_for(claim))
    print(judgement.check.text, "| control:", judgement.control.text)
    assert judgement.check.verdict == claim.best, judgement.check.text
    assert judgement.control.verdict == CONTRADICTED, judgement.control.text
    assert (
        judgement.check.estimate.low
        <= judgement.check.estimate.value
        <= judgement.check.estimate.high
    )


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_is_contradicted_by_what_is_true(name):
    claim = next(claim for claim in CLAIMS if claim.id == name)
    judgement = judge(claim, ideal(claim.experiment))
    print(judgement.check.text, "| positive control:", judgement.control.text)
    assert judgement.check.verdict == CONTRADICTED, judgement.check.text
    assert judgement.control.verdict == SUPPORTED, judgement.control.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
@pytest.mark.parametrize("cut", ["2 replications", "one failure", "no metric"])
def test_too_little_data_decide_nothing(claim, cut):
    results = data_for(claim)
    if "replications" in cut:
        results = results.isel(replication=slice(2))
    elif cut == "one failure":
        status = results["status"].copy()
        status[..., 7] = np.where(status[..., 7] > 0, 3, 0)
        unlimited = {name: values.drop_attrs() for name, values in results.data_vars.items()}
        results = results.assign(unlimited).assign(
            status=status
        )  # with ranges it is bounded: analysis/test_losses.py
    else:
        results = results[["status"]]
    judgement = judge(claim, results)
    verdict = NOT_TESTED if cut == "no metric" else INCONCLUSIVE
    assert judgement.check.verdict == judgement.control.verdict == verdict and judgement.check.text


@pytest.mark.parametrize(
    "claim",
    [c for c in CLAIMS if c.experiment not in WITHOUT_BOUNDARIES],
    ids=lambda claim: claim.id,
)
def test_boundaries_outside_the_grid_are_inconclusive(claim):
    if claim.id in (
        "banerjee.theorem_15",
        "banerjee.theorem_15.separability",
        "banerjee.local_privacy",
        "banerjee.theorem_8.equal.breaks",
        "banerjee.theorem_8.equal.turned",
    ):
        pytest.skip("is about no boundary")
    results = data_for(claim)
    metric = "recovered_within" if "recovered_within" in results else "recovered"
    assert (
        judge(claim, results.assign({metric: 0.2 * results[metric]})).check.verdict == INCONCLUSIVE
    )


IN_SECONDS = ("banerjee/privacy", "banerjee/information", "banerjee/adaptive")
QUICK = [claim for claim in CLAIMS if claim.experiment in IN_SECONDS]


@pytest.mark.parametrize("claim", QUICK, ids=lambda claim: claim.id)
def test_real_simulations_never_decide_against_the_claims(claim):
    """But against the mistakes; exact informations decide at any size."""
    exact = claim.experiment == "banerjee/information"
    judgement = judge(claim, real(claim.experiment, 100))
    print(judgement.check.text, "| control:", judgement.control.text)
    decided = CONTRADICTED if claim.id in MISTAKES else claim.best
    assert judgement.check.verdict in ((decided,) if exact else (decided, INCONCLUSIVE)), (
        judgement.check.text
    )
    assert judgement.sound or judgement.control.verdict == INCONCLUSIVE, judgement.control.text


def test_claims_are_complete():
    assert len(set(NAMES)) == len(NAMES) and set(NAMES) >= MISTAKES
    suite = {raw["name"] for raw in compose.compose(["suite=banerjee"])}
    options = compose.options("experiment")
    assert suite == {name for name in options if name.startswith("banerjee/")}
    experiments = {claim.experiment for claim in CLAIMS}
    assert suite <= experiments
    assert experiments - suite == {"person/clustering"} <= {*options}
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
    sources = " ".join(claim.source for claim in CLAIMS)
    for result in (
        "Theorem 7",
        "Theorem 8",
        "Theorem 10",
        "Theorem 13",
        "Theorem 14",
        "Theorem 15",
        "Theorem 16",
        "Theorem 17",
        "Theorem 23",
        "Lemma 6",
        "Lemma 9",
        "Lemma 11",
        "Lemma 12",
    ):
        assert result in sources, result


@pytest.mark.parametrize("power, verdict", [(0, CONTRADICTED), (1, SUPPORTED), (2, CONTRADICTED)])
def test_powers_of_the_logarithm_are_told_apart(power, verdict):
    """N, N log N and N log² N: users as they would be, at the levels of N that the experiment has."""
    claim = next(claim for claim in CLAIMS if claim.id == "banerjee.theorem_8")
    data = ideal(claim.experiment)
    users = data["users_over_log"] * np.log(data["N"]) ** (power - 1)
    check = judge(claim, data.assign_coords(users_over_log=users)).check
    print(check.text)
    assert check.verdict == verdict


def test_intervals_of_exponents_cover():
    """1,500 sets of three boundaries of N² with scatter, one degree of freedom, without other errors.

    Wrong variants: normal intervals, and those of an error shared by 500 exponents.
    Errors of a fifth of the scatter beside it, times the same t quantile, make intervals that always cover.
    """
    rng, sets, levels = np.random.default_rng(1), 1500, 3
    N = xr.DataArray(np.geomspace(50, 400, levels), dims="N")
    quantiles = dict(normal=stats.norm.ppf(0.995), shared=stats.t.ppf(1 - 0.005 / 500, 1))
    found = dict.fromkeys(("covered", *quantiles), 0)
    for _ in range(sets):
        logs = 2 * np.log(N.values) + rng.normal(0, 0.1, levels)
        users = xr.Dataset(
            dict(
                value=("N", np.exp(logs)),
                standard_error=("N", np.zeros(levels)),
                side=("N", np.zeros(levels, int)),
            ),
            {"N": N.values},
        )
        fitted = exponents(users, N=users["N"])["in N"]
        assert fitted.high - fitted.value == pytest.approx(
            stats.t.ppf(0.995, 1) * fitted.standard_error
        )
        found["covered"] += fitted.covers(2)
        for name, quantile in quantiles.items():
            found[name] += abs(fitted.value - 2) <= quantile * fitted.standard_error
    least, most = stats.binom.ppf([5e-7, 1 - 5e-7], sets, 0.99)
    print(f"n={sets} statistic={found} bounds={least:g} to {most:g} alpha=1e-06")
    assert most < sets and least <= found["covered"] <= most
    assert found["normal"] < least and found["shared"] > most


def test_exponents_need_more_boundaries_than_parameters():
    users = xr.Dataset(
        dict(value=("N", [1.0, 2.0]), standard_error=("N", [0.1, 0.1]), side=("N", [0, 0])),
        {"N": [10.0, 20.0]},
    )
    with pytest.raises(InsufficientEvidence, match="2 boundaries do not determine 1"):
        exponents(users, N=users["N"])


@pytest.mark.parametrize("share", [1.0, 1e-8])
def test_no_confidence_makes_the_bracket_of_a_boundary_longer(share):
    """A step between two levels: the boundary is between these, at any look."""
    users = xr.DataArray([1.0, 2.0, 4.0, 8.0], dims="U", coords={"U": [1.0, 2.0, 4.0, 8.0]})
    step = crossing((users > 3).astype(float).expand_dims(N=[50]), 0.0, "U", 0.5)
    with spending(share):
        (found,) = labelled(boundary_over(step)).values()
    low, high = found.low / found.value, found.high / found.value
    assert 2 / math.sqrt(8) * (1 - 1e-9) <= low < high <= 4 / math.sqrt(8) * (1 + 1e-9)
    assert found.finest == pytest.approx(
        (found.low, found.high)
    )  # all of it is left by any number of replications


def boundary_of(chances, replications, rng=None):
    """The boundary of a curve at levels 0.7, 1 and 1.4, at an early look. rng: draws its means; None: exact means."""
    levels = {"U": [0.7, 1.0, 1.4]}
    means = np.array(chances) if rng is None else rng.binomial(replications, chances) / replications
    errors = np.sqrt(np.maximum(means * (1 - means), 1e-4) / replications)
    mean, error = (
        xr.DataArray(column, dims="U", coords=levels).expand_dims(N=[50])
        for column in (means, errors)
    )
    with spending(0.1):
        (found,) = labelled(boundary_over(crossing(mean, error, "U", 0.5, draws=200))).values()
    return found


@pytest.mark.parametrize(
    "chances, decided, most",
    [((0.1, 0.52, 0.85), True, 0), ((0.05, 0.5, 0.95), True, 0), ((0.001, 0.95, 0.999), False, 40)],
)
def test_few_replications_call_nothing_open_for_good_that_more_decide(chances, decided, most):
    """150 replications know the share of the rise in a bracket to a tenth: stopping for good needs more than that."""
    tolerance = Within(1.05, 0.3)
    many = boundary_of(chances, 10**7)
    assert (tolerance.verdict(many) == SUPPORTED) == decided and open_for_good(
        many, tolerance
    ) != decided
    rng = np.random.default_rng(1)
    early = [open_for_good(boundary_of(chances, 150, rng), tolerance) for _ in range(40)]
    print(f"open for good after 150 replications: {sum(early)} of {len(early)}")
    assert sum(early) <= most and any(early) != decided


def test_bits_that_spend_twice_their_budget_are_seen():
    claim = next(claim for claim in CLAIMS if claim.id == "banerjee.local_privacy")
    found = judge_control(claim, size="quick", seed=11)
    print(found.text)
    assert found.verdict == CONTRADICTED and found.estimate.covers(2)
