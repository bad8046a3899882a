"""Claims of Nguyen and Zhang on ideal data, negative controls, too little data and real simulations."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from pipeline.analysis.claims import CONTRADICTED, INCONCLUSIVE, NOT_TESTED, SUPPORTED, judge
from pipeline.cli import compose
from pipeline.problems.response.claims import CLAIMS as ALL_CLAIMS
from pipeline.problems.response.claims.entrywise import largest_gaussian
from pipeline.problems.response.claims.recorded import EDUCATION, mean_difference
from tests.helpers.ideal_ranking import CUTS, cut_down, real
from tests.helpers.ideal_response import IDEAL, figure_2

# Those on intervals are in test_inference_claims.
CLAIMS = [claim for claim in ALL_CLAIMS if claim.id.startswith("nguyen.")]
NAMES = [claim.id for claim in CLAIMS]


# What the audits find wrong with the paper: these stay in the list, as contradicted.
MISTAKES = {"nguyen.lemma_4_1", "nguyen.lemma_4_3.cited", "nguyen.shuffling.published"}
ON_DATA = ("nguyen/figure_2", "nguyen/figure_3")


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_ideal_data_support_and_the_negative_control_is_rejected(claim):
    judgement = judge(claim, IDEAL[claim.experiment]())
    print(judgement.check.text, "| control:", judgement.control.text)
    assert judgement.check.verdict == claim.best, judgement.check.text
    assert judgement.control.verdict == CONTRADICTED, judgement.control.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
@pytest.mark.parametrize("cut", CUTS)
def test_too_little_data_decide_nothing(claim, cut):
    judgement = judge(claim, cut_down(IDEAL[claim.experiment](), cut))
    verdict = NOT_TESTED if cut == "no metric" else INCONCLUSIVE
    assert judgement.check.verdict == judgement.control.verdict == verdict and judgement.check.text


@pytest.mark.parametrize(
    "claim", [c for c in CLAIMS if c.experiment not in ON_DATA], ids=lambda c: c.id
)
def test_real_simulations_never_decide_against_the_claims(claim):
    """Except against the mistakes."""
    judgement = judge(claim, real(claim.experiment, 100))
    print(judgement.check.text, "| control:", judgement.control.text)
    assert judgement.check.estimate is not None, judgement.check.text
    assert judgement.sound or judgement.control.verdict == INCONCLUSIVE, judgement.control.text
    if claim.id in MISTAKES:
        assert judgement.check.verdict == CONTRADICTED and judgement.control.verdict == SUPPORTED, (
            judgement.check.text
        )
    elif not claim.id.startswith(
        "nguyen.figure_p0.low"
    ):  # their verdicts depend on n: see their conditions
        assert judgement.check.verdict != CONTRADICTED, judgement.check.text


@pytest.mark.parametrize(
    "claim", [c for c in CLAIMS if c.experiment in ON_DATA], ids=lambda c: c.id
)
@pytest.mark.parametrize("path", [None, "sha256:" + "0" * 64])
def test_a_stand_in_or_another_file_does_not_test_claims_on_real_responses(claim, path):
    results = IDEAL[claim.experiment]().assign_attrs(
        study=json.dumps({"parameters": {"data_path": path}})
    )
    judgement = judge(claim, results)
    assert (
        judgement.check.verdict == judgement.control.verdict == NOT_TESTED
        and "data.path" in judgement.check.text
    )


@pytest.mark.parametrize("file", range(len(EDUCATION)))
def test_every_file_of_figure_2_decides(file):
    decided = [
        judge(claim, figure_2(file)).check.verdict
        for claim in CLAIMS
        if claim.experiment == "nguyen/figure_2"
    ]
    assert decided == [SUPPORTED] * 6


@pytest.mark.parametrize(
    "experiment, axis, levels",
    [
        ("nguyen/figure_p0", "p0", [0.1, 0.2, 0.4]),
        ("nguyen/figure_p0", "n", [200, 500]),
        ("nguyen/top_k", "m", [5, 10]),
        ("nguyen/figure_3", "m", [20, 100]),
    ],
)
def test_a_claim_is_not_tested_on_a_grid_without_its_levels(experiment, axis, levels):
    results = IDEAL[experiment]()
    other = results.isel({axis: slice(len(levels))}).assign_coords(
        {axis: levels[: results.sizes[axis]]}
    )
    verdicts = {
        claim.id: judge(claim, other).check.verdict
        for claim in CLAIMS
        if claim.experiment == experiment
    }
    assert NOT_TESTED in verdicts.values(), verdicts


def test_cells_that_share_their_data_are_no_independent_evidence():
    """An error common to all ε of a replication does not average out over them; an error of each ε's own does."""
    axes, zero = ("epsilon_user", "replication"), xr.DataArray(0.0)
    drawn = np.random.default_rng(1).standard_normal((9, 200))
    one, shared, own = (
        mean_difference(xr.DataArray(error, dims=axes), zero)
        for error in (drawn[:1], drawn[:1] + 0 * drawn, drawn)
    )
    assert (shared.low, shared.high) == pytest.approx((one.low, one.high))
    assert shared.high - shared.low > 2 * (own.high - own.low)


def test_claims_are_complete():
    assert len(set(NAMES)) == len(NAMES)
    suite = {raw["name"] for raw in compose.compose(["suite=nguyen"])}
    assert {claim.experiment for claim in CLAIMS} - suite == {"person/response"}
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


@pytest.mark.parametrize("m", [1, 2, 25, 200])
def test_largest_gaussian(m):
    drawn = np.abs(np.random.default_rng(1).standard_normal((200_000, m))).max(axis=1)
    statistic = abs(drawn.mean() - largest_gaussian(m)) / stats.sem(drawn)
    bound = stats.norm.isf(5e-7)
    print(f"largest of {m}: n=200000 statistic={statistic:.2f} bound={bound:.2f} alpha=1e-06")
    assert statistic < bound
    assert (
        abs(drawn.mean() - largest_gaussian(2 * m)) / stats.sem(drawn) > bound
    )  # negative control
