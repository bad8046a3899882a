"""Claims on real simulations of the quick sizes: supported, their negative controls contradicted.

SIMULATIONS=full adds those that take longer, and the one that the page's first command runs.
"""

import os
from functools import cache
from pathlib import Path

import private_frequencies
import pytest
import yaml
from private_frequencies.claims import CLAIMS

import pipeline as pl
from pipeline.analysis.claims import CONTRADICTED, INCONCLUSIVE, SUPPORTED, judge
from pipeline.identity import registry

CONF = Path(private_frequencies.__file__).parent / "conf"
FULL = os.environ.get("SIMULATIONS") == "full"
CHEAP = "frequency/crossover", "frequency/projection"
SIMULATED = [claim for claim in CLAIMS if FULL or claim.experiment in CHEAP]


@pytest.fixture(scope="module", autouse=True)
def known():
    """The problem, also where the package is not installed but on the path."""
    with registry.registered(private_frequencies.PROBLEM):
        yield


@cache
def simulated(experiment):
    return pl.simulate(experiment, size="quick")


@pytest.mark.parametrize("claim", SIMULATED, ids=lambda claim: claim.id)
def test_the_claim_is_supported_and_its_negative_control_is_not(claim):
    judgement = judge(claim, simulated(claim.experiment))
    print(judgement.check.text, "| control:", judgement.control.text)
    assert judgement.check.verdict == SUPPORTED, judgement.check.text
    assert judgement.control.verdict == CONTRADICTED, judgement.control.text


@pytest.mark.parametrize("claim", SIMULATED, ids=lambda claim: claim.id)
def test_two_replications_decide_nothing(claim):
    check = judge(claim, simulated(claim.experiment).isel(replication=slice(2))).check
    assert check.verdict == INCONCLUSIVE and "2 replications" in check.text


def test_claims_are_complete():
    assert len(CLAIMS) >= 8 and len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    experiments = {
        f"frequency/{path.stem}" for path in (CONF / "experiment/frequency").glob("*.yaml")
    }
    suite = yaml.safe_load((CONF / "suite/frequency.yaml").read_text())["experiments"]
    assert {claim.experiment for claim in CLAIMS} == experiments == set(suite)
    for claim in CLAIMS:
        assert all(
            (claim.statement, claim.source, claim.why, claim.conditions, claim.control.description)
        )
