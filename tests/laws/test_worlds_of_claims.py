"""Law: every claim names the wrong world in which it is tested by simulation, or says why there is none."""

import dataclasses

import pytest

from pipeline.analysis.claims import CONTRADICTED, SUPPORTED, NotSimulated, SimulatedControl
from pipeline.identity.registry import problems

CLAIMS = [claim for problem in problems().values() for claim in problem.load(problem.claims)]


def lacking(claims):
    """Ids of claims that name neither a world nor a reason, or one that says nothing."""
    return [
        claim.id
        for claim in claims
        if not (
            isinstance(claim.simulated, SimulatedControl)
            and claim.simulated.description
            and claim.simulated.verdict in (CONTRADICTED, SUPPORTED)
            or isinstance(claim.simulated, NotSimulated)
            and len(claim.simulated.reason.split()) > 3
        )
    ]


def test_every_claim_names_a_wrong_world_or_the_reason_why_there_is_none():
    assert len(CLAIMS) > 200 and lacking(CLAIMS) == []


@pytest.mark.parametrize(
    "simulated",
    [
        None,
        NotSimulated(""),
        NotSimulated("not possible"),
        SimulatedControl("", lambda parts: parts),
    ],
)
def test_a_claim_without_either_is_seen(simulated):
    assert lacking([dataclasses.replace(CLAIMS[0], simulated=simulated)]) == [CLAIMS[0].id]


def test_most_claims_are_tested_by_simulation():
    simulated = sum(isinstance(claim.simulated, SimulatedControl) for claim in CLAIMS)
    print(f"claims: n={len(CLAIMS)} statistic={simulated} with a wrong world")
    assert simulated > 0.8 * len(CLAIMS)
