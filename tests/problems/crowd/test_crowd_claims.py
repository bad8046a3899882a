"""Claims of Wang and Xu on ideal data, negative controls, too little data and real simulations."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from pipeline.analysis.claims import (
    CONTRADICTED,
    INCONCLUSIVE,
    NOT_TESTED,
    judge,
)
from pipeline.analysis.measures import CONFIDENCE
from pipeline.analysis.rates import fit_rate
from pipeline.cli import compose
from pipeline.problems.crowd.claims import CLAIMS as ALL_CLAIMS
from pipeline.problems.crowd.claims.recorded import BLUEBIRD
from tests.helpers.ideal_crowd import IDEAL, ranged
from tests.helpers.ideal_ranking import CUTS, cut_down, real

# Those on intervals are in test_inference_claims.
CLAIMS = [claim for claim in ALL_CLAIMS if claim.id.startswith("wang.")]
NAMES = [claim.id for claim in CLAIMS]
ON_DATA = "wang/real"
LARGE = "wang/theorem_2", "wang/theorem_2_starts"  # millions of answers a replication


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
def test_ideal_data_support_and_the_negative_control_is_rejected(claim):
    make = IDEAL[claim.experiment]
    data = make(BLUEBIRD) if "bluebird" in claim.id else make()
    judgement = judge(claim, ranged(data))
    print(judgement.check.text, "| control:", judgement.control.text)
    assert judgement.check.verdict == claim.best, judgement.check.text
    assert judgement.control.verdict == CONTRADICTED, judgement.control.text


@pytest.mark.parametrize("claim", CLAIMS, ids=NAMES)
@pytest.mark.parametrize("cut", CUTS)
def test_too_little_data_decide_nothing(claim, cut):
    judgement = judge(claim, cut_down(IDEAL[claim.experiment](), cut))
    missing = cut == "no metric" or "bluebird" in claim.id  # the ideal answers are those of RTE
    verdict = NOT_TESTED if missing else INCONCLUSIVE
    assert judgement.check.verdict == judgement.control.verdict == verdict and judgement.check.text


@pytest.mark.parametrize("name, lost", [("wang.limits.zero", 1), ("wang.limits.wisdom", 0)])
def test_a_fit_that_did_not_converge_loses_no_verdict(name, lost):
    """A share can be 0 to 1, and the wisdom of a release does not depend on the fit."""
    data = IDEAL["wang/limits"]()
    status = data["status"].copy(deep=True)
    status[..., 7] = 2
    data = data.assign(status=status).assign_attrs(
        study=json.dumps({"problem": "crowd", "parameters": {}})
    )
    data["label_error"].attrs |= {"least": 0.0, "most": 1.0}
    judgement = judge(next(claim for claim in CLAIMS if claim.id == name), data)
    assert judgement.verdict == judgement.claim.best, judgement.text
    assert judgement.check.estimate.lost == lost


@pytest.mark.parametrize(
    "claim",
    [claim for claim in CLAIMS if claim.experiment not in LARGE],
    ids=lambda claim: claim.id,
)
def test_real_simulations_never_decide_against_the_claims(claim):
    judgement = judge(claim, real(claim.experiment, 100))
    print(judgement.check.text, "| control:", judgement.control.text)
    if claim.experiment == ON_DATA:
        assert judgement.check.verdict == NOT_TESTED and "data.path" in judgement.check.text
        return
    assert judgement.check.verdict != CONTRADICTED, judgement.check.text
    assert judgement.control.verdict in (CONTRADICTED, INCONCLUSIVE, NOT_TESTED), (
        judgement.control.text
    )


def test_errors_of_probits_are_those_of_a_numerical_derivative():
    """Of wang.basin.collapse: the fit again, with d Φ⁻¹/df by a difference; half the error is the negative control."""
    claim, data = (
        next(claim for claim in CLAIMS if claim.id == "wang.basin.collapse"),
        IDEAL["wang/basin"](),
    )
    found = claim.measure.compute(data)
    used = data.sel(epsilon=data["epsilon"] >= 1, lead=(data["lead"] > 0) & (data["lead"] <= 0.7))
    runs = used.sizes["replication"]
    flipped = (used["label_flipped"].sum("replication") + 0.5) / (runs + 1)
    slope = (ndtri(flipped + 1e-6) - ndtri(flipped - 1e-6)) / 2e-6
    ahead = used["lead_realised"] / used["m"] ** 0.5

    def fitted(factor):
        error = factor * np.sqrt(flipped * (1 - flipped) / runs) * slope / ahead
        rate = fit_rate(
            -ndtri(flipped) / ahead, error, groups=("epsilon",), confidence=CONFIDENCE, m=used["m"]
        )
        return rate.exponents["m"]

    assert (found.value, found.standard_error) == pytest.approx(
        (fitted(1).value, fitted(1).standard_error), rel=1e-5
    )
    assert fitted(0.5).standard_error != pytest.approx(found.standard_error, rel=0.05)


def test_the_error_of_an_exponent_where_leads_share_their_data():
    """Of wang.basin.collapse: against the spread over data sets. Crowds of their own for all leads are the control."""
    claim, data = (
        next(claim for claim in CLAIMS if claim.id == "wang.basin.collapse"),
        IDEAL["wang/basin"](),
    )
    sets, rng, found = 150, np.random.default_rng(5), {"shared": [], "own": []}
    like = data["label_flipped"].transpose("epsilon", "m", "lead", "replication")
    for _ in range(sets):
        for kind, drawn in found.items():
            shape = (
                *like.shape[:2],
                1 if kind == "shared" else like.sizes["lead"],
                like.sizes["replication"],
            )
            flips = rng.random(shape) < ndtr(-2.2 * data["lead"].values[:, None])
            drawn.append(
                claim.measure.compute(
                    data.assign(
                        label_flipped=like.copy(
                            data=np.broadcast_to(flips, like.shape).astype(float)
                        )
                    )
                )
            )
    spread = np.std([one.value for one in found["shared"]], ddof=1)
    errors = {
        kind: np.median([one.standard_error for one in drawn]) for kind, drawn in found.items()
    }
    low, high = np.sqrt(stats.chi2.ppf([5e-7, 1 - 5e-7], sets - 1) / (sets - 1))
    print(
        f"spread over error: n={sets} statistic={spread / errors['shared']:.3f} bounds={low:.3f} to {high:.3f} "
        f"alpha=1e-06; control {spread / errors['own']:.3f}"
    )
    assert low < spread / errors["shared"] < high < spread / errors["own"]


def test_claims_are_complete():
    assert len(set(NAMES)) == len(NAMES)
    suite = {raw["name"] for raw in compose.compose(["suite=wang"])}
    options = compose.options("experiment")
    assert suite == {name for name in options if name.startswith("wang/")}
    elsewhere = {claim.experiment for claim in CLAIMS} - suite
    assert elsewhere == {"person/crowd_surveys"} <= {*options}
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
    for theorem in range(1, 5):
        assert any(name.startswith(f"wang.theorem_{theorem}") for name in NAMES)
